"""A solver given by name and the same solver given as an object make the same run, bit for bit."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.solvers import registry


def box() -> ss.World:
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(1.0, 0.3, 0.0))
    return builder.build()


def ball() -> ss.NonsmoothSystem:
    fall = ss.Lagrangian("ball", M=1.0, q0=0.5, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    return ss.NonsmoothSystem([fall], [floor])


@pytest.mark.parametrize(("model", "tolerance"), [(box, 1e-8), (ball, 1e-10)])
@pytest.mark.parametrize("solver", ["auto", "nsgs"])
def test_name_and_object_are_the_same(model, tolerance, solver):
    system = model()
    runs = [
        ss.simulate(system, until=0.2, h=0.01, solver=given)
        for given in (solver, registry.make(solver, tolerance=tolerance))
    ]
    assert runs[0].solver == runs[1].solver == solver
    for name in ("q", "v"):
        np.testing.assert_array_equal(getattr(runs[0], name), getattr(runs[1], name))


def test_options_that_are_not_defaults_are_told():
    run = ss.simulate(ball(), until=0.1, h=0.01, solver=registry.make("ipm", restarts=2, tolerance=1e-10))
    assert run.solver == "ipm" or run.solver.startswith("ipm(")
    other = ss.simulate(ball(), until=0.1, h=0.01, solver=registry.make("nsgs", max_iterations=77))
    assert other.solver == "nsgs(max_iterations=77)"
    same = ss.simulate(ball(), until=0.2, start=other.checkpoint(-1))
    assert same.solver == other.solver
    again = ss.simulate(ball(), until=0.2, start=other.checkpoint(-1), solver="nsgs")
    assert again.missed == 0
