"""Work of contacts, by schemes that tell it themselves, and energies whose potential is not known."""

import numpy as np
import pytest

import stickslip as ss

G = 9.81


def ball(e: float = 0.5, name: str = "ball") -> ss.NonsmoothSystem:
    return ss.NonsmoothSystem(
        [ss.Lagrangian(name, M=1.0, q0=1.0, F_ext=-G)],
        [ss.Interaction("floor", name, ss.Scleronomous(lambda q: q, dy_dq=np.eye(1)), ss.NewtonImpact(e=e))],
    )


def sled(spring: float) -> ss.NonsmoothSystem:
    """A block that slides on the floor, pulled back by a spring; q is height and place."""
    contact = ss.NewtonImpact(e=0.0, mu=0.3, dimension=2)
    body = ss.LagrangianLinear(
        "block", M=2.0 * np.eye(2), K=np.diag([0.0, spring]), q0=[0.0, 0.4], v0=[0.0, 3.0],
        F_ext=[-2.0 * G, 0.0],
    )  # fmt: skip
    floor = ss.Scleronomous(lambda q: q, dy_dq=np.eye(2))
    return ss.NonsmoothSystem([body], [ss.Interaction("floor", "block", floor, contact)])


def kept(run: ss.Trajectory) -> float:
    """How far energy - contact_work is from where it began [J]."""
    balance = run.energy - run.contact_work
    return float(np.abs(balance - balance[0]).max())


@pytest.mark.parametrize("record", [1, 7])
def test_event_driven_work_of_impacts(record):
    run = ss.simulate(ball(), until=2.0, h=0.1, scheme="event-driven", record=record)
    assert kept(run) < 1e-8
    assert run.contact_work[-1] == pytest.approx(-G, abs=1e-8)


@pytest.mark.parametrize("spring", [0.0, 300.0])
def test_event_driven_work_of_sliding(spring):
    run = ss.simulate(sled(spring), until=1.5, h=0.01, scheme="event-driven")
    assert kept(run) < 1e-8
    assert run.contact_work[-1] < -1.0
    if not spring:  # it slides until all is lost, then stays
        assert run.contact_work[-1] == pytest.approx(-9.0, abs=1e-8)


def test_event_driven_work_of_sliding_in_a_plane_and_of_a_dry_joint():
    body = ss.Lagrangian("puck", M=1.5, q0=[0.2, 0.0, 0.0], v0=[0.0, 2.0, 1.0], F_ext=[-1.5 * G, 1.0, 0.0])
    floor = ss.Interaction(
        "floor", "puck", ss.Scleronomous(lambda q: q, dy_dq=np.eye(3)), ss.NewtonImpact(e=0.4, mu=0.5)
    )
    assert (
        kept(ss.simulate(ss.NonsmoothSystem([body], [floor]), until=1.0, h=0.05, scheme="event-driven"))
        < 1e-8
    )
    slide = ss.LagrangianLinear("slide", M=1.0, K=50.0, q0=1.0)
    joint = ss.Interaction(
        "joint", "slide", ss.Scleronomous(lambda q: q, dy_dq=np.eye(1)), ss.laws.Relay(3.0)
    )
    run = ss.simulate(ss.NonsmoothSystem([slide], [joint]), until=3.0, h=0.05, scheme="event-driven")
    assert kept(run) < 1e-8
    assert run.contact_work[-1] < -20.0


@pytest.mark.parametrize("velocity", ["central", "backward"])
def test_schatzman_paoli_loses_what_the_ball_had(velocity):
    errors = []
    for h in (2e-3, 5e-4):
        scheme = ss.schemes.SchatzmanPaoli(velocity=velocity)
        run = ss.simulate(ball(), until=2.0, h=h, scheme=scheme)
        errors.append(abs(run.contact_work[-1] + G))
    assert errors[0] < 2e-3 * G
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("event-driven", "moreau-jean"),
        ("schatzman-paoli", "event-driven"),
        ("moreau-jean", "schatzman-paoli"),
    ],
)
def test_work_of_parts_under_different_schemes_adds_up(first, second):
    a, b = ball(0.5, "a"), ball(0.3, "b")
    both = ss.NonsmoothSystem(
        [*a.systems, *b.systems],
        [
            ss.Interaction(
                f"under {s}", s, ss.Scleronomous(lambda q: q, dy_dq=np.eye(1)), ss.NewtonImpact(e=e)
            )
            for s, e in (("a", 0.5), ("b", 0.3))
        ],
    )
    run = ss.simulate(both, until=0.8, h=1e-3, scheme={"a": first, "b": second})
    alone = [ss.simulate(one, until=0.8, h=1e-3, scheme=s) for one, s in ((a, first), (b, second))]
    expected = sum(one.contact_work for one in alone)
    np.testing.assert_allclose(run.contact_work, expected, atol=1e-12)


def test_other_measures_of_parts_are_the_largest_or_add_up():
    a, b = ball(0.5, "a"), ball(0.5, "b")
    both = ss.NonsmoothSystem(
        [*a.systems, *b.systems],
        [
            ss.Interaction(
                f"under {s}", s, ss.Scleronomous(lambda q: q, dy_dq=np.eye(1)), ss.NewtonImpact(e=0.5)
            )
            for s in ("a", "b")
        ],
    )
    exact, soft = ss.schemes.EventDriven(), ss.schemes.EventDriven(rtol=1e-9)
    run = ss.simulate(both, until=1.0, h=0.5, scheme={"a": exact, "b": soft})
    alone = ss.simulate(a, until=1.0, h=0.5, scheme="event-driven")
    assert run.measures["impacts [-]"][-1] == 2.0 * alone.measures["impacts [-]"][-1]
    assert run.measures["projection [m]"][-1] < 2.0 * alone.measures["projection [m]"][-1] + 1e-12


def test_a_summary_says_whose_potential_is_unknown(tmp_path):
    def energy_line(*systems) -> str:
        run = ss.simulate(ss.NonsmoothSystem(systems), until=0.1, h=0.05)
        path = tmp_path / "run.h5"
        run.save(path)
        assert str(ss.read_trajectory(path)) == str(run)
        return next(line for line in str(run).splitlines() if line.strip().startswith("energy"))

    known = [
        ss.Lagrangian("weight", M=1.0, q0=0.0, F_ext=-G),
        ss.Lagrangian("free", M=1.0, q0=0.0, v0=1.0),
        ss.LagrangianLinear("spring", M=1.0, K=3.0, C=0.1, q0=1.0),
        ss.Lagrangian("told", M=1.0, q0=0.0, F_int=lambda q: q**3, potential=lambda q: q[0] ** 4 / 4.0),
        ss.NewtonEuler("body", mass=1.0, inertia=[1.0, 1.0, 1.0], force=[0.0, 0.0, -G]),
    ]
    assert "unknown" not in energy_line(*known)
    unknown = [
        ss.Lagrangian("pendulum", M=1.0, q0=0.1, F_int=lambda q: G * np.sin(q)),
        ss.LagrangianLinear("driven", M=1.0, K=3.0, q0=1.0, F_ext=lambda t: np.cos(t)),
        ss.NewtonEuler(
            "rocket", mass=1.0, inertia=[1.0, 1.0, 1.0], force=[0.0, 0.0, 1.0], force_frame="body"
        ),
    ]
    assert energy_line(known[0], *unknown).endswith("potential of 'pendulum', 'driven', 'rocket' unknown")
