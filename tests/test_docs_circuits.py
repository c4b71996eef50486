"""docs/circuits.md: its code runs, and its scenes exist."""

import re
from pathlib import Path

from shown_pages import check_page

from stickslip import scenes

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "circuits.md").read_text()


def test_its_blocks_print_what_is_shown() -> None:
    assert check_page("circuits.md")["run"].missed == 0


def test_its_scenes_are_those_that_euler_moreau_runs() -> None:
    shown = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(re.findall(r"^stickslip run ([\w-]+)", PAGE, re.MULTILINE))
    first_order = [
        name for name, place in scenes.SCENES.items() if ".circuits:" in place or ".relays:" in place
    ]
    assert sorted(shown) == sorted(first_order)
    for name in shown:
        assert scenes.make(name).scheme == "euler-moreau"
