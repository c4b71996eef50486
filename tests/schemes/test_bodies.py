"""Steps of worlds against closed forms: flight, slopes, bounces, rolling and torsional friction."""

import numpy as np
import pytest

from stickslip.kernels.bodies import motion, rotation
from stickslip.kernels.jit import jit
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.energy import momentum
from stickslip.mechanics.forces import BodyForce, Spring
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_world import PreparedWorld
from stickslip.solvers.registry import make
from stickslip.state import ModelError

G = 9.81


def carry(world, h, steps, scheme=None, tolerance=1e-8):
    """The steps from the start of a world."""
    scheme, solver, prepared = (
        scheme or SemiExplicitMoreauJean(),
        make("auto", tolerance=tolerance),
        PreparedWorld(world),
    )
    state, memory, done = world.start, scheme.begin(prepared, world.start, h), []
    for _ in range(steps):
        done.append(scheme.step(prepared, state, memory, h, solver))
        state, memory = done[-1].state, done[-1].memory
    assert all(step.ok for step in done)
    return done


def built(gravity=(0.0, 0.0, -G), floor=True, **material):
    """A builder with one material, and a floor."""
    builder = WorldBuilder(gravity=gravity)
    builder.material("one", **material)
    if floor:
        builder.body("floor", Plane(), fixed=True, material="one")
    return builder


def ball(builder, name="ball", radius=0.1, mass=1.0, **where):
    """A ball in the world that is being built."""
    builder.body(name, Sphere(radius), mass=mass, material="one", **where)
    return builder


def largest(steps, what):
    """Largest size of a term of energy in all steps [J]."""
    return max(abs(getattr(step.energy, what)) for step in steps)


@jit
def spin_many(J, inverse, q, v, h, steps):
    """q (1, 7), v (1, 6) <- a body that nothing acts on after so many steps h.   J, inverse (1, 3, 3)."""
    row, end = np.zeros(1, np.int64), np.empty((1, 7))
    for _ in range(steps):
        motion.move_half(row, J, inverse, q, v, h, end, v)
        q[:] = end


def test_free_rotation_keeps_energy_and_momentum_to_rounding():
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    for J in (np.diag([1.0, 2.0, 3.0]), turned @ np.diag([1.0, 2.0, 2.9]) @ turned.T):
        J = np.ascontiguousarray(0.5 * (J + J.T))
        inverse = np.linalg.inv(J)
        q, v = np.eye(7)[3], np.array([0.0, 0.0, 0.0, 0.01, 5.0, 0.01])  # about the unstable axis
        before = kept(J, q, v)
        spun = v.copy()
        spin_many(J[None], inverse[None], q[None], spun[None], 1e-2, 100_000)
        for one, other in zip(before, kept(J, q, spun), strict=True):
            assert np.abs(other - one).max() <= 1e-12 * np.abs(one).max()


def kept(J, q, v):
    """Energy, length of the momentum in the body and the momentum in space."""
    R = np.empty((3, 3))
    rotation.matrix(*q[3:], R)
    P = J @ v[3:]
    return 0.5 * v[3:] @ P, np.linalg.norm(P), R @ P


def test_free_rotation_is_of_second_order():
    """Against a fine solution, in body rates and orientation."""
    ends = []
    for steps in (100, 200, 10_000):
        q, v = np.eye(7)[3], np.array([0.0, 0.0, 0.0, 1.0, 2.0, 0.5])
        J, inverse = np.diag([1.0, 2.0, 3.0])[None], np.diag([1.0, 0.5, 1.0 / 3.0])[None]
        spin_many(J, inverse, q[None], v[None], 1.0 / steps, steps)
        ends.append(np.concatenate([q, v]))
    coarse, fine = (np.abs(end - ends[2]).max() for end in ends[:2])
    assert coarse / fine == pytest.approx(4.0, rel=0.02)


def test_flight_is_the_parabola():
    world = ball(built(floor=False), velocity=(1.0, 2.0, 3.0), spin=(1.0, 0.0, 2.0)).build()
    end = carry(world, 0.01, 50)[-1].state
    np.testing.assert_allclose(end.q[:3], [0.5, 1.0, 1.5 - 0.5 * G * 0.25], atol=1e-13)
    np.testing.assert_allclose(end.v[:3], [1.0, 2.0, 3.0 - 0.5 * G], atol=1e-13)


@pytest.mark.parametrize("mu", [0.5, 0.4])
def test_box_on_a_slope_of_25_degrees(mu):
    a = np.radians(25.0)
    builder = built(gravity=(G * np.sin(a), 0.0, -G * np.cos(a)), mu=mu)
    builder.body("box", Cuboid((1.0, 1.0, 1.0)), mass=1.0, position=(0.0, 0.0, 0.5), material="one")
    done = carry(builder.build(), 5e-3, 200)
    v = done[-1].state.v[6:12]
    slides = G * (np.sin(a) - mu * np.cos(a))
    if slides > 0.0:
        assert v[0] == pytest.approx(slides, rel=1e-6)
        assert np.abs(v[1:]).max() < 1e-6
    else:
        assert np.linalg.norm(v[:3]) < 1e-9
    assert max(step.penetration for step in done) < 1e-9
    assert largest(done, "balance") < 1e-13


def test_friction_has_no_direction_of_its_own():
    a = np.pi / 6.0
    builder = built(mu=0.5)
    builder.body(
        "box", Cuboid((1.0, 1.0, 0.5)), mass=1.0, position=(0.0, 0.0, 0.25), material="one",
        velocity=(3.0 * np.cos(a), 3.0 * np.sin(a), 0.0),
    )  # fmt: skip
    x = carry(builder.build(), 1e-3, 700)[-1].state.q[7:10]
    assert abs(np.arctan2(x[1], x[0]) - a) < 1e-6
    assert np.linalg.norm(x[:2]) == pytest.approx(9.0 / (2.0 * 0.5 * G), rel=2e-3)


@pytest.mark.parametrize("impact", ["newton", "poisson"])
@pytest.mark.parametrize("e", [0.0, 0.5, 0.8, 1.0])
def test_apex_ratio_of_a_bouncing_ball(impact, e):
    world = ball(built(e=e), position=(0.0, 0.0, 0.6)).build()
    h = 1e-3
    done = carry(world, h, 900, SemiExplicitMoreauJean(impact=impact))
    z, vz = (np.array([step.state.q[9] for step in done]), np.array([step.state.v[8] for step in done]))
    hit = int(np.argmax(np.diff(vz) > 0.0)) + 1
    apex = z[hit:].max() - 0.1 if e > 0.0 else z[hit + 10 :].max() - 0.1
    assert apex / 0.5 == pytest.approx(e * e, abs=10.0 * h)
    assert largest(done, "balance") < 1e-13
    energy = [step.energy.kinetic + step.energy.potential for step in done]
    assert max(energy) <= energy[0] + 1e-12


def test_ball_stops_where_rolling_friction_says():
    r, v0, mu_roll = 0.1, 0.5, 0.005
    world = ball(built(mu_roll=mu_roll), position=(0, 0, r), velocity=(v0, 0, 0), spin=(0, v0 / r, 0)).build()
    done = carry(world, 2e-3, 1000)
    braking = mu_roll * G / r / 1.4  # (m + J / r²) a = mu_roll N / r with J = 2/5 m r²
    assert done[-1].state.q[7] == pytest.approx(v0**2 / (2.0 * braking), rel=1e-4)
    assert np.abs(done[-1].state.v).max() < 1e-9
    assert largest(done, "balance") < 1e-14


def test_ball_stops_spinning_when_torsional_friction_says():
    r, spin, mu_spin, h = 0.1, 5.0, 0.005, 2e-3
    world = ball(built(mu_spin=mu_spin), position=(0, 0, r), spin=(0, 0, spin)).build()
    done = carry(world, h, 250)
    rates = np.array([step.state.v[11] for step in done])
    stops = spin * 0.4 * r * r / (mu_spin * G)
    assert rates[: int(stops / h) - 1].min() > 0.0
    assert np.abs(rates[int(stops / h) + 2 :]).max() < 1e-9
    np.testing.assert_allclose(done[5].r[0], [h * G, 0, 0, 0, 0, -mu_spin * h * G], atol=1e-9)


@pytest.mark.parametrize("impact", ["newton", "poisson"])
def test_balls_that_collide_in_space_keep_their_momenta(impact):
    builder = built(gravity=(0.0, 0.0, 0.0), floor=False, mu=0.3, e=0.5)
    ball(builder, "first", mass=2.0, position=(-0.3, 0.02, 0.0), velocity=(1.0, 0.0, 0.1), spin=(3, 0, 1))
    world = ball(
        builder, "second", position=(0.3, 0.0, 0.0), velocity=(-2.0, 0.0, 0.0), spin=(0, 4, 0)
    ).build()
    done = carry(world, 1e-3, 250, SemiExplicitMoreauJean(impact=impact))
    end = done[-1].state
    (p, L), (p_end, L_end) = (momentum(world, one.q, one.v) for one in (world.start, end))
    np.testing.assert_allclose(p_end, p, atol=1e-14)
    np.testing.assert_allclose(L_end, L, atol=1e-7)  # a spin that jumps in a step turns with h times the jump
    assert sum(step.energy.dissipated for step in done) > 0.1
    assert largest(done, "balance") < 1e-13


def test_balance_of_energy_with_forces():
    """Springs leave O(h³) per step; what a kinematic belt and a motor do is counted."""
    off = []
    for h in (2e-3, 1e-3):
        builder = built(mu=0.3)
        builder.body(
            "box", Cuboid((0.4, 0.4, 0.2)), mass=2.0, position=(0.0, 0.0, 0.3), material="one",
        )  # fmt: skip
        builder.body(
            "belt",
            Cuboid((5.0, 1.0, 0.1)),
            position=(0, 0, 0.15),
            material="one",
            motion=((0.3, 0.0, 0.0), (0.0, 0.0, 0.0)),
        )
        builder.force(
            Spring(
                "spring", "box", None, stiffness=50.0, damping=0.5, second_point=(-0.5, 0.0, 0.4), length=0.3
            )
        )
        builder.force(BodyForce("push", "box", moment=(0.0, 0.0, 0.2)))
        done = carry(builder.build(), h, int(0.2 / h))
        off.append(largest(done, "balance"))
        assert sum(step.energy.work for step in done) > 0.01
        assert sum(step.energy.dissipated for step in done) > 0.01
    assert off[1] < off[0] / 5.0
    assert off[0] < 1e-6


def test_correction_adds_no_energy():
    """An overlap at the start sinks no deeper, but nothing pays for lifting; one after a fall is undone."""
    world = ball(built(e=0.0), position=(0.0, 0.0, 0.1 - 5e-6)).build()
    done = carry(world, 1e-3, 20)
    assert all(step.energy.lifted == 0.0 for step in done)
    assert done[-1].penetration == pytest.approx(5e-6, rel=1e-6)
    world = ball(built(e=0.0), position=(0.0, 0.0, 0.1 + 5e-4), velocity=(0.0, 0.0, -1.53)).build()
    done = carry(world, 1e-3, 20)
    lifted = sum(step.energy.lifted for step in done)
    assert 0.0 < lifted <= sum(step.energy.dissipated for step in done)
    assert max(step.correction for step in done) > 1e-5
    assert done[-1].penetration < 1e-9
    assert largest(done, "balance") < 1e-13


def test_same_bytes_twice_and_from_a_memory():
    builder = built(mu=0.4, e=0.2)
    for k in range(3):
        builder.body(
            f"box {k}", Cuboid((0.2, 0.2, 0.2)), material="one", position=(0.01 * k, 0, 0.11 + 0.22 * k)
        )
    world = builder.build()
    done, again = carry(world, 2e-3, 60), carry(world, 2e-3, 60)
    assert done[-1].state.q.tobytes() == again[-1].state.q.tobytes()
    scheme, solver = SemiExplicitMoreauJean(), make("auto", tolerance=1e-8)
    memory = {key: np.array(value) for key, value in done[29].memory.items()}
    step = scheme.step(world, done[29].state, memory, 2e-3, solver)
    assert step.state.q.tobytes() == done[30].state.q.tobytes()


def test_what_is_not_a_number_names_its_body():
    world = ball(built(), position=(0.0, 0.0, 1.0)).build()
    scheme, solver = SemiExplicitMoreauJean(), make("auto", tolerance=1e-8)
    memory = scheme.begin(world, world.start, 1e-3)
    v = world.start.v.copy()
    v[8] = np.nan
    state = type(world.start)(0.0, world.start.q, v)
    with pytest.raises(ModelError, match=r"'ball'.*not finite"):
        scheme.step(world, state, memory, 1e-3, solver)
    deep = ball(built(), position=(0.0, 0.0, 0.05)).build()
    with pytest.raises(ModelError, match=r"overlap.*'ball'"):
        scheme.begin(deep, deep.start, 1e-3)
