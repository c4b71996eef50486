"""The interior point for whole steps: closed forms, every kind of joint, models, central path, refusals."""

from dataclasses import replace

import numpy as np
import pytest
import step_scenes as scenes

from stickslip.problem.checks import ProblemError
from stickslip.problem.residuals import judge
from stickslip.problem.solution import Status
from stickslip.problem.step_tangent import step_blocks, step_end, step_tangent
from stickslip.solvers.registry import make
from stickslip.solvers.step_point import StepInteriorPoint

SOLVER = StepInteriorPoint(tolerance=1e-10)
H, G = 0.01, scenes.G


def by_contact(solution, count=8):
    return solution.r.reshape(count, -1)


def check(problem, solution, tolerance=1e-8):
    """The judge's word, asked anew."""
    assert solution.ok, solution.reason
    assert judge(step_tangent(problem, solution.v), solution.r, solution.v).solved(tolerance)


@pytest.mark.parametrize(("mu", "angle"), [(0.5, 0.3), (0.5, 0.8), (0.0, 0.3), (2.0, 0.7)])
def test_a_block_on_an_incline_sticks_or_slides(mu, angle):
    problem = scenes.box_on_plane(mu=mu, tilt=angle)
    solution = SOLVER.solve(problem)
    check(problem, solution)
    normal, along = G * H * np.cos(angle), G * H * np.sin(angle)
    r = by_contact(solution)
    assert r[:, 0].sum() == pytest.approx(normal, abs=1e-10)
    slides = max(along - mu * normal, 0.0)
    np.testing.assert_allclose(solution.v, [slides, 0, 0, 0, 0, 0], atol=1e-9)


def test_a_ball_falls_to_the_plane_and_not_beyond():
    ball = scenes.contact((0, -1), np.zeros((2, 3)), [0.3, 0, 0, 0], radius=(0.1, 0))
    for height, speed in ((0.102, -1.0), (0.2, -1.0), (0.0999, 0.0)):
        problem = scenes.step(
            [[0, 0, height, 1, 0, 0, 0]], [[0.4, 0, speed, 0, 0, 0]], [2.0], [0.008 * np.eye(3)], [ball]
        )
        solution = SOLVER.solve(problem)
        check(problem, solution)
        end = step_end(problem, solution.v)[0, 2]
        free = height + H * (speed - G * H)
        assert end == pytest.approx(max(free, 0.1), abs=1e-11)
        assert solution.r[0] == pytest.approx(2.0 * max(0.1 - free, 0.0) / H, abs=1e-8)


def test_rolling_and_torsion_hold_a_spinning_ball_as_far_as_they_reach():
    law = [0.5, 0.02, 0.01, 0]
    ball = scenes.contact((0, -1), np.zeros((2, 3)), law, radius=(0.1, 0))
    J = 0.4 * 0.01 * np.eye(3)
    problem = scenes.step([[0, 0, 0.1, 1, 0, 0, 0]], [[0, 0, 0, 0, 0, 5.0]], [1.0], [J], [ball])
    solution = SOLVER.solve(problem)
    check(problem, solution)
    assert solution.r[5] == pytest.approx(-0.01 * G * H, rel=1e-9)
    spin, quarter = solution.v[5], 0.25 * H * H
    before = 5.0 + quarter * 5.0**3
    assert spin + quarter * spin**3 == pytest.approx(before - 0.01 * G * H / 0.004, rel=1e-9)
    slow = scenes.step([[0, 0, 0.1, 1, 0, 0, 0]], [[0, 0, 0, 0, 0, 0.1]], [1.0], [J], [ball])
    assert np.abs(SOLVER.solve(slow).v).max() < 1e-10


@pytest.mark.parametrize("kind", range(6))
def test_joints_of_every_kind_hold_at_the_end_of_the_step(kind):
    problem = scenes.chain(3, kind)
    solution = SOLVER.solve(problem)
    check(problem, solution)
    free = solution.problem.K.kind == 0
    u = [block for block, held in zip(solution.problem.K.split(solution.u), free, strict=True) if held]
    assert np.abs(np.concatenate(u)).max() < 1e-10
    assert (solution.u[step_blocks(problem).K.offset[:3]] > -1e-10).all()


def test_a_redundant_loop_moves_as_a_parallelogram():
    problem = scenes.four_bar()
    solution = SOLVER.solve(problem)
    check(problem, solution)
    crank, coupler, rocker = solution.v.reshape(3, 6)
    np.testing.assert_allclose(crank, rocker, atol=1e-9)
    np.testing.assert_allclose(coupler[:3], 2.0 * crank[:3], atol=1e-9)
    assert np.abs(coupler[3:]).max() < 1e-9


def test_stops_and_dry_friction_of_a_joint():
    J = scenes.box_inertia(1.0, 0.2, 0.04, 0.04)
    q, along = [[0.1, 0, 0, 1, 0, 0, 0]], np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1]])
    rail = {"frame": [along, along], "upper": [0.105, np.inf]}
    slider = scenes.joint(scenes.SLIDER, (0, -1), [[0, 0, 0], [0, 0, 0]], **rail, friction=[0.02, 0.0])
    for speed, expected, stop, dry in (
        (0.2, 0.18, 0.0, -0.02),  # friction at its bound
        (0.01, 0.0, 0.0, -0.01),  # held by friction
        (2.0, 0.5, 1.48, -0.02),  # up to the stop
    ):
        problem = scenes.step(q, [[speed, 0, 0, 0, 0, 0]], [1.0], [J], joints=[slider])
        solution = SOLVER.solve(problem)
        check(problem, solution)
        assert solution.v[0] == pytest.approx(expected, abs=1e-9)
        assert solution.r[-2:] == pytest.approx([stop, dry], abs=1e-9)


def test_a_prescribed_body_carries_what_stands_on_it():
    plate = [0.1, 0, 0.3, 0, 0, 0]
    problem = scenes.step(
        [[0, 0, 0.1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0]], [[0] * 6, plate], [1.0, 1.0],
        [0.007 * np.eye(3)] * 2,        scenes.corners([0.1] * 3, 0, [0.9, 0, 0, 0], plane=1), row=[0, -1],
    )  # fmt: skip
    solution = SOLVER.solve(problem)
    check(problem, solution)
    np.testing.assert_allclose(solution.v, plate, atol=1e-9)


@pytest.mark.parametrize("seed", range(24))
def test_random_steps_are_solved(seed):
    problem = scenes.random_step(seed)
    solution = make("auto", tolerance=1e-8).solve(problem)
    check(problem, solution)
    assert solution.residuals.equilibrium < 1e-12


@pytest.mark.parametrize("seed", range(12))
def test_pyramids_and_impacts_call_themselves_what_they_are(seed):
    for model in ("pyramid", "impact"):
        problem = scenes.random_step(seed, model)
        solution = StepInteriorPoint().solve(problem)
        assert solution.ok or solution.status is Status.APPROXIMATE, solution.reason
        K, r = solution.problem.K, solution.r
        for i in np.flatnonzero(K.kind == 3):
            gamma, b = r[K.offset[i]], r[K.offset[i] + 1 : K.offset[i] + 3]
            mu = problem.contacts.law[i, 0] if model == "pyramid" else 0.0
            assert np.abs(b).sum() <= mu * gamma + 1e-7 * max(np.abs(r).max(), 1.0)


def test_a_pyramid_bends_what_slides_askew():
    angle = np.deg2rad(30.0)
    v = (2.0 * np.cos(angle), 2.0 * np.sin(angle), 0, 0, 0, 0)
    cone, pyramid = (SOLVER.solve(scenes.box_on_plane(v, mu=0.3, model=m)) for m in ("cone", "pyramid"))
    assert cone.ok
    assert np.arctan2(cone.v[1], cone.v[0]) == pytest.approx(angle, abs=1e-3)
    assert pyramid.status is Status.APPROXIMATE
    assert "pyramids" in pyramid.reason
    assert abs(np.arctan2(pyramid.v[1], pyramid.v[0]) - angle) > 3e-3


@pytest.mark.parametrize("model", ["cone", "pyramid"])
def test_the_central_path_is_met_where_it_is_asked_for(model):
    problem, kappa = scenes.box_on_plane((0.5, 0.1, 0, 0, 0, 1.0), mu=0.4, model=model), 1e-6
    solution, point = StepInteriorPoint(kappa=kappa).solve_point(problem)
    assert solution.status is Status.APPROXIMATE
    assert "smoothed" in solution.reason
    r, u, slack = (x.reshape(8, 3) for x in (point.r, solution.u, point.slack))
    gamma, b, s, eta, slip = r[:, 0], r[:, 1:], slack[:, 0], slack[:, 1], u[:, 1:]
    np.testing.assert_allclose(gamma * s, kappa, rtol=1e-7)
    heights = problem.contacts.forms.point[:, 0] @ scenes.rotation(step_end(problem, point.v)[0, 3:]).T
    np.testing.assert_allclose(heights[:, 2] + step_end(problem, point.v)[0, 2], s, atol=1e-10)
    if model == "cone":
        np.testing.assert_allclose(0.4 * gamma * eta + (b * slip).sum(axis=1), kappa, rtol=1e-7)
        np.testing.assert_allclose(0.4 * gamma[:, None] * slip + eta[:, None] * b, 0.0, atol=1e-7 * kappa)
    else:
        F = point.facets[1::3]
        np.testing.assert_allclose(F[:, :4] * F[:, 4:8], kappa, rtol=1e-7)
        np.testing.assert_allclose(F[:, 8] * F[:, 9], kappa, rtol=1e-7)
        np.testing.assert_allclose(0.4 * gamma - F[:, :4].sum(axis=1), F[:, 9], rtol=1e-6)
    assert StepInteriorPoint().solve_point(problem)[1].kappa == 0.0


def test_momentum_is_kept_to_rounding_at_any_tolerance():
    problem = scenes.random_step(1)
    solution = StepInteriorPoint(tolerance=1e-4).solve(problem)
    assert solution.residuals.equilibrium < 1e-13


def test_other_problems_and_other_solvers_are_refused_by_name():
    problem = scenes.box_on_plane()
    with pytest.raises(ProblemError, match="ipm-step takes a StepProblem"):
        SOLVER.solve(step_tangent(problem, problem.v))
    for name in ("nsgs", "mcp", "ipm"):
        with pytest.raises(ProblemError, match=f"{name} does not take a StepProblem; ipm-step and auto do"):
            make(name).solve(problem)
    assert make("auto").solve(problem).ok


def test_few_iterations_end_with_an_honest_word():
    solution = replace(SOLVER, max_iterations=1).solve(scenes.box_on_plane((1, 2, -3, 1, 2, 3)))
    assert solution.status is Status.MAX_ITERATIONS
    assert solution.iterations == 1
    assert not solution.ok
    nan = scenes.box_on_plane((np.nan, 0, 0, 0, 0, 0))
    assert SOLVER.solve(nan).status is Status.NOT_FINITE
