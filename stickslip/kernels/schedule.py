"""When an iterative solver looks at the judge, and when it stops: shared by all sweeps.

`control` (SLOTS,) is the whole state, so that a solve can pause for a progress bar and go on.
"""

import math

from stickslip.kernels.jit import jit
from stickslip.kernels.products import difference

(
    SWEEPS, NEXT, GAP, ERROR, AT, BEST, MARK, MARK_AT, CHECKS, STATE, MOVED, PATH, DRIFTS, LOOKED, ALLOWED,
    AHEAD, TRIAL, SINCE, ERROR_THEN, WORTH,
) = range(20)  # fmt: skip
SLOTS = 20
NEW, RUNNING, SOLVED, FIXED, STALLED, NOT_FINITE, SLOW = -1.0, 0.0, 1.0, 2.0, 3.0, 4.0, 5.0

LONGEST_GAP = 50.0
"""Most sweeps between two looks: a look costs about one sweep."""
PATIENCE = 500.0
"""Fewest sweeps without progress before a stall is called."""
PROGRESS = 0.999
"""Progress is a new best error below this share of the last mark: slower is no progress at all."""
FIRST_TRIAL = 8.0
"""Sweeps before a solve may be called too slow: the first ones say little about the rate."""
STRAIGHT = 0.5
"""Iterates drift if they end this share of their path away from where they were at the mark."""


@jit
def begin(control):
    """Set up a NEW solve; control[NEXT] is its first look, 0 where a guess may be the answer.

    control[ALLOWED]: sweeps the whole solve may take; one that would take more stops early, SLOW. 0: any.
    So does one that has more ahead than control[WORTH], set after this; 0: any.
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
    """Whether there is more to do: neither stopped nor at the end of the budget, looked at."""
    done = control[SWEEPS] >= budget and control[LOOKED] == control[SWEEPS]
    return control[STATE] == RUNNING and not done


@jit
def is_due(control, budget):
    """Whether it is time to look at the judge: as planned, and at the end of the budget."""
    return control[SWEEPS] >= min(control[NEXT], budget)


@jit
def swept(control, moved):
    """Count one sweep that changed r by `moved`, squared."""
    control[MOVED] = moved
    control[PATH] += math.sqrt(moved)
    control[SWEEPS] += 1.0
    if not moved < math.inf:
        control[NEXT] = control[SWEEPS]


@jit
def look(control, history, natural, scaled, tolerance, r, r_mark):
    """Take note of the judge's measures and decide; true if these are the best so far.

    A residual that stands still while r moves on in a straight line is slow progress: the impulses
    drift along what the law does not see until a contact changes its state. One that stands still
    while r goes round, or not at all, is a stall.
    history (cap, 3): sweep, natural, natural_scaled, thinned to every other line when full.
    r (n,) the iterate, r_mark (n,) the iterate at the last mark.
    """
    sweeps, error = control[SWEEPS], max(natural, scaled)
    control[LOOKED] = sweeps
    _note(control, history, natural, scaled)
    if not (natural < math.inf and scaled < math.inf):
        control[STATE] = NOT_FINITE
        return False
    best = error < control[BEST]
    if best:
        control[BEST] = error
    if error <= tolerance:
        control[STATE] = SOLVED
        return True
    if control[MOVED] == 0.0 and sweeps > 0.0:
        control[STATE] = FIXED
        return best
    if control[BEST] <= PROGRESS * control[MARK]:
        control[MARK], control[DRIFTS] = control[BEST], 0.0
        _mark(control, r, r_mark)
    elif sweeps - control[MARK_AT] >= PATIENCE:
        if not math.sqrt(difference(r, r_mark)) > STRAIGHT * control[PATH]:
            control[STATE] = STALLED
            return best
        control[DRIFTS] += 1.0
        _mark(control, r, r_mark)
    control[NEXT] = sweeps + _gap(control, error, tolerance)
    control[ERROR], control[AT] = error, sweeps
    return best


@jit
def _mark(control, r, r_mark):
    """Remember where the iterate is now."""
    control[MARK_AT], control[PATH] = control[SWEEPS], 0.0
    for k in range(r.shape[0]):
        r_mark[k] = r[k]


@jit
def _gap(control, error, tolerance):
    """Sweeps until the next look: what the present rate predicts, growing at most threefold."""
    done, gap, ahead = control[SWEEPS] - control[AT], 3.0 * control[GAP], math.inf
    if done > 0.0 and error < control[ERROR] < math.inf:
        ahead = math.ceil(math.log(error / tolerance) * done / math.log(control[ERROR] / error))
        gap = min(gap, ahead)
    if error < control[ERROR_THEN]:  # the mean rate since then, where it is the better one
        passed = control[SWEEPS] - control[SINCE]
        ahead = min(
            ahead, math.ceil(math.log(error / tolerance) * passed / math.log(control[ERROR_THEN] / error))
        )
    control[AHEAD] = ahead
    too_many = 0.0 < control[ALLOWED] < control[SWEEPS] + ahead or 0.0 < control[WORTH] < ahead
    if too_many and control[SWEEPS] >= control[TRIAL]:
        control[STATE] = SLOW
    control[GAP] = min(max(gap, 1.0), LONGEST_GAP)
    return control[GAP]


@jit
def _note(control, history, natural, scaled):
    """Add a line to the history; when it is full every other line goes and the stride doubles."""
    cap, at = history.shape[0], int(control[CHECKS])
    if at == cap:
        for k in range(cap // 2):
            for c in range(3):
                history[k, c] = history[2 * k + 1, c]
        at = cap // 2
    history[at, 0], history[at, 1], history[at, 2] = control[SWEEPS], natural, scaled
    control[CHECKS] = at + 1.0
