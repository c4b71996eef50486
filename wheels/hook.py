"""Build hook of Hatchling: adds the compiled kernels of `make wheel` (`build/packs`) to the wheel."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TAGS = {"x86": "py3-none-manylinux_2_17_x86_64", "generic": "py3-none-manylinux_2_17_aarch64"}
"""Platform tags of wheels by the first part of the names of their packs."""


class CompiledKernels(BuildHookInterface):
    """Adds packs and a platform tag to the wheel; without packs the wheel is for all platforms."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        packs = sorted(Path(self.root, "build", "packs").glob("*.pack"))
        if version != "standard" or not packs:
            return
        for pack in packs:
            build_data["force_include"][str(pack)] = f"stickslip/compiled/{pack.name}"
        build_data["pure_python"] = False
        build_data["tag"] = TAGS[packs[0].name.split("-")[0].removesuffix(".pack")]
