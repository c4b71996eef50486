"""First-order methods on the exact law: they agree, in any units, and end properly on hard inputs."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problem.convert import reduce_to_contacts, rescale
from stickslip.scenes import make as scene
from stickslip.solvers import registry

EXACT = ("fixed-point", "extragradient", "admm", "s-loop", "tresca")
RELAXED = ("apgd", "bb")
METHODS = EXACT + RELAXED
INNER = ("apgd", "bb", "nsgs", "admm")

SLOPE = np.radians(25.0)
BOX = ss.ContactProblem(np.eye(3), [-9.81 * np.cos(SLOPE), 9.81 * np.sin(SLOPE), 0.0], ss.coulomb([0.3]))
N_EXACT, N_RELAXED = 8.890879391, 9.81 * (np.cos(SLOPE) + 0.3 * np.sin(SLOPE)) / (1 + 0.3**2)
"""N of Coulomb's law and of its relaxation, 9.2978, at 25 degrees, mu = 0.3."""


def random_problem(seed, K=None):
    rng = np.random.default_rng(seed)
    K = ss.coulomb(rng.uniform(0.0, 1.0, 6)) if K is None else K
    A = rng.normal(size=(K.size, K.size))
    return ss.ContactProblem(A @ A.T / K.size + 0.2 * np.eye(K.size), rng.normal(size=K.size), K)


def mixed(seed):
    K = (
        ss.coulomb([0.3, 0.6])
        + ss.problem.nonnegative(2)
        + ss.problem.free(3)
        + ss.problem.interval([-0.2], [0.3])
    )
    return random_problem(
        seed, K + ss.problem.rolling([0.2], [0.1]) + ss.problem.torsional([0.5], [0.1]) + ss.coulomb([0.4], 2)
    )


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("make", [random_problem, mixed], ids=["coulomb", "mixed"])
def test_exact_methods_agree_with_gauss_seidel(name, make):
    for seed in range(6):
        problem = make(seed)
        reference = ss.solve(problem, "nsgs", tolerance=1e-12).or_raise()
        solution = ss.solve(problem, name, tolerance=1e-11).or_raise()
        np.testing.assert_allclose(solution.u, reference.u, atol=1e-8, err_msg=f"seed {seed}")


def test_relaxed_methods_agree_with_each_other():
    for seed in range(6):
        answers = [ss.solve(mixed(seed), name, tolerance=1e-11) for name in RELAXED]
        assert all(s.status.name == "RELAXED" for s in answers)
        np.testing.assert_allclose(answers[0].u, answers[1].u, atol=1e-8)


@pytest.mark.parametrize("name", METHODS)
def test_units_change_nothing(name):
    """Grams and millimetres: the same path, the same number of iterations."""
    for problem in (random_problem(3), mixed(4)):
        first = ss.solve(problem, name, tolerance=1e-9)
        for impulse, velocity, length in ((1e-3, 1.0, 1.0), (1e5, 1e-3, 1e-3), (2.0**-9, 2.0**11, 0.25)):
            other = rescale(problem, impulse, velocity, length)
            again = ss.solve(other.problem, name, tolerance=1e-9)
            back = other.recover(again.r).r
            np.testing.assert_allclose(back, first.r, atol=1e-6 * np.abs(first.r).max())
            limited = [
                registry.make(name, tolerance=1e-15, max_iterations=7).solve(p, guess=None).history[-1, 2]
                for p in (problem, other.problem)
            ]
            assert limited[1] == pytest.approx(limited[0], rel=1e-6, abs=1e-15)


@pytest.mark.parametrize("inner", INNER)
def test_the_s_loop_contracts_as_it_should(inner):
    """One block on a slope: by mu²/(1 + mu²) = 0.0826 each time, to N = 9.81 cos 25."""
    solution = ss.solve(BOX, "s-loop", inner=inner, tolerance=1e-11, accuracy=1e-4).or_raise()
    assert solution.r[0] == pytest.approx(N_EXACT, abs=1e-9)
    assert solution.r[1] == pytest.approx(-0.3 * N_EXACT, abs=1e-9)
    errors = solution.history[2:7, 1]
    np.testing.assert_allclose(errors[1:] / errors[:-1], 0.3**2 / (1 + 0.3**2), rtol=2e-2)


@pytest.mark.parametrize("inner", INNER)
def test_tresca_finds_the_same_block(inner):
    solution = ss.solve(BOX, "tresca", inner=inner, tolerance=1e-11).or_raise()
    assert solution.r[0] == pytest.approx(N_EXACT, abs=1e-9)
    assert solution.u[0] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("name", RELAXED)
def test_the_relaxation_is_called_relaxed(name):
    solution = ss.solve(BOX, name, tolerance=1e-10)
    assert solution.status is ss.Status.RELAXED
    assert not solution.ok
    assert solution.r[0] == pytest.approx(N_RELAXED, abs=1e-9)
    assert solution.u[0] == pytest.approx(0.3 * np.hypot(*solution.u[1:]), abs=1e-9)
    assert "convex relaxation" in repr(solution)
    exact, relaxed = ss.judge(BOX, solution.r), ss.judge(BOX, solution.r, relaxed=True)
    assert f"{relaxed.error:.2e}" in solution.reason
    assert f"{exact.error:.2e}" in solution.reason
    assert relaxed.error <= 1e-10 < 1e-2 < exact.error
    with pytest.raises(ss.SolverFailure, match="relaxed after"):
        solution.or_raise()


@pytest.mark.parametrize("name", RELAXED)
def test_the_relaxation_of_a_global_problem_is_judged_there(name):
    sliding, sticking = scene("incline-problem", mu=0.3), scene("incline-problem", mu=0.6)
    solution = ss.solve(sliding, name)
    assert solution.status is ss.Status.RELAXED
    assert ss.judge(sliding, solution.r, solution.v, solution.lam, relaxed=True).solved(1e-8)
    assert ss.solve(sticking, name).ok, "where nothing slides the relaxation is Coulomb's law"


@pytest.mark.parametrize("name", METHODS)
def test_matrix_free_problems_take_the_same_path(name):
    problem = scene("packing-problem", spheres=6)
    bodies = reduce_to_contacts(problem).problem
    blocks = ss.ContactProblem(bodies.W.blocks(bodies.K), bodies.u_free, bodies.K)
    answers = [registry.make(name, tolerance=1e-6, max_iterations=3).solve(p) for p in (bodies, blocks)]
    np.testing.assert_allclose(answers[0].r, answers[1].r, atol=1e-9 * np.abs(answers[0].r).max())
    solution = ss.solve(problem, name, tolerance=1e-6)
    assert solution.status.name in ("SOLVED", "RELAXED")


def test_admm_in_impulses_and_in_velocities_is_one_method():
    problem = scene("packing-problem", spheres=8)
    answers = [
        ss.solve(problem, "admm", form=form, tolerance=1e-9) for form in ("bodies", "delassus", "auto")
    ]
    assert all(s.ok for s in answers)
    assert len({s.iterations for s in answers}) == 1
    np.testing.assert_allclose(answers[0].v, answers[1].v, atol=1e-7 * np.abs(answers[0].v).max())
    with pytest.raises(
        ss.ProblemError, match=r"admm: form='bodies' needs a matrix-free problem.*DenseDelassus"
    ):
        ss.solve(BOX, "admm", form="bodies")


def test_admm_on_a_sparse_matrix(monkeypatch):
    from stickslip.solvers import factors

    problem = reduce_to_contacts(scene("packing-problem", spheres=8)).problem
    blocks = ss.ContactProblem(problem.W.blocks(problem.K), problem.u_free, problem.K)
    dense = ss.solve(blocks, "admm", tolerance=1e-9).or_raise()
    monkeypatch.setattr(factors, "DENSE", 0)
    sparse = ss.solve(blocks, "admm", tolerance=1e-9).or_raise()
    assert sparse.iterations == dense.iterations
    np.testing.assert_allclose(sparse.r, dense.r, atol=1e-9 * np.abs(dense.r).max())


@pytest.mark.parametrize("name", METHODS)
def test_hard_inputs_end_properly(name):
    empty = ss.solve(ss.ContactProblem(np.zeros((0, 0)), [], ss.coulomb([])), name)
    assert empty.ok
    assert empty.iterations == 0
    fixed = ss.ContactProblem(
        np.diag([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]), [-1.0, 0.1, 0.0, 0.2, 0.0, 0.0], ss.coulomb([0.5] * 2)
    )
    assert ss.solve(fixed, name).ok, "a contact between fixed bodies that does not close"
    closing = ss.ContactProblem(np.zeros((3, 3)), [-1.0, 0.1, 0.0], ss.coulomb([0.5]))
    limited = registry.make(name, max_iterations=200).solve(closing)
    assert limited.status.name in ("STALLED", "MAX_ITERATIONS", "NOT_FINITE"), "impulses without bound"
    for scale in (1e160, 1e-163):
        far = ss.ContactProblem(np.eye(3), [-scale, scale, 0.0], ss.coulomb([0.5]))
        assert ss.solve(far, name).status.name == "NOT_FINITE"
    near = ss.ContactProblem(np.eye(3) + 0.1, [-1e100, 0.1e100, 0.0], ss.coulomb([0.5]))
    assert ss.solve(near, name, tolerance=1e-10).ok


@pytest.mark.parametrize(
    ("name", "inner"),
    [(name, "") for name in METHODS[:3] + RELAXED] + [(n, i) for n in ("s-loop", "tresca") for i in INNER],
)
def test_indefinite_and_unsymmetric_matrices_never_loop_for_ever(name, inner):
    rng = np.random.default_rng(5)
    K, options = ss.coulomb(np.full(5, 0.7)), {"max_iterations": 60}
    if inner:
        options |= {"inner": inner, "inner_iterations": 100}
    for A in (rng.normal(size=(15, 15)), -np.eye(15), np.eye(15) + 1e-3 * rng.normal(size=(15, 15))):
        solution = registry.make(name, **options).solve(ss.ContactProblem(A, rng.normal(size=15), K))
        assert solution.status.name in ("SOLVED", "RELAXED", "STALLED", "MAX_ITERATIONS", "NOT_FINITE")
        assert solution.iterations <= 60
        assert np.isfinite(solution.r).all()


@pytest.mark.parametrize(
    ("name", "option", "value", "range"),
    [
        ("fixed-point", "largest", 1.0, r"\(0, 1\)"),
        ("extragradient", "relaxation", 2.0, r"\(0, 2\)"),
        ("extragradient", "correction", "korpelevich", "he-liao, khobotov"),
        ("bb", "memory", 0, r"\[1, 1000\]"),
        ("admm", "over_relaxation", 2.0, r"\(0, 2\)"),
        ("admm", "rho", 0.0, r"\[0\.0001, 10000\]"),
        ("admm", "balance", 1.0, r"\(1, inf\)"),
        ("s-loop", "inner", "newton", "apgd, bb, nsgs, admm"),
        ("tresca", "damping", 0.0, r"\(0, 1\]"),
        ("tresca", "accuracy", 1.0, r"\(0, 1\)"),
    ],
)
def test_absurd_options_are_refused_by_name(name, option, value, range):
    with pytest.raises(ValueError, match=rf"{option} must .*{range}"):
        registry.make(name, **{option: value})


def test_a_step_that_can_never_grow_is_refused():
    with pytest.raises(ValueError, match=r"smallest must be below largest \(0.5\), got 0.6"):
        registry.make("fixed-point", largest=0.5, smallest=0.6)


def test_progress_is_told_and_a_limit_is_kept():
    told = []
    problem = random_problem(1)
    for name in METHODS:
        solution = registry.make(name, tolerance=1e-15, max_iterations=5).solve(
            problem, progress=lambda done, error: told.append((done, error))
        )
        assert solution.iterations <= 5
        assert solution.status.name in ("MAX_ITERATIONS", "STALLED")
    assert told


@pytest.mark.parametrize("correction", ["he-liao", "khobotov"])
def test_both_corrections_of_the_extragradient_method(correction):
    solution = ss.solve(random_problem(2), "extragradient", correction=correction, tolerance=1e-10)
    assert solution.ok
