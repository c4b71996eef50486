"""Interactions of a nonsmooth system: a relation and a law between systems that are given by name.

`Interaction` is what users write; `Bound` is an interaction in its `NonsmoothSystem`, with the positions of
its variables in the flat arrays of a state.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stickslip.laws import Law
from stickslip.problem.checks import Array, IntArray
from stickslip.state import ModelError
from stickslip.systems.quantities import Quantity
from stickslip.systems.relations import FirstOrderOutput, MechanicalOutput, Relation


class Interaction:
    """Relation and law of one system or between several systems, which are given by name.

    Example:

        floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
    """

    def __init__(self, name: str, systems: str | Sequence[str], relation: Relation, law: Law):
        self.name = name
        if not isinstance(systems, Iterable):
            raise ModelError(f"interaction {name!r}: give its systems by name")
        self.systems: tuple[str, ...] = (systems,) if isinstance(systems, str) else tuple(systems)
        self.relation, self.law = relation, law
        if not self.systems:
            raise ModelError(f"interaction {name!r} names no system")
        for system in self.systems:
            if not isinstance(system, str):
                raise ModelError(f"interaction {name!r}: give its systems by name, not {system!r}")
        if len(set(self.systems)) < len(self.systems):
            raise ModelError(f"interaction {name!r} names a system twice: {', '.join(self.systems)}")
        if not isinstance(law, Law):
            raise ModelError(
                f"interaction {name!r}: its law is {described(law)}, expected a law such as"
                " NewtonImpact(e=0.5)"
            )
        if isinstance(relation, type) or not hasattr(relation, "bound"):
            raise ModelError(
                f"interaction {name!r}: its relation is {described(relation)}, expected a relation such as"
                " Scleronomous(y)"
            )

    def __repr__(self) -> str:
        relation = type(self.relation).__name__
        return f"Interaction({self.name!r}, {', '.join(self.systems)}, {relation}, {self.law!r})"


@dataclass(frozen=True, eq=False)
class Bound:
    """Interaction of a `NonsmoothSystem`, with the positions of its variables in the flat arrays."""

    name: str
    relation: Relation
    """The relation of the `Interaction`."""
    law: Law
    output: MechanicalOutput | FirstOrderOutput
    """The relation bound to the sizes of its systems and law."""
    systems: tuple[int, ...]
    """Indices of its systems in `NonsmoothSystem.systems`."""
    q: slice | IntArray
    """Positions of its coordinates in the flat q [-]: a slice where they are contiguous, otherwise indices,
    shape (nq,)."""
    v: slice | IntArray
    """Positions of its velocities in the flat v [-], in the same form, shape (nv,)."""
    z: slice | IntArray
    """Positions of its discrete parameters in the flat z [-], in the same form, shape (nz,)."""
    components: slice
    """Positions of its components in the flat r, u and y."""
    blocks: slice
    """Positions of its blocks among the blocks of all interactions."""
    names: tuple[str, ...]
    """Names of the systems that it connects; members of joined systems by their own names."""

    @property
    def mechanical(self) -> MechanicalOutput:
        """`output` as a relation between second-order systems."""
        return self.output  # type: ignore[return-value]

    @property
    def flow(self) -> FirstOrderOutput:
        """`output` as a relation between first-order systems."""
        return self.output  # type: ignore[return-value]

    @cached_property
    def zero(self) -> Array:
        """Zero multipliers, read-only [any], shape (m,)."""
        zero = np.zeros(self.law.size)
        zero.flags.writeable = False
        return zero

    def y(self, t: float, q: Array, z: Array) -> Array:
        """Outputs of a relation between second-order systems at flat q and z and zero multipliers [m, rad],
        shape (m,)."""
        return self.mechanical.y(t, q[self.q], self.zero, z[self.z])

    def rows(self, t: float, q: Array, z: Array) -> Array:
        """Matrix H' with ẏ = H' v + ∂y/∂t, v the velocities of its systems [-, m], shape (m, nv)."""
        return self.mechanical.rows(t, q[self.q], self.zero, z[self.z])

    def applies(self, t: float, q: Array) -> bool:
        """Whether the gap at flat q is a distance between the bodies themselves, not between extensions of
        their features beyond the borders."""
        method = getattr(self.output, "applies", None)
        return method is None or bool(method(t, q[self.q]))

    def rate(self, t: float, q: Array, v: Array, z: Array, rows: Array | None = None) -> Array:
        """Output velocities ẏ = rows v + ∂y/∂t [m/s, rad/s], shape (m,).

        rows: the matrix `self.rows(t, q, z)` if the caller has it already.
        """
        u = (self.rows(t, q, z) if rows is None else rows) @ v[self.v]
        drift = self.mechanical.drift(t, q[self.q], self.zero, z[self.z])
        return u if drift is None else u + drift

    def bias(self, t: float, u_before: Array) -> Array:
        """Bias that the law adds to the velocity after an impact at t [m/s], shape (m,).

        The value is checked where the law is user-defined.
        """
        law = self.law
        if not law.has_own_bias:
            return law.bias(u_before)
        owner, empty = f"interaction {self.name!r}", np.zeros(0)
        bias = Quantity(owner, "bias of its law", (law.size,), lambda t, a, b, z: law.bias(a))
        value = bias(t, u_before, empty, empty)
        if not np.isfinite(value).all():
            raise ModelError(f"{owner}: at t = {t:.9g} s, the bias of its law is not finite: {value}")
        return value


def described(thing: object) -> str:
    """Return the type of `thing` in words, for error messages: "the class Box", "a float"."""
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"a {type(thing).__name__}"
