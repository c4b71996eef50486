"""The hard problems on the solvers that are asked to try them: solved, or an honest status.

A solver enters with a line in `MISSED`: the solvable problems that it does not bring to 1e-10.
"""

from functools import cache

import numpy as np
import pytest
from all_modes import modes_with_an_answer
from hard_problems import HARD

from stickslip import ContactProblem, judge
from stickslip.problem import check_certificate
from stickslip.problem.convert import reduce_to_contacts
from stickslip.solvers import prove_existence as existence
from stickslip.solvers import registry
from stickslip.solvers.infeasibility import find_certificate

MISSED = {
    "nsgs": {
        "column of alternating masses, 1 and 1e6",
        "heaviest on top, 1 to 1e6",
        "slab of 1e6 on four blocks of 1",
        "stack of 20",
        "stack of 100",
        "stack of 100, pushed",
        "stack of 100, sliding",
        "mu 0 and 5, made to measure, many",
        "wedge nearly jammed",
    },
    "auto": set(),
}
"""By solver, what it is known not to solve; a problem that it solves after all must leave the list."""
CERTIFIES = {"auto"}
"""Solvers that look for certificates: a problem that has one must end INFEASIBLE."""
OPTIONS = {"nsgs": {"max_iterations": 2000}}

SOLVABLE = [case for case, hard in HARD.items() if hard.solvable]
UNSOLVABLE = [case for case, hard in HARD.items() if not hard.solvable]
IN_THE_PLANE = [case for case, hard in HARD.items() if hard.problem.K.dimension in (1, 2)]


@cache
def solution_of(solver, case):
    return registry.make(solver, tolerance=1e-10, **OPTIONS.get(solver, {})).solve(HARD[case].problem)


def local(problem):
    return problem if isinstance(problem, ContactProblem) else reduce_to_contacts(problem).problem


def near(given, wanted, accuracy, scale):
    np.testing.assert_allclose(
        given, wanted, rtol=0, atol=accuracy * max(scale, np.abs(wanted).max(initial=0.0))
    )


@pytest.mark.parametrize("case", SOLVABLE)
@pytest.mark.parametrize("solver", MISSED)
def test_solvable_problems_are_solved_or_honestly_missed(solver, case):
    hard, solution = HARD[case], solution_of(solver, case)
    if case in MISSED[solver]:
        assert solution.status.name in ("STALLED", "MAX_ITERATIONS"), "better than listed: update the list"
        return
    assert solution.ok, solution
    again = judge(hard.problem, solution.r, solution.v, solution.lam)
    assert again.natural <= 1e-10
    assert again.natural_scaled <= 1e-10
    problem = local(hard.problem)
    speed = float(np.abs(problem.u_free).max(initial=0.0))
    if hard.r is not None:
        near(solution.r, hard.r, hard.accuracy, 0.0)
    if hard.u is not None:
        near(solution.u, hard.u, hard.accuracy, speed)
    if hard.balance is not None:
        A, b = hard.balance
        near(A @ solution.r, b, hard.accuracy, 0.0)


@pytest.mark.parametrize("case", UNSOLVABLE)
@pytest.mark.parametrize("solver", MISSED)
def test_unsolvable_problems_are_never_called_solved(solver, case):
    hard, solution = HARD[case], solution_of(solver, case)
    if solution.status.name == "INFEASIBLE":
        assert check_certificate(hard.problem, solution.certificate).accepted
        return
    assert solution.status.name in ("STALLED", "MAX_ITERATIONS")
    assert solution.certificate is None
    if solver in CERTIFIES:
        assert hard.certificate is None, "there is a certificate, and it was not found"


@pytest.mark.parametrize("case", SOLVABLE)
def test_the_answers_that_are_stated_solve_the_problem(case):
    hard = HARD[case]
    answers = hard.answers if hard.r is None else (*hard.answers, hard.r)
    for r in answers:
        residuals = judge(hard.problem, r)
        assert residuals.solved(1e-12), residuals
        problem = local(hard.problem)
        if hard.u is not None:
            u = problem.velocity(r)
            near(u, hard.u, 1e-9, float(np.abs(problem.u_free).max(initial=0.0)))
        if hard.balance is not None:
            near(hard.balance[0] @ r, hard.balance[1], 1e-12, 0.0)


@pytest.mark.parametrize("case", IN_THE_PLANE)
def test_all_modes_of_contacts_in_the_plane(case):
    """The law is linear in each combination of modes: solvability and all answers by exhaustion."""
    hard = HARD[case]
    found = modes_with_an_answer(hard.problem)
    assert bool(found) == hard.solvable
    for _, r in found:
        assert judge(local(hard.problem), r).solved(1e-7)
    if hard.answers:
        assert len(found) == len(hard.answers)
        for (_, r), stated in zip(found, hard.answers, strict=True):
            np.testing.assert_allclose(r, stated, atol=1e-7)


@pytest.mark.parametrize("case", HARD)
def test_certificates_are_found_where_they_are_and_nowhere_else(case):
    hard = HARD[case]
    found = find_certificate(local(hard.problem))
    assert (found is not None) == (hard.certificate is not None)
    if hard.certificate is not None:
        assert check_certificate(hard.problem, hard.certificate).accepted
        assert check_certificate(local(hard.problem), found).accepted
        if not isinstance(hard.problem, ContactProblem):
            carried = reduce_to_contacts(hard.problem).certificate(found)
            assert check_certificate(hard.problem, carried).accepted


@pytest.mark.parametrize("case", HARD)
def test_existence_is_never_claimed_of_a_problem_without_solution(case):
    hard = HARD[case]
    found = existence(hard.problem)
    assert not found.holds or hard.solvable
    if not found.holds and "rod" not in case:
        assert found.self_stress is not None, "what is not shown here is not shown for a reason"
