"""Scenes of joints and of spinning bodies: each shows its facts, and the facts can fail."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.exhibits import Figure
from stickslip.scenes import chains
from stickslip.scenes.scenario import Scenario

SHORT: dict[str, dict[str, Any]] = {
    "chain": {"bodies": 4, "h": 4e-3},
    "crank-stops": {"h": 5e-4, "friction": 0.3},
    "dzhanibekov": {"flips": 2, "h": 4e-3},
    "four-bar": {"h": 2e-3, "until": 0.8},
    "ring-chain": {"bodies": 2, "until": 0.05},
}


def run(scenario: Scenario) -> ss.Trajectory:
    trajectory = ss.simulate(scenario.system, until=scenario.until, h=scenario.h)
    assert isinstance(trajectory, ss.Trajectory)
    return trajectory


def failing(scenario: Scenario, trajectory: ss.Trajectory) -> list[str]:
    return [fact.claim for fact in scenario.facts(trajectory) if not fact.ok]


@pytest.mark.parametrize("name", SHORT)
def test_facts_and_figure(name: str) -> None:
    scenario = scenes.make(name, **SHORT[name])
    trajectory = run(scenario)
    assert trajectory.missed == 0
    for fact in scenario.facts(trajectory):
        assert fact.ok, f"{fact.claim}: {fact.measured:.9g} for {fact.expected:.9g} ± {fact.tolerance:.1e}"
    figure = scenario.figure(trajectory)
    assert isinstance(figure, Figure)
    for panel in figure.panels:
        assert panel.curves
        assert all(curve.x.shape == curve.y.shape and curve.x.size for curve in panel.curves)


def test_a_tippe_top_rises_on_a_rough_floor_only() -> None:
    """The same top leans more and more where there is friction, and keeps its lean where there is none."""
    lean = []
    for mu in (0.3, 0.0):
        scenario = scenes.make("tippe-top", mu=mu, tilt=0.5, rate=150.0, until=0.15, h=2e-4)
        trajectory = run(scenario)
        claims = failing(scenario, trajectory)
        assert not [claim for claim in claims if "Jellett's integral [" in claim or "balance" in claim]
        assert [claim for claim in claims if "upside down" in claim]  # it has not come to that
        p = trajectory.q[:, 10:14]
        lean.append(np.arccos(1.0 - 2.0 * (p[:, 1] ** 2 + p[:, 2] ** 2)))
    assert lean[0][-1] > 0.5 + 3.0 * np.abs(lean[1] - 0.5).max()


def test_hinges_and_balls_swing_alike() -> None:
    ends = [run(scenes.make("chain", bodies=3, kind=kind, h=5e-3, until=0.5)).q[-1] for kind in chains.KINDS]
    np.testing.assert_allclose(ends[0], ends[1], atol=1e-8)


def test_the_slowest_mode_goes_to_bessels() -> None:
    """ω √(L / g) of n rods goes to half the first root of J0, from above, as 1 / n."""
    for n in (10, 100):
        scenario = scenes.make("chain", bodies=n)
        omega = 4.0 * np.pi / scenario.until
        ratio = omega / (0.5 * 2.404825557695773 * np.sqrt(9.81))
        assert abs(ratio - 1.0) < 1.0 / n


def test_facts_can_fail() -> None:
    """A run of other numbers is not taken for one of these."""
    scenario = scenes.make("dzhanibekov", flips=1, h=4e-3)
    slower = scenes.make("dzhanibekov", flips=1, h=4e-3, rate=9.0)
    assert failing(scenario, run(slower))
    hard = scenes.make("crank-stops", **SHORT["crank-stops"])
    soft = scenes.make("crank-stops", **{**SHORT["crank-stops"], "e": 0.6})
    assert any("closed form" in claim for claim in failing(hard, run(replace(soft, until=0.3))))


@pytest.mark.parametrize(
    ("name", "parameters", "word"),
    [
        ("chain", {"kind": "rope"}, "kind is 'rope'"),
        ("chain", {"swing": 0.5}, "swing"),
        ("chain", {"bodies": 0}, "bodies"),
        ("ring-chain", {"mu": -1.0}, "mu"),
        ("dzhanibekov", {"size": (0.1, 0.1, 0.2)}, "no intermediate axis"),
        ("dzhanibekov", {"nudge": 0.0}, "nudge"),
        ("tippe-top", {"offset": 1.0}, "offset"),
        ("four-bar", {"crank": 0.4}, "Grashof"),
        ("crank-stops", {"stroke": 0.4}, "stroke"),
        ("crank-stops", {"e": 1.5}, "e is 1.5"),
    ],
)
def test_parameters_are_refused_by_name(name: str, parameters: dict[str, Any], word: str) -> None:
    with pytest.raises(ValueError, match=word):
        scenes.make(name, **parameters)
