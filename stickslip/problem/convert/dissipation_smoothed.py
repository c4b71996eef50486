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
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, finite, flat, floats
from stickslip.problem.nonlinear import NonlinearProblem


class Friction(NamedTuple):
    """Friction of one contact."""

    b: Array
    """Tangential impulse [N s], shape (m,)."""
    speed: float
    """Sliding speed |W b + u| [m/s]."""


@dataclass(frozen=True)
class DissipationConversion:
    """The friction of one contact as a NonlinearProblem, and the way back."""

    problem: NonlinearProblem
    """Unknowns b / (mu r_N) and sigma in units of the free velocity."""
    recover: Callable[[Array], Friction]
    """From z to the friction and the sliding speed."""


def smoothed_dissipation(W: ArrayLike, u: ArrayLike, limit: float, epsilon: float) -> DissipationConversion:
    """The friction of one contact whose normal impulse is held, with the norm √(b'b + ε²) - ε.

    `W` [1/kg] (m, m), symmetric, positive semidefinite; `u` [m/s] (m,), the tangential velocity with
    b = 0; `limit` = mu r_N [N s], >= 0; `epsilon` [N s], > 0.
    """
    u = flat("u", u, np.size(u))
    m = u.size
    W = floats("W", W, (m, m))
    finite("u", u)
    finite("W", W)
    if np.abs(W - W.T).max(initial=0.0) > 1e-10 * np.abs(W).max(initial=0.0):
        raise ProblemError("W is not symmetric: dissipation is a quadratic form of a symmetric W")
    if m and np.linalg.eigvalsh(W)[0] < -1e-10 * np.abs(W).max():
        raise ProblemError(
            f"W is not positive semidefinite: its smallest eigenvalue is {np.linalg.eigvalsh(W)[0]:.3g}"
        )
    if not (np.isfinite(limit) and limit >= 0.0):
        raise ProblemError(f"limit is {limit}; mu r_N must be finite and not negative")
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

    return DissipationConversion(problem, recover)
