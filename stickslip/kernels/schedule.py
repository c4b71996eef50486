"""Schedule of residual checks and stopping criteria of iterative solvers, shared by all sweeps.

`control` (SLOTS,) is the whole state, so that a solve can pause for a progress bar and continue.
"""

import math

from stickslip.kernels.jit import jit
from stickslip.kernels.products import difference

(
    SWEEPS, NEXT, GAP, ERROR, AT, BEST, MARK, MARK_AT, CHECKS, STATE, MOVED, PATH, DRIFTS, LOOKED, ALLOWED,
    AHEAD, TRIAL, SINCE, ERROR_THEN, WORTH,
) = range(20)  # fmt: skip
"""Indices of `control`: sweeps done; sweep of the next check; sweeps between checks; error and sweep of the
last check; smallest error; error and sweep of the last mark; lines of the history; state; squared change of r
in the last sweep; length of the path since the mark; number of drifts; sweep of the last check; allowed
sweeps; forecast of the remaining sweeps; first sweep at which the solve may end as SLOW; reference sweep and
error of the mean rate; largest forecast that is worth continuing."""
SLOTS = 20
"""Size of `control`."""
NEW, RUNNING, SOLVED, FIXED, STALLED, NOT_FINITE, SLOW = -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0
"""States of a solve; FIXED: r no longer changes."""

LONGEST_GAP = 50.0
"""Largest number of sweeps between two checks; a check costs about as much as a sweep. Heuristic."""
PATIENCE = 500.0
"""Smallest number of sweeps without progress before a solve counts as stalled; heuristic."""
PROGRESS = 0.999
"""Largest ratio of the smallest error to the error at the last mark that counts as progress [-];
heuristic."""
FIRST_TRIAL = 8.0
"""Sweeps before a solve may end as SLOW, since the first sweeps say little about the rate; heuristic."""
STRAIGHT = 0.5
"""Ratio of the distance from the mark to the length of the path above which iterates drift [-]; heuristic."""


@jit
def begin(control):
    """Initialise a NEW solve; do nothing otherwise.

    control[NEXT]: sweep of the first check, 0 if the guess may be a solution. A solve ends early as SLOW if
    its forecast exceeds control[ALLOWED] sweeps in all, or control[WORTH] further sweeps (to be set after
    this call); 0 means no limit.
    """
    if control[STATE] != NEW:
        return
    first, allowed = control[NEXT], control[ALLOWED]
    for k in range(SLOTS):
        control[k] = 0.0
    control[NEXT], control[STATE], control[ALLOWED] = first, RUNNING, allowed
    control[GAP], control[BEST] = max(first, 1.0), math.inf
    control[AHEAD], control[TRIAL] = math.inf, FIRST_TRIAL
    control[MARK], control[ERROR] = math.inf, math.inf
    control[MOVED], control[LOOKED] = math.inf, -1.0


@jit
def goes_on(control, budget):
    """Return whether to continue: the solve is running, and the budget is not used up and checked."""
    is_over = control[SWEEPS] >= budget and control[LOOKED] == control[SWEEPS]
    return control[STATE] == RUNNING and not is_over


@jit
def is_due(control, budget):
    """Return whether a residual check is due: as scheduled, and at the end of the budget."""
    return control[SWEEPS] >= min(control[NEXT], budget)


@jit
def swept(control, moved):
    """Count one sweep; moved: its squared change of r."""
    control[MOVED] = moved
    control[PATH] += math.sqrt(moved)
    control[SWEEPS] += 1.0
    if not moved < math.inf:
        control[NEXT] = control[SWEEPS]


@jit
def look(control, history, natural, scaled, tolerance, r, r_mark):
    """Record a residual check, set the state and the next check; return whether it is the best so far.

    If the error does not decrease for PATIENCE sweeps, the path of r since the mark decides. A straight path
    is slow progress: impulses drift in directions that leave the residual unchanged until a contact changes
    its state. Otherwise the solve has stalled.
    history (cap, 3): sweep, natural, natural_scaled, every other line dropped when full.
    r (n,): iterate, r_mark (n,): iterate at the last mark.
    """
    # 1. Record.
    sweeps, error = control[SWEEPS], max(natural, scaled)
    control[LOOKED] = sweeps
    _note(control, history, natural, scaled)
    if not (natural < math.inf and scaled < math.inf):
        control[STATE] = NOT_FINITE
        return False
    # 2. Solved, or r unchanged.
    best = error < control[BEST]
    if best:
        control[BEST] = error
    if error <= tolerance:
        control[STATE] = SOLVED
        return True
    if control[MOVED] == 0.0 and sweeps > 0.0:
        control[STATE] = FIXED
        return best
    # 3. Progress, drift or stall.
    if control[BEST] <= PROGRESS * control[MARK]:
        control[MARK], control[DRIFTS] = control[BEST], 0.0
        _mark(control, r, r_mark)
    elif sweeps - control[MARK_AT] >= PATIENCE:
        if not math.sqrt(difference(r, r_mark)) > STRAIGHT * control[PATH]:
            control[STATE] = STALLED
            return best
        control[DRIFTS] += 1.0
        _mark(control, r, r_mark)
    # 4. Next check.
    control[NEXT] = sweeps + _gap(control, error, tolerance)
    control[ERROR], control[AT] = error, sweeps
    return best


@jit
def _mark(control, r, r_mark):
    """Store the iterate and reset its path."""
    control[MARK_AT], control[PATH] = control[SWEEPS], 0.0
    for k in range(r.shape[0]):
        r_mark[k] = r[k]


@jit
def _gap(control, error, tolerance):
    """Return the sweeps until the next check, as the rate of convergence predicts, at most 3 times the last.

    Set the forecast control[AHEAD], and the state SLOW if it exceeds ALLOWED or WORTH.
    """
    sweeps_between, gap, ahead = control[SWEEPS] - control[AT], 3.0 * control[GAP], math.inf
    if sweeps_between > 0.0 and error < control[ERROR] < math.inf:
        ahead = math.ceil(math.log(error / tolerance) * sweeps_between / math.log(control[ERROR] / error))
        gap = min(gap, ahead)
    if error < control[ERROR_THEN]:  # mean rate since the sweep SINCE, if it is faster
        sweeps_since = control[SWEEPS] - control[SINCE]
        ahead = min(
            ahead,
            math.ceil(math.log(error / tolerance) * sweeps_since / math.log(control[ERROR_THEN] / error)),
        )
    control[AHEAD] = ahead
    too_many = 0.0 < control[ALLOWED] < control[SWEEPS] + ahead or 0.0 < control[WORTH] < ahead
    if too_many and control[SWEEPS] >= control[TRIAL]:
        control[STATE] = SLOW
    control[GAP] = min(max(gap, 1.0), LONGEST_GAP)
    return control[GAP]


@jit
def _note(control, history, natural, scaled):
    """Append a line to the history; if it is full, drop every other line first."""
    cap, at = history.shape[0], int(control[CHECKS])
    if at == cap:
        for k in range(cap // 2):
            for c in range(3):
                history[k, c] = history[2 * k + 1, c]
        at = cap // 2
    history[at, 0], history[at, 1], history[at, 2] = control[SWEEPS], natural, scaled
    control[CHECKS] = at + 1.0
