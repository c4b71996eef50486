"""Sliders, stops and dry friction of worlds around robots, in loops and on kinematic bodies: closed forms."""

from itertools import permutations

import numpy as np
import pytest
from robot_models import pendulum

import stickslip as ss
from stickslip import Robot

G, H, A = 9.81, 1e-3, np.radians(30)
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
FREE = pendulum()
WEIGHTLESS = FREE.replace("<option ", '<option gravity="0 0 0" ')
ORDERS = tuple(permutations(("ground", "slope", "guide")))


def around(world, text=FREE, **how):
    """The run of a world around a robot."""
    return ss.simulate(Robot.load(text).with_world(world), until=0.4, h=H, **how)


def wedge(order=ORDERS[0], weight=True, **slope):
    """A wedge of 3 kg on the ground, a block of 1 kg on it that a guide holds upright: a loop of sliders."""
    b = ss.WorldBuilder() if weight else ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("wedge", ss.Cuboid((1, 0.1, 0.1)), position=(3, 0, 0), mass=3.0, group="parts")
    b.body("block", ss.Cuboid((0.1, 0.1, 0.1)), position=(3, 0, 1), mass=1.0, group="parts")
    b.apart_groups("parts", "parts")
    for name in order:
        if name == "ground":
            b.joint(name, "slider", "wedge", point=(3, 0, 0), axis=X)
        elif name == "slope":
            b.joint(
                name, "slider", "block", "wedge", point=(3, 0, 1), axis=(np.cos(A), 0, np.sin(A)), **slope
            )
        else:
            b.joint(name, "slider", "block", point=(3, 0, 1), axis=Z)
    return b


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("friction", [0.0, 5.0])
def test_a_loop_of_sliders_moves_by_the_closed_form(order, friction):
    """z' = X' tan A: z'' (m + M / tan² A) = F / sin A - m g, whichever joint closes the loop."""
    run = around(wedge(order, friction=friction).build())
    fall = (friction / np.sin(A) - G) / (1.0 + 3.0 / np.tan(A) ** 2) if friction / np.sin(A) < G else 0.0
    assert run.joint("guide").speed[-1] == pytest.approx(0.4 * fall, abs=1e-9)
    assert run.joint("slope").speed[-1] == pytest.approx(0.4 * fall / np.sin(A), abs=1e-9)
    assert run.joint("ground").speed[-1] == pytest.approx(-0.4 * fall / np.tan(A), abs=1e-9)
    assert run.opening.max() < 1e-9
    assert run.body("block").position[-1, 0] == pytest.approx(3.0, abs=1e-9)
    if friction == 5.0:
        assert fall == 0.0  # it sticks: F > m g sin A


@pytest.mark.parametrize("order", ORDERS[::5])
def test_a_stop_in_a_loop_bounces_with_its_restitution(order):
    """With one degree of freedom all velocities turn to -e of them."""
    world = wedge(order, weight=False, limits=(-0.05, None), e=0.6).build()
    robot = Robot.load(WEIGHTLESS).with_world(world)
    speed = np.zeros(robot.model.nv)
    for name in robot.names("joint"):
        rate = {"ground": 1.0, "slope": -1.0 / np.cos(A), "guide": -np.tan(A)}.get(name, 0.0)
        speed[robot.model.joint(name).dofadr[0]] = rate
    run = ss.simulate(robot, until=0.1, h=H, start=robot.state(qvel=speed))
    assert run.joint("slope").position.min() == pytest.approx(-0.05, abs=2 * H)
    for name, rate in (("ground", 1.0), ("slope", -1.0 / np.cos(A)), ("guide", -np.tan(A))):
        assert run.joint(name).speed[-1] == pytest.approx(-0.6 * rate, rel=1e-7)
    # The weight of a body that is cut is that of its parts.
    energy = 0.5 * (3.0 + np.tan(A) ** 2)
    assert run.energy[0] == pytest.approx(energy, rel=1e-9)
    assert run.energy[-1] == pytest.approx(0.36 * energy, rel=1e-7)


def test_friction_of_all_hinges_of_a_parallelogram_brakes_it():
    """J w' = -4 F with J = 2 J_crank + m l²: the loop has friction in every one of its joints."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    length, mass, friction = 0.4, 1.0, 0.02
    for name, x in (("left", 2.0), ("right", 2.5)):
        b.body(name, ss.Cuboid((0.02, 0.02, length)), position=(x, 0, -0.2), mass=mass, group="bars")
    b.body("bar", ss.Cuboid((0.5, 0.02, 0.02)), position=(2.25, 0, -length), mass=mass, group="bars")
    b.apart_groups("bars", "bars")
    for name, first, second, x, z in (
        ("a", "left", None, 2.0, 0.0), ("b", "bar", "left", 2.0, -length),
        ("c", "bar", "right", 2.5, -length), ("d", "right", None, 2.5, 0.0),
    ):  # fmt: skip
        b.joint(name, "hinge", first, second, point=(x, 0, z), axis=Y, friction=friction)
    world = b.build()
    robot = Robot.load(WEIGHTLESS).with_world(world)
    names, speed, spin = robot.names("joint"), np.zeros(robot.model.nv), 1.5
    for name, rate in (("a", spin), ("b", -spin), ("c", -spin), ("d", spin)):
        speed[robot.model.joint(name).dofadr[0]] = rate
    assert set("abcd") <= set(names)
    run = ss.simulate(robot, until=0.6, h=H, start=robot.state(qvel=speed))
    J = 2.0 * (world.inertia[0][1, 1] + mass * (0.5 * length) ** 2) + mass * length**2
    expected = np.maximum(spin - 4.0 * friction / J * run.t, 0.0)
    assert run.joint("a").speed == pytest.approx(expected, abs=2 * H)
    assert run.joint("c").speed == pytest.approx(-run.joint("a").speed, abs=1e-6)
    assert run.opening.max() < 1e-9


def test_an_input_drives_a_joint_that_closes_a_loop():
    """z'' (m + M / tan² A) = F / sin A, F along the slope."""
    b = wedge(ORDERS[1], weight=False)
    b.force(ss.forces.Actuator("drive", "slope", ss.forces.Input(2.0)))
    run = around(b.build(), WEIGHTLESS)
    up = 2.0 / np.sin(A) / (1.0 + 3.0 / np.tan(A) ** 2)
    assert run.joint("guide").speed[-1] == pytest.approx(0.4 * up, rel=1e-9)


def test_dry_friction_takes_a_bead_along_on_a_cart():
    """A cart goes with a t; a bead on its rail sticks for one step, and then follows with F / m."""
    b = ss.WorldBuilder()
    b.body("cart", ss.Sphere(0.1), position=(2, 0, 0), motion=lambda t: ((3.0 * t, 0, 0), (0, 0, 0)))
    b.body("bead", ss.Sphere(0.05), position=(2, 0, 1), mass=2.0)
    b.joint("rail", "slider", "bead", "cart", point=(2, 0, 1), axis=X, friction=4.0)
    run = around(b.build())
    bead = run.body("bead").velocity
    assert bead[1] == pytest.approx([3.0 * 0.5 * H, 0.0, 0.0], abs=1e-9)
    assert bead[-1] == pytest.approx([bead[1, 0] + 2.0 * (0.4 - H), 0.0, 0.0], abs=1e-9)
    assert run.joint("rail").speed[-1] == pytest.approx(bead[-1, 0] - 3.0 * (0.4 - 0.5 * H), abs=1e-9)
    assert run.joint("rail").effort[-1] == pytest.approx(4.0, rel=1e-9)
    assert run.opening.max() < 1e-9
    # The account has the energy of the bead, not of what carries it.
    gained = 0.5 * 2.0 * bead[-1, 0] ** 2
    assert run.energy[-1] - run.energy[0] == pytest.approx(gained, rel=1e-9)
    # Work of the cart less heat is what the bead gained.
    assert -run.dissipated[-1] == pytest.approx(gained, rel=1e-9)
    assert np.abs(run.balance).max() < 1e-9


def test_a_bead_slides_out_on_a_turntable():
    """r = r0 cosh w t along a rail that turns with w, until the stop takes it along at its end."""
    errors = []
    for h in (H, H / 4):
        b = ss.WorldBuilder()
        b.body("table", ss.Sphere(0.05), position=(2, 0, 0), motion=((0, 0, 0), (0, 0, 4.0)))
        b.body(
            "bead", ss.Sphere(0.05), position=(2.2, 0, 0), velocity=(0, 0.8, 0), spin=(0, 0, 4.0), mass=1.0
        )
        b.joint("rail", "slider", "bead", "table", point=(2.2, 0, 0), axis=X, limits=(None, 0.3))
        robot = Robot.load(FREE).with_world(b.build())
        assert robot.start.v[robot.model.joint("rail").dofadr[0]] == pytest.approx(0.0, abs=1e-12)
        run = ss.simulate(robot, until=0.5, h=h)
        before = run.t < np.arccosh(2.5) / 4.0 - 2 * h
        errors.append(np.abs(run.joint("rail").position - 0.2 * (np.cosh(4.0 * run.t) - 1.0))[before].max())
        assert run.joint("rail").position[-1] == pytest.approx(0.3, abs=1e-9)
        assert run.joint("rail").effort[-1] == pytest.approx(-0.5 * 4.0**2, rel=2 * h * 4.0)
    assert errors[0] < 2e-3
    assert errors[1] < 0.3 * errors[0]


def test_a_rope_tows_a_body():
    """A body at rest, on a rope of 1 m that a tug takes up after 0.25 s, goes with the tug from then on."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("tug", ss.Sphere(0.05), position=(2.5, 0, 0), motion=((2.0, 0, 0), (0, 0, 0)))
    b.body("barge", ss.Sphere(0.05), position=(2, 0, 0), mass=3.0)
    b.joint("rope", "distance", "barge", "tug", point=(2, 0, 0), second_point=(2.5, 0, 0), limits=(None, 1.0))
    run = around(b.build(), WEIGHTLESS)
    assert not run.body("barge").velocity[run.t < 0.25 - 2 * H].any()
    assert run.body("barge").velocity[-1] == pytest.approx([2.0, 0.0, 0.0], abs=1e-9)
    gap = run.body("tug").position[-1, 0] - run.body("barge").position[-1, 0]
    assert gap == pytest.approx(1.0, abs=1e-9)


def mixed():
    """A flap with stops and a screw on a waving arm, a slider between the arm and the ground."""
    b = ss.WorldBuilder()
    b.body(
        "arm",
        ss.Cuboid((1, 0.1, 0.1)),
        position=(3, 0, 0),
        motion=lambda t: ((0, np.sin(4 * t), 0), (0.5, 0, 1)),
    )
    b.body("flap", ss.Cuboid((0.1, 0.1, 0.4)), position=(3, 0, -0.3), mass=1.0, group="loose")
    b.joint(
        "lid", "hinge", "flap", "arm", point=(3, 0, -0.1), axis=X, limits=(-0.1, 0.3), e=0.3, friction=0.05
    )
    b.body("nut", ss.Cuboid((0.1, 0.1, 0.1)), position=(3.4, 0, -0.3), mass=1.0, group="loose")
    b.joint("screw", "cylindrical", "nut", "arm", point=(3.4, 0, -0.3), axis=Z, turn_friction=0.001,
            limits=(-0.1, None))  # fmt: skip
    b.apart_groups("loose", "default")
    return b.build()


def test_kinematic_bodies_hold_joints_as_in_the_world_alone():
    errors = []
    for h in (H, H / 4):
        run = ss.simulate(Robot.load(FREE).with_world(mixed()), until=0.3, h=h)
        alone = ss.simulate(mixed(), until=0.3, h=h)
        assert run.opening.max() < 1e-9
        errors.append(
            max(np.abs(run.body(n).position[-1] - alone.body(n).position[-1]).max() for n in ("flap", "nut"))
        )
    assert errors[0] < 5e-3
    assert errors[1] < 0.4 * errors[0]


@pytest.mark.parametrize("make", [lambda: wedge(ORDERS[1], friction=1.0).build(), mixed])
def test_such_runs_go_on_bit_for_bit(make, tmp_path):
    robot = Robot.load(FREE).with_world(make())
    whole = ss.simulate(robot, until=0.04, h=H)
    half = ss.simulate(robot, until=0.02, h=H)
    rest = ss.simulate(robot, until=0.04, h=H, start=half.checkpoint())
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert rest.energy[-1] == whole.energy[-1]
    if make is not mixed:  # functions of time are not written
        half.save(tmp_path / "run.h5")
        again = ss.read_trajectory(tmp_path / "run.h5")
        rest = ss.simulate(again.source, until=0.04, start=again.checkpoint())
        assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
