"""Friction on pyramids by pivots: the law of the polygon, whoever solves it, in problems and in runs."""

import numpy as np
import pytest
from closed_forms import KNOWN
from random_problems import MIXED, bodies_in_a_row

import stickslip as ss
from stickslip.problem import pyramid_lcp, reduce_to_contacts
from stickslip.problem.solution import Verdict

MU, SPEED, G = 0.5, 1.0, 9.81


def sent(angle: float) -> ss.World:
    """A tile on a floor that is sent at 1 m/s at an angle to x."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=MU)
    builder.body("floor", ss.Plane(), fixed=True)
    velocity = (SPEED * np.cos(angle), SPEED * np.sin(angle), 0.0)
    builder.body("tile", ss.Cuboid((1, 1, 0.2)), position=(0, 0, 0.1), velocity=velocity)
    return builder.build()


@pytest.mark.parametrize("facets", [3, 4, 5, 8])
def test_a_tile_slides_as_far_as_its_pyramid_lets_it(facets):
    """Against a corner v²/(2 mu g), against a side 1/cos(pi/m) of it: what was at the corner's other end."""
    h, way = 5e-3, SPEED**2 / (2.0 * MU * G)
    for angle in (0.0, np.pi, np.pi / facets):
        run = ss.simulate(sent(angle), until=0.5, h=h, solver="lemke", solver_options={"facets": facets})
        corner = angle == 0.0 or (angle == np.pi and facets % 2 == 0)
        longer = 1.0 if corner else 1.0 / np.cos(np.pi / facets)
        assert run.missed == 0
        assert run.verdict is (Verdict.CERTIFIED if corner else Verdict.RELAXED)
        place = run.q[-1, 7:9]
        np.testing.assert_allclose(place, way * longer * np.array([np.cos(angle), np.sin(angle)]), atol=2e-4)
        assert np.abs(run.v[-1]).max() < 1e-12, "on a pyramid, too, what has stopped stays"


@pytest.mark.parametrize("facets", [3, 5, 6])
def test_pivots_and_programs_agree_on_the_law_of_a_pyramid(facets):
    runs = [
        ss.simulate(sent(0.2), until=0.05, h=5e-3, solver=name, solver_options={"facets": facets})
        for name in ("lemke", "newton-min", "clarabel", "piqp")
    ]
    for run in runs:
        assert run.verdict is Verdict.RELAXED
        np.testing.assert_allclose(run.q[-1], runs[0].q[-1], atol=1e-9)


@pytest.mark.parametrize("name", ["slide 2D", "stick 2D", "stick", "spinning top", "mixed blocks"])
def test_where_the_pyramid_is_the_cone_the_answer_is_certified(name):
    known = KNOWN[name]
    solution = ss.solve(known.problem, "lemke", facets=4)
    assert solution.status is ss.Status.SOLVED
    np.testing.assert_allclose(solution.r, known.r, atol=1e-8)


@pytest.mark.parametrize("facets", [5, 6])
def test_a_global_problem_with_every_kind_of_block_obeys_the_pyramids(facets):
    """Its velocities are those of its impulses, and the LCP of the polygons is solved."""
    problem = bodies_in_a_row(MIXED)
    found = ss.solve(problem, "lemke", facets=facets)
    assert found.status is ss.Status.APPROXIMATE
    reduced = reduce_to_contacts(problem)
    conversion = pyramid_lcp(reduced.problem, facets)
    z = conversion.guess(reduced.guess(found.r))
    assert ss.judge(conversion.problem, z).error < 1e-9
    np.testing.assert_allclose(found.v, reduced.recover(found.r).v, atol=1e-12)


def test_without_facets_the_error_says_what_to_give():
    with pytest.raises(ss.ProblemError, match=r"lemke does not take coulomb3d blocks.*facets=4"):
        ss.solve(KNOWN["slide"].problem, "lemke")
