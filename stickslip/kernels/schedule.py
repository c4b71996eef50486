"""When an iterative solver looks at the judge, and when it stops: shared by all sweeps.

`control` (SLOTS,) is the whole state, so that a solve can pause for a progress bar and go on.
"""

import math

from stickslip.kernels.jit import jit

SWEEPS, NEXT, GAP, ERROR, AT, BEST, MARK, MARK_AT, CHECKS, STATE, MOVED, STRIDE = range(12)
SLOTS = 12
RUNNING, SOLVED, FIXED, STALLED, NOT_FINITE = 0.0, 1.0, 2.0, 3.0, 4.0

LONGEST_GAP = 50.0
"""Most sweeps between two looks: a look costs about one sweep."""
PATIENCE = 500.0
"""Fewest sweeps without progress before a stall is called."""
PROGRESS = 0.999
"""Progress is a new best error below this share of the last mark: slower is no progress at all."""


@jit
def begin(control):
    """Start of a solve: look at once (a warm start may be the answer)."""
    for k in range(SLOTS):
        control[k] = 0.0
    control[GAP], control[BEST], control[MARK], control[ERROR] = 1.0, math.inf, math.inf, math.inf
    control[MOVED], control[STRIDE] = math.inf, 1.0


@jit
def look(control, history, natural, scaled, tolerance):
    """Take note of the judge's measures and decide; true if these are the best so far.

    history (cap, 3): sweep, natural, natural_scaled, thinned to every other line when full.
    """
    sweeps, error = control[SWEEPS], max(natural, scaled)
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
        control[MARK], control[MARK_AT] = control[BEST], sweeps
    elif sweeps - control[MARK_AT] >= max(PATIENCE, control[MARK_AT]):
        control[STATE] = STALLED
        return best
    control[NEXT] = sweeps + _gap(control, error, tolerance)
    control[ERROR], control[AT] = error, sweeps
    return best


@jit
def _gap(control, error, tolerance):
    """Sweeps until the next look: most of what the present rate predicts, growing at most twofold."""
    done, gap = control[SWEEPS] - control[AT], 2.0 * control[GAP]
    if done > 0.0 and error < control[ERROR] < math.inf:
        rate = math.log(control[ERROR] / error) / done
        gap = min(gap, math.floor(0.9 * math.log(error / tolerance) / rate) + 1.0)
    elif control[SWEEPS] == 0.0:
        gap = 2.0
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
