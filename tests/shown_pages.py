"""Pages of the docs whose blocks run one after the other, and print what stands beneath them."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)
"""A block of Python, and the output right beneath it, in a fence without a language."""
MACHINE = re.compile(r"-?\b\d+(?:\.\d+)?e-\d\d\b|^  iterations .*$|^  time +[\d.]+ .s.*$", re.MULTILINE)
"""What differs between machines: errors near rounding, counts of iterations, and times of solves."""


def run_page(page: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """The names that the blocks leave, and what each printed beside what the page shows."""
    names: dict[str, Any] = {}
    outputs = []
    for code, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, page.name, "exec"), names)
        outputs.append((printed.getvalue(), shown))
    return names, outputs


def check_page(name: str) -> dict[str, Any]:
    """Run docs/NAME in the current folder; every output is the one that is shown. The names that are left."""
    names, outputs = run_page(ROOT / "docs" / name)
    assert outputs
    for printed, shown in outputs:
        assert MACHINE.sub("#", printed) == MACHINE.sub("#", shown)
    return names
