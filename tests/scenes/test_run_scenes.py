"""Scenes that run: every one of them shows its facts, by its own scheme and by the others it names."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.exhibits import Figure
from stickslip.scenes.scenario import Scenario
from stickslip.schemes import registry

MECHANICS = (
    "ball-chain", "bouncing-ball", "cam", "coulomb-oscillator", "incline-block", "moving-wall", "painleve",
    "slider-crank", "stick-slip", "woodpecker",
)  # fmt: skip

SHORT: dict[str, dict[str, Any]] = {
    "ball-chain": {"balls": 4},
    "bouncing-ball": {"e": 0.5, "h": 2e-3},
    "cam": {"until": 0.25},
    "coulomb-oscillator": {"h": 2e-3, "stretch": 0.09},
    "incline-block": {"h": 2e-3, "speed": 1.0},
    "moving-wall": {"until": 1.6, "h": 1e-3},
    "painleve": {"until": 0.02},
    "slider-crank": {"until": 0.01, "h": 2e-5},
    "stick-slip": {"cycles": 1, "h": 1e-3},
    "woodpecker": {"until": 0.25, "h": 2e-4},
}
"""Parameters that make a run take a second or so."""


def run(scenario: Scenario, scheme: str = "", **options: Any) -> ss.Trajectory:
    name = scheme or scenario.scheme
    chosen = registry.make(name, **(options or (scenario.options if name == scenario.scheme else {})))
    return ss.simulate(scenario.system, until=scenario.until, h=scenario.h, scheme=chosen)


def shows(scenario: Scenario, trajectory: ss.Trajectory) -> None:
    facts = scenario.facts(trajectory)
    assert facts
    for fact in facts:
        assert fact.ok, (
            f"{fact.claim}: {fact.measured:.9g}, expected {fact.expected:.9g} ± {fact.tolerance:.1e}"
        )


@pytest.mark.parametrize("name", MECHANICS)
def test_facts_by_its_own_scheme(name: str) -> None:
    scenario = scenes.make(name, **SHORT[name])
    trajectory = run(scenario)
    assert trajectory.missed == 0
    shows(scenario, trajectory)
    figure = scenario.figure(trajectory)
    assert isinstance(figure, Figure)
    for panel in figure.panels:
        assert panel.curves
        for curve in panel.curves:
            assert curve.x.shape == curve.y.shape


@pytest.mark.parametrize(
    "name", [n for n in MECHANICS if "event-driven" in scenes.make(n, **SHORT[n]).schemes]
)
def test_facts_event_driven(name: str) -> None:
    """Sampled coarsely: events are found between the records."""
    scenario = scenes.make(name, **SHORT[name])
    scenario = replace(scenario, h=4.0 * scenario.h)
    shows(scenario, run(scenario, "event-driven"))


def test_facts_of_the_ball_by_schatzman_paoli() -> None:
    scenario = scenes.make("bouncing-ball", **SHORT["bouncing-ball"])
    shows(scenario, run(scenario, "schatzman-paoli"))


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("ball-chain", {"gap": 0.0, "balls": 4}),
        ("ball-chain", {"e": 0.6, "balls": 4}),
        ("incline-block", {"mu": 0.6, "speed": 1.0}),
        ("painleve", {"mu": 0.5, "until": 0.02}),
        ("slider-crank", {"mu": 0.0, "until": 0.01, "h": 2e-5}),
        ("cam", {"until": 0.25, "rpm": 700.0, "form": "translated", "compiled": False}),
    ],
)
def test_facts_with_other_parameters(name: str, parameters: dict[str, Any]) -> None:
    scenario = scenes.make(name, **parameters)
    shows(scenario, run(scenario))


def test_the_paradox_is_not_hidden() -> None:
    """Where no acceleration is consistent, the event-driven scheme says so instead of going on."""
    scenario = scenes.make("painleve", until=1e-3)
    with pytest.raises((ss.SimulationFailure, ss.ModelError)):
        run(scenario, "event-driven")


def test_the_jam_of_the_rod_does_not_vanish_with_the_step() -> None:
    """An impact without a collision: its impulse tends to the closed form, not to zero, as h does."""
    exact = 0.75 * np.sin(np.pi / 3) * np.cos(np.pi / 3)
    errors = []
    for h in (1e-3, 1e-4):
        scenario = scenes.make("painleve", h=h, until=2.0 * h)
        errors.append(abs(float(run(scenario).interaction("ground").r[1, 0]) - exact))
    assert errors[1] < 0.2 * errors[0]


def test_names_and_parameters() -> None:
    assert set(MECHANICS) <= set(scenes.names("run"))
    with pytest.raises(KeyError, match="unknown scene 'dome'; known: arch, ball-chain"):
        scenes.make("dome")
    with pytest.raises(TypeError, match="scene bouncing-ball has no parameter 'tall'; it has: e, height"):
        scenes.make("bouncing-ball", tall=1.0)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("bouncing-ball", {"e": 1.0}, "e is 1.0; it must be finite and >= 0 and < 1"),
        ("ball-chain", {"balls": 1}, "balls is 1; it must be a whole number >= 2"),
        ("incline-block", {"angle": 0.0, "mu": 0.0}, "nothing stops the block"),
        ("stick-slip", {"mu_static": 0.1}, "mu_static is 0.1; it must be finite and > 0.2"),
        ("cam", {"form": "moving"}, "form is 'moving'; it must be one of: rheonomous, translated"),
        ("cam", {"radius": 0.05}, "radius is 0.05; it must be finite and > 0.1"),
        ("moving-wall", {"amplitude": 2.0}, "amplitude is 2.0"),
        ("painleve", {"angle": 90.0}, "angle is 90.0"),
        ("slider-crank", {"clearance": 0.0}, "clearance is 0.0"),
        ("woodpecker", {"mu": 0.0}, "mu is 0.0"),
    ],
)
def test_bad_parameters_are_named(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scenes.make(name, **parameters)


@pytest.mark.parametrize("e", [0.0, 0.3, 0.7])
def test_the_ball_on_springs(e: float) -> None:
    """The same model with the scheme changed: what springs and dampers give, in closed form."""
    scenario = scenes.make("bouncing-ball", e=e, h=2e-4)
    shows(scenario, run(scenario, "compliant"))
