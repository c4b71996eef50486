"""What each contact does in an answer, and whether it does so strictly.

Coulomb contacts separate, stick or slip. Rolling contacts have the five cases of Nguyen 2021, 1.2.3:
separating, sticking (u = 0), sliding (only u_T), rolling (only u_R), sliding and rolling. A contact
is strictly complementary when impulse and velocity together leave no margin at zero; those that are
not stand on the border between two cases, and are flagged.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.residuals import delassus_diagonal, metric

SEPARATING, STICKING, SLIPPING = "separating", "sticking", "slipping"
MOTIONS: dict[tuple[int, ...], tuple[str, str]] = {
    (2, 2): ("sliding", "rolling"),
    (2, 1): ("sliding", "spinning"),
}
"""What the groups of rolling and torsional contacts do when they move."""


@dataclass(frozen=True, slots=True, eq=False)
class ContactStates:
    """One name per contact, and which contacts are on a border."""

    name: tuple[str, ...]
    """State of each contact, shape (nc,)."""
    strict: np.ndarray
    """Whether each contact is strictly complementary [-], shape (nc,), bool."""

    def __len__(self) -> int:
        return len(self.name)

    def __getitem__(self, i: int) -> str:
        return self.name[i]

    def count(self) -> dict[str, int]:
        """How many contacts are in each state."""
        return {state: self.name.count(state) for state in dict.fromkeys(sorted(self.name))}

    def summary(self) -> str:
        """One line: the counts, and how many contacts are not strictly complementary."""
        parts = [f"{count} {state}" for state, count in self.count().items()]
        border = int((~self.strict).sum())
        return ", ".join(parts) + (f" ({border} not strictly complementary)" if border else "")


def contact_states(
    problem: ContactProblem | GlobalProblem | BoxProblem, r: Array, u: Array, tolerance: float
) -> ContactStates:
    """States of the contacts of an answer accurate to `tolerance`.

    Zero means below ten times the tolerance, relative to the root mean square over the contacts of
    the impulses r and rho u.
    """
    if isinstance(problem, BoxProblem):
        cut = 10.0 * tolerance * max(1.0, float(np.abs(problem.b).max(initial=0.0)))
        rows = [
            _box_state(float(lo), float(hi), float(z), float(w), cut)
            for lo, hi, z, w in zip(problem.lower, problem.upper, r, u, strict=True)
        ]
    else:
        rows = _law_states(problem, r, u, tolerance)
    return ContactStates(tuple(name for name, _ in rows), np.array([ok for _, ok in rows], bool))


def _law_states(
    problem: ContactProblem | GlobalProblem, r: Array, u: Array, tolerance: float
) -> list[tuple[str, bool]]:
    K = problem.K
    diagonal = problem.W.diagonal() if isinstance(problem, ContactProblem) else delassus_diagonal(problem)
    scales = metric(K, diagonal)
    impulse = r / scales.length
    push = np.repeat(scales.rho, np.diff(K.offset)) * scales.length * u
    size = max(float(np.linalg.norm(impulse)), float(np.linalg.norm(push))) / np.sqrt(max(1, len(K)))
    cut = 10.0 * tolerance * size
    rows = []
    for i in range(len(K)):
        a, b = int(K.offset[i]), int(K.offset[i + 1])
        if K.kind[i] == cones.FREE:
            rows.append(("bilateral", True))
        elif K.kind[i] == cones.FRICTION:
            mu = scales.coefficient[K.group_offset[i] : K.group_offset[i + 1]]
            rows.append(_friction_state(impulse[a:b], push[a:b], K.groups(i), mu, cut))
        else:
            rows.append(_box_state(float(K.lower[i]), float(K.upper[i]), float(r[a]), float(push[a]), cut))
    return rows


def _friction_state(r: Array, u: Array, groups: tuple[int, ...], mu: Array, cut: float) -> tuple[str, bool]:
    if r[0] <= cut:
        return SEPARATING, bool(u[0] > cut)
    moving, strict, a = [], True, 1
    for k, size in enumerate(groups):
        speed, held = np.linalg.norm(u[a : a + size]), np.linalg.norm(r[a : a + size])
        a += size
        if speed > cut:
            moving.append(k)
        else:
            strict &= bool(held < mu[k] * r[0] - cut)
    if not moving:
        return STICKING, strict
    names = MOTIONS.get(groups)
    return (" and ".join(names[k] for k in moving) if names else SLIPPING), strict


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
