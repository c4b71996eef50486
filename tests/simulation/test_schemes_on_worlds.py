"""Schemes of systems on worlds: closed forms, orders, energies, refusals, and runs that go on."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.forces import Actuator, Spring
from stickslip.mechanics.inputs import Input

G = 9.81
BY_EQUATIONS = ("moreau-jean", "event-driven", "compliant", "schatzman-paoli")


def ball(e=0.7, height=1.0, **given):
    builder = ss.WorldBuilder()
    builder.material("rubber", e=e)
    builder.body("floor", ss.Plane(), fixed=True, material="rubber")
    builder.body("ball", ss.Sphere(0.1), position=(0.0, 0.0, height), material="rubber", **given)
    return builder.build()


def stiff(omega=1e3, stretch=0.01):
    """A mass of 1 kg on a spring that oscillates at omega [rad/s] about x = 1 m."""
    builder = ss.WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body("mass", ss.Sphere(0.1), position=(1.0 + stretch, 0.0, 0.0), mass=1.0)
    builder.force(Spring("spring", "mass", second_point=(0.0, 0.0, 0.0), stiffness=omega**2, length=1.0))
    return builder.build()


def pendulum(e=0.5, stop=1.0, **actuator):
    """A rod that falls from level about a hinge, to a stop."""
    builder = ss.WorldBuilder()
    level = (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0)
    builder.body("arm", ss.Capsule(0.05, 0.4), position=(0.25, 0.0, 1.0), quaternion=level)
    builder.joint("hinge", "hinge", "arm", point=(0, 0, 1), axis=(0, 1, 0), limits=(-3.0, stop), e=e)
    if actuator:
        builder.force(Actuator("motor", "hinge", **actuator))
    return builder.build()


def bounces(height, e, count):
    """Times at which a ball strikes that falls from there [s]."""
    times = [math.sqrt(2.0 * height / G)]
    for k in range(1, count):
        times.append(times[-1] + 2.0 * e**k * math.sqrt(2.0 * height / G))
    return times


def test_event_driven_meets_the_floor_at_exact_times():
    run = ss.simulate(ball(), until=1.5, h=0.05, scheme="event-driven")
    struck = [event.t for event in run.events if event.kind == "impact"]
    assert struck == pytest.approx(bounces(0.9, 0.7, len(struck)), abs=1e-12)
    assert {event.interaction for event in run.events} == {"ball on floor"}
    assert run.penetration.max() < 1e-12
    assert np.abs(run.balance).max() < 1e-10
    energy = run.kinetic + run.potential + run.dissipated
    assert energy == pytest.approx(np.full(len(run), energy[0]), rel=1e-10)


@pytest.mark.parametrize(("scheme", "h", "off"), [
    ("moreau-jean", 1e-3, 5e-3), ("schatzman-paoli", 1e-3, 1e-2), ("compliant", 2e-3, 2e-2),
])  # fmt: skip
def test_a_ball_bounces_back(scheme, h, off):
    run = ss.simulate(ball(), until=0.6, h=h, scheme=scheme)
    (first,) = bounces(0.9, 0.7, 1)
    exact = 0.1 + 0.7 * G * first * (0.6 - first) - 0.5 * G * (0.6 - first) ** 2
    assert run.scheme == scheme
    assert run.body("ball").position[-1] == pytest.approx([0.0, 0.0, exact], abs=off)
    assert run.relaxed == (scheme == "compliant")


@pytest.mark.parametrize("scheme", BY_EQUATIONS)
def test_a_box_slides_to_rest_and_its_weight_is_borne(scheme):
    if scheme == "compliant":
        scheme = ss.schemes.Compliant(stiffness=1e4)
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    box = ss.Cuboid((0.4, 0.4, 0.1))
    builder.body("box", box, position=(0, 0, 0.05), mass=2.0, velocity=(0.5, 0, 0))
    h = 5e-3
    run = ss.simulate(builder.build(), until=0.2, h=h, scheme=scheme)
    way = 0.5**2 / (2.0 * 0.5 * G)
    assert run.body("box").position[-1] == pytest.approx([way, 0.0, 0.05], abs=1e-3)
    normal = run.contacts.r[run.contacts.at(len(run) - 1), 0]
    assert normal.sum() / h == pytest.approx(2.0 * G, rel=1e-2)
    assert abs(run.dissipated[-1] - 0.25) < 2e-2


def test_a_stiff_spring_stays_bounded_where_h_omega_is_50():
    """Trapezoidal: the energy of a linear spring is kept whatever h; the semi-explicit scheme gives up."""
    run = ss.simulate(stiff(), until=100 * 0.05, h=0.05, scheme="moreau-jean")
    assert np.abs(run.body("mass").position[:, 0] - 1.0).max() < 0.0101
    assert run.kinetic + run.potential == pytest.approx(np.full(len(run), 50.0), rel=1e-6)
    with pytest.raises(ss.SimulationFailure, match="too stiff"):
        ss.simulate(stiff(), until=100 * 0.05, h=0.05)


def test_backward_differences_damp_a_stiff_spring():
    run = ss.simulate(stiff(), until=1.0, h=0.05, scheme=ss.schemes.MoreauJean(theta=1.0))
    assert abs(run.body("mass").position[-1, 0] - 1.0) < 1e-12


@pytest.mark.parametrize(("scheme", "order"), [("moreau-jean", 2), ("schatzman-paoli", 1)])
def test_order_on_a_spring(scheme, order):
    period = 2.0 * math.pi / 10.0
    errors = [
        abs(run.body("mass").position[-1, 0] - 1.0)
        for n in (40, 80)
        for run in [ss.simulate(stiff(10.0), until=1.25 * period, h=period / n, scheme=scheme)]
    ]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.3)


def test_a_pendulum_is_alike_by_all_schemes():
    """Against event-driven integration, which has its error by its own tolerance."""
    exact = ss.simulate(pendulum(), until=0.4, h=0.02, scheme="event-driven")
    assert [(event.kind, event.interaction) for event in exact.events][:1] == [
        ("impact", "hinge: upper turning stop")
    ]
    assert exact.opening.max() < 1e-10
    fallen = exact.potential[0] - pendulum().mass[0] * G * (1.0 - 0.25 * math.sin(1.0))
    assert exact.dissipated[-1] == pytest.approx((1.0 - 0.5**2) * fallen, rel=1e-8)
    for scheme in (None, "moreau-jean", "schatzman-paoli"):
        run = ss.simulate(pendulum(), until=0.4, h=1e-3, scheme=scheme)
        assert run.joint("hinge").angle[-1] == pytest.approx(exact.joint("hinge").angle[-1], abs=1e-2)


def test_energy_of_a_spinning_top_is_kept():
    builder = ss.WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body("top", ss.Cuboid((0.1, 0.2, 0.3)), mass=1.0, spin=(3.0, 1.0, 2.0))
    run = ss.simulate(builder.build(), until=1.0, h=0.05, scheme="event-driven")
    assert run.kinetic == pytest.approx(np.full(len(run), run.kinetic[0]), rel=1e-8)


@pytest.mark.parametrize("motion", [((0, 0, 0.3), (0, 0, 0)), lambda t: ((0, 0, 0.3), (0, 0, 0))])
@pytest.mark.parametrize("scheme", ["moreau-jean", "event-driven"])
def test_a_lift_carries_a_box(motion, scheme):
    """A kinematic body of constant speed, prescribed as numbers and as a function: ball and lift rise."""
    builder = ss.WorldBuilder()
    builder.body("lift", ss.Plane(), motion=motion)
    builder.body("ball", ss.Sphere(0.1), position=(0.0, 0.0, 0.1), mass=2.0, velocity=(0, 0, 0.3))
    run = ss.simulate(builder.build(), until=0.5, h=0.01, scheme=scheme)
    assert run.body("lift").position[-1] == pytest.approx([0.0, 0.0, 0.15], abs=1e-9)
    assert run.body("ball").position[-1] == pytest.approx([0.0, 0.0, 0.25], abs=1e-6)
    assert run.work[-1] == pytest.approx(2.0 * G * 0.15, rel=1e-6)


def test_a_world_that_turns_as_prescribed():
    """A turntable: the path of a function of time is that of the numbers."""
    ends = []
    for motion in (((0.1, 0, 0), (0, 0, 2.0)), lambda t: ((0.1, 0, 0), (0, 0, 2.0))):
        builder = ss.WorldBuilder()
        builder.body("table", ss.Plane(), motion=motion)
        builder.body("ball", ss.Sphere(0.1), position=(0.0, 0.0, 0.5))
        ends.append(ss.simulate(builder.build(), until=0.25, h=0.05, scheme="event-driven").q[-1, :7])
    half = 0.5 * 2.0 * 0.25
    assert ends[0] == pytest.approx([0.025, 0, 0, math.cos(half), 0, 0, math.sin(half)], abs=1e-12)
    assert ends[1] == pytest.approx(ends[0], abs=1e-9)


@pytest.mark.parametrize("scheme", ["moreau-jean", "event-driven"])
def test_runs_are_saved_and_go_on(tmp_path, scheme):
    whole = ss.simulate(ball(), until=0.8, h=0.05, scheme=scheme)
    part = ss.simulate(ball(), until=0.45, h=0.05, scheme=scheme)
    part.save(tmp_path / "run.h5")
    read = ss.read_trajectory(tmp_path / "run.h5")
    rest = ss.simulate(ball(), until=0.8, start=read.checkpoint())
    assert rest.scheme == whole.scheme == scheme
    assert np.array_equal(rest.q[-1], whole.q[-1])
    assert [event.t for event in read.events + rest.events] == [event.t for event in whole.events]


def test_inputs_are_set_between_steps():
    """A torque that holds the arm level against its weight."""
    world = pendulum(stop=3.0, effort=Input(0.0))
    live = ss.live(world, h=1e-3, scheme="moreau-jean")
    live.inputs["motor"] = -world.mass[0] * G * 0.25
    live.step(50)
    assert live.joint("hinge").position == pytest.approx(0.0, abs=1e-9)
    live.inputs["motor"] = 0.0
    live.step(50)
    assert live.joint("hinge").position > 0.01


@pytest.mark.parametrize(("given", "words"), [
    ({"scheme": ss.schemes.EulerMoreau()}, "euler-moreau applies to systems of first order, not to worlds"),
    ({"scheme": "euler-moreau"}, "applies to systems of first order, not to worlds; worlds accept"),
    ({"scheme": {"ball": "moreau-jean"}}, "worlds accept variational, moreau-jean, "),
])  # fmt: skip
def test_schemes_that_carry_no_world(given, words):
    with pytest.raises(ss.ModelError, match=words):
        ss.simulate(ball(), until=0.1, h=0.1, **given)


def test_a_kinematic_body_off_its_path_is_refused():
    builder = ss.WorldBuilder()
    builder.body("lift", ss.Plane(), motion=((0, 0, 0.3), (0, 0, 0)))
    builder.body("ball", ss.Sphere(0.1), position=(0.0, 0.0, 1.0))
    world = builder.build()
    q = np.array(world.start.q)
    q[2] = 0.2
    start = ss.State(0.0, q, np.array(world.start.v))
    with pytest.raises(ss.ModelError, match=r"body 'lift': at t = 0 s it is 0.2 m away"):
        ss.simulate(world, until=0.1, h=0.01, scheme="event-driven", start=start)


def test_joints_of_compliant_worlds_are_springs_that_tend_to_rigid_ones():
    """A hinge that holds m g by springs of stiffness k opens by about m g / k."""
    world = pendulum(stop=3.0)
    opened = []
    for stiffness in (1e4, 4e4):
        run = ss.simulate(world, until=0.05, h=5e-3, scheme=ss.schemes.Compliant(stiffness=stiffness))
        assert run.relaxed
        opened.append(run.opening.max())
    assert opened[0] / opened[1] == pytest.approx(4.0, rel=0.3)
    rigid = ss.simulate(world, until=0.05, h=5e-3, scheme="event-driven")
    assert np.abs(run.q[-1] - rigid.q[-1]).max() < 3.0 * opened[1]
