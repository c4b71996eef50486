"""Steps of worlds made together in compiled code are those made one by one, bit for bit."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.compilation import JIT
from stickslip.schemes import body_march
from stickslip.schemes.body_march import BodyMarch

pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")
NUMBERS = (
    "t", "h", "verdicts", "natural", "natural_scaled", "iterations", "penetration", "opening", "correction",
    "kinetic", "potential", "dissipated", "work", "lifted", "balance", "q", "v",
)  # fmt: skip


def boxes():
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(3):
        b.body(f"box{k}", ss.Cuboid((1, 1, 1)), position=(0.1 * k, 0, 0.5 + 1.02 * k), velocity=(k, 0, 0))
    return b.build()


def spheres():
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(12):
        place = (0.13 * (k % 3), 0.13 * (k // 3 % 2), 0.07 + 0.13 * (k // 6))
        b.body(f"ball{k}", ss.Sphere(0.05 + 0.001 * k), position=place, velocity=(0.1 * k, 0, 0))
    return b.build()


def rolling():
    b = ss.WorldBuilder()
    b.material("default", mu=0.5, mu_roll=0.01, mu_spin=0.01, e=0.5)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.2), velocity=(1, 0, 0))
    b.body("rod", ss.Cylinder(0.1, 0.4), position=(1, 0, 0.3), velocity=(0, 1, 0))
    b.body("box", ss.Cuboid((0.2, 0.3, 0.2)), position=(2, 0, 0.12), velocity=(1, 1, 0))
    return b.build()


def springs():
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("one", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1), velocity=(1, 0, 0))
    b.body("two", ss.Cuboid((0.2, 0.2, 0.2)), position=(0.5, 0, 0.2))
    b.force(
        ss.forces.Spring(
            "spring", "one", "two", stiffness=40.0, damping=0.5, length=0.4, first_point=(0, 0, 0.2)
        )
    )
    b.force(ss.forces.Damper("drag", "two", linear=0.3, angular=0.01))
    b.force(
        ss.forces.BodyForce("push", "one", force=(0.0, 3.0, 0.0), point=(0.1, 0.0, 0.1), moment=(0, 0, 0.01))
    )
    return b.build()


def belt():
    """A belt that swings under a box, and a wheel that turns."""
    b = ss.WorldBuilder()
    swing = lambda t: ((0.5 * np.cos(3 * t), 0.0, 0.0), (0.0, 0.0, 0.2 * t))  # noqa: E731
    b.body("belt", ss.Cuboid((2, 2, 0.1)), position=(0, 0, -0.05), motion=swing)
    b.body("wheel", ss.Cylinder(0.2, 0.3), position=(1.5, 0, 0.5), motion=((0, 0, 0), (0, 0, 2.0)))
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1))
    b.body("ball", ss.Sphere(0.1), position=(1.5, 0, 0.8))
    return b.build()


def terrain(*shapes):
    b = ss.WorldBuilder()
    heights = 0.2 * np.sin(np.arange(12.0))[:, None] * np.cos(np.arange(12.0))
    b.body("hill", ss.HeightField(heights, (4.0, 4.0)), fixed=True)
    for k, shape in enumerate(shapes):
        b.body(f"rock{k}", shape, position=(0.6 * k - 0.6, 0.2 * k, 0.5), velocity=(0.5, 0, 0))
    return b.build()


def rocks():
    return terrain(ss.Cuboid((0.2, 0.3, 0.2)), ss.Sphere(0.1), ss.Capsule(0.1, 0.2))


def hulls():
    return terrain(ss.Cylinder(0.1, 0.3), ss.Cuboid((0.2, 0.3, 0.2)))


def kinds_of_joints():
    """Every kind, with stops that are reached, restitution and dry friction, above a floor."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True, position=(0, 0, -0.6))
    rod = ss.Cuboid((0.4, 0.1, 0.1))
    for k in range(7):
        b.body(f"rod{k}", rod, position=(0.2, 0.5 * k, 0.0), velocity=(0, 0, 0))
    b.joint("hinge", "hinge", "rod0", point=(0, 0, 0), axis=(0, 1, 0), limits=(-1, 0.3), friction=0.5, e=0.4)
    b.joint("slider", "slider", "rod1", point=(0, 0.5, 0), axis=(0.2, 0, 1), limits=(-0.1, 0.1), friction=1.0)
    b.joint(
        "cylinder", "cylindrical", "rod2", point=(0, 1, 0), axis=(1, 0, 1), limits=(-0.2, None), e=0.5,
        turn_limits=(-0.5, 0.5), turn_friction=0.1,
    )  # fmt: skip
    b.joint("ball", "ball", "rod3", point=(0, 1.5, 0))
    b.joint("bar", "distance", "rod4", point=(0.4, 2.0, 0), second_point=(0.4, 2.0, 0.5))
    b.joint(
        "rope",
        "distance",
        "rod5",
        point=(0.4, 2.5, 0),
        second_point=(0.4, 2.5, 0.5),
        limits=(None, 0.6),
        e=0.3,
    )
    b.body("tip", ss.Sphere(0.05), position=(0.6, 3.0, 0.0))
    b.joint("weld", "fixed", "tip", "rod6", point=(0.4, 3.0, 0))
    b.sensor(ss.sensors.ForceSensor("pull", joint="ball"))
    b.sensor(ss.sensors.PositionSensor("tip", "tip"))
    return b.build()


def doors():
    """Joints that hold a motion twice: a door on two hinges, a hinge beside a slider; a ball strikes one."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("door", ss.Cuboid((1.0, 0.1, 2.0)), position=(0.5, 0, 1.2), mass=20.0)
    for k, z in enumerate((0.5, 2.0)):
        b.joint(f"hinge{k}", "hinge", "door", point=(0, 0, z), axis=(0, 0, 1))
    b.body("arm", ss.Cuboid((0.5, 0.1, 0.1)), position=(2.25, 0, 1))
    b.body("hand", ss.Cuboid((0.5, 0.1, 0.1)), position=(2.75, 0, 1))
    b.joint("base", "hinge", "arm", point=(2, 0, 1), axis=(0, 1, 0))
    b.joint("wrist", "hinge", "hand", "arm", point=(2.5, 0, 1), axis=(0, 1, 0))
    b.joint("slide", "slider", "arm", "hand", point=(2.5, 0, 1), axis=(1, 0, 0))
    b.body("ball", ss.Sphere(0.1), position=(0.8, -0.3, 1.5), velocity=(0, 3, 0))
    return b.build()


def hanging_chain():
    """Links that a swinging body leads, and that come to lie on the floor."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True, position=(0, 0, -0.5))
    swing = lambda t: ((0.5 * np.cos(3 * t), 0.0, 0.0), (0.0, 0.4, 0.0))  # noqa: E731
    b.body("hand", ss.Sphere(0.02), position=(0, 0, 0), motion=swing)
    for k in range(6):
        b.body(f"link{k}", ss.Capsule(0.03, 0.14), position=(0.1 + 0.2 * k, 0, 0), quaternion=(1, 0, 1, 0))
        b.joint(f"pin{k}", "ball", f"link{k}", f"link{k - 1}" if k else "hand", point=(0.2 * k, 0, 0))
    return b.build()


def machine():
    """Actuators with constants and inputs, springs and pushes on joined bodies."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("cart", ss.Cuboid((0.4, 0.3, 0.1)), position=(0, 0, 0.3))
    b.joint("rail", "slider", "cart", point=(0, 0, 0.3), axis=(1, 0, 0), limits=(-0.3, 0.3), e=0.5)
    b.body("pole", ss.Cuboid((0.05, 0.05, 0.8)), position=(0, 0, 0.7))
    b.joint("pivot", "hinge", "pole", "cart", point=(0, 0, 0.3), axis=(0, 1, 0), friction=0.05)
    b.force(ss.forces.Actuator("drive", "rail", 30.0))
    b.force(ss.forces.Actuator("motor", "pivot"))
    b.force(ss.forces.Spring("spring", "pole", stiffness=50.0, damping=0.2, second_point=(0.5, 0, 1.0)))
    b.force(ss.forces.BodyForce("push", "pole", force=ss.forces.Input((0.0, 0.0, 0.0))))
    b.body("weight", ss.Cuboid((0.2, 0.2, 0.2)), position=(1, 0, 0.1), velocity=(1, 0, 0))
    return b.build()


def wagon():
    """Wheels with rolling friction on axles, and a rope to a load."""
    b = ss.WorldBuilder()
    b.material("default", mu=0.6, mu_roll=0.005)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("deck", ss.Cuboid((0.6, 0.2, 0.05)), position=(0, 0, 0.12), velocity=(1, 0, 0))
    for k, (x, y) in enumerate(((-0.2, -0.16), (-0.2, 0.16), (0.2, -0.16), (0.2, 0.16))):
        b.body(f"wheel{k}", ss.Sphere(0.1), position=(x, y, 0.1), velocity=(1, 0, 0), spin=(0, 10, 0))
        b.joint(f"axle{k}", "hinge", f"wheel{k}", "deck", point=(x, y, 0.1), axis=(0, 1, 0))
    b.body("load", ss.Cuboid((0.2, 0.2, 0.2)), position=(-0.8, 0, 0.1))
    ends = {"point": (-0.7, 0, 0.12), "second_point": (-0.3, 0, 0.12)}
    b.joint("rope", "distance", "load", "deck", **ends, limits=(None, 0.45))
    return b.build()


def boxes_and_a_pendulum():
    """Contacts that are many for one joint."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(6):
        b.body(f"box{k}", ss.Cuboid((0.2, 0.2, 0.2)), position=(0.4 * k, 0, 0.1), velocity=(0, 0.3 * k, 0))
    b.body("bob", ss.Sphere(0.1), position=(0.5, -1, 1))
    b.joint("pivot", "ball", "bob", point=(0, -1, 1))
    return b.build()


def compounds():
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    dumbbell = ss.shapes.Compound(
        (ss.Sphere(0.1), (-0.2, 0, 0)),
        (ss.Cuboid((0.4, 0.05, 0.05)), (0, 0, 0)),
        (ss.Sphere(0.1), (0.2, 0, 0)),
    )
    b.body("first", dumbbell, position=(0, 0, 0.15), velocity=(0.5, 0, 0), spin=(0, 0, 3))
    b.body("second", dumbbell, position=(0.1, 0.1, 0.5))
    return b.build()


WORLDS = {
    "kinds of joints": kinds_of_joints,
    "doors": doors,
    "hanging chain": hanging_chain,
    "machine": machine,
    "wagon": wagon,
    "boxes and a pendulum": boxes_and_a_pendulum,
    "compounds": compounds,
    "rocks": rocks,
    "hulls": hulls,
    "boxes": boxes,
    "spheres": spheres,
    "rolling": rolling,
    "springs": springs,
    "belt": belt,
}


OPTIONS = {
    "stabilised": {"stabilisation": True},
    "theta": {"theta": 0.7},
    "uncorrected": {"correction": False},
    "poisson": {"impact": "poisson"},
    "parts": {"parts": 3},
}


def one_by_one(monkeypatch):
    monkeypatch.setattr(BodyMarch, "of", classmethod(lambda cls, *arguments: None))


@pytest.mark.parametrize("record", [1, 7])
@pytest.mark.parametrize(
    "name",
    [
        *WORLDS, *(f"{name}, stabilised" for name in ("boxes", "rolling", "kinds of joints", "doors")),
        "machine, theta", "hanging chain, uncorrected", "boxes, poisson", "machine, poisson", "belt, parts",
        "hanging chain, parts",
    ],
)  # fmt: skip
def test_a_run_is_the_same_however_its_steps_are_made(name, record, monkeypatch):
    world, made = WORLDS[name.partition(",")[0]](), []
    scheme = ss.schemes.SemiExplicitMoreauJean(**OPTIONS.get(name.partition(", ")[2], {}))
    of, make = BodyMarch.of.__func__, BodyMarch.make

    def counted(self, *arguments):
        found = make(self, *arguments)
        made.append(0 if found is None else found[1])
        return found

    monkeypatch.setattr(BodyMarch, "make", counted)
    how = {"until": 0.35, "h": 1e-3, "record": record, "forces": "solver", "scheme": scheme}
    together = ss.simulate(world, **how)
    assert sum(made) > 200, "the steps were made one by one"
    assert of is not None
    one_by_one(monkeypatch)
    alone = ss.simulate(world, **how)
    for column in NUMBERS:
        assert np.array_equal(getattr(together, column), getattr(alone, column)), column
    for column in ("id", "body", "point", "frame", "gap", "law", "r", "u"):
        pair = getattr(together.raw_contacts, column), getattr(alone.raw_contacts, column)
        assert np.array_equal(*pair), column
    assert np.array_equal(together.raw_contacts.offset, alone.raw_contacts.offset)
    for column in ("joint_r", "joint_id", "joint_offset"):
        assert np.array_equal(getattr(together, column), getattr(alone, column)), column
    for sensor, shown in alone.sensors.items():
        assert np.array_equal(together.sensors[sensor], shown), sensor
    for name_, value in alone.memory.items():
        assert np.array_equal(together.memory[name_], value), name_
    assert together.steps == alone.steps == 350


def test_steps_asked_for_one_by_one_are_those_made_together():
    world = boxes()
    whole = ss.simulate(world, until=0.2, h=1e-3, forces="solver")
    live = ss.live(world, h=1e-3)
    for k in range(200):
        live.step()
        if k % 70 == 3:
            assert len(live.run()) == k + 2  # what is read ends a strip of steps
    cut = live.run()
    for column in NUMBERS:
        assert np.array_equal(getattr(whole, column), getattr(cut, column)), column
    assert np.array_equal(whole.raw_contacts.r, cut.raw_contacts.r)
    for name, value in whole.memory.items():
        assert np.array_equal(cut.memory[name], value), name


def test_where_a_call_ends_does_not_matter(monkeypatch):
    world = boxes()
    whole = ss.simulate(world, until=0.2, h=1e-3)
    monkeypatch.setattr(body_march, "WORK", 1)  # one step a call
    cut = ss.simulate(world, until=0.2, h=1e-3)
    assert np.array_equal(whole.q, cut.q)
    assert np.array_equal(whole.dissipated, cut.dissipated)
    assert np.array_equal(whole.raw_contacts.r, cut.raw_contacts.r)


@pytest.mark.parametrize("record", [1, 5])
def test_least_forces_are_those_of_steps_made_one_by_one(record, monkeypatch):
    world = boxes()
    together = ss.simulate(world, until=0.1, h=1e-3, record=record)
    r, choice = together.contacts.r, together.contacts.choice
    one_by_one(monkeypatch)
    alone = ss.simulate(world, until=0.1, h=1e-3, record=record)
    assert np.array_equal(choice, alone.contacts.choice)
    assert np.allclose(r, alone.contacts.r, atol=1e-12)


def test_a_run_goes_on_where_it_was_saved(tmp_path):
    world = spheres()
    whole = ss.simulate(world, until=0.2, h=1e-3)
    ss.simulate(world, until=0.1, h=1e-3).save(tmp_path / "half.h5")
    half = ss.read_trajectory(tmp_path / "half.h5")
    rest = ss.simulate(world, until=0.2, start=half.checkpoint())
    assert np.array_equal(rest.q[-1], whole.q[-1])
    assert np.array_equal(rest.v[-1], whole.v[-1])
    assert rest.dissipated[-1] == whole.dissipated[-1]


def test_inputs_that_are_set_between_steps_are_those_of_steps_made_one_by_one(monkeypatch):
    world = machine()

    def driven():
        live = ss.live(world, h=1e-3)
        for k in range(120):
            if k % 10 == 0:
                live.inputs["motor"] = 2.0 * np.sin(k)
                live.inputs["push"] = (0.0, 0.0, 0.1 * k)
            live.step()
        return live.run()

    together = driven()
    one_by_one(monkeypatch)
    alone = driven()
    for column in NUMBERS:
        assert np.array_equal(getattr(together, column), getattr(alone, column)), column


def test_a_jointed_run_goes_on_where_it_was_cut(monkeypatch):
    world = kinds_of_joints()
    whole = ss.simulate(world, until=0.2, h=1e-3)
    half = ss.simulate(world, until=0.1, h=1e-3)
    rest = ss.simulate(world, until=0.2, start=half.checkpoint())
    monkeypatch.setattr(body_march, "WORK", 1)  # one step a call
    cut = ss.simulate(world, until=0.2, h=1e-3)
    for other in (rest, cut):
        assert np.array_equal(whole.q[-1], other.q[-1])
        assert whole.dissipated[-1] == other.dissipated[-1]
    for name, value in whole.memory.items():
        assert np.array_equal(rest.memory[name], value), name


@pytest.mark.parametrize("why", ["effort", "function", "solver", "nothing moves"])
def test_other_runs_are_made_step_by_step(why):
    from stickslip.schemes.bodies import SemiExplicitMoreauJean
    from stickslip.schemes.body_world import PreparedWorld
    from stickslip.solvers import registry

    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    moves = why != "nothing moves"
    b.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), fixed=not moves)
    if why == "effort":
        b.joint("hinge", "hinge", "box", point=(0, 0, 1), axis=(1, 0, 0))
        b.force(ss.forces.Actuator("motor", "hinge", lambda velocity: -velocity))
    if why == "function":
        b.force(ss.forces.BodyForce("push", "box", force=lambda t: (np.sin(t), 0.0, 0.0)))
    solver = registry.make("nsgs" if why == "solver" else "auto")
    world = b.build()
    assert BodyMarch.of(PreparedWorld(world), SemiExplicitMoreauJean(), solver) is None


@pytest.mark.parametrize("times", [1, 100])
def test_a_motion_that_fails_ends_the_run_at_its_time(times):
    b, raised = ss.WorldBuilder(), []

    def motion(t):
        if t > 0.0505 and len(raised) < times:
            raised.append(t)
            raise ValueError("no further")
        return (0.0, 0.0, 0.1), (0.0, 0.0, 0.0)

    b.body("lift", ss.Cuboid((1, 1, 0.1)), position=(0, 0, -0.05), motion=motion)
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1))
    with pytest.raises(ValueError, match="no further") as caught:
        ss.simulate(b.build(), until=1.0, h=1e-3)
    assert caught.value.trajectory.t[-1] == pytest.approx(0.05)
