"""The study of the cam follower, its quick part."""

import numpy as np
import pytest

from stickslip import studies
from stickslip.studies import cam as cam_runs
from stickslip.studies.study import Study


@pytest.fixture(scope="module")
def told() -> list[tuple[str, int, int]]:
    return []


@pytest.fixture(scope="module")
def study(told: list[tuple[str, int, int]]) -> Study:
    return studies.load("cam").run(quick=True, progress=lambda *words: told.append(words))


def test_tables_and_figures(study: Study, told: list[tuple[str, int, int]]) -> None:
    assert list(study.figures) == ["series", "states", "attractors", "bifurcations"]
    assert [len(f.panels) for f in study.figures.values()] == [3, 4, 4, 2]
    assert told[-1][1] == told[-1][2]
    assert [done for _, done, _ in told] == list(range(len(told)))


def test_schemes_agree_with_the_exact_flow(study: Study) -> None:
    agreement = study.tables[0]
    for rpm, impacts, stepped, driven, *_ in agreement.rows:
        assert rpm in cam_runs.SPEEDS
        assert impacts >= 5
        assert stepped < 20.0 * cam_runs.QUICK.h
        assert driven < 1e-8


def test_forms_agree(study: Study) -> None:
    (_, _, stepped), (_, _, driven) = study.tables[1].rows
    assert stepped < 1e-3
    assert driven < 1e-7


def test_diagram_has_every_speed(study: Study) -> None:
    assert [row[0] for row in study.data["diagram"]] == list(cam_runs.QUICK.sweep)
    assert all(np.isfinite(row[1]).all() for row in study.data["diagram"])
