"""Every room looks only down: the architecture as a test (docs/house.md)."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import stickslip
from stickslip.doors import public_modules, table

ROOT = Path(stickslip.__file__).parent
SCHEMES = {"robots", "systems", "mechanics", "detection", "laws", "problem", "linalg", "kernels"}
"""Rooms below the schemes."""
BELOW = {
    "compilation": set(),
    "kernels": {"compilation"},
    "names": set(),
    "doors": {"renames"},
    "renames": set(),
    "options": set(),
    "extras": set(),
    "state": set(),
    "interrupts": set(),
    "threads": set(),
    "rotations": {"kernels"},
    "exhibits": {"problem"},
    "linalg": {"kernels"},
    "problem": {"linalg", "kernels"},
    "solvers": {"problem", "linalg", "kernels"},
    "laws": {"problem", "kernels"},
    "systems": {"laws", "problem", "kernels"},
    "mechanics": {"laws", "kernels"},
    "detection": {"mechanics", "kernels"},
    "robots": {"detection", "mechanics", "kernels"},
    "schemes": SCHEMES,
    "simulation": {"schemes", *SCHEMES},
    "gradients": {"simulation", "schemes", *SCHEMES},
    "bridges": {"solvers", "gradients", "simulation", "schemes", *SCHEMES},
    "scenes": {"simulation", "schemes", "systems", "mechanics", "detection", "laws", "problem", "kernels"},
    "files": {"problem", "mechanics", "systems", "laws", "simulation", "schemes", "robots"},
    "bench": {"problem", "solvers", "files", "scenes", "simulation", "schemes"},
    "studies": {"bench", "gradients", "scenes", "files", "simulation", "solvers", "schemes", *SCHEMES}
    - {"robots"},
    "sweeps": {"bench", "scenes", "files", "simulation", "solvers", "schemes", *SCHEMES},
    "view": {"mechanics", "simulation", "files", "problem"},
    "export": {"view", "mechanics", "simulation", "files", "problem"},
    "forces": {"mechanics"},
    "joints": {"mechanics", "systems"},
    "sensors": {"mechanics"},
    "shapes": {"mechanics", "files"},
}
COMMON = {
    "compilation",
    "names",
    "doors",
    "renames",
    "options",
    "extras",
    "exhibits",
    "state",
    "interrupts",
    "threads",
    "rotations",
}
"""Rooms that everyone may use."""
LOOKS_UP = {
    "mechanics/world.py": {"schemes", "view"},
    "problem/solution.py": {"solvers"},
    "robots/robot.py": {"runs"},
    "simulation/trajectory.py": {"export", "files", "view"},
    "simulation/contacts.py": {"files", "view"},
    "files/runs.py": {"runs"},
    "files/problems.py": {"sweeps"},
}
"""Files that import rooms above them by name, when asked to: to be saved, to be shown in notebooks, to be
written as equations, to go on step by step, and to tell which impulses are unique."""
ABOVE_ALL = {"cli", "__init__", "__main__", "arguments", "differentiation", "runs", "solving"}
"""The command line, and the public verbs that turn names into solvers, may use every room."""


def imported_rooms(source: str, where: str) -> set[str]:
    rooms = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{where}: absolute imports only"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        rooms |= {name.split(".")[1] for name in names if name.startswith("stickslip.")}
    return rooms


def rooms_by_name(source: str) -> set[str]:
    """Rooms in the names that are given to `import_module`, as far as they are there to be read."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    names = (
        ast.unparse(call.args[0]).lstrip("f").strip("'\"")
        for call in calls
        if call.args and ast.unparse(call.func).endswith("import_module")
    )
    return {name.split(".")[1] for name in names if name.startswith("stickslip.")}


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT).parts
    return parts[0] if len(parts) > 1 else path.stem


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_every_file_looks_only_down(path):
    room = room_of(path)
    rooms = imported_rooms(path.read_text(), path.name)
    assert room == "__main__" or "cli" not in rooms - {room}, f"{path.name}: nobody imports the command line"
    if room in ABOVE_ALL:
        return
    assert room in BELOW, f"{room} is not a room of this house"
    strangers = rooms - BELOW[room] - COMMON - {room}
    assert not strangers, f"{path.relative_to(ROOT)} looks into {strangers}"
    by_name = rooms_by_name(path.read_text()) - BELOW[room] - {room}
    assert by_name == LOOKS_UP.get(path.relative_to(ROOT).as_posix(), set())


@pytest.mark.parametrize(
    "line",
    ["import stickslip.solvers.registry", "from stickslip import solvers", "from stickslip.solvers import x"],
)
def test_the_walk_sees_every_style_of_import(line):
    assert imported_rooms(line, "here") == {"solvers"}


def test_relative_imports_are_refused():
    with pytest.raises(AssertionError, match="absolute"):
        imported_rooms("from .problem import contact", "here")


def test_import_stickslip_loads_nothing_heavy():
    code = "import sys, stickslip; print(' '.join(sorted(m.split('.')[0] for m in sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not loaded & {
        "numba",
        "numpy",
        "scipy",
        "h5py",
        "matplotlib",
        "rich",
        "cyclopts",
        "qdldl",
        "pandas",
        "pyarrow",
        "pxr",
        "rerun",
    }


DOORS = public_modules()
"""Modules whose names are public; most of them have a table of names that come on use."""
TABLES = [name for name in DOORS if table(name)]


@pytest.mark.parametrize("door", TABLES)
def test_type_checkers_see_the_names_that_are_there(door):
    tree = ast.parse(Path(import_module(door).__file__).read_text())
    guarded = next(n for n in tree.body if isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")
    # `import Name as Name`, or type checkers take the names for private ones.
    aliases = ((n.module, a) for n in guarded.body for a in n.names)
    seen = {a.name: module for module, a in aliases if a.asname == a.name}
    assert seen == table(door)


@pytest.mark.parametrize("door", TABLES)
def test_no_public_name_is_that_of_a_module_beside_it(door):
    folders = getattr(import_module(door), "__path__", ())
    beside = {path.stem for folder in folders for path in Path(folder).iterdir()}
    assert not beside & {name for name, home in table(door).items() if home != "stickslip"}


@pytest.mark.parametrize("door", DOORS)
def test_every_public_name_is_there_and_documented(door):
    module = import_module(door)
    assert module.__all__ == sorted(module.__all__)
    assert set(module.__all__) <= set(dir(module))
    for name in module.__all__:
        assert getattr(module, name).__doc__, f"{name} has no docstring"


def test_stickslip_itself_has_some_forty_names():
    assert len([name for name, home in table("stickslip").items() if home != "stickslip"]) <= 50


def test_a_name_that_is_not_there():
    with pytest.raises(AttributeError, match="no attribute 'sovle'"):
        stickslip.sovle  # noqa: B018
