"""The tilt study: limit analysis against closed forms, and runs against limit analysis."""

import math

import pytest

from stickslip.studies import tilt
from stickslip.studies.tilt import Plan, bracket, can_stand, let_go
from stickslip.studies.tilt_models import (
    arch_blocks,
    greatest_tilt,
    semicircle,
    stands,
    thinnest_arch,
    tower,
    tower_blocks,
    wall_blocks,
)


def test_limit_analysis_of_boxes_and_towers() -> None:
    """A box slides at atan(mu) or tips over at atan(width / height)."""
    for width, height, mu in ((1.0, 1.0, 0.5), (1.0, 3.0, 0.5), (2.0, 1.0, 1.5)):
        known = math.atan(min(mu, width / height))
        assert greatest_tilt(tower_blocks([(width, height)]), mu) == pytest.approx(known, abs=1e-10)
    assert greatest_tilt(tower_blocks([(1.0, 1.0)] * 5), 0.5) == pytest.approx(math.atan(0.2), abs=1e-10)
    assert greatest_tilt(wall_blocks(1, 3, (2.0, 1.0)), 0.4) == pytest.approx(math.atan(0.4), abs=1e-10)


def test_limit_analysis_of_arches() -> None:
    """Many stones need Milankovitch's thickness, fewer need less; without friction none stands."""
    thin = [thinnest_arch(n, 1.0, 1e-5) for n in (7, 31)]
    assert thin[0] < thin[1] < tilt.MILANKOVITCH
    assert thin[1] == pytest.approx(tilt.MILANKOVITCH, abs=5e-4)
    assert not stands(arch_blocks(7, 0.3), 0.05)
    assert math.isnan(greatest_tilt(arch_blocks(31, 0.1), 1.0))


def test_bracket() -> None:
    low, high = bracket(lambda angle: angle > 20.0, 0.0, 60.0, 1e-3)
    assert low <= 20.0 <= high <= low + 1e-3
    assert math.isnan(bracket(lambda angle: True, 0.0, 60.0, 1e-3)[0])


@pytest.mark.parametrize(
    "structure",
    [tower("cube", [(1.0, 1.0)], 0.5), tower("tower", [(1.0, 1.0)] * 3, 0.5), semicircle(5, 0.2, 0.7)],
)
def test_runs_fall_where_limit_analysis_says(structure: tilt.Structure) -> None:
    plan = Plan(width=0.05)
    found = can_stand(structure, plan)
    assert found.missed == 0
    assert found.low - 0.01 <= structure.limit <= found.high + 0.01
    if structure.closed_form is not None:
        assert structure.limit == pytest.approx(structure.closed_form, abs=1e-6)
        free = let_go(structure, plan)
        assert free.low - 0.01 <= structure.limit <= free.high + 0.01
