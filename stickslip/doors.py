"""Lazy modules: their public names are imported on first access.

The lines `from home import Name as Name` under `if TYPE_CHECKING:` are the table of a lazy module. Type
checkers treat such names as public, and `door` reads the same lines from the source when a name is first
accessed.
"""

import re
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

LINE = re.compile(r"^    from (\S+) import (\w+) as \2$", re.MULTILINE)
"""A line of the table: the module of a name, and the name twice."""


def door(name: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of the module `name`, from the table in its source."""

    def get(attribute: str) -> Any:
        if attribute == "__all__":
            return public_names(name)
        if attribute.startswith("_"):
            raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
        if attribute in (homes := table(name)):
            return _found(homes[attribute], attribute)
        if hasattr(sys.modules[name], "__path__") and find_spec(f"{name}.{attribute}") is not None:
            return import_module(f"{name}.{attribute}")
        from stickslip.names import suggestion
        from stickslip.renames import PLACES, warn

        if new := PLACES.get(f"{name}.{attribute}"):
            warn(f"{name}.{attribute}", new)
            return _found(*new.rsplit(".", 1))
        close = suggestion(attribute, public_names(name))
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}{'; ' if close else ''}{close}")

    def names() -> list[str]:
        special = (key for key in vars(sys.modules[name]) if key.startswith("__"))
        return sorted({*special, *public_names(name)})

    return get, names


@cache
def table(name: str) -> dict[str, str]:
    """Return the names in the table of the lazy module `name`, with the module of each."""
    module = import_module(name)
    loader: Any = module.__spec__.loader if module.__spec__ else None
    source = loader.get_source(name) if loader else None
    if source is None:
        raise ImportError(f"{name} is installed without its source, which contains its table of names")
    return {public: module_name for module_name, public in LINE.findall(source)}


def public_modules() -> list[str]:
    """Return the modules whose names are public: `stickslip` and those in its table."""
    return [
        "stickslip",
        *(f"stickslip.{name}" for name, home in table("stickslip").items() if home == "stickslip"),
    ]


def public_names(name: str) -> list[str]:
    """Return the public names of a lazy module: those of its table, and its own functions and classes."""
    defined = (
        key
        for key, value in vars(sys.modules[name]).items()
        if not key.startswith("_") and getattr(value, "__module__", None) == name
    )
    return sorted({*table(name), *defined})


def _found(home: str, name: str) -> Any:
    """Import a name or a module; raise `MissingPackage` if that needs an extra that is not installed."""
    is_module = home == "stickslip" and table(home).get(name) == home
    try:
        return import_module(f"{home}.{name}") if is_module else getattr(import_module(home), name)
    except ModuleNotFoundError as error:
        from stickslip.extras import explained

        raise explained(error, name) from None
