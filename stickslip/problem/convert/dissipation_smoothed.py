"""Maximal dissipation of one contact by itself, with the smoothed norm, as a complementarity problem.

    min ½ b'W b + u'b   subject to   √(b'b + ε²) - ε <= mu r_N

is what friction b does against the velocity u when the normal impulse r_N is held. The norm itself has no
derivative at b = 0, the smoothed one has it everywhere. With the multiplier sigma,

    W b + u + sigma b / √(b'b + ε²) = 0,      0 <= sigma ⟂ mu r_N + ε - √(b'b + ε²) >= 0.

Where it slides |b|² = (mu r_N)² + 2 mu r_N ε, so that |b| = mu r_N + ε to first order; where it sticks
inside the limit b is the exact one.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, flat
from stickslip.problem.convert.dissipation import Friction, friction_program
from stickslip.problem.nonlinear import NonlinearProblem


@dataclass(frozen=True)
class SmoothedFriction:
    """The friction of one contact as a NonlinearProblem, and the way back."""

    problem: NonlinearProblem
    """Unknowns b / (mu r_N) and sigma in units of the free velocity."""
    recover: Callable[[Array], Friction]
    """From z to the friction impulse and the slip speed |W b + u|."""


def friction_mcp(W_TT: ArrayLike, u_T: ArrayLike, r_N: float, mu: float, epsilon: float) -> SmoothedFriction:
    """The friction of one contact whose normal impulse is held, with the norm √(b'b + ε²) - ε.

    `W_TT`: tangential part of W of the contact [1/kg], shape (k, k), symmetric, may be 0. `u_T`: tangential
    velocity without friction [m/s], shape (k,). `r_N`: normal impulse [N s], `mu`: friction [-], both >= 0;
    `epsilon` [N s], > 0.
    """
    exact = friction_program(W_TT, u_T, r_N, mu).problem  # which checks what both have in common
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

    # Without normal impulse b = 0 is all there is, and no multiplier holds it: the gradient vanishes there.
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
