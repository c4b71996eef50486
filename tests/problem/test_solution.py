"""A Solution prints as a short table and knows the state of every contact."""

import numpy as np
import pytest
from closed_forms import KNOWN

from stickslip import ContactProblem, coulomb, solve
from stickslip.problem import interval, nonnegative, relay, rolling, torsional
from stickslip.problem.states import contact_states


def states(problem, r):
    return contact_states(problem, np.asarray(r, float), problem.velocity(r), 1e-10)


def test_the_five_cases_of_a_rolling_contact():
    """Nguyen 2021, 1.2.3: sticking, separating, sliding, rolling, sliding and rolling."""
    K, W = rolling([0.5] * 5, [0.2] * 5), np.eye(25)
    r = np.zeros((5, 5))
    u = np.zeros((5, 5))
    r[0] = [2.0, 0.3, 0.0, 0.1, 0.0]
    u[1] = [1.0, 0.2, 0.0, 0.3, 0.0]
    r[2], u[2] = [2.0, 1.0, 0.0, 0.1, 0.0], [0, -0.5, 0, 0, 0]
    r[3], u[3] = [2.0, 0.3, 0.0, 0.4, 0.0], [0, 0, 0, -0.7, 0]
    r[4], u[4] = [2.0, 1.0, 0.0, 0.0, 0.4], [0, -0.5, 0, 0, -0.7]
    problem = ContactProblem(W, (u - r).reshape(-1), K)
    found = states(problem, r.reshape(-1))
    assert found.name == ("sticking", "separating", "sliding", "rolling", "sliding and rolling")
    assert found.strict.all()


def test_contacts_on_the_border_are_flagged():
    K = coulomb([0.5] * 5)
    r, u = np.zeros((5, 3)), np.zeros((5, 3))
    r[0] = [1.0, 0.5, 0.0]  # sticks at the limit of its cone
    r[1] = [1.0, 0.1, 0.0]  # sticks inside
    u[3] = [0.0, 1.0, 0.0]  # touches without force
    u[4] = [1.0, 0.0, 0.0]  # leaves
    problem = ContactProblem(np.eye(15), (u - r).reshape(-1), K)
    found = states(problem, r.reshape(-1))
    assert found.name == ("sticking", "sticking", "separating", "separating", "separating")
    assert found.strict.tolist() == [False, True, False, False, True]
    assert found.summary() == "3 separating, 2 sticking (3 not strictly complementary)"
    assert len(found) == 5


def test_names_of_the_other_blocks():
    K = nonnegative(3) + interval([-1.0] * 3, [1.0] * 3) + torsional([0.5], [0.1])
    r = np.array([1.0, 0.0, 0.0, -1.0, 0.0, 1.0, 1.0, 0.0, 0.0, -0.1])
    u = np.array([0.0, 1.0, 0.0, 2.0, 0.0, -2.0, 0.0, 0.0, 0.0, 3.0])
    found = states(ContactProblem(np.eye(10), u - r, K), r)
    assert found.name == (
        *("touching", "separating", "separating"),
        *("at lower bound", "inside bounds", "at upper bound", "spinning"),
    )
    assert found.strict.tolist() == [True, True, False, True, True, True, True]


def test_a_large_problem_judges_each_contact_by_its_own_size():
    """Many contacts that carry do not hide the small ones."""
    nc = 2000
    K = coulomb(np.full(nc, 0.5))
    r = np.zeros((nc, 3))
    r[:, 0] = 1.0
    r[0] = [1e-3, 0.0, 0.0]
    problem = ContactProblem(_identity(3 * nc), -r.reshape(-1), K)
    found = contact_states(problem, r.reshape(-1), np.zeros(3 * nc), 1e-6)
    assert found.count() == {"sticking": nc}


def _identity(n):
    import scipy.sparse as sp

    return sp.eye_array(n, format="csr")


def test_a_solution_prints_as_a_short_table():
    text = repr(solve(KNOWN["slide"].problem, tolerance=1e-10))
    lines = text.splitlines()
    assert lines[0] == "auto: SOLVED (residual below tolerance)"
    assert any("natural_scaled" in line for line in lines)
    assert lines[-1].split() == ["contacts", "1", "slipping"]
    assert len(lines) <= 9
    assert max(map(len, lines)) <= 120


def test_a_failed_solution_says_why():
    problem = ContactProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], coulomb([0.5]))
    text = repr(solve(problem, "nsgs"))
    assert text.splitlines()[0].startswith("nsgs: STALLED (a whole sweep changed nothing")
    assert repr(solve(problem)).splitlines()[0].startswith("auto: INFEASIBLE (certificate accepted")


def test_box_solutions_print_too():
    solution = solve(relay(np.diag([2.0, 2.0]), [1.0, 6.0]))
    assert solution.states.name == ("inside bounds", "at lower bound")
    assert "BoxProblem(box, 2 unknowns" in repr(solution)


def test_by_contact_views():
    solution = solve(KNOWN["table with four legs"].problem)
    assert solution.contact_impulses.shape == (4, 3)
    assert solution.contact_velocities.shape == (4, 3)
    with pytest.raises(ValueError, match="different sizes"):
        solve(ContactProblem(np.eye(4), np.zeros(4), nonnegative(1) + coulomb([0.5]))).contact_impulses  # noqa: B018
