"""Contact laws given for pairs of geoms: friction, restitution and number of rows.

Geoms are grouped into kinds, and a table has the law of each pair of kinds. For values that are not given
(NaN), a
contact has MuJoCo's combination of its two geoms, and the smaller restitution of both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
        """Return the table without given laws."""
        return cls(np.zeros(ngeom, np.int64), np.full((1, 1, LAWS), np.nan))

    @classmethod
    def read(cls, kind: Any, law: Any) -> "PairLaws":
        """Return the table from lists, with None for NaN; raise a ValueError if it is invalid."""
        made = cls(np.array(kind, np.int64), np.array(law, float))
        n = len(made.law)
        if made.law.shape != (n, n, LAWS) or not np.isin(made.kind, np.arange(n)).all():
            raise ValueError(f"laws of pairs of shape {made.law.shape}")
        return made

    @property
    def given(self) -> bool:
        """Whether any law is given."""
        return not bool(np.isnan(self.law).all())

    def joined(self, materials: Array, of_geom: IntArray) -> "PairLaws":
        """Return the table with further geoms, with the laws of materials.

        materials   mu, mu_roll, mu_spin, e of pairs of materials [-, m, m, -], shape (nm, nm, 4)
        of_geom     material of each further geom [-], shape (count,)
        """
        own, more = len(self.law), len(materials)
        law = np.full((own + more, own + more, LAWS), np.nan)
        law[:own, :own] = self.law
        mu, roll, spin, e = np.moveaxis(materials, 2, 0)
        rows = np.where(roll > 0.0, 6, np.where(spin > 0.0, 4, 3))
        law[own:, own:] = np.stack([mu, mu, spin, roll, roll, e, rows], axis=2)
        return PairLaws(np.concatenate([self.kind, own + of_geom]), law)

    def with_pair(self, first: IntArray, second: IntArray, row: Array) -> "PairLaws":
        """Return the table with the entries of `row`, (7,), that are not NaN set between two sets of
        geoms."""
        of = np.zeros((len(self.kind), 3), np.int64)
        of[:, 0] = self.kind
        of[first, 1] = of[second, 2] = 1
        kinds, kind = np.unique(of, axis=0, return_inverse=True)
        law = self.law[np.ix_(kinds[:, 0], kinds[:, 0])].copy()
        a, b = np.flatnonzero(kinds[:, 1]), np.flatnonzero(kinds[:, 2])
        for place in (np.ix_(a, b), np.ix_(b, a)):
            law[place] = np.where(np.isnan(row), law[place], row)
        return PairLaws(kind.reshape(-1).astype(np.int64), law)


def law_row(owner: str, friction: ArrayLike | None, restitution: float | None, condim: int | None) -> Array:
    """Return the values given for a pair, NaN for others [-, -, m, m, m, -, -], shape (7,)."""
    row = np.full(LAWS, np.nan)
    if friction is not None:
        given = np.atleast_1d(np.asarray(friction, float))
        places: dict[int, Sequence[int]] = {1: (0, 0), 3: (0, 0, 1, 2, 2), 5: range(5)}
        if given.shape not in ((1,), (3,), (5,)) or not (np.isfinite(given) & (given >= 0.0)).all():
            raise ModelError(
                f"{owner}: friction is {friction!r}; expected 1 number (sliding), 3 (sliding, torsion,"
                " rolling) or 5 (sliding along two axes, torsion, rolling about two axes), none below 0"
            )
        row[: len(places[given.size])] = given[list(places[given.size])]
    if restitution is not None:
        if not 0.0 <= restitution <= 1.0:
            raise ModelError(f"{owner}: restitution is {restitution!r}; expected a number from 0 to 1")
        row[LAW_RESTITUTION] = restitution
    if condim is not None:
        if condim not in CONDIMS:
            raise ModelError(f"{owner}: condim is {condim!r}; expected one of {CONDIMS}")
        row[LAW_CONDIM] = condim
    if np.isnan(row).all():
        raise ModelError(f"{owner}: give its friction, restitution or condim")
    return row
