"""The equations of motion as a complementarity problem: known answers solve it, and its units are its own."""

import numpy as np
import pytest
from closed_forms import KNOWN

import stickslip as ss
from stickslip.problem.convert import motion, motion_mcp, rescale

LAWS, FORMS = ("exact", "relaxed"), ("product", "direction")
CONTACTS = {name: known for name, known in KNOWN.items() if not isinstance(known.problem, ss.BoxProblem)}


@pytest.mark.parametrize("case", [name for name, known in CONTACTS.items() if known.r is not None])
def test_what_is_known_solves_the_equations(case):
    """Opening, sticking, sliding, rolling, spinning, bilateral and bounded: no case lacks a solution."""
    known = CONTACTS[case]
    conversion = motion_mcp(known.problem)
    z = conversion.guess(known.r).copy()
    if getattr(known.problem, "G", None) is not None:  # a guess in r says nothing of the joints
        z = ss.solve(conversion.problem, "mcp", guess=z, tolerance=1e-13).or_raise().r
    assert ss.judge(conversion.problem, z).natural <= 1e-12
    np.testing.assert_allclose(conversion.recover(z).r, known.r, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("dense", [300, 0])
def test_the_jacobian_is_that_of_the_residual(law, form, dense, monkeypatch):
    monkeypatch.setattr(motion, "DENSE", dense)
    rng = np.random.default_rng(7)
    for case, known in CONTACTS.items():
        problem = motion_mcp(known.problem, law, form=form).problem
        assert problem.check_jacobian(rng.normal(size=problem.size)).error < 1e-8, case


@pytest.mark.parametrize("form", FORMS)
def test_impulses_go_there_and_back(form):
    rng = np.random.default_rng(5)
    for case, known in CONTACTS.items():
        r = known.problem.K.project(rng.normal(size=known.problem.size))
        conversion = motion_mcp(known.problem, form=form)
        answer = conversion.recover(conversion.guess(r))
        np.testing.assert_allclose(answer.r, r, atol=1e-12, err_msg=case)
        if answer.v is not None:
            momentum = known.problem.f + known.problem.pushed(r, np.zeros(known.problem.g_bias.size))
            np.testing.assert_allclose(known.problem.M.multiply(answer.v), momentum, atol=1e-12, err_msg=case)


@pytest.mark.parametrize("form", FORMS)
def test_other_units_are_the_same_numbers(form):
    """Grams and millimetres: the residual at the same state does not know them."""
    rng = np.random.default_rng(11)
    for case in ("sliding and rolling", "coupled slip", "table with four legs"):
        problem = CONTACTS[case].problem
        other = rescale(problem, impulse=1e-6, velocity=1e-3, length=1e-3)
        r = problem.K.project(rng.normal(size=problem.size))
        one, two = motion_mcp(problem, form=form), motion_mcp(other.problem, form=form)
        np.testing.assert_allclose(
            one.problem.value(one.guess(r)),
            two.problem.value(two.guess(other.guess(r))),
            atol=1e-10,
            err_msg=case,
        )


def test_an_open_contact_that_moves_aside_has_a_solution():
    """The usual stationarity u_T + 2 beta r_T = 0 has none: r_T = 0 and u_T is not."""
    problem = ss.ContactProblem(np.eye(3), [0.5, -1.0, 2.0], ss.coulomb([0.7]))
    for form in FORMS:
        conversion = motion_mcp(problem, form=form)
        solution = ss.solve(conversion.problem, "mcp", tolerance=1e-13).or_raise()
        assert not conversion.recover(solution.r).r.any()


def test_smoothing_vanishes_at_first_order_and_not_at_all_where_nothing_slides():
    slides, sticks = KNOWN["coupled slip"].problem, KNOWN["stick"].problem
    exact = ss.solve(slides, "mcp", law="relaxed", tolerance=1e-13).r
    errors = []
    for smoothing in (1e-2, 1e-3, 1e-4):
        conversion = motion_mcp(slides, "relaxed", smoothing)
        z = ss.solve(conversion.problem, "mcp", tolerance=1e-13).or_raise().r
        errors.append(np.abs(conversion.recover(z).r - exact).max())
    np.testing.assert_allclose(np.array(errors[:-1]) / errors[1:], 10.0, rtol=0.2)
    conversion = motion_mcp(sticks, "relaxed", 1e-2)
    z = ss.solve(conversion.problem, "mcp", tolerance=1e-13).or_raise().r
    np.testing.assert_allclose(conversion.recover(z).r, KNOWN["stick"].r, atol=1e-12)


def test_bad_choices_are_named():
    problem = KNOWN["stick"].problem
    with pytest.raises(ss.ProblemError, match='law is \'coulomb\', expected "exact" or "relaxed"'):
        motion_mcp(problem, "coulomb")
    with pytest.raises(ss.ProblemError, match='form is \'polar\', expected "product" or "direction"'):
        motion_mcp(problem, form="polar")
    with pytest.raises(ss.ProblemError, match="smoothing is -1"):
        motion_mcp(problem, smoothing=-1.0)
    with pytest.raises(ss.ProblemError, match="need contacts; this is a BoxProblem"):
        motion_mcp(KNOWN["lcp"].problem)
