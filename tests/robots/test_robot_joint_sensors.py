"""Force and torque sensors of joints in worlds around robots: closed forms, and the world alone."""

import numpy as np
import pytest
from robot_models import pendulum

import stickslip as ss
from stickslip import Robot
from stickslip.forces import Actuator, BodyForce, Damper, Input, Spring
from stickslip.sensors import ForceSensor, Sensor, TorqueSensor

G, H = 9.81, 1e-3
X, Y, Z = (1, 0, 0), (0, 1, 0), (0, 0, 1)
FREE = pendulum()


def watched(b):
    """The world with sensors of the force and the moment of every joint."""
    for name in b.build().joints.names:
        b.sensor(ForceSensor(f"force {name}", joint=name))
        b.sensor(TorqueSensor(f"moment {name}", joint=name))
    return b.build()


def around(b, **how):
    """A run of the world around a pendulum."""
    return ss.simulate(Robot.load(FREE).with_world(watched(b)), **({"until": 0.1, "h": H} | how))


def hung(**motion):
    """A bar of 2 kg that hangs on a hinge, 0.5 m above its centre."""
    b = ss.WorldBuilder()
    b.body("bar", ss.Cuboid((0.1, 0.1, 1.0)), position=(2, 0, -0.5), mass=2.0, **motion)
    b.joint("pin", "hinge", "bar", point=(2, 0, 0), axis=Y)
    return b


def test_a_hinge_carries_the_weight_of_what_hangs_on_it():
    b = hung()
    b.body("bob", ss.Sphere(0.1), position=(2.3, 0, -1), mass=1.0)
    b.joint("glue", "fixed", "bar", "bob", point=(2, 0, -1))  # the force on the bar: downwards
    run = around(b, until=H)
    np.testing.assert_allclose(run.sensors["force glue"][0], 0.0)  # no step was made
    turning = run.sensors["moment pin"][-1] @ Y
    assert turning == pytest.approx(0.0, abs=1e-4)
    # With the bob beside it the bar begins to turn: (I + m r²) a = -m g x.
    c = np.array([[0.0, 0.0, -0.5], [0.3, 0.0, -1.0]])
    m = np.array([2.0, 1.0])
    J = 2.0 * (0.01 + 1.0) / 12.0 + 0.4 * 0.01 + m @ (c * c).sum(axis=1)
    a = m @ c[:, 0] * G / J  # about y
    force = m @ (np.cross(a * np.array(Y), c) + np.array([0, 0, G]))
    np.testing.assert_allclose(run.sensors["force pin"][-1], force, rtol=2e-3)
    b = hung()
    run = around(b)
    np.testing.assert_allclose(run.sensors["force pin"][1:], [[0, 0, 2 * G]] * 100, atol=1e-9)
    np.testing.assert_allclose(run.sensors["moment pin"], 0.0, atol=1e-9)


def test_a_loop_divides_the_weight_on_both_of_its_ends():
    """A plate of 4 kg on two links: each hinge carries half of it, the upper ones a link more."""
    b = ss.WorldBuilder()
    b.body("plate", ss.Cuboid((1, 0.1, 0.1)), position=(3, 0, -1), mass=4.0, group="parts")
    for side, x in (("left", 2.5), ("right", 3.5)):
        b.body(side, ss.Cuboid((0.1, 0.1, 1)), position=(x, 0, -0.5), mass=1.0, group="parts")
        b.joint(f"top {side}", "hinge", side, point=(x, 0, 0), axis=Y)
        b.joint(f"low {side}", "hinge", "plate", side, point=(x, 0, -1), axis=Y)
    b.apart_groups("parts", "parts")
    run = around(b)
    assert len(run.source.names("equality")) == 2  # one of them closes the loop
    for side in ("left", "right"):
        np.testing.assert_allclose(run.sensors[f"force low {side}"][-1], (0, 0, 2 * G), atol=1e-7)
        np.testing.assert_allclose(run.sensors[f"force top {side}"][-1], (0, 0, 3 * G), atol=1e-7)
        np.testing.assert_allclose(run.sensors[f"moment low {side}"][-1], 0.0, atol=1e-7)


def test_a_body_that_swings_pulls_with_its_centrifugal_force():
    """At the lowest point: m g + m w² r."""
    w = 3.0
    run = around(hung(velocity=(-0.5 * w, 0, 0), spin=(0, w, 0)), until=H)
    np.testing.assert_allclose(
        run.sensors["force pin"][-1], (0, 0, 2 * (G + w * w * 0.5)), rtol=1e-3, atol=0.1
    )
    fine = around(hung(velocity=(-0.5 * w, 0, 0), spin=(0, w, 0)), until=1e-5, h=1e-5)
    np.testing.assert_allclose(
        fine.sensors["force pin"][-1], (0, 0, 2 * (G + w * w * 0.5)), rtol=1e-5, atol=1e-3
    )


@pytest.mark.parametrize("effort", [Input(5.0), lambda t: 5.0])
def test_the_stand_of_a_motor_holds_its_torque(effort):
    """Upwards turned wheel: the motor pushes it with 5 N m, and its stand, on a post, with -5 N m."""
    b = ss.WorldBuilder()
    b.body("post", ss.Cuboid((0.1, 0.1, 1)), position=(3, 0, 0), mass=2.0, group="parts")
    b.body("wheel", ss.Cylinder(0.3, 0.1), position=(3, 0, 1), mass=1.0, group="parts")
    b.apart_groups("parts", "parts")
    b.joint("foot", "fixed", "post", point=(3, 0, -0.5))
    b.joint("axle", "hinge", "wheel", "post", point=(3, 0, 1), axis=Z)
    b.force(Actuator("motor", "axle", effort))
    run = around(b)
    assert run.joint("axle").speed[-1] == pytest.approx(5.0 * 0.1 / (0.5 * 0.09), rel=1e-9)
    np.testing.assert_allclose(run.sensors["moment axle"][1:], 0.0, atol=1e-9)  # the joint itself is free
    np.testing.assert_allclose(run.sensors["moment foot"][1:], [[0, 0, 5.0]] * 100, atol=1e-9)
    np.testing.assert_allclose(run.sensors["force foot"][1:], [[0, 0, 3 * G]] * 100, atol=1e-9)


def chain():
    """Two hinges that swing, and a screw with dry friction."""
    b = ss.WorldBuilder()
    b.body("one", ss.Cuboid((0.1, 0.1, 0.4)), position=(2, 0, -0.2), mass=1.0)
    b.body("two", ss.Cuboid((0.4, 0.1, 0.1)), position=(2.2, 0, -0.4), mass=2.0)
    b.joint("low", "hinge", "one", "two", point=(2, 0, -0.4), axis=Y)
    b.joint("top", "hinge", "one", point=(2, 0, 0), axis=Y)
    b.body("nut", ss.Cuboid((0.1, 0.1, 0.1)), position=(6, 0, 0), spin=(0, 0, 3), mass=1.0)
    b.joint("screw", "cylindrical", "nut", point=(6, 0, 0), axis=Z, friction=2.0, turn_friction=0.001)
    return b


def forces():
    """A chain that closes with a ball joint, with springs, motors, a damper and a push."""
    b = ss.WorldBuilder()
    b.body("a", ss.Cuboid((1, 0.1, 0.1)), position=(2.5, 0, 0), mass=1.0, group="parts")
    b.body("b", ss.Cuboid((0.1, 0.1, 1)), position=(3.5, 0.3, 0), mass=2.0, group="parts")
    b.apart_groups("parts", "parts")
    b.joint("1", "hinge", "a", point=(2, 0, 0), axis=Y)
    b.joint("2", "ball", "b", "a", point=(3, 0, 0))
    b.joint("3", "ball", "b", point=(4, 1, -0.7))
    b.force(Spring("cross", "a", "b", first_point=(2.5, 0, 0.05), second_point=(3.5, 0.3, 0.4),
                   stiffness=100.0, length=0.1, damping=2.0))  # fmt: skip
    b.force(Spring("up", "a", second_point=(2.5, 0, 1.0), stiffness=100.0, length=0.1, damping=2.0))
    b.force(Actuator("motor", "1", Input(3.0)))
    b.force(Actuator("wave", "1", lambda t: 2.0 * np.sin(9.0 * t)))
    b.force(BodyForce("push", "b", force=(1, 2, 3), moment=(0.1, 0, 0.2)))
    b.force(Damper("drag", "b", linear=0.5, angular=0.1))
    return b


def welded():
    """A chain of a ball joint, a cylindrical one and a ball joint that a fixed joint closes."""
    b = ss.WorldBuilder()
    for name, x, z in (("a", 2.5, 0), ("b", 3.5, 0), ("c", 4.5, 0.5)):
        b.body(name, ss.Cuboid((0.9, 0.1, 0.1)), position=(x, 0, z), mass=1.0, group="parts")
    b.apart_groups("parts", "parts")
    b.joint("1", "ball", "a", point=(2, 0, 0))
    b.joint("2", "cylindrical", "b", "a", point=(3, 0, 0), axis=X, friction=1.0)
    b.joint("3", "ball", "c", "b", point=(4, 0, 0.2))
    b.joint("4", "fixed", "c", point=(4.5, 0, 1.0))
    return b


def carried():
    """On a crank: an arm with a rod to the crank, and a nut with dry friction."""
    b = ss.WorldBuilder()
    b.body("crank", ss.Sphere(0.1), position=(6, 0, 0), motion=((0, 0, 0), (0, 2.0, 0)))
    b.body("arm", ss.Cuboid((0.1, 0.1, 0.4)), position=(6.5, 0, -0.2), mass=1.0)
    b.joint("pin", "hinge", "arm", "crank", point=(6.5, 0, 0), axis=Y)
    b.joint("rod", "distance", "arm", "crank", point=(6.5, 0, -0.4), second_point=(6, 0, 0.1))
    b.body("nut", ss.Cuboid((0.1, 0.1, 0.4)), position=(8, 0, 0), mass=1.0, spin=(0, 0, 3))
    b.joint("screw", "cylindrical", "nut", "crank", point=(8, 0, 0), axis=Z, turn_friction=0.01, friction=0.2)
    return b


@pytest.mark.parametrize("make", [chain, forces, welded, carried])
def test_joints_show_what_they_show_in_the_world_alone(make):
    """To the order of the scheme: a quarter of the step has a quarter of the difference."""
    gaps = []
    for h in (H, H / 4):
        run, alone = around(make(), until=0.05, h=h), ss.simulate(watched(make()), until=0.05, h=h)
        gaps.append(
            {name: np.abs(run.sensors[name] - shown)[4:].max() for name, shown in alone.sensors.items()}
        )
        size = max(np.abs(shown[4:]).max() for shown in alone.sensors.values())
    for name, fine in gaps[1].items():
        assert fine < 0.3 * gaps[0][name] + 1e-6 * size, name
        assert fine < 1e-2 * size, name


@pytest.mark.parametrize("order", [("ground", "slope", "guide"), ("guide", "slope", "ground")])
def test_a_body_that_is_cut_for_its_joints_has_all_of_their_forces(order):
    """A block of 1 kg on a wedge, which a guide holds upright and friction holds back."""
    angle = np.radians(30)
    b = ss.WorldBuilder()
    b.body("wedge", ss.Cuboid((1, 0.1, 0.1)), position=(3, 0, 0), mass=3.0, group="parts")
    b.body("block", ss.Cuboid((0.1, 0.1, 0.1)), position=(3, 0, 1), mass=1.0, group="parts")
    b.apart_groups("parts", "parts")
    slope = (np.cos(angle), 0, np.sin(angle))
    for name in order:
        if name == "ground":
            b.joint(name, "slider", "wedge", point=(3, 0, 0), axis=X)
        elif name == "slope":
            b.joint(name, "slider", "block", "wedge", point=(3, 0, 1), axis=slope, friction=9.0)
        else:
            b.joint(name, "slider", "block", point=(3, 0, 1), axis=Z)
    shown = around(b, until=0.02).sensors
    np.testing.assert_allclose(shown["force ground"][-1], (0, 0, 4 * G), atol=1e-6)
    # Nothing moves: the slope carries the block, of which the guide takes no weight.
    np.testing.assert_allclose(shown["force slope"][-1] + shown["force guide"][-1], (0, 0, G), atol=1e-6)
    assert shown["force guide"][-1, 2] == pytest.approx(0.0, abs=1e-6)


def test_a_rope_pulls_where_it_is_tight():
    b = ss.WorldBuilder()
    b.body("weight", ss.Sphere(0.1), position=(3, 0, -0.5), mass=1.0)
    b.joint("rope", "distance", "weight", point=(3, 0, -0.5), second_point=(3, 0, 0), limits=(None, 0.5))
    b.body("load", ss.Sphere(0.1), position=(5, 0, 0.5), mass=2.0)
    b.joint("rest", "distance", "load", point=(5, 0, 0.5), second_point=(5, 0, 0), limits=(0.5, None))
    shown = around(b).sensors
    np.testing.assert_allclose(shown["force rope"][2:], [[0, 0, G]] * 99, atol=1e-6)
    np.testing.assert_allclose(shown["force rest"][2:], [[0, 0, 2 * G]] * 99, atol=1e-6)


@pytest.mark.parametrize("record", [1, 4])
def test_readings_of_joints_are_the_same_however_steps_are_made(record):
    how = {"until": 0.052, "record": record}
    together = around(forces(), **how)
    alone = around(forces(), **how, solver="newton-ac")
    own = ss.live(Robot.load(FREE).with_world(watched(forces())), h=H, record=record)
    own.step(52)
    stepped = own.run()
    for name, shown in together.sensors.items():
        np.testing.assert_array_equal(shown, stepped.sensors[name])
        np.testing.assert_allclose(shown, alone.sensors[name], atol=1e-4 * max(np.abs(shown).max(), 1.0))


def test_forces_that_the_user_applies_to_bodies_are_carried():
    live = Robot.load(FREE).with_world(watched(hung())).live(h=H)
    live.data.body("bar").xfrc_applied[:3] = (0, 7.0, -3.0)
    live.step(10)
    force = live.run().sensors["force pin"][-1]
    np.testing.assert_allclose(force, (0, -7.0, 2 * G + 3.0), atol=1e-9)


def test_functions_of_readings_ask_for_reactions_by_name():
    b = hung()
    b.sensor(Sensor("lift", lambda reading: reading.reaction("pin")[0][2]))
    world = b.build()
    run = ss.simulate(Robot.load(FREE).with_world(world), until=0.01, h=H)
    assert run.sensors["lift"][-1] == pytest.approx(2 * G, abs=1e-9)
    assert ss.simulate(world, until=0.01, h=H).sensors["lift"][-1] == pytest.approx(2 * G, abs=1e-6)
    b.sensor(Sensor("wrong", lambda reading: reading.reaction("pinn")[0]))
    with pytest.raises(ss.ModelError, match=r"pinn.*pin"):
        ss.simulate(Robot.load(FREE).with_world(b.build()), until=0.01, h=H)


@pytest.mark.parametrize("h", [H, H / 2])
def test_what_is_held_twice_has_no_forces_of_rounding(h):
    """A bar with two pins, one above the other: what the second holds vertically is held by the first."""
    b = hung()
    b.body("knob", ss.Sphere(0.05), position=(2, 0, -1), mass=1.0)
    b.joint("grip", "hinge", "knob", "bar", point=(2, 0, -1), axis=Y, friction=0.1)
    b.joint("stay", "hinge", "knob", point=(2, 0, -1), axis=Y)
    b.force(BodyForce("push", "bar", force=(5.0, 0, 0)))
    run = around(b, h=h)
    assert np.abs(run.joint_r).max() < 10.0 * h
    for name in ("pin", "grip", "stay"):
        assert np.abs(run.sensors[f"force {name}"]).max() < 40.0
