"""From a contestant to the solver that takes part: of the registry, or a class of the user's own."""

import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from stickslip.bench.contestants import Contestant, is_ours
from stickslip.solvers import registry
from stickslip.solvers.registry import Progress


@dataclass(frozen=True)
class Entrant:
    """A solver made for one run."""

    solver: Any
    """With a verb `solve(problem)`."""
    options: dict[str, Any]
    """All its options that can be seen, defaults too."""
    tells: bool
    """Whether `solve` takes `progress`."""

    def solve(self, problem: Any, progress: Progress | None = None) -> Any:
        """What it finds; `progress` goes to those who take it."""
        if progress is None or not self.tells:
            return self.solver.solve(problem)
        return self.solver.solve(problem, progress=progress)


def entrant(contestant: Contestant, tolerance: float) -> Entrant:
    """The solver of a contestant with its options, and with the tolerance where it takes one."""
    given: dict[str, Any] = dict(contestant.options)
    if contestant.place:
        cls = own_class(contestant.place)
        if _takes(cls, "tolerance"):
            given["tolerance"] = tolerance
        solver = cls(**given)
        if not callable(getattr(solver, "solve", None)):
            raise TypeError(f"{contestant.place} has no method solve(problem)")
    elif is_ours(contestant):
        given["tolerance"] = tolerance
        solver = registry.make(contestant.name, **given)
    else:
        raise ValueError(f"no solver {contestant.name!r}; `stickslip solvers` lists the known ones")
    return Entrant(solver, _options(solver, given), _takes(solver.solve, "progress"))


def own_class(place: str) -> Callable[..., Any]:
    """The class at `file.py:Class` or `package.module:Class`."""
    where, _, name = place.rpartition(":")
    if not where or not name.isidentifier():
        raise ValueError(f"{place!r} is not the place of a solver: file.py:Class or package.module:Class")
    if where.endswith(".py"):
        path = Path(where).resolve()
        if not path.is_file():
            raise ValueError(f"there is no file {where} to take {name} from")
        stat = path.stat()
        module = _own_file(path, stat.st_mtime_ns, stat.st_size)
    else:
        module = importlib.import_module(where)
    cls = getattr(module, name, None)
    if not isinstance(cls, type):
        raise ValueError(f"{where} has no class {name}")
    return cls


@lru_cache(maxsize=32)
def _own_file(path: Path, changed: int, size: int) -> ModuleType:
    """The module in a file, read anew only when it has changed: what it compiled stays."""
    name = f"stickslip_own_{path.stem}_{abs(hash((path, changed, size))):x}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.append(folder)  # for what it imports from beside it
    sys.modules[name] = module  # dataclasses look their module up
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _takes(function: Callable[..., Any], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # written in C
        return False
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in parameters)


def _options(solver: Any, given: dict[str, Any]) -> dict[str, Any]:
    """All fields of a dataclass, otherwise what was given; values that no file can hold as text."""
    seen = dict(given)
    if is_dataclass(solver) and not isinstance(solver, type):
        seen = {spec.name: getattr(solver, spec.name) for spec in fields(solver) if spec.init}
    return {
        name: value if isinstance(value, bool | int | float | str) else str(value)[:200]
        for name, value in sorted(seen.items())
    }
