"""State of each contact of a solution, and whether it is strictly complementary.

Coulomb contacts separate, stick or slip. Rolling contacts have the five cases of Nguyen 2021, 1.2.3:
separating, sticking (u = 0), sliding (only u_T), rolling (only u_R), sliding and rolling. A contact is
strictly complementary if impulse and velocity are not both on the boundary of their sets. The others are on
the border between two cases, and are flagged.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.residuals import delassus_diagonal, metric

SEPARATING, STICKING, SLIPPING = "separating", "sticking", "slipping"
MOTIONS: dict[tuple[int, ...], tuple[str, ...]] = {
    (2, 2): ("sliding", "rolling"),
    (2, 1): ("sliding", "spinning"),
    (2, 2, 1): ("sliding", "rolling", "spinning"),
}
"""Names of the motions of the groups of rolling and torsional contacts."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactStates:
    """State of each contact, and whether it is strictly complementary."""

    name: tuple[str, ...]
    """State of each contact, shape (nc,)."""
    strict: np.ndarray
    """Whether each contact is strictly complementary [-], shape (nc,), bool."""

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, i: int) -> str:
        return self.name[i]

    def count(self) -> dict[str, int]:
        """Return the number of contacts in each state."""
        return dict(sorted(Counter(self.name).items()))

    def summary(self) -> str:
        """Return the counts, and the number of contacts that are not strictly complementary, as one line."""
        parts = [f"{count} {state}" for state, count in self.count().items()]
        border = int((~self.strict).sum())
        return ", ".join(parts) + (f" ({border} not strictly complementary)" if border else "")


def contact_states(
    problem: ContactProblem | GlobalProblem | BoxProblem | NonlinearProblem,
    r: Array,
    u: Array,
    tolerance: float,
) -> ContactStates:
    """Return the states of the contacts of a solution accurate to `tolerance`.

    Zero means below ten times the tolerance, relative to the root mean square over the contacts of
    the impulses r and rho u.
    """
    if isinstance(problem, BoxProblem | NonlinearProblem):
        cut = 10.0 * tolerance * max(float(np.abs(x).max(initial=0.0)) for x in (r, u))
        rows = [
            _box_state(float(lo), float(hi), float(z), float(w), cut)
            for lo, hi, z, w in zip(problem.lower, problem.upper, r, u, strict=True)
        ]
        return ContactStates(tuple(name for name, _ in rows), np.array([ok for _, ok in rows], bool))
    name, strict = _law_states(problem, r, u, tolerance)
    return ContactStates(tuple(name.tolist()), strict)


def _law_states(
    problem: ContactProblem | GlobalProblem, r: Array, u: Array, tolerance: float
) -> tuple[np.ndarray, np.ndarray]:
    K = problem.K
    diagonal = problem.W.diagonal() if isinstance(problem, ContactProblem) else delassus_diagonal(problem)
    scales = metric(K, diagonal)
    with np.errstate(all="ignore"):  # solutions that are not finite have states, too
        impulse = r / scales.length
        push = K.spread(scales.rho) * scales.length * u
        size = max(float(np.linalg.norm(impulse)), float(np.linalg.norm(push))) / np.sqrt(max(1, len(K)))
        cut = 10.0 * tolerance * size
    name, strict = np.empty(len(K), object), np.ones(len(K), bool)
    for groups, blocks in K.families().items():
        if not groups:
            continue
        rows = K.offset[blocks][:, None] + np.arange(1 + sum(groups))
        mu = scales.coefficient[K.group_offset[blocks][:, None] + np.arange(len(groups))]
        name[blocks], strict[blocks] = friction_states(impulse[rows], push[rows], groups, mu, cut, cut)
    for i in K.families().get((), ()):
        a = int(K.offset[i])
        if K.kind[i] == cones.FREE:
            name[i] = "bilateral"
        else:
            low, high = float(K.lower[i]), float(K.upper[i])
            name[i], strict[i] = _box_state(low, high, float(r[a]), float(push[a]), cut)
    return name, strict


def friction_states(
    r: Array, u: Array, groups: tuple[int, ...], mu: Array, cut: float, cut_u: float
) -> tuple[list[str], np.ndarray]:
    """Return names and strictness of contacts of one family; r, u (count, d), mu (count, groups).

    Impulses up to `cut` are zero, and velocities up to `cut_u`.
    """
    ends = np.cumsum((1, *groups))
    parts = [slice(a, b) for a, b in pairwise(ends)]
    with np.errstate(over="ignore"):  # an overflow is larger than `cut`
        moving = np.stack([np.linalg.norm(u[:, part], axis=1) > cut_u for part in parts], axis=1)
        friction = np.stack([np.linalg.norm(r[:, part], axis=1) for part in parts], axis=1)
        inside = friction < mu * r[:, :1] - cut
    closed = r[:, 0] > cut
    strict = np.where(closed, (moving | inside).all(axis=1), u[:, 0] > cut_u)
    # One name for each combination of moving groups: bit k says that group k moves.
    names = [SEPARATING, *(_motion(groups, bits) for bits in range(2 ** len(groups)))]
    code = np.where(closed, 1 + moving @ (1 << np.arange(len(groups))), 0)
    return [names[c] for c in code.tolist()], strict


def _motion(groups: tuple[int, ...], bits: int) -> str:
    if not bits:
        return STICKING
    names = MOTIONS.get(groups)
    if names is None:
        return SLIPPING
    return " and ".join(name for k, name in enumerate(names) if bits >> k & 1)


def _box_state(low: float, high: float, r: float, u: float, cut: float) -> tuple[str, bool]:
    if low == -np.inf and high == np.inf:
        return "equation", True
    at_low, at_high = r <= low + cut, r >= high - cut
    if low == 0.0 and high == np.inf:
        return (SEPARATING, u > cut) if at_low and u >= -cut else ("touching", not at_low)
    if at_low:
        return "at lower bound", u > cut or low == high
    if at_high:
        return "at upper bound", u < -cut
    return "inside bounds", True
