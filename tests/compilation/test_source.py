"""The source of a kernel is its file and everything that this imports, however the import is written."""

import ast
from pathlib import Path

import pytest

import stickslip
from stickslip.compilation import source

ROOT = Path(stickslip.__file__).parent
KERNELS = sorted([*ROOT.glob("kernels/**/*.py"), *ROOT.glob("linalg/kernels/*.py")])


def imported(path):
    """Files of the package that a file imports, by Python's own parser."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "stickslip":
            base = ROOT.parent.joinpath(*node.module.split("."))
            found |= {base.with_suffix(".py"), *(base / f"{name.name}.py" for name in node.names)}
        elif isinstance(node, ast.Import):
            names = [name.name for name in node.names if name.name.split(".")[0] == "stickslip"]
            found |= {ROOT.parent.joinpath(*name.split(".")).with_suffix(".py") for name in names}
    return sorted(path for path in found if path.is_file())


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_imports_are_those_that_python_sees(path):
    assert list(source.imports(path)[1]) == imported(path)


def test_a_change_in_a_callee_is_a_change_of_the_caller_and_of_no_one_else(tmp_path, monkeypatch):
    package = tmp_path / "stickslip"
    for name, text in {
        "kernels/a.py": "from stickslip.kernels import (\n    b,\n    c as d,\n)\n",
        "kernels/b.py": "from stickslip.kernels.deep.e import x\n",
        "kernels/c.py": "",
        "kernels/deep/e.py": "import stickslip.kernels.c\n",
        "kernels/f.py": "from stickslip.compilation import store\n",
        "compilation/store.py": "",
    }.items():
        (package / name).parent.mkdir(parents=True, exist_ok=True)
        (package / name).write_text(text)
    monkeypatch.setattr(source, "PACKAGE", package)

    def digests():
        source.imports.cache_clear()
        source.digest.cache_clear()
        return {name: source.digest(package / "kernels" / f"{name}.py") for name in "abcf"}

    first = digests()
    (package / "kernels/deep/e.py").write_text("import stickslip.kernels.c\n# changed\n")
    second = digests()
    assert [name for name in first if first[name] != second[name]] == ["a", "b"]
    (package / "compilation/store.py").write_text("# how code is kept is no part of it")
    assert digests() == second
    monkeypatch.undo()
    source.imports.cache_clear()
    source.digest.cache_clear()
