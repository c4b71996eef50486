"""Execution of the code blocks of pages of the docs, with comparison of their outputs."""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```\n)?", re.DOTALL)
"""A block of Python, and the output directly below it in a fence without a language."""
MACHINE = re.compile(r"-?\b\d+(?:\.\d+)?e-\d\d\b|^  iterations .*$|^  time +[\d.]+ .s.*$", re.MULTILINE)
"""Output that depends on the machine: errors near rounding, numbers of iterations, and times of solves."""


def run_page(page: Path) -> tuple[dict[str, Any], list[tuple[str, str]]]:
    """Run the blocks of a page; return their global names, and pairs of printed and shown output."""
    names: dict[str, Any] = {}
    outputs = []
    for code, shown in BLOCK.findall(page.read_text(encoding="utf-8")):
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(code, page.name, "exec"), names)
        outputs.append((printed.getvalue(), shown))
    return names, outputs


def check_page(name: str) -> dict[str, Any]:
    """Run docs/NAME in the current folder and assert that outputs are as shown; return the global names."""
    names, outputs = run_page(ROOT / "docs" / name)
    assert outputs
    for printed, shown in outputs:
        assert MACHINE.sub("#", printed) == MACHINE.sub("#", shown)
    return names
