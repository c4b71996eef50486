"""Nonsmooth laws: which set the multipliers live in, and what an impact prescribes.

A law relates the outputs y of a relation and its multipliers lam: -y lies in the normal cone of the
set K at lam. `K` says all of it for complementarity (lam >= 0), equality (lam free), relay and box
(lam in an interval). Contact laws add friction cones, and what the velocity after an impact owes to the
velocity before it:

- Newton: u_N⁺ = -e u_N⁻. The law is stated on u_N⁺ + e u_N⁻.
- Poisson: two phases. Compression ends with u_N = 0 and the impulse r_N^c; the expansion gives back
  at least e r_N^c: r = r^c + r^e with r_N^e >= e r_N^c (Pfeiffer & Glocker 1996, chapter 8).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray, ProblemError, count, floats, frozen
from stickslip.problem.sets import ProductSet, coulomb, free, interval, nonnegative, rolling
from stickslip.state import BoolArray

Coefficients = float | Sequence[float]


class Law(ABC):
    """What every law offers."""

    impact: ClassVar[str] = ""
    """`newton`, `poisson`, or nothing for a law without impacts."""

    def __post_init__(self) -> None:
        try:
            self._check()
            _ = self.K
        except ProblemError as error:
            raise ProblemError(f"{type(self).__name__}: {error}") from None

    def _check(self) -> None:  # noqa: B027 (most laws are checked by making their set)
        """Refuse fields that make no law."""

    @property
    @abstractmethod
    def K(self) -> ProductSet:
        """The set of the multipliers."""

    @property
    def size(self) -> int:
        """Number m of components of y and lam."""
        return self.K.size

    @cached_property
    def unilateral(self) -> BoolArray:
        """Which blocks of K wait for a gap to close in mechanics (r_N >= 0) [-], shape (nb,), bool."""
        return (self.K.kind == cones.NONNEGATIVE) | (self.K.kind == cones.FRICTION)

    @cached_property
    def normals(self) -> IntArray:
        """Components of y that are gaps [-], shape (number of unilateral blocks,)."""
        return self.K.offset[:-1][self.unilateral]

    def impulses(self, h: float) -> ProductSet:
        """The set of the impulses over a step h [s]: bounds are forces and grow with h, cones do not."""
        K = self.K
        if not self._bounded:
            return K
        if h not in self._scaled:
            self._scaled.clear()  # steps are mostly of one length
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
        """What the law adds to the velocity after [m/s], shape (m,): e min(u_N⁻, 0) on the normals.

        A contact that is already separating owes nothing (Siconos Developer's Notes 2017, (11.47)).
        """
        bias = np.zeros(self.size)
        if self.impact == "newton":
            bias[self.normals] = self._returned * np.minimum(u_before[self.normals], 0.0)
        return bias

    @property
    def has_own_bias(self) -> bool:
        """Whether `bias` is written anew, so that `restitution` alone does not tell what an impact owes."""
        return type(self).bias is not Law.bias

    @cached_property
    def _returned(self) -> Array:
        """e of each normal [-]."""
        return self.restitution[self.unilateral]


@dataclass(frozen=True)
class Complementarity(Law):
    """0 <= y ⟂ lam >= 0, component by component: ideal diodes, unilateral springs."""

    components: int = 1
    """Number of components."""

    @cached_property
    def K(self) -> ProductSet:
        return nonnegative(count("components", self.components, 1))


@dataclass(frozen=True)
class Equality(Law):
    """y = 0, lam free: a bilateral constraint, a joint."""

    components: int = 1
    """Number of components."""

    @cached_property
    def K(self) -> ProductSet:
        return free(count("components", self.components, 1))


@dataclass(frozen=True)
class Mixed(Law):
    """y = 0 for the first components, 0 <= y ⟂ lam >= 0 for the others."""

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
    """-y in the normal cone of [lower, upper] at lam; bounds may be infinite.

    In mechanics it is a law on the velocity and always active, bounds being forces: dry friction of a joint
    is Box(-f, f). A contact that waits for its gap is Complementarity or NewtonImpact.
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
    """lam = level where y < 0, -level where y > 0, anything between where y = 0.

    Feedback r = B lam with C B > 0 then drives y to zero: -y in the normal cone of [-level, level].
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
    """Unilateral contact with restitution, alone, with Coulomb friction, and with rolling friction."""

    e: Coefficients = 0.0
    """Restitution [-], in [0, 1]; one number, or one per contact."""
    mu: Coefficients | None = None
    """Sliding friction [-]; None for a contact without friction, which has one component."""
    mu_roll: Coefficients | None = None
    """Rolling friction [m]; with it a contact has five components."""
    dimension: int = 3
    """2 or 3: components of a contact with sliding friction."""
    contacts: int = 1
    """Number of contacts that share the law and the relation."""

    def _check(self) -> None:
        contacts = count("contacts", self.contacts, 1)
        _settle(self, "e", "mu", "mu_roll")
        e = floats("e", self.e).reshape(-1)
        if not ((e >= 0.0) & (e <= 1.0)).all():
            raise ProblemError(f"e is {self.e}; restitution lies in [0, 1]")
        for name in ("e", "mu", "mu_roll"):
            size = int(np.size(getattr(self, name)))
            if size not in (1, contacts):
                raise ProblemError(f"{name} has {size} entries for {contacts} contacts")
        if self.dimension not in (2, 3):
            raise ProblemError(f"dimension is {self.dimension}; it is 2 or 3")
        if self.mu is None and self.mu_roll is not None:
            raise ProblemError("mu_roll needs mu as well (0 for no sliding friction)")
        if self.mu_roll is not None and self.dimension != 3:
            raise ProblemError("rolling friction is in three dimensions")

    @cached_property
    def K(self) -> ProductSet:
        n = self.contacts
        if self.mu is None:
            return nonnegative(n)
        mu = np.broadcast_to(floats("mu", self.mu).reshape(-1), (n,))
        if self.mu_roll is None:
            return coulomb(mu, self.dimension)
        return rolling(mu, np.broadcast_to(floats("mu_roll", self.mu_roll).reshape(-1), (n,)))

    @cached_property
    def restitution(self) -> Array:
        e = np.broadcast_to(floats("e", self.e).reshape(-1), (self.contacts,))
        return np.asarray(frozen(np.array(e)))


@dataclass(frozen=True)
class NewtonImpact(_Impact):
    """Unilateral contact whose normal velocity is reversed by an impact: u_N⁺ = -e u_N⁻."""

    impact: ClassVar[str] = "newton"


@dataclass(frozen=True)
class PoissonImpact(_Impact):
    """Unilateral contact whose compression impulse is given back e-fold in a second phase."""

    impact: ClassVar[str] = "poisson"


def _settle(law: Law, *names: str) -> None:
    """Make the coefficients of a law numbers and tuples: what a user's list becomes later does not matter."""
    for name in names:
        value = getattr(law, name)
        if value is not None:
            array = floats(name, value)
            settled = float(array) if array.ndim == 0 else tuple(float(x) for x in array.reshape(-1))
            object.__setattr__(law, name, settled)
