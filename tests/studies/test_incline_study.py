"""The box on a slope: closed forms, the printed tables, and what the study says of what it did not run."""

import math

import pytest

from stickslip.exhibits import shown
from stickslip.solvers import registry
from stickslip.studies import incline

CASE = {case.name: case for case in incline.CASES}


@pytest.fixture(scope="module")
def study():
    return incline.run(quick=True)


def table(study, title):
    return next(each for each in study.tables if each.title.startswith(title))


def test_the_closed_forms_are_the_numbers_everybody_quotes():
    assert CASE["flat"].exact == (9.81, 0.0)
    assert CASE["sticking"].exact == pytest.approx((8.890879391, 4.145885148), abs=5e-10)
    assert CASE["sticking"].relaxed == CASE["sticking"].exact, "nothing slides, nothing differs"
    assert CASE["sliding"].exact == pytest.approx((8.8909, 0.3 * 8.8909), abs=5e-5)
    assert CASE["sliding"].relaxed == pytest.approx((9.2978, 0.3 * 9.2978), abs=5e-5)


@pytest.mark.parametrize("name", ["flat", "sticking", "sliding"])
def test_every_solver_of_ours_gives_them_to_nine_digits(name):
    case = CASE[name]
    laws = {model.name: model.law for model in incline.MODELS}
    own = [row for row in incline.rows() if not registry.entry(row.solver).package]
    assert {row.name for row in own} >= {"auto", "nsgs", "prox", "ipm", "ipm nt-f", "mcp", "lemke", "apgd"}
    for row in own:
        for model in row.calls:
            found = incline.find(case.problem, incline.H, row, model)
            exact = case.relaxed if laws[model] == "relaxed" else case.exact
            assert (found.normal, found.tangential) == pytest.approx(exact, abs=1e-9), (row.name, model)
            slides = name == "sliding" and laws[model] == "relaxed"
            assert found.status == ("RELAXED" if slides else "SOLVED"), (row.name, model)
            assert (found.relaxed if laws[model] == "relaxed" else found.exact) <= 1e-12


def test_the_printed_tables_are_those_of_the_seed():
    flat, slope = incline.PRINTED["flat"], incline.PRINTED["sticking"]
    assert len(flat["normal"]) == 10
    for printed in (flat, slope):
        for solver, values in printed["normal"].items():
            assert [v is None for v in values] == [v is None for v in printed["tangential"][solver]]
    normal, tangential = CASE["sticking"].exact
    assert slope["normal"]["conopt"][0] == pytest.approx(normal, abs=4e-6)
    assert slope["tangential"]["miles"][4] == pytest.approx(tangential, abs=4e-6)
    assert flat["normal"]["lindo"][0] == pytest.approx(4 * 9.81, abs=1e-2), "four times"


def test_tables_stand_beside_the_printed_ones(study):
    normal = table(study, "Normal force [N], sticking")
    rows = {row[0]: row for row in normal.rows}
    column = normal.headings.index("dual qcp")
    assert rows["apgd"][column] == pytest.approx(rows["closed form"][column], abs=1e-9)
    assert rows["printed: conopt"][column] == 8.890880015
    assert rows["printed: pathnlp"][column] is None
    assert "not run" in normal.text()[-1], "what the post prints as 0 was not run"
    assert not any(row[0].startswith("printed") for row in table(study, "Normal force [N], sliding").rows)


def test_the_support_matrix_and_every_cell(study):
    support = table(study, "Support")
    clarabel = next(row for row in support.rows if row[0] == "clarabel")
    assert clarabel[support.headings.index("primal qcp")] == "yes"
    assert clarabel[support.headings.index("EOM")] == "–"
    every = table(study, "Every cell")
    assert all(row[-1] in ("SOLVED", "RELAXED") for row in every.rows)
    times = [row[every.headings.index("time [ms]")] for row in every.rows]
    assert all(t > 0.0 for t in times)


def test_what_cannot_be_run_says_so(monkeypatch):
    find = registry.find_spec
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == "scs" else find(name))
    row = next(row for row in incline.rows() if row.name == "scs")
    found = incline.find(CASE["flat"].problem, incline.H, row, "dual qcp")
    assert not found.ran
    assert found.status == 'not installed: pip install "stickslip[scs]"'
    assert shown(None) == "not run"


def test_the_figure_shows_where_the_laws_part(study):
    force, opening = study.figures["laws"].panels
    exact, relaxed = force.curves
    slides = exact.x > math.degrees(math.atan(0.3)) + 1.0
    assert exact.y[~slides] == pytest.approx(relaxed.y[~slides], abs=1e-6)
    assert (relaxed.y[slides] > exact.y[slides]).all()
    assert (opening.curves[1].y[slides] > 0.0).all()
