"""What every engine of rigid bodies should show: placed bodies, the public verbs, nothing set by hand.

Tolerances follow from the scheme: with theta = 1/2 constant forces are exact, an impact is known to a step,
and what rests rests to the tolerance of the solver.
"""

import math

import numpy as np
import pytest

import stickslip as ss

G = 9.81


def on_plane(angle, mu, velocity=(0.0, 0.0, 0.0), shape=None, height=0.05, **law):
    """A body on a plane that is tilted about y, at rest in the plane or launched; x is down the slope."""
    turn = ss.rotation((0, 1, 0), angle)
    c, s = math.cos(angle), math.sin(angle)
    down, up = np.array([c, 0.0, -s]), np.array([s, 0.0, c])
    b = ss.WorldBuilder()
    b.material("default", mu=mu, **law)
    b.body("slope", ss.Plane(), quaternion=turn, fixed=True)
    b.body(
        "body", shape or ss.Cuboid((0.1, 0.1, 0.1)), position=height * up, quaternion=turn,
        velocity=velocity[0] * down + np.array([0.0, velocity[1], 0.0]) + velocity[2] * up,
    )  # fmt: skip
    return b.build(), down, up


def test_a_box_on_25_degrees_does_not_creep():
    world, _, _ = on_plane(math.radians(25.0), 0.5)
    run = ss.simulate(world, until=1.0, h=5e-3)
    assert run.ok.all()
    assert np.abs(run.v[-1]).max() < 1e-9
    assert np.abs(run.q[-1] - run.q[0]).max() < 1e-9


def test_a_box_on_25_degrees_slides_as_coulomb_says():
    angle, mu = math.radians(25.0), 0.4
    world, down, _ = on_plane(angle, mu)
    run = ss.simulate(world, until=1.0, h=5e-3)
    speed = run.body("body").velocity @ down
    expected = G * (math.sin(angle) - mu * math.cos(angle))
    assert speed[-1] == pytest.approx(expected * 1.0, rel=1e-6)
    assert np.abs(run.body("body").spin).max() < 1e-6


def test_friction_is_isotropic():
    world, _, _ = on_plane(0.0, 0.3, (math.cos(math.pi / 6), math.sin(math.pi / 6), 0.0))
    run = ss.simulate(world, until=0.5, h=2e-3)
    way = run.body("body").centre[-1] - run.body("body").centre[0]
    assert math.hypot(way[0], way[1]) == pytest.approx(0.5 / (0.3 * G), rel=1e-2)  # it has come to rest
    assert abs(math.atan2(way[1], way[0]) - math.pi / 6) < 1e-6


@pytest.mark.parametrize("e", [0.0, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("impact", ["newton", "poisson"])
def test_the_apex_after_an_impact_is_e_squared_of_the_drop(e, impact):
    h, drop = 5e-4, 0.2
    b = ss.WorldBuilder()
    b.material("default", mu=0.5, e=e)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("ball", ss.Sphere(0.05), position=(0.0, 0.0, 0.05 + drop))
    first = math.sqrt(2.0 * drop / G)
    run = ss.simulate(
        b.build(),
        until=first * (1.0 + 1.9 * e) + 0.02,
        h=h,
        scheme=ss.schemes.SemiExplicitMoreauJean(impact=impact),
    )
    z = run.body("ball").centre[:, 2] - 0.05
    after = z[run.t > first + 2 * h]
    # The impact is known to a step, in which the ball falls by v h: that much the apex may be off.
    assert after.max() == pytest.approx(e**2 * drop, abs=2.0 * math.sqrt(2.0 * G * drop) * h)
    assert np.diff(run.energy).max() < 1e-12 * run.energy[0]


@pytest.mark.parametrize("masses", [[1.0] * 10, [1.0, 1000.0]], ids=["ten", "1000:1"])
def test_boxes_rest_on_one_another_for_five_seconds(masses):
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k, mass in enumerate(masses):
        b.body(f"box {k}", ss.Cuboid((0.1, 0.1, 0.1)), position=(0, 0, 0.05 + 0.1 * k), mass=mass)
    run = ss.simulate(b.build(), until=5.0, h=2.5e-3, record=100)
    assert run.ok.all()
    assert run.penetration.max() < 1e-5 * 0.1
    # What trembles at the tolerance does not add up: a lightest body that fell freely would go g t² / 2.
    drift = np.abs(run.q - run.q[0]).max(axis=1)
    assert drift.max() < 1e-8 * max(masses)
    assert drift[-1] < 3.0 * drift[: len(drift) // 2].max() + 1e-10
    assert -run.forces_on("floor")[-1, 2] == pytest.approx(sum(masses) * G, rel=1e-6)


def test_a_rolling_ball_stops_where_its_rolling_friction_says():
    radius, speed, mu_roll = 0.1, 0.5, 2e-3
    b = ss.WorldBuilder()
    b.material("default", mu=0.5, mu_roll=mu_roll)
    b.body("floor", ss.Plane(), fixed=True)
    b.body(
        "ball",
        ss.Sphere(radius),
        position=(0, 0, radius),
        velocity=(speed, 0, 0),
        spin=(0, speed / radius, 0),
    )
    # Both the friction at the contact and the torque mu_roll N act on 7/5 m: a = (5/7) g mu_roll / R.
    slowing = G * mu_roll / radius / 1.4
    run = ss.simulate(b.build(), until=1.2 * speed / slowing, h=5e-3)
    assert run.body("ball").centre[-1, 0] == pytest.approx(0.5 * speed**2 / slowing, rel=1e-4)
    assert np.abs(run.v[-1]).max() < 1e-8


def test_free_bodies_keep_momentum_and_energy_through_elastic_impacts():
    rng = np.random.default_rng(0)
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.material("default", mu=0.0, e=1.0)
    for k in range(6):
        b.body(
            f"ball {k}", ss.Sphere(0.1), position=(0.3 * (k % 3), 0.3 * (k // 3), 0.0),
            velocity=rng.normal(size=3), spin=rng.normal(size=3), mass=1.0 + k,
        )  # fmt: skip
    world = b.build()
    run = ss.simulate(world, until=1.0, h=1e-3)
    assert np.count_nonzero(np.diff(run.contacts.offset)) > 1  # they met
    p = np.einsum("b,nbk->nk", world.mass, run.v.reshape(len(run), -1, 6)[:, :, :3])
    np.testing.assert_allclose(p, np.broadcast_to(p[0], p.shape), atol=1e-12)
    np.testing.assert_allclose(run.kinetic, run.kinetic[0], rtol=1e-7)


def test_the_same_run_gives_the_same_bytes_and_goes_on_bit_for_bit(tmp_path):
    def world():
        b = ss.WorldBuilder()
        b.material("default", mu=0.4, mu_roll=1e-3, e=0.3)
        b.body("floor", ss.Plane(), fixed=True)
        b.body("box", ss.Cuboid((0.2, 0.1, 0.1)), position=(0, 0, 0.3), spin=(3, 2, 1))
        b.body("ball", ss.Sphere(0.05), position=(0.05, 0, 0.5))
        b.body("bar", ss.Capsule(0.02, 0.2), position=(0.5, 0, 0.3), quaternion=ss.rotation((0, 1, 0), 1.0))
        b.joint("pin", "hinge", "bar", point=(0.5, 0, 0.4), axis=(0, 1, 0), friction=0.01)
        return b.build()

    whole, again = (ss.simulate(world(), until=0.4, h=2e-3) for _ in range(2))
    whole.save(tmp_path / "whole.h5")
    again.save(tmp_path / "again.h5")
    assert (tmp_path / "whole.h5").read_bytes() == (tmp_path / "again.h5").read_bytes()
    half = ss.simulate(world(), until=0.2, h=2e-3)
    half.save(tmp_path / "half.h5")
    rest = ss.simulate(world(), until=0.4, start=ss.read_trajectory(tmp_path / "half.h5").checkpoint())
    assert rest.q[-1].tobytes() == whole.q[-1].tobytes()
    assert rest.v[-1].tobytes() == whole.v[-1].tobytes()
    assert rest.dissipated[-1] == whole.dissipated[-1]


def test_two_fast_balls_that_close_within_one_step_meet():
    """At the middle of the step their gap is more than either goes until its end, but not than both do."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.material("default", mu=0.0, e=1.0)
    for side in (-1.0, 1.0):
        b.body(
            f"ball {side:g}", ss.Sphere(0.05), position=(0.14 * side, 0, 0), velocity=(-100.0 * side, 0, 0)
        )
    run = ss.simulate(b.build(), until=2e-3, h=1e-3)
    np.testing.assert_allclose(run.body("ball 1").velocity[-1], [100.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(run.body("ball -1").velocity[-1], [-100.0, 0.0, 0.0], atol=1e-6)
