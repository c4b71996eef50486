"""Formulations and their solvers at the limits: what has no answer is said, what is no number is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import stickslip as ss
from stickslip.problem.convert import box_to_lcp, friction_mcp, lcp_to_qp, qp_to_lcp
from stickslip.solvers import registry

EYE = np.eye(2)
COULOMB = ss.ContactProblem(np.eye(3), [-1.0, 0.2, 0.1], ss.coulomb([0.5]))


def usable(name):
    entry = registry.entry(name)
    return pytest.param(name, marks=pytest.mark.skipif(not entry.installed, reason=entry.availability))


# -- answers that are none ------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ["auto", "simple", "mehrotra", "nt-qp", "nt-f"])
def test_impulses_that_swallow_the_free_velocity_solve_nothing(algorithm):
    """u_1 + u_2 = -1/2 whatever the impulses; those of 1e24 make W r + u_free 0 in floating point."""
    W = np.array([[1.0, -1.0], [-1.0, 1.0]])
    problem = ss.ContactProblem(W, [-1.0, 0.5], ss.problem.nonnegative(2))
    assert not ss.solve(problem, "ipm", algorithm=algorithm).ok


@pytest.mark.parametrize("algorithm", ["simple", "mehrotra", "nt-qp", "nt-f"])
@pytest.mark.parametrize("dimension", [2, 3])
def test_closing_walls_are_never_solved(algorithm, dimension):
    eye = np.eye(dimension)
    first = np.zeros(dimension)
    first[0] = -1.0
    K = ss.coulomb([0.5, 0.5], dimension)
    walls = ss.GlobalProblem(
        eye, np.arange(dimension), np.hstack([eye, -eye]), np.concatenate([first, first]), K
    )
    assert not ss.solve(walls, "ipm", algorithm=algorithm).ok
    assert not ss.solve(ss.problem.reduce_to_contacts(walls).problem, "ipm", algorithm=algorithm).ok


@pytest.mark.parametrize("name", [usable(x) for x in ("clarabel", "scs", "qoco", "ecos", "ipopt")])
@pytest.mark.parametrize("ratio", [1e3, 1e8])
def test_light_bodies_keep_their_equilibrium_beside_heavy_ones(name, ratio):
    """A light body, hit by a heavy one: what is solved has the right velocities of both."""
    M, f = np.diag([ratio] * 3 + [1.0 / ratio] * 3), ratio * np.array([-1.0, 0.0, 2.0, 0.0, 0.0, 0.0])
    problem = ss.GlobalProblem(M, f, np.vstack([np.eye(3), -np.eye(3)]), np.zeros(3), ss.coulomb([0.5]))
    solution = ss.solve(problem, name, formulation="primal", tolerance=1e-7)
    if solution.ok:
        np.testing.assert_allclose(solution.v, ss.solve(problem, "prox", tolerance=1e-12).v, atol=1e-4)


def test_the_judge_sees_a_light_body_out_of_equilibrium():
    problem = ss.GlobalProblem(
        np.diag([1e8, 1e-8]), [-1e8, 0.0], [[1.0], [-1.0]], np.zeros(1), ss.problem.nonnegative(1)
    )
    assert ss.judge(problem, [0.0], [-1.0, -1.0]).equilibrium > 0.1
    assert ss.judge(problem, [1e-8], [-1.0, -1.0]).equilibrium < 1e-12


# -- programs -------------------------------------------------------------------------------------------


def test_the_judge_of_programs_takes_no_nan_for_zero():
    program = ss.problem.ConeProgram(EYE, [1.0, 1.0], EYE, [1.0, 1.0], nonnegative=2)
    for x, y in (([1.0, 1.0], [1.0, np.nan]), ([np.nan, 1.0], [1.0, 1.0]), ([np.inf, 1.0], [1.0, 1.0])):
        assert not ss.problem.judge_program(program, x, y).error <= 1.0
    cone = ss.problem.ConeProgram(
        EYE, [1.0, 1.0], np.vstack([EYE, EYE[:1]]), [1.0, 1.0, 1.0], second_order=[3]
    )
    for x in ([np.inf, 1.0], [1e200, 1e200], [np.nan, 0.0]):
        assert not ss.problem.judge_program(cone, x, [1.0, 1.0, 1.0]).error <= 1e-6


@pytest.mark.parametrize(
    "change",
    [
        {"P": None}, {"P": "a"}, {"P": np.ones((2, 2, 1))}, {"A": None}, {"A": np.ones((2, 2, 2))},
        {"second_order": [1.5, 0.5]}, {"second_order": [1.5, 1.5]}, {"second_order": ["a"]},
        {"second_order": None}, {"second_order": [np.nan]}, {"second_order": [np.inf]},
    ],
)  # fmt: skip
def test_programs_that_are_none_are_refused(change):
    given = {"P": EYE, "c": [1.0, 1.0], "A": EYE, "b": [1.0, 1.0], "second_order": [2]}
    with pytest.raises(ss.ProblemError):
        ss.problem.ConeProgram(**(given | change))


@pytest.mark.parametrize("convert", [ss.problem.dual_program, ss.problem.pyramid_lcp])
def test_pyramids_have_no_more_facets_than_fit(convert):
    with pytest.raises(ss.ProblemError, match="facets is 1000000000"):
        convert(COULOMB, 10**9)


@pytest.mark.parametrize("name", [usable(x) for x in ("scs", "piqp", "clarabel", "qoco", "ecos", "proxqp")])
@pytest.mark.parametrize("bound", [1e25, 1e300])
def test_solvers_of_others_print_nothing_about_wide_bounds(name, bound, capfd):
    wide = ss.ContactProblem(EYE, [-1.0, 0.2], ss.problem.interval([-bound] * 2, [bound] * 2))
    solution = ss.solve(wide, name)
    assert solution.ok or "use inf for a missing bound" in solution.reason
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", [usable("ecos")])
def test_equations_without_unknowns_are_no_error_of_the_solver(name):
    f, K, G = [-1.0, 2.0, 3.0], ss.coulomb([0.5]), np.zeros((3, 1))
    loose, wrong = (ss.GlobalProblem(np.eye(3), f, np.eye(3), np.zeros(3), K, G, [g]) for g in (0.0, 1.0))
    assert np.isfinite(ss.solve(loose, name, formulation="primal").r).all()
    with pytest.raises(ss.ProblemError, match="contradict each other"):
        ss.solve(wrong, name, formulation="primal")


# -- complementarity problems and nonlinear ones --------------------------------------------------------


def test_mcp_of_nothing_is_solved():
    assert ss.solve(ss.problem.lcp(sp.csr_array((0, 0)), []), "mcp").ok
    empty = ss.problem.NonlinearProblem(lambda z: z, lambda z: sp.csr_array((0, 0)), [], [])
    assert ss.solve(empty, "mcp").ok


@pytest.mark.parametrize(
    "jacobian", ["x", [[1.0], [1.0, 2.0]], 1j * EYE, sp.csr_array(1j * EYE), None, np.ones(2)]
)
def test_jacobians_that_are_none_are_refused(jacobian):
    problem = ss.problem.NonlinearProblem(lambda z: z - 1.0, lambda z: jacobian, [0.0, 0.0], [np.inf, np.inf])
    with pytest.raises(ss.ProblemError, match="Jacobian"):
        ss.solve(problem, "mcp")


@pytest.mark.parametrize("residual", ["x", [[1.0], [1.0, 2.0]], None, np.ones(3), 1j * np.ones(2)])
def test_residuals_that_are_none_are_refused(residual):
    problem = ss.problem.NonlinearProblem(lambda z: residual, lambda z: EYE, [0.0, 0.0], [np.inf, np.inf])
    with pytest.raises(ss.ProblemError, match="residual"):
        ss.solve(problem, "mcp")


@pytest.mark.parametrize("kind", [np.bool_, np.int64, np.float32])
def test_sparse_jacobians_of_other_numbers_are_taken(kind):
    problem = ss.problem.NonlinearProblem(
        lambda z: z - 1.0, lambda z: sp.csr_array(np.eye(2, dtype=kind)), [0.0, 0.0], [np.inf, np.inf]
    )
    np.testing.assert_allclose(ss.solve(problem, "mcp").or_raise().r, 1.0, atol=1e-7)


def test_conversions_refuse_what_they_cannot_take():
    for convert, problem in ((lcp_to_qp, None), (lcp_to_qp, COULOMB), (box_to_lcp, None)):
        with pytest.raises(ss.ProblemError, match="takes a BoxProblem"):
            convert(problem)
    for name, arguments in (
        ("P", (np.nan * EYE, [1, 1], EYE, [1, 1])), ("A", (EYE, [1, 1], np.nan * EYE, [1, 1])),
        ("c", (EYE, [1, np.inf], EYE, [1, 1])), ("b", (EYE, [1, 1], EYE, [1, np.nan])),
    ):  # fmt: skip
        with pytest.raises(ss.ProblemError, match=f"^{name} is not finite"):
            qp_to_lcp(*arguments)
    for convert, problem in (
        (box_to_lcp, ss.BoxProblem(1e300 * EYE, [1, 1], -1e300, 1e300)),
        (lcp_to_qp, ss.problem.lcp(1.7e308 * EYE, [1, 1])),
    ):
        with pytest.raises(ss.ProblemError, match="not finite"):
            convert(problem)
    for epsilon in ("a", None, [0.1, 0.2], np.nan, 0.0):
        with pytest.raises(ss.ProblemError, match="epsilon"):
            friction_mcp(EYE, [1.0, 1.0], 1.0, 0.5, epsilon)
    friction_mcp(EYE, [1.0, 1.0], np.array([1.0]), [0.5], 0.1)


def test_answers_of_the_wrong_size_are_refused_on_the_way_back():
    for conversion in (ss.problem.motion_mcp(COULOMB), ss.problem.pyramid_lcp(COULOMB)):
        with pytest.raises(ss.ProblemError, match="z has shape"):
            conversion.recover(np.zeros(1))
    with pytest.raises(ss.ProblemError, match="smoothing"):
        ss.problem.motion_mcp(COULOMB, "exact", "a")
    with pytest.raises(ss.ProblemError, match="G has shape"):
        ss.problem.velocity_step(
            np.eye(3),
            np.zeros(3),
            np.zeros(3),
            0.1,
            np.eye(3),
            ss.coulomb([0.5]),
            [0.0],
            G=np.ones(3),
            g=[1, 2],
        )


def test_states_of_velocities_beyond_all_squares_have_names():
    problem = ss.ContactProblem(np.eye(3), [-1e300, 3e300, 0.0], ss.coulomb([0.5]))
    assert not ss.solve(problem).ok
    assert "contacts" in repr(ss.solve(problem))


@pytest.mark.parametrize("name", ["newton-ac", "newton-jm", "newton-nm", "newton-fb"])
def test_newton_ends_where_the_shift_hides_a_closing_contact(name):
    """mu |u_T| beyond all numbers: the natural maps are 0 at rest, and the contact closes all the same."""
    problem = ss.ContactProblem(np.eye(3) + 0.1, [-1.0, 0.2, 0.1], ss.coulomb([1e300]))
    assert np.isfinite(ss.solve(problem, name, max_iterations=50).r).all()
