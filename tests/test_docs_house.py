"""The page on the architecture names files and functions that exist, every room, and all rules of imports."""

import re
from pathlib import Path

from test_import_ladder import BELOW

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "stickslip"
PAGE = (ROOT / "docs" / "house.md").read_text()
FILE = re.compile(r"`([\w/*]+\.py)`")


def rows():
    """Rows of the tables, each with the folder of its section."""
    folder = ""
    for line in PAGE.splitlines():
        if line.startswith("#"):
            name = line.lstrip("# ").lower()
            folder = f"{name}/" if (PACKAGE / name).is_dir() else {"problems": "problem/"}.get(name, "")
        if line.startswith("| "):
            yield folder, line


def test_every_file_that_is_named_exists():
    for folder, row in rows():
        place = ""
        for name in FILE.findall(row):
            if "/" in name:
                place = name.rpartition("/")[0] + "/"
            names = {name, folder + name, place + name}
            assert any([*ROOT.glob(each), *PACKAGE.glob(each)] for each in names), f"{name} in: {row}"


def test_every_function_that_is_named_is_in_its_file():
    found = 0
    for _, row in rows():
        for name, functions in re.findall(r"`([\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", row):
            text = (PACKAGE / name).read_text()
            for function in re.findall(r"`(\w+)`", functions):
                assert re.search(rf"^(def|class) {function}\b", text, re.MULTILINE), f"{function} in {name}"
                found += 1
    assert found > 10


def test_every_room_is_there():
    for path in PACKAGE.iterdir():
        if path.is_dir() and (path / "__init__.py").exists():
            assert f"| `{path.name}/` |" in PAGE, path.name


def test_imports_are_those_that_the_test_of_imports_keeps():
    told = re.search(r"## Import ladder\n(.*?)\n## ", PAGE, re.DOTALL)[1]
    for room in BELOW:
        assert re.search(rf"^\| .*`{room}`.* \|", told, re.MULTILINE), room
