"""docs/circuits.md: its code runs, and its scenes exist."""

import re
from pathlib import Path

from stickslip import scenes

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "circuits.md").read_text()


def test_its_blocks_run_one_after_the_other() -> None:
    names: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "circuits.md", "exec"), names)
    assert names["run"].missed == 0


def test_its_scenes_are_those_that_euler_moreau_runs() -> None:
    shown = re.findall(r"^\| `([\w-]+)` \|", PAGE, re.MULTILINE)
    assert sorted(shown) == sorted(re.findall(r"^stickslip run ([\w-]+)", PAGE, re.MULTILINE))
    first_order = [
        name for name, place in scenes.SCENES.items() if ".circuits:" in place or ".relays:" in place
    ]
    assert sorted(shown) == sorted(first_order)
    for name in shown:
        assert scenes.make(name).scheme == "euler-moreau"
