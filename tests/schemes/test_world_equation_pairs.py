"""Equations of worlds with contacts of all pairs of shapes: closed forms, orders, derivatives."""

import math

import numpy as np
import pytest
from pair_worlds import about_to_touch

import stickslip as ss
from stickslip.schemes import PreparedWorld
from stickslip.systems import Coupling

G = 9.81
PAIRS = [
    ("box", "box", 0), ("capsule", "box", 1), ("cylinder", "box", 1), ("ellipsoid", "box", 2),
    ("hull", "hull", 1), ("box", "field", 0), ("cylinder", "field", 1), ("cylinder", "cylinder", 0),
    ("ellipsoid", "ellipsoid", 1), ("cylinder", "plane", 2), ("capsule", "capsule", 4), ("ball", "hull", 1),
]  # fmt: skip
LYING = ss.rotation((0.0, 1.0, 0.0), np.pi / 2)


def on_table(shape, position, mu=0.5, e=0.0, **more):
    """A body on a box that stands still, whose top is at z = 0.1."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=mu, e=e)
    builder.body("table", ss.Cuboid((2.0, 2.0, 0.2)), fixed=True)
    builder.body("top", shape, position=position, mass=1.0, **more)
    return builder.build()


def sliding(**more):
    return on_table(ss.Cuboid((0.2, 0.2, 0.1)), (0.0, 0.0, 0.15), velocity=(1.0, 0.0, 0.0), **more)


@pytest.mark.parametrize(("upper", "lower", "seed"), PAIRS)
def test_every_pair_moves_as_by_the_scheme_of_worlds(upper, lower, seed):
    """Impacts askew with friction and restitution, against semi-explicit Moreau-Jean with a small step."""
    world = about_to_touch(upper, lower, seed, e=0.3)
    reference = ss.simulate(world, until=0.02, h=1e-4)
    pressed = reference.contacts.r[:, 0].sum()
    for scheme, h in (("moreau-jean", 2.5e-4), ("event-driven", 5e-3)):
        run = ss.simulate(world, until=0.02, h=h, scheme=scheme)
        assert run.ok.all()
        assert run.q[-1] == pytest.approx(reference.q[-1], abs=1e-3)
        assert run.contacts.r[:, 0].sum() == pytest.approx(pressed, rel=2e-2)
        assert np.abs(run.balance).max() < 1e-4
        if scheme == "event-driven":
            assert run.penetration.max() < 1e-8
            assert np.abs(run.balance).max() < 1e-12


@pytest.mark.parametrize(("scheme", "mu"), [("moreau-jean", 0.3), ("schatzman-paoli", 0.0)])
def test_errors_are_of_first_order_in_the_step(scheme, mu):
    """Through an impact, against event-driven integration; of Schatzman-Paoli without friction."""
    world = about_to_touch("hull", "hull", 1, e=0.3, mu=mu)
    exact = ss.simulate(world, until=0.03, h=1e-2, scheme="event-driven").q[-1]
    for h in (2e-3, 5e-4, 1.25e-4):
        assert np.abs(ss.simulate(world, until=0.03, h=h, scheme=scheme).q[-1] - exact).max() < 2.0 * h


@pytest.mark.parametrize(("scheme", "off"), [
    ("event-driven", 1e-12), ("moreau-jean", 1e-4), ("schatzman-paoli", 1e-4), ("compliant", 1e-4),
])  # fmt: skip
def test_a_box_slides_on_a_box_to_rest(scheme, off):
    given = ss.schemes.Compliant(stiffness=1e5) if scheme == "compliant" else scheme
    run = ss.simulate(sliding(), until=0.25, h=0.01, scheme=given)
    assert run.body("top").position[-1] == pytest.approx([1.0 / G, 0.0, 0.15], abs=off)
    assert run.dissipated[-1] == pytest.approx(0.5, abs=1e-3)


def test_a_box_lands_flat_and_bounces():
    """Four corners at once, at the instant of free fall; between the corners nothing is shared unevenly."""
    world = on_table(ss.Cuboid((0.2, 0.2, 0.1)), (0.1, 0.2, 0.35), mu=0.0, e=0.5)
    run = ss.simulate(world, until=0.5, h=0.05, scheme="event-driven")
    fall = math.sqrt(2.0 * 0.2 / G)
    struck = sorted({round(event.t, 9) for event in run.events if event.kind == "impact"})
    assert struck == pytest.approx([fall, 2.0 * fall], abs=1e-9)
    assert len({e.interaction for e in run.events if abs(e.t - fall) < 1e-9}) == 4
    rest = 0.5 - 2.0 * fall
    height = 0.15 + 0.25 * G * fall * rest - 0.5 * G * rest**2
    assert run.body("top").position[-1] == pytest.approx([0.1, 0.2, height], abs=1e-9)
    assert np.abs(run.v[-1, 9:]).max() < 1e-9


@pytest.mark.parametrize("scheme", ["event-driven", "moreau-jean", "schatzman-paoli"])
def test_a_cylinder_pushed_sideways_rolls(scheme):
    """A third of the speed turns it."""
    world = on_table(ss.Cylinder(0.05, 0.2), (0.0, 0.0, 0.15), quaternion=LYING, velocity=(0.0, 0.4, 0.0))
    run = ss.simulate(world, until=0.2, h=0.01, scheme=scheme)
    assert run.v[-1, 7] == pytest.approx(0.4 * 2.0 / 3.0, rel=1e-3)
    assert np.abs(run.v[-1, 9:]).max() == pytest.approx(0.4 * 2.0 / 3.0 / 0.05, rel=1e-3)


def test_a_cylinder_stands_and_logs_lie_on_logs():
    standing = on_table(ss.Cylinder(0.05, 0.2), (0.0, 0.0, 0.2))
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.6)
    builder.body("floor", ss.Plane(), fixed=True)
    for k, (y, z) in enumerate([(-0.05, 0.05), (0.05, 0.05), (0.0, 0.05 + 0.05 * np.sqrt(3.0))]):
        builder.body(f"log {k}", ss.Cylinder(0.05, 0.4), position=(0.02 * k, y, z), quaternion=LYING)
    for world in (standing, builder.build()):
        for scheme in ("event-driven", "moreau-jean"):
            run = ss.simulate(world, until=0.05, h=0.01, scheme=scheme)
            assert np.abs(run.q[-1] - run.q[0]).max() < 1e-8


def over_the_edge():
    return on_table(ss.Cuboid((0.2, 0.2, 0.2)), (0.85, 0.0, 0.2), mu=0.1, velocity=(1.0, 0.0, 0.0))


def test_a_box_slides_over_an_edge_whatever_the_samples():
    """Corners leave the face, edges cross, and the box tips and falls off: with steps of any length.

    Both sides of the box leave at the same time. Rounding decides which is first, and that rolls it by 1e-3.
    """
    ends = [
        ss.simulate(over_the_edge(), until=0.45, h=h, scheme="event-driven").q[-1, 7:] for h in (0.05, 0.01)
    ]
    fine = ss.simulate(over_the_edge(), until=0.45, h=1e-3).q[-1, 7:]
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)
    assert ends[0] == pytest.approx(fine, abs=2e-3)
    assert ends[0][2] < 0.1


def test_open_contacts_end_where_their_features_do():
    """A corner beyond the edge of a face has no gap to it, though one to the plane of the face."""
    equations = PreparedWorld(over_the_edge()).equations
    state = equations.inside(over_the_edge().start)
    features = equations.search.near(equations.system, state, 0.01, np.zeros(equations.search.slots))
    relation = features.relations[int(features.slot[0])]
    both = np.zeros((2, 7))
    both[:, 3] = 1.0
    for x, inside in ((0.85, True), (1.2, False)):
        both[0, :3] = x, 0.0, 0.2 - 1e-4
        assert relation.inside(both) is inside
        assert relation.evaluate(both)[0][0] == pytest.approx(-1e-4, abs=1e-12)


@pytest.mark.parametrize("scheme", ["event-driven", "moreau-jean", "schatzman-paoli", "variational"])
def test_a_system_moves_as_its_world(scheme):
    world = over_the_edge()
    run = ss.simulate(world.as_system(), until=0.2, h=0.01, scheme=scheme)
    direct = ss.simulate(world, until=0.2, h=0.01, scheme=scheme)
    assert run.as_world(world).q[-1] == pytest.approx(direct.q[-1], abs=1e-8)
    assert run.contact_work[-1] == pytest.approx(-direct.dissipated[-1], abs=1e-4)
    assert run.penetration.max() < 1e-5 if scheme != "moreau-jean" else 1e-2


@pytest.mark.parametrize("scheme", ["event-driven", "moreau-jean"])
def test_runs_go_on_bit_for_bit(tmp_path, scheme):
    world = over_the_edge()
    whole = ss.simulate(world, until=0.2, h=0.01, scheme=scheme)
    ss.simulate(world, until=0.14, h=0.01, scheme=scheme).save(tmp_path / "run.h5")
    read = ss.read_trajectory(tmp_path / "run.h5")
    assert np.array_equal(ss.simulate(read.source, until=0.2, start=read.checkpoint()).q[-1], whole.q[-1])


def test_a_circuit_pulls_a_box_over_a_box():
    """A force k i against friction: acceleration (k i - mu m g) / m, i of a coil without resistance."""
    coil = ss.FirstOrderLinear("coil", M=2.0, A=0.0, b=40.0, x0=[0.0])  # i = 20 t
    pull = Coupling("pull", ("coil", "top"), lambda v: np.array([-v[1], v[0], 0.0, 0.0, 0.0, 0.0, 0.0]))
    world = on_table(ss.Cuboid((0.2, 0.2, 0.1)), (0.0, 0.0, 0.15))
    run = ss.simulate(world.as_system(systems=[coil], couplings=[pull]), until=0.5, h=2e-3)
    # 2 di/dt = 40 - v, dv/dt = i - mu g from where i = mu g on
    start = 0.5 * G / 20.0
    late, omega = 0.5 - start, math.sqrt(0.5)
    speed = 40.0 * (1.0 - math.cos(omega * late))
    assert run.system("top").v[-1, 0] == pytest.approx(speed, rel=1e-2)
    assert run.system("top").q[-1, 2] == pytest.approx(0.15, abs=1e-9)


@pytest.mark.parametrize("scheme", ["moreau-jean", "variational"])
def test_steps_have_derivatives(scheme):
    """By the velocity at the start, against differences of steps."""
    system = on_table(
        ss.Cuboid((0.2, 0.2, 0.2)), (0.3, 0.1, 0.2), velocity=(1.0, 0.3, -0.01),
        quaternion=ss.rotation((0.0, 0.0, 1.0), 0.3),
    ).as_system()  # fmt: skip
    solver = ss.solvers.Auto(tolerance=1e-13)
    made = ss.schemes.MoreauJean() if scheme == "moreau-jean" else ss.schemes.Variational()
    found = ss.differentiate(system, h=0.01, scheme=made).jacobian("v", "v")
    for k in range(6):
        ends = []
        for way in (1e-5, -1e-5):
            v = np.array(system.v0)
            v[k] += way
            start = ss.State(0.0, system.q0, v, system.z0)
            ends.append(made.step(system, start, made.begin(system, start, 0.01), 0.01, solver).state.v)
        assert found[:, k] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-4)


def test_rows_are_derivatives_of_gaps():
    for upper, lower, seed in PAIRS[:8]:
        system = about_to_touch(upper, lower, seed).as_system()
        assert system.check_jacobians(0.0) < 1e-6


def test_slots_are_told_by_name_and_too_many_are_refused():
    names = [one.name for one in sliding().as_system().interactions]
    assert names[:2] == ["top on table 1", "top on table 2"]
    builder = ss.WorldBuilder()
    for k in range(30):
        builder.body(f"box {k}", ss.Cuboid((0.1, 0.1, 0.1)), position=(0.2 * k, 0.0, 0.0))
    with pytest.raises(ss.ModelError, match=r"435 pairs of shapes or more .* apart\(first, second\)"):
        builder.build().as_system()
