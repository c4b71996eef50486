"""docs/reference: the examples of every page, and those of the docstrings of public names, run."""

import contextlib
import inspect
import io
import re
import textwrap
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss

PAGES = sorted((Path(__file__).resolve().parents[1] / "docs" / "reference").glob("*.rst"))
WITHOUT = {"index", "commands"}


@pytest.mark.parametrize("page", [p for p in PAGES if p.stem not in WITHOUT], ids=lambda p: p.stem)
def test_its_example_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"\.\. code-block:: python\n\n((?:(?:    .*)?\n)+)", page.read_text())
    exec(compile(textwrap.dedent(code), page.name, "exec"), {})


EXAMPLE = re.compile(r"^Example:\n\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
MODULES = (
    "problem", "solvers", "schemes", "systems", "laws", "mechanics", "shapes", "joints", "forces", "sensors",
    "detection", "files", "gradients", "scenes", "export", "rotations",
)  # fmt: skip


def examples():
    """The example in the docstring of each public name that has one, once for each object."""
    found = {}
    for place in ("", *MODULES):
        module = getattr(ss, place) if place else ss
        for name in sorted(getattr(module, "__all__", None) or dir(module)):
            value = getattr(module, name, None)
            if name.startswith("_") or not (inspect.isclass(value) or inspect.isfunction(value)):
                continue
            code = EXAMPLE.search((inspect.getdoc(value) or "") + "\n")
            if code is not None and value not in found:
                found[value] = (f"{place}.{name}".lstrip("."), textwrap.dedent(code[1]))
    return list(found.values())


def test_every_name_of_the_module_has_an_example():
    with_example = {name for name, _ in examples()}
    names = [name for name in dir(ss) if not name.startswith("_")]
    called = {n for n in names if inspect.isclass(getattr(ss, n)) or inspect.isfunction(getattr(ss, n))}
    assert called - with_example == {"sweep"}  # its functions must stand in a file


@pytest.mark.parametrize(("name", "code"), [pytest.param(*one, id=one[0]) for one in examples()])
def test_the_example_of_a_docstring_runs(name, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if "import torch" in code:
        pytest.importorskip("torch")
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(code, name, "exec"), {"np": np, "ss": ss})
