"""The robot on four feet: what it shows with both schemes, and what it refuses."""

import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.exhibits import Figure


@pytest.mark.parametrize(
    ("gait", "scheme", "until"),
    [("stand", "variational", 0.05), ("hold", "variational", 0.05), ("trot", "variational", 0.2),
     ("stand", "moreau-jean-semi-explicit", 0.05)],
)  # fmt: skip
def test_facts_and_figure(gait, scheme, until):
    scene = scenes.make("quadruped", gait=gait, until=until)
    trajectory = ss.simulate(scene.system, until=scene.until, h=scene.h, scheme=scheme)
    assert trajectory.missed == 0
    for fact in scene.facts(trajectory):
        assert fact.ok, f"{fact.claim}: {fact.measured:.9g} for {fact.expected:.9g} ± {fact.tolerance:.1e}"
    assert isinstance(scene.figure(trajectory), Figure)
    assert trajectory.model.mass.size == 14


@pytest.mark.parametrize(
    ("given", "said"), [({"gait": "fly"}, "gait is 'fly'"), ({"mu": -1.0}, "mu"), ({"e": 2.0}, "e")]
)
def test_refusals(given, said):
    with pytest.raises(ValueError, match=said):
        scenes.make("quadruped", **given)
