"""Solve the contact problem of a file, and check the solution by hand.

Purpose: read a problem and certify its solution. `python solve_a_file.py problem.hdf5` solves your FCLIB
file; without one, a packing of 200 spheres is written first. The solution is then compared with Coulomb's law
in plain NumPy: |r_T| <= mu r_N, u_N >= 0, r_N u_N = 0, and maximum dissipation: -r_T·u_T = mu r_N |u_T|.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import stickslip as ss
from stickslip import scenes


def main(path=None):
    """Solution of the problem in the file."""
    with tempfile.TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "packing.hdf5"
            ss.write(path, scenes.make("packing-problem", spheres=200, velocity=0.1))
        return ss.solve(ss.read(path), tolerance=1e-10)


def by_hand(solution):
    """Residual of each condition of the law, for r and u divided by their largest components."""
    problem = solution.problem
    if isinstance(problem, ss.GlobalProblem):  # M v = f + H r: eliminate v
        problem = ss.problem.reduce_to_contacts(problem).problem
    mu = problem.K.friction()
    r, u = problem.K.rows(solution.r), problem.K.rows(problem.velocity(solution.r))
    r, u = r / np.abs(r).max(), u / np.abs(problem.u_free).max()
    r_t, u_t = np.linalg.norm(r[:, 1:], axis=1), np.linalg.norm(u[:, 1:], axis=1)
    power = (r[:, 1:] * u[:, 1:]).sum(axis=1)
    return {
        "outside the cone": float(np.max(r_t - mu * r[:, 0])),
        "closing": float(np.max(-u[:, 0])),
        "normal work": float(np.abs(r[:, 0] * u[:, 0]).max()),
        "friction work missing": float(np.abs(power + mu * r[:, 0] * u_t).max()),
    }


def check(solution):
    """The judge accepts the solution, and the conditions of the law hold."""
    assert solution.ok
    assert max(by_hand(solution).values()) < 1e-8


if __name__ == "__main__":
    files = [argument for argument in sys.argv[1:] if not Path(argument).is_dir()]
    answer = main(*files[:1])
    print(answer)
    law = {} if isinstance(answer.problem, ss.BoxProblem) else answer.problem.K.census
    if law and set(law) <= {"coulomb2d", "coulomb3d"}:
        print("by hand:", ", ".join(f"{name} {value:.1e}" for name, value in by_hand(answer).items()))
    if not files:
        check(answer)
