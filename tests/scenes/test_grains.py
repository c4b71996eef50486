"""Grains, mixed shapes and rolling bodies: what is known of them holds, and would be missed if it did not."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.detection.overlaps import find_overlaps
from stickslip.exhibits import Figure
from stickslip.scenes.scenario import Scenario

SMALL: dict[str, dict[str, Any]] = {
    "sphere-pile": {"bodies": 10, "until": 0.5},
    "capsules": {"bodies": 6, "until": 0.4},
    "soup": {"bodies": 7, "until": 0.4},
    "grain-chute": {"bodies": 12, "until": 0.2, "h": 2e-3},
    "drum": {"bodies": 14, "until": 0.5, "walls": 16},
    "rolling-ball": {"h": 5e-3},
    "rockfall": {"bodies": 2, "until": 1.2, "h": 4e-3},
}
"""Parameters that make a run take a second or so."""
NAMES = sorted(SMALL)


def run(scenario: Scenario) -> ss.Trajectory:
    assert isinstance(scenario.system, ss.World)
    return ss.simulate(scenario.system, until=scenario.until, h=scenario.h)


def broken(scenario: Scenario, trajectory: ss.Trajectory) -> list[str]:
    facts = scenario.facts(trajectory)
    assert len(facts) >= 4
    return [
        f"{fact.claim}: {fact.measured:.9g}, expected {fact.expected:.9g} ± {fact.tolerance:.1e}"
        for fact in facts
        if not fact.ok
    ]


@pytest.mark.parametrize("name", NAMES)
def test_facts_and_figure(name: str) -> None:
    scenario = scenes.make(name, **SMALL[name])
    trajectory = run(scenario)
    assert trajectory.missed == 0
    assert broken(scenario, trajectory) == []
    figure = scenario.figure(trajectory)
    assert isinstance(figure, Figure)
    for panel in figure.panels:
        for curve in panel.curves:
            assert curve.x.shape == curve.y.shape
            assert curve.x.size


@pytest.mark.parametrize("name", NAMES)
def test_bodies_start_apart_and_the_seed_says_where(name: str) -> None:
    first, again = scenes.make(name, **SMALL[name]).system, scenes.make(name, **SMALL[name]).system
    assert isinstance(first, ss.World)
    assert isinstance(again, ss.World)
    assert find_overlaps(first, first.start) == ()
    assert np.array_equal(first.start.q, again.start.q)
    if "seed" in scenes.parameters(name):
        other = scenes.make(name, **SMALL[name], seed=1).system
        assert isinstance(other, ss.World)
        assert not np.array_equal(first.start.q, other.start.q)


@pytest.mark.parametrize(
    ("key", "claim"), [("mu", "rolls"), ("mu_roll", "rolling ball until"), ("mu_spin", "spinning ball stops")]
)
def test_facts_of_rolling_see_a_wrong_law(key: str, claim: str) -> None:
    """A run with a tenth more of one kind of friction is not what the closed forms of the scene say."""
    scenario = scenes.make("rolling-ball", **SMALL["rolling-ball"])
    value = scenes.parameters("rolling-ball")[key]
    wrong = scenes.make("rolling-ball", **SMALL["rolling-ball"], **{key: 1.1 * value})
    found = broken(scenario, run(replace(wrong, until=scenario.until)))
    assert any(claim in one for one in found)


def test_facts_of_piles_see_forces_that_are_not_there() -> None:
    """Without the forces of the floor momentum has no source, and without friction's bound it is broken."""
    scenario = scenes.make("sphere-pile", **SMALL["sphere-pile"])
    trajectory = run(scenario)
    fewer = replace(trajectory.contacts, r=0.9 * trajectory.contacts.r)
    assert any("momentum" in one for one in broken(scenario, trajectory.with_columns(raw_contacts=fewer)))
    law = trajectory.contacts.law.copy()
    law[:, 0] = 0.1
    slippery = trajectory.with_columns(raw_contacts=replace(trajectory.contacts, law=law))
    assert any("over mu" in one for one in broken(scenario, slippery))
    deep = trajectory.with_columns(
        penetration=trajectory.penetration + 0.01, balance=trajectory.balance + 1e-3
    )
    found = broken(scenario, deep)
    assert any("overlap" in one for one in found)
    assert any("balance" in one for one in found)


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("sphere-pile", {"bodies": 0}, "bodies is 0"),
        ("sphere-pile", {"spread": 1.0}, "spread is 1.0"),
        ("capsules", {"length": 0.0}, "length is 0.0"),
        ("soup", {"mu": -0.1}, "mu is -0.1"),
        ("soup", {"e": 1.5}, "e is 1.5"),
        ("grain-chute", {"angle": 90.0}, "angle is 90.0"),
        ("drum", {"filled": 0.9}, "filled is 0.9"),
        ("drum", {"walls": 3}, "walls is 3"),
        ("rolling-ball", {"mu_roll": 0.03}, "mu_roll is 0.03"),
        ("rockfall", {"slope": 80.0}, "slope is 80.0"),
        ("rockfall", {"seed": -1}, "seed is -1"),
    ],
)
def test_parameters_out_of_range_are_refused_by_name(name: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scenes.make(name, **given)
