"""Every example runs, its check holds, it is short, and the docs show it."""

import ast
import importlib.util
import re
from pathlib import Path

import pytest

from stickslip.doors import public_modules

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGE = ROOT / "docs" / "examples.md"
PUBLIC = {"stickslip.exhibits", *public_modules()}
LONGEST = 80
HEAVIEST = {".png": 150_000, ".svg": 150_000, ".webp": 2_000_000}
"""Bytes of a picture, by its ending."""


def loaded(path):
    spec = importlib.util.spec_from_file_location(f"example_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def modules(tree):
    """Names of the modules that a file imports; `from stickslip import scenes` is stickslip.scenes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            inside = node.module == "stickslip"
            yield from (f"stickslip.{alias.name}" for alias in node.names) if inside else [node.module]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_check_of_every_example_holds(path, capsys):
    if path.stem == "friction_from_batch":
        pytest.importorskip("torch", reason="the extra torch is not installed")
    example = loaded(path)
    found = example.main()
    example.check(*found) if isinstance(found, tuple) else example.check(found)
    assert capsys.readouterr().out == ""  # only a script prints


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_one_short_file_of_public_names(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST
    tree = ast.parse(text)
    assert re.search(r"^Purpose: ", ast.get_docstring(tree), re.MULTILINE)
    ours = {name for name in modules(tree) if name.split(".")[0] == "stickslip"}
    assert ours <= PUBLIC
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    checks = [node for node in ast.walk(functions["check"]) if isinstance(node, ast.Assert)]
    assert checks or "assert_allclose" in text


def test_the_solver_of_ones_own_has_at_most_30_lines():
    tree = ast.parse((ROOT / "examples" / "own_solver.py").read_text(encoding="utf-8"))
    solver = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    assert solver.end_lineno - solver.lineno + 1 <= 30


def test_every_example_has_a_row_in_the_docs_and_every_row_an_example():
    shown = re.findall(r"^\| \[`(\w+\.py)`\]", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(shown) == [path.name for path in EXAMPLES]


def test_pictures_of_readme_and_docs_exist_and_are_light():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        text = page.read_text(encoding="utf-8")
        places = re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", text) + re.findall(
            r"<img[^>]* src=\"([^\"]+)\"", text
        )
        for place in places:
            assert (page.parent / place).is_file(), f"{page.name} shows {place}, which is not there"
    for picture in (ROOT / "docs" / "pictures").glob("*.*"):
        if picture.suffix != ".py":
            assert picture.stat().st_size <= HEAVIEST[picture.suffix], picture.name


def test_every_picture_is_made_by_an_example_or_a_script():
    """A picture has the name of its example, or a script of docs names it; docs/plots.md has plot-..."""
    page = (ROOT / "docs" / "plots.md").read_text(encoding="utf-8")
    scripts = [ROOT / "docs" / "pictures" / "make.py", ROOT / "docs" / "viewer_pictures.py"]
    script = "".join(path.read_text(encoding="utf-8") for path in scripts)
    for picture in (ROOT / "docs" / "pictures").glob("*.*"):
        if picture.suffix == ".py" or f'"{picture.name}"' in script or f'"{picture.stem}": (' in script:
            continue
        if picture.name.startswith("plot-"):
            assert page.count(picture.name) >= 2, picture.name
            continue
        makers = [path for path in EXAMPLES if picture.stem.startswith(path.stem)]
        assert makers, picture.name
        assert "sys.argv[1]" in makers[0].read_text(encoding="utf-8")


def test_a_file_of_ones_own_is_solved(tmp_path):
    import stickslip as ss
    from stickslip import scenes

    problem = scenes.make("incline-problem")
    ss.write(tmp_path / "incline.hdf5", problem)
    example = loaded(ROOT / "examples" / "solve_a_file.py")
    solution = example.main(tmp_path / "incline.hdf5")
    assert ss.fingerprint(solution.problem) == ss.fingerprint(problem)
    example.check(solution)
