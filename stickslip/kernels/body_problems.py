"""Contact problems over bodies in one call: sweeps from a guess where it is no answer, and the judge's word.

M v = f + H r, u = H' v + u_bias, with M in body blocks and H in contact blocks (`BodyProblem`).
The kernels that Python calls take K as a plain tuple (`cones.Cones`).
"""

from typing import Any, NamedTuple

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
from stickslip.kernels.jit import jit
from stickslip.kernels.measures import relative

AIM, ROUNDING = 1e-4, 1e-13
"""A guess that is an answer already is swept until its error is below ROUNDING, unless it is better than the
tolerance by AIM: taken as it stands in every step of a body at rest, its error would add up in velocities.
With AIM near 1 steps would go back and forth for ever: a guess with the error a, taken, leaves the velocity
a, and the next step, swept, takes that back with impulses that have the error a as the guess after it."""
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
LEAST_SWEEPS, NEWTON_SWEEPS = 60.0, 0.5
"""Sweeps over n components of few Coulomb contacts before Newton's method: at least so many, and this times
n², which take about as long as its dozen of factorisations."""
COULOMB_WEIGHT, COULOMB_NEWTONS = 1e-3, 60.0
"""First proximal weight among them, and most steps: as `solvers/auto_stages.py` has it."""
DENSE = 120
"""Components up to which its systems are dense, and solved here."""
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


class BodyProblem(NamedTuple):
    """Contacts over `count` bodies of k velocities each."""

    K: Any
    """The set, a `Cones` of nc blocks and n components."""
    bodies: Any
    """Bodies of each contact, -1 for a fixed side, shape (nc, 2)."""
    rows: Any
    """H' by contacts, shape (n, 2, k)."""
    M: Any
    """Mass matrices [kg, kg m²], shape (count, k, k)."""
    root: Any
    """F of each body with M^-1 = F F', shape (count, k, k)."""
    f: Any
    """Momentum without impulses [N s, N m s], shape (count, k)."""
    u_bias: Any
    """Velocities of the contacts that bodies do not have [m/s], shape (n,)."""


@jit
def solve_coulomb3(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """`solve` over 3D Coulomb contacts; accelerated sweeps follow where they are slow and contacts many, and
    Newton's method where contacts are few. Its steps count as sweeps do."""
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    found = solve_few(problem, tolerance, guess)
    if found[4][schedule.STATE] == schedule.SOLVED:
        return found
    guess = found[0]
    columns, limit = MIXED if n > MANY else 0, sweeps_worth(n, f.size, True)
    few = max(LEAST_SWEEPS, NEWTON_SWEEPS * n * n)
    if few < limit:
        found = solve(
            body_sweeps.prepare_coulomb3, body_sweeps.run_coulomb3, 0, problem, tolerance, few, guess
        )
        if found[4][schedule.STATE] == schedule.SOLVED:
            return found
        r, control = found[0], found[4]
        free = unloaded(problem)
        found = newton(problem, free, r, COULOMB_WEIGHT, tolerance, tolerance, COULOMB_NEWTONS)
        found[4][schedule.SWEEPS] += control[schedule.SWEEPS]
        if found[4][schedule.STATE] == schedule.SOLVED:
            return found
        guess = r
    return solve(
        body_sweeps.prepare_coulomb3, body_sweeps.run_coulomb3, columns, problem, tolerance, limit, guess
    )


@jit
def solve_blocks(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """`solve` over blocks of any kind: joints, stops, dry friction, rolling and torsion."""
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    found = solve_few(problem, tolerance, guess)
    if found[4][schedule.STATE] == schedule.SOLVED:
        return found
    guess = found[0]
    limit = sweeps_worth(n, f.size, False)
    return solve(body_sweeps.prepare, body_sweeps.run, 0, problem, tolerance, limit, guess)


@jit
def solve_few(problem, tolerance, guess):
    """`solve` of few contacts by `small_contacts.py`, with W = J J' as one array; its Newton steps count as
    sweeps do. Many contacts, one alone, and a guess that is good, but not by AIM, are left to sweeps."""
    n, control, history = guess.shape[0], np.zeros(schedule.SLOTS), np.zeros((1, 3))
    r, told = guess.copy(), np.empty(residuals.MEASURES + 1)
    if problem.K.kind.shape[0] == 1 or n > small_contacts.SMALL:
        return r, np.empty((0, 0)), np.empty(0), told, control, history
    # 1. the guess before the judge
    cones.project(problem.K, guess, r)
    v, free = velocities(problem, r), unloaded(problem)
    u = _told(problem, free, r, v, told)
    good = _is_good(told, tolerance)
    if not good:
        # 2. sweeps and Newton's method from there
        W, few = np.zeros(n * n), np.empty(small_contacts.TOLD)
        blocks.fill(blocks.body_blocks(problem.bodies, problem.K.offset, free.J), W)
        given = problem, free
        small_contacts.find(_judge_few, problem.K, given, W, free.u, tolerance, r, u, few)
        v = velocities(problem, r)
        u = _told(problem, free, r, v, told)
        control[schedule.SWEEPS] = few[small_contacts.SWEEPS] + few[small_contacts.NEWTONS]
        control[schedule.CHECKS] = 0.0 if few[small_contacts.NEWTONS] > 0.0 else 1.0
    if _is_good(told, tolerance) and (not good or _worst(told) <= max(AIM * tolerance, ROUNDING)):
        control[schedule.STATE] = schedule.SOLVED
    history[0, 0], history[0, 1], history[0, 2] = (
        control[schedule.SWEEPS],
        told[residuals.NATURAL],
        told[residuals.SCALED],
    )
    control[schedule.BEST] = _worst(told)
    return r, v, u, told, control, history


@jit
def _judge_few(K, given, r, u_free):
    """(measures, u) of r; given: a `BodyProblem` and its `Unloaded`."""
    problem, free = given
    measures, _, u = measure_free(problem, free, r, velocities(problem, r))
    return measures, u


@jit
def solve_jointed(K, bodies, rows, M, root, f, u_bias, tolerance, guess):
    """`solve_blocks` where joints are what the problem is about: Newton's method comes before few sweeps.

    Its steps count as sweeps do.
    """
    problem, n = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias), u_bias.shape[0]
    r, told, control = np.empty(n), np.empty(residuals.MEASURES + 1), np.zeros(schedule.SLOTS)
    cones.project(problem.K, guess, r)
    if n <= DENSE:
        # 1. the guess before the judge
        free, history = unloaded(problem), np.zeros((1, 3))
        v = velocities(problem, r)
        u = _told(problem, free, r, v, told)
        error, solved = _worst(told), _is_good(told, tolerance)
        if solved and error <= max(AIM * tolerance, min(ROUNDING, tolerance)):
            history[0, 1], history[0, 2] = told[residuals.NATURAL], told[residuals.SCALED]
            control[schedule.STATE] = schedule.SOLVED
            return r, v, u, told, control, history
        # 2. Newton's method from there
        found = newton(problem, free, r, WEIGHT, min(tolerance, error), tolerance, NEWTONS)
        if found[4][schedule.STATE] == schedule.SOLVED:
            return found
        r = found[0]
    # 3. sweeps, from the best
    limit = float(max(3, JOINTED_WORK // max(n, 1)))
    return solve(body_sweeps.prepare, body_sweeps.run, 0, problem, tolerance, limit, r)


@jit
def newton(problem, free, r, weight, aim, tolerance, most):
    """(r, v, u, told, control, history) of proximal Newton with v eliminated, u = J J' r + u_free, from r.

    free: `Unloaded`; weight: the first proximal one; aim: it goes on to ENOUGH of that, if it can.
    """
    control, told = np.zeros(schedule.SLOTS), np.empty(residuals.MEASURES + 1)
    W = blocks.body_blocks(problem.bodies, problem.K.offset, free.J)
    r, steps, history = prox_newton.solve_small(problem.K, W, free.u, r, weight, ENOUGH * aim, most, PATIENCE)
    v = velocities(problem, r)
    u = _told(problem, free, r, v, told)
    control[schedule.SWEEPS], control[schedule.BEST] = steps[prox_newton.NEWTON], _worst(told)
    if _is_good(told, tolerance):
        control[schedule.STATE] = schedule.SOLVED
    return r, v, u, told, control, history


@jit
def solve(prepare, run, columns, problem, tolerance, limit, guess):
    """(r, v, u, told, control, history): the guess where the judge takes it, else at most `limit` sweeps.

    u and told (MEASURES + 1), the judge's measures and the equilibrium, only where control says SOLVED.
    prepare, run: those of `body_sweeps`; columns: sweeps that an accelerated one is mixed from, 0 for none.
    """
    # 1. the guess before the judge
    r, told, control = np.empty(guess.shape[0]), np.empty(residuals.MEASURES + 1), np.zeros(schedule.SLOTS)
    cones.project(problem.K, guess, r)
    v, free = velocities(problem, r), unloaded(problem)
    u = _told(problem, free, r, v, told)
    good = _is_good(told, tolerance)
    finest = min(ROUNDING, tolerance)
    if good and _worst(told) <= max(AIM * tolerance, finest):
        history = np.zeros((1, 3))
        history[0, 1], history[0, 2] = told[residuals.NATURAL], told[residuals.SCALED]
        control[schedule.STATE] = schedule.SOLVED
        return r, v, u, told, control, history
    # 2. sweeps from there: as many as it takes, or a few more for an answer
    target, budget = (finest, _polish(problem.K.kind, limit)) if good else (tolerance, limit)
    control[schedule.STATE] = schedule.NEW
    control[schedule.NEXT], control[schedule.ALLOWED] = (min(LOOK, budget), 0.0) if good else (1.0, budget)
    r_new, v_new, history = sweep(prepare, run, columns, problem, free, target, budget, control, r.copy())
    # 3. the better of both, or what sweeps found
    if good:
        control[schedule.STATE], told_new = schedule.SOLVED, np.empty(told.shape[0])
        u_new = _told(problem, free, r_new, v_new, told_new)
        if _worst(told_new) < _worst(told) and residuals.is_solved(told_new, tolerance):
            return r_new, v_new, u_new, told_new, control, history
        return r, v, u, told, control, history
    if control[schedule.STATE] == schedule.SOLVED:
        u = _told(problem, free, r_new, v_new, told)
    return r_new, v_new, u, told, control, history


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
def _worst(told):
    """The largest of the relative measures."""
    return max(told[residuals.NATURAL], told[residuals.SCALED], told[residuals.MEASURES])


@jit
def _is_good(told, tolerance):
    """Whether the judge takes an answer, and the equilibrium is one."""
    return residuals.is_solved(told, tolerance) and told[residuals.MEASURES] <= tolerance


@jit
def _polish(kind, limit):
    """Sweeps for a guess that is an answer."""
    return min(max(POLISH, VISITS // kind.shape[0]), limit)


@jit
def _told(problem, free, r, v, told):
    """u of the judge; told <- its measures of r (n,) and v (count, k), and the equilibrium."""
    measures, equilibrium, u = measure_free(problem, free, r, v)
    for k in range(residuals.MEASURES):
        told[k] = measures[k]
    told[residuals.MEASURES] = equilibrium
    return u


@jit
def velocities(problem, r):
    """M^-1 (f + H r), shape (count, k)."""
    count, k = problem.f.shape
    v, pushed, scaled = np.zeros((count, k)), np.empty((count, k)), np.empty(k)
    blocks.blocks_to_bodies(problem.bodies, problem.K.offset, problem.rows, r, pushed)
    for b in range(count):
        for i in range(k):
            pushed[b, i] += problem.f[b, i]
        blocks.add_velocity(problem.root[b], pushed[b], scaled, v[b])
    return v


class Unloaded(NamedTuple):
    """A problem without impulses: what follows from its data alone, for sweeps and for the judge."""

    J: Any
    """H' F, shape (n, 2, k)."""
    diagonal: Any
    """Of W = J J', shape (n,)."""
    v: Any
    """Velocities of the bodies, shape (count, k)."""
    u: Any
    """Velocities of the contacts, shape (n,)."""


@jit
def unloaded(problem):
    """The `Unloaded` of a `BodyProblem`."""
    K, bodies, rows, _, root, f, u_bias = problem
    count, k = f.shape
    J, diagonal, v, u = (
        np.empty(rows.shape),
        np.zeros(rows.shape[0]),
        np.zeros((count, k)),
        np.empty(rows.shape[0]),
    )
    blocks.scale_rows(bodies, K.offset, rows, root, J)
    for j in range(rows.shape[0]):
        for side in range(2):
            for m in range(k):
                diagonal[j] += J[j, side, m] * J[j, side, m]
    scaled = np.empty(k)
    for b in range(count):
        blocks.add_velocity(root[b], f[b], scaled, v[b])
    blocks.bodies_to_blocks(bodies, K.offset, rows, v, u_bias, u)
    return Unloaded(J, diagonal, v, u)


@jit
def measure(K, bodies, rows, M, root, f, u_bias, r, v):
    """(measures, equilibrium, u): all that the judge says of r (n,) and v (count, k), from scratch."""
    problem = BodyProblem(cones.Cones(*K), bodies, rows, M, root, f, u_bias)
    return measure_free(problem, unloaded(problem), r, v)


@jit
def measure_free(problem, free, r, v):
    """`measure` of a `BodyProblem`; free: its `Unloaded`."""
    K, bodies, rows, M, root, f, u_bias = problem
    count, k = M.shape[0], M.shape[1]
    pushed, moved, total, scaled = np.empty((count, k)), np.zeros((count, k)), np.empty(k), np.empty(k)
    blocks.blocks_to_bodies(bodies, K.offset, rows, r, pushed)
    error = error_v = 0.0
    sums = np.zeros(5)  # squares of M v, f, pushed; v, v_free
    for b in range(count):
        for i in range(k):
            total[i] = f[b, i] + pushed[b, i]
        blocks.add_velocity(root[b], total, scaled, moved[b])
        for i in range(k):
            momentum = 0.0
            for j in range(k):
                momentum += M[b, i, j] * v[b, j]
            gap = momentum - f[b, i] - pushed[b, i]
            error += gap * gap
            gap = v[b, i] - moved[b, i]
            error_v += gap * gap
            sums[0] += momentum * momentum
            sums[1] += f[b, i] * f[b, i]
            sums[2] += pushed[b, i] * pushed[b, i]
            sums[3] += v[b, i] * v[b, i]
            sums[4] += free.v[b, i] * free.v[b, i]
    u, own = np.empty(r.shape[0]), 0.0
    blocks.bodies_to_blocks(bodies, K.offset, rows, v, u_bias, u)
    for j in range(r.shape[0]):
        own += (free.diagonal[j] * r[j]) * (free.diagonal[j] * r[j])
    largest, speed = max(sums[0], sums[1], sums[2]), max(sums[3], sums[4], own)
    out = residuals.measure(K, residuals.EXACT, free.diagonal, r, u, free.u)
    return out, max(relative(error, largest), relative(error_v, speed)), u
