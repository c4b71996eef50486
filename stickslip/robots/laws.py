"""Contact laws that a user sets for pairs of geoms: friction, restitution and number of rows.

Geoms are grouped into kinds, and a table has the law of each pair of kinds. Where it has NaN, a contact has
MuJoCo's combination of the coefficients of its two geoms, and the smaller restitution of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.robots.layout import LAW_CONDIM, LAW_RESTITUTION, LAWS
from stickslip.state import Array, IntArray, ModelError

CONDIMS = (1, 3, 4, 6)
"""Numbers of rows of a contact: normal; with sliding; with torsion; with rolling."""


@dataclass(frozen=True, eq=False)
class PairLaws:
    """Laws of all pairs of kinds of geoms."""

    kind: IntArray
    """Kind of each geom [-], shape (ngeom,)."""
    law: Array
    """Friction along two axes, about the normal, about two axes, restitution, rows; NaN for MuJoCo's
    combination [-, -, m, m, m, -, -], shape (kinds, kinds, 7)."""

    @classmethod
    def none(cls, ngeom: int) -> "PairLaws":
        """Return the table in which no law is set."""
        return cls(np.zeros(ngeom, np.int64), np.full((1, 1, LAWS), np.nan))

    @classmethod
    def read(cls, kind: Any, law: Any) -> "PairLaws":
        """Return the table from lists, with None for NaN; raise a ValueError if it is invalid."""
        table = cls(np.array(kind, np.int64), np.array(law, float))
        n = len(table.law)
        if table.law.shape != (n, n, LAWS) or not np.isin(table.kind, np.arange(n)).all():
            raise ValueError(f"laws of pairs of shape {table.law.shape}")
        return table

    @property
    def given(self) -> bool:
        """Whether any law is set."""
        return not bool(np.isnan(self.law).all())

    def joined(self, materials: Array, of_geom: IntArray) -> "PairLaws":
        """Return the table with further geoms, with the laws of materials.

        materials   mu, mu_roll, mu_spin, e of pairs of materials [-, m, m, -], shape (nm, nm, 4)
        of_geom     material of each further geom [-], shape (count,)
        """
        n, n_new = len(self.law), len(materials)
        law = np.full((n + n_new, n + n_new, LAWS), np.nan)
        law[:n, :n] = self.law
        mu, roll, spin, e = np.moveaxis(materials, 2, 0)
        rows = np.where(roll > 0.0, 6, np.where(spin > 0.0, 4, 3))
        law[n:, n:] = np.stack([mu, mu, spin, roll, roll, e, rows], axis=2)
        return PairLaws(np.concatenate([self.kind, n + of_geom]), law)

    def with_pair(self, first: IntArray, second: IntArray, row: Array) -> "PairLaws":
        """Return the table in which the entries of `row`, (7,), that are not NaN hold between two sets of
        geoms."""
        # Each kind is divided by membership in the two sets.
        labels = np.zeros((len(self.kind), 3), np.int64)
        labels[:, 0] = self.kind
        labels[first, 1] = labels[second, 2] = 1
        kinds, kind = np.unique(labels, axis=0, return_inverse=True)
        law = self.law[np.ix_(kinds[:, 0], kinds[:, 0])].copy()
        a, b = np.flatnonzero(kinds[:, 1]), np.flatnonzero(kinds[:, 2])
        for place in (np.ix_(a, b), np.ix_(b, a)):
            law[place] = np.where(np.isnan(row), law[place], row)
        return PairLaws(kind.reshape(-1).astype(np.int64), law)


def law_row(owner: str, friction: ArrayLike | None, restitution: float | None, condim: int | None) -> Array:
    """Return the values that are set for a pair, NaN for others [-, -, m, m, m, -, -], shape (7,)."""
    row = np.full(LAWS, np.nan)
    if friction is not None:
        try:
            values = np.atleast_1d(np.asarray(friction, float))
        except (TypeError, ValueError):
            values = np.zeros(0)
        places: dict[int, Sequence[int]] = {1: (0, 0), 3: (0, 0, 1, 2, 2), 5: range(5)}
        if values.shape not in ((1,), (3,), (5,)) or not (np.isfinite(values) & (values >= 0.0)).all():
            raise ModelError(
                f"{owner}: friction is {friction!r}; expected 1 number (sliding), 3 (sliding, torsion,"
                " rolling) or 5 (sliding along two axes, torsion, rolling about two axes), none below 0"
            )
        row[: len(places[values.size])] = values[list(places[values.size])]
    if restitution is not None:
        if not (isinstance(restitution, Real) and 0.0 <= restitution <= 1.0):
            raise ModelError(f"{owner}: restitution is {restitution!r}; expected a number from 0 to 1")
        row[LAW_RESTITUTION] = restitution
    if condim is not None:
        if condim not in CONDIMS:
            raise ModelError(f"{owner}: condim is {condim!r}; expected one of {CONDIMS}")
        row[LAW_CONDIM] = condim
    if np.isnan(row).all():
        raise ModelError(f"{owner}: give its friction, restitution or condim")
    return row
