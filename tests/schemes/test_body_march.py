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


WORLDS = {
    "rocks": rocks,
    "hulls": hulls,
    "boxes": boxes,
    "spheres": spheres,
    "rolling": rolling,
    "springs": springs,
    "belt": belt,
}


def one_by_one(monkeypatch):
    monkeypatch.setattr(BodyMarch, "of", classmethod(lambda cls, *arguments: None))


@pytest.mark.parametrize("record", [1, 7])
@pytest.mark.parametrize("name", WORLDS)
def test_a_run_is_the_same_however_its_steps_are_made(name, record, monkeypatch):
    world, made = WORLDS[name](), []
    of, make = BodyMarch.of.__func__, BodyMarch.make

    def counted(self, *arguments):
        stretch = make(self, *arguments)
        made.append(0 if stretch is None else stretch.steps)
        return stretch

    monkeypatch.setattr(BodyMarch, "make", counted)
    together = ss.simulate(world, until=0.35, h=1e-3, record=record, forces="solver")
    assert sum(made) > 200, "the steps were made one by one"
    assert of is not None
    one_by_one(monkeypatch)
    alone = ss.simulate(world, until=0.35, h=1e-3, record=record, forces="solver")
    for column in NUMBERS:
        assert np.array_equal(getattr(together, column), getattr(alone, column)), column
    for column in ("id", "body", "point", "frame", "gap", "law", "r", "u"):
        pair = getattr(together.raw_contacts, column), getattr(alone.raw_contacts, column)
        assert np.array_equal(*pair), column
    assert np.array_equal(together.raw_contacts.offset, alone.raw_contacts.offset)
    for name_, value in alone.memory.items():
        assert np.array_equal(together.memory[name_], value), name_
    assert together.steps == alone.steps == 350


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


@pytest.mark.parametrize("why", ["joint", "function", "poisson", "parts", "solver", "nothing moves"])
def test_other_runs_are_made_step_by_step(why):
    from stickslip.schemes.bodies import SemiExplicitMoreauJean
    from stickslip.schemes.body_world import PreparedWorld
    from stickslip.solvers import registry

    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    moves = why != "nothing moves"
    b.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), fixed=not moves)
    if why == "joint":
        b.joint("hinge", "hinge", "box", point=(0, 0, 1), axis=(1, 0, 0))
    if why == "function":
        b.force(ss.forces.BodyForce("push", "box", force=lambda t: (np.sin(t), 0.0, 0.0)))
    options = {"poisson": {"impact": "poisson"}, "parts": {"parts": 3}}.get(why, {})
    solver = registry.make("nsgs" if why == "solver" else "auto")
    world = b.build()
    assert BodyMarch.of(PreparedWorld(world), SemiExplicitMoreauJean(**options), solver) is None


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
