"""Circuits with diodes against closed forms; stored energy never grows in a passive circuit."""

import numpy as np
import pytest
from first_order_runs import FULL, IMPLICIT, MIDPOINT, TRAPEZOID, steps

import stickslip as ss
from stickslip import scenes
from stickslip.scenes.circuits import Mode, piecewise
from stickslip.schemes import registry

CIRCUITS = ["diode-bridge", "bridge-filter", "rlc-diode"]


def run(scenario, h: float | None = None, until: float | None = None, **options):
    scheme = registry.make(scenario.scheme, **(scenario.options | options))
    return ss.simulate(scenario.system, until=until or scenario.until, h=h or scenario.h, scheme=scheme)


@pytest.mark.parametrize("name", CIRCUITS)
def test_facts_and_figure(name: str) -> None:
    scenario = scenes.make(name)
    trajectory = run(scenario)
    facts = scenario.facts(trajectory)
    assert facts
    for fact in facts:
        assert fact.ok, fact
    figure = scenario.figure(trajectory)
    for panel in figure.panels:
        for curve in panel.curves:
            assert curve.x.shape == curve.y.shape
            assert np.isfinite(curve.y).all()
    assert (trajectory.newton[1:] == 1).all()


def test_facts_see_a_wrong_circuit() -> None:
    """The load's resistance of the run is not that of the closed form."""
    scenario = scenes.make("diode-bridge", until=2e-4)
    other = run(scenes.make("diode-bridge", R=900.0, until=2e-4))
    assert not all(fact.ok for fact in scenario.facts(other))


def test_piecewise_is_the_damped_oscillation() -> None:
    """v'' + 2 a v' + w² v = 0 in closed form, through a switch between two modes that are one."""
    a, w = 0.3, 2.0
    A = [[-2.0 * a, -w], [w, 0.0]]
    modes = {"p": Mode(A, (([1.0, 0.0], "n"),)), "n": Mode(A, (([-1.0, 0.0], "p"),))}
    t = np.linspace(0.0, 6.0, 61)
    x, names, switches = piecewise(modes, "p", [1.0, 0.0], t)
    d = np.sqrt(w**2 - a**2)
    v = np.exp(-a * t) * (np.cos(d * t) - a / d * np.sin(d * t))
    np.testing.assert_allclose(x[:, 0], v, atol=1e-13)
    first = (np.pi / 2.0 - np.arctan(a / d)) / d
    expected = first + np.pi / d * np.arange(len(switches))
    np.testing.assert_allclose([s for s, _ in switches], expected, atol=1e-13)
    assert names[-1] == switches[-1][1]
    with pytest.raises(ValueError, match="switches between"):
        piecewise({"p": Mode([[0.0]], (([-1.0], "p"),))}, "p", [1.0], t)


def test_the_bridge_is_a_damped_oscillator_that_rectifies() -> None:
    """C v̇ = -i - v/R, L i̇ = v: v = v0 e^-at (cos wt - a/w sin wt), and |v| at the load."""
    L, C, R = 1e-2, 1e-6, 1e3
    errors = []
    for h in (4e-6, 2e-6):
        trajectory = run(scenes.make("diode-bridge"), h=h, until=6e-4, **TRAPEZOID)
        t, x = trajectory.t, trajectory.system("oscillator").x
        a = 1.0 / (2.0 * R * C)
        w = np.sqrt(1.0 / (L * C) - a**2)
        v = 10.0 * np.exp(-a * t) * (np.cos(w * t) - a / w * np.sin(w * t))
        lam = trajectory.interaction("bridge").r[1:]
        np.testing.assert_allclose(lam[:, 0] + lam[:, 1], np.abs(x[1:, 0]), atol=1e-9)
        # diodes carry |v| / R in pairs, and block in pairs
        np.testing.assert_allclose(lam[:, 2] + lam[:, 3], np.abs(x[1:, 0]) / R, atol=1e-12)
        np.testing.assert_allclose(lam[:, 2] * lam[:, 3], 0.0, atol=1e-12)
        errors.append(np.abs(x[:, 0] - v).max())
    assert errors[1] == pytest.approx(errors[0] / 4.0, rel=0.05)


def test_all_in_series_rings_once_and_keeps_its_charge() -> None:
    """(c): after half a damped period the diode blocks; the current is zero from then on."""
    L, C, R = 1e-2, 1e-6, 20.0
    trajectory = run(scenes.make("rlc-diode"), h=2e-6, until=6e-4)
    t, x = trajectory.t, trajectory.system("c").x
    a = R / (2.0 * L)
    w = np.sqrt(1.0 / (L * C) - a**2)
    blocked = t > np.pi / w + 4e-6
    v = 10.0 * np.exp(-a * t) * (np.cos(w * t) + a / w * np.sin(w * t))
    np.testing.assert_allclose(x[~blocked, 0], v[~blocked], atol=4e-3)
    np.testing.assert_allclose(x[blocked, 0], -10.0 * np.exp(-a * np.pi / w), atol=4e-3)
    np.testing.assert_allclose(x[blocked, 1], 0.0, atol=1e-15)
    # the diode takes the capacitor's voltage
    np.testing.assert_allclose(trajectory.interaction("diode c").r[blocked, 0], -x[blocked, 0], rtol=1e-9)


STORED = {
    "diode-bridge": [1e-6, 1e-2],
    "bridge-filter": [1e-6, 1e-2, 3e-7],
    "rlc-diode": [1e-6, 1e-2] * 4,
}
"""Capacitances and inductances of the states."""


@pytest.mark.parametrize("name", CIRCUITS)
@pytest.mark.parametrize("options", [
    FULL, MIDPOINT, IMPLICIT, {"theta": 0.7, "gamma": 0.7, "relation": "gamma"},
], ids=str)  # fmt: skip
def test_stored_energy_never_grows(name: str, options: dict) -> None:
    """C v²/2 + L i²/2 of passive circuits. With the law at k + gamma and gamma = theta >= 1/2 this is exact,
    whatever h: the power y·lam of the diodes vanishes where the energy balance takes it."""
    h = 1e-5
    for energy in stored(name, 1e-3, h, **options).T:
        assert np.diff(energy).max() <= 1e-14 * energy[0]
        assert energy[-1] < energy[0]


def stored(name: str, until: float, h: float, **options) -> np.ndarray:
    """Energy of each circuit of a scene at every step [J], shape (n, circuits)."""
    system = scenes.make(name).system
    x = np.array([system.q0, *(s.state.q for s in steps(system, until, h, **options))])
    each = 0.5 * x**2 * STORED[name]
    return each.reshape(len(x), -1, 2).sum(axis=2) if name == "rlc-diode" else each.sum(axis=1)[:, None]


def test_where_energy_may_grow_and_where_the_law_holds_in_the_mean_only() -> None:
    """What docs/circuits.md warns of: theta = 1/2 with gamma = 1, and gamma = 1/2 where D = 0."""
    energy = stored("diode-bridge", 1e-3, 1e-5, theta=0.5, gamma=1.0)[:, 0]
    assert 6e-6 < np.diff(energy).max() / energy[0] < 7e-6
    run = steps(scenes.make("rlc-diode").system, 6e-4, 4e-6, **FULL)
    current = np.array([s.state.q[5] for s in run[-10:]])
    np.testing.assert_allclose(current[1:], -current[:-1], rtol=1e-6)
    assert 1e-5 < abs(current[0]) < 1e-3


def test_a_run_goes_on_from_a_checkpoint_bit_for_bit() -> None:
    system = scenes.make("diode-bridge").system
    scheme = registry.make("euler-moreau", **TRAPEZOID)
    whole = ss.simulate(system, until=1e-4, h=2e-6, scheme=scheme)
    half = ss.simulate(system, until=5e-5, h=2e-6, scheme=scheme)
    rest = ss.simulate(system, until=1e-4, start=half.checkpoint(-1))
    np.testing.assert_array_equal(whole.q[-1], rest.q[-1])
    np.testing.assert_array_equal(whole.r[-1], rest.r[-1])


@pytest.mark.parametrize(("name", "wrong"), [
    ("diode-bridge", {"L": 0.0}), ("bridge-filter", {"C_filter": -1.0}), ("rlc-diode", {"R": float("nan")}),
    ("relay", {"drift": 1.0}), ("sliding-mode", {"push": 3.0}), ("filippov", {"x1": 0.0, "x2": 0.0}),
])  # fmt: skip
def test_parameters_are_checked(name: str, wrong: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong))):
        scenes.make(name, **wrong)
