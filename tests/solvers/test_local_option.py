"""Gauss-Seidel with another one-contact solver: the same sweeps, the same answer."""

import numpy as np
import pytest
from closed_forms import KNOWN
from recorded import FOLDER, needs_recorded

from stickslip import GlobalProblem, coulomb, read, solve
from stickslip.problem import contact_blocks
from stickslip.solvers.gauss_seidel import NSGS

OTHERS = ("projection", "newton", "quartic", "enumeration")


@pytest.mark.parametrize("case", KNOWN)
@pytest.mark.parametrize("local", OTHERS)
def test_known_problems(local, case):
    known = KNOWN[case]
    solution = NSGS(local=local, tolerance=1e-12).solve(known.problem).or_raise()
    if known.u is not None:
        np.testing.assert_allclose(solution.u, known.u, atol=1e-10)
    if known.r is not None:
        np.testing.assert_allclose(solution.r, known.r, atol=1e-10)


@needs_recorded
@pytest.mark.parametrize("name", ["Confeti-ex03-Fc3D-SBM.dat", "fc2d_granularflowonwall_00667_00000.dat"])
@pytest.mark.parametrize("local", OTHERS)
def test_recorded_problems_take_as_many_sweeps(local, name):
    problem = read(FOLDER / "friction" / name)
    exact = solve(problem, "nsgs", tolerance=1e-9)
    solution = solve(problem, "nsgs", tolerance=1e-9, local=local).or_raise()
    assert solution.iterations == exact.iterations
    np.testing.assert_allclose(solution.u, exact.u, atol=1e-9 * np.abs(exact.u).max())


def test_bodies_are_swept_by_the_exact_solver_only():
    K = coulomb([0.5])
    rows = np.stack([np.eye(3, 6), np.zeros((3, 6))], axis=1)
    H = contact_blocks([[0, -1]], rows, K)
    problem = GlobalProblem(np.eye(6)[None], [-1.0, 0.2, 0, 0, 0, 0], H, np.zeros(3), K)
    assert solve(problem, "nsgs", local="quartic").or_raise().r == pytest.approx([1.0, -0.2, 0.0])
    with pytest.raises(ValueError, match="form='bodies' has local='exact' only"):
        solve(problem, "nsgs", local="newton", form="bodies")
