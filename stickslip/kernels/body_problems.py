"""Contact problems over bodies in one call: sweeps from a guess where it is no answer, and the judge's word.

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
"""At most POLISH such sweeps, or as many as visit VISITS blocks; the judge is asked after LOOK of them, and
then as their rate predicts."""
MOST_WORK = 1_000_000
"""Components that sweeps may visit before other methods begin: 10 ms and more."""
PLAIN = 60.0
"""Plain sweeps over Coulomb contacts that are followed by accelerated ones."""
LINES = 64
"""Lines kept of the history."""
CROWDED, CROWDED_SWEEPS = 2.0, 60.0
"""Components for each velocity of the bodies from which sweeps mostly stall, as in walls and towers, and the
most sweeps there: Newton's method over bodies costs as much as 200 to 300. After 60 it takes 3 to 9 steps on
a wall of 27 bricks that slides, after 20 up to 16, after 150 no fewer than after 60."""
MANY = 1000
"""Components above which accelerated sweeps follow plain ones; small problems go to Newton's method."""
MIXED = 8
"""Sweeps that an accelerated one starts from a mix of."""
MOST_MIXED, MIXED_TRIAL = 300.0, 40.0
"""Most accelerated sweeps, and those before they may be called too slow."""
JOINTED = 20
"""Blocks for each joint below which joints are what a problem is about: they couple bodies into chains, along
which sweeps carry impulses one link at a time, and Newton's method comes first."""
JOINTED_WORK = 4_000
"""Components that sweeps may visit after it."""
LEAST_SWEEPS, NEWTON_SWEEPS, MOST_SWEEPS = 60.0, 0.5, 300.0
"""Sweeps over n components of few Coulomb contacts before Newton's method: at least the first, else the
second times n² but at most the third, which take about as long as its steps. In steps of ten boxes that were
pushed it then solves all that sweeps do not; 100 and 600 sweeps take as long."""
NEWTONS_AFTER = 60.0
"""Most of its steps from where sweeps have come to."""
DENSE, COULOMB_DENSE = 120, 180
"""Components up to which its systems are dense, and solved here; of Coulomb contacts alone. LAPACK works on
threads of its own from 200 on, with other roundings."""
WEIGHT = 1e-10
"""Proximal weight: impulses of redundant rows follow from it and from those of the last step, to rounding
over WEIGHT; the others are exact to WEIGHT."""
NEWTONS, PATIENCE = 12.0, 5.0
"""Most Newton steps, and outer ones that may not halve the residual."""
ENOUGH = 0.05
"""Share of the tolerance to which Newton's method solves, and of the error of a guess that is an answer. What
it leaves, the next step takes back: forces of joints at rest show it."""


@jit
def sweeps_worth(size, velocities, only_coulomb):
    """Sweeps over so many components before other methods begin; only_coulomb: no rolling, no joints.

    velocities: of the bodies. Accelerated sweeps follow plain ones of many Coulomb contacts, and soon are the
    better ones.
    """
    if only_coulomb and size > MANY:
        return PLAIN
    if size > small_contacts.SMALL and size > CROWDED * velocities:
        return CROWDED_SWEEPS
    return float(max(500, min(5000, MOST_WORK // max(size, 1))))


@jit
def is_jointed(kind):
    """Whether joints are what a problem with blocks of these kinds (nb,) is about."""
    joints = 0
    for k in kind:
        joints += 1 if k == cones.FREE else 0
    return JOINTED * joints > kind.shape[0]


@jit
def solve_coulomb3(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """`solve_in_stages` over 3D Coulomb contacts; of many, accelerated sweeps follow where plain ones are
    slow."""
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    limit = sweeps_worth(n, f.size, True)
    few = min(max(LEAST_SWEEPS, NEWTON_SWEEPS * n * n), MOST_SWEEPS, limit) if n <= COULOMB_DENSE else 0.0
    plan = Plan(MIXED if n > MANY else 0, few, limit)
    return solve_in_stages(
        body_sweeps.prepare_coulomb3, body_sweeps.run_coulomb3, plan, problem, tolerance, guess
    )


@jit
def solve_blocks(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """`solve_in_stages` over blocks of any kind: joints, stops, dry friction, rolling and torsion."""
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    limit = sweeps_worth(n, f.size, False)
    plan = Plan(0, min(LEAST_SWEEPS, limit) if n <= DENSE else 0.0, limit)
    return solve_in_stages(body_sweeps.prepare, body_sweeps.run, plan, problem, tolerance, guess)


class Plan(NamedTuple):
    """Sweeps of one solve."""

    columns: int
    """Sweeps that an accelerated one is mixed from [-]; 0 for plain ones alone."""
    few: float
    """Most before Newton's method [-]; 0 where its systems are too large."""
    limit: float
    """Most before other methods begin, outside [-]."""


@jit
def solve_in_stages(prepare, run, plan, problem, tolerance, guess):
    """What `solve` gives: sweeps and Newton's method in turns, from a guess. Newton's steps count as sweeps.

    prepare, run: those of `body_sweeps`; plan: a `Plan`.
    """
    # 1. the guess before the judge, and sweeps and Newton's method over few contacts
    start = look_at(problem, guess, tolerance)
    if is_enough(start.report, tolerance):
        return accept(start)
    if is_for_few(problem, start, tolerance):
        found, start = solve_few(problem, start, tolerance)
        if found[4][schedule.STATE] == schedule.SOLVED:
            return found
    # 2. sweeps, and Newton's method after a few of them
    if plan.few > 0.0:
        found = solve(prepare, run, 0, problem, tolerance, plan.few, start)
        if found[4][schedule.STATE] == schedule.SOLVED:
            return found
        r, found = found[0], newton_after(problem, start.free, found, tolerance)
        if found[4][schedule.STATE] == schedule.SOLVED:
            return found
        start = measure_guess(problem, r)
    # 3. all the sweeps that are worth it
    return solve(prepare, run, plan.columns, problem, tolerance, plan.limit, start)


@jit
def look_at(problem, guess, tolerance):
    """`measure_guess`, with infinite measures where the speed at which contacts close shows that the guess is
    no answer: that takes a fifth of the time of all measures."""
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
    """What `newton` gives from where sweeps have come to, which is what `solve` gives; its steps count with
    theirs."""
    r, control = swept[0], swept[4]
    weight = prox_newton.weight_at(control[schedule.BEST])
    found = newton(problem, free, r, weight, tolerance, tolerance, NEWTONS_AFTER)
    found[4][schedule.SWEEPS] += control[schedule.SWEEPS]
    return found


@jit
def accept(start):
    """What `solve` gives where the guess is the answer."""
    control, history = np.zeros(schedule.SLOTS), np.zeros((1, 3))
    history[0, 1], history[0, 2] = start.report[residuals.NATURAL], start.report[residuals.SCALED]
    control[schedule.STATE] = schedule.SOLVED
    return start.r, start.v, start.u, start.report, control, history


@jit
def is_for_few(problem, start, tolerance):
    """Whether `solve_few` comes next: contacts are several and few, and the guess is no answer.

    A guess that is an answer, but not by AIM, is left to sweeps.
    """
    several = problem.K.kind.shape[0] > 1 and start.r.shape[0] <= small_contacts.SMALL
    return several and not is_good(start.report, tolerance)


@jit
def solve_few(problem, start, tolerance):
    """What `solve` gives, of few contacts by `small_contacts.py` with W = J J' as one array, and a `Guess` to
    go on from. Its Newton steps count as sweeps do."""
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
    """(measures, u) of r; given: a `BodyProblem`, its `Unloaded`, and report <- measures and equilibrium."""
    problem, free, report = given
    u = tell_measures(problem, free, r, velocities(problem, r), report)
    return report[: residuals.MEASURES], u


@jit
def solve_jointed(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """`solve_blocks` where joints are what the problem is about: Newton's method comes before few sweeps and
    after them. Its steps count as sweeps do."""
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    # 1. the guess before the judge
    start = look_at(problem, guess, tolerance)
    if is_enough(start.report, tolerance):
        return accept(start)
    if n <= DENSE:
        # 2. Newton's method from there
        aim = min(tolerance, worst(start.report))
        found = newton(problem, start.free, start.r, WEIGHT, aim, tolerance, NEWTONS)
        if found[4][schedule.STATE] == schedule.SOLVED:
            return found
        start = measure_guess(problem, found[0])
    # 3. sweeps, from the best
    limit = float(max(3, JOINTED_WORK // max(n, 1)))
    swept = solve(body_sweeps.prepare, body_sweeps.run, 0, problem, tolerance, limit, start)
    if n > DENSE or swept[4][schedule.STATE] == schedule.SOLVED:
        return swept
    # 4. Newton's method from there
    found = newton_after(problem, start.free, swept, tolerance)
    return found if found[4][schedule.STATE] == schedule.SOLVED else swept


@jit
def newton(problem, free, r, weight, aim, tolerance, most):
    """(r, v, u, report, control, history) of proximal Newton with v eliminated, u = J J' r + u_free, from r.

    free: `Unloaded`; weight: the first proximal one; aim: it goes on to ENOUGH of that, if it can.
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
    """(r, v, u, report, control, history): at most `limit` sweeps from a guess that was looked at.

    u and report (MEASURES + 1), the judge's measures and the equilibrium, only where control says SOLVED.
    prepare, run: those of `body_sweeps`; columns: sweeps that an accelerated one is mixed from, 0 for none.
    """
    free, r, v, u, report = start
    good, control = is_good(report, tolerance), np.zeros(schedule.SLOTS)
    # 1. sweeps: as many as it takes, or a few more for an answer
    finest = min(ROUNDING, tolerance)
    target, budget = (finest, _polish(problem.K.kind, limit)) if good else (tolerance, limit)
    control[schedule.STATE] = schedule.NEW
    control[schedule.NEXT], control[schedule.ALLOWED] = (min(LOOK, budget), 0.0) if good else (1.0, budget)
    r_new, v_new, history = sweep(prepare, run, columns, problem, free, target, budget, control, r.copy())
    # 2. the better of both, or what sweeps found
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
    """(r, v, history) after at most `limit` sweeps from r (n,) in K; accelerated ones may follow.

    r is the best iterate, v its body velocities (count, k); control as `schedule` has it, renewed.
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
    """Sweeps for a guess that is an answer."""
    return min(max(POLISH, VISITS // kind.shape[0]), limit)
