"""docs/worlds_and_equations.md: the code prints what is shown; the table lists every scheme for worlds."""

import re
from pathlib import Path

from shown_pages import check_page

from stickslip.schemes import registry

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "worlds_and_equations.md").read_text()


def test_its_code_prints_what_is_shown():
    names = check_page("worlds_and_equations.md")
    assert names["spin"].missed == 0
    assert abs(names["spin"].system("wheel").v[-1, 5] / names["speed"] - 1.0) < 1e-3


def test_its_table_has_all_schemes_for_worlds():
    shown = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    assert shown | {"variational-bodies"} == {
        name for name in registry.names() if registry.entry(name).order not in ("first", registry.ROBOTS)
    }
