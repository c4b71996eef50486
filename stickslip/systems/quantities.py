"""What users write: constants and functions of some of the arguments t, q, v, z, taken by name.

    F_ext=lambda t: [0.0, -9.81]        N=lambda q, v: ...        M=2.0

A function names the arguments it wants, in the house's order. What it returns is looked at on every call
(shape and type, which is cheap); whether it is finite is looked at when a step is not
(`NonsmoothSystem.explain`). A function compiled by the user with Numba is kept beside its plain form, so
that schemes can build a compiled step of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, floats

MOTION = ("t", "q", "v", "z")
"""Arguments of mechanical quantities: time, coordinates, velocities, discrete parameters."""
OUTPUT = ("t", "q", "lam", "z")
"""Arguments of mechanical relations: time, coordinates, multipliers, discrete parameters."""
FLOW = ("t", "x", "lam", "z")
"""Arguments of first-order quantities and relations: time, state, multipliers, discrete parameters."""

Given = ArrayLike | Callable[..., Any]
"""A constant, or a function of some of the arguments."""


class ModelError(ValueError):
    """A model that cannot be: names the system or interaction, the quantity, and the time if any."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """One quantity of a model, called with all four arguments."""

    owner: str
    """Whose it is: «system 'ball'», «interaction 'floor'»."""
    name: str
    """Its name, as the user gave it: «F_int»."""
    shape: tuple[int, ...]
    """Shape of its value."""
    function: Callable[[Any, Any, Any, Any], Any]
    """The function, taking all four arguments."""
    constant: Array | None = None
    """Its value where it is constant [unit of the quantity], shape `shape`."""
    compiled: Callable[..., Any] | None = None
    """The user's Numba function of its own arguments, where it is one."""
    wanted: tuple[str, ...] = ()
    """The arguments that the user's function takes."""

    def __call__(self, t: float, a: Array, b: Array, z: Array) -> Array:
        """Its value at time `t` [unit of the quantity], shape `shape`."""
        if self.constant is not None:
            return self.constant
        value = self.function(t, a, b, z)
        if type(value) is np.ndarray and value.shape == self.shape and value.dtype == np.float64:
            return value
        return self._shaped(value, t)

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use it: a constant, or a function compiled with Numba."""
        return self.constant is not None or self.compiled is not None

    def _shaped(self, value: Any, t: float) -> Array:
        try:
            array = floats(self.name, value)
        except ProblemError as error:
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, {error}") from None
        if array.shape != self.shape:
            if array.size == 1 and self.shape in ((1,), (1, 1)):
                return array.reshape(self.shape)
            raise ModelError(
                f"{self.owner}: at t = {t:.9g} s, {self.name} has shape {array.shape}, expected {self.shape}"
            )
        return array


def quantity(
    owner: str, name: str, given: Given | None, shape: tuple[int, ...], arguments: tuple[str, str, str, str]
) -> Quantity | None:
    """`given` as a quantity of that shape; None stays None. A scalar stands for a multiple of the identity
    where a square matrix is wanted, and for a vector with one component."""
    if given is None:
        return None
    if callable(given):
        wanted = _wanted(owner, name, given, arguments)
        return Quantity(
            owner, name, shape, _uniform(given, wanted, arguments), None, _compiled(given), wanted
        )
    try:
        value = floats(name, given)
    except ProblemError as error:
        raise ModelError(f"{owner}: {error}") from None
    if value.ndim == 0 and len(shape) == 2 and shape[0] == shape[1]:
        value = floats(name, float(value) * np.eye(shape[0]))
    if value.size == 1 and shape in ((1,), (1, 1)):
        value = value.reshape(shape)
    if value.shape != shape:
        raise ModelError(f"{owner}: {name} has shape {value.shape}, expected {shape}")
    if not np.isfinite(value).all():
        raise ModelError(f"{owner}: {name} is not finite")
    return Quantity(owner, name, shape, lambda t, a, b, z: value, value)


def _wanted(owner: str, name: str, given: Callable[..., Any], arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments that a user's function names, in the house's order."""
    try:
        parameters = signature(getattr(given, "py_func", given)).parameters.values()
    except (TypeError, ValueError):
        raise ModelError(
            f"{owner}: the arguments of {name} cannot be read; wrap it in a lambda that names them"
        ) from None
    wanted = tuple(
        p.name
        for p in parameters
        if p.default is Parameter.empty and p.kind not in (p.VAR_KEYWORD, p.KEYWORD_ONLY)
    )
    order = tuple(a for a in arguments if a in wanted)
    if wanted != order:
        raise ModelError(
            f"{owner}: {name} takes ({', '.join(wanted)});"
            f" it may take any of ({', '.join(arguments)}), in that order"
        )
    return wanted


def _compiled(given: Callable[..., Any]) -> Callable[..., Any] | None:
    """`given` if Numba compiled it; known by its `py_func`, so that Numba need not be imported."""
    return given if hasattr(given, "py_func") and hasattr(given, "overloads") else None


def _uniform(
    f: Callable[..., Any], wanted: tuple[str, ...], arguments: tuple[str, str, str, str]
) -> Callable[[Any, Any, Any, Any], Any]:
    """`f` as a function of all four arguments; written out, because it is called in every step."""
    return UNIFORM[tuple(a in wanted for a in arguments)](f)


def _of_none(f: Callable[..., Any]) -> Callable[[Any, Any, Any, Any], Any]:
    return lambda t, a, b, z: f()


UNIFORM: dict[tuple[bool, ...], Callable[[Callable[..., Any]], Callable[[Any, Any, Any, Any], Any]]] = {
    (False, False, False, False): _of_none,
    (True, False, False, False): lambda f: lambda t, a, b, z: f(t),
    (False, True, False, False): lambda f: lambda t, a, b, z: f(a),
    (False, False, True, False): lambda f: lambda t, a, b, z: f(b),
    (False, False, False, True): lambda f: lambda t, a, b, z: f(z),
    (True, True, False, False): lambda f: lambda t, a, b, z: f(t, a),
    (True, False, True, False): lambda f: lambda t, a, b, z: f(t, b),
    (True, False, False, True): lambda f: lambda t, a, b, z: f(t, z),
    (False, True, True, False): lambda f: lambda t, a, b, z: f(a, b),
    (False, True, False, True): lambda f: lambda t, a, b, z: f(a, z),
    (False, False, True, True): lambda f: lambda t, a, b, z: f(b, z),
    (True, True, True, False): lambda f: lambda t, a, b, z: f(t, a, b),
    (True, True, False, True): lambda f: lambda t, a, b, z: f(t, a, z),
    (True, False, True, True): lambda f: lambda t, a, b, z: f(t, b, z),
    (False, True, True, True): lambda f: lambda t, a, b, z: f(a, b, z),
    (True, True, True, True): lambda f: f,
}  # fmt: skip
"""By which of the four arguments a function takes: how to call it with all of them."""
