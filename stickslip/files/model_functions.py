"""Users' functions in models: files contain names of functions, but no code.

Files are untrusted data, so names in them are never looked up in modules. The writer of a model names its
functions, and the reader passes functions for these names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stickslip.files.model_faults import Faults, Place
from stickslip.names import alternatives
from stickslip.state import ModelError

KEY = "function"
"""Key of a reference to a function in a file: `{function = "control"}`."""
DEEPEST = 20
"""Largest depth at which references are searched; parts of models are less deep."""
Functions = Mapping[str, Callable[..., Any]]
NONE: Functions = {}


@dataclass(frozen=True, eq=False, slots=True)
class FunctionNode:
    """A function in a tree, with its owner."""

    function: Callable[..., Any]
    owner: str = ""
    """Part of the model that the function belongs to: `actuator 'motor'`."""
    field: str = ""


def checked_functions(functions: Any) -> Functions:
    """Check functions by name given by a user."""
    if functions is None:
        return NONE
    if not isinstance(functions, Mapping):
        raise ModelError(f"functions is {type(functions).__name__}; give functions by name, {{'control': f}}")
    for name, one in functions.items():
        if not isinstance(name, str) or not name:
            raise ModelError(f"functions has the name {name!r}; names must be non-empty text")
        if not callable(one):
            raise ModelError(f"functions[{name!r}] is {one!r}, which is not callable")
    return dict(functions)


def named(tree: Any, functions: Functions) -> Any:
    """Replace the functions of a tree by their names; raise a ModelError for a function without a name."""
    if isinstance(tree, dict):
        return {key: named(value, functions) for key, value in tree.items()}
    if isinstance(tree, list):
        return [named(one, functions) for one in tree] if _may_hold(tree) else tree
    if not isinstance(tree, FunctionNode):
        return tree
    for name, one in functions.items():
        if one == tree.function:
            return {KEY: name}
    called = getattr(tree.function, "__qualname__", repr(tree.function))
    raise ModelError(
        f"{tree.owner}: {tree.field} is the function {called!r}; a model file contains no functions:"
        " give the function a name, ss.save(model, path, functions={'name': function}), and pass it again"
        " when you read the file"
    )


def resolved(tree: Any, functions: Functions, faults: Faults, place: Place = ()) -> Any:
    """Replace the names of functions in a tree by the functions; missing ones are added to `faults`."""
    if len(place) > DEEPEST:
        return tree
    if isinstance(tree, list):
        if not _may_hold(tree):
            return tree
        return [resolved(one, functions, faults, (*place, k)) for k, one in enumerate(tree)]
    if not isinstance(tree, dict):
        return tree
    if set(tree) != {KEY}:
        return {key: resolved(value, functions, faults, (*place, key)) for key, value in tree.items()}
    name = tree[KEY]
    if isinstance(name, str) and name in functions:
        return FunctionNode(functions[name])
    if not isinstance(name, str):
        faults.add(place, "is a function without a name; its name must be text")
    elif functions:
        faults.add(place, f"function {name!r} is missing; {alternatives(name, tuple(functions))}")
    else:
        faults.add(place, f"is the function {name!r}: ss.load(path, functions={{{name!r}: ...}}) gives it")
    return 0.0


def _may_hold(listed: list[Any]) -> bool:
    """Whether a list may contain functions; lists of numbers do not."""
    return bool(listed) and isinstance(listed[0], dict | list | FunctionNode)
