"""Guards and edges: times at which the state of a system jumps, or functions of time jump.

    Guard("floor", "ball", lambda q: q[0], {"v": lambda v: -0.8 * v})
    Guard("too warm", "room", lambda x: x[0] - 22.0, {"z": [0.0]}, direction="rising")

When the function of a guard crosses zero in its direction, the state jumps to the values of its jump map, as
in
hybrid systems. The event-driven scheme locates the event. Edges are known times at which functions of time
jump;
schemes end a step there.
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.names import alternatives
from stickslip.problem.checks import Array, IntArray
from stickslip.state import ModelError
from stickslip.systems.quantities import FLOW, MOTION, Given, Quantity, needed, quantity

DIRECTIONS = ("falling", "rising", "both")
"""Directions in which the function of a guard may cross zero."""
ROUNDING = 8.0 * float(np.finfo(float).eps)
"""Rounding error of a time relative to its value [-]."""


class Guard:
    """Event at a zero of a function of the state of some systems, given by name, with an optional jump.

    function   function of any of (t, q, v, z), or of (t, x, z) if all systems are of first order; q, v and z
               are those of its systems, concatenated
    jump       new values of q, v, z or x: a constant or a function of the same arguments for each, evaluated
               before the jump; other quantities are unchanged. Without a jump the event is only located and
               reported
    direction  `falling`, `rising` or `both`

    Example:

        heater = ss.FirstOrder("room", f=lambda x, z: -x + z, x0=[18.0], z=[25.0])
        off = ss.systems.Guard("off", ("room",), lambda x: x[0] - 20.0, jump={"z": 0.0}, direction="rising")
        run = ss.simulate(ss.NonsmoothSystem([heater], guards=[off]), until=1.0, h=0.1, scheme="event-driven")
    """

    def __init__(
        self, name: str, systems: str | Sequence[str], function: Callable[..., float],
        jump: Mapping[str, Given] | None = None, *, direction: str = "falling",
    ):  # fmt: skip
        self.name, self.function, self.direction = name, function, direction
        owner = f"guard {name!r}"
        self.systems: tuple[str, ...] = (systems,) if isinstance(systems, str) else tuple(systems)
        if not self.systems or len(set(self.systems)) < len(self.systems):
            raise ModelError(f"{owner}: its systems are {self.systems}; give one or more names, each once")
        if not callable(function):
            raise ModelError(
                f"{owner}: its function is {function!r}; give a function whose zero is the event"
            )
        if jump is not None and not isinstance(jump, Mapping):
            raise ModelError(
                f"{owner}: jump is {jump!r}; give a function for each quantity, {{'v': lambda v: -v}}"
            )
        self.jump = dict(jump or {})
        if direction not in DIRECTIONS:
            raise ModelError(f"{owner}: direction is {direction!r}; {alternatives(direction, DIRECTIONS)}")

    def __repr__(self) -> str:
        return f"Guard({self.name!r}, {', '.join(self.systems)}, {self.direction})"


@dataclass(frozen=True, eq=False)
class BoundGuard:
    """A guard bound to its systems, with the positions of their variables."""

    name: str
    direction: str
    systems: tuple[int, ...]
    """Indices of its systems."""
    function: Quantity
    """Function whose zero is the event."""
    jump: dict[str, Quantity]
    """New values by the name of the variable, `q`, `v` or `z`."""
    q: slice | IntArray
    """Positions of its coordinates in the flat q [-]: a slice where they are contiguous, otherwise indices,
    shape (nq,)."""
    v: slice | IntArray
    """Positions of its velocities in the flat v [-], in the same form, shape (nv,)."""
    z: slice | IntArray
    """Positions of its discrete parameters in the flat z [-], in the same form, shape (nz,)."""

    @classmethod
    def of(
        cls, guard: Guard, numbers: tuple[int, ...], first_order: bool,
        places: tuple[slice | IntArray, slice | IntArray, slice | IntArray],
        start: tuple[Array, Array, Array],
    ) -> "BoundGuard":  # fmt: skip
        """Return a guard bound to systems.

        numbers       indices of the systems
        first_order   whether all of them are first-order systems
        places        positions of their q, v and z
        start         flat q, v and z at the start
        """
        owner = f"guard {guard.name!r}"
        sizes = {key: x[place].size for key, x, place in zip("qvz", start, places, strict=True)}
        arguments = FLOW if first_order else MOTION
        allowed = ("t", "x", "z") if first_order else MOTION
        function = needed(quantity(owner, "its function", guard.function, (1,), arguments, allowed))
        jumps = {}
        for name, argument in guard.jump.items():
            key = "q" if first_order and name == "x" else name
            if name not in allowed[1:]:
                raise ModelError(f"{owner}: jump of {name!r}; {alternatives(name, allowed[1:])}")
            of = f"the jump of {name}"
            jumps[key] = needed(quantity(owner, of, argument, (sizes[key],), arguments, allowed))
        bound = cls(guard.name, guard.direction, numbers, function, jumps, *places)
        bound.value(0.0, *start)
        return bound

    def value(self, t: float, q: Array, v: Array, z: Array) -> float:
        """Return the value of the function at the flat state [any]; raise a ModelError if it is not
        finite."""
        result = float(self.function(t, *self._own(q, v, z))[0])
        if not math.isfinite(result):
            raise ModelError(f"guard {self.name!r}: at t = {t:.9g} s, its function is {result}")
        return result

    def jumped(self, t: float, q: Array, v: Array, z: Array) -> tuple[Array, Array, Array]:
        """Return the flat state after the jump; other systems are unchanged."""
        state, after = self._own(q, v, z), {"q": np.array(q), "v": np.array(v), "z": np.array(z)}
        for name, one in self.jump.items():
            value = one(t, *state)
            if not np.isfinite(value).all():
                raise ModelError(f"guard {self.name!r}: at t = {t:.9g} s, {one.name} is not finite: {value}")
            after[name][getattr(self, name)] = value
        return after["q"], after["v"], after["z"]

    def _own(self, q: Array, v: Array, z: Array) -> tuple[Array, Array, Array]:
        return q[self.q], v[self.v], z[self.z]


class Edges:
    """Times at which functions of time jump: an increasing array, or a function of t that returns the
    next."""

    def __init__(self, given: ArrayLike | Callable[[float], float]):
        self._next: Callable[[float], float]
        self.given: Any = given
        """Times [s], shape (n,), or the user's function."""
        if callable(given):
            self._next = given
            return
        try:
            times = np.array(given, float)
        except (TypeError, ValueError):
            raise ModelError(f"edges is {given!r}; give times, or a function of t") from None
        if times.ndim != 1 or not np.isfinite(times).all() or (np.diff(times) <= 0.0).any():
            raise ModelError(f"edges is {given!r}; give finite times that increase")
        self.given = times
        listed = times.tolist()
        self._next = lambda t: listed[k] if (k := bisect_right(listed, t)) < len(listed) else math.inf

    def after(self, t: float) -> float:
        """Return the first edge later than t, beyond rounding [s]; inf if there is none."""
        edge = self._ask(t)
        # If t is an edge up to rounding, a user's function may return the same edge.
        later = t + ROUNDING * abs(t)
        return edge if edge > later else self._checked(later, self._ask(later))

    def is_one(self, t: float) -> bool:
        """Whether t is an edge up to rounding."""
        rounding = ROUNDING * abs(t) + math.ulp(0.0)
        return abs(self._ask(t - 2.0 * rounding) - t) <= 2.0 * rounding

    def cuts(self, t: float, end: float) -> tuple[float, ...]:
        """Return the times at which a step from t to `end` is split at edges, with `end` as the last [s]."""
        times, edge = [], self.after(t)
        while edge < end - ROUNDING * abs(end):
            times.append(edge)
            edge = self.after(edge)
        return (*times, end)

    def sides(self, t: float, h: float) -> tuple[float, float]:
        """Return start and length of a step between edges [s].

        An end of the step at an edge is moved inwards by rounding, so that functions of time are evaluated on
        the side of the step.
        """
        end = t + h
        low = t + ROUNDING * abs(t) if self.is_one(t) else t
        return low, (end - ROUNDING * abs(end) if self.is_one(end) else end) - low

    def before(self, t: float) -> float:
        """Return a time just before t if t is an edge up to rounding, otherwise t [s]."""
        return t - 4.0 * ROUNDING * abs(t) if self.is_one(t) else t

    def clear(self, t: float, h: float, most: int) -> int:
        """Return the number of steps of length h from t, at most `most`, without an edge inside or at their
        ends."""
        if self.is_one(t):
            return 0
        remaining = self.after(t) - t
        n = int(min(most, remaining / h))
        return n - 1 if n and n * h >= remaining - 2.0 * ROUNDING * abs(t + remaining) else n

    def _ask(self, t: float) -> float:
        try:
            return float(self._next(t))
        except (TypeError, ValueError) as error:
            raise ModelError(
                f"edges: at t = {t:.9g} s, the function of the next time raised an error: {error}"
            ) from None

    @staticmethod
    def _checked(t: float, found: float) -> float:
        if not found > t:
            raise ModelError(f"edges: at t = {t:.9g} s, the next is {found:.9g} s; give a later time")
        return found


def checked_guards(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """Return the guards as a tuple; raise a ModelError unless their names are unique."""
    if isinstance(guards, Guard) or not isinstance(guards, Iterable):
        raise ModelError("guards: give a list")
    result = tuple(guards)
    for one in result:
        if not isinstance(one, Guard):
            raise ModelError(f"guards: {one!r} is not a Guard")
    for name in (one.name for one in result):
        if not isinstance(name, str) or not name or sum(one.name == name for one in result) > 1:
            raise ModelError(f"a guard is named {name!r}; names must be non-empty text, and unique")
    return result
