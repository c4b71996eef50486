"""A solver by its name and as an object of its public class: the same options, the same bits."""

import numpy as np
import pytest
import step_scenes

import stickslip as ss
from stickslip.doors import table
from stickslip.extras import MissingPackage
from stickslip.solvers import registry


def problem_for(entry):
    """A problem that the solver takes, small and not solved by its first guess."""
    if not entry.accepts:
        return step_scenes.box_on_plane(mu=0.5, tilt=0.3)
    if "coulomb3d" not in entry.accepts:
        return ss.problem.lcp([[2.0, -1.0, 0.0], [-1.0, 2.0, -1.0], [0.0, -1.0, 2.0]], [1.0, -2.0, 0.5])
    return ss.scenes.make("incline-problem", mu=0.6)


@pytest.mark.parametrize("name", registry.names())
def test_name_and_object_give_the_same_bits(name):
    entry = registry.entry(name)
    problem, tolerance = problem_for(entry), max(1e-9, entry.reach)
    solver = getattr(ss.solvers, entry.cls)(tolerance=tolerance)
    try:
        by_name = ss.solve(problem, name, tolerance=tolerance)
    except MissingPackage as missing:
        with pytest.raises(MissingPackage):
            ss.solve(problem, solver)
        pytest.skip(str(missing))
    by_object = ss.solve(problem, solver)
    assert registry.make(name, tolerance=tolerance) == solver
    assert by_object.status is by_name.status
    for column in ("r", "u", "v", "lam"):
        np.testing.assert_array_equal(getattr(by_object, column), getattr(by_name, column))


@pytest.mark.parametrize("name", registry.names())
def test_every_solver_is_a_public_class_at_its_home(name):
    entry = registry.entry(name)
    assert table("stickslip.solvers")[entry.cls] == entry.module


def test_a_run_by_name_and_by_object_is_the_same():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(1, 0, 0))
    world = builder.build()
    by_name = ss.simulate(world, until=0.1, h=0.01, solver="nsgs", tolerance=1e-9)
    by_object = ss.simulate(world, until=0.1, h=0.01, solver=ss.solvers.NSGS(tolerance=1e-9))
    assert by_object.solver == by_name.solver == "nsgs"
    np.testing.assert_array_equal(by_object.q, by_name.q)


@pytest.mark.parametrize(
    ("options", "error"), [({"tolerence": 1e-6}, TypeError), ({"tolerance": 2.0}, ValueError)]
)
def test_options_are_checked_in_both_ways(options, error):
    problem = ss.problem.lcp([[1.0]], [-1.0])
    with pytest.raises(error) as by_name:
        ss.solve(problem, "lemke", **options)
    with pytest.raises(error) as by_object:
        ss.solvers.Lemke(**options)
    assert str(by_name.value).partition("tol")[2] == str(by_object.value).partition("tol")[2]
