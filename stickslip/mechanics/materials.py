"""Contact laws of pairs of materials, by the combination rule or as given by users.

Detection passes the table of coefficients to the kernels of steps; `World.law` returns an entry of it as a
law of
`laws.py`.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from stickslip.laws import COEFFICIENTS, NewtonImpact, coefficient_fault
from stickslip.mechanics.given import numbers
from stickslip.state import Array, IntArray, ModelError


@dataclass(frozen=True, eq=False)
class Materials:
    """Materials and the coefficients of the contact law of each pair."""

    names: tuple[str, ...]
    law: Array
    """Coefficients mu, mu_roll, mu_spin, e of all pairs, symmetric [-, m, m, -], shape (nm, nm, 4)."""

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
        """Return the materials with other coefficients of all `pairs` [-, m, m, -], shape (pairs, 4)."""
        i, j = self.pairs.T
        law = np.empty_like(self.law)
        law[i, j] = law[j, i] = coefficients
        law.flags.writeable = False
        return replace(self, law=law)


def given_coefficients(owner: str, **given: float | None) -> dict[str, float]:
    """Return the coefficients that are not None, checked for their range."""
    coefficients = {key: numbers(owner, key, value, ()) for key, value in given.items() if value is not None}
    for key, value in coefficients.items():
        if fault := coefficient_fault(key, value):
            raise ModelError(f"{owner}: {fault}")
    return {key: float(value) for key, value in coefficients.items()}


def law_coefficients(owner: str, law: Any) -> dict[str, float]:
    """Return the coefficients of the law given for a pair."""
    if type(law) is not NewtonImpact:
        raise ModelError(
            f"{owner}: law is {law!r}; give a NewtonImpact. Poisson's impact is an option of the scheme,"
            " SemiExplicitMoreauJean(impact='poisson')"
        )
    if law.contacts != 1 or law.dimension != 3:
        raise ModelError(f"{owner}: law is {law!r}; give the law of one contact in space")
    return dict(zip(COEFFICIENTS, law.coefficients[0].tolist(), strict=True))


def tables(materials: dict[str, NewtonImpact], pairs: dict[tuple[str, str], dict[str, float]]) -> Materials:
    """Return the table of all pairs: geometric means of mu, mu_roll, mu_spin and the smaller e, unless given.

    materials   law of each material with itself
    pairs       coefficients given for pairs
    """
    names = tuple(materials)
    coefficients = np.concatenate([law.coefficients for law in materials.values()])
    law = np.sqrt(coefficients)[:, None] * np.sqrt(coefficients)
    law[..., -1] = np.minimum.outer(coefficients[:, -1], coefficients[:, -1])
    each = np.arange(len(names))
    law[each, each] = coefficients  # exact: the square of a root may be rounded
    for (first, second), values_of_pair in pairs.items():
        i, j = names.index(first), names.index(second)
        for key, value in values_of_pair.items():
            law[[i, j], [j, i], COEFFICIENTS.index(key)] = value
    law.flags.writeable = False
    return Materials(names, law)
