"""Doors: modules whose public names are imported when they are asked for.

The lines `from home import Name as Name` under `if TYPE_CHECKING:` are the table of a door, and the only one.
Type checkers take such names for public, and `door` reads the same lines when a name is first asked for.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

LINE = re.compile(r"^    from (\S+) import (\w+) as \2$", re.MULTILINE)
"""A line of the table: the home of a name, and the name twice."""


def door(name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of the module `name`, by the table in its source."""

    def get(wanted: str) -> Any:
        if wanted == "__all__":
            return public_names(name)
        if wanted.startswith("_"):
            raise AttributeError(f"module {name!r} has no attribute {wanted!r}")
        if wanted in (homes := table(name)):
            return _found(homes[wanted], wanted)
        if hasattr(sys.modules[name], "__path__") and find_spec(f"{name}.{wanted}") is not None:
            return import_module(f"{name}.{wanted}")
        from stickslip.names import suggestion
        from stickslip.renames import PLACES, warn

        if new := PLACES.get(f"{name}.{wanted}"):
            warn(f"{name}.{wanted}", new)
            return _found(*new.rsplit(".", 1))
        close = suggestion(wanted, public_names(name))
        raise AttributeError(f"module {name!r} has no attribute {wanted!r}{'; ' if close else ''}{close}")

    def names() -> list[str]:
        own = (key for key in vars(sys.modules[name]) if key.startswith("__"))
        return sorted({*own, *public_names(name)})

    return get, names


@cache
def table(name: str) -> dict[str, str]:
    """Names that stand in the table of the door `name`, and the module of each."""
    module = import_module(name)
    loader: Any = module.__spec__.loader if module.__spec__ else None
    source = loader.get_source(name) if loader else None
    if source is None:
        raise ImportError(f"{name} is installed without its source, which contains its table of names")
    return {wanted: home for home, wanted in LINE.findall(source)}


def public_modules() -> list[str]:
    """Modules whose names are public: `stickslip` and those of its table."""
    return [
        "stickslip",
        *(f"stickslip.{name}" for name, home in table("stickslip").items() if home == "stickslip"),
    ]


def public_names(name: str) -> list[str]:
    """Public names of a door: those of its table, and the functions and classes that it defines itself."""
    own = (
        key
        for key, value in vars(sys.modules[name]).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == name
    )
    return sorted({*table(name), *own})


def _found(home: str, name: str) -> Any:
    """A name of a module, or a module of a package; `MissingPackage` where that needs an absent extra."""
    is_module = home == "stickslip" and table(home).get(name) == home
    try:
        return import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        from stickslip.extras import explained

        raise explained(error, name) from None
