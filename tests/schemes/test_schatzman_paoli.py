"""Schatzman-Paoli: order of convergence, impact times, restitution, equilibrium, energy, start, refusals."""

import math

import numpy as np
import pytest

from stickslip.laws import Equality, NewtonImpact, PoissonImpact, Relay
from stickslip.problem.contact import Level
from stickslip.schemes.schatzman_paoli import SchatzmanPaoli
from stickslip.schemes.step import first_state
from stickslip.solvers import registry
from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.lagrangian_relations import Rheonomous, Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

G = 9.81
SOLVER = registry.make("auto", tolerance=1e-12)
FLOOR = Scleronomous(lambda q: q, dy_dq=[[1.0]])


def ball(e: float = 0.5, q0: float = 1.0, v0: float = 0.0) -> NonsmoothSystem:
    body = Lagrangian("ball", M=1.0, q0=q0, v0=v0, F_ext=-G)
    return NonsmoothSystem([body], [Interaction("floor", "ball", FLOOR, NewtonImpact(e=e))])


def oscillator(C: float = 0.0, K: float = 4.0) -> NonsmoothSystem:
    return NonsmoothSystem([LagrangianLinear("mass", M=1.0, C=C, K=K, q0=1.0, v0=0.5)])


def run(system: NonsmoothSystem, until: float, h: float, **options):
    scheme, state, taken = SchatzmanPaoli(**options), first_state(system), []
    memory = scheme.begin(system, state, h)
    for _ in range(round(until / h)):
        taken.append(scheme.step(system, state, memory, h, SOLVER))
        state, memory = taken[-1].state, taken[-1].memory
    return taken


def impacts(taken) -> list[float]:
    """Times between the steps in which the ball was hit."""
    hits = [s.state.t for s in taken if s.r[0] > 1e-12]
    starts = [t for k, t in enumerate(hits) if k == 0 or t - hits[k - 1] > 1.5 * taken[0].h]
    return starts


@pytest.mark.parametrize(("theta", "order"), [(0.0, 2), (0.5, 1), (1.0, 1)])
def test_order_on_a_smooth_problem(theta, order) -> None:
    """The second difference is centred at t_k: θ = 0 alone is of order 2."""
    exact = math.cos(4.0) + 0.25 * math.sin(4.0)
    errors = [abs(run(oscillator(), 2.0, h, theta=theta)[-1].state.q[0] - exact) for h in (0.02, 0.01)]
    assert math.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.06)


@pytest.mark.parametrize("velocity", ["central", "backward"])
def test_with_damping_the_order_is_one(velocity) -> None:
    """Either velocity formula is of order 1 at the time at which the forces are taken."""
    ends = [run(oscillator(C=0.4), 2.0, h, theta=0.0, velocity=velocity)[-1].state.q[0] for h in
            (0.02, 0.01, 0.005)]  # fmt: skip
    assert math.log2((ends[0] - ends[1]) / (ends[1] - ends[2])) == pytest.approx(1.0, abs=0.06)
    wd = math.sqrt(4.0 - 0.04)
    exact = math.exp(-0.4) * (math.cos(2 * wd) + (0.5 + 0.2) / wd * math.sin(2 * wd))
    assert ends[-1] == pytest.approx(exact, abs=5e-3)


def test_what_the_velocity_formulas_are() -> None:
    h = 1e-3
    for velocity, late in (("central", 1.0), ("backward", 0.5)):
        last = run(oscillator(), 1.0, h, theta=0.0, velocity=velocity)[-1]
        t = last.state.t - late * h
        exact = -2.0 * math.sin(2.0 * t) + 0.5 * math.cos(2.0 * t)
        assert last.state.v[0] == pytest.approx(exact, abs=3e-6)


def test_free_fall_is_exact() -> None:
    """The start is of second order, and a constant force has no other error."""
    last = run(ball(q0=10.0, v0=1.0), 1.0, 0.01)[-1]
    assert last.state.q[0] == pytest.approx(10.0 + 1.0 - G / 2.0, abs=1e-12)


@pytest.mark.parametrize("e", [0.5, 0.8, 1.0])
def test_impact_times_of_the_ball(e) -> None:
    h = 1e-3
    taken = run(ball(e), 1.5, h)
    first = math.sqrt(2.0 / G)
    exact = [first]
    for n in range(1, 3):
        exact.append(exact[-1] + 2.0 * first * e**n)
    exact = [t for t in exact if t < 1.4]
    found = impacts(taken)[: len(exact)]
    assert len(found) == len(exact)
    for n, (t, wanted) in enumerate(zip(found, exact, strict=True)):
        assert abs(t - wanted) <= 3.0 * h * (n + 1)
    assert all(step.ok for step in taken)
    assert all(step.levels == (Level.POSITION,) for step in taken)


def test_restitution_is_met_over_two_steps() -> None:
    """Without gravity the velocity after is -e times that before, to rounding, whatever the phase."""
    for q0 in (1.0, 1.003, 1.007):
        body = Lagrangian("ball", M=3.0, q0=q0, v0=-2.0)
        system = NonsmoothSystem([body], [Interaction("floor", "ball", FLOOR, NewtonImpact(e=0.7))])
        taken = run(system, 0.7, 0.01, velocity="backward")
        assert taken[-1].state.v[0] == pytest.approx(1.4, abs=1e-12)
        assert sum(step.r[0] for step in taken) == pytest.approx(3.0 * 2.0 * 1.7, rel=1e-12)
        assert sum(step.measures["contact work [J]"] for step in taken) == pytest.approx(
            0.5 * 3.0 * (1.4**2 - 2.0**2), rel=1e-12
        )


def test_impact_at_the_start() -> None:
    body = Lagrangian("ball", M=1.0, q0=0.0, v0=-1.0)
    system = NonsmoothSystem([body], [Interaction("floor", "ball", FLOOR, NewtonImpact(e=0.5))])
    assert run(system, 0.1, 0.01, velocity="backward")[-1].state.v[0] == pytest.approx(0.5, abs=1e-12)


def test_penetration_is_of_the_size_of_a_step() -> None:
    deepest = [min(step.y[0] for step in run(ball(), 0.6, h)) for h in (4e-3, 1e-3)]
    assert -math.sqrt(2.0 * G) * 4e-3 <= deepest[0] < 0.0
    assert -math.sqrt(2.0 * G) * 1e-3 <= deepest[1] < 0.0


@pytest.mark.parametrize("theta", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("e", [0.0, 0.9])
def test_rest_is_exact(theta, e) -> None:
    """A resting ball stays: the reaction is m g h, half of it in the first step, where h_b = 0."""
    taken = run(ball(e, q0=0.0), 0.1, 0.01, theta=theta)
    assert all(step.state.q[0] == 0.0 for step in taken)
    assert taken[0].r[0] == pytest.approx(0.5 * G * 0.01, rel=1e-12)
    assert taken[-1].r[0] == pytest.approx(G * 0.01, rel=1e-12)


def test_equilibrium_with_an_external_force() -> None:
    """K q = F_ext at rest (the notes' linear form leaves F_ext out)."""
    mass = LagrangianLinear("mass", M=1.0, K=4.0, C=2.0, q0=0.75, F_ext=3.0)
    assert run(NonsmoothSystem([mass]), 5.0, 0.05)[-1].state.q[0] == pytest.approx(0.75, abs=1e-12)


@pytest.mark.parametrize(("theta", "least"), [(0.0, 0.9), (0.5, 0.0), (1.0, 0.0)])
def test_energy_of_an_oscillator_is_bounded(theta, least) -> None:
    """The mean of the half-step energies: kept for θ = 0, never above the start for θ >= 1/2."""
    taken = run(oscillator(), 60.0, 0.05, theta=theta, velocity="backward")
    q, v = (np.array([getattr(s.state, name)[0] for s in taken]) for name in ("q", "v"))
    middle = q - 0.025 * v
    energy = 0.5 * v**2 + 2.0 * middle**2
    start = 0.5 * 0.25 + 2.0
    assert energy.max() <= start * (1.1 if theta == 0.0 else 1.01)
    assert energy[-200:].min() >= least * start


def test_energy_never_grows_at_impacts() -> None:
    taken = run(ball(0.9), 3.0, 1e-3, velocity="backward")
    energy = np.array([0.5 * s.state.v[0] ** 2 + G * (s.state.q[0] - 0.5e-3 * s.state.v[0]) for s in taken])
    hit = np.array([s.r[0] > 0.0 for s in taken])
    assert np.diff(energy)[~hit[1:]].max() < 1e-4
    assert energy[-1] == pytest.approx(0.81**4 * G, rel=0.01)


def test_a_moving_floor_gives_its_own_velocity() -> None:
    """u⁺ - w = -e (u⁻ - w) for a floor that moves with the constant velocity w."""
    body = Lagrangian("ball", M=1.0, q0=0.5, v0=-1.0)
    wall = Rheonomous(lambda t, q: q - 0.3 * t, dy_dq=[[1.0]], dy_dt=[-0.3])
    system = NonsmoothSystem([body], [Interaction("wall", "ball", wall, NewtonImpact(e=0.6))])
    taken = run(system, 0.6, 0.01, velocity="backward")
    assert taken[-1].state.v[0] == pytest.approx(0.3 + 0.6 * 1.3, abs=1e-12)


def test_a_pendulum_keeps_its_length() -> None:
    """A curved equality at position level, by Newton's loop."""
    mass = Lagrangian("mass", M=1.0, q0=[1.0, 0.0], F_ext=[0.0, -G])
    rod = Interaction("rod", "mass", Scleronomous(lambda q: [math.hypot(q[0], q[1]) - 1.0]), Equality())
    taken = run(NonsmoothSystem([mass], [rod]), 0.5, 0.01)
    assert max(abs(step.y[0]) for step in taken) < 1e-12
    assert all(step.ok for step in taken)
    assert max(step.newton for step in taken) > 1


def test_one_newton_iteration_where_all_is_linear() -> None:
    assert {step.newton for step in run(ball(), 0.6, 0.01)} == {1}


def test_balls_in_contact_are_one_problem_and_others_are_none() -> None:
    balls = [
        Lagrangian(f"b{k}", M=1.0, q0=x, v0=v)
        for k, (x, v) in enumerate([(0.0, 1.0), (1.0, 0.0), (2.0, 0.0)])
    ]
    gap = Scleronomous(lambda q: [q[1] - q[0] - 1.0], dy_dq=[[-1.0, 1.0]])
    ties = [Interaction(f"c{k}", (f"b{k}", f"b{k + 1}"), gap, NewtonImpact(e=0.0)) for k in range(2)]
    taken = run(NonsmoothSystem(balls, ties), 0.1, 0.01, velocity="backward")
    assert taken[-1].state.v == pytest.approx(np.full(3, 1.0 / 3.0), abs=1e-12)
    assert len(taken[0].solves) == 1


def test_a_change_of_h_in_flight_costs_nothing() -> None:
    system, scheme = ball(q0=10.0, v0=1.0), SchatzmanPaoli()
    state = first_state(system)
    memory = scheme.begin(system, state, 0.01)
    for h in (0.01, 0.01, 0.005, 0.0025, 0.02, 0.01):
        step = scheme.step(system, state, memory, h, SOLVER)
        state, memory = step.state, step.memory
        assert state.q[0] == pytest.approx(10.0 + state.t - 0.5 * G * state.t**2, abs=1e-13)


@pytest.mark.parametrize(("slope", "mu"), [(0.3, 0.5), (0.7, 0.5)])
def test_friction_on_increments(slope, mu) -> None:
    """A block on a slope stays, or slides with the acceleration of Coulomb's law."""
    block = Lagrangian(
        "block", M=2.0, q0=[0.0, 0.0], F_ext=[2 * G * math.sin(slope), -2 * G * math.cos(slope)]
    )
    plane = Scleronomous(lambda q: q[1:], dy_dq=[[0.0, 1.0], [1.0, 0.0]])
    tie = Interaction("plane", "block", plane, NewtonImpact(mu=mu, dimension=2))
    last = run(NonsmoothSystem([block], [tie]), 0.5, 0.01)[-1]
    a = max(0.0, G * (math.sin(slope) - mu * math.cos(slope)))
    assert last.state.q == pytest.approx([0.125 * a, 0.0], abs=1e-9)
    assert last.r[0] == pytest.approx(2 * G * math.cos(slope) * 0.01, rel=1e-8)


def test_a_dry_joint_holds_up_to_its_force() -> None:
    """An interval on increments: bounds are forces."""
    for force, moved in ((1.9, 0.0), (2.5, 0.5 * 0.5 * 0.25)):
        mass = Lagrangian("mass", M=1.0, q0=0.0, F_ext=force)
        joint = Interaction("joint", "mass", Scleronomous(lambda q: q, dy_dq=[[1.0]]), Relay(level=2.0))
        last = run(NonsmoothSystem([mass], [joint]), 0.5, 0.01)[-1]
        assert last.state.q[0] == pytest.approx(moved, abs=1e-9)


def test_refusals_name_the_thing() -> None:
    body = Lagrangian("ball", M=1.0, q0=1.0)
    system = NonsmoothSystem([body], [Interaction("floor", "ball", FLOOR, PoissonImpact(e=0.5))])
    with pytest.raises(ModelError, match="'floor': Poisson"):
        run(system, 1.0, 0.1)


def test_nan_is_named() -> None:
    body = Lagrangian("ball", M=1.0, q0=1.0, F_ext=lambda t: [math.nan if t > 0.05 else 0.0])
    with pytest.raises(ModelError, match=r"system 'ball': at t = 0\.055.*F_ext is not finite"):
        run(NonsmoothSystem([body]), 1.0, 0.01)
