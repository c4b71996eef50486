"""`ss.solve` of cone programs: optima in closed form, judged by the judge of programs, whoever found them."""

import numpy as np
import pytest
from random_problems import bodies_in_a_row

import stickslip as ss
from stickslip.problem import (
    ConeProgram,
    ProgramSolution,
    dual_program,
    friction_program,
    judge_program,
    primal_program,
)
from stickslip.problem.convert import lcp_to_qp, reduce_to_contacts, symmetric_lcp_to_qp
from stickslip.solvers import registry

G, SLOPE, MU = 9.81, np.radians(25.0), 0.3
CONES = [
    name for name in ("auto", "clarabel", "scs", "qoco", "ecos", "ipopt") if registry.entry(name).installed
]
ROWS = [
    *CONES,
    *(name for name in ("piqp", "proxqp") if registry.entry(name).installed),
    "lemke",
    "newton-min",
]


def sliding() -> ss.ContactProblem:
    """1 kg on a slope that it slides down, as forces."""
    return ss.ContactProblem(np.eye(3), [-G * np.cos(SLOPE), G * np.sin(SLOPE), 0.0], ss.coulomb([MU]))


def solved(program: ConeProgram, name: str) -> ProgramSolution:
    tolerance = 1e-5 if name == "ecos" else 1e-8
    found = ss.solve(program, name, tolerance=tolerance)
    assert isinstance(found, ProgramSolution)
    assert found.ok, found
    assert judge_program(program, found.x, found.y).error == found.residuals.error <= tolerance
    np.testing.assert_allclose(found.s, program.A @ found.x + program.b)
    return found


@pytest.mark.parametrize("name", CONES)
def test_the_dual_program_of_a_slide_is_the_relaxation_in_closed_form(name):
    """N = (g cos + mu g sin) / (1 + mu²), on the border of the cone."""
    conversion = dual_program(sliding())
    found = solved(conversion.problem, name)
    N = (G * np.cos(SLOPE) + MU * G * np.sin(SLOPE)) / (1.0 + MU**2)
    np.testing.assert_allclose(conversion.recover(found.x, found.y).r, [N, -MU * N, 0.0], atol=2e-5)


def test_primal_and_dual_have_one_value_and_one_answer():
    whole = bodies_in_a_row(ss.coulomb([0.3, 0.4, 0.2]), count=3)
    reduced = reduce_to_contacts(whole)
    primal, dual = primal_program(whole), dual_program(reduced.problem)
    v, r = ss.solve(primal.problem).or_raise(), ss.solve(dual.problem).or_raise()
    back = primal.recover(v.x, v.y)
    np.testing.assert_allclose(back.v, reduced.recover(dual.recover(r.x, r.y).r).v, atol=1e-7)
    f = whole.f
    assert v.objective + r.objective == pytest.approx(-0.5 * f @ whole.M.solve(f), abs=1e-6)


@pytest.mark.parametrize(("u", "speed"), [([1.0, 0.0], 0.7), ([0.2, 0.1], 0.0)])
def test_the_friction_of_one_contact_dissipates_most(u, speed):
    """W = 1: it takes mu r_N from the slip, or all of it."""
    conversion = friction_program(np.eye(2), u, 1.0, MU)
    found = ss.solve(conversion.problem, tolerance=1e-9).or_raise()
    friction = conversion.recover(found.x, found.y)
    assert friction.speed == pytest.approx(speed, abs=1e-7)
    np.testing.assert_allclose(friction.b, -np.array(u) * min(1.0, MU / np.hypot(*u)), atol=1e-7)


@pytest.mark.parametrize("convert", [lcp_to_qp, symmetric_lcp_to_qp])
@pytest.mark.parametrize("name", ROWS)
def test_quadratic_programs_of_an_lcp_have_its_solution(name, convert):
    lcp = ss.problem.lcp([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]], [1.0, -2.0, 0.5])
    found = solved(convert(lcp).problem, name)
    atol = 1e-4 if name == "ecos" else 1e-7
    np.testing.assert_allclose(found.x, [0.125, 1.25, 0.375], atol=atol)
    value = 0.0 if convert is lcp_to_qp else 0.5 * lcp.b @ found.x
    assert found.objective == pytest.approx(value, abs=atol)


def test_programs_with_equations_go_through_pivots():
    """min ½|x|² with x_1 + x_2 = 2 and x_1 >= 1.5."""
    program = ConeProgram(np.eye(2), [0.0, 0.0], [[1.0, 1.0], [1.0, 0.0]], [-2.0, -1.5], 1, 1)
    for name in ("lemke", "clarabel"):
        found = solved(program, name)
        np.testing.assert_allclose(found.x, [1.5, 0.5], atol=1e-8)
        np.testing.assert_allclose(found.y, [0.5, 1.0], atol=1e-8)


NO_INSIDE = ConeProgram(np.eye(1), [0.0], [[1.0], [-1.0]], [-1.0, 0.0], nonnegative=2)
NO_BOUND = ConeProgram(np.zeros((1, 1)), [-1.0], [[1.0]], [0.0], nonnegative=1)


@pytest.mark.parametrize("name", ["clarabel", "scs", "qoco"])
@pytest.mark.parametrize(("program", "words"), [(NO_INSIDE, "no x meets"), (NO_BOUND, "unbounded below")])
def test_programs_without_an_optimum_are_infeasible_where_it_is_proved(name, program, words):
    if not registry.entry(name).installed:
        pytest.skip(registry.entry(name).availability)
    found = ss.solve(program, name)
    assert found.status is ss.Status.INFEASIBLE
    assert words in found.reason
    with pytest.raises(ss.SolverFailure, match=words):
        found.or_raise()


def test_an_answer_that_the_judge_refuses_is_not_solved():
    found = ss.solve(dual_program(sliding()).problem, "scs", tolerance=1e-12, max_iterations=3)
    assert not found.ok
    assert found.residuals.error > 1e-12
    with pytest.raises(ss.SolverFailure, match="tolerance 1e-12"):
        found.or_raise()


def test_what_does_not_take_a_program_says_who_does():
    conversion = dual_program(sliding())
    with pytest.raises(
        ss.ProblemError, match=r"nsgs does not take a ConeProgram; those that do: auto, clarabel"
    ):
        ss.solve(conversion.problem, "nsgs")
    with pytest.raises(ss.ProblemError, match="lemke takes programs with linear rows"):
        ss.solve(conversion.problem, "lemke")
    with pytest.raises(TypeError, match=r"solve\(conversion.problem\)"):
        ss.solve(conversion)
