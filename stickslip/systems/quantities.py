"""Quantities that users define: constants, or functions of some of the arguments t, q, v, z, matched by name.

    F_ext=lambda t: [0.0, -9.81]        N=lambda q, v: ...        M=2.0

A function names its arguments, in the order above; arguments with default values are ignored. Shape and type
of
the returned value are checked on every call, and the value is copied, so that a function may reuse its
buffer.
Finiteness is checked only when a step is not finite (`NonsmoothSystem.explain`). Functions receive read-only
arrays. A function compiled with Numba is stored along with its plain form, so that schemes can call it from
compiled steps.
"""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, floats
from stickslip.state import ModelError

MOTION = ("t", "q", "v", "z")
"""Arguments of mechanical quantities: time, coordinates, velocities, discrete parameters."""
OUTPUT = ("t", "q", "lam", "z")
"""Arguments of mechanical relations: time, coordinates, multipliers, discrete parameters."""
FLOW = ("t", "x", "lam", "z")
"""Arguments of first-order quantities and relations: time, state, multipliers, discrete parameters."""

INPUT = ("t", "x", "xdot", "z")
"""Arguments of inputs of first-order systems: time, state, its rate, discrete parameters."""

Given = ArrayLike | Callable[..., Any]
"""A constant, or a function of some of the arguments."""


@dataclass(frozen=True, eq=False)
class Quantity:
    """A quantity of a model, called with all four arguments."""

    owner: str
    """Owner in messages, such as "system 'ball'" or "interaction 'floor'"."""
    name: str
    """Name of the quantity, such as "F_int"."""
    shape: tuple[int, ...]
    """Shape of the value."""
    function: Callable[[Any, Any, Any, Any], Any]
    """Function of all four arguments."""
    constant: Array | None = None
    """Value of a constant; None for a function [unit of the quantity], shape `shape`."""
    compiled: Callable[..., Any] | None = None
    """The user's Numba function of its own arguments; None for other functions."""
    wanted: tuple[str, ...] = ()
    """Names of the arguments that the user's function takes."""
    difference_of: "tuple[Quantity, int] | None" = None
    """For a Jacobian by differences: the differentiated quantity, and the index of the argument."""
    guarded: tuple[bool, bool, bool] = (False, False, False)
    """Which of the three array arguments the user's function takes; these are passed read-only."""

    def __call__(self, t: float, a: Array, b: Array, z: Array) -> Array:
        """Return the value [unit of the quantity], shape `shape`; check its shape and type."""
        if self.constant is not None:
            return self.constant
        value = self.raw(t, a, b, z)
        if type(value) is np.ndarray:
            if value.dtype == np.float64 and value.shape == self.shape:
                return value.copy()
        elif isinstance(value, float) and self.shape == (1,):
            return np.array([value])
        elif type(value) is list and self.shape == (len(value),) and all(isinstance(x, float) for x in value):
            return np.array(value)
        return self._shaped(value, t)

    def raw(self, t: float, a: Array, b: Array, z: Array) -> Any:
        """Return the value of the user's function, unchecked; its errors get a note with owner, name and
        t."""
        first, second, third = self.guarded
        if first and a.flags.writeable:
            a = _read_only(a)
        if second and b.flags.writeable:
            b = _read_only(b)
        if third and z.flags.writeable:
            z = _read_only(z)
        try:
            return self.function(t, a, b, z)
        except ModelError:
            raise
        except BaseException as error:
            error.add_note(f"in {self.name} of {self.owner}, at t = {t:.9g} s")
            raise

    @property
    def is_compiled(self) -> bool:
        """Whether a compiled step can use the quantity: a constant, or a function compiled with Numba."""
        return self.constant is not None or self.compiled is not None

    def _shaped(self, value: Any, t: float) -> Array:
        if value is None:
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, {self.name} returned nothing")
        try:
            array = floats(self.name, value)
        except ProblemError as error:
            raise ModelError(f"{self.owner}: at t = {t:.9g} s, {error}") from None
        if array.shape == self.shape:
            return array
        if _row(array, self.shape):
            return array.reshape(self.shape)
        raise ModelError(
            f"{self.owner}: at t = {t:.9g} s, {self.name} has shape {array.shape}, expected {self.shape}"
        )


def quantity(
    owner: str, name: str, given: Given | None, shape: tuple[int, ...], arguments: tuple[str, str, str, str],
    allowed: tuple[str, ...] | None = None,
) -> Quantity | None:  # fmt: skip
    """Return `given` as a quantity of that shape; None for None.

    A constant scalar stands for a multiple of the identity if the shape is a square matrix, and for a vector
    with one component; a vector stands for a matrix with one row. `allowed` are the arguments that a function
    may take, by default all.
    """
    if given is None:
        return None
    if callable(given):
        names = _wanted(owner, name, given, arguments, arguments if allowed is None else allowed)
        first, second, third = (a in names for a in arguments[1:])
        return Quantity(
            owner, name, shape, _uniform(_plain(given), names, arguments), compiled=_compiled(given),
            wanted=names, guarded=(first, second, third),
        )  # fmt: skip
    try:
        value = floats(name, given)
    except ProblemError as error:
        raise ModelError(f"{owner}: {error}") from None
    if value.ndim == 0 and len(shape) == 2 and shape[0] == shape[1]:
        value = floats(name, float(value) * np.eye(shape[0]))
    if _row(value, shape):
        value = floats(name, value.reshape(shape))
    if value.shape != shape:
        raise ModelError(f"{owner}: {name} has shape {value.shape}, expected {shape}")
    if not np.isfinite(value).all():
        raise ModelError(f"{owner}: {name} is not finite")
    return Quantity(owner, name, shape, lambda t, a, b, z: value, value)


def needed(found: Quantity | None) -> Quantity:
    """Return `found`, which must not be None (for type checkers)."""
    assert found is not None
    return found


def returned(
    owner: str, name: str, given: Given, arguments: tuple[str, str, str, str], at: tuple[Array, Array, Array]
) -> int:
    """Return the number of values of `given`: its size, or that of its value at the start."""
    if not callable(given):
        return int(np.size(given))
    return int(np.size(needed(quantity(owner, name, given, (-1,), arguments)).raw(0.0, *at)))


def _read_only(array: Array) -> Array:
    view = array.view()
    view.flags.writeable = False
    return view


def _row(array: Array, shape: tuple[int, ...]) -> bool:
    """Whether `array` is a scalar or vector that stands for an array of this shape with a single row."""
    if len(shape) == 1:
        return array.ndim != 1 and array.size == 1 == shape[0]
    return len(shape) == 2 and shape[0] == 1 and array.ndim < 2 and array.size == shape[1]


def _wanted(
    owner: str, name: str, given: Callable[..., Any], arguments: tuple[str, ...], allowed: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the argument names of a user's function; raise a ModelError for unknown names or wrong order."""
    try:
        parameters = signature(getattr(given, "py_func", given)).parameters.values()
    except (TypeError, ValueError):
        raise ModelError(
            f"{owner}: the signature of {name} cannot be inspected; wrap it in a lambda with named arguments"
        ) from None
    open_ = [p for p in parameters if p.default is Parameter.empty and p.kind is not p.VAR_KEYWORD]
    names = tuple(p.name for p in open_)
    order = tuple(a for a in arguments if a in names and a in allowed)
    if names != order or any(p.kind is p.KEYWORD_ONLY for p in open_):
        raise ModelError(
            f"{owner}: {name} takes ({', '.join(str(p) for p in open_)});"
            f" it may take ({', '.join(allowed)}), in that order and by position"
        )
    return names


def _compiled(given: Callable[..., Any]) -> Callable[..., Any] | None:
    """Return `given` if Numba compiled it, otherwise None; recognised without an import of Numba."""
    return given if hasattr(given, "py_func") and hasattr(given, "overloads") else None


def _plain(given: Callable[..., Any]) -> Callable[..., Any]:
    """Return `given` in a form that accepts read-only arrays.

    Numba functions with an explicit signature of writable arrays receive copies.
    """
    if _compiled(given) is None or getattr(given, "_can_compile", True):
        return given
    return lambda *arguments: given(*(np.array(a) if isinstance(a, np.ndarray) else a for a in arguments))


def _uniform(
    f: Callable[..., Any], wanted: tuple[str, ...], arguments: tuple[str, str, str, str]
) -> Callable[[Any, Any, Any, Any], Any]:
    """Return `f` as a function of all four arguments."""
    return UNIFORM[tuple(a in wanted for a in arguments)](f)


UNIFORM: dict[tuple[bool, ...], Callable[[Callable[..., Any]], Callable[[Any, Any, Any, Any], Any]]] = {
    (False, False, False, False): lambda f: lambda t, a, b, z: f(),
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
"""Adapters from a user's function to a function of four arguments, by which of these it takes. They are
written
out for speed, because they are called in every step."""
