"""Robots do what mechanics says: closed forms, conservation, and the same as worlds and equations."""

import numpy as np
import pytest
from robot_models import ball, four_bar, gripper, pendulum, scene, slope
from scipy.optimize import brentq

import stickslip as ss
from stickslip import Robot

G = 9.81


def test_a_gripped_box_does_not_creep():
    """Ten seconds of hold: the box moves with the hand to 1e-9 m."""
    robot = Robot.load(gripper())
    run = ss.simulate(robot, until=11.0, record=100, control=lambda data: (0.0, 8.0, 8.0))
    fall = run.joint("free").position[:, 2] - run.joint("lift").position
    later = fall[run.t >= 1.0]
    assert np.ptp(later) < 1e-9
    assert run.missed == 0


@pytest.mark.parametrize("mu", [0.3, 0.7])
def test_a_box_on_a_slope_sticks_or_slides(mu):
    """tan 0.5 = 0.546: it slides with g (sin a - mu cos a), or stays."""
    angle = 0.5
    run = ss.simulate(Robot.load(slope(angle, mu)), until=0.5, h=1e-3)
    moved = run.body("box").position[-1] - run.body("box").position[0]
    expected = 0.5 * max(0.0, G * (np.sin(angle) - mu * np.cos(angle))) * 0.25
    along = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    assert moved @ along == pytest.approx(expected, abs=2e-3 * expected + 1e-9)
    assert np.linalg.norm(moved - (moved @ along) * along) < 1e-7


@pytest.mark.parametrize("h", [2e-3, 5e-4])
def test_a_ball_bounces_to_e_squared_of_its_height(h):
    """Three times; to the order of h, since an impact comes up to a step early."""
    robot = Robot.load(ball(0.55), restitution=0.8)
    run = ss.simulate(robot, until=1.5, h=h)
    height, speed = run.body("ball").position[:, 2] - 0.05, run.joint("ball").speed[:, 2]
    hits = np.flatnonzero((speed[1:] > 0.0) & (speed[:-1] < 0.0))
    assert hits.size == 3
    for n, (k, end) in enumerate(zip(hits, [*hits[1:], len(run)], strict=True), 1):
        assert speed[k + 1] / -speed[k] == pytest.approx(0.8, abs=1e-6)
        assert height[k:end].max() == pytest.approx(0.5 * 0.64**n, abs=np.sqrt(2 * G * 0.5) * h)


def test_restitution_is_given_by_name_or_for_all():
    by_name = Robot.load(ball(0.55), restitution={"skin": 0.8, "floor": 0.9})
    assert by_name.restitution.tolist() == [0.9, 0.8]
    with pytest.raises(KeyError, match="skim"):
        Robot.load(ball(0.55), restitution={"skim": 0.8})


def test_a_pendulum_is_that_of_the_equations():
    """The same pendulum written as an equation, to the order of the scheme."""
    ends = []
    for h in (2e-3, 1e-3):
        robot = Robot.load(pendulum())
        start = robot.state([1.0], [0.0])
        run = ss.simulate(robot, until=1.0, h=h, start=start)
        angle = run.joint("hinge").angle
        ends.append(angle[-1])
    written = ss.Lagrangian("rod", M=1.0, q0=1.0, F_int=lambda q: G * np.sin(q))
    fine = ss.simulate(ss.NonsmoothSystem([written], []), until=1.0, h=2e-5).q[-1, 0]
    errors = np.abs(np.array(ends) - fine)
    assert errors[1] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.5)


def test_a_pendulum_is_that_of_placed_bodies():
    """A point of 1 kg, 1 m from a hinge: the same angle to the order of the scheme."""
    text = pendulum()
    model = Robot.load(text).model
    J, c = model.body_inertia[1], model.body_ipos[1]
    errors = []
    for h in (2e-3, 1e-3):
        robot = Robot.load(text)
        mine = ss.simulate(robot, until=1.0, h=h, start=robot.state([1.0], [0.0])).joint("hinge").angle[-1]
        turn = np.array([[np.cos(1.0), 0.0, np.sin(1.0)], [0.0, 1.0, 0.0], [-np.sin(1.0), 0.0, np.cos(1.0)]])
        b = ss.WorldBuilder()
        b.body("rod", ss.Sphere(0.05), position=turn @ c, quaternion=(np.cos(0.5), 0.0, np.sin(0.5), 0.0),
               mass=float(model.body_mass[1]), inertia=np.diag(J))  # fmt: skip
        b.joint("pivot", "hinge", "rod", point=(0, 0, 0), axis=(0, 1, 0))
        placed = ss.simulate(b.build(), until=1.0, h=h).joint("pivot").angle[-1]
        errors.append(abs(mine - (1.0 + placed)))
    assert errors[1] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.5)


def test_dry_friction_stops_a_pendulum_at_the_angle_of_the_closed_form():
    """Swing by swing G (cos q' - cos q) = f |q - q'|, until friction holds it."""
    friction, q = 2.0, 1.2
    while G * np.sin(abs(q)) > friction:
        swing = lambda x, q=q: G * (np.cos(x) - np.cos(q)) - friction * (abs(q) + x)  # noqa: E731
        low, high = -np.arcsin(friction / G) if swing(0.0) < 0.0 else 0.0, abs(q)
        q = -np.sign(q) * brentq(swing, low, high - 1e-9)
    errors = []
    for h in (1e-3, 2.5e-4):
        robot = Robot.load(pendulum(friction))
        run = ss.simulate(robot, until=8.0, h=h, start=robot.state([1.2], [0.0]))
        errors.append(abs(run.joint("hinge").angle[-1] - q))
    assert errors[0] < 5e-3
    assert errors[1] < 0.5 * errors[0]


def test_dry_friction_stops_a_pendulum_where_statics_allows():
    """It comes to rest, within the angles that friction holds, and stays there exactly."""
    friction = 2.0
    robot = Robot.load(pendulum(friction))
    run = ss.simulate(robot, until=8.0, h=1e-3, start=robot.state([1.2], [0.0]))
    angle, speed = run.joint("hinge").angle, run.joint("hinge").speed
    assert abs(angle[-1]) <= np.arcsin(friction / G) + 1e-6
    assert speed[-1000:] == pytest.approx(0.0, abs=1e-12)
    assert np.ptp(angle[-1000:]) < 1e-12
    # What friction does there is what gravity wants.
    assert run.joint("hinge").effort[-1] == pytest.approx(G * np.sin(angle[-1]), rel=1e-6)
    # Up to the first turn, friction takes its moment times the angle.
    turn = int(np.argmax((speed[1:] >= 0.0) & (speed[:-1] < 0.0)))
    q0, q1 = 1.2, angle[turn]
    assert G * (np.cos(q1) - np.cos(q0)) == pytest.approx(friction * (q0 - q1), rel=5e-3)


def test_a_four_bar_stays_closed():
    robot = Robot.load(four_bar())
    run = ss.simulate(robot, until=2.0, h=1e-3, start=robot.state([0.3, -0.3, 0.3]))
    assert run.opening[1:].max() < 1e-9
    # A parallelogram: the rocker turns as the crank does.
    crank = run.joint("crank").angle
    assert np.ptp(crank) > 0.5
    assert run.joint("coupler").angle == pytest.approx(-crank, abs=1e-6)


SPRINGS = scene(
    """<body><joint name="a" type="slide" axis="0 0 1" stiffness="200" frictionloss="1" range="-.08 .1"
    limited="true"/><geom size=".1" mass="1" contype="0" conaffinity="0"/><body pos="0 0 1"><joint name="b"
    type="slide" axis="0 0 1" stiffness="3000" damping=".5"/><geom size=".1" mass="2" contype="0"
    conaffinity="0"/></body></body>"""
)
SLIDING = scene(
    """<geom type="plane" size="9 9 .1"/><body pos="0 0 .05"><joint type="slide" axis="1 0 0"/>
    <joint type="slide" axis="0 0 1"/><geom type="box" size=".1 .1 .05" mass="1"/></body>"""
)


@pytest.mark.parametrize(
    ("text", "q", "v"),
    [(ball(0.55), None, None), (SLIDING, [0.0, 0.2], [2.0, 1.0]), (SPRINGS, [0.05, 0.02], [0.0, -2.0])],
)
def test_energy_of_a_passive_model_with_constant_masses_never_grows(text, q, v):
    """Free fall loses (h g)² m / 2 in every step; springs, dampers, limits, friction, contact lose, too."""
    robot = Robot.load(text)
    run = ss.simulate(robot, until=1.5, h=2e-3, start=robot.state(q, v))
    assert np.diff(run.energy).max() < 1e-12 * run.energy[0]
    assert run.energy[-1] < run.energy[0] - 0.1


def test_energy_of_a_swing_grows_by_the_second_order_term_alone():
    """In a step by h² (G v² cos q - G² sin² q) / 2; in 10 s by what has the order of h, and no more after."""
    most = []
    for h in (2e-3, 1e-3):
        robot = Robot.load(pendulum())
        run = ss.simulate(robot, until=10.0, h=h, start=robot.state([1.0], [0.0]))
        q, v = run.joint("hinge").angle[1:], run.joint("hinge").speed[1:]
        expected = 0.5 * h**2 * (G * v**2 * np.cos(q) - G**2 * np.sin(q) ** 2)
        assert np.diff(run.energy) == pytest.approx(expected, abs=200.0 * h**3)
        half = run.t < 5.0
        assert run.energy[~half].max() == pytest.approx(run.energy[half].max(), abs=h**2)
        most.append(run.energy.max() - run.energy[0])
        damped = Robot.load(pendulum(damping=0.1))
        run = ss.simulate(damped, until=5.0, h=h, start=damped.state([1.0], [0.0]))
        assert np.diff(run.energy).max() < 0.0
        assert np.abs(run.balance).max() < 5.0 * h * (run.energy[0] - run.energy[-1])
    assert most[0] / most[1] == pytest.approx(2.0, abs=0.02)


def test_a_mocap_plate_carries_a_box(tmp_path):
    """The plate moves with 0.2 m/s; friction takes the box along, and it is lifted as fast as the plate."""
    robot = Robot.load(
        scene(
            """<body name="plate" mocap="true">
            <geom type="box" size="1 1 .05" friction="1 .005 .0001"/></body>
            <body name="box" pos="0 0 .1"><freejoint name="free"/><geom type="box" size=".1 .1 .05" mass="1"
            friction="1 .005 .0001"/></body>"""
        )
    )
    live = ss.live(robot, h=0.002)
    live.step(10)
    for k in range(1, 501):
        live.inputs["plate"] = (0.2 * 0.002 * k, 0.0, 0.1 * 0.002 * k)
        live.step()
    velocity = live.run().joint("free").speed[-1]
    assert velocity == pytest.approx([0.2, 0.0, 0.1, 0.0, 0.0, 0.0], abs=1e-7)
    plate = live.run().body("plate").velocity
    assert plate[10:12] == pytest.approx(np.array([[0.0, 0.0, 0.0], [0.2, 0.0, 0.1]]), abs=1e-9)
    last = live.run().body("box").position[-1]
    assert last[2] - 0.1 == pytest.approx(0.1, abs=1e-6)
    assert live.run().penetration.max() < 1e-6
    live.run().save(tmp_path / "run.h5")
    told = ss.read_trajectory(tmp_path / "run.h5").inputs["plate"]
    np.testing.assert_array_equal(told[11:, 0], 0.2 * 0.002 * np.arange(1, 501))
    np.testing.assert_array_equal(told[:11], [[0, 0, 0, 1, 0, 0, 0]] * 11)


def test_a_box_stays_on_a_plate_that_goes_down():
    """It falls behind until g t² / 2 = w t, and then goes down with the plate and stays on it."""
    h, w = 0.002, 0.1
    plate = """<body name="plate" mocap="true"><geom type="box" size="1 1 .05"/></body>
    <body name="box" pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .05" mass="1"/></body>"""
    live = ss.live(Robot.load(scene(plate)), h=h)
    for k in range(1, 101):
        live.inputs["plate"] = (0.0, 0.0, -w * h * k)
        live.step()
    run = live.run()
    gap = run.body("box").position[:, 2] - run.body("plate").position[:, 2] - 0.1
    landed = int(np.ceil(2.0 * w / G / h)) + 2
    assert gap[:landed].max() > 0.4 * w**2 / G
    assert np.abs(gap[landed:]).max() < 1e-12
    assert run.body("box").velocity[landed:, 2] == pytest.approx(-w, abs=1e-12)
    assert run.correction[landed:].max() < 1e-12


def test_a_weld_to_a_mocap_body_follows_it():
    robot = Robot.load(
        scene(
            """<body name="goal" mocap="true" pos="0 0 1"/>
            <body name="box" pos="0 0 1"><freejoint name="free"/>
            <geom type="box" size=".1 .1 .05" mass="1"/></body>""",
            '<equality><weld body1="goal" body2="box"/></equality>',
        )
    )
    live = ss.live(robot, h=0.002)
    for k in range(1, 301):
        live.inputs["goal"] = (0.1 * np.sin(0.02 * k), 0.0, 1.0)
        live.step()
    run = live.run()
    assert run.opening.max() < 1e-9
    assert run.joint("free").position[-1, 0] == pytest.approx(0.1 * np.sin(6.0), abs=1e-9)
