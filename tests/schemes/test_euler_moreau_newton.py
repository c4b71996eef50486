"""Newton's loop of Euler-Moreau: it solves the equations of the scheme, quadratically, or says why not."""

from itertools import pairwise

import numpy as np
import pytest
from first_order_runs import FULL, IMPLICIT, MIDPOINT, TRAPEZOID, one_diode, steps

from stickslip.laws import Box, Complementarity, Equality, Mixed, NewtonImpact, PoissonImpact, Relay
from stickslip.schemes.euler_moreau import EulerMoreau
from stickslip.schemes.step import first_state
from stickslip.solvers import registry
from stickslip.state import ModelError
from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
from stickslip.systems.first_order_relations import (
    FirstOrderLinearRelation,
    FirstOrderRelation,
    FirstOrderType1,
    FirstOrderType2,
)
from stickslip.systems.first_order_view import to_first_order
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.system import Interaction, NonsmoothSystem

LEMKE = registry.make("lemke", tolerance=1e-12)

RELATIONS = {
    "linear": FirstOrderLinearRelation(C=[[1.0, 0.5]], D=[[0.4]], B=[[0.3], [1.0]], e=[-0.6]),
    "type 1": FirstOrderType1(
        h=lambda t, x: [x[0] + 0.3 * x[1] ** 3 - 0.7 - 0.1 * t],
        g=lambda t, lam: [0.2 * lam[0], lam[0] + 0.3 * lam[0] ** 2],
    ),
    "type 2": FirstOrderType2(
        h=lambda t, x, lam: [np.sin(x[0]) + x[1] - 0.7 + lam[0] + lam[0] ** 3 - 0.1 * t],
        g=lambda t, lam: [np.sinh(lam[0]), (1.0 + t) * lam[0]],
    ),
    "nonlinear": FirstOrderRelation(
        h=lambda t, x, lam: [np.sin(x[0]) + x[1] - 0.7 + 0.5 * lam[0] * (2.0 + np.cos(x[0]))],
        g=lambda t, x, lam: [lam[0] * x[1], lam[0] * (1.0 + x[0] ** 2) - 0.2 * x[1] ** 2],
    ),
}  # fmt: skip


def model(kind: str) -> NonsmoothSystem:
    flow = FirstOrder(
        "flow", M=lambda t, x: [[2.0 + x[1] ** 2, 0.3], [0.1, 1.0 + t]],
        f=lambda t, x, z: [np.cos(t) - x[0] ** 3 + z[0] * x[1], -x[0] * x[1]],
        u=lambda t: [np.sin(t)], T=lambda x: [[x[1]], [1.0]], z=[0.7],
        z_update=lambda t, z: z + 0.01, x0=[0.1, 0.2],
    )  # fmt: skip
    return one_diode(flow, RELATIONS[kind])


@pytest.mark.parametrize("kind", RELATIONS)
@pytest.mark.parametrize("options", [
    IMPLICIT, FULL, MIDPOINT, TRAPEZOID, {"theta": 0.3, "gamma": 0.8},
    {"theta": 0.3, "gamma": 0.8, "relation": "gamma"},
    {"theta": 0.8, "gamma": 0.6, "relation": "midpoint"},
], ids=str)  # fmt: skip
def test_a_step_solves_the_equations_of_the_scheme(kind: str, options: dict) -> None:
    """(9.5), (9.6) and (9.7), written out once more, and the law."""
    system, h = model(kind), 0.1
    theta, gamma, relation = options["theta"], options["gamma"], options.get("relation", "end")
    flow, tie = system.systems[0], system.interactions[0]
    run = steps(system, 5 * h, h, newton_tolerance=1e-13, **options)
    assert any(s.r[0] > 0.0 for s in run)
    for before, after in pairwise(run):
        t, xk, x, z, lam = before.state.t, before.state.q, after.state.q, after.state.z, after.r
        mean = (1.0 - theta) * xk + theta * x
        if relation == "midpoint":
            f = flow.rate(t + theta * h, mean, z)
        else:
            f = theta * flow.rate(t + h, x, z) + (1.0 - theta) * flow.rate(t, xk, z)
        if relation == "end":
            s, at = t + h, x
            r = gamma * tie.flow.g(s, at, lam, z) + (1.0 - gamma) * before.memory["r"]
        else:
            s, at = t + gamma * h, (1.0 - gamma) * xk + gamma * x
            r = tie.flow.g(s, at, lam, z)
        np.testing.assert_allclose(flow.mass(t + theta * h, mean, z) @ (x - xk), h * (f + r), atol=1e-13)
        y = tie.flow.h(s, at, lam, z)
        np.testing.assert_allclose(after.u, y, atol=1e-13)
        assert lam[0] >= 0.0
        assert abs(min(lam[0], y[0])) <= 1e-11
        np.testing.assert_allclose(after.y, tie.flow.h(t + h, x, lam, z), atol=1e-13)


def test_discrete_parameters_change_from_step_to_step() -> None:
    run = steps(model("linear"), 0.5, 0.1, **IMPLICIT)
    np.testing.assert_allclose([s.state.z[0] for s in run], 0.7 + 0.01 * np.arange(1, 6))


@pytest.mark.parametrize("kind", ["type 1", "type 2", "nonlinear"])
def test_newton_converges_quadratically(kind: str) -> None:
    """The error after n iterations, each from the same start: e_{n+1} <= c e_n²."""
    system, h = model(kind), 0.4
    state = first_state(system)

    def after(n: int, tolerance: float = 1e-300) -> np.ndarray:
        scheme = EulerMoreau(newton_limit=n, newton_tolerance=tolerance)
        step = scheme.step(system, state, scheme.begin(system, state, h), h, LEMKE)
        return np.concatenate([step.state.q, step.r])

    solution = after(30, 1e-13)
    errors = [np.abs(after(n) - solution).max() for n in range(1, 8)]
    assert errors[0] > 5e-3
    assert errors[-1] < 1e-13
    for e, following in pairwise(errors):
        assert e > 0.3 or following <= max(2.0 * e**2, 1e-14)


def test_a_linear_model_needs_one_iteration() -> None:
    circuit = FirstOrderLinear("rc", A=lambda t: [[-1.0 - t]], b=lambda t: [np.sin(t)], x0=0.5)
    relation = FirstOrderLinearRelation(C=lambda t: [[1.0 + t]], D=[[0.5]], B=[[-1.0]], e=lambda t: [t])
    assert {s.newton for s in steps(one_diode(circuit, relation), 1.0, 0.1, **FULL)} == {1}


@pytest.mark.parametrize(("law", "expected"), [
    (Equality(), 0.0), (Box(-0.5, 0.25), -0.5), (Relay(2.0), -1.0), (Complementarity(), 0.0),
], ids=lambda x: repr(x))  # fmt: skip
def test_laws_bound_the_multiplier_and_not_its_impulse(law, expected) -> None:
    """ẋ = 1 + lam from x = 0 with y = x: lam keeps x at 0 where it may (-1), whatever h is."""
    flow = FirstOrder("flow", f=[1.0], x0=0.0)
    relation = FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]])
    system = NonsmoothSystem([flow], [Interaction("law", "flow", relation, law)])
    for h in (0.1, 0.001):
        step = steps(system, h, h, **IMPLICIT)[0]
        assert step.r[0] == pytest.approx(-1.0 if isinstance(law, Equality) else expected, abs=1e-10)


def test_mixed_law_and_several_components() -> None:
    flow = FirstOrder("flow", f=[1.0, -1.0], x0=[0.0, 0.0])
    relation = FirstOrderLinearRelation(C=np.eye(2), B=np.eye(2))
    system = NonsmoothSystem([flow], [Interaction("law", "flow", relation, Mixed(1, 1))])
    step = steps(system, 0.1, 0.1, **IMPLICIT)[0]
    np.testing.assert_allclose(step.r, [-1.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(step.state.q, 0.0, atol=1e-12)


def test_friction_cones_are_contact_problems() -> None:
    """Velocities as states, pressed by gravity: r_N = 9.81, and Coulomb's law on the rest."""
    flow = FirstOrder("flow", f=[-9.81, 0.0, 0.0], x0=[0.0, 3.0, 4.0])
    relation = FirstOrderLinearRelation(C=np.eye(3), B=np.eye(3))
    system = NonsmoothSystem([flow], [Interaction("floor", "flow", relation, NewtonImpact(mu=0.5))])
    step = steps(system, 0.1, 0.1, solver="auto", **IMPLICIT)[0]
    np.testing.assert_allclose(step.r, 9.81 * np.array([1.0, -0.3, -0.4]), rtol=1e-9)
    stopped = steps(system, 2.0, 0.1, solver="auto", **IMPLICIT)[-1]
    np.testing.assert_allclose(stopped.state.q, 0.0, atol=1e-9)


def test_a_loop_that_does_not_converge_says_so() -> None:
    """x' = x + h atan-like steps that overshoot for ever: the step is flagged, and finite."""
    flow = FirstOrder("stiff", f=lambda x: -1e3 * np.cbrt(x - 0.3), x0=5.0)
    system = NonsmoothSystem([flow])
    scheme = EulerMoreau(newton_limit=4)
    state = first_state(system)
    step = scheme.step(system, state, scheme.begin(system, state, 1.0), 1.0, LEMKE)
    assert not step.ok
    assert "system 'stiff'" in step.reason
    assert "4 iterations" in step.reason
    assert np.isfinite(step.state.q).all()


def test_an_iterate_outside_the_domain_is_a_reason() -> None:
    def f(x: np.ndarray) -> np.ndarray:
        return np.array([-10.0 - (np.sqrt(x[0]) if x[0] >= 0.0 else np.nan)])

    system = NonsmoothSystem([FirstOrder("root", f=f, x0=1.0)])
    scheme, state = EulerMoreau(), first_state(system)
    step = scheme.step(system, state, scheme.begin(system, state, 1.0), 1.0, LEMKE)
    assert not step.ok
    assert "system 'root'" in step.reason
    assert "f is not finite" in step.reason
    assert scheme.step(system, state, scheme.begin(system, state, 0.01), 0.01, LEMKE).ok


def fails(system: NonsmoothSystem, match: str, h: float = 0.1, **options) -> None:
    with pytest.raises(ModelError, match=match):
        steps(system, 1.0, h, **options)


def test_nan_from_a_force_names_system_time_and_quantity() -> None:
    late = FirstOrder("late", f=lambda t: [np.nan if t > 0.45 else 1.0], x0=0.0)
    fails(NonsmoothSystem([late]), r"system 'late': at t = 0.5 s, f is not finite")


def test_nan_from_a_relation_names_the_interaction() -> None:
    flow = FirstOrder("flow", f=[1.0], x0=0.0)
    relation = FirstOrderType2(h=lambda t, x, lam: [np.nan if t > 0.45 else x[0] + lam[0]], g=lambda lam: lam)
    fails(one_diode(flow, relation), r"interaction 'diode': at t = 0.5 s, h is not finite")
    relation = FirstOrderType2(
        h=lambda x, lam: [x[0] + lam[0]], g=lambda t, lam: [np.inf if t > 0.45 else lam[0]]
    )
    fails(one_diode(flow, relation), r"interaction 'diode': at t = 0.5 s, g is not finite")


def test_a_mass_that_turns_singular() -> None:
    flow = FirstOrder("fading", M=lambda t: [[max(0.0, 0.45 - t)]], f=[1.0], x0=0.0)
    fails(NonsmoothSystem([flow]), r"system 'fading': at t = 0.5 s, M is singular", theta=1.0)


def test_an_iteration_matrix_that_is_singular_is_a_reason() -> None:
    """M - h A = 0 for A = 2 and h = 1/2: a shorter step helps, so that `simulate` may halve it."""
    system = NonsmoothSystem([FirstOrderLinear("growth", A=2.0, x0=1.0)])
    scheme, state = EulerMoreau(), first_state(system)
    step = scheme.step(system, state, scheme.begin(system, state, 0.5), 0.5, LEMKE)
    assert not step.ok
    assert "system 'growth': at t = 0 s, M - h theta df/dx is singular for h = 0.5 s" in step.reason
    assert scheme.step(system, state, scheme.begin(system, state, 0.25), 0.25, LEMKE).ok


def test_a_start_that_is_not_consistent_jumps_in_the_first_step() -> None:
    """A diode from a capacitor at 1 V to an empty one of thrice the size: 1/4 V on both, charge kept."""
    one, two = FirstOrder("one", f=[0.0], x0=1.0), FirstOrder("two", M=3.0, f=[0.0], x0=0.0)
    relation = FirstOrderLinearRelation(C=[[-1.0, 1.0]], B=[[-1.0], [1.0]])
    diode = Interaction("diode", ("one", "two"), relation, Complementarity())
    for h in (0.1, 1e-4):
        run = steps(NonsmoothSystem([one, two], [diode]), 3 * h, h, **IMPLICIT)
        assert run[0].r[0] * h == pytest.approx(0.75)
        for step in run:
            np.testing.assert_allclose(step.state.q, 0.25, rtol=1e-12)


def test_a_mechanical_system_as_a_first_order_one() -> None:
    """A block on a spring with dry friction: each half cycle takes 2 level / k from the amplitude, and the
    block stays where it first turns within level / k of the middle."""
    block = to_first_order(Lagrangian("block", M=2.0, q0=1.0, F_int=lambda q: 8.0 * q))
    relation = FirstOrderLinearRelation(C=[[0.0, 1.0]], B=[[0.0], [0.5]])
    system = NonsmoothSystem([block], [Interaction("friction", "block", relation, Relay(0.88))])
    run = steps(system, 8.0, 5e-3, theta=0.5, gamma=1.0)
    q, v = run[-1].state.q
    assert q == pytest.approx(-(1.0 - 2 * 5 * 0.11), abs=1e-4)  # the fifth turn
    assert abs(v) <= 1e-12
    assert run[-1].r[0] == pytest.approx(8.0 * q, rel=1e-9)


def test_what_euler_moreau_cannot_carry() -> None:
    ball = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0)])
    fails(ball, "system 'ball' is of second order")
    flow = FirstOrder("flow", f=[1.0], x0=0.0)
    relation = FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]])
    for law in (NewtonImpact(e=0.5), PoissonImpact(e=0.5)):
        system = NonsmoothSystem([flow], [Interaction("wall", "flow", relation, law)])
        fails(system, "interaction 'wall': .* restitution")


@pytest.mark.parametrize(
    "wrong", [{"theta": 1.5}, {"gamma": -0.1}, {"relation": "start"}, {"newton_limit": 0}], ids=str
)
def test_options_are_checked(wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        EulerMoreau(**wrong)
