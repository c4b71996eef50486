"""The interior point on split cones: closed forms, other solvers, counts of Nguyen 2021, hard inputs."""

import numpy as np
import pytest

import stickslip as ss
from benchmarks.cone_trace import trace
from stickslip import Status, judge
from stickslip.kernels import cone_point as kernels
from stickslip.problem import free, friction, interval, nonnegative, rolling, torsional
from stickslip.scenes import make
from stickslip.scenes.packing import deposit
from stickslip.solvers import cone_motion, registry
from stickslip.solvers.cone_motion import motion
from stickslip.solvers.cone_point import ALGORITHMS, EXPONENTS, ConePoint
from stickslip.solvers.cone_split import split

G, MU_ROLL, INERTIA = 10.0, 0.01, 0.4
EXACT_LAWS = ("inside", "outer", "exact")


def sphere(local=False):
    """Nguyen 2021, 1.3.7, with R = 1 and M about the contact point."""
    M = np.diag([1.0, 1.0, 1.0, INERTIA, INERTIA, INERTIA])
    f = -np.array([0.0, 0.0, G, 1.0, 1.0, 1.0])
    H = np.zeros((6, 5))
    H[[2, 0, 1, 3, 4], range(5)] = 1.0
    K = ss.problem.rolling([0.5], [MU_ROLL])
    if local:
        Mi = np.linalg.inv(M)
        return ss.ContactProblem(H.T @ Mi @ H, H.T @ Mi @ f, K)
    return ss.GlobalProblem(M, f, H, np.zeros(5), K)


def mixed(seed=3):
    """Every kind of block in one problem."""
    rng = np.random.default_rng(seed)
    K = (
        ss.coulomb([0.3, 0.4]) + nonnegative(2) + free(3) + interval([-1.0, 0.2], [1.0, 0.2])
        + interval([-np.inf, -1.0], [0.5, np.inf]) + rolling([0.2, 0.5], [0.1, 0.02])
        + torsional([0.5], [0.1]) + ss.coulomb([0.4], 2) + friction((2, 1, 3), [[0.3, 0.2, 0.1]])
        + rolling([0.0, 0.3, 0.0], [0.1, 0.0, 0.0])
    )  # fmt: skip
    A = rng.normal(size=(K.size, K.size))
    return ss.ContactProblem(A @ A.T / K.size + 0.1 * np.eye(K.size), rng.normal(size=K.size), K)


def solve(problem, **options):
    return registry.make("ipm", **{"tolerance": 1e-10, **options}).solve(problem)


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_sphere_of_the_seed_relaxed(algorithm, local):
    solution = solve(sphere(local), algorithm=algorithm, law="relaxed", tolerance=1e-13)
    assert solution.status is Status.RELAXED
    speed = (np.sqrt(2.0) - MU_ROLL * G) / (INERTIA + MU_ROLL**2)
    assert speed == pytest.approx(3.28471273, abs=1e-8)
    np.testing.assert_allclose(np.linalg.norm(solution.u[3:]), speed, rtol=1e-12)
    np.testing.assert_allclose(solution.r[0], G + MU_ROLL * speed, rtol=1e-12)
    if not local:
        assert solution.v[5] == pytest.approx(-1.0 / INERTIA, rel=1e-12), "nothing resists spin"


@pytest.mark.parametrize("polish", [0, 40])
@pytest.mark.parametrize("law", EXACT_LAWS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_sphere_of_the_seed_under_the_exact_law(algorithm, law, polish):
    problem = sphere()
    solution = solve(problem, algorithm=algorithm, law=law, tolerance=1e-13, polish=polish).or_raise()
    speed = (np.sqrt(2.0) - MU_ROLL * G) / INERTIA
    np.testing.assert_allclose(np.linalg.norm(solution.u[3:]), speed, rtol=1e-12)
    np.testing.assert_allclose(solution.r[0], G, rtol=1e-12)
    np.testing.assert_allclose(solution.u[:3], 0.0, atol=1e-11)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("scene", ["mixed", "packing"])
def test_relaxed_answers_are_those_of_a_gradient_method(scene, algorithm):
    problem = mixed() if scene == "mixed" else make("packing-problem", spheres=6, mu_roll=1e-3, velocity=0.02)
    ours = solve(problem, algorithm=algorithm, law="relaxed", tolerance=1e-9)
    theirs = registry.make("bb", tolerance=1e-10).solve(problem)
    assert ours.status is theirs.status is Status.RELAXED
    assert judge(problem, ours.r, ours.v, ours.lam, relaxed=True).solved(1e-9)
    np.testing.assert_allclose(ours.u, theirs.u, atol=1e-6 * np.abs(theirs.u).max())


@pytest.mark.parametrize("law", EXACT_LAWS)
def test_exact_answers_are_those_of_another_method(law):
    problem = mixed()
    ours = solve(problem, algorithm="nt-f", law=law).or_raise()
    theirs = registry.make("prox", tolerance=1e-10).solve(problem).or_raise()
    np.testing.assert_allclose(ours.r, theirs.r, atol=1e-7 * np.abs(theirs.r).max())


@pytest.mark.parametrize("algorithm", ["nt-f", "mehrotra"])
def test_rolling_packings_are_solved_inside_without_polish(algorithm):
    problem = make("packing-problem", spheres=30, mu_roll=1e-3)
    solution = solve(problem, algorithm=algorithm, law="inside", polish=0, tolerance=1e-8).or_raise()
    assert solution.iterations <= 30


def test_the_default_takes_every_kind_of_block_and_keeps_the_shift_where_it_can():
    assert registry.entry("ipm").accepts.issuperset(mixed().K.census)
    assert solve(mixed()).ok
    plain = make("packing-problem", spheres=10)
    assert solve(plain).r.tobytes() == solve(plain, algorithm="shift").r.tobytes()
    with pytest.raises(
        ValueError, match=r"algorithm='shift' does not take rolling blocks; the others do: simple"
    ):
        solve(sphere(), algorithm="shift")
    with pytest.raises(ValueError, match="unsymmetric matrix"):
        solve(sphere(), algorithm="mehrotra", factor="ldl")
    with pytest.raises(ValueError, match="factor='cholesky' needs H as contact blocks"):
        solve(sphere(), algorithm="nt-f", factor="cholesky")


@pytest.mark.parametrize(("contacts", "most"), [(10, 13), (100, 18), (351, 20)])
def test_iterations_grow_little_with_the_number_of_contacts(contacts, most):
    """About 11, 15 and 17 in the problems of Nguyen 2021 with the right corrector; 46 to 58 without one."""
    problem = make("packing-problem", spheres=round(contacts / 2.77), mu_roll=1e-3, velocity=0.02)
    scaled = trace(problem, "nt-f", tolerance=1e-10)
    assert scaled.converged
    assert scaled.iterations <= most
    plain = trace(problem, "simple", tolerance=1e-10, measure="gap")
    assert plain.converged
    assert 25 <= plain.iterations <= 60


def test_every_factorisation_gives_the_same_steps():
    problem = make("packing-problem", spheres=20, mu_roll=1e-3, velocity=0.02)
    runs = [
        trace(problem, "nt-f", factor=f, tolerance=1e-30, max_iterations=6) for f in ("ldl", "lu", "cholesky")
    ]
    runs.append(trace(problem, "nt-qp", tolerance=1e-30, max_iterations=6))
    for run in runs[1:]:
        np.testing.assert_allclose(run.gap, runs[0].gap, rtol=1e-6)
    assert [run.reason for run in runs] == ["the iteration limit was reached"] * 4


def test_bodies_are_placed_by_their_contacts(monkeypatch):
    """H alone tells where the spheres are, the periods of the packing aside: elimination is cheaper so."""
    monkeypatch.setattr(cone_motion, "FEW", 10)
    packing = deposit(60)
    found = motion(make("packing-problem", spheres=60, mu_roll=1e-3)).positions
    pairs = packing.bodies[(packing.bodies >= 0).all(axis=1)]
    off = np.diff((found - packing.centre)[pairs], axis=1) / packing.width
    np.testing.assert_allclose(off, np.round(off), atol=1e-12)


def test_velocities_and_their_elimination_give_the_same_path():
    whole, local = (trace(sphere(x), "nt-f", tolerance=1e-12) for x in (False, True))
    np.testing.assert_allclose(whole.answer.r, local.answer.r, rtol=1e-9)
    assert local.dinfeas.max() == 0.0


def test_equal_steps_never_raise_the_infeasibilities():
    run = trace(make("packing-problem", spheres=40, mu_roll=1e-3, velocity=0.05), "nt-f")
    for error in (run.pinfeas, run.dinfeas):
        assert (np.diff(error) <= 1e-14).all()


def test_separate_steps_jump_as_the_right_formula_says():
    """dinfeas+ = (1 - alpha_D) dinfeas + (alpha_P - alpha_D) M dv (Nguyen 2021, 1.3.4, sign corrected)."""
    form = motion(make("packing-problem", spheres=2, mu_roll=1e-3, velocity=0.02))
    point = ConePoint(form, "mehrotra", separate=True)
    jumps = 0
    for _ in range(6):
        before, v = form.residuals(point.v, point.r)[0], point.v
        step = point.advance()
        after, dv = form.residuals(point.v, point.r)[0], (point.v - v) / step.alpha_p
        expected = (1.0 - step.alpha_d) * before + (step.alpha_p - step.alpha_d) * form.mass(dv)
        np.testing.assert_allclose(
            after, expected, atol=1e-12 * max(np.abs(before).max(), np.abs(form.f).max())
        )
        jumps += np.linalg.norm(after) > 1.001 * np.linalg.norm(before)
    assert jumps > 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_tolerance_below_rounding_ends_cleanly(algorithm):
    run = trace(make("packing-problem", spheres=10, mu_roll=1e-3), algorithm, tolerance=1e-17)
    assert run.reason or run.converged
    assert np.isfinite(run.gap).all()
    assert run.gap.min() < 1e-10
    assert run.iterations < 200
    assert run.total_seconds + run.compile_seconds >= run.factor_seconds > 0.0


def test_cholesky_says_where_it_ends_and_wide_blocks_fit():
    run = trace(
        make("packing-problem", spheres=20, mu_roll=1e-3, velocity=0.05),
        "nt-f",
        factor="cholesky",
        tolerance=1e-30,
    )
    assert not run.converged
    assert run.gap.min() < 1e-9
    groups = (2,) * 10
    K = ss.problem.friction(groups, np.full((1, 10), 0.1))
    rows = np.random.default_rng(1).normal(size=(21, 2, 6))
    problem = ss.GlobalProblem(
        np.eye(6)[None], -rows[0, 0], ss.problem.contact_blocks([[0, -1]], rows, K), np.zeros(21), K
    )
    ldl, cholesky = (trace(problem, "nt-f", factor=f, tolerance=1e-8) for f in ("ldl", "cholesky"))
    np.testing.assert_allclose(cholesky.answer.v, ldl.answer.v, atol=1e-5)


def test_redundant_contacts_and_joints():
    """Contacts given twice, and a joint given twice: H and G without full rank."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(6, 5))
    joint = np.zeros((6, 1))
    joint[5] = 1.0
    K = ss.problem.rolling([0.5, 0.5], [0.1, 0.1])
    f = -H[:, 0] - 0.3 * H[:, 1] + 0.1 * H[:, 3]
    problem = ss.GlobalProblem(
        np.eye(6), f, np.hstack([H, H]), np.zeros(10), K, np.hstack([joint, joint]), np.zeros(2)
    )
    for law in EXACT_LAWS:
        solution = solve(problem, algorithm="nt-f", law=law, tolerance=1e-8).or_raise()
        assert abs(solution.v[5]) <= 1e-8
    reduced = registry.make("prox", tolerance=1e-10).solve(problem).or_raise()
    np.testing.assert_allclose(solution.u, reduced.u, atol=1e-6)


def test_matrix_free_joints():
    """Two spheres glued together (G as blocks) on the floor: solved as with G formed."""
    M = np.tile(np.diag([1.0, 1.0, 1.0, 0.4, 0.4, 0.4]), (2, 1, 1))
    K, joint = ss.problem.rolling([0.5], [0.01]), ss.problem.free(6)
    rows = np.zeros((5, 2, 6))
    rows[[0, 1, 2, 3, 4], 0, [2, 0, 1, 3, 4]] = 1.0
    glue = np.stack([np.eye(6), -np.eye(6)], axis=1)
    f = np.array([0.3, 0.0, -1.0, 0.1, 0.2, 0.0, 0.0, 0.4, -1.0, 0.0, 0.0, 0.1])
    problem = ss.GlobalProblem(
        M,
        f,
        ss.problem.contact_blocks([[0, -1]], rows, K),
        np.zeros(5),
        K,
        ss.problem.contact_blocks([[0, 1]], glue, joint),
        np.zeros(6),
    )
    ours = solve(problem).or_raise()
    theirs = registry.make("prox", tolerance=1e-10).solve(problem).or_raise()
    np.testing.assert_allclose(ours.v, theirs.v, atol=1e-8)
    np.testing.assert_allclose(ours.lam, theirs.lam, atol=1e-8)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("law", ["relaxed", "exact"])
def test_degenerate_problems(algorithm, law):
    empty = ss.ContactProblem(np.zeros((0, 0)), [], ss.problem.rolling([], []))
    assert solve(empty, algorithm=algorithm, law=law).ok
    still = ss.ContactProblem(np.eye(5), np.zeros(5), ss.problem.rolling([0.5], [0.1]))
    assert solve(still, algorithm=algorithm, law=law).ok
    frictionless = ss.ContactProblem(np.eye(5), [-1.0, 1.0, 0.0, 1.0, 0.0], ss.problem.rolling([0.0], [0.0]))
    solution = solve(frictionless, algorithm=algorithm, law=law)
    np.testing.assert_allclose(solution.r, [1.0, 0.0, 0.0, 0.0, 0.0], atol=1e-9)
    nothing = ss.ContactProblem(
        np.zeros((5, 5)), [-1.0, 0.0, 0.0, 0.0, 0.0], ss.problem.rolling([0.5], [0.1])
    )
    assert not solve(nothing, algorithm=algorithm, law=law).ok
    huge = ss.ContactProblem(1e200 * np.eye(5), np.full(5, -1e200), ss.problem.rolling([0.5], [0.1]))
    assert isinstance(solve(huge, algorithm=algorithm, law=law).status, Status)


def test_the_split_of_every_kind_of_block():
    K = mixed().K
    cones = split(K)
    assert cones.size.size == 2 + 2 + 2 + 2 + 4 + 2 + 1 + 3 + 3
    fixed = np.setdiff1d(np.arange(K.size), cones.kept)
    assert fixed.size == 1 + 2 + 2 + 4
    assert cones.fixed.sum() == 0.2
    uniform, one_by_one = (
        split(ss.problem.rolling([0.3, 0.4], [0.1, 0.2])),
        split(ss.problem.rolling([0.3, 0.4], [0.1, 0.2]) + ss.problem.free(1)),
    )
    for name in ("start", "size", "group", "place", "sign", "constant"):
        np.testing.assert_array_equal(getattr(uniform, name), getattr(one_by_one, name))


def test_roots_of_the_contact_blocks() -> None:
    form = motion(make("packing-problem", spheres=8, mu_roll=1e-3, velocity=0.1))
    point = ConePoint(form, "nt-f", factor="ldl")
    for _ in range(4):
        point.advance()
    D, R = np.zeros_like(point._D), np.zeros_like(point._D)
    kernels.contact_blocks(form.split, point.scaling.G, np.zeros(0), False, D)
    kernels.roots(form.split, point.scaling.F_inverse, R, np.zeros((6, 5)))
    D, R = D.reshape(-1, 5, 5), R.reshape(-1, 5, 5)
    np.testing.assert_allclose(R.transpose(0, 2, 1) @ R, D, atol=1e-8 * np.abs(D).max())
    assert (np.tril(R, -1) == 0.0).all()


def test_corrections_save_iterations_and_change_no_answer() -> None:
    problem = make("packing-problem", spheres=60, mu_roll=1e-3, velocity=0.05, h=0.01)
    plain, corrected = (trace(problem, "nt-f", tolerance=1e-10, corrections=c) for c in (0, 3))
    assert plain.converged
    assert corrected.converged
    assert corrected.iterations < plain.iterations
    dv = (
        corrected.answer.v - plain.answer.v
    )  # each is within ½ |dv|² <= gap of the solution, in the norm of M
    assert dv @ motion(problem).mass(dv) <= 8e-10


@pytest.mark.parametrize("algorithm", ["mehrotra", "nt-qp", "nt-f"])
def test_the_exponent_of_sigma_changes_the_path_and_not_the_answer(algorithm) -> None:
    problem = make("packing-problem", spheres=10, mu_roll=1e-3, velocity=0.05, h=0.01)
    found = {
        rule: solve(
            problem,
            algorithm=algorithm,
            law="relaxed",
            exponent=rule,
            corrections=0,
            polish=0,
            tolerance=1e-8,
        )
        for rule in EXPONENTS
    }
    assert {one.status for one in found.values()} <= {Status.RELAXED, Status.SOLVED}
    for one in found.values():
        np.testing.assert_allclose(one.u, found["auto"].u, atol=1e-5)
    assert len({one.r.tobytes() for one in found.values()}) > 3


def test_the_exponents_are_those_of_the_sources() -> None:
    """Nguyen 2021: max(1, 3 alpha) for small barriers, else 1. SDPT3: max(1, 3 alpha²) for large ones."""
    point = ConePoint(motion(sphere()), "mehrotra", exponent="late")
    assert [point._exponent(alpha) for alpha in (0.2, 0.9)] == [1.0, 1.0]
    point.gap *= 1e-6
    assert [point._exponent(alpha) for alpha in (0.2, 0.9)] == pytest.approx([1.0, 2.7])
    point = ConePoint(motion(sphere()), "mehrotra", exponent="early")
    assert [point._exponent(alpha) for alpha in (0.2, 0.9)] == pytest.approx([1.0, 2.43])
    point.gap *= 1e-7
    assert point._exponent(0.9) == 1.0
    assert ss.solvers.InteriorPoint(exponent=3) == ss.solvers.InteriorPoint(exponent="3")
    with pytest.raises(ValueError, match="exponent must be one of auto, 1, 2, 3, late, early"):
        ss.solvers.InteriorPoint(exponent="2.5")
