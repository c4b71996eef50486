"""Nonsmooth laws: the set of the multipliers, and the impact law.

A law relates the outputs y of a relation and its multipliers lam: -y lies in the normal cone of the
set K at lam. `K` defines the law completely for complementarity (lam >= 0), equality (lam free), relay and
box (lam in an interval). Contact laws add friction cones, and an impact law for the normal velocity:

- Newton: u_N⁺ = -e u_N⁻. The law is stated on u_N⁺ + e u_N⁻.
- Poisson: two phases. Compression ends with u_N = 0 and the impulse r_N^c; expansion returns
  at least e r_N^c: r = r^c + r^e with r_N^e >= e r_N^c (Pfeiffer & Glocker 1996, chapter 8).

Systems name a law for each interaction. In worlds every pair of materials has one, `world.law(one, other)`:
steps read its coefficients from a table (`Materials.law`), from which they compute K and the bias of their
contacts (`kernels/bodies/assembly.py`). Compiled solvers evaluate the law in `kernels/local.py` (exact
one-contact solves), `kernels/contact_law.py` (residuals) and `kernels/cones.py` (projection onto K).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray, ProblemError, count, floats, frozen
from stickslip.problem.sets import ProductSet, free, friction, interval, nonnegative
from stickslip.state import BoolArray

__all__ = ["Box", "Complementarity", "Equality", "Law", "Mixed", "NewtonImpact", "PoissonImpact", "Relay"]

Coefficients = float | Sequence[float]
COEFFICIENTS = ("mu", "mu_roll", "mu_spin", "e")
"""Coefficients of a contact law, in the order of their tables."""


def coefficient_fault(name: str, value: Array, thing: str = "contact") -> str:
    """Return what is wrong with values of one of `COEFFICIENTS`; empty if they are valid."""
    bad = ~((value >= 0.0) & ((value <= 1.0) if name == "e" else (value < np.inf)))
    if not bad.any():
        return ""
    i = int(np.flatnonzero(bad)[0])
    where = f"{name} of {thing} {i}" if value.ndim else name
    rule = "restitution must lie in [0, 1]" if name == "e" else "it must be finite and not negative"
    return f"{where} is {value.flat[i]:g}; {rule}"


def groups(coefficients: Array) -> BoolArray:
    """Return which groups of friction contacts have, from `COEFFICIENTS` of shape (nc, 4) [-], (nc, 4), bool.

    Sliding friction is always present, rolling and torsional friction if their coefficient is not 0.
    """
    has = coefficients > 0.0
    has[:, 0], has[:, 3] = True, False
    return has


def components(coefficients: Array) -> BoolArray:
    """Return which of N, T1, T2, rolling about t1, t2, torsion about n they have [-], shape (nc, 6), bool."""
    return np.repeat(groups(coefficients)[:, [0, 1, 2]], (3, 2, 1), axis=1)


class Law(ABC):
    """Base class of laws."""

    impact: ClassVar[str] = ""
    """`newton`, `poisson`, or empty for a law without impacts."""

    def __post_init__(self) -> None:
        try:
            self._check()
            _ = self.K
        except ProblemError as error:
            raise ProblemError(f"{type(self).__name__}: {error}") from None

    def _check(self) -> None:  # noqa: B027 (most laws are checked by making their set)
        """Raise a ProblemError for invalid fields."""

    @property
    @abstractmethod
    def K(self) -> ProductSet:
        """Set of the multipliers."""

    @property
    def size(self) -> int:
        """Number m of components of y and lam."""
        return self.K.size

    @cached_property
    def unilateral(self) -> BoolArray:
        """Blocks of K with a gap in mechanics (r_N >= 0) [-], shape (nb,), bool."""
        return (self.K.kind == cones.NONNEGATIVE) | (self.K.kind == cones.FRICTION)

    @cached_property
    def normals(self) -> IntArray:
        """Components of y that are gaps [-], shape (number of unilateral blocks,)."""
        return self.K.offset[:-1][self.unilateral]

    def impulses(self, h: float) -> ProductSet:
        """Return the set of the impulses over a step h [s]: bounds, which are forces, scale with h."""
        K = self.K
        if not self._bounded:
            return K
        if h not in self._scaled:
            self._scaled.clear()  # only the last step length is cached
            self._scaled[h] = replace(K, lower=h * K.lower, upper=h * K.upper)
        return self._scaled[h]

    @cached_property
    def _bounded(self) -> bool:
        return bool((self.K.kind == cones.INTERVAL).any())

    @cached_property
    def _scaled(self) -> dict[float, ProductSet]:
        return {}

    @cached_property
    def restitution(self) -> Array:
        """e of each block [-], shape (nb,); 0 for a law without impacts."""
        return np.asarray(frozen(np.zeros(len(self.K))))

    def bias(self, u_before: Array) -> Array:
        """Return the bias added to the velocity after the impact [m/s], (m,): e min(u_N⁻, 0) on the normals.

        A contact that is already separating has no bias (Siconos Developer's Notes 2017, (11.47)).
        """
        bias = np.zeros(self.size)
        if self.impact == "newton":
            bias[self.normals] = self._returned * np.minimum(u_before[self.normals], 0.0)
        return bias

    @property
    def has_own_bias(self) -> bool:
        """Whether a subclass overrides `bias`, so that `restitution` does not determine the impact law."""
        return type(self).bias is not Law.bias

    @cached_property
    def _returned(self) -> Array:
        """Restitution e of each normal [-]."""
        return self.restitution[self.unilateral]


@dataclass(frozen=True)
class Complementarity(Law):
    """Law 0 <= y ⟂ lam >= 0, component by component: ideal diodes, unilateral springs."""

    components: int = 1
    """Number of components."""

    @cached_property
    def K(self) -> ProductSet:
        return nonnegative(count("components", self.components, 1))


@dataclass(frozen=True)
class Equality(Law):
    """Law y = 0 with free lam: a bilateral constraint, a joint."""

    components: int = 1
    """Number of components."""

    @cached_property
    def K(self) -> ProductSet:
        return free(count("components", self.components, 1))


@dataclass(frozen=True)
class Mixed(Law):
    """Law y = 0 for the first components, 0 <= y ⟂ lam >= 0 for the others."""

    equalities: int
    """Number of components with y = 0."""
    inequalities: int
    """Number of complementary components."""

    def _check(self) -> None:
        count("equalities", self.equalities, 0)
        count("inequalities", self.inequalities, 0)
        if self.equalities + self.inequalities == 0:
            raise ProblemError("it has no components")

    @cached_property
    def K(self) -> ProductSet:
        others = nonnegative(self.inequalities)
        return free(self.equalities) + others if self.equalities else others


@dataclass(frozen=True)
class Box(Law):
    """Law -y in the normal cone of [lower, upper] at lam; bounds may be infinite.

    In mechanics it is a law on the velocity that is always active, and the bounds are forces: Box(-f, f) is
    dry friction of a joint. Use Complementarity or NewtonImpact for a contact with a gap.
    """

    lower: Coefficients
    """Lower bounds [unit of lam], one per component."""
    upper: Coefficients
    """Upper bounds [unit of lam], one per component."""

    def _check(self) -> None:
        _settle(self, "lower", "upper")
        if not self.K.size:
            raise ProblemError("it has no components")

    @cached_property
    def K(self) -> ProductSet:
        return interval(self.lower, self.upper)


@dataclass(frozen=True)
class Relay(Law):
    """Law of a relay: lam = level where y < 0, -level where y > 0, any value between where y = 0.

    Feedback r = B lam with C B > 0 then drives y to zero: -y lies in the normal cone of [-level, level].
    """

    level: Coefficients = 1.0
    """Largest |lam| [unit of lam], one per component."""
    components: int = 1
    """Number of components; with several levels, as many as those."""

    def _check(self) -> None:
        _settle(self, "level")
        level = floats("level", self.level).reshape(-1)
        if not level.size:
            raise ProblemError("it has no components")
        if not ((level >= 0.0) & np.isfinite(level)).all():
            raise ProblemError(f"level is {self.level}; it must be finite and not negative")
        count("components", self.components, 1)
        if level.size > 1 and self.components not in (1, level.size):
            raise ProblemError(f"level has {level.size} entries for {self.components} components")

    @cached_property
    def K(self) -> ProductSet:
        level = floats("level", self.level).reshape(-1)
        level = np.broadcast_to(level, (max(level.size, self.components),))
        return interval(-level, level)


@dataclass(frozen=True)
class _Impact(Law):
    """Unilateral contact with restitution, optionally with Coulomb, rolling and torsional friction."""

    e: Coefficients = 0.0
    """Restitution [-], in [0, 1]; one number, or one per contact."""
    mu: Coefficients | None = None
    """Sliding friction [-]; None for a contact without friction, which has one component."""
    mu_roll: Coefficients | None = None
    """Rolling friction [m]; adds two components to a contact."""
    dimension: int = 3
    """2 or 3: components of a contact with sliding friction."""
    contacts: int = 1
    """Number of contacts that share the law and the relation."""
    mu_spin: Coefficients | None = None
    """Torsional friction against spinning about the normal [m]; adds one component to a contact, the last."""

    @classmethod
    def of(cls, coefficients: ArrayLike) -> Self:
        """Return the law of a contact in 3D with these `COEFFICIENTS`, without rolling and torsion of 0."""
        mu, mu_roll, mu_spin, e = (float(x) for x in np.asarray(coefficients))
        return cls(e=e, mu=mu, mu_roll=mu_roll or None, mu_spin=mu_spin or None)

    def _check(self) -> None:
        contacts = count("contacts", self.contacts, 1)
        _settle(self, *COEFFICIENTS)
        for name in COEFFICIENTS:
            value = floats(name, 0.0 if getattr(self, name) is None else getattr(self, name))
            fault = coefficient_fault(name, value)
            if value.size not in (1, contacts):
                fault = f"{name} has {value.size} entries for {contacts} contacts"
            if fault:
                raise ProblemError(fault)
        if self.dimension not in (2, 3):
            raise ProblemError(f"dimension is {self.dimension}; it must be 2 or 3")
        for name, adjective in (("mu_roll", "rolling"), ("mu_spin", "torsional")):
            if getattr(self, name) is None:
                continue
            if self.mu is None:
                raise ProblemError(f"{name} needs mu as well (0 for no sliding friction)")
            if self.dimension != 3:
                raise ProblemError(f"{adjective} friction requires three dimensions")

    @cached_property
    def coefficients(self) -> Array:
        """`COEFFICIENTS` of each contact, 0 if absent [-, m, m, -], shape (nc, 4)."""
        table = np.zeros((self.contacts, len(COEFFICIENTS)))
        for k, name in enumerate(COEFFICIENTS):
            value = getattr(self, name)
            table[:, k] = 0.0 if value is None else value
        return np.asarray(frozen(table))

    @cached_property
    def K(self) -> ProductSet:
        if self.mu is None:
            return nonnegative(self.contacts)
        size = {"mu": self.dimension - 1, "mu_roll": 2, "mu_spin": 1}
        has = [name for name in size if getattr(self, name) is not None]
        columns = self.coefficients[:, [COEFFICIENTS.index(name) for name in has]]
        return friction([size[name] for name in has], columns, has)

    @cached_property
    def restitution(self) -> Array:
        return self.coefficients[:, COEFFICIENTS.index("e")]


@dataclass(frozen=True)
class NewtonImpact(_Impact):
    """Unilateral contact with Newton's impact law u_N⁺ = -e u_N⁻, and Coulomb's friction if `mu` is given.

    Example:

        law = ss.NewtonImpact(e=0.5, mu=0.3)
        print(law.size)  # components: normal and two tangents
    """

    impact: ClassVar[str] = "newton"


@dataclass(frozen=True)
class PoissonImpact(_Impact):
    """Unilateral contact with Poisson's impact law: expansion returns e times the impulse of compression."""

    impact: ClassVar[str] = "poisson"


IMPACTS: dict[str, type[NewtonImpact] | type[PoissonImpact]] = {
    "newton": NewtonImpact,
    "poisson": PoissonImpact,
}
"""Contact laws by the name of their impact law."""


def _settle(law: Law, *names: str) -> None:
    """Convert coefficients of a law to numbers and tuples, so that later changes of a list have no effect."""
    for name in names:
        value = getattr(law, name)
        if value is not None:
            array = floats(name, value)
            settled = float(array) if array.ndim == 0 else tuple(float(x) for x in array.reshape(-1))
            object.__setattr__(law, name, settled)
