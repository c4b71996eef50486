"""Friction impulse of one contact with a given normal impulse: maximum dissipation as a cone program.

    min ½ b'W b + u'b   over   |b| <= mu r_N

is the change of kinetic energy by the impulse b; with W = 0 it is the power u·b of friction against a given
velocity (Moreau 1974). At the minimum the slip velocity u + W b is zero, or it is opposite to b, which is
then at its limit. The multiplier of the limit is the slip speed |u + W b|.

With the smoothed norm √(b'b + ε²) - ε <= mu r_N, which is differentiable at b = 0, and the multiplier sigma
it is the complementarity problem

    W b + u + sigma b / √(b'b + ε²) = 0,      0 <= sigma ⟂ mu r_N + ε - √(b'b + ε²) >= 0.

For a sliding contact |b|² = (mu r_N)² + 2 mu r_N ε, so |b| = mu r_N + ε to first order. For a contact that
sticks inside the limit b is exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, finite, flat, floats
from stickslip.problem.convert.cone_programs import symmetric_part
from stickslip.problem.nonlinear import NonlinearProblem
from stickslip.problem.program import ConeProgram


class Friction(NamedTuple):
    """Friction of one contact."""

    b: Array
    """Friction impulse [N s], shape (k,)."""
    speed: float
    """Slip speed: the multiplier of |b| <= mu r_N [m/s]; 0 when it sticks."""


@dataclass(frozen=True)
class FrictionConversion:
    """Cone program of the friction of one contact, and the map of its solution back."""

    problem: ConeProgram
    """The program; its unknown is b."""
    recover: Callable[[Array, Array], Friction]
    """Map from x and multipliers y of the program to the friction impulse and the slip speed."""


def friction_program(W_TT: ArrayLike, u_T: ArrayLike, r_N: float, mu: float) -> FrictionConversion:
    """Return the program of the friction impulse of one contact that minimises the kinetic energy.

    W_TT   tangential part of W of the contact [1/kg], shape (k, k), symmetric, may be 0
    u_T    tangential velocity without friction [m/s], shape (k,)
    r_N, mu   normal impulse [N s] and friction coefficient [-], both >= 0
    """
    u = floats("u_T", np.atleast_1d(floats("u_T", u_T)), (None,))
    finite("u_T", u)
    k = u.size
    W = floats("W_TT", np.atleast_2d(floats("W_TT", W_TT)), (k, k))
    finite("W_TT", W)
    numbers = [float(flat(name, value, 1)[0]) for name, value in (("r_N", r_N), ("mu", mu))]
    for name, value in zip(("r_N", "mu"), numbers, strict=True):
        if not (value >= 0.0 and np.isfinite(value)):
            raise ProblemError(f"{name} is {value}; it must be finite and not negative")
    P, limit = symmetric_part("W_TT", W), numbers[0] * numbers[1]
    if limit == 0.0:  # b = 0; a cone without interior would be ill posed
        program = ConeProgram(P, u, sp.eye_array(k, format="csr"), np.zeros(k), zero=k)
        return FrictionConversion(program, lambda x, y: Friction(np.zeros(k), float(np.linalg.norm(y))))
    A = sp.eye_array(k + 1, k, k=-1, format="csr")  # (mu r_N, b)
    side = np.concatenate([[limit], np.zeros(k)])
    program = ConeProgram(P, u, A, side, second_order=np.array([k + 1]))
    return FrictionConversion(program, lambda x, y: Friction(flat("x", x, k), float(y[0])))


@dataclass(frozen=True)
class SmoothedFriction:
    """Friction of one contact as a NonlinearProblem, and the map of its solution back."""

    problem: NonlinearProblem
    """Unknowns b / (mu r_N) and sigma in units of the free velocity."""
    recover: Callable[[Array], Friction]
    """Map from z to the friction impulse and the slip speed |W b + u|."""


def friction_mcp(W_TT: ArrayLike, u_T: ArrayLike, r_N: float, mu: float, epsilon: float) -> SmoothedFriction:
    """Return the friction problem of one contact with fixed normal impulse and the norm √(b'b + ε²) - ε.

    `W_TT`: tangential part of W of the contact [1/kg], shape (k, k), symmetric, may be 0. `u_T`: tangential
    velocity without friction [m/s], shape (k,). `r_N`: normal impulse [N s], `mu`: friction [-], both >= 0;
    `epsilon` [N s], > 0.
    """
    exact = friction_program(W_TT, u_T, r_N, mu).problem  # also checks the arguments
    r_N, mu, epsilon = (
        float(flat(name, value, 1)[0]) for name, value in (("r_N", r_N), ("mu", mu), ("epsilon", epsilon))
    )
    W, u, limit, m = exact.P.toarray(), exact.c, r_N * mu, exact.size
    least = float(np.linalg.eigvalsh(W)[0]) if m else 0.0
    if least < -1e-10 * np.abs(W).max(initial=0.0):
        raise ProblemError(f"W_TT is not positive semidefinite: its smallest eigenvalue is {least:.3g}")
    if not (np.isfinite(epsilon) and epsilon > 0.0):
        raise ProblemError(f"epsilon is {epsilon}; it must be finite and positive")
    reach = limit or 1.0
    slip = max(float(np.abs(u).max(initial=0.0)), reach * float(np.abs(W).max(initial=0.0))) or 1.0
    A, c, e = W * (reach / slip), u / slip, epsilon / reach

    def residual(z: Array) -> Array:
        y, sigma = z[:m], z[m]
        size = np.sqrt(y @ y + e * e)
        return np.append(A @ y + c + sigma * y / size, 1.0 + e - size)

    def jacobian(z: Array) -> Array:
        y, sigma = z[:m], z[m]
        size = np.sqrt(y @ y + e * e)
        J = np.zeros((m + 1, m + 1))
        J[:m, :m] = A + sigma * (np.eye(m) / size - np.outer(y, y) / size**3)
        J[:m, m] = y / size
        J[m, :m] = -y / size
        return J

    # Without normal impulse b = 0 and no multiplier exists, because the gradient vanishes there.
    free = np.full(m, np.inf if limit > 0.0 else 0.0)
    upper = np.append(free, np.inf if limit > 0.0 else 0.0)
    names = (*(f"friction {i}" for i in range(m)), "sliding speed")
    problem = NonlinearProblem(
        residual, jacobian, np.append(-free, 0.0), upper, names, title="friction of one contact"
    )

    def recover(z: Array) -> Friction:
        b = reach * np.asarray(z)[:m]
        return Friction(b, float(np.linalg.norm(W @ b + u)))

    return SmoothedFriction(problem, recover)
