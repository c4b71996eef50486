"""docs/worlds_and_equations.md: its code runs, and what it names is there."""

import re
from pathlib import Path

from stickslip.schemes import registry

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "worlds_and_equations.md").read_text()


def test_its_blocks_run_one_after_the_other():
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "worlds_and_equations.md", "exec"), names)
    assert names["spin"].missed == 0


def test_its_table_has_all_schemes_for_worlds():
    shown = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE))
    assert shown | {"variational-bodies"} == {
        name for name in registry.names() if registry.entry(name).order not in ("first", registry.ROBOTS)
    }
