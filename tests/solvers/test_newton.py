"""Nonsmooth Newton: quadratic convergence, the same velocities by every map and form, hard inputs."""

import numpy as np
import pytest
from recorded import needs_recorded, recorded

import stickslip as ss
from stickslip.kernels import newton_systems
from stickslip.problem.convert import reduce_to_contacts
from stickslip.scenes import make as scene
from stickslip.solvers.newton_global import GlobalSystem
from stickslip.solvers.newton_systems import ReducedSystem
from stickslip.solvers.registry import entry, make

MAPS = ["newton-ac", "newton-jm", "newton-nm", "newton-fb"]
EVALUATE = {
    "newton-ac": newton_systems.evaluate_alart_curnier,
    "newton-jm": newton_systems.evaluate_jean_moreau,
    "newton-nm": newton_systems.evaluate_natural,
    "newton-fb": newton_systems.evaluate_fischer_burmeister,
}
FORMS = ["reduced", "global", "velocity"]


def random_global(seed, K, bodies=4, joints=0):
    """Bodies of 6 velocities under random contacts, pushed together; joints between neighbours."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(bodies, 6, 8))
    M = A @ A.transpose(0, 2, 1)
    whole = np.zeros((6 * bodies, 6 * bodies))
    for i, block in enumerate(M):
        whole[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = block
    H = rng.normal(size=(6 * bodies, K.size))
    f = whole @ rng.normal(size=6 * bodies)
    # u_bias below what any v can cancel would have no solution: take it from some v, with u_N > 0 added
    bias = -H.T @ rng.normal(size=6 * bodies)
    bias[K.offset[:-1]] += 0.5
    if not joints:
        return ss.GlobalProblem(whole, f, H, bias, K)
    G = rng.normal(size=(6 * bodies, joints))
    return ss.GlobalProblem(whole, f, H, bias, K, G, rng.normal(size=joints))


def random_local(seed, contacts=8, mu=0.4):
    """Regular W, contacts that press, slide and leave."""
    rng = np.random.default_rng(seed)
    K = ss.coulomb(np.full(contacts, mu))
    A = rng.normal(size=(K.size, K.size))
    u_free = rng.normal(size=(contacts, 3))
    u_free[: contacts // 2, 0] = -np.abs(u_free[: contacts // 2, 0])
    return ss.ContactProblem(A @ A.T / K.size + 0.1 * np.eye(K.size), u_free, K)


@pytest.mark.parametrize("name", MAPS)
def test_convergence_is_quadratic_near_the_solution(name):
    """Orders log(e2/e1)/log(e1/e0) of the judge's error, without sweeps and without regularisation."""
    orders = []
    for seed in range(12):
        problem = random_local(seed)
        r = make("nsgs", tolerance=1e-14).solve(problem).or_raise().r
        guess = r * (1.0 + 1e-2 * np.random.default_rng(seed).normal(size=r.size))
        solver = make(name, tolerance=1e-14, sweeps=0, regularisation=0.0)
        solution = solver.solve(problem, guess=guess).or_raise()
        assert solution.iterations <= 8
        e = solution.history[:, 1:].max(axis=1)
        e = e[e > 1e-13]
        orders += [np.log(c / b) / np.log(b / a) for a, b, c in zip(e, e[1:], e[2:], strict=False)]
    assert len(orders) >= 8
    assert np.median(orders) > 1.7


@pytest.mark.parametrize("name", MAPS)
def test_slopes_of_the_reduced_system_are_those_of_its_residual(name):
    """J dx against F(r + h dx) - F(r - h dx), wherever the iterate is: stick, slip and separation mixed."""
    K = (
        ss.coulomb([0.4, 0.0, 0.8])
        + ss.problem.nonnegative(2)
        + ss.problem.free(2)
        + ss.problem.interval([-1.0], [1.0])
    )
    rng = np.random.default_rng(3)
    A = rng.normal(size=(K.size, K.size))
    problem = ss.ContactProblem(A @ A.T / K.size + 0.1 * np.eye(K.size), rng.normal(size=K.size), K)
    system = ReducedSystem(problem, EVALUATE[name], 1.0)
    for _ in range(30):
        r = rng.normal(size=K.size)
        step = system.step(r, 0.0)
        F, h = system.at.F.copy(), 1e-7
        system.measure(r + h * step)
        ahead = system.at.F.copy()
        system.measure(r - h * step)
        np.testing.assert_allclose((ahead - system.at.F) / (2 * h), -F, atol=2e-5 * np.abs(F).max())


@pytest.mark.parametrize("joints", [0, 3])
@pytest.mark.parametrize("with_u", [True, False], ids=["global", "velocity"])
def test_jacobians_of_the_global_forms_agree_with_finite_differences(with_u, joints):
    """(16.21) and (16.25), column by column; the chain rule is B H', not H' B."""
    problem = random_global(0, ss.coulomb([0.5, 0.2]) + ss.problem.rolling([0.3], [0.1]), 2, joints)
    system = GlobalSystem(problem, EVALUATE["newton-ac"], 1.0, with_u)
    rng = np.random.default_rng(1)
    seen = set()
    for _ in range(10):
        x = rng.normal(size=system.start(None).size)
        J = system.jacobian(x, 0.0).toarray()
        seen.update(system.at.state.tolist())
        for k in range(x.size):
            step = np.zeros(x.size)
            step[k] = 1e-6
            slope = (system.residual(x + step) - system.residual(x - step)) / 2e-6
            np.testing.assert_allclose(J[:, k], slope, atol=1e-5 * max(1.0, np.abs(slope).max()))
    assert {0, 3} <= seen, "open and slipping contacts were both met"


@pytest.mark.parametrize("seed", range(4))
def test_four_maps_find_the_same_velocities(seed):
    problem = random_global(seed, ss.coulomb([0.5, 0.2, 0.0, 0.9, 0.4, 0.3]))
    u = make("nsgs", tolerance=1e-12).solve(problem).or_raise().u
    for name in MAPS:
        for sweeps in (0, 5):
            solution = make(name, tolerance=1e-12, sweeps=sweeps).solve(problem)
            assert solution.ok, solution
            np.testing.assert_allclose(solution.u, u, atol=1e-9)


@pytest.mark.parametrize("joints", [0, 3])
@pytest.mark.parametrize("seed", range(3))
def test_three_forms_find_the_same_motion(seed, joints):
    K = (
        ss.coulomb([0.5, 0.2])
        + ss.coulomb([0.3], 2)
        + ss.problem.rolling([0.4], [0.05])
        + ss.problem.nonnegative(1)
    )
    problem = random_global(seed, K, joints=joints)
    found = [make("newton-ac", tolerance=1e-11, form=form).solve(problem).or_raise() for form in FORMS]
    bare = make("newton-ac", tolerance=1e-11, form="velocity", sweeps=0).solve(problem).or_raise()
    for solution in [*found[1:], bare]:
        np.testing.assert_allclose(solution.u, found[0].u, atol=1e-8)
        np.testing.assert_allclose(solution.v, found[0].v, atol=1e-8)
        assert solution.residuals.equilibrium <= 1e-11
        assert solution.residuals.joints <= 1e-11
        assert (solution.lam is None) == (joints == 0)


@pytest.mark.parametrize("form", FORMS)
def test_redundant_joints_are_regularised(form):
    rng = np.random.default_rng(0)
    problem = random_global(1, ss.coulomb([0.5, 0.2]), joints=2)
    G = problem.G_sparse().toarray()
    twice = ss.GlobalProblem(
        problem.M, problem.f, problem.H, problem.u_bias, problem.K,
        np.hstack([G, G]), np.tile(problem.g_bias, 2),
    )  # fmt: skip
    once = make("newton-ac", tolerance=1e-10).solve(problem).or_raise()
    solution = make("newton-ac", tolerance=1e-10, form=form).solve(twice, guess=rng.normal(size=6)).or_raise()
    np.testing.assert_allclose(solution.v, once.v, atol=1e-7)


def test_global_forms_say_what_they_need():
    problem = random_local(0)
    for form in ("global", "velocity"):
        with pytest.raises(ss.ProblemError, match=f"form='{form}' needs a GlobalProblem.*ContactProblem"):
            make("newton-ac", form=form).solve(problem)
    with pytest.raises(TypeError, match="a problem is needed"):
        make("newton-ac", form="global").solve(3)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("line_search", ["armijo", "nonmonotone"])
def test_line_searches_reach_the_same_answer(name, line_search):
    for seed in range(4):
        problem = random_local(seed)
        solver = make(name, tolerance=1e-11, sweeps=3, line_search=line_search)
        u = make("nsgs", tolerance=1e-12).solve(problem).or_raise().u
        np.testing.assert_allclose(solver.solve(problem).or_raise().u, u, atol=1e-9)


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("copies", [2, 10])
def test_repeated_contacts(name, copies):
    """W singular: every contact several times over. The motion does not depend on it."""
    problem = random_global(2, ss.coulomb([0.5, 0.3]))
    H = np.tile(problem.H_sparse().toarray(), (1, copies))
    many = ss.GlobalProblem(
        problem.M, problem.f, H, np.tile(problem.u_bias, copies), ss.coulomb(np.tile([0.5, 0.3], copies))
    )
    one = make("nsgs", tolerance=1e-11).solve(problem).or_raise()
    solution = make(name, tolerance=1e-10, sweeps=2).solve(many).or_raise()
    np.testing.assert_allclose(solution.v, one.v, atol=1e-7)
    if name == "newton-ac":
        for form in ("global", "velocity"):
            other = make(name, tolerance=1e-10, sweeps=2, form=form).solve(many).or_raise()
            np.testing.assert_allclose(other.v, one.v, atol=1e-7)


@pytest.mark.parametrize("name", MAPS)
def test_a_contact_without_mobility(name):
    """W = 0 rows: solvable where the contact opens by itself, STALLED or the limit where it does not."""
    W = np.zeros((6, 6))
    W[:3, :3] = np.eye(3)
    K = ss.coulomb([0.5, 0.5])
    opens = ss.ContactProblem(W, [-1.0, 0.2, 0.0, 0.3, 0.1, 0.0], K)
    assert make(name, tolerance=1e-10).solve(opens).ok
    closes = ss.ContactProblem(W, [-1.0, 0.2, 0.0, -0.3, 0.1, 0.0], K)
    solution = make(name, tolerance=1e-10).solve(closes)
    assert solution.status.name in ("STALLED", "MAX_ITERATIONS", "NOT_FINITE")
    assert np.isfinite(solution.r).all()


@pytest.mark.parametrize("name", MAPS)
def test_nothing_and_nothing_finite(name):
    nobody = ss.GlobalProblem(np.eye(2), [1.0, 2.0], np.zeros((2, 0)), [], ss.coulomb([]))
    forms = FORMS if name == "newton-ac" else ["reduced"]
    for form in forms:
        options = {"form": form} if name == "newton-ac" else {}
        solution = make(name, **options).solve(nobody).or_raise()
        np.testing.assert_allclose(solution.v, [1.0, 2.0])
    for scale in (1e160, 1e-163):
        problem = ss.ContactProblem(np.eye(3), [-scale, scale, 0.0], ss.coulomb([0.5]))
        for sweeps in (0, 10):
            assert make(name, sweeps=sweeps).solve(problem).status.name == "NOT_FINITE"


@pytest.mark.parametrize("name", MAPS)
def test_closing_walls_are_not_solved(name):
    H, K = np.array([[1.0, 0, 0, -1.0, 0, 0]]), ss.coulomb([0.3, 0.3])
    problem = ss.GlobalProblem(np.eye(1), [0.0], H, [-1.0, 0, 0, -1.0, 0, 0], K)
    solution = make(name).solve(problem)
    assert not solution.ok
    assert solution.iterations <= 500


def test_fischer_burmeister_refuses_cones_of_several_groups():
    assert "rolling" not in entry("newton-fb").accepts
    problem = ss.ContactProblem(np.eye(5), -np.ones(5), ss.problem.rolling([0.5], [0.1]))
    with pytest.raises(ss.ProblemError, match="newton-fb does not take rolling blocks"):
        make("newton-fb").solve(problem)


@pytest.mark.parametrize("name", ["newton-ac", "newton-fb"])
def test_large_systems_are_sparse_and_the_same(name, monkeypatch):
    """Above the dense size the block LU takes over, in its own order of the contacts."""
    problem = reduce_to_contacts(scene("packing-problem", spheres=20)).problem
    dense = make(name, tolerance=1e-10).solve(problem).or_raise()
    assert dense.iterations > 3
    monkeypatch.setattr("stickslip.solvers.newton_systems.COMPILED", 20)
    sparse = make(name, tolerance=1e-10).solve(problem).or_raise()
    np.testing.assert_allclose(sparse.u, dense.u, atol=1e-8 * np.abs(problem.u_free).max())


@needs_recorded
@pytest.mark.parametrize("path", recorded("friction"), ids=lambda p: p.name)
def test_recorded_friction_problems_to_1e_10_by_every_map(path):
    problem = ss.read(path)
    for name in MAPS:
        solution = make(name, tolerance=1e-10).solve(problem)
        assert solution.ok, solution


@needs_recorded
def test_recorded_global_problems_by_every_form():
    problems = [ss.read(path) for path in recorded("friction")]
    problems = [problem for problem in problems if isinstance(problem, ss.GlobalProblem)]
    assert len(problems) >= 8
    for problem in problems:
        found = [make("newton-ac", tolerance=1e-10, form=form, sweeps=0).solve(problem) for form in FORMS]
        for solution in found:
            assert solution.ok, solution
            size = max(np.abs(found[0].u).max(initial=0.0), 1e-30)
            np.testing.assert_allclose(solution.u, found[0].u, atol=1e-6 * size)
