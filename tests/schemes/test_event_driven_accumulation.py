"""Event-driven: accumulating impacts are handed to time-stepping, and taken back at their end."""

import numpy as np
import pytest
from event_runs import SOLVER, G, events, run

from stickslip.laws import NewtonImpact
from stickslip.schemes.event_driven import EventDriven
from stickslip.schemes.event_driven_zeno import KEPT, Accumulation
from stickslip.schemes.step import CONTACT_WORK, first_state
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem


def ball(e: float, name: str = "ball", height: float = 1.0) -> tuple[Lagrangian, Interaction]:
    return Lagrangian(name, M=1.0, q0=height, F_ext=-G), Interaction(
        f"floor of {name}", name, Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e)
    )


def alone(e: float) -> NonsmoothSystem:
    body, floor = ball(e)
    return NonsmoothSystem([body], [floor])


def zeno(e: float, height: float = 1.0) -> float:
    """Accumulation point of a ball dropped from a height."""
    return np.sqrt(2.0 * height / G) * (1.0 + e) / (1.0 - e)


def tower(e_floor: float, e_between: float, upper: float = 1.0) -> NonsmoothSystem:
    """A ball above a ball above the floor."""
    gap = Scleronomous(lambda q: q[1:] - q[:1], dy_dq=[[-1.0, 1.0]])
    low, floor = ball(e_floor, "low", 0.5)
    return NonsmoothSystem(
        [low, Lagrangian("up", M=upper, q0=0.7, F_ext=-upper * G)],
        [floor, Interaction("between", ("low", "up"), gap, NewtonImpact(e=e_between))],
    )


def block(e: float, mu: float, half: float = 0.3, low: float = 0.5) -> NonsmoothSystem:
    """A block dropped on a corner, in the plane; q is x, height and angle of its centre."""

    def corner(side: int) -> Scleronomous:
        def rows(q):
            c, s = np.cos(q[2]), np.sin(q[2])
            return [[0.0, 1.0, side * half * c + low * s], [1.0, 0.0, -side * half * s + low * c]]

        return Scleronomous(lambda q: [q[1] + side * half * np.sin(q[2]) - low * np.cos(q[2])], dy_dq=rows)

    M = np.diag([1.0, 1.0, (half**2 + low**2) / 3.0])
    law = NewtonImpact(e=e, mu=mu, dimension=2)
    return NonsmoothSystem(
        [Lagrangian("block", M=M, q0=[0.0, low + 0.4, 0.3], F_ext=[0.0, -G, 0.0])],
        [Interaction("left", "block", corner(-1), law), Interaction("right", "block", corner(1), law)],
    )


def total(done, name: str) -> float:
    return sum(step.measures[name] for step in done)


@pytest.mark.parametrize("accumulation", ["time-stepping", "plastic"])
@pytest.mark.parametrize("e", [0.5, 0.95])
def test_a_ball_comes_to_rest_at_its_accumulation_point(e, accumulation):
    end = zeno(e)
    done = run(alone(e), until=np.ceil(end) + 0.5, h=0.25, accumulation=accumulation)
    assert events(done, "zeno") == pytest.approx([end], abs=1e-10)
    assert events(done, "impact")[-1] > end - 1e-4
    assert abs(done[-1].state.q[0]) < 1e-12
    assert done[-1].state.v[0] == 0.0
    assert sum(s.r[0] for s in done) == pytest.approx(G * done[-1].state.t, abs=1e-9)
    assert total(done, CONTACT_WORK) == pytest.approx(-G, abs=1e-9)
    close = events(done, "close")[0]
    assert close == (pytest.approx(end, abs=1e-10) if accumulation == "time-stepping" else close)


def test_time_stepping_is_in_the_worst_residual_and_its_count_is_an_option():
    class Listening:
        def __init__(self):
            self.found = []

        def solve(self, problem, *, guess=None):
            self.found.append(SOLVER.solve(problem, guess=guess))
            return self.found[-1]

    solved = []
    for small_steps in (4, 64):
        solver, scheme, system = Listening(), EventDriven(small_steps=small_steps), alone(0.5)
        state = first_state(system)
        step = scheme.step(system, state, scheme.begin(system, state, 1.5), 1.5, solver)
        assert step.ok
        assert abs(step.state.q[0]) < 1e-12
        assert step.natural == max(one.residuals.natural for one in solver.found)
        solved.append(len(solver.found))
    assert solved[1] > solved[0]


def test_a_step_may_end_amid_the_accumulation_and_resumes_bit_for_bit():
    system, scheme, end = alone(0.5), EventDriven(), zeno(0.5)
    state, h = first_state(system), end - 1.1e-5
    step = scheme.step(system, state, scheme.begin(system, state, h), h, SOLVER)
    kept = [step]
    for _ in range(8):
        step = scheme.step(system, kept[-1].state, kept[-1].memory, 2e-6, SOLVER)
        assert step.ok
        kept.append(step)
    handed = [bool(np.isfinite(s.memory["until"]).any()) for s in kept]
    assert any(handed)
    assert not handed[-1]
    assert events(kept, "zeno") == pytest.approx([end], abs=1e-10)
    for k in range(1, len(kept)):
        memory = {name: np.array(value) for name, value in kept[k - 1].memory.items()}
        again = scheme.step(system, kept[k - 1].state, memory, 2e-6, SOLVER)
        assert np.array_equal(again.state.q, kept[k].state.q)
        assert np.array_equal(again.state.v, kept[k].state.v)
        assert np.array_equal(again.r, kept[k].r)
        assert again.events == kept[k].events
        assert again.measures == kept[k].measures


def test_what_is_not_coupled_keeps_its_instants_meanwhile():
    # The second ball strikes its floor while the first one is in the hands of time-stepping.
    e, end = 0.5, zeno(0.5)
    (a, floor_a), (b, floor_b) = ball(e), ball(0.8, "other", 0.5 * G * (end - 3e-6) ** 2)
    done = run(NonsmoothSystem([a, b], [floor_a, floor_b]), until=1.5, h=0.5)
    assert events(done, "impact", "floor of other") == pytest.approx([end - 3e-6], abs=1e-11)
    assert events(done, "zeno", "floor of ball") == pytest.approx([end], abs=1e-10)
    assert events(done, "impact", "floor of ball").max() < end - 3e-6
    s = 1.5 - (end - 3e-6)
    exact = 0.8 * G * (end - 3e-6) * s - 0.5 * G * s**2
    np.testing.assert_allclose(done[-1].state.q, [0.0, exact], atol=1e-10)


@pytest.mark.parametrize("model", [(0.5, 0.5), (0.8, 0.3), (0.7, 0.7, 3.0), (0.0, 0.7)])
def test_a_ball_on_a_ball_on_the_floor_come_to_rest(model):
    system = tower(*model)
    done = run(system, until=5.0, h=0.5)
    last = done[-1]
    assert last.active.all()
    assert np.abs(last.y).max() < 1e-12
    assert np.abs(last.state.v).max() < 1e-12
    masses = np.array([1.0, model[2] if len(model) > 2 else 1.0])
    weight = G * masses.sum()
    assert sum(s.r[0] for s in done) == pytest.approx(weight * last.state.t, abs=1e-8)
    assert sum(s.r[1] for s in done) == pytest.approx(masses[1] * G * last.state.t, abs=1e-8)
    assert total(done, CONTACT_WORK) == pytest.approx(-G * masses @ [0.5, 0.7], abs=1e-8)


def test_where_two_contacts_share_their_accumulation_point_time_stepping_finds_it():
    # A plastic impact of the one leaves the other bouncing on: their common end is lost.
    def ends(how: str, limit: float):
        return events(run(tower(0.8, 0.3), until=1.0, h=0.5, accumulation=how, zeno=limit), "zeno")

    exact = ends("time-stepping", 1e-7)
    assert np.ptp(exact) < 1e-9
    assert np.abs(ends("time-stepping", 1e-5) - exact).max() < 5e-8
    assert np.abs(ends("plastic", 1e-5) - exact).max() > 1e-6


@pytest.mark.parametrize("model", [(0.5, 0.2), (0.1, 0.4), (0.6, 0.3)])
def test_a_block_rocks_to_rest_on_two_corners(model):
    # Each corner bounces to rest, over and over, faster and faster: an accumulation of accumulations.
    done = run(block(*model), until=1.75, h=0.25)
    last = done[-1]
    assert last.active.all()
    assert np.abs(last.state.v).max() < 1e-10
    assert last.state.q[1] == pytest.approx(0.5, abs=1e-12)
    assert last.state.q[2] == pytest.approx(0.0, abs=1e-12)
    assert sum(s.r[0] + s.r[2] for s in done) == pytest.approx(G * last.state.t, abs=1e-7)
    assert total(done, CONTACT_WORK) == pytest.approx(-G * 0.4, abs=1e-7)


def test_crowded_impacts_without_a_pattern_are_carried_over():
    # Hardly any speed is lost, so that no ratio is steady below one; the crowd says that it is enough.
    body, _ = ball(0.5)
    walls = [
        Interaction("low", "ball", Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=1.0)),
        Interaction("high", "ball", Scleronomous(lambda q: 1e-7 - q, dy_dq=-np.eye(1)), NewtonImpact(e=1.0)),
    ]
    bead = Lagrangian("ball", M=1.0, q0=5e-8, v0=1.0)
    assert body.name == bead.name
    done = run(NonsmoothSystem([bead], walls), until=3e-5, h=3e-5, crowd=20)
    assert done[0].measures["impacts [-]"] < 100
    assert abs(done[0].state.v[0]) == pytest.approx(1.0, abs=1e-9)
    every = run(NonsmoothSystem([bead], walls), until=3e-5, h=3e-5)
    assert every[0].measures["impacts [-]"] == 300


@pytest.mark.parametrize("turns", [1, 2, 3])
def test_patterns_that_repeat_every_few_impacts(turns):
    # Intervals of different lengths that shrink by 0.3 a turn end where their sum does.
    parts = np.array([1.0, 0.2, 0.5])[:turns]
    intervals = np.concatenate([1e-6 * parts * 0.3**k for k in range(40)])
    times = 1.0 + np.cumsum(np.concatenate([[0.0], intervals]))
    found = Accumulation(np.full((1, KEPT), -np.inf), 1e-5)
    ends = [(t, found.hit(0, t)) for t in times[: 3 * turns + 1]]
    t, ahead = ends[-1]
    assert [x for _, x in ends[:-1]] == [None] * (3 * turns)
    assert t + ahead == pytest.approx(1.0 + intervals.sum(), abs=1e-12)
    found.forget(0)
    assert found.hit(0, 2.0) is None
