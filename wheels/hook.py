"""Build hook: wheels that carry compiled kernels, where `make wheel` has made any (`build/packs`)."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

TAGS = {"x86": "py3-none-manylinux_2_17_x86_64", "generic": "py3-none-manylinux_2_17_aarch64"}
"""Tags of wheels by the first part of the names of their packs."""


class CompiledKernels(BuildHookInterface):
    """Puts packs into the wheel and names its platform; without packs the wheel is for all."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        packs = sorted(Path(self.root, "build", "packs").glob("*.pack"))
        if version != "standard" or not packs:
            return
        for pack in packs:
            build_data["force_include"][str(pack)] = f"stickslip/compiled/{pack.name}"
        build_data["pure_python"] = False
        build_data["tag"] = TAGS[packs[0].name.split("-")[0].removesuffix(".pack")]
