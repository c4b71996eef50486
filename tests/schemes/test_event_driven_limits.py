"""Event-driven: moving constraints, Poisson's law, Painlevé's rod, and agreement with time-stepping."""

import numpy as np
import pytest
from event_runs import SOLVER, G, events, run, walk

from stickslip.laws import Complementarity, Equality, NewtonImpact, PoissonImpact
from stickslip.schemes.event_driven import EventDriven
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.step import first_state
from stickslip.state import ModelError
from stickslip.systems.first_order import FirstOrder
from stickslip.systems.first_order_relations import FirstOrderLinearRelation
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import LagrangianLinearRelation, Rheonomous, Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem


def test_a_bead_on_a_turning_wire_flies_out():
    # The wire turns at ω: the distance from the axle grows like cosh ωt.
    w, r0 = 3.0, 0.2

    def gap(t, q):
        return [-q[0] * np.sin(w * t) + q[1] * np.cos(w * t)]

    wire = Rheonomous(
        gap, dy_dq=lambda t: [[-np.sin(w * t), np.cos(w * t)]],
        dy_dt=lambda t, q: [-w * (q[0] * np.cos(w * t) + q[1] * np.sin(w * t))],
    )  # fmt: skip
    system = NonsmoothSystem(
        [Lagrangian("bead", M=0.5, q0=[r0, 0.0], v0=[0.0, w * r0])],
        [Interaction("wire", "bead", wire, Equality())],
    )
    done = run(system, until=1.0, h=0.125)
    for s in done:
        t, r = s.state.t, r0 * np.cosh(w * s.state.t)
        np.testing.assert_allclose(s.state.q, [r * np.cos(w * t), r * np.sin(w * t)], atol=1e-8)


def test_take_off_without_given_derivatives():
    A, w = 0.01, 40.0
    table = Rheonomous(lambda t, q: q - A * np.sin(w * t))
    system = NonsmoothSystem(
        [Lagrangian("ball", M=1.0, q0=0.0, v0=A * w, F_ext=-G)],
        [Interaction("table", "ball", table, NewtonImpact(e=0.0))],
    )
    done = run(system, until=0.05, h=0.01)
    leave = np.arcsin(G / (A * w**2)) / w
    assert events(done, "take-off")[0] == pytest.approx(leave, abs=1e-7)


def test_poisson_is_newton_for_one_contact_without_friction():
    times = []
    for law in (NewtonImpact(e=0.6), PoissonImpact(e=0.6)):
        system = NonsmoothSystem(
            [Lagrangian("ball", M=3.0, q0=1.0, F_ext=-3.0 * G)],
            [Interaction("floor", "ball", Scleronomous(lambda q: q, dy_dq=np.eye(1)), law)],
        )
        times.append(events(run(system, until=1.5, h=0.5), "impact"))
    np.testing.assert_allclose(times[0], times[1], atol=1e-12)


@pytest.mark.parametrize("law", [NewtonImpact, PoissonImpact])
def test_an_impact_with_friction_is_that_of_time_stepping(law):
    # A rod without forces falls on its end: one impact, which both schemes see alike.
    half, mass, angle = 0.5, 1.0, 1.0
    n, c = np.sin(angle), np.cos(angle)
    rod = Lagrangian(
        "rod",
        M=np.diag([mass, mass, mass * half**2 / 3.0]),
        q0=[0.0, half * n + 1e-3, angle],
        v0=[0.4, -1.0, 0.0],
    )
    touch = Scleronomous(
        lambda q: [q[1] - half * np.sin(q[2])],
        dy_dq=lambda q: [[0.0, 1.0, -half * np.cos(q[2])], [1.0, 0.0, half * np.sin(q[2])]],
    )
    assert c > 0.0
    system = NonsmoothSystem([rod], [Interaction("floor", "rod", touch, law(e=0.5, mu=0.3, dimension=2))])
    ours = run(system, until=0.002, h=0.002)[-1].state
    h = 1e-5
    theirs = walk(system, 0.002, h, scheme=MoreauJean())[-1].state
    np.testing.assert_allclose(ours.v, theirs.v, atol=1e-3)
    assert ours.v[1] - half * c * ours.v[2] > 0.0


def test_time_stepping_converges_to_it():
    # A block on a shaken, inclined plane with friction: it sticks, slips and hops.
    def system():
        A, w = 0.006, 45.0
        floor = Rheonomous(
            lambda t, q: [q[0] - A * np.sin(w * t)],
            dy_dq=np.eye(2),
            dy_dt=lambda t: [-A * w * np.cos(w * t), 0.0],
        )
        block = Lagrangian("block", M=1.0, q0=[0.0, 0.0], v0=[A * w, 0.0], F_ext=[-0.95 * G, 0.3 * G])
        return NonsmoothSystem(
            [block], [Interaction("floor", "block", floor, NewtonImpact(e=0.0, mu=0.4, dimension=2))]
        )

    exact = run(system(), until=0.4, h=0.05)
    assert {e.kind for s in exact for e in s.events} >= {"impact", "close", "take-off"}
    errors = []
    for h in (2e-3, 2.5e-4):
        found = walk(system(), 0.4, h, scheme=MoreauJean())[round(0.05 / h) - 1 :: round(0.05 / h)]
        pairs = zip(found, exact, strict=True)
        errors.append(max(np.abs(a.state.q - b.state.q).max() for a, b in pairs))
    assert errors[1] < 0.25 * errors[0]
    assert errors[1] < 1e-4


def rod(mu: float, angle: float, speed: float, turning: float = 0.0) -> NonsmoothSystem:
    """A slender rod whose lower end slides on the ground, ahead of the rod."""
    n, c = np.sin(angle), np.cos(angle)
    body = Lagrangian(
        "rod", M=np.diag([1.0, 1.0, 1.0 / 3.0]), q0=[c, n, angle],
        v0=[-speed - n * turning, c * turning, turning], F_ext=[0.0, -G, 0.0],
    )  # fmt: skip
    touch = Scleronomous(
        lambda q: [q[1] - np.sin(q[2])],
        dy_dq=lambda q: [[0.0, 1.0, -np.cos(q[2])], [1.0, 0.0, np.sin(q[2])]],
    )
    return NonsmoothSystem([body], [Interaction("ground", "rod", touch, NewtonImpact(mu=mu, dimension=2))])


def test_painleves_rod_is_detected_and_jams_on_request():
    angle, speed = np.pi / 3.0, 1.0
    (step,) = walk(rod(2.0, angle, speed), 1e-6, 1e-6)
    assert not step.ok
    assert "ground" in step.reason
    assert "Painlevé" in step.reason
    assert step.state.t == 0.0
    (step,) = run(rod(2.0, angle, speed), 1e-6, 1e-6, jam=True)
    assert [e.kind for e in step.events][:2] == ["jam", "impact"]
    # The impulse that stops the end: P_N = (3/4) m v sin cos, Génot & Brogliato 1999.
    assert step.r[0] == pytest.approx(0.75 * speed * np.sin(angle) * np.cos(angle), rel=1e-4)
    assert np.abs(step.u).max() < 1e-9


def test_two_answers_of_a_sliding_rod_are_said_to_be_two():
    (step,) = walk(rod(2.0, np.pi / 3.0, 1.0, turning=5.0), 1e-4, 1e-4)
    assert not step.ok
    assert "unique" in step.reason


def test_a_step_with_friction_resumes_bit_for_bit():
    scheme = EventDriven()
    system = rod(1.0, 0.8, 1.0)
    state = first_state(system)
    memory, kept = scheme.begin(system, state, 0.02), []
    for _ in range(20):
        step = scheme.step(system, state, memory, 0.02, SOLVER)
        state, memory = step.state, step.memory
        kept.append(step)
    for start in (0, 7):
        state, memory = kept[start].state, {k: np.array(x) for k, x in kept[start].memory.items()}
        for step in kept[start + 1 :]:
            again = scheme.step(system, state, memory, 0.02, SOLVER)
            assert np.array_equal(again.state.q, step.state.q)
            assert np.array_equal(again.state.v, step.state.v)
            assert np.array_equal(again.r, step.r)
            state, memory = again.state, again.memory


def test_what_it_cannot_carry_is_named():
    soft = Interaction("soft", "ball", LagrangianLinearRelation([[1.0]], D=[[1e-3]]), NewtonImpact())
    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0)], [soft])
    with pytest.raises(ModelError, match="soft"):
        EventDriven().begin(system, first_state(system), 0.1)
    rim = Interaction("rim", "tank", FirstOrderLinearRelation(C=1.0, B=1.0), Complementarity())
    tank = FirstOrder("tank", f=lambda x: -x, x0=1.0)
    flow = NonsmoothSystem([tank, Lagrangian("ball", M=1.0, q0=1.0)], [rim])
    with pytest.raises(ModelError, match="'rim' ties systems of first order beside mechanics"):
        EventDriven().begin(flow, first_state(flow), 0.1)
