"""Functions that users write: which arguments they take, and whose they are when they fail."""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any

from stickslip.mechanics.given import numbers
from stickslip.state import Array, ModelError

Function = Callable[..., Any]


def of_all(owner: str, field: str, given: Function, arguments: tuple[str, ...]) -> Function:
    """`given`, which names some of `arguments`, as a function of all of them by position."""
    try:
        parameters = list(signature(getattr(given, "py_func", given)).parameters.values())
    except (TypeError, ValueError):
        raise ModelError(f"{owner}: the arguments of {field} cannot be read; wrap it in a lambda") from None
    wanted = [p for p in parameters if p.default is Parameter.empty and p.kind is not p.VAR_KEYWORD]
    if any(p.name not in arguments or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL) for p in wanted):
        raise ModelError(
            f"{owner}: {field} takes ({', '.join(str(p) for p in wanted)});"
            f" it may take any of ({', '.join(arguments)}), by position"
        )
    places = tuple(arguments.index(p.name) for p in wanted)
    if places == tuple(range(len(arguments))):
        return given
    return lambda *every: given(*(every[place] for place in places))


def value_of(
    owner: str, field: str, f: Function, arguments: tuple[Any, ...], t: float, shape: tuple[int, ...]
) -> Array:
    """f at those arguments, finite and of that shape; its own exceptions are told whose they are."""
    return numbers(f"{owner} at t = {t:.9g} s", field, called(owner, field, f, arguments, t), shape)


def called(owner: str, field: str, f: Function, arguments: tuple[Any, ...], t: float) -> Any:
    """What f returns, unlooked at; its own exceptions are told whose they are."""
    try:
        return f(*arguments)
    except ModelError:
        raise
    except BaseException as error:
        error.add_note(f"in {field} of {owner}, at t = {t:.9g} s")
        raise
