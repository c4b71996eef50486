"""Materials by pairs: the law of each, by the combination rule or as a user gives it.

The table of coefficients is what detection hands to the kernels of steps; `World.law` has a pair of it as the
law of `laws.py` that it is.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.laws import COEFFICIENTS, NewtonImpact, coefficient_fault
from stickslip.mechanics.given import numbers
from stickslip.state import Array, IntArray, ModelError


@dataclass(frozen=True, eq=False)
class Materials:
    """What every pair of materials does when it touches: the law of each pair, by its coefficients."""

    names: tuple[str, ...]
    law: Array
    """mu, mu_roll, mu_spin, e of all pairs, symmetric [-, m, m, -], shape (nm, nm, 4)."""

    @property
    def mu(self) -> Array:
        """Friction [-], shape (nm, nm)."""
        return self.law[..., 0]

    @property
    def mu_roll(self) -> Array:
        """Rolling friction [m], shape (nm, nm)."""
        return self.law[..., 1]

    @property
    def mu_spin(self) -> Array:
        """Torsional friction about the normal [m], shape (nm, nm)."""
        return self.law[..., 2]

    @property
    def e(self) -> Array:
        """Restitution [-], shape (nm, nm)."""
        return self.law[..., 3]

    @property
    def pairs(self) -> IntArray:
        """Pairs (i, j), i <= j, row by row [-], shape (pairs, 2)."""
        return np.stack(np.triu_indices(len(self.names)), axis=1).astype(np.int64)

    def with_laws(self, coefficients: Array) -> "Materials":
        """The same materials with other laws: as `law`, of all `pairs` [-, m, m, -], shape (pairs, 4)."""
        i, j = self.pairs.T
        law = np.empty_like(self.law)
        law[i, j] = law[j, i] = coefficients
        law.flags.writeable = False
        return replace(self, law=law)


def given_coefficients(owner: str, **given: float | None) -> dict[str, float]:
    """Those coefficients that are not None, in their range."""
    found = {key: numbers(owner, key, value, ()) for key, value in given.items() if value is not None}
    for key, value in found.items():
        if fault := coefficient_fault(key, value):
            raise ModelError(f"{owner}: {fault}")
    return {key: float(value) for key, value in found.items()}


def law_coefficients(owner: str, law: Any) -> dict[str, float]:
    """Those of the law that is given for a pair."""
    if type(law) is not NewtonImpact:
        raise ModelError(
            f"{owner}: law is {law!r}; give a NewtonImpact. Poisson's impact is an option of the scheme,"
            " SemiExplicitMoreauJean(impact='poisson')"
        )
    if law.contacts != 1 or law.dimension != 3:
        raise ModelError(f"{owner}: law is {law!r}; give the law of one contact in space")
    return dict(zip(COEFFICIENTS, law.coefficients[0].tolist(), strict=True))


def tables(materials: dict[str, NewtonImpact], pairs: dict[tuple[str, str], dict[str, float]]) -> Materials:
    """mu, mu_roll, mu_spin of a pair are geometric means, e is the smaller one, unless the pair is given.

    materials: the law of each with itself.
    """
    names = tuple(materials)
    own = np.concatenate([law.coefficients for law in materials.values()])
    law = np.sqrt(own)[:, None] * np.sqrt(own)
    law[..., -1] = np.minimum.outer(own[:, -1], own[:, -1])
    each = np.arange(len(names))
    law[each, each] = own  # of mu with itself the product of roots may round
    for (first, second), given in pairs.items():
        i, j = names.index(first), names.index(second)
        for key, value in given.items():
            law[[i, j], [j, i], COEFFICIENTS.index(key)] = value
    law.flags.writeable = False
    return Materials(names, law)
