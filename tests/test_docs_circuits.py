"""docs/circuits.md: its code runs, and its scenes exist."""

import re
from pathlib import Path

from stickslip.scenes import runs

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
        name for name in runs.names() if "circuits" in runs.RUNS[name] or "relays" in runs.RUNS[name]
    ]
    assert sorted(shown) == first_order
    for name in shown:
        assert runs.make(name).scheme == "euler-moreau"
