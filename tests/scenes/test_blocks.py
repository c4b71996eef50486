"""Scenes of boxes and masonry: they stand, slide and fall as known, and their facts can fail."""

from typing import Any

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.exhibits import Figure
from stickslip.scenes.scenario import Fact, Scenario

SHORT: list[tuple[str, dict[str, Any]]] = [
    ("box-incline", {"mu": 0.5, "until": 0.2}),
    ("box-incline", {"mu": 0.4, "until": 0.2}),
    ("box-incline", {"angle": 0.0, "mu": 0.3, "launch": 0.5, "direction": 30.0, "until": 0.25}),
    ("box-incline", {"mu": 0.4, "launch": 1.0, "direction": 120.0, "until": 0.2}),
    ("stack", {"bodies": 4, "until": 0.2}),
    ("heavy-on-light", {"until": 0.2}),
    ("masonry-wall", {"courses": 3, "length": 2, "tilt": 10.0, "until": 0.1}),
    ("arch", {"bodies": 7, "tilt": 5.0, "until": 0.1}),
    ("kapla", {"courses": 4, "until": 0.1}),
    ("dominoes", {"bodies": 3, "h": 1e-3}),
]
"""Parameters with which a run takes a second or so."""


def run(scenario: Scenario) -> ss.Trajectory:
    found = ss.simulate(scenario.system, until=scenario.until, h=scenario.h, scheme=scenario.scheme)
    assert isinstance(found, ss.Trajectory)
    return found


def told(fact: Fact) -> str:
    return f"{fact.claim}: {fact.measured:.9g}, expected {fact.expected:.9g} ± {fact.tolerance:.1e}"


@pytest.mark.parametrize(("name", "parameters"), SHORT)
def test_facts_hold(name: str, parameters: dict[str, Any]) -> None:
    scenario = scenes.make(name, **parameters)
    trajectory = run(scenario)
    assert trajectory.missed == 0
    facts = scenario.facts(trajectory)
    assert facts
    for fact in facts:
        assert fact.ok, told(fact)
    figure = scenario.figure(trajectory)
    assert isinstance(figure, Figure)
    for panel in figure.panels:
        assert panel.curves
        for curve in panel.curves:
            assert curve.x.shape == curve.y.shape
            assert np.isfinite(curve.y).any()


def test_facts_fail_where_friction_is_not_what_they_say() -> None:
    """A box that slides is not one that stays, and an arch with smooth joints does not stand."""
    slides = run(scenes.make("box-incline", mu=0.4, until=0.05))
    assert not all(fact.ok for fact in scenes.make("box-incline", mu=0.5, until=0.05).facts(slides))
    smooth = scenes.make("arch", bodies=7, mu=0.1, until=0.05)
    assert not all(fact.ok for fact in smooth.facts(run(smooth)))


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("box-incline", {"angle": 70.0}, "angle is 70.0"),
        ("stack", {"bodies": 0}, "bodies is 0; it must be a whole number >= 1"),
        ("heavy-on-light", {"ratio": 0.5}, "ratio is 0.5"),
        ("masonry-wall", {"brick": (0.2, 0.1)}, "brick is"),
        ("masonry-wall", {"mu": 0.0}, "mu is 0.0"),
        ("arch", {"thickness": 1.0}, "thickness is 1.0"),
        ("arch", {"bodies": 2}, "bodies is 2"),
        ("kapla", {"courses": 0}, "courses is 0"),
        ("dominoes", {"spacing": 0.1}, "spacing is 0.1"),
        ("dominoes", {"push": 0.5}, "push is 0.5"),
    ],
)
def test_bad_parameters_are_named(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scenes.make(name, **parameters)
