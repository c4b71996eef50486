"""Newton systems over bodies beside those over contacts, and the start from the relaxation's centre."""

import numpy as np
import pytest
from random_problems import MIXED, bodies_in_a_row

from stickslip import coulomb, scenes, solve
from stickslip.kernels import cones, prox_newton
from stickslip.problem import rolling
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.operator import BodyDelassus
from stickslip.problem.residuals import examine
from stickslip.problem.sets import ProductSet
from stickslip.solvers.auto import Auto
from stickslip.solvers.cone_path import relaxed_centre
from stickslip.solvers.newton_systems import BodySystem, ContactSystem, proximal_system


def step_of(system, r, alpha, moves=3):
    """The iterate after some proximal Newton steps from r."""
    vectors, control = np.zeros((prox_newton.VECTORS, r.size)), np.zeros(prox_newton.SLOTS)
    vectors[prox_newton.R] = r
    prox_newton.begin(control, alpha, 1e-12, float(moves))
    history = np.empty((prox_newton.LINES, 3))
    while system.advance(vectors, control, history):
        assert system.solve()
    return vectors[prox_newton.X].copy(), control[prox_newton.F_CENTRE]


SETS = {
    "coulomb": coulomb(np.full(50, 0.4)),
    "plane": coulomb(np.full(70, 0.4), 2),
    "rolling": rolling(np.full(30, 0.5), np.full(30, 0.2)),
    "mixed": MIXED + coulomb(np.full(45, 0.3)),
}


@pytest.mark.parametrize("kind", SETS)
def test_steps_over_bodies_are_those_over_contacts(kind):
    problem = reduce_to_contacts(bodies_in_a_row(SETS[kind], seed=3)).problem
    start = np.empty(problem.size)
    cones.project(problem.K.arrays, np.random.default_rng(1).normal(size=problem.size), start)
    over_bodies, size = step_of(BodySystem(problem), start, 1e-2)
    over_contacts, other = step_of(ContactSystem(problem), start, 1e-2)
    np.testing.assert_allclose(over_bodies, over_contacts, rtol=0, atol=1e-8 * np.abs(start).max())
    assert size == pytest.approx(other, rel=1e-6, abs=1e-10)


def test_a_contact_of_a_body_with_itself_and_bodies_without_contacts():
    problem = reduce_to_contacts(bodies_in_a_row(SETS["coulomb"], seed=5, count=6)).problem
    W = problem.W
    bodies = W.bodies.copy()
    bodies[7], bodies[bodies == 4] = (2, 2), 3
    same = type(problem).unchecked(
        BodyDelassus(W.offset, bodies, W.rows, W.count), problem.u_free, problem.K, problem.level
    )
    start = np.zeros(problem.size)
    over_bodies, _ = step_of(BodySystem(same), start, 1e-2)
    over_contacts, _ = step_of(ContactSystem(same), start, 1e-2)
    np.testing.assert_allclose(over_bodies, over_contacts, rtol=0, atol=1e-8)


def test_elimination_over_bodies_is_chosen_where_contacts_are_many():
    crowded = reduce_to_contacts(bodies_in_a_row(SETS["coulomb"], count=6)).problem
    sparse = reduce_to_contacts(bodies_in_a_row(SETS["coulomb"], count=49)).problem
    assert isinstance(proximal_system(crowded), BodySystem)
    assert isinstance(proximal_system(sparse), ContactSystem)


def test_the_centre_solves_the_relaxation_and_lies_inside():
    problem = reduce_to_contacts(scenes.make("packing-problem", spheres=60, seed=0)).problem
    r = relaxed_centre(problem).r
    u = problem.W.apply(r, problem.u_free)
    K: ProductSet = problem.K
    inside = K.coefficient * r[::3] - np.hypot(r[1::3], r[2::3])
    assert inside.min() > 0.0  # in the interior of the cones
    dual = u[::3] - K.coefficient * np.hypot(u[1::3], u[2::3])
    assert dual.min() > -1e-6 * np.abs(problem.u_free).max()  # u in the dual cones, without the shift
    work = np.abs((r * u).reshape(-1, 3).sum(axis=1)).max()
    assert work <= 1e-5 * np.abs(r).max() * np.abs(problem.u_free).max()


@pytest.mark.parametrize("spheres", [60, 150])
def test_packings_at_rest_are_solved_from_the_centre(spheres):
    problem = scenes.make("packing-problem", spheres=spheres, seed=spheres // 100)
    solution = solve(problem)
    assert solution.ok
    assert any(stage.solver == "ipm" for stage in solution.tried)
    assert examine(problem, solution.r, solution.v, None)[0].solved(1e-8)


def test_an_answer_near_the_best_of_the_sweeps_is_preferred():
    wall = scenes.make("wall-problem", rows=6, columns=5, mu_roll=0.01)
    sweeps = solve(wall, "nsgs", max_iterations=100, tolerance=1e-14)
    solution = Auto().solve(wall)
    assert solution.ok
    assert np.linalg.norm(solution.r) < 2.0 * np.linalg.norm(sweeps.r)
