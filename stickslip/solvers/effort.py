"""What sweeps and Newton steps cost, in one currency, for `auto` to weigh one against the other.

The unit is a multiplication of a plain sweep over 3D Coulomb contacts of bodies, 0.4 ns where the constants
below were measured (one thread; packings of 275 to 4,347 contacts, walls of 352 and 1,472, the recorded Kapla
tower, boxes and capsules). Estimates are within a factor of two of what was measured there.
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
"""One local solve, 2D and 3D; other blocks cost GENERAL."""
GENERAL = 500.0
ROLLING = 4000.0
"""One local solve with rolling friction: 1.5 to 3 microseconds."""
MIXING = 96.0
"""What acceleration adds to a sweep, per component: 40 ns."""
NEWTON_CALL = 5e4
"""Fewest that a Newton step in Python costs beside its factorisation."""
PER_ENTRY = 90.0
"""What a Newton step costs per entry of W in blocks, beside the elimination: 26 to 57 ns."""
ELIMINATED = 0.25
"""A multiplication of the factorisation, in dense panels: 0.1 ns."""
CONTACTS_OVER_BODIES = 2.5
"""Newton eliminates contacts. Where the graph is that of bodies, the work over it is multiplied by the
components there are for each velocity, to this power: half to twice what the graph of contacts gives."""
STEPS = 8.0
"""Steps that proximal Newton takes from where sweeps are given up, 7 to 25 mostly."""
SHARE = 0.75
"""Part of what Newton would cost that sweeps may be ahead of: those that are given up in the end are lost."""
HYPERSTATIC = 2.0
"""Components for each velocity of the bodies from which sweeps mostly stall, as in walls and towers."""
MOST_NUMBERS, MOST_WORK = 2.0**28, 3e11
"""Numbers of the largest factor that `auto` makes, 2 GB, and most multiplications of one: half a minute. No
problem of fewer than ALWAYS components has either."""
ALWAYS = 8000
HURRIED = 150.0
"""Sweeps that larger problems are given before anything is known of their graph."""


def sweeps_allowed(n: int, contacts: int, entries: int, local: float) -> tuple[float, float]:
    """Sweeps that cost as much as Newton would, and the multiplications of one; on larger problems, few.

    For n components in so many contacts, `entries` of W or H', and `local` multiplications per contact.
    """
    sweep = entries + local * contacts
    if n > COMPILED:
        return HURRIED + 10.0 * NEWTON_CALL // sweep, sweep
    newton = n * n * n / 6.0 + 8.0 * entries
    return max(30.0, min(8.0 * newton // max(sweep, 1.0), 300.0)), sweep


def plain_allowed(problem: ContactProblem) -> tuple[float, float]:
    """`sweeps_allowed` of any problem."""
    K = problem.K
    return sweeps_allowed(K.size, len(K), _entries(problem), PER_CONTACT.get(K.family, GENERAL))


def accelerated_allowed(problem: ContactProblem) -> tuple[float, float]:
    """Accelerated sweeps worth making before Newton on a larger problem, and what one costs."""
    K = problem.K
    sweep = _entries(problem) + _local(K) + MIXING * K.size
    return SHARE * STEPS * newton_step(problem) // sweep, sweep


def is_hyperstatic(problem: ContactProblem) -> bool:
    """Whether a matrix-free problem has far more components than its bodies have velocities."""
    W = problem.W
    if not isinstance(W, BodyDelassus):
        return False
    return _crowding(problem) > HYPERSTATIC


def newton_step(problem: ContactProblem) -> float:
    """What a step of proximal Newton costs, about, from the graph of contacts or bodies."""
    K, W = problem.K, problem.W
    if isinstance(W, BodyDelassus):
        work = _over_bodies(W)[1] * _crowding(problem) ** CONTACTS_OVER_BODIES
        return NEWTON_CALL + PER_ENTRY * contact_entries(problem) + ELIMINATED * work
    _, work = _over_contacts(problem)
    return NEWTON_CALL + PER_ENTRY * W.blocks(K).data.size + ELIMINATED * work


def too_large(problem: ContactProblem) -> str:
    """Why systems of Newton's method are too large to be factored; nothing where they are not."""
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
    """Numbers and multiplications of a factor over the graph of bodies."""
    first, second = W.bodies[:, 0], W.bodies[:, 1]
    one, other = np.where(first < 0, second, first), np.where(second < 0, first, second)
    return elimination_size(np.full(max(W.count, 1), W.rows.shape[2]), one, other)


def _over_contacts(problem: ContactProblem) -> tuple[float, float]:
    """The same over that of contacts, W in blocks."""
    K, blocks = problem.K, problem.W.blocks(problem.K)
    one = np.repeat(np.arange(len(K)), np.diff(blocks.row_start))
    return elimination_size(np.diff(K.offset), one, blocks.column)


def _crowding(problem: ContactProblem) -> float:
    """Components for each velocity of the bodies, matrix-free."""
    W = problem.W
    assert isinstance(W, BodyDelassus)
    return problem.size / max(W.rows.shape[2] * touched_bodies(W), 1)


def _entries(problem: ContactProblem) -> int:
    W = problem.W
    return int(W.rows.size if isinstance(W, BodyDelassus) else W.blocks(problem.K).data.size)


def _local(K: ProductSet) -> float:
    """What the local solves of one sweep cost."""
    if K.family in PER_CONTACT:
        return PER_CONTACT[K.family] * len(K)
    rolling = int(np.count_nonzero((K.kind == cones.FRICTION) & (np.diff(K.group_offset) > 1)))
    return ROLLING * rolling + GENERAL * (len(K) - rolling)
