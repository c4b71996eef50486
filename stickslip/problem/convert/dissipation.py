"""The friction impulse of one contact under a given normal impulse: maximum dissipation as a cone program.

    min ½ b'W b + u'b   over   |b| <= mu r_N

is the kinetic energy after the impulse b, less that before; with W = 0 it is the power u·b of friction
against a given velocity (Moreau 1974). At the minimum the slip velocity u + W b is zero, or it points against
b, which is then at its limit; the multiplier of the limit is the slip speed |u + W b|.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.problem.checks import Array, ProblemError, finite, flat, floats
from stickslip.problem.convert.cone_programs import symmetric_part
from stickslip.problem.program import ConeProgram


class Friction(NamedTuple):
    """The friction of one contact."""

    b: Array
    """Friction impulse [N s], shape (k,)."""
    speed: float
    """Slip speed: the multiplier of |b| <= mu r_N [m/s]; 0 when it sticks."""


@dataclass(frozen=True)
class FrictionConversion:
    """The cone program of one contact's friction, and the way back."""

    problem: ConeProgram
    """The program; its unknown is b."""
    recover: Callable[[Array, Array], Friction]
    """From x and multipliers y of the program to the friction impulse and the slip speed."""


def friction_program(W_TT: ArrayLike, u_T: ArrayLike, r_N: float, mu: float) -> FrictionConversion:
    """The friction that leaves the least kinetic energy.

    `W_TT`: tangential part of W of the contact [1/kg], shape (k, k), symmetric, may be 0. `u_T`: tangential
    velocity without friction [m/s], shape (k,). `r_N`: normal impulse [N s], `mu`: friction [-], both >= 0.
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
    if limit == 0.0:  # without room inside, the cone would be a badly posed way to say b = 0
        program = ConeProgram(P, u, sp.eye_array(k, format="csr"), np.zeros(k), zero=k)
        return FrictionConversion(program, lambda x, y: Friction(np.zeros(k), float(np.linalg.norm(y))))
    A = sp.eye_array(k + 1, k, k=-1, format="csr")  # (mu r_N, b)
    side = np.concatenate([[limit], np.zeros(k)])
    program = ConeProgram(P, u, A, side, second_order=np.array([k + 1]))
    return FrictionConversion(program, lambda x, y: Friction(flat("x", x, k), float(y[0])))
