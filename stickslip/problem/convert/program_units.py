"""Dimensionless form of a cone program, for solvers with absolute tolerances.

Impulses of one step are proportional to the step: at h = 1e-5 s a solver that stops at 1e-8 has computed two
of their digits. With x = X x', s = S s' and energies in units of E,

    P' = X P X / E,   c' = X c / E,   A' = S⁻¹ A X,   b' = S⁻¹ b,   y = E S⁻¹ y',

and one factor of S for each cone, P' has a unit diagonal, c' is at most 1, and rows of A' have entries up to
1.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from stickslip.problem.checks import Array
from stickslip.problem.program import ConeProgram

WIDEST = 1e6
"""Largest ratio of two units of x computed from P; softer unknowns get the mean unit of the others."""


@dataclass(frozen=True)
class ProgramUnits:
    """Units for a program, also with other b and c."""

    x: Array
    """Unit of each unknown [unit of x], shape (n,)."""
    rows: Array
    """Unit of each row of A x + b, the same over a cone [unit of s], shape (m,)."""
    energy: float
    """Unit of the objective [J]."""

    def scaled(self, program: ConeProgram) -> ConeProgram:
        """Return `program` in these units."""
        X, S = sp.diags_array(self.x), sp.diags_array(1.0 / self.rows)
        return program.with_(
            P=sp.csr_array(X @ program.P @ X) / self.energy,
            c=self.x * program.c / self.energy,
            A=sp.csr_array(S @ program.A @ X),
            b=program.b / self.rows,
        )

    def back(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Return unknowns and multipliers in the units of the original."""
        with np.errstate(all="ignore"):  # the judge handles overflow
            return self.x * x, self.energy / self.rows * y

    def extent(self, x: Array, y: Array) -> float:
        """Return the size of a solution in these units, which should be of order one."""
        with np.errstate(all="ignore"):
            return float(
                np.abs(x / self.x).max(initial=0.0) + np.abs(y * self.rows / self.energy).max(initial=0.0)
            )


def program_units(program: ConeProgram) -> ProgramUnits:
    """Return units in which the solution of `program` is of order one, estimated from P, c and b."""
    diagonal = np.abs(program.P.diagonal())
    size = float(diagonal.max(initial=0.0))
    known = diagonal > size / WIDEST**2
    middle = float(np.exp(np.log(diagonal[known]).mean())) if known.any() else 1.0
    x = 1.0 / np.sqrt(np.where(known, diagonal, middle))
    reach = float(np.abs(x * program.c).max(initial=0.0))
    A = sp.csr_array(program.A @ sp.diags_array(x))
    largest = abs(A).max(axis=1).toarray().reshape(-1) if A.nnz else np.zeros(program.rows)
    if not 0.0 < reach < np.inf:  # no load: the scale of x follows from the rows
        active = largest > 0.0
        reach = float(np.abs(program.b[active] / largest[active]).max(initial=0.0))
    if not 0.0 < reach < np.inf:
        reach = 1.0
    rows = reach * np.where(largest > 0.0, largest, 1.0)
    first = program.zero + program.nonnegative
    if program.second_order.size:
        start = program.cone_start
        rows[first:] = np.repeat(np.maximum.reduceat(rows[first:], start[:-1] - first), program.second_order)
    return ProgramUnits(reach * x, rows, reach**2)
