"""Joints of a run by name: coordinates and reactions against closed forms and against Newton's law."""

from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.kernels.bodies import joint_geometry
from stickslip.kernels.steps.tables import JointTable
from stickslip.schemes.body_joints import PARTS, joint_rows
from stickslip.simulation.joint_view import joint_view
from stickslip.state import ModelError, UnknownNameError

G = 9.81


def view(run, name):
    """The joint of a run."""
    columns = (run.t, run.h, run.q, run.v, JointTable(run.joint_offset, run.joint_id, run.joint_r))
    return joint_view(run.model, name, *columns)


def pendulum(kind="hinge", **options):
    """A bob of 2 kg at (1, 0, 0), held in the origin."""
    b = ss.WorldBuilder()
    b.body("bob", ss.Sphere(0.1), position=(1, 0, 0), mass=2.0)
    b.joint("pin", kind, "bob", point=(0, 0, 0), **options)
    return b.build()


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_the_pin_of_a_pendulum(scheme):
    """Released at rest from the horizontal: ω² = 2 m g L sin θ / J, and the pin gives what g does not."""
    run = ss.simulate(pendulum(axis=(0, 1, 0)), until=0.8, h=1e-3, scheme=scheme)
    pin = view(run, "pin")
    assert pin.kind == ss.joints.JointKind.HINGE
    assert pin.position is None
    assert pin.turn_speed is None
    # The impulse of a step acts in its middle; that of the variational scheme at its start.
    angle = (
        0.5 * (pin.angle[1:] + pin.angle[:-1]) if scheme == "moreau-jean-semi-explicit" else pin.angle[:-1]
    )
    J = 2.0 + 0.4 * 2.0 * 0.01
    square, turning = 4.0 * G * np.sin(angle) / J, 2.0 * G * np.cos(angle) / J
    s, c = np.sin(angle), np.cos(angle)
    along = -c * square - s * turning, np.zeros_like(s), s * square - c * turning + G
    found = pin.force[
        1 if scheme == "moreau-jean-semi-explicit" else 2 :
    ]  # the first step of the other is half a step
    np.testing.assert_allclose(found, 2.0 * np.transpose(along)[-len(found) :], atol=3e-4)
    np.testing.assert_allclose(pin.moment, 0.0, atol=1e-9)
    assert not pin.effort.any()
    assert not pin.force[0].any()
    np.testing.assert_allclose(pin.speed[-1] ** 2, 4.0 * G * np.sin(pin.angle[-1]) / J, rtol=1e-2)


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_a_clamp_holds_weight_and_moment(scheme):
    clamp = view(ss.simulate(pendulum("fixed"), until=0.01, h=1e-3, scheme=scheme), "pin")
    np.testing.assert_allclose(clamp.force[2:], [[0.0, 0.0, 2 * G]] * 9, atol=1e-6)
    np.testing.assert_allclose(clamp.moment[2:], [[0.0, -2 * G, 0.0]] * 9, atol=1e-6)
    assert clamp.angle is None
    assert clamp.speed is None
    assert clamp.effort is None


def test_a_door_on_two_hinges_shares_its_weight():
    b = ss.WorldBuilder()
    b.body("door", ss.Cuboid((0.8, 0.04, 2.0)), position=(0.4, 0, 1), mass=30.0)
    for name, z in (("low", 0.25), ("high", 1.75)):
        b.joint(name, "hinge", "door", point=(0, 0, z), axis=(0, 0, 1))
    run = ss.simulate(b.build(), until=0.01, h=1e-3)
    low, high = view(run, "low"), view(run, "high")
    pull = 30.0 * G * 0.4 / 1.5  # the couple that keeps it from tilting
    np.testing.assert_allclose((low.force + high.force)[1:], [[0, 0, 30 * G]] * 10, atol=1e-6)
    np.testing.assert_allclose(low.force[-1, 2], high.force[-1, 2], rtol=1e-6)
    about = np.cross([0, 0, 0.25], low.force[-1]) + np.cross([0, 0, 1.75], high.force[-1])
    np.testing.assert_allclose(about + low.moment[-1] + high.moment[-1], [0, -30 * G * 0.4, 0], atol=1e-5)
    assert 0.0 < low.force[-1, 0] < pull
    assert -pull < high.force[-1, 0] < 0.0


@pytest.mark.parametrize("forces", ["least", "solver"])
def test_a_door_that_swings_is_led_by_both_hinges_together(forces):
    b = ss.WorldBuilder()
    size, place = (0.8, 0.04, 2.0), (0.4, 0, 1)
    b.body("door", ss.Cuboid(size), position=place, mass=30.0, spin=(0, 0, 2), velocity=(0, 0.8, 0))
    for name, z in (("low", 0.25), ("high", 1.75)):
        b.joint(name, "hinge", "door", point=(0, 0, z), axis=(0, 0, 1))
    run = ss.simulate(b.build(), until=0.3, h=1e-3, forces=forces)
    gained = np.diff(run.body("door").centre_velocity, axis=0) / 1e-3
    total = view(run, "low").force + view(run, "high").force
    np.testing.assert_allclose(total[1:], 30.0 * (gained + np.array([0, 0, G])), atol=1e-7)


def test_a_slider_on_an_incline_with_friction_and_a_stop():
    angle, dry, mass = 0.5, 2.0, 3.0
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    b = ss.WorldBuilder()
    b.body("block", ss.Cuboid((0.1, 0.1, 0.1)), mass=mass)
    b.joint("rail", "slider", "block", axis=down, limits=(None, 0.1), friction=dry)
    run = ss.simulate(b.build(), until=0.5, h=1e-3)
    rail = view(run, "rail")
    a, push = G * np.sin(angle) - dry / mass, mass * G * np.sin(angle)
    slides = (run.t > 0) & (rail.position < 0.09)
    np.testing.assert_allclose(rail.position[slides], 0.5 * a * run.t[slides] ** 2, atol=1e-9)
    np.testing.assert_allclose(rail.speed[slides], a * run.t[slides], atol=1e-9)
    np.testing.assert_allclose(rail.effort[slides], -dry, rtol=1e-9)
    across = np.array([np.sin(angle), 0.0, np.cos(angle)])
    np.testing.assert_allclose(rail.force[1:] @ across, mass * G * np.cos(angle), rtol=1e-7)
    # At rest on the stop it is held in all; how much friction takes is not unique.
    np.testing.assert_allclose(rail.effort[-1], -push, rtol=1e-7)
    np.testing.assert_allclose(rail.force[-1], (0, 0, mass * G), atol=1e-6)
    np.testing.assert_allclose(rail.force @ down, rail.effort, atol=1e-9)
    assert rail.angle is None
    assert (rail.position < 0.1 + 1e-6).all()


def test_forces_of_a_four_bar_linkage_are_mass_times_acceleration():
    b = ss.WorldBuilder()
    corners = np.array([(0.0, 0, 0), (0.0, 0, 1), (2.0, 0, 1.5), (2.0, 0, 0)])
    names = ("crank", "coupler", "rocker")
    for k, name in enumerate(names):
        middle, length = 0.5 * (corners[k] + corners[k + 1]), np.linalg.norm(corners[k + 1] - corners[k])
        along = (corners[k + 1] - corners[k]) / length
        turn = ss.rotation((0, 1, 0), np.arctan2(along[0], along[2]))
        b.body(name, ss.Capsule(0.02, length), position=middle, quaternion=turn, mass=1.0 + k)
    joined = (("crank", None), ("crank", "coupler"), ("coupler", "rocker"), ("rocker", None))
    for k, sides in enumerate(joined):
        b.joint(f"pin {k}", "hinge", *sides, point=corners[k], axis=(0, 1, 0))
    run = ss.simulate(b.build(), until=0.3, h=1e-3)
    pins = [view(run, f"pin {k}") for k in range(4)]
    total = {name: np.array([[0.0, 0.0, -G * (1.0 + k)]] * (len(run) - 1)) for k, name in enumerate(names)}
    for pin, (first, second) in zip(pins, joined, strict=True):
        total[first] += pin.force[1:]
        if second:
            total[second] -= pin.force[1:]
    for k, name in enumerate(names):
        gained = np.diff(run.body(name).centre_velocity, axis=0) / 1e-3
        np.testing.assert_allclose(total[name], (1.0 + k) * gained, atol=1e-8)


def test_a_rail_that_turns_pushes_along_lines_of_the_middle_of_the_step():
    """A bead on a spinning arm: what the rail does to it is its mass times its acceleration."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("arm", ss.Cuboid((1, 0.1, 0.1)), spin=(0, 0, 3.0))
    b.body("bead", ss.Sphere(0.05), position=(0.3, 0, 0), velocity=(0, 0.9, 0), spin=(0, 0, 3.0), mass=0.5)
    b.joint("axle", "hinge", "arm", point=(0, 0, 0), axis=(0, 0, 1))
    b.joint("rail", "slider", "bead", "arm", point=(0.3, 0, 0), axis=(1, 0, 0))
    off = []
    for h in (4e-3, 2e-3):
        run = ss.simulate(b.build(), until=0.4, h=h)
        gained = np.diff(run.body("bead").centre_velocity, axis=0) / h
        off.append(np.abs(view(run, "rail").force[1:] - 0.5 * gained).max())
    assert off[1] < 1e-5
    assert off[1] < 0.3 * off[0]


def test_an_angle_is_continuous_over_turns_between_records():
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("wheel", ss.Cylinder(0.5, 0.1), spin=(0, 0, 20.0), velocity=(0, 0, 0.5))
    b.joint("screw", "cylindrical", "wheel", point=(0, 0, 0), axis=(0, 0, 1))
    run = ss.simulate(b.build(), until=3.0, h=1e-2, record=50)
    screw = view(run, "screw")
    np.testing.assert_allclose(screw.turn_speed, 20.0, rtol=1e-9)
    # In half a step Cayley's map turns by 2 atan(Ω h / 4).
    np.testing.assert_allclose(screw.angle, 4.0 * np.arctan(0.05) / 1e-2 * run.t, atol=1e-9)
    np.testing.assert_allclose(screw.position, 0.5 * run.t, atol=1e-12)
    np.testing.assert_allclose(screw.speed, 0.5, atol=1e-12)


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_every_impulse_is_told_whose_it_is(scheme):
    """Ids are those of the rows of the scheme; stops come and go between records."""
    b = ss.WorldBuilder()
    b.body("post", ss.Cuboid((0.1, 0.1, 0.1)), mass=1.0)
    b.body("flap", ss.Cuboid((0.6, 0.1, 0.02)), position=(0.35, 0, 0), mass=2.0)
    b.joint("foot", "fixed", "post")
    b.joint(
        "hinge", "hinge", "flap", "post", point=(0.05, 0, 0), axis=(0, 1, 0), limits=(-1, 0.2), friction=0.1
    )
    run = ss.simulate(b.build(), until=0.5, h=2e-3, scheme=scheme)
    hold, upper, dry = (PARTS.index(x) for x in ("hold", "upper turning stop", "turning friction"))
    n = len(PARTS)
    assert n == joint_geometry.PARTS
    last = run.joint_id[run.joint_offset[-2] :].tolist()
    stops = [n + PARTS.index("lower turning stop"), n + upper] if scheme == "variational" else [n + upper]
    assert last == [hold] * 6 + [n] * 5 + stops + [n + dry]
    assert run.joint_id.shape == run.joint_r.shape
    if scheme == "moreau-jean-semi-explicit":
        first = run.joint_id[: run.joint_offset[2]].tolist()
        assert first == [hold] * 6 + [n] * 5 + [n + dry]  # no stop was near
        rows = joint_rows(b.build(), 0.0, run.q[1], run.v[1], 2e-3, 0.5)
        np.testing.assert_array_equal(np.repeat(rows.id, rows.size), first)
    foot, hinge = view(run, "foot"), view(run, "hinge")
    np.testing.assert_allclose(foot.force[-1], (0, 0, 3 * G), atol=1e-5)
    np.testing.assert_allclose(hinge.force[-1], (0, 0, 2 * G), atol=1e-5)
    assert hinge.effort[-1] == pytest.approx(-2 * G * 0.3 * np.cos(0.2), abs=1e-4)  # against the weight
    assert hinge.moment[-1] @ (0, 1, 0) == pytest.approx(hinge.effort[-1])
    assert hinge.angle[-1] == pytest.approx(0.2, abs=1e-6)


def test_what_a_view_cannot_tell_is_said(tmp_path):
    run = ss.simulate(pendulum(axis=(0, 1, 0)), until=0.01, h=1e-3)
    with pytest.raises(UnknownNameError, match="unknown joint 'pim'; known: pin"):
        view(run, "pim")
    run.save(tmp_path / "run.h5")
    back = ss.read_trajectory(tmp_path / "run.h5")
    np.testing.assert_array_equal(view(back, "pin").force, view(run, "pin").force)
    old = ss.read_trajectory(Path(__file__).parents[1] / "files" / "old" / "world.h5")
    np.testing.assert_array_equal(old.joint_id, -1)
    with pytest.raises(ModelError, match="joint 'pin': the trajectory does not tell its axes"):
        view(old, "pin")
