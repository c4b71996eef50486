"""Steps of the variational scheme against a second reading of their equations."""

import numpy as np
import pytest
from step_reference import Reference

import stickslip as ss
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.variational import VariationalBodies, carried
from stickslip.solvers.registry import make
from stickslip.solvers.step_point import StepInteriorPoint


def rolling():
    """A ball with friction of all three kinds that strikes a floor on the move, and another ball above."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.4, mu_roll=0.01, mu_spin=0.02, e=0.3)
    builder.body(
        "floor", ss.Plane(), quaternion=ss.rotation((1.0, 1.0, 0.0), 0.1),
        motion=lambda t: ((0.2, 0.0, 0.1), (0.1, 0.0, 0.3)),
    )  # fmt: skip
    builder.body(
        "ball", ss.Sphere(0.1), mass=1.0, position=(0.0, 0.0, 0.105), velocity=(0.5, 0.1, -0.8),
        spin=(1.0, 2.0, 3.0),
    )  # fmt: skip
    builder.body("upper", ss.Sphere(0.08), mass=0.6, position=(0.03, 0.02, 0.286), velocity=(0.0, 0.1, -1.2))
    return builder.build()


def corner():
    """A box that comes down on one of its corners, and a capsule on an end."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.5)
    builder.body("floor", ss.Plane(), fixed=True)
    turn = ss.rotation((1.0, 2.0, 0.0), 0.7)
    builder.body(
        "box", ss.Cuboid((0.2, 0.3, 0.2)), mass=1.0, position=(0.0, 0.0, 0.201), quaternion=turn,
        velocity=(0.3, 0.0, -1.5), spin=(0.0, 2.0, 5.0),
    )  # fmt: skip
    builder.body(
        "capsule", ss.Capsule(0.05, 0.2), mass=1.0, position=(2.0, 0.0, 0.128), quaternion=turn,
        velocity=(0.0, 0.4, -2.0), spin=(1.0, 2.0, 0.0),
    )  # fmt: skip
    builder.apart("box", "capsule")
    return builder.build()


def linkage():
    """Joints of every kind but the rope in a row, with stops that are reached, springs and dry friction."""
    builder = ss.WorldBuilder()
    for k, x in enumerate((0.0, 0.3, 0.6)):
        builder.body(
            f"link {k}", None, mass=0.5 + 0.2 * k, inertia=(0.02, 0.03, 0.04), position=(x, 0.0, 0.0)
        )
    builder.joint(
        "wall", "hinge", "link 0", None, point=(-0.1, 0.0, 0.0), axis=(0.0, 1.0, 0.2), friction=0.05
    )
    builder.joint(
        "rail", "cylindrical", "link 1", "link 0", point=(0.2, 0.0, 0.0), axis=(1.0, 0.2, 0.0),
        limits=(0.0, 0.2), turn_limits=(-0.5, 0.5), turn_friction=0.02,
    )  # fmt: skip
    builder.joint("rope", "distance", "link 2", "link 1", point=(0.5, 0.1, 0.0), second_point=(0.3, 0.0, 0.1))
    builder.force(ss.forces.Spring("spring", "link 2", None, second_point=(0.5, 0.0, 1.0), stiffness=30.0))
    return builder.build()


def steps(world, count, h=0.01):
    """Steps that had something to solve."""
    scheme, prepared, solver = VariationalBodies(), PreparedWorld(world), make("auto", tolerance=1e-9)
    state, memory = world.start, scheme.begin(prepared, world.start, h)
    for _ in range(count):
        done = carried(scheme, prepared, state, memory, h, solver)
        state, memory = done.step.state, done.step.memory
        if done.solution is not None:
            yield done


@pytest.mark.parametrize("made", [rolling, corner, linkage])
@pytest.mark.parametrize("kappa", [0.0, 1e-4])
def test_a_second_reading_accepts_every_step(made, kappa):
    solver, pressed = StepInteriorPoint(tolerance=1e-9, kappa=kappa), 0.0
    for done in steps(made(), 8):
        _, point = solver.solve_point(done.problem)
        reference = Reference(done.problem)
        x = reference.unknowns(point.v, point.r, point.slack)
        off, inside = reference.equations(x, kappa)
        assert np.abs(off).max() < 1e-7
        assert min(a - b for a, b in inside) > -1e-7
        pressed = max(pressed, np.abs(point.r).max())
    assert pressed > 0.01


def test_a_second_solver_finds_the_same_step():
    *_, done = steps(corner(), 2)
    reference = Reference(done.problem)
    x = reference.solve()
    np.testing.assert_allclose(done.solution.v, x[: reference.nv], atol=1e-7)
    np.testing.assert_allclose(done.solution.r, reference.impulses(x), atol=1e-7)
    assert np.abs(done.solution.r).max() > 0.1
