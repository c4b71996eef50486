"""The variational scheme where nothing touches: momenta, energy, order; and joints of every kind."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.rotations import matrices
from stickslip.schemes.variational import VariationalBodies

KINDS = ("fixed", "ball", "hinge", "slider", "cylindrical", "distance")
NO_GRAVITY = (0.0, 0.0, 0.0)


def momenta(world, trajectory):
    """Linear momentum [N s] and angular momentum about the origin [N m s] of each record, (n, 3) each."""
    n = len(world.names)
    q, v = trajectory.q.reshape(-1, n, 7), trajectory.v.reshape(-1, n, 6)
    h = trajectory.h[:, None]
    linear, angular = np.zeros((len(q), 3)), np.zeros((len(q), 3))
    for b in range(n):
        m, J, spin = world.mass[b], world.inertia[b], v[:, b, 3:]
        l = spin @ J  # noqa: E741
        square = np.einsum("ki,ki->k", spin, l)[:, None]
        own = l - 0.5 * h * np.cross(spin, l) + 0.25 * h * h * square * spin
        linear += m * v[:, b, :3]
        angular += m * np.cross(q[:, b, :3], v[:, b, :3])
        angular += np.einsum("kij,kj->ki", matrices(q[:, b, 3:]), own)
    return linear, angular


def run(world, until, h, **how):
    return ss.simulate(world, until=until, h=h, scheme="variational", **how)


def bar(builder, name, position=(0.0, 0.0, 0.0), **more):
    builder.body(name, None, mass=0.7, inertia=(0.03, 0.02, 0.045), position=position, **more)


def test_free_fall_is_exact():
    builder = ss.WorldBuilder()
    bar(builder, "stone", velocity=(1.0, 2.0, 3.0))
    trajectory = run(builder.build(), 1.0, 0.01)
    t = trajectory.t[:, None]
    expected = np.array([1.0, 2.0, 3.0]) * t + 0.5 * np.array([0.0, 0.0, -9.81]) * t**2
    np.testing.assert_allclose(trajectory.body("stone").position, expected, atol=1e-13)
    first = 0.7 * (9.81 * 0.01) ** 2 / 8.0  # half a kick at the start, in the energy of its own middle
    np.testing.assert_allclose(trajectory.energy[1:], trajectory.energy[0] - first, rtol=1e-13)
    np.testing.assert_allclose(trajectory.balance[1:], -first, rtol=1e-10)


def test_a_free_body_keeps_its_momentum_to_rounding_and_its_energy_without_drift():
    """About its intermediate axis, where every error would show soon."""
    builder = ss.WorldBuilder(gravity=NO_GRAVITY)
    bar(builder, "body", spin=(3.0, 0.02, 0.1), velocity=(0.1, 0.2, 0.3))
    world = builder.build()
    trajectory = run(world, 100.0, 0.01, record=10)
    linear, angular = momenta(world, trajectory)
    np.testing.assert_allclose(linear[1:], linear[:1].repeat(1000, 0), rtol=1e-13)
    size = np.linalg.norm(angular[0])
    assert np.abs(angular[1:] - angular[1]).max() < 1e-11 * size
    energy = trajectory.energy
    assert np.ptp(energy) < 1e-3 * energy[0]
    assert abs(energy[-300:].mean() - energy[:300].mean()) < 1e-5 * energy[0]
    spin = trajectory.v[:, 3]
    assert spin.min() < -2.9  # it did flip
    assert spin.max() > 2.9


def shifted(place, by):
    return np.asarray(place) + np.asarray(by)


def pendulum(kind):
    """A body on a joint of this kind whose motion is not along a line."""
    builder = ss.WorldBuilder(gravity=(0.0, 0.0, 0.0) if kind == "fixed" else (1.0, 2.0, -9.0))
    bar(builder, "hub", (0.0, 0.0, 0.0), spin=(1.0, 0.0, 0.5))
    spin = np.array([1.0, 0.0, 0.5])
    at = np.array([0.3, 0.1, 0.2])
    velocity = np.cross(spin, at)
    bar(builder, "bob", at, velocity=velocity, spin=spin)
    builder.joint("root", "ball", "hub", None, point=(0.0, 0.0, 0.0))
    given = {"point": (0.1, 0.0, 0.1)}
    if kind not in ("fixed", "ball", "distance"):
        given["axis"] = (0.3, 1.0, 0.2)
    if kind == "distance":
        given = {"point": shifted(at, (0.0, 0.05, 0.0)), "second_point": (0.05, 0.0, 0.1)}
    builder.joint("joint", kind, "bob", "hub", **given)
    return builder.build()


def ratio(world, until, h):
    """Error of positions with h over that with h/2, both against h/16."""
    ends = [run(world, until, step, record=10**6).q[-1] for step in (h, h / 2, h / 16)]
    return np.abs(ends[0] - ends[2]).max() / np.abs(ends[1] - ends[2]).max()


SECOND_ORDER = (4.0 - 1 / 64) / (1.0 - 1 / 64)
"""Of that ratio, where errors are h² times a constant."""


@pytest.mark.parametrize("kind", KINDS)
def test_double_pendulums_by_every_joint_are_of_second_order(kind):
    assert ratio(pendulum(kind), 0.4, 0.01) == pytest.approx(4.05, rel=0.05)


def test_free_rotation_and_springs_are_of_second_order():
    builder = ss.WorldBuilder(gravity=NO_GRAVITY)
    bar(builder, "free", spin=(3.0, 0.5, 0.1))
    assert ratio(builder.build(), 1.0, 0.02) == pytest.approx(4.05, rel=0.05)
    builder = ss.WorldBuilder()
    bar(builder, "tied", (0.0, 0.0, 1.0), spin=(0.5, 0.2, 0.1))
    builder.force(
        ss.forces.Spring("spring", "tied", None, first_point=(0.1, 0.1, 1.1), second_point=(0.5, 0.0, 2.0),
                  stiffness=40.0, length=0.8)
    )  # fmt: skip
    assert ratio(builder.build(), 1.0, 0.02) == pytest.approx(4.05, rel=0.05)


def pairs(springs):
    """Two bodies on a joint of each kind, free in space, far from each other."""
    builder = ss.WorldBuilder(gravity=NO_GRAVITY)
    for k, kind in enumerate(KINDS):
        at = np.array([2.0 * k, 0.0, 0.0])
        spin = np.array([1.0, 0.3, 0.5])
        for side, offset in (("a", (0.0, 0.0, 0.0)), ("b", (0.3, 0.1, 0.2))):
            bar(builder, kind + side, shifted(at, offset), velocity=np.cross(spin, offset), spin=spin)
        given = {"point": shifted(at, (0.1, 0.0, 0.1))}
        if kind in ("hinge", "slider", "cylindrical"):
            given["axis"] = (0.3, 1.0, 0.2)
        if kind == "distance":
            given["second_point"] = shifted(at, (0.3, 0.1, 0.3))
        builder.joint(kind, kind, kind + "a", kind + "b", **given)
        if springs:
            first, second = shifted(at, (0.0, 0.1, 0.0)), shifted(at, (0.3, 0.0, 0.0))
            builder.force(
                ss.forces.Spring(kind, kind + "a", kind + "b", first_point=first, second_point=second,
                          stiffness=5.0, length=0.2)
            )  # fmt: skip
    return builder.build()


@pytest.fixture(scope="module", params=[False, True], ids=["joints", "joints-and-springs"])
def floating(request):
    """A long run of them."""
    world = pairs(request.param)
    return world, run(world, 25.0, 0.01, record=5)


def test_joints_of_every_kind_keep_momenta(floating):
    world, trajectory = floating
    linear, angular = momenta(world, trajectory)
    size = 10.0  # of the arms of the momenta [m]
    assert np.abs(linear[1:] - linear[1]).max() < 1e-9
    assert np.abs(angular[1:] - angular[1]).max() < 1e-9 * size


def test_joints_of_every_kind_keep_energy_without_drift(floating):
    _, trajectory = floating
    energy, n = trajectory.energy[1:], len(trajectory) // 5
    swing = np.ptp(energy)
    assert swing < 1e-3 * trajectory.kinetic.max()
    assert abs(energy[-n:].mean() - energy[:n].mean()) < 0.5 * swing  # a drift would make 0.8 of it


def test_joints_of_every_kind_stay_closed(floating):
    _, trajectory = floating
    assert trajectory.opening.max() < 1e-9
    assert trajectory.ok.all()


def test_the_period_of_a_pendulum():
    """A small swing: T = 2π sqrt(I / (m g a))."""
    builder = ss.WorldBuilder()
    angle, arm = 0.01, 0.5
    at = (arm * np.sin(angle), 0.0, -arm * np.cos(angle))
    bar(builder, "bob", at, quaternion=ss.rotation((0.0, 1.0, 0.0), -angle))
    builder.joint("pivot", "hinge", "bob", None, point=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0))
    period = 2.0 * np.pi * np.sqrt((0.02 + 0.7 * arm**2) / (0.7 * 9.81 * arm))
    trajectory = run(builder.build(), 3.2 * period, 0.005)
    x, t = trajectory.body("bob").centre[:, 0], trajectory.t
    down = np.flatnonzero((x[:-1] > 0.0) & (x[1:] <= 0.0))
    zeros = t[down] + 0.005 * x[down] / (x[down] - x[down + 1])
    np.testing.assert_allclose(np.diff(zeros), period, rtol=2e-4)


def test_a_kinematic_body_carries_what_hangs_on_it():
    """A carriage that goes to and fro takes a fixed load with it, and its drive does the work."""
    builder = ss.WorldBuilder(gravity=NO_GRAVITY)
    builder.body("carriage", ss.Sphere(0.1), motion=lambda t: ((np.cos(t), 0.0, 0.0), (0.0, 0.0, 0.0)))
    bar(builder, "load", (0.0, 0.0, 0.5), velocity=(1.0, 0.0, 0.0))
    builder.joint("grip", "fixed", "load", "carriage", point=(0.0, 0.0, 0.3))
    trajectory = run(builder.build(), 2.0, 0.01)
    np.testing.assert_allclose(trajectory.body("load").centre[:, 0], np.sin(trajectory.t), atol=1e-4)
    change = trajectory.kinetic - trajectory.kinetic[0]
    np.testing.assert_allclose(trajectory.work, change, atol=1e-4)


def test_a_step_that_is_shorter_than_the_one_before_keeps_free_fall_exact():
    builder = ss.WorldBuilder()
    bar(builder, "stone", velocity=(0.0, 0.0, 3.0))
    trajectory = run(builder.build(), 0.125, 0.02)  # six steps and a quarter of one
    t, fall = trajectory.t[-1], -9.81
    error = trajectory.body("stone").position[-1, 2] - (3.0 * t + 0.5 * fall * t * t)
    assert abs(error) < 0.5 * 9.81 * 0.02 * 0.005 + 1e-12
    assert VariationalBodies().contact == "cone"


def test_a_chain_that_falls_freely_needs_nothing_solved():
    b = ss.WorldBuilder()
    for k in range(3):
        b.body(f"c{k}", ss.Sphere(0.1), position=(0.3 * k, 0.0, 3.0))
    for k in range(2):
        b.joint(f"j{k}", "ball", f"c{k}", f"c{k + 1}", point=(0.3 * k + 0.15, 0.0, 3.0))
    run = ss.simulate(b.build(), until=0.1, h=0.01, scheme="variational")
    assert run.ok.all()
    np.testing.assert_allclose(run.q[-1].reshape(-1, 7)[:, 2], 3.0 - 0.5 * 9.81 * 0.01, atol=1e-12)


def test_a_body_that_turns_too_far_in_a_step_is_named():
    b = ss.WorldBuilder()
    b.body("top", ss.Cuboid((0.1, 0.2, 0.3)), spin=(0.0, 0.0, 150.0))
    with pytest.raises(ss.SimulationFailure, match=r"body 'top' turns by .*° in one step; use a smaller h"):
        ss.simulate(b.build(), until=0.02, h=0.01, scheme="variational")
