"""Second-order cones as smooth inequalities, for solvers of nonlinear programs.

    qcp:  s_0² - |s_rest|² >= 0,  s_0 >= 0
    nlp:  s_0 - (√(|s_rest|² + eps²) - eps) >= 0

At s = 0 the gradient of the first vanishes, so no multiplier of that row exists if the optimum is there.
The second has a gradient everywhere, and describes a cone that is larger by at most eps.
"""

from itertools import pairwise

import numpy as np

from stickslip.names import alternatives
from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram

FORMS = ("qcp", "nlp")
"""Forms of a cone as inequalities."""

SMOOTHING = 0.1
"""Ratio of eps of the NLP form to the requested tolerance."""


FIRST_SMOOTHING = 1e-2
"""First eps of the NLP form [unit of s], for numbers of order one."""


def smoothings(tolerance: float) -> list[float]:
    """Return decreasing eps of the NLP form [unit of s]; solvers fail if they start at the last one."""
    last, steps = SMOOTHING * tolerance, []
    eps = FIRST_SMOOTHING
    while eps > last:
        steps.append(eps)
        eps /= 100.0
    return [*steps, last]


def check_form(form: str) -> None:
    """Raise a ValueError unless `form` is one of `FORMS`."""
    if form not in FORMS:
        raise ValueError(f"form is {form!r}; {alternatives(form, FORMS, 'expected one of')}")


def inside(program: ConeProgram) -> Array:
    """Return a start s inside the cones: b, lifted where it is outside [unit of s], shape (m,)."""
    s = np.array(program.b)
    s[: program.zero] = 0.0
    plain = slice(program.zero, program.zero + program.nonnegative)
    s[plain] = np.maximum(s[plain], 1.0)
    for first, last in pairwise(program.cone_start.tolist()):
        s[first] = max(s[first], 1.0 + float(np.linalg.norm(s[first + 1 : last])))
    return s
