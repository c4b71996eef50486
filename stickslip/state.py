"""State of a model and its check, and the errors of invalid models."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


class ModelError(ValueError):
    """Invalid model. The message names the system, body or interaction, the quantity, and the time if any.

    Example:

        try:
            ss.Lagrangian("ball", M=-1.0, q0=0.0)
        except ss.ModelError as error:
            print(error)
    """


class UnknownNameError(ModelError, KeyError):
    """An unknown name of a scheme, a solver, a scene, a body, ...; the message lists the known ones."""

    def __str__(self) -> str:  # a KeyError shows its message in quotes
        return " ".join(map(str, self.args))


def kept(value: Any) -> Any:
    """Return a value of a user for later use: arrays and lists, which may change, are copied."""
    if isinstance(value, np.ndarray):
        return value.copy()
    return tuple(kept(item) for item in value) if isinstance(value, list) else value


def _none() -> Array:
    return np.zeros(0)


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """Coordinates, velocities and discrete parameters of a model at one time.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        world = b.build()
        thrown = ss.State(0.0, world.start.q, np.array([1.0, 0, 0, 0, 0, 0]))
        print(ss.simulate(world, until=0.1, h=1e-2, start=thrown).body("ball").position[-1])
    """

    t: float
    """Time [s]."""
    q: Array
    """Coordinates of all systems, states x of first-order ones [m, rad, or any], shape (nq,); in a world of
    n bodies (x, p) of each, centre of mass and unit quaternion, scalar first [m, -], shape (7 n,)."""
    v: Array
    """Velocities of all systems [m/s, rad/s], shape (nv,); in a world of n bodies (velocity of the centre of
    mass in the inertial frame, angular velocity in the body frame) of each, shape (6 n,)."""
    z: Array = field(default_factory=_none)
    """Discrete parameters of all systems [any], shape (nz,)."""


_new: Any = object.__new__
_set_t, _set_q, _set_v, _set_z = (vars(State)[name].__set__ for name in ("t", "q", "v", "z"))


def state_of(t: float, q: Array, v: Array, z: Array) -> State:
    """Return `State(t, q, v, z)`, in half the time of the constructor, for loops that create many."""
    state: State = _new(State)
    _set_t(state, t)
    _set_q(state, q)
    _set_v(state, v)
    _set_z(state, z)
    return state


def check_numbers(state: State, sizes: Mapping[str, int], owner: Callable[[str, int], str]) -> None:
    """Raise a ModelError for a state whose time or arrays are not finite numbers of these sizes.

    sizes: of `q`, `v` and optionally `z`; owner: function that names the owner of an entry, such as "body
    'ball'".
    """
    if not isinstance(state.t, Real) or not math.isfinite(state.t):
        raise ModelError(f"state.t is {state.t!r}; expected a finite time in seconds")
    for key, size in sizes.items():
        value = getattr(state, key)
        if not isinstance(value, np.ndarray) or value.dtype.kind not in "fiu":
            raise ModelError(f"state.{key} is {type(value).__name__}; expected an array of numbers")
        if value.shape != (size,):
            raise ModelError(f"state.{key} has shape {value.shape}, expected ({size},)")
        finite = np.isfinite(value)
        if not finite.all():
            k = int(np.argmin(finite))
            raise ModelError(
                f"{owner(key, k)}: at t = {state.t:.9g} s, {key} is not finite:"
                f" state.{key}[{k}] is {value[k]}"
            )
