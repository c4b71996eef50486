"""Compliant contact: restitution, stiffness to infinity, energy, friction, large steps, refusals."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.laws import Box, Equality, NewtonImpact, PoissonImpact, Relay
from stickslip.problem.contact import Level
from stickslip.schemes.compliant import Compliant
from stickslip.schemes.compliant_forces import Stiffness, forces, normal, ratio_of, restitution
from stickslip.schemes.step import first_state
from stickslip.solvers import registry
from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

G = 9.81
FLOOR = Scleronomous(lambda q: q, dy_dq=[[1.0]])
SOLVER = registry.make("auto")


def ball(law=None, q0: float = 1.0, v0: float = 0.0, g: float = G) -> NonsmoothSystem:
    body = Lagrangian("ball", M=1.0, q0=q0, v0=v0, F_ext=-g)
    return NonsmoothSystem([body], [Interaction("floor", "ball", FLOOR, law or NewtonImpact(e=0.5))])


def block(slope: float, mu: float = 0.5, v0: float = 0.0) -> NonsmoothSystem:
    force = [2.0 * G * math.sin(slope), -2.0 * G * math.cos(slope)]
    body = Lagrangian("block", M=2.0, q0=[0.0, 0.0], v0=[v0, 0.0], F_ext=force)
    plane = Scleronomous(lambda q: q[1:], dy_dq=[[0.0, 1.0], [1.0, 0.0]])
    return NonsmoothSystem([body], [Interaction("plane", "block", plane, NewtonImpact(mu=mu, dimension=2))])


def run(system: NonsmoothSystem, until: float, h: float, **options):
    scheme, state, taken = Compliant(**options), first_state(system), []
    memory = scheme.begin(system, state, h)
    for _ in range(round(until / h)):
        taken.append(scheme.step(system, state, memory, h, SOLVER))
        state, memory = taken[-1].state, taken[-1].memory
    return taken


def energies(taken) -> np.ndarray:
    return np.array(
        [0.5 * s.state.v[0] ** 2 + G * s.state.q[0] + s.measures["spring energy [J]"] for s in taken]
    )


@pytest.mark.parametrize("e", [0.05, 0.135, 0.3, 0.7, 0.99])
def test_the_damper_is_the_inverse_of_its_restitution(e) -> None:
    assert restitution(ratio_of(e)) == pytest.approx(e, rel=1e-10)


def test_restitution_at_critical_damping() -> None:
    assert restitution(1.0) == pytest.approx(math.exp(-2.0))
    for side in (1.0 - 1e-6, 1.0 + 1e-6):
        assert restitution(side) == pytest.approx(math.exp(-2.0), rel=1e-5)
    assert restitution(0.0) == 1.0


@pytest.mark.parametrize("e", [0.0, 0.3, 0.5, 0.8, 1.0])
@pytest.mark.parametrize("law", [NewtonImpact, PoissonImpact])
def test_an_isolated_impact_returns_with_e(e, law) -> None:
    """Without gravity and with a spring that is resolved."""
    taken = run(ball(law(e=e), q0=0.01, v0=-1.0, g=0.0), 0.04, 1e-3, stiffness=1e6, points=100)
    assert taken[-1].state.v[0] == pytest.approx(e, abs=2e-3)
    assert sum(s.r[0] for s in taken) == pytest.approx(1.0 + taken[-1].state.v[0], rel=1e-9)


@pytest.mark.parametrize(("y0", "y1"), [(-1e-3, -2e-3), (1e-3, -2e-3), (-2e-3, 1e-3), (-2e-3, -1e-3)])
@pytest.mark.parametrize("mean", [True, False])
def test_derivative_of_the_normal_force(y0, y1, mean) -> None:
    k, c, h, step = 1e4, 3.0, 1e-2, 1e-8
    force, slope = normal(k, c, y0, y1, h, mean)
    ends = [normal(k, c, y0, y1 + s, h, mean)[0] for s in (step, -step)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-5, abs=1e-6)
    assert force >= 0.0


def test_derivatives_of_friction_and_rolling() -> None:
    law = NewtonImpact(mu=0.4, mu_roll=0.05)
    stiffness = Stiffness(1e4, np.full(5, 2.0), 1e-2, 1e-2, True)
    y0, y1 = np.zeros(5), np.array([-1e-3, 0.0, 0.0, 0.0, 0.0])
    u = np.array([-0.1, 0.01, 0.02, -0.03, 0.005])
    found = forces(law, stiffness, y0, y1, u, 1e-2)
    for j in range(5):
        e = np.zeros(5)
        e[j] = 1e-7
        by_u = (
            forces(law, stiffness, y0, y1, u + e, 1e-2).f - forces(law, stiffness, y0, y1, u - e, 1e-2).f
        ) / 2e-7
        assert found.by_u[:, j] == pytest.approx(by_u, rel=1e-6, abs=1e-6)
        by_y = (
            forces(law, stiffness, y0, y1 + e, u, 1e-2).f - forces(law, stiffness, y0, y1 - e, u, 1e-2).f
        ) / 2e-7
        assert found.by_y[:, j] == pytest.approx(by_y, rel=1e-6, abs=1e-4)
    assert np.linalg.norm(found.f[1:3]) < 0.4 * found.f[0]
    assert np.linalg.norm(found.f[3:]) < 0.05 * found.f[0]


def test_the_ball_tends_to_the_rigid_one() -> None:
    """Position at 0.8 s, after one impact with e = 1/2: the error falls like 1/√k."""
    first = math.sqrt(2.0 / G)
    exact = 0.5 * G * first * (0.8 - first) - 0.5 * G * (0.8 - first) ** 2
    error, deep = [], []
    for k in (1e4, 1e6, 1e8):
        taken = run(ball(), 0.8, 2e-3, stiffness=k, points=80)
        error.append(abs(taken[-1].state.q[0] - exact))
        deep.append(max(s.measures["penetration [m]"] for s in taken))
        assert all(s.solved for s in taken)
    for seen in (error, deep):
        assert 5.0 < seen[0] / seen[1] < 20.0
        assert 5.0 < seen[1] / seen[2] < 20.0


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("options", [{}, {"substeps": 1}, {"substeps": 1, "integrator": "backward-euler"}])
def test_energy_never_grows(e, options) -> None:
    taken = run(ball(NewtonImpact(e=e)), 2.0, 5e-3, stiffness=1e5, **options)
    assert np.diff(energies(taken)).max() < 1e-11
    assert all(s.solved for s in taken)


def test_energy_is_kept_at_e_one() -> None:
    """The mean force of the spring and the midpoint rule: to Newton's tolerance, resolved or not."""
    for substeps in (0, 1):
        taken = run(ball(NewtonImpact(e=1.0)), 3.0, 5e-3, stiffness=1e6, substeps=substeps)
        assert energies(taken) == pytest.approx(G, abs=1e-7)


@pytest.mark.parametrize("h", [0.1, 1.0])
def test_large_steps_are_stable(h) -> None:
    """h √(k/m) up to 10⁴: the ball comes to rest at m g / k."""
    taken = run(ball(), 40 * h, h, stiffness=1e8, substeps=1, integrator="backward-euler")
    assert taken[-1].state.q[0] == pytest.approx(-G / 1e8, rel=1e-6)
    assert taken[-1].r[0] == pytest.approx(G * h, rel=1e-6)
    assert max(abs(s.state.q[0]) for s in taken) <= 1.0 + 1e-9


@pytest.mark.parametrize("slope", [0.3, 0.7])
def test_the_block_tends_to_the_rigid_one(slope) -> None:
    """Sliding to friction, and creep instead of sticking, with slip_velocity."""
    a = max(0.0, G * (math.sin(slope) - 0.5 * math.cos(slope)))
    errors = []
    for slip in (1e-2, 1e-3, 1e-4):
        last = run(block(slope), 0.5, 1e-2, stiffness=1e6, slip_velocity=slip)[-1]
        errors.append(abs(last.state.q[0] - 0.125 * a))
    assert errors[0] > 3.0 * errors[1] > 9.0 * errors[2]
    assert errors[2] < 1e-3
    assert last.state.q[1] == pytest.approx(-2.0 * G * math.cos(slope) / 1e6, rel=1e-3)


def test_a_sliding_block_stops() -> None:
    v0, a = 1.0, G * (0.5 * math.cos(0.3) - math.sin(0.3))
    taken = run(block(0.3, v0=v0), 0.8, 1e-2, stiffness=1e5)
    assert taken[-1].state.q[0] == pytest.approx(v0**2 / (2 * a), abs=2e-4)
    assert abs(taken[-1].state.v[0]) < 1e-4


def test_a_joint_is_a_stiff_spring() -> None:
    mass = Lagrangian("mass", M=1.0, q0=[1.0, 0.0], F_ext=[0.0, -G])
    rod = Interaction("rod", "mass", Scleronomous(lambda q: [math.hypot(q[0], q[1]) - 1.0]), Equality())
    taken = run(NonsmoothSystem([mass], [rod]), 0.3, 1e-2, stiffness=1e5)
    assert 0.0 < max(abs(s.y[0]) for s in taken) < 4.0 * G / 1e5
    assert all(s.solved for s in taken)


def test_dry_friction_of_a_joint() -> None:
    mass = Lagrangian("mass", M=1.0, q0=0.0, F_ext=2.5)
    joint = Interaction("joint", "mass", FLOOR, Relay(level=2.0))
    last = run(NonsmoothSystem([mass], [joint]), 0.5, 0.01)[-1]
    assert last.state.q[0] == pytest.approx(0.5 * 0.5 * 0.25, abs=1e-3)


def test_what_a_step_says_of_itself() -> None:
    taken = run(ball(), 0.6, 1e-2, stiffness=1e6)
    assert all(s.levels == (Level.POSITION,) and s.solves == () for s in taken)
    hit = [s for s in taken if s.r[0] > 0.0]
    assert hit
    assert all(s.active[0] and s.measures["penetration [m]"] > 0.0 for s in hit)
    assert all(s.measures["substeps [-]"] > 1 for s in hit)
    flying = taken[0]
    assert not flying.active[0]
    assert flying.measures["substeps [-]"] == 1


def test_systems_that_do_not_touch_are_carried_apart() -> None:
    """An oscillator beside a ball takes no substeps, and moves as it does alone."""
    mass = LagrangianLinear("mass", M=1.0, K=4.0, q0=1.0)
    body = Lagrangian("ball", M=1.0, q0=0.05, F_ext=-G)
    tie = Interaction("floor", "ball", FLOOR, NewtonImpact(e=0.5))
    both = run(NonsmoothSystem([mass, body], [tie]), 0.5, 1e-2)
    alone = run(NonsmoothSystem([mass]), 0.5, 1e-2)
    assert both[-1].state.q[0] == alone[-1].state.q[0]


def test_refusals_name_the_thing() -> None:
    mass = Lagrangian("mass", M=1.0, q0=0.0)
    tie = Interaction("joint", "mass", FLOOR, Box(lower=0.0, upper=math.inf))
    with pytest.raises(ModelError, match="'joint': a bound is infinite"):
        run(NonsmoothSystem([mass], [tie]), 1.0, 0.1)


def test_nan_is_named() -> None:
    body = Lagrangian("ball", M=1.0, q0=1.0, F_ext=lambda t: [math.nan if t > 0.05 else 0.0])
    with pytest.raises(ModelError, match=r"system 'ball': at t = 0\.055.*F_ext is not finite"):
        run(NonsmoothSystem([body]), 1.0, 0.01)


@pytest.mark.parametrize("h", [1e-3, 1e-4])
def test_a_strong_damper_does_not_overshoot(h) -> None:
    """With e = 0 the damper is far above critical: substeps follow m / c while it is struck."""
    one = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q, 1.0), ss.NewtonImpact(e=0.0))
    run = ss.simulate(ss.NonsmoothSystem([one], [floor]), until=0.5, h=h, scheme="compliant")
    after = run.t > 0.46
    assert np.abs(run.v[after]).max() < 0.05
    assert run.q.max(initial=-1.0, where=after[:, None]) < 1e-6
