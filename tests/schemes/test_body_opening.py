"""Joints that open are no good step: what is held is measured at the end of each, by name."""

import numpy as np
import pytest

import stickslip as ss

ROD = 1.0


def arm(velocity=(0.0, 0.0, 0.0)):
    """A rod hinged to the ground, and a second one hinged to its end."""
    b = ss.WorldBuilder()
    for k, name in enumerate(("arm", "rod")):
        b.body(name, ss.Cuboid((ROD, 0.1, 0.1)), position=(k + 0.5, 0, 0), velocity=k * np.array(velocity))
    b.joint("base", "hinge", "arm", point=(0, 0, 0), axis=(0, 1, 0))
    b.joint("hinge", "hinge", "rod", "arm", point=(1, 0, 0), axis=(0, 1, 0))
    return b.build()


def pulled(speed):
    """A rod hinged to the ground, whose other end a driven body pulls away from it."""
    b = ss.WorldBuilder()
    b.body("rod", ss.Cuboid((ROD, 0.1, 0.1)), position=(0.5, 0, 0))
    b.body("hand", position=(1, 0, 0), motion=((speed, 0, 0), (0, 0, 0)))
    b.joint("base", "hinge", "rod", point=(0, 0, 0), axis=(0, 1, 0))
    b.joint("pin", "ball", "rod", "hand", point=(1, 0, 0))
    return b.build()


@pytest.mark.parametrize("speed", [1.0, 1e-4])
def test_joints_that_contradict_each_other_are_named_in_the_first_step(speed):
    with pytest.raises(
        ss.SimulationFailure, match=r"joints 'base', 'pin' prescribe contradictory motions"
    ) as caught:
        ss.simulate(pulled(speed), until=0.1, h=0.01)
    assert caught.value.t == 0.0
    assert len(caught.value.trajectory) == 1


def test_joints_that_open_are_flagged_and_counted_where_that_is_accepted():
    run = ss.simulate(pulled(2.0), until=0.3, h=0.05, on_failure="accept")
    open_ = run.opening > 0.3 * ROD
    assert open_.any()
    assert run.missed > 0
    assert not run.ok[open_].any()
    assert f"{run.missed} missed their tolerance" in str(run)
    assert f"open by {run.opening.max():.3g} at most" in str(run)


def test_a_loop_that_holds_a_motion_twice_fails_by_the_names_of_its_joints():
    """Three bodies welded in a ring: a swing with Moreau-Jean misses a step, and does not go on wrongly."""
    b, places = ss.WorldBuilder(), np.array([(0.5, 0, 0), (0.75, 0, 0.4), (0.25, 0, 0.4)])
    for k in range(3):
        b.body(f"part {k}", ss.Cuboid((0.3, 0.1, 0.1)), position=places[k])
    b.joint("base", "hinge", "part 0", point=(0, 0, 0), axis=(0, 1, 0))
    for k, m in ((0, 1), (1, 2), (2, 0)):
        b.joint(f"weld {k}", "fixed", f"part {k}", f"part {m}", point=(places[k] + places[m]) / 2)
    with pytest.raises(
        ss.SimulationFailure, match=r"joints .*'weld 0', 'weld 1', 'weld 2' constrain the same motion twice"
    ):
        ss.simulate(b.build(), until=0.5, h=0.01)


@pytest.mark.parametrize("correction", [True, False])
def test_a_double_pendulum_stays_good(correction):
    """Also without correction, where errors add up."""
    scheme = ss.schemes.SemiExplicitMoreauJean(correction=correction)
    run = ss.simulate(arm(), until=2.0, h=0.02, scheme=scheme)
    assert run.ok.all()
    assert 0.0 < run.opening.max() < 0.3 * ROD


def test_bodies_thrown_against_their_joints_are_an_impact():
    assert ss.simulate(arm((3.0, 2.0, 1.0)), until=0.2, h=0.02).ok.all()


def test_a_stop_that_is_overshot_by_a_step_is_no_open_joint():
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.body("cart", ss.Cuboid((0.1, 0.1, 0.1)), velocity=(50, 0, 0))
    b.joint("rail", "slider", "cart", axis=(1, 0, 0), limits=(None, 1.0), e=0.5)
    run = ss.simulate(
        b.build(), until=0.1, h=0.013, scheme=ss.schemes.SemiExplicitMoreauJean(correction=False)
    )
    assert run.ok.all()
    assert run.body("cart").velocity[-1, 0] == pytest.approx(-25.0)


def test_a_rod_between_two_kinematic_bodies_that_part_is_named():
    b = ss.WorldBuilder()
    for name, x, speed in (("left", 0.0, -1.0), ("right", 1.0, 1.0)):
        b.body(name, ss.Sphere(0.05), position=(x, 0, 0), motion=((speed, 0, 0), (0, 0, 0)))
    b.body("rod", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 0, 0))
    for name, x in (("left", 0.0), ("right", 1.0)):
        b.joint(f"pin {name}", "ball", "rod", name, point=(x, 0, 0))
    with pytest.raises(ss.SimulationFailure):
        ss.simulate(b.build(), until=1.0, h=0.01)
    run = ss.simulate(b.build(), until=1.0, h=0.01, on_failure="accept")
    assert run.missed > 0
    assert not run.ok[-1]
