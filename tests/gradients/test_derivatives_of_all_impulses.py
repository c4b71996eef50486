"""Derivatives where impulses are not unique: of every solver the same, and that of differences, or none."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes.bodies import SemiExplicitMoreauJean

SOLVERS = ("auto", "nsgs", "newton-ac", "ipm", "prox")
LIMIT = 0.5 * 9.81
"""Force at which a cube of 1 kg begins to slide with mu = 0.5 [N]."""
H = 1e-2


def cube(push):
    """A cube of 1 kg and 0.2 m at rest on a plane, pushed at its centre along x [N]."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("cube", ss.Cuboid((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.1))
    return pushed(b.build(), push)


def pushed(world, push, body=1):
    """The same world with a force on a body along x [N]."""
    given = ss.mechanics.Parameters.of(world)
    wrench = np.array(given.wrench)
    wrench.reshape(-1)[6 * body] += push
    return given.with_(wrench=wrench).applied(world)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("push", [0.0, 2.0, 4.0, 4.8, 4.9, 4.904])
def test_a_cube_at_rest_does_not_move_with_the_push(push, solver):
    step = ss.differentiate(cube(push), h=H, solver=solver)
    assert step.exists
    assert step.jacobian("v", "wrench")[6, 6] == pytest.approx(0.0, abs=1e-10)
    assert step.jacobian("v", "wrench") == pytest.approx(np.zeros((12, 12)), abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("push", [4.906, 5.0, 8.0])
def test_a_cube_that_slides_moves_with_the_push(push, solver):
    if (push, solver) == (4.906, "nsgs"):
        pytest.skip("Gauss-Seidel does not certify this step")
    step = ss.differentiate(cube(push), h=H, solver=solver)
    assert step.exists
    assert step.jacobian("v", "wrench")[6, 6] == pytest.approx(H, rel=1e-7)
    assert step.jacobian("v", "mu")[6] == pytest.approx(-9.81 * H, rel=1e-7)


@pytest.mark.parametrize("solver", ["auto", "ipm", "prox"])
def test_at_the_limit_there_is_none(solver):
    step = ss.differentiate(cube(LIMIT), h=H, solver=solver)
    assert not step.exists
    assert any("about to slip" in note for note in step.notes)


@pytest.mark.parametrize("solver", ["auto", "newton-ac", "prox"])
@pytest.mark.parametrize(("push", "slope"), [(4.9, 0.0), (5.0, 0.5 * H)])
def test_variational_steps(push, slope, solver):
    step = ss.differentiate(cube(push), h=H, scheme="variational", solver=solver)
    assert step.exists
    assert step.jacobian("v", "wrench")[6, 6] == pytest.approx(slope, abs=1e-9)


def leaning(seed):
    """Two cuboids on a plane that leans at random, each pushed, one of them hard enough to slide."""
    rng = np.random.default_rng(seed)
    b = ss.WorldBuilder(gravity=(*rng.uniform(-1.5, 1.5, 2), -9.81))
    b.body("floor", ss.Plane(), fixed=True)
    for i, x in enumerate((-1.0, 1.0)):
        size = rng.uniform(0.2, 0.4, 3)
        b.body(f"box {i}", ss.Cuboid(tuple(size)), mass=rng.uniform(0.5, 2.0), position=(x, 0, size[2] / 2))
    world = pushed(b.build(), rng.uniform(-1.0, 1.0))
    return pushed(world, 12.0, body=2)


@pytest.mark.parametrize("seed", range(3))
def test_boxes_on_a_slope_against_differences(seed):
    world, step = leaning(seed), 1e-4
    found = [ss.differentiate(world, h=H, solver=solver) for solver in ("auto", "newton-ac", "prox")]
    for one in found:
        assert one.jacobian("v", "v")[6:12] == pytest.approx(found[0].jacobian("v", "v")[6:12], abs=1e-8)
    ends = []
    for sign in (1.0, -1.0):
        moved = pushed(world, sign * step)
        ends.append(ss.differentiate(moved, h=H).step.state.v)
    expected = (ends[0] - ends[1]) / (2.0 * step)
    for one in found:
        assert one.jacobian("v", "wrench")[:, 6] == pytest.approx(expected, abs=1e-7)


def block(push):
    """A block of 1 kg in the plane on two corners, with a force at its centre, as equations."""
    body = ss.Lagrangian("block", M=np.diag([1.0, 1.0, 0.01]), q0=[0.0, 0.0999, 0.0], v0=np.zeros(3),
                         F_int=lambda q: np.array([-push, 9.81, 0.0]))  # fmt: skip
    corners = []
    for side in (-0.1, 0.1):

        def place(q, side=side):  # normal and tangential coordinates of a corner
            c, s = np.cos(q[2]), np.sin(q[2])
            return [q[1] + side * s - 0.1 * c, q[0] + side * c + 0.1 * s]

        law = ss.NewtonImpact(e=0.0, mu=0.5, dimension=2)
        corners.append(ss.Interaction(f"corner {side}", "block", ss.Scleronomous(place), law))
    return ss.NonsmoothSystem([body], corners)


@pytest.mark.parametrize("solver", ["auto", "nsgs", "newton-ac", "prox"])
@pytest.mark.parametrize(("push", "slope"), [(4.0, 0.0), (4.9, 0.0), (5.0, H)])
def test_steps_of_written_systems(push, slope, solver):
    step = ss.differentiate(block(push), h=H, solver=solver)
    assert step.exists
    assert step.unique == (slope > 0.0)
    assert step.jacobian("v", "force")[0, 0] == pytest.approx(slope, abs=1e-8)


@pytest.mark.parametrize("solver", SOLVERS)
def test_solutions_of_problems(solver):
    """A cube on its corners as a problem, 0.1 % below the limit of sliding: held, whatever is found."""
    arms = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    columns = [[*n, *np.cross(a, n)] for a in arms for n in ((0, 0, 1), (1, 0, 0), (0, 1, 0))]
    M, K = np.diag([1.0, 1.0, 1.0, 1 / 150, 1 / 150, 1 / 150]), ss.coulomb(np.full(4, 0.5))
    f = H * np.array([4.9, 0.0, -9.81, 0.0, 0.0, 0.0])
    problem = ss.GlobalProblem(M, f, np.transpose(columns), np.zeros(12), K)
    derivative = ss.differentiate(ss.solve(problem, solver=solver, tolerance=1e-10).or_raise())
    assert derivative.exists
    assert not derivative.unique
    assert derivative.jacobian("v", "f") == pytest.approx(np.zeros((6, 6)), abs=1e-10)
    local = ss.ContactProblem(problem.H_sparse().T @ np.linalg.solve(M, problem.H_sparse().toarray()),
                              problem.contact_velocity(np.linalg.solve(M, f)), K)  # fmt: skip
    derivative = ss.differentiate(ss.solve(local, solver=solver, tolerance=1e-10).or_raise())
    assert derivative.exists
    change = derivative.jvp(u_free=local.velocity(np.ones(12)) - local.u_free)["u"]
    assert change == pytest.approx(np.zeros(12), abs=1e-10)


def test_kicks_of_impulses_that_are_not_unique_have_no_derivative():
    """Poisson's restitution multiplies impulses of the corners of a cube that lands flat: these are open."""
    b = ss.WorldBuilder()
    b.material("default", e=0.5)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("cube", ss.Cuboid((0.2, 0.2, 0.2)), mass=1.0, position=(0, 0, 0.1), velocity=(0, 0, -1.0))
    scheme = SemiExplicitMoreauJean(impact="poisson", correction=False)
    step = ss.differentiate(b.build(), h=H, scheme=scheme)
    assert not step.exists
    assert "restitution acts on impulses of the compression that are not unique" in step.notes[-1]
