"""Φ/h and g/h in the laws of a step: overlaps and open joints end within one."""

import numpy as np
import pytest

import stickslip as ss

DEPTH, H = 0.01, 0.01


def stabilised(theta: float = 1.0) -> ss.schemes.SemiExplicitMoreauJean:
    return ss.schemes.SemiExplicitMoreauJean(theta=theta, stabilisation=True)


def ball(height: float, speed: float = 0.0, e: float = 0.0, gravity: float = 9.81) -> ss.World:
    """A ball over a floor, by its gap [m]."""
    builder = ss.WorldBuilder(gravity=(0.0, 0.0, -gravity))
    builder.material("default", mu=0.5, e=e)
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.5), position=(0, 0, 0.5 + height), velocity=(0, 0, speed))
    return builder.build()


def gaps(run: ss.Trajectory) -> np.ndarray:
    return run.q[:, 9] - 0.5


@pytest.mark.parametrize("theta", [0.5, 0.7, 1.0])
def test_an_overlap_ends_in_one_step_at_the_speed_that_takes(theta):
    """From middle to middle h v⁺ = Φ; the end of the step is θ of the way, and nothing takes the speed."""
    run = ss.simulate(ball(-DEPTH, gravity=0.0), until=5 * H, h=H, scheme=stabilised(theta))
    np.testing.assert_allclose(gaps(run)[1:], DEPTH * (np.arange(5) + theta - 1.0), atol=1e-14)
    np.testing.assert_allclose(run.v[1:, 8], DEPTH / H, rtol=1e-12)
    mass = 1000.0 * 4.0 / 3.0 * np.pi * 0.5**3
    assert run.dissipated[-1] == pytest.approx(-0.5 * mass * (DEPTH / H) ** 2), "it gives energy"


@pytest.mark.parametrize("theta", [0.5, 1.0])
@pytest.mark.parametrize("height", [0.1, 0.103, 0.108])
def test_what_lands_ends_at_gap_zero_whatever_the_phase_of_its_impact(theta, height):
    run = ss.simulate(ball(height, -1.0), until=0.2, h=H, scheme=stabilised(theta))
    assert abs(gaps(run)[-1]) < 1e-14
    assert abs(run.v[-1, 8]) < 1e-12
    assert run.penetration.max() < 1e-14
    without = ss.schemes.SemiExplicitMoreauJean(theta=theta, correction=False)
    assert abs(gaps(ss.simulate(ball(height, -1.0), until=0.2, h=H, scheme=without))[-1]) > 1e-4


def test_restitution_is_as_it_was():
    """What bounces leaves with e times its speed: no gap is in its law."""
    for scheme in (stabilised(0.5), ss.schemes.SemiExplicitMoreauJean()):
        run = ss.simulate(ball(0.1, -1.0, 0.5, gravity=0.0), until=0.2, h=H, scheme=scheme)
        assert run.v[-1, 8] == pytest.approx(0.5, rel=1e-12)


def held(*, open_by: float, gravity: float = 0.0) -> ss.World:
    """A ball whose middle is held at the origin, `open_by` [m] away."""
    builder = ss.WorldBuilder(gravity=(0.0, 0.0, -gravity))
    builder.body("ball", ss.Sphere(0.5), position=(open_by, 0, 0))
    builder.joint("pin", "ball", "ball", None, point=(open_by, 0, 0))
    return builder.build()


def test_an_open_joint_closes_in_one_step_and_stands():
    world = held(open_by=0.0)
    q = world.start.q.copy()
    q[0] += DEPTH
    start = ss.State(0.0, q, world.start.v)
    run = ss.simulate(world, until=4 * H, h=H, scheme=stabilised(), start=start)
    speed = 1e-8  # the solver's tolerance [m/s]
    np.testing.assert_allclose(run.q[1:, 0], 0.0, atol=H * speed)
    np.testing.assert_allclose(run.v[:, 0], [0.0, -DEPTH / H, 0.0, 0.0, 0.0], atol=speed)
    with pytest.raises(ss.ModelError, match="is open"):
        ss.simulate(world, until=4 * H, h=H, start=start)


def pendulum() -> ss.World:
    """Two bars on hinges that swing."""
    builder = ss.WorldBuilder()
    for k in range(2):
        builder.body(f"bar{k}", ss.Cuboid((1.0, 0.1, 0.1)), position=(0.5 + k, 0, 0))
        other = None if k == 0 else f"bar{k - 1}"
        builder.joint(f"hinge{k}", "hinge", f"bar{k}", other, point=(float(k), 0, 0), axis=(0, 1, 0))
    return builder.build()


def test_joints_do_not_drift():
    """Without it their errors add up over the swing; with g/h what one step leaves, O(h²), is the most."""

    def opening(h: float, **how: bool) -> float:
        scheme = ss.schemes.SemiExplicitMoreauJean(theta=1.0, **how)
        return float(ss.simulate(pendulum(), until=1.0, h=h, scheme=scheme).opening.max())

    drift = opening(4e-3, correction=False)
    coarse, fine = opening(4e-3, stabilisation=True), opening(2e-3, stabilisation=True)
    assert coarse < 0.05 * drift
    assert 3.0 < coarse / fine < 5.0


def test_a_stack_rests():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    for k in range(3):
        builder.body(f"box{k}", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5 + k))
    run = ss.simulate(builder.build(), until=0.5, h=H, scheme=stabilised(0.5))
    assert np.abs(run.v[-1]).max() < 1e-7
    np.testing.assert_allclose(run.q[-1], run.q[0], atol=1e-8)


def test_what_does_not_go_with_it_is_refused():
    for how in ({"impact": "poisson"}, {"parts": 3}):
        with pytest.raises(ValueError, match="stabilisation goes with Newton's impact in one part"):
            ss.schemes.SemiExplicitMoreauJean(stabilisation=True, **how)
    with pytest.raises(ss.ModelError, match="bodies overlap"):
        ss.simulate(ball(-DEPTH), until=H, h=H)
    world = ball(-DEPTH)
    with pytest.raises(ss.ModelError, match="stabilisation"):
        ss.differentiate(world, h=H, scheme=stabilised())
