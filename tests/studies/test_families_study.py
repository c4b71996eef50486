"""The three families: what a quick run must show, and that its tables and figures hold together."""

import math

import pytest

from stickslip.studies import families
from stickslip.studies.families_runs import FAMILIES


@pytest.fixture(scope="module")
def study():
    return families.run(quick=True)


def table(study, title):
    return next(each for each in study.tables if each.title.startswith(title))


def column(found, name):
    return found.headings.index(name)


def test_every_family_came_to_its_end(study) -> None:
    assert study.data["ended early"] == []
    for title in (
        "Cost against the number of contacts: balls beside",
        "Cost against the number of contacts: balls in",
    ):
        found = table(study, title)
        assert {row[1] for row in found.rows} == set(FAMILIES)
        assert {row[-1] for row in found.rows} == {"yes"}


def test_only_the_smooth_family_sinks_in_and_creeps_at_rest(study) -> None:
    found = table(study, "The ball")
    rows = {row[0]: row for row in found.rows if not row[2].startswith("LCP")}
    creep, deep = column(found, "block: creep [m/s]"), column(found, "block: penetration [m]")
    for name in FAMILIES:
        at_rest = abs(rows[name][creep]) < 1e-12 and rows[name][deep] < 1e-12
        assert at_rest == (name != "compliant")


def test_errors_are_of_their_size(study) -> None:
    found = table(study, "The ball")
    rows = {row[0]: row for row in found.rows if not row[2].startswith("LCP")}
    error, rise = column(found, "ball: error of q [m]"), column(found, "ball: largest rise of energy [J]")
    assert rows["event-driven"][error] < 1e-9
    for name in ("moreau-jean", "schatzman-paoli", "compliant"):
        assert rows[name][error] < 2e-2
    for name in ("moreau-jean", "event-driven", "compliant"):
        assert rows[name][rise] < 1e-9


def test_events_count_impacts_and_springs_cost_substeps(study) -> None:
    found = table(study, "Cost against the number of contacts: balls beside")
    events, newton = column(found, "events"), column(found, "Newton iterations")
    for row in found.rows:
        if row[1] == "event-driven":
            assert row[events] >= row[0]
        if row[1] == "compliant":
            assert row[newton] > row[column(found, "steps")]
        assert math.isfinite(row[column(found, "time / moreau-jean")])


def test_simultaneous_impacts(study) -> None:
    """Rigid laws share the impulse, springs hand it on; apart they all do what a cradle does."""
    found = table(study, "Simultaneous")
    for row in found.rows:
        model, name, after = row[0], row[1], row[2]
        if model.startswith("cradle"):
            v = [float(x) for x in after.split(",")]
            assert row[3] == pytest.approx(1.0, abs=1e-9)
            assert row[4] == pytest.approx(0.5, abs=1e-6)
            if model == "cradle, 1 cm apart":
                assert v == pytest.approx([0.0, 0.0, 1.0], abs=2e-3)
            elif name == "compliant":
                assert v[2] > 0.95
            else:
                assert v == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-3)
        else:
            assert float(after) == pytest.approx(1.0 / 9.0, abs=0.06)


def test_families_tend_to_each_other(study) -> None:
    for found in study.tables:
        if found.title.startswith("Convergence of the ball"):
            for k, name in enumerate(found.headings[1:], 1):
                coarse, fine = found.rows[0][k], found.rows[-1][k]
                assert fine < max(0.6 * coarse, 1e-9), name
        elif found.title.startswith("Convergence of the block"):
            for k in range(1, len(found.headings)):
                assert found.rows[-1][k] < 1e-3


def test_figures(study) -> None:
    assert set(study.figures) == {"cost", "convergence"}
    assert [panel.x_label for panel in study.figures["convergence"].panels] == [
        "h [s]", "stiffness [N/m]", "h [s]", "stiffness [N/m]",
    ]  # fmt: skip


def test_pyramids_stop_the_puck_where_their_closed_form_says(study) -> None:
    found = table(study, "The cone and its pyramids")
    name, error, verdict = (column(found, each) for each in ("friction", "error of place [m]", "verdict"))
    assert [row[name] for row in found.rows] == ["cone", *(f"LCP, {m} facets" for m in (3, 4, 5))]
    assert [row[verdict] for row in found.rows] == ["certified", *["relaxed"] * 3]
    assert all(row[error] < 2e-5 for row in found.rows)


def test_the_closed_form_of_pyramids_is_the_cone_at_corners_and_in_the_limit() -> None:
    coulomb = math.dist(families.puck_place(0.4, 0), (0.0, 0.0))
    assert math.dist(families.puck_place(0.0, 4), (coulomb, 0.0)) < 1e-12
    assert math.dist(families.puck_place(math.pi / 4, 4), (0.0, 0.0)) == pytest.approx(coulomb * 2**0.5)
    assert math.dist(families.puck_place(0.4, 1000), families.puck_place(0.4, 0)) < 1e-3 * coulomb


def test_time_stepping_by_lcp_is_a_row_of_the_comparison(study) -> None:
    """Where the pyramid is the cone the row is that of Moreau-Jean; on a plane it is a closed form."""
    found = table(study, "The ball")
    rows = {row[column(found, "friction")]: row for row in found.rows if row[0] == "moreau-jean"}
    cone, verdict = rows["cone"], column(found, "verdict")
    assert cone[verdict] == "certified"
    for m in families.LCP:
        row = rows[f"LCP, {m} facets"]
        assert row[verdict] == "relaxed"
        for heading in found.headings:
            if heading.startswith(("ball", "block")):
                assert row[column(found, heading)] == pytest.approx(cone[column(found, heading)], abs=1e-8)
        place, exact = families.puck_place(families.AIM, m), families.puck_place(families.AIM, 0)
        ratio = math.hypot(*place) / families.PUCK_WAY
        assert row[column(found, "puck: way / Coulomb's")] == pytest.approx(ratio, abs=2e-4)
        assert row[column(found, "puck: error of place [m]")] == pytest.approx(
            math.dist(place, exact), abs=2e-5
        )
    assert {m % 2 for m in families.LCP} == {0, 1}
