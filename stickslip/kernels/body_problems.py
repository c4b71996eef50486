"""Contact problems over bodies in one call: sweeps and Newton's method from a guess, and the judge.

M v = f + H r, u = H' v + u_bias, with M in body blocks and H in contact blocks (`BodyProblem`).
The kernels that Python calls take K as a plain tuple (`cones.Cones`).
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels import (
    anderson,
    blocks,
    body_sweeps,
    cones,
    prox_newton,
    residuals,
    schedule,
    small_contacts,
)
from stickslip.kernels.body_measures import (
    ROUNDING,
    BodyProblem,
    Guess,
    is_enough,
    is_good,
    measure_guess,
    tell_measures,
    unloaded,
    velocities,
    worst,
)
from stickslip.kernels.jit import jit

POLISH, VISITS, LOOK = 8.0, 400.0, 4.0
"""Sweeps from a guess that is an answer: at most POLISH, or as many as visit VISITS blocks; the residuals are
first computed after LOOK of them, then when their rate predicts convergence. Heuristic."""
MOST_WORK = 1_000_000
"""Components visited by sweeps before other methods begin, which takes 10 ms or more; heuristic."""
PLAIN = 60.0
"""Plain sweeps over many Coulomb contacts before accelerated ones; heuristic."""
LINES = 64
"""Largest number of rows of the history."""
CROWDED, CROWDED_SWEEPS = 2.0, 60.0
"""Ratio of components to velocities of the bodies above which sweeps mostly stall, as in walls and towers,
and the largest number of sweeps there. Newton's method over bodies costs as much as 200 to 300 sweeps. After
60 sweeps it takes 3 to 9 steps on a wall of 27 sliding bricks, after 20 up to 16, after 150 as many as after
60."""
MANY = 1000
"""Components above which accelerated sweeps follow plain ones; smaller problems go to Newton's method."""
MIXED = 8
"""Sweeps that are mixed for the start of an accelerated one; heuristic."""
MOST_MIXED, MIXED_TRIAL = 300.0, 40.0
"""Largest number of accelerated sweeps, and the number before which they are not judged too slow;
heuristic."""
JOINTED = 20
"""Blocks for each joint below which Newton's method comes first: joints couple bodies into chains, along
which a sweep carries impulses by one link. Heuristic."""
JOINTED_WORK = 4_000
"""Components visited by the sweeps after it; heuristic."""
LEAST_SWEEPS, NEWTON_SWEEPS, MOST_SWEEPS = 60.0, 0.5, 300.0
"""Sweeps over n components of few Coulomb contacts before Newton's method: at least the first, else the
second times n², at most the third, which take about as long as its steps. In steps of ten pushed boxes it
then solves all problems that sweeps do not; 100 and 600 sweeps take as long."""
NEWTONS_AFTER = 60.0
"""Largest number of Newton steps after sweeps; heuristic."""
DENSE, COULOMB_DENSE = 120, 180
"""Largest number of components with dense Newton systems, which are solved here, and the same for Coulomb
contacts alone; heuristic."""
WEIGHT = 1e-10
"""Proximal weight [-]: it determines the impulses of redundant rows, beside those of the last step, with the
error of rounding over WEIGHT; the other impulses are exact to WEIGHT."""
NEWTONS, PATIENCE = 12.0, 5.0
"""Largest number of Newton steps, and of outer steps in which the residual is not halved; heuristic."""
ENOUGH = 0.05
"""Share of the tolerance, or of the error of a guess that is an answer, to which Newton's method solves [-].
The next time step has to remove the error that remains, which shows in forces of joints at rest.
Heuristic."""


@jit
def sweeps_worth(size, velocities, only_coulomb):
    """Return the number of sweeps over `size` components before other methods begin.

    velocities: their number over all bodies; only_coulomb: no rolling contacts and no joints. Over many
    Coulomb contacts accelerated sweeps, which soon converge faster, follow a few plain ones.
    """
    if only_coulomb and size > MANY:
        return PLAIN
    if size > small_contacts.SMALL and size > CROWDED * velocities:
        return CROWDED_SWEEPS
    return float(max(500, min(5000, MOST_WORK // max(size, 1))))


@jit
def is_jointed(kind):
    """Whether a problem with blocks of these kinds (nb,) has so many joints that Newton's method comes
    first."""
    joints = 0
    for k in kind:
        joints += 1 if k == cones.FREE else 0
    return JOINTED * joints > kind.shape[0]


@jit
def solve_coulomb3(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """Solve a problem of 3D Coulomb contacts by `solve_in_stages`; accelerated sweeps if there are many."""
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    limit = sweeps_worth(n, f.size, True)
    few = min(max(LEAST_SWEEPS, NEWTON_SWEEPS * n * n), MOST_SWEEPS, limit) if n <= COULOMB_DENSE else 0.0
    plan = Plan(MIXED if n > MANY else 0, few, limit)
    return solve_in_stages(
        body_sweeps.prepare_coulomb3, body_sweeps.run_coulomb3, plan, problem, tolerance, guess
    )


@jit
def solve_blocks(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """Solve a problem with blocks of any kind by `solve_in_stages`: joints, stops, dry friction, rolling."""
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    limit = sweeps_worth(n, f.size, False)
    plan = Plan(0, min(LEAST_SWEEPS, limit) if n <= DENSE else 0.0, limit)
    return solve_in_stages(body_sweeps.prepare, body_sweeps.run, plan, problem, tolerance, guess)


class Plan(NamedTuple):
    """Numbers of sweeps of a solve."""

    columns: int
    """Sweeps that are mixed for an accelerated one [-]; 0 for plain sweeps alone."""
    few: float
    """Largest number before Newton's method [-]; 0 where its systems are too large."""
    limit: float
    """Largest number before other solvers begin [-]."""


@jit
def solve_in_stages(prepare, run, plan, problem, tolerance, guess):
    """Solve by sweeps and Newton's method in turns from a guess; returns what `solve` returns.

    Newton steps count as sweeps. prepare, run: those of `body_sweeps`; plan: a `Plan`.
    """
    # 1. The guess before the judge; few contacts by `solve_few`.
    start = look_at(problem, guess, tolerance)
    if is_enough(start.report, tolerance):
        return accept(start)
    if is_for_few(problem, start, tolerance):
        result, start = solve_few(problem, start, tolerance)
        if result[4][schedule.STATE] == schedule.SOLVED:
            return result
    # 2. A few sweeps, and Newton's method.
    if plan.few > 0.0:
        result = solve(prepare, run, 0, problem, tolerance, plan.few, start)
        if result[4][schedule.STATE] == schedule.SOLVED:
            return result
        r, result = result[0], newton_after(problem, start.free, result, tolerance)
        if result[4][schedule.STATE] == schedule.SOLVED:
            return result
        start = measure_guess(problem, r)
    # 3. Sweeps until other solvers are better.
    return solve(prepare, run, plan.columns, problem, tolerance, plan.limit, start)


@jit
def look_at(problem, guess, tolerance):
    """`measure_guess` with a quick rejection: where contacts close too fast for an answer the measures are
    infinite. This takes a third of the time of all measures."""
    r, report = np.empty(guess.shape[0]), np.full(residuals.MEASURES + 1, np.inf)
    cones.project(problem.K, guess, r)
    v, free, u = velocities(problem, r), unloaded(problem), np.empty(r.shape[0])
    blocks.bodies_to_blocks(problem.bodies, problem.K.offset, problem.rows, v, problem.u_bias, u)
    speed = residuals.approach(problem.K, free.diagonal, residuals.Point(r, u, free.u))
    if not speed > residuals.single_bound(tolerance):
        u = tell_measures(problem, free, r, v, report)
    return Guess(free, r, v, u, report)


@jit
def newton_after(problem, free, swept, tolerance):
    """Continue sweeps by `newton`; returns what `solve` returns. Its steps count as sweeps."""
    r, control = swept[0], swept[4]
    weight = prox_newton.weight_at(control[schedule.BEST])
    result = newton(problem, free, r, weight, tolerance, tolerance, NEWTONS_AFTER)
    result[4][schedule.SWEEPS] += control[schedule.SWEEPS]
    return result


@jit
def accept(start):
    """Return the guess as the answer, in the form of `solve`."""
    control, history = np.zeros(schedule.SLOTS), np.zeros((1, 3))
    history[0, 1], history[0, 2] = start.report[residuals.NATURAL], start.report[residuals.SCALED]
    control[schedule.STATE] = schedule.SOLVED
    return start.r, start.v, start.u, start.report, control, history


@jit
def is_for_few(problem, start, tolerance):
    """Whether `solve_few` comes next: two contacts or more, not too many, and a guess that is not an answer.

    A guess that is an answer, but not to AIM, is left to sweeps.
    """
    several = problem.K.kind.shape[0] > 1 and start.r.shape[0] <= small_contacts.SMALL
    return several and not is_good(start.report, tolerance)


@jit
def solve_few(problem, start, tolerance):
    """Solve a problem of few contacts by `small_contacts.py` with W = J J' as one array.

    Returns what `solve` returns, and a `Guess` to continue from. Newton steps count as sweeps.
    """
    r, report, free = start.r.copy(), np.empty(residuals.MEASURES + 1), start.free
    n, control, history = r.shape[0], np.zeros(schedule.SLOTS), np.zeros((1, 3))
    u, W, summary = np.empty(n), np.empty(n * n), np.empty(small_contacts.REPORT)
    blocks.fill_from_bodies(problem.bodies, problem.K.offset, problem.f.shape[0], free.J, W)
    small_contacts.find(_judge_few, problem.K, (problem, free, report), W, free.u, tolerance, r, u, summary)
    v = velocities(problem, r)
    control[schedule.SWEEPS] = summary[small_contacts.SWEEPS] + summary[small_contacts.NEWTONS]
    control[schedule.CHECKS] = 0.0 if summary[small_contacts.NEWTONS] > 0.0 else 1.0
    control[schedule.BEST] = worst(report)
    if is_good(report, tolerance):
        control[schedule.STATE] = schedule.SOLVED
    history[0, 0] = control[schedule.SWEEPS]
    history[0, 1], history[0, 2] = report[residuals.NATURAL], report[residuals.SCALED]
    return (r, v, u, report, control, history), Guess(free, r, v, u, report)


@jit
def _judge_few(K, given, r, u_free):
    """Return (measures, u) of r; given: a `BodyProblem`, its `Unloaded`, and report <- measures and
    equilibrium."""
    problem, free, report = given
    u = tell_measures(problem, free, r, velocities(problem, r), report)
    return report[: residuals.MEASURES], u


@jit
def solve_jointed(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """Solve a problem with many joints: Newton's method, a few sweeps, Newton's method.

    Arguments and result as of `solve_blocks`; Newton steps count as sweeps.
    """
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    # 1. The guess before the judge.
    start = look_at(problem, guess, tolerance)
    if is_enough(start.report, tolerance):
        return accept(start)
    if n <= DENSE:
        # 2. Newton's method from the guess.
        aim = min(tolerance, worst(start.report))
        result = newton(problem, start.free, start.r, WEIGHT, aim, tolerance, NEWTONS)
        if result[4][schedule.STATE] == schedule.SOLVED:
            return result
        start = measure_guess(problem, result[0])
    # 3. Sweeps from the best iterate.
    limit = float(max(3, JOINTED_WORK // max(n, 1)))
    swept = solve(body_sweeps.prepare, body_sweeps.run, 0, problem, tolerance, limit, start)
    if n > DENSE or swept[4][schedule.STATE] == schedule.SOLVED:
        return swept
    # 4. Newton's method from their result.
    result = newton_after(problem, start.free, swept, tolerance)
    return result if result[4][schedule.STATE] == schedule.SOLVED else swept


@jit
def newton(problem, free, r, weight, aim, tolerance, most):
    """Return (r, v, u, report, control, history) of proximal Newton from r, with v eliminated: u = J J' r +
    u_free.

    free: an `Unloaded`; weight: the first proximal weight; aim: the method stops at ENOUGH times this error.
    """
    control, report = np.zeros(schedule.SLOTS), np.empty(residuals.MEASURES + 1)
    W = blocks.body_blocks(problem.bodies, problem.K.offset, free.J)
    r, steps, history = prox_newton.solve_small(problem.K, W, free.u, r, weight, ENOUGH * aim, most, PATIENCE)
    v = velocities(problem, r)
    u = tell_measures(problem, free, r, v, report)
    control[schedule.SWEEPS], control[schedule.BEST] = steps[prox_newton.NEWTON], worst(report)
    if is_good(report, tolerance):
        control[schedule.STATE] = schedule.SOLVED
    return r, v, u, report, control, history


@jit
def solve(prepare, run, columns, problem, tolerance, limit, start):
    """Return (r, v, u, report, control, history) of at most `limit` sweeps from the `Guess` start.

    u and report (MEASURES + 1,), the judge's measures and the equilibrium, are set only if control[STATE] is
    SOLVED. prepare, run: those of `body_sweeps`; columns: sweeps that are mixed for an accelerated one, 0 for
    none.
    """
    free, r, v, u, report = start
    good, control = is_good(report, tolerance), np.zeros(schedule.SLOTS)
    # 1. Sweeps to the tolerance, or a few more if the guess is an answer.
    finest = min(ROUNDING, tolerance)
    target, budget = (finest, _polish(problem.K.kind, limit)) if good else (tolerance, limit)
    control[schedule.STATE] = schedule.NEW
    control[schedule.NEXT], control[schedule.ALLOWED] = (min(LOOK, budget), 0.0) if good else (1.0, budget)
    r_new, v_new, history = sweep(prepare, run, columns, problem, free, target, budget, control, r.copy())
    # 2. The better of guess and result.
    if good:
        control[schedule.STATE], new_report = schedule.SOLVED, np.empty(report.shape[0])
        u_new = tell_measures(problem, free, r_new, v_new, new_report)
        if worst(new_report) < worst(report) and residuals.is_solved(new_report, tolerance):
            return r_new, v_new, u_new, new_report, control, history
        return r, v, u, report, control, history
    if control[schedule.STATE] == schedule.SOLVED:
        u = tell_measures(problem, free, r_new, v_new, report)
    return r_new, v_new, u, report, control, history


@jit
def sweep(prepare, run, columns, problem, free, tolerance, limit, control, r):
    """Return (r, v, history) after at most `limit` sweeps from r (n,) in K, and accelerated ones.

    r is the best iterate, v its body velocities (count, k); control, as in `schedule`, is updated.
    """
    root, f = problem.root, problem.f
    W = body_sweeps.over_bodies(problem.bodies, free.J, f.shape[0])
    swept, work = prepare(problem.K, W, free.u, 1.0)
    body_sweeps.follow(swept, r)
    history, best = np.empty((LINES, 3)), r.copy()
    course = r, best, control, history
    run(swept, work, anderson.no_memory(), tolerance, limit, course)
    state = control[schedule.STATE]
    if columns > 0 and (state == schedule.SLOW or state == schedule.RUNNING):
        for k in range(r.shape[0]):
            r[k] = best[k]
        allowed = control[schedule.SWEEPS] + MOST_MIXED
        anderson.take_over(control, control[schedule.BEST], allowed, MIXED_TRIAL)
        memory = anderson.memory_of(swept, columns)
        run(swept, work, memory, tolerance, allowed, course)
    body_sweeps.follow(swept, best)
    v = free.v.copy()
    for b in range(v.shape[0]):
        for i in range(v.shape[1]):
            for j in range(v.shape[1]):
                v[b, i] += root[b, i, j] * W.w[b, j]
    return best, v, history[: int(control[schedule.CHECKS])].copy()


@jit
def _polish(kind, limit):
    """Return the number of sweeps from a guess that is an answer."""
    return min(max(POLISH, VISITS // kind.shape[0]), limit)
