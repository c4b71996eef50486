"""Names that users give to bodies, materials, joints, forces and sensors."""

from collections.abc import Container
from typing import Any

from stickslip.state import ModelError


def new_name(what: str, name: Any, taken: Container[str]) -> str:
    """A name that is not taken."""
    if not isinstance(name, str) or not name:
        raise ModelError(f"the name of a {what} is {name!r}; give some text")
    if name in taken:
        raise ModelError(f"there is a {what} {name!r} already; names are unique")
    return name
