"""Event-driven: sticking, slipping, rolling and what ends them, against closed forms."""

import numpy as np
import pytest
from event_runs import G, events, run

from stickslip.laws import NewtonImpact, Relay
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.lagrangian_relations import Rheonomous, Scleronomous
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_relations import SpherePlane
from stickslip.systems.system import Interaction, NonsmoothSystem


def block(law: NewtonImpact, v0, angle: float = 0.0, M: float = 2.0) -> NonsmoothSystem:
    """A point block on a plane inclined by `angle` [rad], first coordinate normal to it, second downhill."""
    n = law.size
    F = np.zeros(n)
    F[:2] = M * G * np.array([-np.cos(angle), np.sin(angle)])
    body = Lagrangian("block", M=M, q0=np.zeros(n), v0=v0, F_ext=F)
    return NonsmoothSystem(
        [body], [Interaction("plane", "block", Scleronomous(lambda q: q[:1], dy_dq=np.eye(n)), law)]
    )


@pytest.mark.parametrize(("dimension", "v0"), [(2, [0.0, 1.5]), (2, [0.0, -1.5]), (3, [0.0, -0.9, 1.2])])
def test_a_sliding_block_stops_when_it_must(dimension, v0):
    mu, speed = 0.3, 1.5
    done = run(block(NewtonImpact(mu=mu, dimension=dimension), v0), until=1.0, h=0.0625)
    (stop,) = events(done, "stick")
    assert stop == pytest.approx(speed / (mu * G), abs=1e-9)
    last = done[-1].state
    np.testing.assert_allclose(last.q, np.array(v0) / speed * speed**2 / (2.0 * mu * G), atol=1e-9)
    assert np.abs(last.v).max() < 1e-12
    # Impulse of the plane: weight, and the momentum that friction took.
    total = sum(s.r for s in done)
    np.testing.assert_allclose(total[0], 2.0 * G * last.t, rtol=1e-10)
    np.testing.assert_allclose(total[1:], -2.0 * np.array(v0[1:]), atol=1e-9)


@pytest.mark.parametrize(("mu", "slips"), [(0.5, True), (0.6, False)])
def test_incline_below_and_above_the_angle_of_friction(mu, slips):
    angle = 0.5 * (np.arctan(0.5) + np.arctan(0.6))
    done = run(block(NewtonImpact(mu=mu, dimension=2), [0.0, 0.0], angle), until=1.0, h=0.25)
    travel = 0.5 * G * (np.sin(angle) - mu * np.cos(angle)) if slips else 0.0
    assert done[-1].state.q[1] == pytest.approx(travel, abs=1e-9)
    assert done[-1].memory["mode"][0] == (2.0 if slips else 1.0)


def test_up_the_incline_and_down_again():
    mu, angle, speed = 0.3, 0.6, 2.0
    done = run(block(NewtonImpact(mu=mu, dimension=2), [0.0, -speed], angle), until=1.0, h=0.1)
    up = speed / (G * (np.sin(angle) + mu * np.cos(angle)))
    height = 0.5 * speed * up
    down = 0.5 * G * (np.sin(angle) - mu * np.cos(angle)) * (1.0 - up) ** 2
    assert done[-1].state.q[1] == pytest.approx(-height + down, abs=1e-9)


def test_curved_sliding_keeps_its_invariant():
    # With mu = tan(angle), speed plus downhill velocity is constant; started across, half of it is left.
    angle, speed = 0.4, 1.0
    law = NewtonImpact(mu=np.tan(angle), dimension=3)
    done = run(block(law, [0.0, 0.0, speed], angle), until=4.0, h=0.25)
    for s in done:
        assert np.hypot(*s.state.v[1:]) + s.state.v[1] == pytest.approx(speed, abs=1e-8)
    assert done[-1].state.v[1] == pytest.approx(0.5 * speed, rel=1e-3)


def test_a_curved_slide_ends_at_rest_in_the_plane():
    angle = 0.3
    law = NewtonImpact(mu=0.5, dimension=3)
    done = run(block(law, [0.0, 0.0, 1.0], angle), until=1.0, h=0.0625)
    assert events(done, "stick").size == 1
    assert np.abs(done[-1].state.v).max() < 1e-12
    # u' = a e - c u/|u|, c = mu g cos, a = g sin: stops after c |u0| / (c² - a²) when started across.
    a, c = G * np.sin(angle), 0.5 * G * np.cos(angle)
    assert events(done, "stick")[0] == pytest.approx(c / (c**2 - a**2), abs=1e-8)


def half_swings(q0: float, limit: float) -> tuple[int, float]:
    """Half swings until an oscillator with dry friction rests, and where; `limit` = friction over k."""
    n, q = 0, q0
    while abs(q) > limit:
        q, n = -(q - np.sign(q) * 2.0 * limit), n + 1
    return n, q


@pytest.mark.parametrize("form", ["coulomb2d", "coulomb3d", "interval"])
def test_oscillator_with_dry_friction_loses_a_fixed_amount_per_half_swing(form):
    m, k, mu = 1.0, 40.0, 0.2
    n, rest = half_swings(1.0, mu * m * G / k)
    w = np.sqrt(k / m)
    if form == "interval":
        system = NonsmoothSystem(
            [LagrangianLinear("mass", M=m, K=k, q0=1.0)],
            [Interaction("rail", "mass", Scleronomous(lambda q: q, dy_dq=np.eye(1)), Relay(mu * m * G))],
        )
        at = 0
    else:
        size = int(form[-2])
        K = np.diag([0.0] + [k] * (size - 1))
        F = np.zeros(size)
        F[0] = -m * G
        q0 = np.array([0.0, 1.0] if size == 2 else [0.0, 0.6, 0.8])
        system = NonsmoothSystem(
            [LagrangianLinear("mass", M=m, K=K, q0=q0, F_ext=F)],
            [
                Interaction(
                    "rail", "mass", Scleronomous(lambda q: q[:1], dy_dq=np.eye(size)),
                    NewtonImpact(mu=mu, dimension=size),
                )
            ],
        )  # fmt: skip
        at = 1
        rest *= q0[1]
    done = run(system, until=6.0, h=0.125)
    assert n > 4
    (stick,) = events(done, "stick")
    assert stick == pytest.approx(n * np.pi / w, abs=1e-8)
    assert done[-1].state.q[at] == pytest.approx(rest, abs=1e-8)


def test_block_on_a_belt_slips_when_the_spring_is_stretched():
    # Carried by the belt until k q = mu m g; then it swings about that point with the belt's speed.
    m, k, mu, belt = 1.0, 100.0, 0.4, 0.3
    system = NonsmoothSystem(
        [LagrangianLinear("mass", M=m, K=np.diag([0.0, k]), q0=[0, 0], v0=[0, belt], F_ext=[-m * G, 0.0])],
        [
            Interaction(
                "belt", "mass",
                Rheonomous(lambda q: q[:1], dy_dq=np.eye(2), dy_dt=[0.0, -belt]),
                NewtonImpact(mu=mu, dimension=2),
            )
        ],
    )  # fmt: skip
    done = run(system, until=0.6, h=0.025)
    w, stretched = np.sqrt(k / m), mu * m * G / k
    slip = stretched / belt
    assert events(done, "slip")[0] == pytest.approx(slip, abs=1e-9)
    for s in done:
        phase = w * (s.state.t - slip)
        if 0.0 < phase < 6.2:
            assert s.state.q[1] == pytest.approx(stretched + belt / w * np.sin(phase), abs=1e-8)


def disc(v0, mu: float, R: float = 0.25, M: float = 3.0) -> NonsmoothSystem:
    body = Lagrangian(
        "disc", M=np.diag([M, M, 0.5 * M * R**2]), q0=[R, 0.0, 0.0], v0=v0, F_ext=[-M * G, 0.0, 0.0]
    )
    touch = Scleronomous(lambda q: q[:1] - R, dy_dq=[[1.0, 0.0, 0.0], [0.0, 1.0, R]])
    return NonsmoothSystem([body], [Interaction("road", "disc", touch, NewtonImpact(mu=mu, dimension=2))])


def test_a_sliding_disc_starts_to_roll():
    mu, speed = 0.2, 1.0
    done = run(disc([0.0, speed, 0.0], mu), until=1.0, h=0.05)
    (roll,) = events(done, "stick")
    assert roll == pytest.approx(speed / (3.0 * mu * G), abs=1e-9)
    assert done[-1].state.v[1] == pytest.approx(2.0 / 3.0 * speed, abs=1e-10)


def test_a_sliding_sphere_in_space_starts_to_roll():
    mu, speed, R, m = 0.2, 1.0, 0.1, 2.0
    inertia = 0.4 * m * R**2
    ball = NewtonEuler(
        "ball", mass=m, inertia=inertia * np.eye(3), q0=[0.0, 0.0, R],
        v0=[0.6 * speed, 0.8 * speed, 0.0, 0.0, 0.0, 0.0], force=[0.0, 0.0, -m * G],
    )  # fmt: skip
    road = Interaction("road", "ball", SpherePlane(R), NewtonImpact(mu=mu))
    done = run(NonsmoothSystem([ball], [road]), until=0.5, h=0.05)
    (roll,) = events(done, "stick")
    assert roll == pytest.approx(2.0 * speed / (7.0 * mu * G), abs=1e-8)
    np.testing.assert_allclose(done[-1].state.v[:2], 5.0 / 7.0 * np.array([0.6, 0.8]) * speed, atol=1e-8)
    assert abs(np.linalg.norm(done[-1].state.q[3:]) - 1.0) < 1e-14


def test_a_push_in_the_plane_that_grows_makes_it_slip():
    # Pushed with a t in a fixed direction: it slips when a t = mu m g, and moves along the push.
    mu, M, rate = 0.3, 2.0, 10.0
    along = np.array([0.0, 0.6, -0.8])
    body = Lagrangian(
        "block", M=M, q0=np.zeros(3), F_ext=lambda t: np.array([-M * G, 0.0, 0.0]) + rate * t * along
    )
    plane = Interaction("plane", "block", Scleronomous(lambda q: q[:1], dy_dq=np.eye(3)), NewtonImpact(mu=mu))
    done = run(NonsmoothSystem([body], [plane]), until=1.0, h=0.0625)
    slip = mu * M * G / rate
    (found,) = events(done, "slip")
    assert found == pytest.approx(slip, abs=1e-9)
    s = 1.0 - slip
    np.testing.assert_allclose(done[-1].state.v, 0.5 * rate / M * s**2 * along, atol=1e-9)
    np.testing.assert_allclose(done[-1].state.q, rate / M * s**3 / 6.0 * along, atol=1e-9)


def test_rolling_friction_stops_a_rolling_sphere():
    # Rolling: (7/5) m v' = -mu_roll m g / R.
    mu_roll, speed, R, m = 0.01, 0.5, 0.1, 2.0
    ball = NewtonEuler(
        "ball", mass=m, inertia=0.4 * m * R**2 * np.eye(3), q0=[0.0, 0.0, R],
        v0=[speed, 0.0, 0.0, 0.0, speed / R, 0.0], force=[0.0, 0.0, -m * G],
    )  # fmt: skip
    road = Interaction("road", "ball", SpherePlane(R), NewtonImpact(mu=0.5, mu_roll=mu_roll))
    done = run(NonsmoothSystem([ball], [road]), until=1.0, h=0.125)
    stop = 1.4 * speed * R / (mu_roll * G)
    assert events(done, "stick")[-1] == pytest.approx(stop, abs=1e-8)
    assert np.abs(done[-1].state.v).max() < 1e-10
    assert done[-1].state.q[0] == pytest.approx(0.5 * speed * stop, abs=1e-8)


@pytest.mark.parametrize(("speed", "sticks"), [(3.0, False), (0.4, True)])
def test_an_oblique_impact_slides_or_sticks(speed, sticks):
    mu, e, fall = 0.3, 0.5, 1.0
    law = NewtonImpact(e=e, mu=mu, dimension=2)
    body = Lagrangian("block", M=2.0, q0=[1.0, 0.0], v0=[-fall, speed])
    system = NonsmoothSystem(
        [body], [Interaction("plane", "block", Scleronomous(lambda q: q[:1], dy_dq=np.eye(2)), law)]
    )
    done = run(system, until=1.5, h=0.5)
    after = 0.0 if sticks else speed - mu * (1.0 + e) * fall
    np.testing.assert_allclose(done[-1].state.v, [e * fall, after], atol=1e-9)
    np.testing.assert_allclose(events(done, "impact"), [1.0], atol=1e-12)


def test_a_box_on_two_feet_slides_and_stops():
    # Two frictional feet: at rest their tangential forces are not unique, the motion is.
    M, a, b, mu, speed = 2.0, 0.5, 0.2, 0.3, 1.0
    body = Lagrangian(
        "box", M=np.diag([M, M, M * (a**2 + b**2) / 3.0]), q0=[b, 0.0, 0.0], v0=[0.0, speed, 0.0],
        F_ext=[-M * G, 0.0, 0.0],
    )  # fmt: skip

    def foot(s: float) -> Interaction:
        def gap(q):
            return [q[0] + s * a * np.sin(q[2]) - b * np.cos(q[2])]

        def rows(q):
            c, n = np.cos(q[2]), np.sin(q[2])
            return [[1.0, 0.0, s * a * c + b * n], [0.0, 1.0, -s * a * n + b * c]]

        name = "left" if s < 0 else "right"
        return Interaction(name, "box", Scleronomous(gap, rows), NewtonImpact(mu=mu, dimension=2))

    done = run(NonsmoothSystem([body], [foot(-1.0), foot(1.0)]), until=0.75, h=0.05)
    stops = events(done, "stick")
    assert stops.size == 2
    assert np.abs(stops - speed / (mu * G)).max() < 1e-8
    assert done[-1].state.q[1] == pytest.approx(speed**2 / (2.0 * mu * G), abs=1e-8)
    assert np.abs(done[-1].state.v).max() < 1e-12
