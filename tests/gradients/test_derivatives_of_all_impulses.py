"""Derivatives where impulses are not unique: of every solver the same, and that of differences, or none."""

import numpy as np
import pytest

import stickslip as ss

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
    given = ss.Parameters.of(world)
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
