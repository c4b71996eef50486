"""Rolling and torsional friction of scenes, and pushes that make piles slide: what they do is known."""

import numpy as np
import pytest
from scipy.optimize import nnls

import stickslip as ss
from stickslip import scenes
from stickslip.problem.residuals import judge
from stickslip.scenes.rigid import wall
from stickslip.scenes.scenario import GRAVITY

SCENES = (
    "arch", "capsules", "grain-chute", "heavy-on-light", "kapla", "masonry-wall", "ring-chain", "soup",
    "sphere-pile", "stack",
)  # fmt: skip


def world(name: str, **given: float) -> ss.World:
    system = scenes.make(name, **given).system
    assert isinstance(system, ss.World)
    return system


@pytest.mark.parametrize("name", SCENES)
def test_friction_reaches_every_pair_of_materials_and_is_none_unless_asked_for(name: str) -> None:
    plain, rough = world(name), world(name, mu=0.25, mu_roll=0.02, mu_spin=0.03)
    used = np.unique(rough.shapes.material)
    pairs = np.ix_(used, used)
    assert not plain.materials.mu_roll[pairs].any()
    assert not plain.materials.mu_spin[pairs].any()
    assert np.all(rough.materials.mu[pairs] == 0.25)
    assert np.all(rough.materials.mu_roll[pairs] == 0.02)
    assert np.all(rough.materials.mu_spin[pairs] == 0.03)
    assert np.array_equal(plain.start.q, rough.start.q)


@pytest.mark.parametrize("key", ["mu_roll", "mu_spin"])
@pytest.mark.parametrize("name", SCENES)
def test_negative_friction_is_refused_by_name(name: str, key: str) -> None:
    with pytest.raises(ValueError, match=f"{key} is -1.0"):
        scenes.make(name, **{key: -1.0})


def test_a_pushed_box_slides_to_rest_as_friction_says() -> None:
    """v = push - mu g t on the way, and push² / (2 mu g) in all, to a step."""
    push, mu, h = 1.0, 0.4, 2e-3
    scenario = scenes.make("stack", bodies=1, push=push, mu=mu, h=h, until=0.3)
    trajectory = ss.simulate(scenario.system, until=0.3, h=h)
    x, v = trajectory.body("box 1").position[:, 0], trajectory.body("box 1").velocity[:, 0]
    known = np.maximum(push - mu * GRAVITY * trajectory.t, 0.0)
    assert np.abs(v - known).max() < 1e-6
    assert x[-1] == pytest.approx(push**2 / (2.0 * mu * GRAVITY), abs=mu * GRAVITY * h**2)
    assert all(fact.ok for fact in scenario.facts(trajectory))


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("stack", {"bodies": 3, "push": 2.0, "mu_roll": 0.05}),
        ("heavy-on-light", {"push": 1.0}),
        ("kapla", {"courses": 2, "push": 0.3}),
        ("ring-chain", {"bodies": 2, "push": 0.5}),
    ],
)
def test_facts_of_what_was_pushed(name: str, given: dict[str, float]) -> None:
    scenario = scenes.make(name, **given, until=0.05)
    trajectory = ss.simulate(scenario.system, until=scenario.until, h=scenario.h)
    v = trajectory.v[0].reshape(-1, 6)
    assert v[:, 0].max() == given["push"]
    facts = scenario.facts(trajectory)
    assert len(facts) >= 4
    assert [fact.claim for fact in facts if not fact.ok] == []


def test_a_wall_with_rolling_friction_stands_by_normal_impulses_alone() -> None:
    """Rest needs no moment, so that of the plain wall solves it too."""
    plain, rolling = wall(rows=3, columns=3), wall(rows=3, columns=3, mu_roll=0.01)
    normal = plain.H_sparse()[:, ::3].toarray()
    scale = np.abs(plain.f).max()
    found, miss = nnls(normal, -plain.f / scale)
    assert miss < 1e-12
    r = np.zeros((rolling.contacts, 5))
    r[:, 0] = scale * found
    assert judge(rolling, r).solved(1e-13)
    with pytest.raises(ValueError, match="mu_roll is -1"):
        wall(mu_roll=-1.0)
