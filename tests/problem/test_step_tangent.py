"""Whole steps as data: where they end, their components, and the tangent problem that the judge sees."""

import numpy as np
import pytest
import step_scenes as scenes

from stickslip.kernels.variational import geometry, law
from stickslip.problem.checks import ProblemError
from stickslip.problem.residuals import judge
from stickslip.problem.step_problem import StepProblem
from stickslip.problem.step_tangent import step_arrays, step_blocks, step_end, step_tangent


def stopped():
    """A hinge with stops and friction and a slider with one stop, in one chain with a foot that rolls."""
    made = scenes.chain(2)
    a = scenes.joint(
        scenes.HINGE, (0, -1), [[-0.1, 0, 0], [0, 0, 0.02]], lower=[-np.inf, -0.1], upper=[np.inf, 0.2],
        friction=[0.0, 0.01],
    )  # fmt: skip
    b = scenes.joint(scenes.SLIDER, (1, 0), [[-0.1, 0, 0], [0.1, 0, 0]], upper=[0.01, np.inf])
    foot = scenes.contact((1, -1), [[0.1, 0, 0], [0, 0, 0]], [0.5, 0.01, 0.02, 0], radius=(0.02, 0))
    return scenes.step(made.q, made.v, made.mass, made.J, [foot], [a, b])


def test_components_stand_in_their_order():
    blocks = step_blocks(stopped())
    assert [one.kind for one in blocks.K] == [
        "friction", "free", "nonnegative", "nonnegative", "interval", "free", "nonnegative",
    ]  # fmt: skip
    assert blocks.K.groups(0) == (2, 2, 1)
    assert blocks.K.offset.tolist() == [0, 6, 11, 12, 13, 14, 19, 20]
    assert blocks.joint.tolist() == [-1, 0, 0, 0, 0, 1, 1]
    assert blocks.part.tolist() == [-1, 0, 4, 5, 6, 0, 2]
    assert blocks.pairs.tolist() == [[1, -1]] + [[0, -1]] * 4 + [[1, 0]] * 2


@pytest.mark.parametrize("problem", [stopped(), scenes.random_step(1), scenes.random_step(4)])
def test_rows_of_the_end_are_derivatives_of_values(problem):
    blocks = step_blocks(problem)
    step = step_arrays(problem, blocks)
    v = np.random.default_rng(0).normal(size=problem.v.shape)
    rows = np.array(step_tangent(problem, v).H.rows)

    def values(at):
        X, end_rows = np.zeros((len(rows), law.COLUMNS)), rows.copy()
        end = np.empty(problem.q.shape)
        geometry.end_values(step, rows, at, end, X, end_rows)
        np.testing.assert_allclose(end, step_end(problem, at))
        return X[:, law.Y].copy(), end_rows

    y, slopes = values(v)
    body = np.repeat(blocks.sides, np.diff(blocks.K.offset), axis=0)
    for b in range(len(v)):
        for k in range(6):
            ahead, behind = v.copy(), v.copy()
            ahead[b, k] += 1e-5
            behind[b, k] -= 1e-5
            by_difference = (values(ahead)[0] - values(behind)[0]) / 2e-5
            exact = (slopes[:, :, k] * (body == b)).sum(axis=1)
            np.testing.assert_allclose(exact, by_difference, atol=1e-7 * max(1.0, np.abs(y).max()))


def test_the_tangent_problem_is_the_step_at_its_velocities():
    problem = scenes.box_on_plane((0.3, -0.2, -1.0, 2.0, -1.0, 3.0))
    v = np.array([0.1, 0.2, -0.3, 1.0, 2.0, -1.0])
    tangent = step_tangent(problem, v)
    end = step_end(problem, v)[0]
    corners = problem.contacts.forms.point[:, 0] @ scenes.rotation(end[3:]).T + end[:3]
    u = tangent.contact_velocity(v).reshape(-1, 3)
    largest = np.abs(u[:, 1:]).max()
    near = corners[:, 2] / problem.h < largest
    assert near.sum() >= 2
    np.testing.assert_allclose(u[near, 0], corners[near, 2] / problem.h, atol=1e-12)
    assert (u[~near, 0] > largest).all()
    J, spin, h = problem.J[0], v[3:], problem.h
    moment = J @ spin
    P = np.r_[v[:3], moment + h / 2 * np.cross(spin, moment) + h * h / 4 * (spin @ moment) * spin]
    np.testing.assert_allclose(tangent.M.multiply(v) - tangent.f, P - problem.p[0], atol=1e-14)
    assert tangent.is_matrix_free
    assert judge(tangent, np.zeros(24), v).equilibrium > 1e-3


def test_impact_has_cones_without_friction_and_unknown_models_are_refused():
    problem = scenes.box_on_plane(model="impact")
    assert (step_blocks(problem).K.coefficient == 0.0).all()
    fields = {name: getattr(problem, name) for name in StepProblem.__slots__}
    with pytest.raises(ProblemError, match="known: cone, pyramid, impact"):
        step_blocks(StepProblem(**{**fields, "model": "cones"}))
