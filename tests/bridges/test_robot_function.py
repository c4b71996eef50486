"""Steps of robots as functions of plain arrays, of JAX and of torch."""

import numpy as np
import pytest
from robot_models import FLOOR, scene

import stickslip as ss
from stickslip.bridges.step_function import RobotStepFunction
from stickslip.differentiation import made_solver
from stickslip.state import ModelError

DISC = scene(
    f"""{FLOOR}<body pos="0 0 .0501"><freejoint/>
    <geom name="disc" type="ellipsoid" size=".08 .06 .05" mass=".3" condim="4"/>
    <body pos="0 0 .06"><joint name="wheel" axis="0 0 1"/><geom type="box" size=".03 .03 .01" mass=".1"
    contype="0" conaffinity="0"/></body></body>""",
    '<actuator><motor joint="wheel"/></actuator>',
)
V = [0.4, 0.1, -0.2, 0.5, 0.3, 1.0, 2.0]
INPUTS = ("ctrl", "mass", "friction")


def given(robot, steps):
    rng, m = np.random.default_rng(0), robot.model
    q = np.array(m.qpos0)
    q[3:7] = 1.3 * np.array([0.99, 0.01, 0.02, 0.05])  # of any length
    return q, np.array(V), rng.normal(size=(steps, 1)), np.array(m.body_mass), np.array(m.geom_friction)


def function(robot, inputs=INPUTS, **how):
    return RobotStepFunction(robot=robot, h=2e-3, solver=made_solver("auto", 1e-13), inputs=inputs, **how)


@pytest.mark.parametrize("path", [False, True])
def test_forwards_backwards_and_differences(path):
    robot = ss.Robot.load(DISC)
    f = function(robot, steps=3, path=path)
    x = given(robot, 3)
    rng = np.random.default_rng(1)
    change = [rng.normal(size=one.shape) * (0.01 if k > 2 else 1.0) for k, one in enumerate(x)]
    change[3][0] = 0.0  # the mass of the world
    change[4][0] = 0.0  # the floor has the smaller coefficients
    x[4][1] = [1.3, 0.01, 0.0001]
    q, v = f.value(*x)
    assert np.abs(q[..., 2]).max() < 0.06  # it touches
    there = f.tangent(x[0], x[1], x[2:], *change)
    up, down = (f.value(*(a + s * b for a, b in zip(x, change, strict=True))) for s in (1e-6, -1e-6))
    for found, a, b in zip(there, up, down, strict=True):
        np.testing.assert_allclose(found, (a - b) / 2e-6, atol=1e-4 * max(1.0, np.abs(found).max()))
    weights = [rng.normal(size=one.shape) for one in (q, v)]
    back = f.transposed(x[0], x[1], x[2:], *weights)
    left = sum(np.sum(a * b) for a, b in zip(weights, there, strict=True))
    right = sum(np.sum(a * b) for a, b in zip(back, change, strict=True))
    assert left == pytest.approx(right, rel=1e-9)


def test_one_control_for_all_steps():
    robot = ss.Robot.load(DISC)
    f = function(robot, ("ctrl", "force"), steps=2)
    q, v, ctrl, *_ = given(robot, 2)
    force = np.full(7, 0.1)
    dq, dv = np.zeros(8), np.ones(7)
    one = f.transposed(q, v, (ctrl[0], force), dq, dv)
    rows = f.transposed(q, v, (np.tile(ctrl[0], (2, 1)), np.tile(force, (2, 1))), dq, dv)
    np.testing.assert_allclose(one[2], rows[2].sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(one[3], rows[3].sum(axis=0), rtol=1e-12)


def test_torch():
    torch = pytest.importorskip("torch")
    robot = ss.Robot.load(DISC)
    step = ss.step_function(robot, 2e-3, "torch", inputs=("ctrl",))
    q, v, ctrl, *_ = (torch.tensor(one, dtype=torch.float64, requires_grad=True) for one in given(robot, 1))
    end_q, end_v = step(q, v, ctrl)
    (end_q[0] + end_v[6]).backward()
    x = given(robot, 1)
    state = robot._state(_unit(x[0]), np.array(V), ctrl=x[2][0])
    found = ss.differentiate(robot, state, h=2e-3)
    weights = {"v": np.eye(7)[6], "q": np.eye(7)[0]}
    np.testing.assert_allclose(ctrl.grad[0], found.vjp(**weights)["ctrl"], rtol=1e-6)
    np.testing.assert_allclose(v.grad, found.vjp(**weights)["v"], rtol=1e-6)


def test_jax():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    try:
        robot = ss.Robot.load(DISC)
        step = ss.step_function(robot, 2e-3, "jax", inputs=("ctrl",))
        q, v, ctrl, *_ = given(robot, 1)
        by = jax.jit(jax.grad(lambda c: step(q, v, c)[1][6]))(ctrl[0])
        forwards = jax.jacfwd(lambda c: step(q, v, c)[1][6])(ctrl[0])
        np.testing.assert_allclose(by, forwards, rtol=1e-9)
        up, down = (step(q, v, ctrl[0] + s)[1][6] for s in (1e-3, -1e-3))
        np.testing.assert_allclose(by[0], (up - down) / 2e-3, rtol=1e-6)
    finally:
        jax.config.update("jax_enable_x64", before)


def test_what_is_given_wrongly():
    robot = ss.Robot.load(DISC)
    with pytest.raises(ModelError, match="unknown input 'effort'"):
        ss.step_function(robot, 2e-3, "torch", inputs=("effort",))
    f = function(robot)
    x = list(given(robot, 1))
    x[0] = np.zeros(8)
    with pytest.raises(ModelError, match="not of unit length"):
        f.value(*x)


def _unit(q):
    q = np.array(q)
    q[3:7] /= np.linalg.norm(q[3:7])
    return q


def test_restitution_is_an_input():
    """A disc that falls flat leaves with e times its speed: the derivative is that speed."""
    robot = ss.Robot.load(DISC, restitution={"floor": 0.9, "disc": 0.5})
    f = function(robot, ("restitution",))
    q, v = np.array(robot.model.qpos0), np.array([0.0, 0.0, -0.5, 0.0, 0.0, 0.0, 0.0])
    weights = np.zeros(8), np.eye(7)[2]
    by = f.transposed(q, v, (np.array(robot.restitution),), *weights)[2]
    np.testing.assert_allclose(by, [0.0, 0.5, 0.0], atol=1e-9)
