"""Solvers of others: formulations, laws, pyramids, units, what they cannot take, and what is not there."""

import importlib.util
from functools import partial

import numpy as np
import pytest
from closed_forms import KNOWN, G
from recorded import FOLDER, needs_recorded

import stickslip as ss
from stickslip.extras import MissingPackage
from stickslip.problem.convert import reduce_to_contacts, rescale
from stickslip.scenes.rigid import incline
from stickslip.solvers import external, registry
from stickslip.solvers.programs import ProgramAnswer

CONES = ("clarabel", "scs", "qoco", "ecos", "ipopt")
ROWS = ("piqp", "proxqp")
NAMES = [
    pytest.param(name, marks=pytest.mark.skipif(not registry.entry(name).installed, reason=f"no {name} here"))
    for name in CONES + ROWS
]
"""Those that need no licence."""
EXTERNAL = [name for name in registry.names() if registry.entry(name).package]

SLOPE, MU, H = np.deg2rad(25.0), 0.3, 1e-3
N_EXACT = G * np.cos(SLOPE)
N_RELAXED = G * (np.cos(SLOPE) + MU * np.sin(SLOPE)) / (1.0 + MU**2)
"""What slides also lifts under the relaxation: u_N = mu |u_T| (Anitescu & Hart 2004)."""
GLOBAL = [case for case, known in KNOWN.items() if isinstance(known.problem, ss.GlobalProblem)]
JAMMED = ss.ContactProblem([[1.0, -1.0], [-1.0, 1.0]], [-1.0, -1.0], ss.problem.nonnegative(2))
SLIDE = KNOWN["slide"].problem


def forces(solution, h=H):
    """Normal and tangential force on the box [N]."""
    normal, *tangential = solution.contact_impulses.sum(axis=0) / h
    return normal, float(np.linalg.norm(tangential))


def test_the_numbers_of_the_slope():
    assert pytest.approx(8.890879391, abs=1e-9) == N_EXACT
    assert pytest.approx(9.2978, abs=1e-4) == N_RELAXED


@pytest.mark.parametrize("formulation", ["dual", "primal"])
@pytest.mark.parametrize("name", NAMES)
def test_the_sliding_box_under_both_laws(name, formulation):
    reach = registry.entry(name).reach
    make = partial(registry.make, name, tolerance=reach, formulation=formulation)
    problem = incline(angle=25.0, mu=MU, h=H)
    exact = make().solve(problem).or_raise()
    assert forces(exact) == pytest.approx((N_EXACT, MU * N_EXACT), rel=10.0 * reach)
    relaxed = make(law="relaxed").solve(problem)
    assert relaxed.status is ss.Status.RELAXED
    assert forces(relaxed) == pytest.approx((N_RELAXED, MU * N_RELAXED), rel=10.0 * reach)
    assert len(relaxed.history) <= len(exact.history)


@pytest.mark.parametrize("case", GLOBAL)
@pytest.mark.parametrize("name", NAMES)
def test_velocities_as_unknowns_give_the_known_answers(name, case):
    known, reach = KNOWN[case], registry.entry(name).reach
    solution = registry.make(name, tolerance=reach, formulation="primal").solve(known.problem).or_raise()
    assert ss.judge(known.problem, solution.r, solution.v, solution.lam).solved(reach)
    np.testing.assert_allclose(solution.u, known.u, atol=100.0 * reach)
    if known.r is not None:
        np.testing.assert_allclose(solution.r, known.r, atol=100.0 * reach)
    again = registry.make(name, tolerance=reach, formulation="primal").solve(known.problem, guess=solution.r)
    assert again.ok
    assert again.iterations <= solution.iterations


@pytest.mark.parametrize("name", CONES)
def test_the_rolling_sphere_under_the_relaxation(name):
    """Nguyen 2021, 1.3.7: r_N = g + mu_R |w| with |w| = (M - mu_R g) / (I + mu_R²)."""
    if not registry.entry(name).installed:
        pytest.skip(registry.entry(name).availability)
    solution = registry.make(name, tolerance=1e-6, law="relaxed").solve(KNOWN["rolling sphere"].problem)
    speed = (np.sqrt(2.0) - 0.1 * G) / (0.4 + 0.1**2)
    assert solution.status is ss.Status.RELAXED
    assert solution.r[0] == pytest.approx(G + 0.1 * speed, rel=1e-5)


def test_more_facets_come_nearer_to_the_cone():
    """An inscribed polygon of m corners misses the disk by at most 1 - cos(pi / m)."""
    known, errors = KNOWN["anisotropic slip"], []
    for facets in (4, 5, 8, 16, 63):
        solution = registry.make("clarabel", tolerance=1e-8, facets=facets).solve(known.problem)
        assert solution.status is ss.Status.APPROXIMATE
        assert f"pyramids of {facets} facets" in solution.reason
        errors.append(solution.residuals.error)
        normal, *tangential = solution.r
        share = float(np.linalg.norm(tangential)) / (0.5 * normal)
        assert np.cos(np.pi / facets) - 1e-6 <= share <= 1.0 + 1e-6
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 1e-2


@pytest.mark.parametrize("name", ROWS)
def test_solvers_of_linear_rows_say_that_the_cones_need_facets(name):
    if not registry.entry(name).installed:
        pytest.skip(registry.entry(name).availability)
    solver = registry.make(name, facets=0)
    with pytest.raises(ss.ProblemError, match=f"{name} takes linear rows only.*facets of 3 or more"):
        solver.solve(SLIDE)
    assert solver.solve(KNOWN["slide 2D"].problem).ok, "the cones of 2D friction are linear rows"


@pytest.mark.parametrize("name", ["clarabel", "lemke"])
@pytest.mark.parametrize("facets", [1, 2])
def test_a_pyramid_has_three_facets_or_more(name, facets):
    with pytest.raises(ValueError, match=f"facets must be 0, or 3 or more, got {facets}"):
        registry.make(name, facets=facets)


@pytest.mark.parametrize("name", CONES + ROWS)
def test_units_of_the_problem_change_nothing(name):
    """A step of 1e-5 s, and the same problem in millimetres and tonnes: the loop does the same."""
    if not registry.entry(name).installed:
        pytest.skip(registry.entry(name).availability)
    solver = registry.make(name, tolerance=1e-6)
    long, short = (solver.solve(incline(angle=25.0, mu=MU, h=h)).or_raise() for h in (1e-2, 1e-5))
    assert forces(short, 1e-5) == pytest.approx(forces(long, 1e-2), rel=1e-5)
    conversion = rescale(reduce_to_contacts(incline(angle=25.0, mu=MU, h=1e-3)).problem, 1e-3, 1e4)
    assert solver.solve(conversion.problem).or_raise()


@pytest.mark.parametrize(
    ("name", "formulation"),
    [("clarabel", "primal"), ("scs", "dual"), ("qoco", "dual"), ("ecos", "primal"), ("ecos", "dual")],
)
def test_impulses_that_are_not_scaled_cost_digits(name, formulation):
    """At h = 1e-5 s absolute tolerances see little of impulses of 1e-4 N s."""
    if not registry.entry(name).installed:
        pytest.skip(registry.entry(name).availability)
    errors = []
    for scale in (True, False):
        solver = registry.make(name, tolerance=1e-7, formulation=formulation, scale=scale)
        errors.append(solver.solve(incline(angle=25.0, mu=MU, h=1e-5)).residuals.error)
    assert errors[0] <= 1e-7
    assert errors[1] >= 10.0 * errors[0], f"{errors[1]:.1e} without units of its own"


@pytest.mark.parametrize("formulation", ["dual", "primal"])
@pytest.mark.parametrize("name", NAMES)
def test_no_solution_is_proved_and_never_a_number(name, formulation):
    walls = ss.GlobalProblem([[1.0]], [0.0], [[1.0, -1.0]], [-1.0, -1.0], ss.problem.nonnegative(2))
    problem = walls if formulation == "primal" else JAMMED
    solution = registry.make(name, formulation=formulation).solve(problem)
    assert solution.status is ss.Status.INFEASIBLE
    assert ss.problem.check_certificate(problem, solution.certificate).accepted


@pytest.mark.parametrize("name", NAMES)
def test_hard_inputs_end_in_a_status(name):
    make = partial(registry.make, name)
    row = np.array([1.0, 2.0, 3.0])
    assert make(max_iterations=1).solve(KNOWN["coupled slip"].problem).status is ss.Status.MAX_ITERATIONS
    assert make(outer=2, tolerance=1e-6).solve(SLIDE).status is ss.Status.MAX_ITERATIONS
    assert make().solve(ss.ContactProblem(np.eye(3), np.zeros(3), ss.coulomb([0.5]))).ok
    assert make(tolerance=1e-6).solve(ss.ContactProblem(np.eye(3), [-1.0, 1.0, 0.0], ss.coulomb([0.0]))).ok
    assert make(tolerance=1e-6).solve(ss.ContactProblem(np.outer(row, row), row, ss.problem.free(3))).ok
    assert make().solve(ss.ContactProblem(np.zeros((3, 3)), [1.0, 0.0, 0.0], ss.coulomb([0.5]))).ok
    for problem in (
        ss.ContactProblem(np.outer(row, row), [1.0, 0.0, 0.0], ss.problem.free(3)),
        ss.ContactProblem(np.zeros((3, 3)), [-1.0, 0.0, 0.0], ss.coulomb([0.5])),
    ):
        assert make().solve(problem).status is ss.Status.INFEASIBLE
    huge = ss.ContactProblem(1e140 * np.eye(3), [-1e140, 1.0, 0.0], ss.coulomb([0.5]))
    assert make().solve(huge).status is ss.Status.NOT_FINITE


def test_velocities_as_unknowns_need_a_global_problem():
    solver = registry.make("clarabel", formulation="primal")
    for problem in (SLIDE, KNOWN["lcp"].problem):
        with pytest.raises(ss.ProblemError, match='clarabel: formulation="primal" needs a GlobalProblem'):
            solver.solve(problem)


def test_a_matrix_that_is_not_symmetric_is_refused():
    for problem in (
        ss.problem.lcp([[2.0, 1.0], [-1.0, 2.0]], [-1.0, -1.0]),
        ss.ContactProblem(
            [[2.0, 1.0, 0.0], [-1.0, 2.0, 0.0], [0.0, 0.0, 1.0]], [-1, 1, 0], ss.coulomb([0.5])
        ),
    ):
        with pytest.raises(ss.ProblemError, match=r"clarabel: W is unsymmetric.*needs a symmetric W"):
            registry.make("clarabel").solve(problem)
    if registry.entry("scs").installed:
        with pytest.raises(ss.ProblemError, match="scs takes convex programs only"):
            registry.make("scs").solve(ss.problem.lcp([[1.0, 3.0], [3.0, 1.0]], [-1.0, -1.0]))


def test_a_slightly_unsymmetric_matrix_is_solved_as_it_is():
    """The program has its symmetric part; what is left is held with the shift."""
    known = KNOWN["coupled slip"]
    W = known.problem.W.dense() + 1e-3 * np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
    problem = ss.ContactProblem(W, known.u - W @ known.r, known.problem.K)
    solution = registry.make("clarabel", tolerance=1e-8).solve(problem).or_raise()
    np.testing.assert_allclose(solution.r, known.r, atol=1e-6)
    relaxed = registry.make("clarabel", tolerance=1e-8, law="relaxed").solve(problem)
    assert relaxed.status is ss.Status.RELAXED


def test_what_a_solver_says_is_kept_where_nothing_is_proved(monkeypatch):
    """An adapter that takes a solvable problem for unbounded, and one that gives NaN."""

    def answering(status, value):
        def run(program, tolerance, max_iterations):
            return ProgramAnswer(
                np.full(program.size, value), np.zeros(program.rows), status, 3, "DualInfeasible"
            )

        return lambda self: run

    monkeypatch.setattr(external.Clarabel, "_adapter", answering(ss.Status.INFEASIBLE, 1.0))
    solution = registry.make("clarabel").solve(SLIDE)
    assert solution.status is ss.Status.STALLED
    assert solution.reason == "clarabel says: DualInfeasible"
    assert solution.iterations == 3
    monkeypatch.setattr(external.Clarabel, "_adapter", answering(ss.Status.NOT_FINITE, np.nan))
    solution = registry.make("clarabel").solve(SLIDE)
    assert solution.status is ss.Status.NOT_FINITE
    assert np.isfinite(solution.r).all()


@pytest.mark.parametrize("name", EXTERNAL)
def test_a_missing_package_is_one_sentence(name, monkeypatch):
    entry, find = registry.entry(name), importlib.util.find_spec
    monkeypatch.setattr(registry, "find_spec", lambda n: None if n == entry.package else find(n))
    with pytest.raises(MissingPackage) as caught:
        registry.make(name).solve(SLIDE)
    sentence = (
        f"{name} needs the package {entry.package}, which is not installed; install it with: pip install"
    )
    assert str(caught.value).startswith(sentence)
    assert "\n" not in str(caught.value)
    assert entry.availability.startswith("not installed: pip install")


def test_what_was_done_is_in_the_solution():
    solution = registry.make("clarabel", tolerance=1e-8).solve(SLIDE).or_raise()
    assert [stage.solver for stage in solution.tried] == ["clarabel"]
    assert solution.tried[0].iterations == solution.iterations == solution.history[-1, 0]
    assert solution.history[-1, 1:].max() <= 1e-8
    contraction = solution.history[-1, 2] / solution.history[-2, 2]
    assert contraction == pytest.approx(0.5**2 / (1.0 + 0.5**2), abs=0.01), "mu² / (1 + mu²)"


@needs_recorded
@pytest.mark.parametrize(
    "place", ["friction/Rover1039.dat", "friction/GFC3D_TwoRods1.dat", "rolling/Chute-ndof-768-nc-4-3.hdf5"]
)
@pytest.mark.parametrize("name", ["clarabel", "scs", "qoco", "ecos"])
def test_recorded_problems(name, place):
    if not registry.entry(name).installed:
        pytest.skip(registry.entry(name).availability)
    problem = ss.read(FOLDER / place)
    assert registry.make(name, tolerance=1e-6).solve(problem).or_raise()


@needs_recorded
@pytest.mark.parametrize("law", ["exact", "relaxed"])
def test_an_unsymmetric_mass_matrix_is_held_in_the_loop(law):
    """Light bodies of the chute have M as unsymmetric as it is large; equilibrium is with M as given."""
    problem = ss.read(FOLDER / "rolling/Chute-ndof-768-nc-4-3.hdf5")
    solution = ss.solve(problem, "clarabel", formulation="primal", law=law, tolerance=1e-6)
    assert solution.status is (ss.Status.SOLVED if law == "exact" else ss.Status.RELAXED)
    assert solution.residuals.equilibrium <= 1e-6
