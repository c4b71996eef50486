"""Users' functions in models: files name them, and hold none of their code.

A file is data from anywhere, so that no name in it is ever looked up in a module. Whoever writes a model says
what its functions are called, and whoever reads it gives functions for these names.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from stickslip.files.model_faults import Faults, Place
from stickslip.names import alternatives
from stickslip.state import ModelError

KEY = "function"
"""How files refer to one: `{function = "control"}`."""
DEEPEST = 20
"""Keys and numbers that lead to a function, at most: no part of a model has as many."""
Functions = Mapping[str, Callable[..., Any]]
NONE: Functions = {}


@dataclass(frozen=True, eq=False, slots=True)
class FunctionNode:
    """A function in a tree, and whose it is."""

    function: Callable[..., Any]
    owner: str = ""
    """Of what it is a field: `actuator 'motor'`."""
    field: str = ""


def checked_functions(functions: Any) -> Functions:
    """Functions by name, as a user gives them."""
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
    """A tree with names in the place of functions; a ModelError names one that has none."""
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
    """A tree of a file with functions in the place of their names; `faults` has those that are not given."""
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
    """Whether functions may be in a list: not in one of numbers."""
    return bool(listed) and isinstance(listed[0], dict | list | FunctionNode)
