"""Problems with solutions in closed form. Every registered solver is run on all of them."""

from dataclasses import dataclass

import numpy as np

from stickslip import BoxProblem, ContactProblem, GlobalProblem, coulomb
from stickslip.problem import (
    contact_blocks,
    free,
    interval,
    lcp,
    mlcp,
    nonnegative,
    relay,
    rolling,
    torsional,
)

G = 9.81


@dataclass(frozen=True)
class Known:
    """A problem with its solution, as far as it is unique."""

    problem: ContactProblem | GlobalProblem | BoxProblem
    r: np.ndarray | None = None
    u: np.ndarray | None = None
    total: np.ndarray | None = None
    """Sum of the impulses over the contacts, if only this sum is unique."""

    @property
    def slides(self) -> bool:
        """Whether the convex relaxation has another solution: mu |u_T| > 0 at a contact."""
        K = getattr(self.problem, "K", None)
        return K is not None and not np.array_equal(K.shifted(self.u), self.u)


def block_on_slope(angle, mu, m=2.0, h=1e-2):
    """Sticks if tan(angle) <= mu; otherwise r_T = mu r_N against the slope (Coulomb 1785)."""
    n, t = m * G * h * np.cos(angle), m * G * h * np.sin(angle)
    held = min(t, mu * n)
    problem = ContactProblem(np.eye(3) / m, [-n / m, t / m, 0.0], coulomb([mu]))
    return Known(problem, np.array([n, -held, 0.0]), np.array([0.0, (t - held) / m, 0.0]))


def block_on_slope_2d(angle, mu, m=2.0, h=1e-2):
    known = block_on_slope(angle, mu, m, h)
    problem = ContactProblem(np.eye(2) / m, known.problem.u_free[:2], coulomb([mu], 2))
    return Known(problem, known.r[:2], known.u[:2])


def leaving():
    problem = ContactProblem(np.eye(3), [0.5, -1.0, 2.0], coulomb([0.7]))
    return Known(problem, np.zeros(3), np.array([0.5, -1.0, 2.0]))


def anisotropic_slip():
    """W_T = diag(1, 4) without coupling; q is computed from the choice u_T = -r_T."""
    mu, n, angle = 0.5, 3.0, 0.7
    r = np.array([n, mu * n * np.cos(angle), mu * n * np.sin(angle)])
    u = np.array([0.0, -r[1], -r[2]])
    W = np.diag([1.0, 1.0, 4.0])
    return Known(ContactProblem(W, u - W @ r, coulomb([mu])), r, u)


def coupled_slip():
    """Full W; q is computed from an r on the cone, an opposite u_T and u_N = 0."""
    mu, r = 0.8, np.array([2.0, -1.6 * 0.6, 1.6 * 0.8])
    u = np.array([0.0, -0.3 * r[1], -0.3 * r[2]])
    W = np.array([[2.0, 0.3, -0.2], [0.3, 1.5, 0.4], [-0.2, 0.4, 1.0]])
    return Known(ContactProblem(W, u - W @ r, coulomb([mu])), r, u)


def rolling_sphere():
    """Nguyen 2021, 1.3.7 under the exact law: r_N = g, rolling speed (M - mu_R g) / I, and no sliding."""
    mu_roll, moment, inertia = 0.1, np.sqrt(2.0), 0.4
    W = np.diag([1.0, 1.0, 1.0, 1.0 / inertia, 1.0 / inertia])
    q = np.array([-G, 0.0, 0.0, moment / inertia, 0.0])
    speed = (moment - mu_roll * G) / inertia
    r = np.array([G, 0.0, 0.0, -mu_roll * G, 0.0])
    return Known(ContactProblem(W, q, rolling([0.5], [mu_roll])), r, np.array([0, 0, 0, speed, 0.0]))


def sliding_and_rolling():
    """Diagonal W; sliding and rolling friction are both at their limits."""
    W, q = np.diag([1.0, 2.0, 2.0, 5.0, 5.0]), np.array([-2.0, 3.0, -4.0, -6.0, 8.0])
    mu, mu_roll = 0.3, 0.2
    r = np.array([2.0, -0.6 * 0.6, 0.6 * 0.8, 0.4 * 0.6, -0.4 * 0.8])
    return Known(ContactProblem(W, q, rolling([mu], [mu_roll])), r, q + W @ r)


def spinning_top():
    """Torsional friction mu_spin r_N that does not stop the spin."""
    W, q = np.diag([0.5, 1.0, 1.0, 10.0]), np.array([-1.0, 0.0, 0.0, 7.0])
    r = np.array([2.0, 0.0, 0.0, -0.1 * 2.0])
    return Known(ContactProblem(W, q, torsional([0.4], [0.1])), r, q + W @ r)


def column_of_blocks(count=5, m=1.5, h=1e-2):
    """A column of blocks with one contact each: contact i carries the weight above it."""
    M = np.tile(m * np.eye(6), (count, 1, 1))
    f = np.tile([0.0, 0.0, -m * G * h, 0.0, 0.0, 0.0], count)
    bodies = np.stack([np.arange(count), np.arange(count) - 1], axis=1)
    frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    rows = np.zeros((count, 3, 2, 6))
    rows[:, :, 0, :3], rows[:, :, 1, :3] = frame, -frame
    K = coulomb(np.full(count, 0.5))
    H = contact_blocks(bodies, rows.reshape(-1, 2, 6), K)
    r = np.zeros((count, 3))
    r[:, 0] = m * G * h * np.arange(count, 0, -1)
    return Known(GlobalProblem(M, f, H, np.zeros(3 * count), K), r.reshape(-1), np.zeros(3 * count))


def table_with_four_legs(m=3.0, h=1e-2, slope=0.2):
    """Four contacts under one body: only the sum of the forces is unique."""
    K = coulomb(np.full(4, 0.6))
    legs = np.array([[1.0, 1.0, -0.4], [-1.0, 1.0, -0.4], [-1.0, -1.0, -0.4], [1.0, -1.0, -0.4]])
    frame = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    H = np.zeros((6, 12))
    for i, leg in enumerate(legs):
        H[:3, 3 * i : 3 * i + 3] = frame.T
        H[3:, 3 * i : 3 * i + 3] = np.cross(leg, frame).T
    f = np.array([m * G * h * np.sin(slope), 0.0, -m * G * h * np.cos(slope), 0.0, 0.0, 0.0])
    M = np.diag([m, m, m, 0.4, 0.4, 0.5])
    total = np.array([m * G * h * np.cos(slope), -m * G * h * np.sin(slope), 0.0])
    return Known(GlobalProblem(M, f, H, np.zeros(12), K), u=np.zeros(12), total=total)


def two_masses_on_a_rod(h=1e-2):
    """Two point masses joined by a rigid rod (G), one of them on the ground, which carries both."""
    m1, m2 = 1.0, 2.0
    M = np.diag([m1, m1, m2, m2])  # (x, z) of each
    f = np.array([0.0, -m1 * G * h, 0.0, -m2 * G * h])
    H = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    joint = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    problem = GlobalProblem(M, f, H, np.zeros(2), coulomb([0.5], 2), joint, np.zeros(2))
    return Known(problem, np.array([(m1 + m2) * G * h, 0.0]), np.zeros(2))


def mixed_blocks():
    """Uncoupled simple blocks: bilateral, frictionless, and intervals at and within their bounds."""
    K = free(2) + nonnegative(2) + interval([-1.0, -1.0], [1.0, 1.0])
    W, q = np.diag([2.0, 4.0, 1.0, 1.0, 2.0, 2.0]), np.array([2.0, -4.0, -3.0, 1.0, 4.0, -1.0])
    r = np.array([-1.0, 1.0, 3.0, 0.0, -1.0, 0.5])
    return Known(ContactProblem(W, q, K), r, q + W @ r)


def small_lcp():
    """Murty 1988, exercise of chapter 1: M = [[2, 1], [1, 2]], q = (-5, -6)."""
    return Known(lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0]), np.array([4.0 / 3.0, 7.0 / 3.0]), np.zeros(2))


def small_mlcp():
    """The equation 2 z_0 + z_1 = 4 and an active complementarity condition."""
    A, b = np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-4.0, -5.0])
    return Known(mlcp(A, b, [True, False]), np.array([1.0, 2.0]), np.zeros(2))


def small_relay():
    return Known(relay(np.diag([2.0, 2.0]), [1.0, 6.0]), np.array([-0.5, -1.0]), np.array([0.0, 4.0]))


KNOWN = {
    "stick": block_on_slope(0.2, 0.5),
    "slide": block_on_slope(0.8, 0.5),
    "frictionless": block_on_slope(0.3, 0.0),
    "stick 2D": block_on_slope_2d(0.2, 0.5),
    "slide 2D": block_on_slope_2d(0.8, 0.5),
    "leaving": leaving(),
    "anisotropic slip": anisotropic_slip(),
    "coupled slip": coupled_slip(),
    "rolling sphere": rolling_sphere(),
    "sliding and rolling": sliding_and_rolling(),
    "spinning top": spinning_top(),
    "column of blocks": column_of_blocks(),
    "table with four legs": table_with_four_legs(),
    "two masses on a rod": two_masses_on_a_rod(),
    "mixed blocks": mixed_blocks(),
    "lcp": small_lcp(),
    "mlcp": small_mlcp(),
    "relay": small_relay(),
    "no contact": Known(ContactProblem(np.zeros((0, 0)), [], coulomb([])), np.zeros(0), np.zeros(0)),
}
