"""Hard problems by name, with properties of their solutions in closed form.

Solvable problems have conditions that every answer must satisfy; unsolvable ones have a certificate if one
exists.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from closed_forms import anisotropic_slip, block_on_slope, table_with_four_legs

from stickslip import ContactProblem, GlobalProblem, coulomb
from stickslip.problem import Certificate, Level, contact_blocks, nonnegative
from stickslip.problem.convert import reduce_to_contacts, rescale
from stickslip.scenes.rigid import box_inertia, one_step

G = 9.81
H_STEP = 1e-2
UPWARDS = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
"""Frame of horizontal contacts: n = z, t1 = x, t2 = y."""


@dataclass(frozen=True)
class Hard:
    """A problem, and properties of its solutions."""

    problem: ContactProblem | GlobalProblem
    solvable: bool = True
    r: np.ndarray | None = None
    """Impulses, if they are unique [N s]."""
    u: np.ndarray | None = None
    """Contact velocities, if they are unique [m/s]."""
    answers: tuple[np.ndarray, ...] = ()
    """Some of several solutions [N s]."""
    balance: tuple[np.ndarray, np.ndarray] | None = None
    """A and b such that A r = b for every solution."""
    certificate: Certificate | None = None
    """Proof that there is no solution."""
    accuracy: float = 1e-6
    """Allowed relative deviation of r and u of an answer with error 1e-10 [-]."""


# -- mass ratios ---------------------------------------------------------------------------------------


def column(masses, mu=0.5, lid=0.0):
    """A column of point masses with one contact each: contact i carries the weight above it.

    lid: speed of a descending lid [m/s]; the problem then has no solution.
    """
    masses = np.asarray(masses, float)
    count = masses.size
    bodies = np.stack([np.arange(count), np.arange(count) - 1], axis=1)
    signs = np.ones(count)
    if lid:
        bodies, signs = np.vstack([bodies, [count - 1, -1]]), np.append(signs, -1.0)
    nc = bodies.shape[0]
    rows = np.zeros((nc, 3, 2, 6))
    rows[:, :, 0, :3], rows[:, :, 1, :3] = UPWARDS, -UPWARDS
    rows *= signs[:, None, None, None]
    K = coulomb(np.full(nc, mu))
    M = masses[:, None, None] * np.eye(6)
    f = np.zeros((count, 6))
    f[:, 2] = -masses * G * H_STEP
    bias = np.zeros((nc, 3))
    bias[count:, 0] = -lid
    H = contact_blocks(bodies, rows.reshape(-1, 2, 6), K)
    problem = GlobalProblem(M, f.reshape(-1), H, bias.reshape(-1), K)
    if lid:
        y = np.zeros((nc, 3))
        y[:, 0] = 1.0
        return Hard(problem, solvable=False, certificate=Certificate(y.reshape(-1)))
    r = np.zeros((count, 3))
    r[:, 0] = np.cumsum(masses[::-1])[::-1] * G * H_STEP
    # errors of u in r grow with the ratio of masses and the square of the height
    accuracy = 1e-9 * count**2 * masses.max() / masses.min()
    return Hard(problem, r=r.reshape(-1), u=np.zeros(3 * count), accuracy=min(accuracy, 0.1))


def slab_on_light_blocks(heavy=1e6, light=1.0):
    """A heavy slab on four light blocks on the ground; contacts 0 to 3 ground, 4 to 7 slab."""
    place = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    mass = np.array([light] * 4 + [heavy])
    size = np.array([[0.2, 0.2, 0.2]] * 4 + [[2.4, 2.4, 0.4]])
    bodies = np.array([[k, -1] for k in range(4)] + [[4, k] for k in range(4)])
    arms = np.zeros((8, 2, 3))
    arms[:, 0, 2], arms[4:, 1, 2] = [-0.1] * 4 + [-0.2] * 4, 0.1
    arms[4:, 0, :2] = place
    problem = one_step(
        mass=mass, inertia=box_inertia(mass, size), velocity=np.zeros((5, 6)), bodies=bodies, arms=arms,
        frames=np.array([UPWARDS] * 8), mu=0.5, mu_roll=None, h=H_STEP,
    )  # fmt: skip
    A = np.zeros((5, 24))
    A[0, 12::3] = 1.0  # the slab
    for k in range(4):  # balance of a block
        A[1 + k, 3 * k], A[1 + k, 12 + 3 * k] = 1.0, -1.0
    r = np.zeros((8, 3))
    r[4:, 0] = heavy * G * H_STEP / 4
    r[:4, 0] = r[4:, 0] + light * G * H_STEP
    b = G * H_STEP * np.array([heavy] + [light] * 4)
    return Hard(problem, u=np.zeros(24), answers=(r.reshape(-1),), balance=(A, b), accuracy=1e-2)


# -- stacks --------------------------------------------------------------------------------------------


def stack(count=100, push=0.0, ground=0.5, mu=0.5, lid=0.0, m=1.0, size=(1.0, 1.0, 0.02)):
    """A stack of boxes with four contacts at each interface, all moving at `push` g h at the start.

    The boxes stop if push <= ground, the friction coefficient below; otherwise the stack slides as one body.
    With a the deceleration over g, interface i carries the weight N above it, the friction -a N, and the
    moment a N height / 2, as long as no corner lifts: N_c = N (1 ± a height / width) / 4. lid: speed of a lid
    that descends on the corners of the last box [m/s]; the problem then has no solution.
    """
    width, _, thick = size
    mass, sizes = np.full(count, m), np.tile(size, (count, 1))
    corner = 0.5 * width * np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
    upper = np.repeat(np.arange(count), 4)
    arms = np.zeros((4 * count, 2, 3))
    arms[:, :, :2] = np.tile(corner, (count, 1))[:, None]
    arms[:, 0, 2], arms[:, 1, 2] = -0.5 * thick, 0.5 * thick
    velocity = np.zeros((count, 6))
    velocity[:, 0] = push * G * H_STEP
    problem = one_step(
        mass=mass, inertia=box_inertia(mass, sizes), velocity=velocity,
        bodies=np.stack([upper, upper - 1], axis=1), arms=arms, frames=np.array([UPWARDS] * 4 * count),
        mu=mu, mu_roll=None, h=H_STEP,
    )  # fmt: skip
    K = coulomb(np.where(upper == 0, ground, mu))
    problem = replace(problem, K=K)
    if lid:
        return _under_a_lid(problem, corner, thick, lid)
    a, above = min(push, ground), count - np.arange(count)
    N = above * m * G * H_STEP
    r = np.zeros((count, 4, 3))
    r[:, :, 0] = N[:, None] / 4 * (1 + a * (above * thick / width)[:, None] * np.sign(corner[:, 0]))
    r[:, :, 1] = -a * r[:, :, 0] if push > ground else -a * N[:, None] / 4
    u = np.zeros((count, 4, 3))
    u[0, :, 1] = max(0.0, push - ground) * G * H_STEP
    A = sp.kron(sp.eye_array(count), np.array([[1.0, 0, 0] * 4])).toarray()
    known = {"u": u.reshape(-1), "balance": (A, N)} if push == 0.0 else {}
    return Hard(problem, answers=(r.reshape(-1),), accuracy=1e-3, **known)


def _under_a_lid(problem, corner, thick, lid):
    H, last = problem.H, problem.H.bodies[:, 0].max()
    frames = -UPWARDS[None].repeat(4, axis=0)
    arms = np.concatenate([corner, np.full((4, 1), 0.5 * thick)], axis=1)
    rows = np.zeros((4, 3, 2, 6))
    rows[:, :, 0, :3], rows[:, :, 0, 3:] = frames, np.cross(arms[:, None], frames)
    K = problem.K + coulomb(np.full(4, 0.5))
    bodies = np.vstack([H.bodies, [[last, -1]] * 4])
    both = contact_blocks(bodies, np.concatenate([H.rows, rows.reshape(12, 2, 6)]), K)
    bias = np.concatenate([problem.u_bias, np.tile([-lid, 0.0, 0.0], 4)])
    y = np.tile([1.0, 0.0, 0.0], len(K))
    closing = GlobalProblem(problem.M, problem.f, both, bias, K)
    return Hard(closing, solvable=False, certificate=Certificate(y))


# -- friction coefficients far apart -------------------------------------------------------------------


def smooth_beside_rough(slope=0.6, m=2.0):
    """A frictionless block on a slope leans without friction on a block with mu = 5, which holds both."""
    n, t = m * G * H_STEP * np.cos(slope), m * G * H_STEP * np.sin(slope)
    frame, along = np.eye(3), np.array([[0.0, -1, 0], [0, 0, 1], [-1, 0, 0]])  # (z, x, y); contact along -x
    H = np.zeros((6, 9))
    H[:3, :3], H[3:, 3:6] = frame, frame
    H[:3, 6:], H[3:, 6:] = along.T, -along.T
    f = np.array([-n, t, 0.0, -n, t, 0.0])
    r = np.array([n, 0, 0, n, -2 * t, 0, t, 0, 0])
    problem = GlobalProblem(m * np.eye(6), f, H, np.zeros(9), coulomb([0.0, 5.0, 0.0]))
    return Hard(problem, r=r, u=np.zeros(9))


def made_to_measure(nc=30, mu=(0.0, 5.0), seed=0, velocities=60):
    """Return a problem with u_free computed from chosen impulses and velocities that obey the law."""
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(3 * nc, velocities))
    W, mu = J @ J.T / velocities, np.resize(mu, nc)
    r, u = np.zeros((nc, 3)), np.zeros((nc, 3))
    for i in range(nc):
        state, angle = i // 2 % 3, rng.uniform(0, 2 * np.pi)
        along = np.array([np.cos(angle), np.sin(angle)])
        if state == 0:
            u[i] = rng.uniform(0.1, 1.0), *rng.normal(size=2)
        else:
            r[i, 0] = rng.uniform(0.5, 2.0)
            r[i, 1:] = mu[i] * r[i, 0] * along * (1.0 if state == 1 else rng.uniform(0, 0.9))
        if state == 1:
            u[i, 1:] = -rng.uniform(0.1, 1.0) * along
    r, u = r.reshape(-1), u.reshape(-1)
    return Hard(ContactProblem(W, u - W @ r, coulomb(mu)), answers=(r,))


def extreme_friction(mu, slides):
    """One contact with diagonal W: r_N = -u_free_N, and a chosen r_T on or inside the cone."""
    n, angle = 1.0 / (1.0 + mu), 0.7
    limit, W = mu * n, np.diag([1.0, 1.0, 4.0])
    r = np.array([n, *(limit * (1.0 if slides else 0.5) * np.array([np.cos(angle), np.sin(angle)]))])
    slip = (limit or 1.0) * 0.3 * np.array([0.0, -np.cos(angle), -np.sin(angle)])
    u = slip if slides else np.zeros(3)
    return Hard(ContactProblem(W, u - W @ r, coulomb([mu])), r=r, u=u)


# -- repeated contacts ---------------------------------------------------------------------------------


def repeated_contact(angle, times=50, mu=0.5):
    """One contact under a block, repeated: only the sum of the impulses is unique."""
    known = block_on_slope(angle, mu)
    problem = ContactProblem(
        np.tile(known.problem.W.dense(), (times, times)),
        np.tile(known.problem.u_free, times),
        coulomb(np.full(times, mu)),
    )
    A = np.tile(np.eye(3), (1, times))
    return Hard(
        problem, u=np.tile(known.u, times), answers=(np.tile(known.r / times, times),), balance=(A, known.r)
    )


def repeated_table(times=50):
    """A table with `times` identical contacts at each of its four legs."""
    known = table_with_four_legs()
    old = known.problem
    H, nc = np.tile(old.H.toarray(), (1, times)), 4 * times
    problem = GlobalProblem(old.M, old.f, H, np.zeros(3 * nc), coulomb(np.full(nc, 0.6)))
    return Hard(problem, u=np.zeros(3 * nc), balance=(np.tile(np.eye(3), (1, nc)), known.total))


# -- wedges --------------------------------------------------------------------------------------------


def closing_walls(mu=0.4, bodies=False):
    """Three walls at 120 degrees close on a disc: n_1 + n_2 + n_3 = 0, so u_1 + u_2 + u_3 = -3 for all r."""
    angle = np.pi / 2 + 2 * np.pi / 3 * np.arange(3)
    n = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    t = np.stack([-np.sin(angle), np.cos(angle), 0 * angle], axis=1)
    frames = np.stack([n, t, np.tile([0.0, 0.0, 1.0], (3, 1))], axis=1)
    arms = -0.3 * n
    rows = np.concatenate([frames, np.cross(arms[:, None], frames)], axis=2)
    K, bias = coulomb(np.full(3, mu)), np.tile([-1.0, 0.0, 0.0], 3)
    M, f = np.diag([2.0, 2.0, 2.0, 0.1, 0.1, 0.1]), np.array([0.0, -0.2, 0.0, 0.0, 0.0, 0.01])
    if bodies:
        both = np.stack([rows.reshape(9, 6), np.zeros((9, 6))], axis=1)
        H = contact_blocks([[0, -1]] * 3, both, K)
        problem = GlobalProblem(M[None], f, H, bias, K)
    else:
        problem = GlobalProblem(M, f, rows.reshape(9, 6).T, bias, K)
    return Hard(problem, solvable=False, certificate=Certificate(np.tile([1.0, 0.0, 0.0], 3)))


def wall_against_a_fixed_body():
    """A wall closes at 1 m/s on a body held by a joint: the certificate is y = 1, z = -1."""
    H, joint = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([[1.0], [0.0]])
    problem = GlobalProblem(
        np.diag([2.0, 3.0]), [0.1, 0.2], H, [-1.0, 0.0], coulomb([0.5], 2), joint, np.zeros(1)
    )
    return Hard(problem, solvable=False, certificate=Certificate([1.0, 0.0], [-1.0]))


def wedge(mu, closing, alpha=0.4, m=1.5, f=(0.0, -0.1)):
    """A point mass between two walls that lean out by alpha and close at the speed `closing` [m/s], in 2D.

    If mu < tan alpha, the mass is squeezed out at closing / tan alpha, and
    m V = f_z + 2 r_N (sin alpha - mu cos alpha). If mu > tan alpha, it jams, and there is no solution for
    closing walls.
    """
    c, s = np.cos(alpha), np.sin(alpha)
    left, right = np.array([[c, s], [-s, c]]), np.array([[-c, s], [s, c]])  # rows n, t; t up the wall
    H = np.hstack([left.T, right.T])
    bias = -closing * np.concatenate([left @ [1.0, 0.0], right @ [-1.0, 0.0]])
    problem = GlobalProblem(m * np.eye(2), np.asarray(f, float), H, bias, coulomb([mu, mu], 2))
    if mu < np.tan(alpha):
        V = closing / np.tan(alpha)
        n = (m * V - f[1]) / (2 * (s - mu * c))
        r = np.array([n, -mu * n, n, -mu * n])
        return Hard(problem, r=r, u=np.array([0, closing * s + V * c] * 2))
    if closing:
        return Hard(problem, solvable=False)
    return Hard(problem, u=np.zeros(4), balance=(H, -np.asarray(f, float)))


# -- Painlevé's rod ------------------------------------------------------------------------------------


def rod_sliding(mu, theta, spin, m=1.0, half=0.5):
    """Painlevé's rod sliding on its lower end, accelerations: one nonnegative block for a fixed direction.

    W = (1 + 3 cos t (cos t - mu sin t)) / m, a_free = half spin² sin t - g (Génot & Brogliato 1999).
    W < 0 when mu is large: no solution for a_free < 0, and two, 0 and -a_free / W, for a_free > 0.
    """
    W = (1.0 + 3.0 * np.cos(theta) * (np.cos(theta) - mu * np.sin(theta))) / m
    a_free = half * spin**2 * np.sin(theta) - G
    problem = ContactProblem([[W]], [a_free], nonnegative(1), Level.ACCELERATION)
    if W > 0.0:
        return Hard(problem, r=np.array([max(0.0, -a_free / W)]))
    if a_free < 0.0:
        return Hard(problem, solvable=False, certificate=Certificate([1.0]))
    return Hard(problem, answers=(np.zeros(1), np.array([-a_free / W])))


def rod_impact(mu, theta, u_free, m=1.0):
    """Painlevé's rod at velocity level, with one 2D Coulomb contact: W is definite and a solution exists."""
    c, s = np.cos(theta), np.sin(theta)
    W = np.array([[1 + 3 * c * c, 3 * s * c], [3 * s * c, 1 + 3 * s * s]]) / m
    return Hard(ContactProblem(W, u_free, coulomb([mu], 2)))


def rod_with_three_answers():
    """Painlevé's rod at theta = 45° and mu = 3, which separates, sticks or slips.

    W = [[2.5, 1.5], [1.5, 2.5]], u_free = (0.1, 1): slipping 2.5 n - 4.5 n + 0.1 = 0 gives n = 0.05.
    """
    hard = rod_impact(3.0, np.pi / 4, [0.1, 1.0])
    stick = -np.linalg.solve(hard.problem.W.dense(), hard.problem.u_free)
    return replace(hard, answers=(np.zeros(2), stick, np.array([0.05, -0.15])))


# -- immovable contacts --------------------------------------------------------------------------------


def zero_rows(u_free):
    """A sliding block, and a contact between immovable bodies with the given u_free."""
    known = block_on_slope(0.8, 0.5)
    W = np.zeros((6, 6))
    W[:3, :3] = known.problem.W.dense()
    problem = ContactProblem(W, np.concatenate([known.problem.u_free, u_free]), coulomb([0.5, 0.5]))
    if u_free[0] < 0.0:
        return Hard(problem, solvable=False, certificate=Certificate([0, 0, 0, 1.0, 0, 0]))
    u, A = np.concatenate([known.u, u_free]), np.eye(6)[:3]
    return Hard(problem, u=u, answers=(np.append(known.r, [0.0, 0.0, 0.0]),), balance=(A, known.r))


def no_tangential_mobility():
    """W = diag(1, 0, 0): friction is at its limit and has no effect on velocities."""
    problem = ContactProblem(np.diag([1.0, 0.0, 0.0]), [-1.0, 0.6, -0.8], coulomb([0.5]))
    return Hard(problem, r=np.array([1.0, -0.3, 0.4]), u=np.array([0.0, 0.6, -0.8]))


def empty():
    return Hard(ContactProblem(np.zeros((0, 0)), [], coulomb([])), r=np.zeros(0), u=np.zeros(0))


def in_units(known, impulse, velocity):
    """Return the local problem in units of `impulse` [N s] and `velocity` [m/s]."""
    local = (
        known.problem
        if isinstance(known.problem, ContactProblem)
        else reduce_to_contacts(known.problem).problem
    )
    new = rescale(local, impulse, velocity).problem
    certificate = getattr(known, "certificate", None)
    if certificate is not None:
        return Hard(new, solvable=False, certificate=certificate)
    return Hard(new, r=known.r / impulse, u=known.u / velocity)


UNITS = ((1e8, 1.0), (1e-8, 1.0), (1.0, 1e8), (1.0, 1e-8), (1e8, 1e-8), (1e-8, 1e8))

HARD = {
    "column of alternating masses, 1 and 1e6": column([1.0, 1e6] * 5),
    "heaviest on top, 1 to 1e6": column(np.logspace(0, 6, 10)),
    "lightest on top, 1e6 to 1": column(np.logspace(6, 0, 10)),
    "slab of 1e6 on four blocks of 1": slab_on_light_blocks(),
    "stack of 20": stack(20),
    "stack of 100": stack(),
    "stack of 100, pushed": stack(push=0.1),
    "stack of 100, sliding": stack(push=0.3, ground=0.2),
    "stack of 30 under a lid": stack(30, lid=0.1),
    "mu 0 beside mu 5": smooth_beside_rough(),
    "mu 0 and 5, made to measure": made_to_measure(),
    "mu 0 and 5, made to measure, many": made_to_measure(nc=60, seed=1, velocities=120),
    "contact repeated 50 times, sticking": repeated_contact(0.2),
    "contact repeated 50 times, sliding": repeated_contact(0.8),
    "table repeated 50 times": repeated_table(),
    "walls closing": closing_walls(),
    "walls closing, over bodies": closing_walls(bodies=True),
    "walls closing, frictionless": closing_walls(mu=0.0),
    "column under a lid": column(np.full(8, 1.5), lid=0.2),
    "column under a lid, masses 1 and 1e6": column([1.0, 1e6] * 3, lid=0.2),
    "wall against a joint": wall_against_a_fixed_body(),
    "wedge squeezed out": wedge(0.2, 1.0),
    "wedge nearly jammed": wedge(0.42, 1.0),
    "wedge jammed, at rest": wedge(0.8, 0.0),
    "wedge jammed, closing": wedge(0.8, 1.0),
    "rod without paradox": rod_sliding(0.5, 1.0, 1.0),
    "rod without solution": rod_sliding(2.0, 1.0, 1.0),
    "rod with two solutions": rod_sliding(2.0, 1.0, 10.0),
    "rod, impact": rod_impact(2.0, 1.0, [-1.0, 1.0]),
    "rod with three solutions": rod_with_three_answers(),
    "W = 0, apart": zero_rows([0.3, 0.2, 0.0]),
    "W = 0, touching": zero_rows([0.0, 0.0, 0.0]),
    "W = 0, touching and sliding": zero_rows([0.0, 0.6, -0.8]),
    "W = 0, closing": zero_rows([-0.3, 0.2, 0.0]),
    "no tangential mobility": no_tangential_mobility(),
    "no contact": empty(),
    **{
        f"mu = {mu:g}, {'sliding' if slides else 'sticking'}": extreme_friction(mu, slides)
        for mu in (0.0, 1e-8, 1e3, 1e8)
        for slides in (True, False)
    },
    **{f"slip in units {a:g}, {b:g}": in_units(anisotropic_slip(), a, b) for a, b in UNITS},
    **{f"walls in units {a:g}, {b:g}": in_units(closing_walls(), a, b) for a, b in UNITS},
}
