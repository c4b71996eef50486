"""Levels y[i], index sets and relative degrees per row: a circuit, a ball, constraints of second order."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.systems import index_sets, relative_degree

G = 9.81


def ball(q0, v0=0.0):
    one = ss.Lagrangian("ball", M=2.0, q0=q0, v0=v0, F_ext=-2.0 * G)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    return ss.NonsmoothSystem([one], [floor])


@pytest.mark.parametrize(
    ("q0", "v0", "I1", "I2"),
    [(1.0, 0.0, False, False), (0.0, -1.0, True, False), (0.0, 1.0, True, False), (0.0, 0.0, True, True)],
)
def test_a_ball_flies_strikes_leaves_and_rests(q0, v0, I1, I2):
    found = index_sets(ball(q0, v0))
    assert [one.tolist() for one in found.sets] == [[True], [I1], [I2]]
    assert [level[0] for level in found.y] == pytest.approx([q0, v0, -G], abs=1e-9)
    held = index_sets(ball(q0, v0), lam=[2.0 * G])
    assert held.y[2] == pytest.approx([0.0], abs=1e-9)  # its weight holds it
    assert relative_degree(ball(q0, v0), "floor").rows == (2,)


def test_levels_of_a_motion_are_derivatives_of_one_another():
    """A pendulum over a moving floor, in free flight: differences along the run are the levels."""
    arm = ss.Lagrangian(
        "arm", M=lambda q: [[1.0 + q[0] ** 2]], N=lambda q, v: q[0] * v[0] ** 2,
        F_int=lambda q: 9.0 * np.sin(q),
        q0=0.4, v0=1.5,
    )  # fmt: skip
    gap = ss.systems.Rheonomous(lambda t, q: 3.0 + np.sin(q) - 0.2 * np.cos(5.0 * t))
    system = ss.NonsmoothSystem([arm], [ss.Interaction("floor", "arm", gap, ss.NewtonImpact())])
    h = 1e-3
    run = ss.simulate(system, until=4 * h, h=h, scheme="event-driven")
    k = 2
    found = index_sets(system, ss.State(float(run.t[k]), run.q[k], run.v[k], run.z[k]))
    y = run.y[:, 0]
    rate = (8.0 * (y[3] - y[1]) - (y[4] - y[0])) / (12.0 * h)
    bend = (16.0 * (y[1] + y[3]) - y[0] - y[4] - 30.0 * y[2]) / (12.0 * h * h)
    assert found.y[0] == pytest.approx(y[k], abs=1e-12)
    assert found.y[1] == pytest.approx(rate, abs=1e-8)
    assert found.y[2] == pytest.approx(bend, abs=1e-4)


def test_a_joint_is_in_all_sets_and_its_acceleration_is_centripetal():
    """A mass on a rod: y = (|q|² - 1) / 2 has ÿ = |v|² + q·a."""
    mass = ss.Lagrangian("mass", M=np.eye(2), q0=[0.6, -0.8], v0=[0.8, 0.6], F_ext=[0.0, -G])
    rod = ss.Interaction("rod", "mass", ss.Scleronomous(lambda q: 0.5 * (q @ q - 1.0)), ss.laws.Equality(1))
    found = index_sets(ss.NonsmoothSystem([mass], [rod]))
    assert all(one.tolist() == [True] for one in found.sets)
    assert [level[0] for level in found.y] == pytest.approx([0.0, 0.0, 1.0 + 0.8 * G], abs=1e-6)


def circuit():
    """A coil and a capacitor in series with a diode: y the voltage at the diode, lam its current."""
    L, C = 1e-2, 1e-6
    coil = ss.FirstOrderLinear("lc", A=[[0.0, -1.0 / C], [1.0 / L, 0.0]], x0=[10.0, 0.0])
    diode = ss.systems.FirstOrderLinearRelation([[-1.0, 0.0]], [[-1.0 / C], [0.0]], [[1000.0]])
    return ss.NonsmoothSystem([coil], [ss.Interaction("diode", "lc", diode, ss.laws.Complementarity(1))])


def test_the_diode_has_degree_0_with_a_resistor_and_1_without():
    """Siconos' RLCD: y = -v + R i. Without R the Markov parameter C B is the first that is not zero."""
    system = circuit()
    assert relative_degree(system, "diode").rows == (0,)
    bare = ss.systems.FirstOrderLinearRelation([[-1.0, 0.0]], [[-1e6], [0.0]])
    tie = ss.Interaction("diode", "lc", bare, ss.laws.Complementarity(1))
    assert relative_degree(ss.NonsmoothSystem(list(system.systems), [tie]), "diode").rows == (1,)


def test_levels_of_first_order_under_a_current():
    found = index_sets(circuit(), lam=[1e-2])
    assert [one.tolist() for one in found.sets] == [[True], [False], [False]]
    assert found.y[0] == pytest.approx([-10.0 + 10.0])
    assert found.y[1] == pytest.approx([1e-2 / 1e-6])  # -v̇, and v̇ = -(i_L + lam) / C
    assert np.isnan(found.y[2]).all()


def test_rows_have_degrees_of_their_own_where_there_is_no_uniform_one():
    A, C, B = np.eye(3, k=1), np.eye(3)[:2], np.eye(3)[:, 1:]
    flow = ss.FirstOrderLinear("flow", A=A, x0=np.ones(3))
    relation = ss.systems.FirstOrderLinearRelation(C, B)
    tie = ss.Interaction("tie", "flow", relation, ss.laws.Complementarity(2))
    found = relative_degree(ss.NonsmoothSystem([flow], [tie]), "tie")
    assert found.degree is None
    assert found.rows == (2, 2)  # x₁'' = x₃ + lam₁, and x₂'' = lam₂
    resisting = ss.systems.FirstOrderLinearRelation(C, B, np.diag([0.0, 5.0]))
    tie = ss.Interaction("tie", "flow", resisting, ss.laws.Complementarity(2))
    assert relative_degree(ss.NonsmoothSystem([flow], [tie]), "tie").rows == (2, 0)


def test_friction_has_degree_2_on_every_row():
    box = ss.Lagrangian("box", M=np.eye(2), q0=[0.0, 0.0], F_ext=[-G, 0.0])
    law = ss.NewtonImpact(mu=0.3, dimension=2)
    tie = ss.Interaction("floor", "box", ss.systems.LagrangianLinearRelation(np.eye(2)), law)
    system = ss.NonsmoothSystem([box], [tie])
    assert relative_degree(system, "floor").rows == (2, 2)
    assert index_sets(system).I2.tolist() == [True]


@pytest.mark.parametrize(
    ("scheme", "orders"),
    [("moreau-jean", 1), ("event-driven", 2), ("schatzman-paoli", 0)],
)
def test_levels_and_index_sets_of_steps(scheme, orders):
    made = ss.schemes.registry.make(scheme)
    flying, lying = ball(1.0), ball(0.0)
    solver = ss.solvers.registry.make("auto", tolerance=1e-10)
    for system, touches in ((flying, False), (lying, True)):
        assert [level.order for level in made.levels(system)] == [orders]
        state = ss.State(0.0, system.q0, system.v0, system.z0)
        step = made.step(system, state, made.begin(system, state, 1e-3), 1e-3, solver)
        assert [one.tolist() for one in step.index_sets] == [[True], [touches], [touches]][: orders + 1]
        assert sorted(step.multipliers) == ([orders] if orders < 2 else [1, 2])
        if orders:
            assert step.multipliers[1] == pytest.approx([2.0 * G * 1e-3 * touches], abs=1e-9)  # an impulse
        if orders == 2:
            assert step.multipliers[2] == pytest.approx([2.0 * G * touches])  # a force


def test_what_cannot_be_asked_is_named():
    with pytest.raises(ss.ModelError, match="lam has 2 entries, expected 1"):
        index_sets(ball(1.0), lam=[1.0, 2.0])
    with pytest.raises(ss.ModelError, match="expected a NonsmoothSystem"):
        index_sets(3)
