"""Order of convergence of each variant of Euler-Moreau, on smooth and on nonsmooth problems."""

import numpy as np
import pytest
from first_order_runs import FULL, IMPLICIT, MIDPOINT, TRAPEZOID, last, one_diode, order, steps
from scipy.integrate import quad

from stickslip.laws import Equality, Relay
from stickslip.scenes.circuits import Mode, piecewise
from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
from stickslip.systems.first_order_relations import FirstOrderLinearRelation, FirstOrderType2
from stickslip.systems.system import Interaction, NonsmoothSystem

SECOND = [FULL, MIDPOINT, TRAPEZOID]
NAMES = ["full", "midpoint", "trapezoid"]


def logistic() -> NonsmoothSystem:
    """ẋ = x (1 - x) from 1/2: x = 1 / (1 + e^-t)."""
    return NonsmoothSystem([FirstOrder("growth", f=lambda x: x * (1.0 - x), x0=0.5)])


@pytest.mark.parametrize("options", SECOND, ids=NAMES)
def test_second_order_on_a_smooth_nonlinear_flow(options) -> None:
    assert order(logistic(), 1.0 / (1.0 + np.exp(-2.0)), 2.0, 0.1, **options) == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize("theta", [0.0, 1.0])
def test_first_order_of_explicit_and_implicit_euler(theta: float) -> None:
    measured = order(logistic(), 1.0 / (1.0 + np.exp(-2.0)), 2.0, 0.05, theta=theta)
    assert measured == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("options", [*SECOND, IMPLICIT], ids=[*NAMES, "implicit"])
def test_a_mass_that_depends_on_time_and_state(options) -> None:
    """(1 + t)(1 + x²) ẋ = -1: x + x³/3 = 4/3 - log(1 + t) from x(0) = 1."""
    flow = FirstOrder("heavy", M=lambda t, x: [[(1.0 + t) * (1.0 + x[0] ** 2)]], f=[-1.0], x0=1.0)
    target = 4.0 / 3.0 - np.log(2.0)
    exact = next(r.real for r in np.roots([1.0 / 3.0, 0.0, 1.0, -target]) if abs(r.imag) < 1e-12)
    expected = 1.0 if options is IMPLICIT else 2.0
    assert order(NonsmoothSystem([flow]), exact, 1.0, 0.1, **options) == pytest.approx(expected, abs=0.1)


def switching() -> tuple[NonsmoothSystem, np.ndarray]:
    """LC with a diode and a resistor beside it: v̇ = -i + lam, i̇ = v, lam = max(-v, 0) / R (R = 2)."""
    R, x0, until = 2.0, [1.0, 0.0], 10.0
    circuit = FirstOrderLinear("lc", A=[[0.0, -1.0], [1.0, 0.0]], x0=x0)
    system = one_diode(circuit, FirstOrderLinearRelation(C=[[1.0, 0.0]], D=[[R]], B=[[1.0], [0.0]]))
    modes = {
        "off": Mode([[0.0, -1.0], [1.0, 0.0]], (([1.0, 0.0], "on"),)),
        "on": Mode([[-1.0 / R, -1.0], [1.0, 0.0]], (([-1.0, 0.0], "off"),)),
    }
    states, _, switches = piecewise(modes, "off", x0, np.linspace(0.0, until, 101))
    assert len(switches) == 3
    # a quarter period off, half a damped period on, half a period off
    damped = np.pi / np.sqrt(1.0 - 1.0 / (2.0 * R) ** 2)
    np.testing.assert_allclose(np.diff([t for t, _ in switches]), [damped, np.pi], rtol=1e-12)
    assert switches[0][0] == pytest.approx(np.pi / 2.0, abs=1e-12)
    return system, states[-1]


@pytest.mark.parametrize("options", SECOND, ids=NAMES)
def test_second_order_through_the_switches_of_a_diode_with_a_resistor(options) -> None:
    """The input is Lipschitz (relative degree 0), so the switches cost no order."""
    system, exact = switching()
    assert order(system, exact, 10.0, 0.05, **options) == pytest.approx(2.0, abs=0.15)


def test_first_order_of_the_implicit_scheme_through_switches() -> None:
    system, exact = switching()
    assert order(system, exact, 10.0, 0.0125, **IMPLICIT) == pytest.approx(1.0, abs=0.15)


def test_first_order_where_the_multiplier_jumps() -> None:
    """ẋ = cos t - 2 sgn(x): lam jumps when x arrives at 0 (relative degree 1)."""
    plant = FirstOrder("plant", f=lambda t: [np.cos(t)], x0=1.0)
    relay = Interaction("relay", "plant", FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]]), Relay(2.0))
    system = NonsmoothSystem([plant], [relay])
    errors = []
    for h in (0.02, 0.005):
        run = steps(system, 2.0, h, **IMPLICIT)
        t, x = np.array([s.state.t for s in run]), np.array([s.state.q[0] for s in run])
        free = 1.0 + np.sin(t) - 2.0 * t
        arrival = np.flatnonzero(free < 0.0)[0]
        errors.append(np.abs(x - np.where(np.arange(t.size) < arrival, free, 0.0)).max())
        np.testing.assert_allclose(
            [s.r[0] for s in run[arrival + 2 :]], -np.cos(t[arrival + 2 :]), atol=2 * h
        )
    assert errors[1] < 0.3 * errors[0]


@pytest.mark.parametrize("options", [FULL, MIDPOINT], ids=["full", "midpoint"])
def test_the_relation_is_taken_at_k_plus_gamma(options) -> None:
    """Time in h and in g: y = x - sin t - lam = 0, r = e^-t lam. Taken at k + 1 the order would be one."""
    relation = FirstOrderType2(h=lambda t, x, lam: x - np.sin(t) - lam, g=lambda t, lam: -np.exp(-t) * lam)
    flow = FirstOrder("flow", f=[0.0], x0=1.0)
    system = NonsmoothSystem([flow], [Interaction("tie", "flow", relation, Equality())])
    # ẋ = -e^-t (x - sin t), by the integrating factor exp(1 - e^-t)
    until = 1.5
    factor = lambda t: np.exp(1.0 - np.exp(-t))  # noqa: E731
    forced = quad(lambda t: factor(t) * np.exp(-t) * np.sin(t), 0.0, until, epsabs=1e-14, epsrel=1e-14)[0]
    exact = (1.0 + forced) / factor(until)
    assert order(system, exact, until, 0.1, **options) == pytest.approx(2.0, abs=0.05)
    assert order(system, exact, until, 0.1, theta=0.5, gamma=1.0) == pytest.approx(1.0, abs=0.1)


def test_theta_and_gamma_of_one_half_hold_without_a_law_before_the_start() -> None:
    """The trapezoidal input needs r_0: taken from a step with gamma = 1, it costs no order."""
    circuit = FirstOrderLinear("rc", A=[[0.0]], b=lambda t: [np.cos(t)], x0=[0.0])
    system = one_diode(circuit, FirstOrderLinearRelation(C=[[1.0]], D=[[1.0]], B=[[1.0]], e=[-1.0]))
    # x < 1 throughout: lam = 1 - x, ẋ = cos t + 1 - x
    exact = 1.0 + 0.5 * (np.cos(0.5) + np.sin(0.5)) - 1.5 * np.exp(-0.5)
    assert last(system, 0.5, 1e-3, **TRAPEZOID)[0] == pytest.approx(exact, abs=1e-6)
    assert order(system, exact, 0.5, 0.05, **TRAPEZOID) == pytest.approx(2.0, abs=0.15)
