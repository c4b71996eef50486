"""Cost estimates of sweeps and Newton steps in one unit, from which `auto` chooses between them.

The unit is a multiplication in a plain sweep over 3D Coulomb contacts of bodies: 0.4 ns where the constants
below were measured (one thread; packings of 275 to 4,347 contacts, walls of 352 and 1,472, the recorded Kapla
tower, boxes and capsules). Estimates are within a factor of two of those measurements.
"""

import numpy as np

from stickslip.kernels import cones
from stickslip.linalg.front_lu import elimination_size
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert.bodies import over_bodies
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.sets import ProductSet
from stickslip.solvers.newton_systems import COMPILED, contact_entries, goes_over_bodies, touched_bodies

PER_CONTACT: dict[tuple[int, ...] | None, float] = {(1,): 20.0, (2,): 60.0}
"""Cost of one local solve of Coulomb contacts in 2D and 3D [multiplications]; other blocks cost GENERAL."""
GENERAL = 500.0
ROLLING = 4000.0
"""Cost of one local solve with rolling friction: 1.5 to 3 microseconds [multiplications]."""
MIXING = 96.0
"""Cost of acceleration per component and sweep: 40 ns [multiplications]."""
NEWTON_CALL = 5e4
"""Fixed cost of a Newton step in Python, without its factorisation [multiplications]."""
PER_ENTRY = 90.0
"""Cost of a Newton step per entry of W in blocks, without the elimination: 26 to 57 ns [multiplications]."""
ELIMINATED = 0.25
"""Cost of one multiplication in the dense panels of the factorisation: 0.1 ns [multiplications]."""
CONTACTS_OVER_BODIES = 2.5
"""Exponent of `_crowding` by which work over the graph of bodies is converted to work over contacts, which
Newton eliminates. The estimate is between half and twice that of the graph of contacts."""
STEPS = 8.0
"""Expected number of proximal Newton steps after sweeps were abandoned; 7 to 25 mostly."""
SHARE = 0.75
"""Fraction of Newton's cost that sweeps may use: sweeps that are abandoned later are lost (heuristic)."""
HYPERSTATIC = 2.0
"""Ratio of contact components to velocities of bodies above which sweeps mostly stall (walls, towers)."""
MOST_NUMBERS, MOST_WORK = 2.0**28, 3e11
"""Largest factor that `auto` computes: its number of entries (2 GB), and its multiplications (half a minute).
Problems of fewer than ALWAYS components never exceed either."""
ALWAYS = 8000
HURRIED = 150.0
"""Number of sweeps on larger problems before their graph is analysed (heuristic)."""


def sweeps_allowed(n: int, contacts: int, entries: int, local: float) -> tuple[float, float]:
    """Return the number of sweeps that cost as much as Newton's method, and the cost of one sweep.

    Larger problems get few sweeps. `n`: components; `contacts`: blocks; `entries`: entries of W or H';
    `local`: cost of the local solve of one contact [multiplications].
    """
    sweep = entries + local * contacts
    if n > COMPILED:
        return HURRIED + 10.0 * NEWTON_CALL // sweep, sweep
    newton = n * n * n / 6.0 + 8.0 * entries
    return max(30.0, min(8.0 * newton // max(sweep, 1.0), 300.0)), sweep


def plain_allowed(problem: ContactProblem) -> tuple[float, float]:
    """Return `sweeps_allowed` of a problem."""
    K = problem.K
    return sweeps_allowed(K.size, len(K), _entries(problem), PER_CONTACT.get(K.family, GENERAL))


def accelerated_allowed(problem: ContactProblem) -> tuple[float, float]:
    """Return the number of accelerated sweeps allowed before Newton, and the cost of one; larger problems."""
    K = problem.K
    sweep = _entries(problem) + _local(K) + MIXING * K.size
    return SHARE * STEPS * newton_step(problem) // sweep, sweep


def is_hyperstatic(problem: ContactProblem) -> bool:
    """Whether a matrix-free problem has far more contact components than its bodies have velocities."""
    W = problem.W
    if not isinstance(W, BodyDelassus):
        return False
    return _crowding(problem) > HYPERSTATIC


def newton_step(problem: ContactProblem) -> float:
    """Estimate the cost of a proximal Newton step from the graph of contacts or bodies."""
    K, W = problem.K, problem.W
    if isinstance(W, BodyDelassus):
        work = _over_bodies(W)[1] * _crowding(problem) ** CONTACTS_OVER_BODIES
        return NEWTON_CALL + PER_ENTRY * contact_entries(problem) + ELIMINATED * work
    _, work = _over_contacts(problem)
    return NEWTON_CALL + PER_ENTRY * W.blocks(K).data.size + ELIMINATED * work


def too_large(problem: ContactProblem) -> str:
    """Return the reason why Newton's systems are too large to factor; empty if they are not."""
    if problem.size <= ALWAYS:
        return ""
    problem = over_bodies(problem)
    if isinstance(problem.W, BodyDelassus):
        numbers, work = _over_bodies(problem.W)
        if not goes_over_bodies(problem):
            fewer = min(_crowding(problem), 1.0)
            numbers, work = numbers * fewer**2, work * fewer**CONTACTS_OVER_BODIES
    else:
        numbers, work = _over_contacts(problem)
    if numbers <= MOST_NUMBERS and work <= MOST_WORK:
        return ""
    return (
        f"its factor would have {numbers:.0e} numbers and take {work:.0e} multiplications,"
        f" and {MOST_NUMBERS:.0e} and {MOST_WORK:.0e} are the most"
    )


def _over_bodies(W: BodyDelassus) -> tuple[float, float]:
    """Return the entries and multiplications of a factor over the graph of bodies."""
    first, second = W.bodies[:, 0], W.bodies[:, 1]
    body, other = np.where(first < 0, second, first), np.where(second < 0, first, second)
    return elimination_size(np.full(max(W.count, 1), W.rows.shape[2]), body, other)


def _over_contacts(problem: ContactProblem) -> tuple[float, float]:
    """Return the entries and multiplications of a factor over the graph of contacts, W in blocks."""
    K, blocks = problem.K, problem.W.blocks(problem.K)
    row = np.repeat(np.arange(len(K)), np.diff(blocks.row_start))
    return elimination_size(np.diff(K.offset), row, blocks.column)


def _crowding(problem: ContactProblem) -> float:
    """Return the ratio of contact components to velocities of the touched bodies, matrix-free."""
    W = problem.W
    assert isinstance(W, BodyDelassus)
    return problem.size / max(W.rows.shape[2] * touched_bodies(W), 1)


def _entries(problem: ContactProblem) -> int:
    W = problem.W
    return int(W.rows.size if isinstance(W, BodyDelassus) else W.blocks(problem.K).data.size)


def _local(K: ProductSet) -> float:
    """Return the cost of the local solves of one sweep [multiplications]."""
    if K.family in PER_CONTACT:
        return PER_CONTACT[K.family] * len(K)
    rolling = int(np.count_nonzero((K.kind == cones.FRICTION) & (np.diff(K.group_offset) > 1)))
    return ROLLING * rolling + GENERAL * (len(K) - rolling)
