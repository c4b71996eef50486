"""Worlds as equations: bodies, contacts, joints and forces term by term, ports, and systems tied to them."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip import rotations
from stickslip.forces import Actuator, BodyForce, Damper, Spring
from stickslip.schemes import PreparedWorld
from stickslip.systems import Coupling, Scleronomous

G = 9.81


def mechanism():
    """All joints that have a coordinate, all forces, contacts of spheres, capsules and boxes."""
    builder = ss.WorldBuilder()
    builder.material("rubber", mu=0.6, mu_roll=0.01, mu_spin=0.02, e=0.4)
    builder.body("floor", ss.Plane(), fixed=True, position=(0, 0, -3), material="rubber")
    builder.body("lift", ss.Sphere(0.1), position=(0, 4, 0), motion=((0.1, 0, 0), (0, 0, 1.0)))
    places = {"a": (0, 0, 0), "b": (1, 0, 0), "c": (2, 0, 0), "d": (3, 0.5, 0), "e": (4, 0, 0.5)}
    shapes = ss.Cuboid((0.2, 0.3, 0.4)), ss.Capsule(0.1, 0.3), ss.Sphere(0.1), ss.Sphere(0.2), ss.Sphere(0.1)
    for (name, place), shape in zip(places.items(), shapes, strict=True):
        builder.body(name, shape, position=place, material="rubber", mass=2.0)
    builder.apart_groups("default", "default")
    builder.joint("hinge", "hinge", "a", "b", point=(0.5, 0, 0), axis=(0, 1, 1), limits=(-1, 1), friction=0.3)
    builder.joint("slide", "slider", "b", "c", point=(1.5, 0, 0), axis=(1, 0, 0), limits=(-0.5, 0.5))
    builder.joint("screw", "cylindrical", "c", "d", point=(2.5, 0, 0), axis=(0, 0, 1), friction=0.1)
    builder.joint("rope", "distance", "d", "e", point=(3, 0.5, 0), second_point=(4, 0, 0.5), limits=(0, 2))
    builder.joint("ball", "ball", "e", "lift", point=(4, 1, 0))
    builder.force(Spring("spring", "a", "c", stiffness=30.0, damping=2.0, first_point=(0, 0.1, 0.1)))
    builder.force(Spring("tie", "d", "lift", stiffness=5.0))
    builder.force(Damper("drag", "e", linear=0.3, angular=0.2))
    builder.force(Actuator("motor", "hinge", lambda t, position, velocity: math.sin(t) - position - velocity))
    builder.force(BodyForce("wind", "d", force=lambda t, v: -v, point=(3, 0.6, 0)))
    builder.force(BodyForce("push", "b", force=(1.0, 2.0, 3.0), moment=(0.1, 0.2, 0.3)))
    return builder.build()


def moved(world, seed=0):
    """A state near the start, bodies turned and moving."""
    rng = np.random.default_rng(seed)
    q, v = np.array(world.start.q).reshape(-1, 7), np.array(world.start.v).reshape(-1, 6)
    for i in np.flatnonzero(world.row >= 0):
        q[i, :3] += 0.1 * rng.normal(size=3)
        q[i, 3:] = rotations.product(q[i, 3:], rotations.exponential(0.2 * rng.normal(size=3)))
        v[i] = rng.normal(size=6)
    return ss.State(0.0, q.reshape(-1), v.reshape(-1))


@pytest.mark.parametrize("seed", range(3))
def test_forces_are_those_of_the_world(seed):
    """M v̇ of the equations: gravity, forces of the world, and the gyroscopic moment."""
    world = mechanism()
    state, equations = moved(world, seed), PreparedWorld(world).equations
    system, inside = equations.system, equations.inside(state)
    F = np.zeros((3, len(world.names), 6))
    world.forces.add(0.0, state.q, state.v, F)
    wanted = F.sum(axis=0)
    wanted[:, :3] += world.mass[:, None] * world.gravity
    spin = state.v.reshape(-1, 6)[:, 3:]
    wanted[:, 3:] -= np.cross(spin, np.einsum("nij,nj->ni", world.inertia, spin))
    found = np.zeros(system.v0.size)
    for body, place in system.mechanical:
        found[place.v] = body.force(0.0, inside.q[place.q], inside.v[place.v], inside.z[place.z])
    assert found[equations.v] == pytest.approx(wanted[equations.dynamic].reshape(-1), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_rows_are_derivatives(seed):
    world = mechanism()
    equations = PreparedWorld(world).equations
    inside = equations.inside(moved(world, seed))
    assert equations.system.check_jacobians(0.0, inside.q, inside.v) < 1e-6


def test_states_go_there_and_back():
    world = mechanism()
    state, equations = moved(world), PreparedWorld(world).equations
    back = equations.outside(equations.inside(state))
    assert np.array_equal(back.q, state.q)
    assert np.array_equal(back.v[world.row.repeat(6) >= 0], state.v[world.row.repeat(6) >= 0])


def test_laws_are_those_of_the_world():
    system = falling(mu=0.6, mu_roll=0.01, mu_spin=0.02, e=0.4).as_system()
    (contact,) = system.interactions
    assert contact.law == ss.NewtonImpact(e=0.4, mu=0.6, mu_roll=0.01, mu_spin=0.02)
    assert contact.name == "ball on floor"
    names = {one.name: repr(one.law) for one in mechanism().as_system().interactions}
    assert names["hinge"] == "Equality(components=5)"
    assert names["hinge: turning friction"] == "Box(lower=-0.3, upper=0.3)"
    assert {"hinge: lower turning stop", "slide: upper stop", "rope: upper stop"} <= set(names)


def falling(**material):
    builder = ss.WorldBuilder()
    builder.material("rubber", **material)
    builder.body("floor", ss.Plane(), fixed=True, material="rubber")
    builder.body("ball", ss.Sphere(0.1), position=(0, 0, 0.15), velocity=(1, 0, 0), material="rubber")
    return builder.build()


def test_a_sphere_that_strikes_with_friction():
    """It rolls after the impact, for 2/7 of its momentum are within the cone: v = 5/7, ω = v / r."""
    run = ss.simulate(falling(mu=0.3, e=0.5).as_system(), until=0.12, h=1e-3)
    v = run.system("ball").v[-1]
    fall = math.sqrt(2.0 * 0.05 / G)
    assert v[[0, 4]] == pytest.approx([5.0 / 7.0, 50.0 / 7.0], abs=1e-12)
    assert v[2] == pytest.approx(0.5 * G * fall - G * (0.12 - fall), abs=2e-2)


@pytest.mark.parametrize(("joint", "coordinate"), [("hinge", "angle"), ("slide", "position")])
def test_ports_are_coordinates_of_joints(joint, coordinate):
    world = mechanism()
    system = world.as_system()
    port = system.ports[joint]
    run = ss.simulate(world, until=0.05, h=1e-3)
    state = ss.State(run.t[-1], run.q[-1], run.v[-1])
    own = np.concatenate([state.q.reshape(-1, 7)[world.body(name)] for name in port.systems])
    rate = np.concatenate([state.v.reshape(-1, 6)[world.body(name)] for name in port.systems])
    view = run.joint(joint)
    assert port.coordinates(0.0, own)[0] == pytest.approx(getattr(view, coordinate)[-1], abs=1e-12)
    assert port.rows(0.0, own)[0] @ rate == pytest.approx(view.speed[-1], abs=1e-6)


def arm(**given):
    builder = ss.WorldBuilder()
    level = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)
    builder.body("arm", ss.Capsule(0.05, 0.4), position=(0.25, 0.0, 1.0), quaternion=level, mass=1.0)
    builder.joint("hinge", "hinge", "arm", point=(0, 0, 1), axis=(0, 1, 0))
    for one in given.get("forces", ()):
        builder.force(one)
    return builder.build()


def test_a_controller_on_a_joint_is_an_actuator():
    """A coupling on a port, and an actuator of the world with the same law."""
    by_world = arm(forces=[Actuator("servo", "hinge", lambda position, velocity: -9.0 * position - velocity)])
    servo = Coupling("servo", "hinge", lambda q, v: -9.0 * q - v)
    ends = [
        ss.simulate(system, until=0.3, h=1e-2, scheme="event-driven").system("arm").q[-1]
        for system in (by_world.as_system(), arm().as_system(couplings=[servo]))
    ]
    assert ends[1] == pytest.approx(ends[0], abs=1e-8)


def test_a_stop_of_ones_own_on_a_joint():
    """An interaction on the angle; without restitution the arm stays there."""
    stop = ss.Interaction("stop", "hinge", Scleronomous(lambda q: 0.5 - q), ss.NewtonImpact(e=0.0))
    run = ss.simulate(arm().as_system(interactions=[stop]), until=0.6, h=1e-2, scheme="event-driven")
    z = run.system("arm").q[-1, 2]
    assert z == pytest.approx(1.0 - 0.25 * math.sin(0.5), abs=1e-9)
    torque = 1.0 * G * 0.25 * math.cos(0.5)
    assert run.interaction("stop").r[-1, 0] / 1e-2 == pytest.approx(torque, rel=1e-6)


def test_a_spring_law_of_ones_own_between_bodies():
    """A stiffening spring between two bodies of a world: energy is kept by event-driven integration."""
    builder = ss.WorldBuilder(gravity=(0, 0, 0))
    for name, x in (("left", 0.0), ("right", 1.0)):
        builder.body(name, ss.Sphere(0.1), position=(x, 0, 0), mass=1.0)

    def force(q):
        gap = q[7:10] - q[:3] - [0.8, 0.0, 0.0]
        f = 50.0 * gap * (1.0 + gap @ gap)
        return np.concatenate([f, np.zeros(3), -f, np.zeros(3)])

    def energy(q):
        gap = q[7:10] - q[:3] - [0.8, 0.0, 0.0]
        return 25.0 * (gap @ gap) + 12.5 * (gap @ gap) ** 2

    own = Coupling("bond", ("left", "right"), force, potential=energy)
    run = ss.simulate(builder.build().as_system(couplings=[own]), until=1.0, h=0.05, scheme="event-driven")
    assert run.energy == pytest.approx(np.full(len(run), run.energy[0]), rel=1e-8)
    assert run.kinetic.max() > 0.9 * run.energy[0]


def test_a_run_of_equations_is_one_of_the_world_again(tmp_path):
    """Bodies, a lift that moves as prescribed and joints by name; it is saved, and shown in notebooks."""
    builder = ss.WorldBuilder()
    builder.body("lift", ss.Plane(), position=(0, 0, -5), motion=((0, 0, 0.3), (0, 0, 0)))
    builder.body("arm", ss.Sphere(0.1), position=(0.5, 0, 0), mass=1.0)
    builder.joint("hinge", "hinge", "arm", point=(0, 0, 0), axis=(0, 1, 0))
    world = builder.build()
    tank = ss.Lagrangian("tank", M=1.0, q0=0.0)
    run = ss.simulate(world.as_system(systems=[tank]), until=0.2, h=0.05, scheme="event-driven")
    direct = ss.simulate(world, until=0.2, h=0.05, scheme="event-driven")
    again = run.as_world(world)
    assert again.q == pytest.approx(direct.q, abs=1e-12)
    assert again.joint("hinge").speed == pytest.approx(direct.joint("hinge").speed, abs=1e-12)
    assert again.kinetic == pytest.approx(direct.kinetic, abs=1e-12)
    assert np.isnan(again.balance).all()
    again.save(tmp_path / "again.h5")
    assert np.array_equal(ss.read_trajectory(tmp_path / "again.h5").q, again.q)
    with pytest.raises(ss.ModelError, match="a run of a world already"):
        direct.as_world(world)


def test_worlds_that_have_no_equations():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    with pytest.raises(ss.ModelError, match="without a dynamic body"):
        builder.build().as_system()
    with pytest.raises(ss.ModelError, match="two systems are named 'ball'"):
        falling().as_system(systems=[ss.Lagrangian("ball", M=1.0, q0=0.0)])
