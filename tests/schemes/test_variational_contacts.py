"""The variational scheme where bodies touch: no penetration, Coulomb's law, restitution, stops, friction."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.detection.detector import Detector
from stickslip.schemes import registry
from stickslip.schemes.variational import VariationalBodies, step_problem

G = 9.81


def run(world, until, h, scheme="variational", **how):
    return ss.simulate(world, until=until, h=h, scheme=scheme, **how)


def floor(mu=0.5, e=0.0, **more):
    builder = ss.WorldBuilder(**more)
    builder.material("default", mu=mu, e=e)
    builder.body("floor", ss.Plane(), fixed=True)
    return builder


def tossed():
    """A box, a capsule and two balls that fly onto the floor, the balls onto each other."""
    builder = floor(0.4, 0.3)
    builder.body(
        "box", ss.Cuboid((0.2, 0.3, 0.1)), mass=1.0, position=(0.0, 0.0, 0.4), velocity=(1.0, 0.3, -1.0),
        spin=(3.0, 1.0, 2.0), quaternion=ss.rotation((1.0, 2.0, 0.0), 0.4),
    )  # fmt: skip
    builder.body(
        "capsule", ss.Capsule(0.05, 0.2), mass=0.5, position=(0.0, 1.0, 0.3), velocity=(0.0, -0.5, -1.0),
        spin=(0.0, 4.0, 1.0), quaternion=ss.rotation((1.0, 0.0, 0.0), 1.0),
    )  # fmt: skip
    builder.body("ball", ss.Sphere(0.1), mass=0.3, position=(1.0, 0.0, 0.15), spin=(0.0, 20.0, 0.0))
    builder.body("upper", ss.Sphere(0.08), mass=0.4, position=(1.03, 0.02, 0.45))
    for first, second in (("box", "capsule"), ("box", "ball"), ("box", "upper"), ("capsule", "ball"),
                          ("capsule", "upper")):  # fmt: skip
        builder.apart(first, second)
    return builder.build()


@pytest.fixture(scope="module")
def toss():
    world = tossed()
    return world, run(world, 0.8, 0.01)


def test_nothing_penetrates_at_the_end_of_any_step(toss):
    world, trajectory = toss
    assert trajectory.ok.all()
    assert trajectory.penetration.max() <= 1e-8
    detector = Detector(world)
    deepest = min(detector.find(q, 0.0).gap.min(initial=0.0) for q in trajectory.q)
    assert deepest >= -1e-8
    assert len(trajectory.contacts) > 40
    assert (trajectory.contacts.r[:, 0] >= -1e-9).all()


def test_energy_is_accounted_for(toss):
    _, trajectory = toss
    given = np.abs(np.diff(trajectory.balance))
    assert np.abs(trajectory.balance).max() < 0.02 * trajectory.energy[0]
    assert given.max() < 0.01 * trajectory.energy[0]
    assert trajectory.dissipated[-1] > 0.3 * trajectory.energy[0]


def test_the_same_bytes_twice_and_over_a_checkpoint(toss, tmp_path):
    world, trajectory = toss
    again = run(world, 0.3, 0.01)
    assert again.q.tobytes() == trajectory.q[:31].tobytes()
    again.save(tmp_path / "toss.h5")
    start = ss.read_trajectory(tmp_path / "toss.h5").checkpoint()
    rest = ss.simulate(world, until=0.8, start=start)
    assert rest.q.tobytes() == trajectory.q[30:].tobytes()
    assert rest.v.tobytes() == trajectory.v[30:].tobytes()
    assert rest.balance[-1] == trajectory.balance[-1]


def test_a_memory_that_does_not_fit_is_refused(toss):
    world, trajectory = toss
    good = trajectory.checkpoint()

    def going_on(**memory):
        start = replace(good, memory=good.memory | memory)
        ss.simulate(world, until=0.9, start=start)

    with pytest.raises(ss.ModelError, match="'h' is"):
        going_on(h=np.array([-1.0]))
    with pytest.raises(ss.ModelError, match="'approach'"):
        going_on(id=np.array([1.0, 2.0]), approach=np.zeros(3))


def test_spheres_in_a_heap_do_not_penetrate():
    """More than are looked at pair by pair: the grid finds them."""
    builder = floor(0.3)
    rng = np.random.default_rng(5)
    for k in range(70):
        at = np.array([k % 5, k // 5 % 5, k // 25]) * 0.21 + rng.uniform(-0.004, 0.004, 3) + (0, 0, 0.11)
        builder.body(f"ball {k}", ss.Sphere(0.1), mass=1.0, position=at, velocity=(0.0, 0.0, -1.0))
    world = builder.build()
    trajectory = run(world, 0.1, 0.01)
    assert trajectory.penetration.max() <= 1e-8
    detector = Detector(world)
    assert min(detector.find(q, 0.0).gap.min(initial=0.0) for q in trajectory.q) >= -1e-8
    assert np.diff(trajectory.contacts.offset).max() > 70


def sloped(angle, mu, speed=0.0):
    """A block on a slope about y; x' is down it."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=mu)
    turn = ss.rotation((0.0, 1.0, 0.0), angle)
    builder.body("slope", ss.Plane(), fixed=True, quaternion=turn)
    down = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    normal = np.array([np.sin(angle), 0.0, np.cos(angle)])
    builder.body(
        "block", ss.Cuboid((0.4, 0.3, 0.1)), mass=2.0, position=0.05 * normal, quaternion=turn,
        velocity=speed * down,
    )  # fmt: skip
    return builder.build(), down


def test_a_block_sticks_without_creep():
    world, _ = sloped(0.3, np.tan(0.3) + 0.01)
    trajectory = run(world, 1.0, 0.01)
    assert np.abs(trajectory.body("block").position[-1] - trajectory.body("block").position[0]).max() < 1e-9
    assert set(trajectory.contact_states) == {"sticking"}


def test_a_block_slides_as_friction_says():
    angle, mu = 0.5, 0.3
    world, down = sloped(angle, mu)
    trajectory = run(world, 1.0, 0.01)
    way = (trajectory.body("block").position - trajectory.body("block").position[0]) @ down
    a = G * (np.sin(angle) - mu * np.cos(angle))
    np.testing.assert_allclose(way, 0.5 * a * trajectory.t**2, atol=1e-7)


def drop(e, height=0.5):
    builder = floor(0.0, e)
    builder.body("ball", ss.Sphere(0.1), mass=1.0, position=(0.0, 0.0, 0.1 + height))
    return builder.build()


@pytest.mark.parametrize("e", [0.0, 0.5, 0.8, 1.0])
def test_a_ball_comes_back_to_e_squared_of_its_height(e):
    h, height = 1e-3, 0.5
    fall = np.sqrt(2.0 * height / G)
    trajectory = run(drop(e), fall * (1.0 + 1.5 * e) + 0.02, h)
    z = trajectory.body("ball").position[:, 2] - 0.1
    after = z[trajectory.t > fall + 0.005]
    assert after.max() == pytest.approx(e * e * height, abs=4.0 * h * np.sqrt(2.0 * G * height))
    assert z.min() >= -1e-9
    struck = np.flatnonzero(np.diff(trajectory.v[:, 8]) > 1.0)  # closed, then left: two steps
    if e > 0.0:
        came, left = trajectory.v[struck[0], 8], trajectory.v[struck[-1] + 1, 8]
        assert left == pytest.approx(-e * came, rel=1e-7)


def test_a_ball_with_restitution_comes_to_rest():
    trajectory = run(drop(0.5, 0.05), 0.6, 1e-3)
    assert abs(trajectory.v[-1, 8]) < 1e-7
    assert trajectory.body("ball").position[-1, 2] == pytest.approx(0.1, abs=1e-8)


@pytest.fixture(scope="module")
def skates():
    """A block that starts to slide at 30° to the axes, by each model of friction."""
    found = {}
    for contact in ("cone", "pyramid", "impact"):
        builder = floor(0.3)
        builder.body(
            "block", ss.Cuboid((0.2, 0.2, 0.1)), mass=1.0, position=(0.0, 0.0, 0.05),
            velocity=(np.cos(np.pi / 6), np.sin(np.pi / 6), 0.0),
        )  # fmt: skip
        found[contact] = run(builder.build(), 0.25, 0.01, scheme=VariationalBodies(contact=contact))
    return found


def test_on_the_cone_a_block_slides_straight_and_on_a_pyramid_it_bends(skates):
    def bearing(trajectory):
        x, y, _ = trajectory.body("block").position[-1]
        return np.arctan2(y, x)

    assert bearing(skates["cone"]) == pytest.approx(np.pi / 6, abs=1e-6)
    # the facet along the larger speed takes all of the friction, until both are alike
    assert bearing(skates["pyramid"]) > np.pi / 6 + 0.05
    speed = np.linalg.norm(skates["cone"].v[-1, 6:8])
    assert speed == pytest.approx(1.0 - 0.3 * G * 0.245, abs=1e-6)
    np.testing.assert_allclose(skates["impact"].v[-1, 6:8], skates["impact"].v[0, 6:8], atol=1e-9)


def test_relaxed_models_are_called_relaxed(skates):
    assert not skates["cone"].relaxed
    assert skates["cone"].natural_scaled.max() > 0.0
    for contact in ("pyramid", "impact"):
        assert skates[contact].relaxed
        assert "relaxed" in str(skates[contact])
        assert not skates[contact].ok[1:].any()
    assert skates["pyramid"].natural_scaled.max() > 0.01, "the judge measures the cone"
    assert registry.relaxation("variational-bodies", {"contact": "pyramid"})
    assert not registry.relaxation("variational-bodies", {})


def test_a_pendulum_bounces_off_its_stop():
    builder = ss.WorldBuilder()
    builder.body("bob", None, mass=1.0, inertia=(0.01, 0.01, 0.01), position=(0.5, 0.0, 0.0))
    builder.joint(
        "pivot", "hinge", "bob", None, point=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), limits=(-1.0, 1.0), e=0.5
    )
    world = builder.build()
    trajectory = run(world, 0.9, 1e-3)
    assert trajectory.opening.max() < 1e-9
    spin = trajectory.v[:, 4]
    turned = int(np.flatnonzero(np.diff(np.sign(spin)) < 0)[0])
    speed = np.sqrt(2.0 * G * 0.5 * np.sin(1.0) / (0.26))
    assert spin.max() == pytest.approx(speed, rel=2e-2)
    assert spin[turned + 1] == pytest.approx(-0.5 * spin.max(), rel=1e-2)


def test_dry_friction_stops_a_slider_when_it_should():
    builder = ss.WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body("rider", None, mass=2.0, inertia=(1.0, 1.0, 1.0), velocity=(1.0, 0.0, 0.0))
    builder.joint("rail", "slider", "rider", None, point=(0, 0, 0), axis=(1.0, 0.0, 0.0), friction=4.0)
    trajectory = run(builder.build(), 1.0, 0.01)
    x = trajectory.body("rider").position[:, 0]
    moving = trajectory.t < 0.5
    t = trajectory.t[moving]
    np.testing.assert_allclose(x[moving], t - t**2, atol=1e-7)  # a = f / m = 2 m/s²
    assert np.ptp(x[trajectory.t > 0.52]) < 1e-9
    assert trajectory.dissipated[-1] == pytest.approx(1.0, rel=1e-2)


def test_a_pendulum_hangs_in_its_friction():
    """A moment below that of dry friction moves nothing; the rest is held to rounding."""
    builder = ss.WorldBuilder()
    builder.body("bob", None, mass=1.0, inertia=(0.01, 0.01, 0.01), position=(0.5, 0.0, 0.0))
    builder.joint(
        "pivot", "hinge", "bob", None, point=(0.0, 0.0, 0.0), axis=(0.0, 1.0, 0.0), friction=0.5 * G + 0.1
    )
    trajectory = run(builder.build(), 0.2, 0.01)
    assert np.abs(trajectory.q[-1] - trajectory.q[0]).max() < 1e-9


def test_with_another_scheme_the_motion_is_the_same_to_first_order():
    world = sloped(0.4, 0.3, 0.5)[0]
    ends = {}
    for scheme in ("variational", "moreau-jean-semi-explicit"):
        ends[scheme] = [run(world, 0.3, h, scheme=scheme).q[-1] for h in (0.01, 0.005)]
    apart = [np.abs(a - b).max() for a, b in zip(*ends.values(), strict=True)]
    assert apart[0] < 0.01 * 0.3 * 2.0
    assert apart[1] < 0.6 * apart[0] + 1e-9


def test_solvers_of_contact_problems_come_to_the_same_step(toss):
    world, trajectory = toss
    with_sweeps = run(world, 0.2, 0.01, solver="nsgs")
    assert with_sweeps.ok.all()
    np.testing.assert_allclose(with_sweeps.q[-1], trajectory.q[20], atol=1e-5)


def boxes():
    builder = floor()
    builder.body("lower", ss.Cuboid((0.4, 0.4, 0.2)), mass=1.0, position=(0.0, 0.0, 0.1))
    builder.body("upper", ss.Cuboid((0.2, 0.2, 0.2)), mass=1.0, position=(0.0, 0.0, 0.3001))
    return builder.build()


def test_a_box_stands_on_a_box():
    trajectory = run(boxes(), 0.2, 0.01)
    assert trajectory.ok.all()
    assert trajectory.penetration.max() < 1e-8
    assert trajectory.body("upper").position[-1, 2] == pytest.approx(0.3, abs=1e-8)
    up = trajectory.forces_on("lower")[-1]
    np.testing.assert_allclose(up, [0.0, 0.0, G], atol=1e-5)


def test_filters_are_considered():
    builder = floor()
    builder.body("a", ss.Cuboid((0.4, 0.4, 0.2)), position=(0.0, 0.0, 0.1), group="crowd")
    builder.body("b", ss.Capsule(0.1, 0.2), position=(0.0, 0.0, 0.2), group="crowd")
    builder.apart_groups("crowd", "crowd")
    world = builder.build()
    memory = VariationalBodies().begin(world, world.start, 0.01)
    problem = step_problem(VariationalBodies(), world, world.start, memory, 0.01)
    assert problem.contacts.gap.size == 5  # four corners below and the lower end
    assert sorted(problem.contacts.forms.radius[:, 0]) == [0.0] * 4 + [0.1]


def test_options_that_are_none_are_refused():
    with pytest.raises(ValueError, match="contact must be one of cone, pyramid, impact"):
        VariationalBodies(contact="circle")


def test_an_overlap_and_an_open_joint_are_refused():
    builder = floor()
    builder.body("sunk", ss.Sphere(0.1), position=(0.0, 0.0, 0.05))
    with pytest.raises(ss.ModelError, match="overlap"):
        run(builder.build(), 0.1, 0.01)


def slot(e, speed):
    """A ball between two planes with 1 cm to spare."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.material("default", mu=0.0, e=e)
    b.body("floor", ss.Plane(), fixed=True)
    b.body(
        "lid",
        ss.Plane(),
        position=(0, 0, 0.21),
        quaternion=ss.rotation((1, 0, 0), np.pi),
        fixed=True,
    )
    b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.105), velocity=(0, 0, -speed), mass=1.0)
    return b.build()


def test_a_bounce_without_room_is_a_failure_and_shorter_steps_have_it():
    """In a step of 5 ms it would have to rise by 12.5 mm."""
    with pytest.raises(ss.SimulationFailure, match=r"'ball' and 'lid' end .* what bounces has no room"):
        run(slot(0.5, 5.0), 0.05, 5e-3)
    trajectory = run(slot(0.5, 5.0), 0.05, 1e-3)
    assert trajectory.ok.all()
    assert trajectory.penetration.max() < 1e-8


def test_balls_that_fall_alike_need_nothing_solved():
    """Their velocities differ by rounding alone; gaps of millimetres are far beyond that."""
    places = [
        [0.000251, -0.000264, 0.111281], [-0.002531, 0.208753, 0.110083], [0.20535, 0.209562, 0.107508],
        [0.212733, 0.41867, 0.110703], [0.421807, 0.420188, 0.108513], [0.213603, 0.42263, 0.320715],
    ]  # fmt: skip
    b = ss.WorldBuilder()
    b.material("default", mu=0.5)
    b.body("floor", ss.Plane(), fixed=True)
    for k, place in enumerate(places):
        b.body(f"ball {k}", ss.Sphere(0.1), position=place, velocity=(0, 0, -1.0))
    world = b.build()
    trajectory = run(world, 0.1, 5e-3)
    assert trajectory.ok.all()
    assert trajectory.penetration.max() < 1e-8
    assert ss.differentiate(world, h=5e-3, scheme="variational").exists
