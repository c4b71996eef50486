"""Second-order cones as smooth inequalities, for solvers of nonlinear programs.

    qcp:  s_0² - |s_rest|² >= 0,  s_0 >= 0
    nlp:  s_0 - (√(|s_rest|² + eps²) - eps) >= 0

At s = 0 the gradient of the first vanishes: where the optimum is there, no multiplier of that row exists.
The second has a gradient everywhere, and describes a cone that is larger by at most eps.
"""

from itertools import pairwise

import numpy as np

from stickslip.names import alternatives
from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram

FORMS = ("qcp", "nlp")
"""How a cone is written down."""

SMOOTHING = 0.1
"""eps of the NLP form over the tolerance asked for."""


FIRST_SMOOTHING = 1e-2
"""eps of the NLP form to begin with [unit of s], numbers of order one."""


def smoothings(tolerance: float) -> list[float]:
    """eps of the NLP form, step by step [unit of s]: begun with the last, solvers do not arrive."""
    last, steps = SMOOTHING * tolerance, []
    eps = FIRST_SMOOTHING
    while eps > last:
        steps.append(eps)
        eps /= 100.0
    return [*steps, last]


def check_form(form: str) -> None:
    """ValueError unless `form` is one of `FORMS`."""
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; {alternatives(form, FORMS, 'expected one of')}")


def inside(program: ConeProgram) -> Array:
    """A start s inside the cones: b, lifted where it is not [unit of s], shape (m,)."""
    s = np.array(program.b)
    s[: program.zero] = 0.0
    plain = slice(program.zero, program.zero + program.nonnegative)
    s[plain] = np.maximum(s[plain], 1.0)
    for first, last in pairwise(program.cone_start.tolist()):
        s[first] = max(s[first], 1.0 + float(np.linalg.norm(s[first + 1 : last])))
    return s
