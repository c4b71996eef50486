"""A small residual beside heavy bodies may leave light ones closing: that is no proof of anything."""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss


def light_under_heavy(ratio: float) -> ss.GlobalProblem:
    """A light sphere on the floor under a heavy one, both falling; normal impulses only matter."""
    masses = (1.0, ratio)
    M = [[masses[k // 3] if k == j else 0.0 for j in range(6)] for k in range(6)]
    # Normal up: the light one on the floor, the heavy one on the light one.
    H = [[0.0] * 6 for _ in range(6)]
    for contact, (upper, lower) in enumerate(((0, None), (1, 0))):
        for component, axis in enumerate((2, 0, 1)):
            H[3 * upper + axis][3 * contact + component] = 1.0
            if lower is not None:
                H[3 * lower + axis][3 * contact + component] = -1.0
    f = [0.0, 0.0, -masses[0], 0.0, 0.0, -masses[1]]
    return ss.GlobalProblem(M=M, f=f, H=H, K=ss.coulomb([0.5, 0.5], dimension=3), u_bias=[0.0] * 6)


def forms() -> dict[str, ss.GlobalProblem | ss.ContactProblem]:
    """The same problem with M and H, and with W held in two ways."""
    given = light_under_heavy(1e5)
    local = ss.problem.reduce_to_contacts(given).problem
    W = local.W.dense()
    return {
        "global": given,
        "dense": ss.ContactProblem(W, local.u_free, local.K),
        "blocks": ss.ContactProblem(sp.csr_array(W), local.u_free, local.K),
    }


@pytest.mark.parametrize("solver", ["auto", "prox"])
@pytest.mark.parametrize("form", ["global", "dense", "blocks"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_they_are_solved(solver, form, tolerance):
    solution = ss.solve(forms()[form], solver, tolerance=tolerance)
    assert solution.ok, solution.reason
    assert solution.residuals.approach <= 0.1
    # Both are stopped: the floor bears all of the momentum.
    assert solution.contact_impulses[:, 0] == pytest.approx([1e5 + 1.0, 1e5], rel=0.1)
    assert np.all(np.diff(solution.history[:, 0]) >= 0)


@pytest.mark.parametrize("form", ["global", "dense", "blocks"])
def test_where_they_are_not_nobody_says_that_there_is_no_solution(form):
    solution = ss.solve(forms()[form], "prox", tolerance=1e-2)
    assert solution.ok or "need a smaller tolerance" in solution.reason
