"""The report of campaigns whose findings are known."""

import json
from functools import cache

import numpy as np
import pytest
from bench.campaigns import campaign, entry

from stickslip import exhibits
from stickslip.bench.analysis.costs import Grid
from stickslip.bench.records import Outcome
from stickslip.bench.reports.data import findings, runs_table
from stickslip.bench.reports.losses import claims, losses, unsolved_by_all
from stickslip.bench.reports.report import report
from stickslip.bench.results import Results
from stickslip.exhibits import Page, Section, Table

FALLING = [[k, 10.0**-k, 10.0**-k] for k in range(1, 9)]
SIZES = {f"pile/{n}": n for n in (10, 20, 40, 80)}
PROBLEMS = {"stack/a": 10, "stack/b": 40, "stack/c": 90} | SIZES


@cache
def known() -> Results:
    """Four solvers, seven problems, two tolerances.

    At 1e-8 auto fails on stack/a, which the peer solves, and nobody solves stack/c; on stack/b the peer is 8
    times faster than auto. nsgs says that it has solved stack/c and has not; mine refuses stacks, and was not
    run on pile/80 at 1e-8. On piles auto takes n^2 microseconds and is the fastest.
    """
    runs = {}
    for tolerance in (1e-4, 1e-8):
        for problem, n in SIZES.items():
            for factor, solver in ((1, "auto"), (2, "nsgs"), (3, "siconos-nsgs"), (4, "mine")):
                runs[problem, solver, tolerance] = {"seconds": factor * 1e-6 * n**2, "history": FALLING}
        runs |= {("stack/a", solver, tolerance): 1.0 for solver in ("auto", "nsgs", "siconos-nsgs")}
        runs |= {("stack/b", "auto", tolerance): 4.0, ("stack/b", "nsgs", tolerance): 5.0}
        runs |= {("stack/b", "siconos-nsgs", tolerance): 0.5}
        runs |= {("stack/c", "auto", tolerance): "timeout", ("stack/c", "siconos-nsgs", tolerance): "crashed"}
        runs["stack/c", "nsgs", tolerance] = {"outcome": Outcome.MISSED, "status": "SOLVED", "error": 3e-3}
        runs |= {(problem, "mine", tolerance): "refused" for problem in ("stack/a", "stack/b", "stack/c")}
    runs["stack/a", "auto", 1e-8] = runs["stack/a", "nsgs", 1e-8] = "missed"
    runs["pile/80", "mine", 1e-8] = None
    return campaign(PROBLEMS, runs, (1e-4, 1e-8))


@cache
def page() -> Page:
    return report(known())


def section(title: str, of: Page | None = None) -> Section:
    return next(s for s in (of or page()).sections if s.title == title)


def cells(table: Table, **where: object) -> list[dict[str, object]]:
    """Rows by heading, those that have these cells."""
    rows = [dict(zip(table.headings, row, strict=True)) for row in table.rows]
    return [row for row in rows if all(row[key] == value for key, value in where.items())]


def everything(of: Page) -> str:
    """All that a page holds, as text."""
    parts: list[str] = [of.title, *of.summary]
    for one in of.sections:
        parts += [one.title, *one.text, one.code, str(one.folded)]
        for table in one.tables:
            parts += [table.title, str(table.headings), *map(str, table.text()), table.note]
        for figure in one.figures:
            for panel in figure.panels:
                parts += [figure.title, panel.title, panel.x_label, panel.y_label]
                parts += [f"{c.name} {c.style} {c.x.tolist()} {c.y.tolist()}" for c in panel.curves]
    return "\n".join(parts)


def test_at_a_glance() -> None:
    loose, tight = section("At a glance").tables
    (auto,) = cells(tight, solver="auto")
    assert (auto["solved"], auto["of"], auto["timeout"], auto["missed"]) == (5, 7, 1, 1)
    assert auto["fastest"] == 3, "pile/80 is left out, since one solver was not run on it"
    (mine,) = cells(tight, solver="mine")
    assert (mine["solved"], mine["of"], mine["refused"], mine["not run"]) == (3, 6, 3, 1)
    assert mine["median ratio"] == pytest.approx(4.0)
    assert mine["share [%]"] == pytest.approx(50.0)
    (nsgs,) = cells(tight, solver="nsgs")
    assert (nsgs["missed"], nsgs["false claims"], nsgs["within 2x"]) == (2, 1, 3)
    (peer,) = cells(loose, solver="siconos-nsgs")
    assert (peer["solved"], peer["aborted"], peer["fastest"]) == (6, 1, 2)  # stack/a is shared by three
    assert [row[1] for row in tight.rows] == sorted((row[1] for row in tight.rows), reverse=True)
    assert "1 problem left out, since some run on it is missing (not failed)" in tight.note


def test_the_losses_are_there_and_in_the_summary() -> None:
    unsolved, slower = section("Losses of auto").tables
    worst = cells(slower)[0]
    assert (worst["problem"], worst["fastest"], worst["of Siconos"]) == ("stack/b", "siconos-nsgs", True)
    assert worst["ratio"] == pytest.approx(8.0)
    assert len(slower.rows) == 2
    first = cells(unsolved)[0]
    assert (first["problem"], first["tolerance"], first["fastest of them"]) == (
        "stack/a", 1e-8, "siconos-nsgs (Siconos)",
    )  # fmt: skip
    nobodys = cells(unsolved, problem="stack/c")
    assert [row["fastest of them"] for row in nobodys] == ["none", "none"]
    told = [sentence for sentence in page().summary if sentence.startswith("Losses: ")]
    assert len(told) == 2
    assert "at 1e-8 auto does not solve 2 of 7 problems, of which others solve 1" in told[1]
    assert "at worst 8 times (siconos-nsgs (Siconos) on stack/b)" in told[1]


def test_against_the_peers() -> None:
    (sentence,) = [
        text for text in section("Losses of auto").text if "Siconos on each" in text and "1e-8" in text
    ]
    assert "of 5 problems that both solve the peer is faster on 1, by more than 1.5 times on 1" in sentence
    assert "1 only the peer solves, 0 only auto" in sentence


def test_losses_are_not_hidden_by_runs_that_others_miss() -> None:
    made = campaign({"a/1": 3, "a/2": 3}, {("a/1", "auto"): 9.0, ("a/1", "one"): 1.0, ("a/2", "two"): 1.0})
    _, slower = losses(Grid(made), "auto", 1e-4)
    assert [(loss.entry.name, loss.winner, loss.ratio) for loss in slower] == [("a/1", "one", 9.0)]


def test_the_worst_loss_comes_first() -> None:
    problems = {f"a/{k}": 3 for k in range(3)}
    said = {(name, "auto"): t for name, t in zip(problems, (3.0, 9.0, 5.0), strict=True)}
    _, slower = losses(
        Grid(campaign(problems, said | {(name, "one"): 1.0 for name in problems})), "auto", 1e-4
    )
    assert [loss.ratio for loss in slower] == [9.0, 5.0, 3.0]


def test_a_little_slower_is_no_loss() -> None:
    made = campaign({"a/1": 3, "a/2": 3}, {("a/1", "auto"): 1.5, ("a/1", "one"): 1.0, ("a/2", "auto"): 1.0})
    assert losses(Grid(made), "auto", 1e-4) == ([], [])
    text = section("Losses of auto", report(made))
    assert all(table.note == "None." for table in text.tables)


def test_whose_losses() -> None:
    assert [s.title for s in report(known(), ours=["mine", "nsgs"]).sections if "Losses" in s.title] == [
        "Losses of nsgs", "Losses of mine",
    ]  # fmt: skip
    none = report(known(), ours="another")
    assert [s.title for s in none.sections if "Losses" in s.title] == ["Losses of siconos-nsgs"]
    variants = campaign({"a/1": 3}, {("a/1", "ipm:variant=simple"): 1.0, ("a/1", "nsgs"): 1.0})
    assert section("Losses of ipm:variant=simple", report(variants, ours="ipm"))


def test_claims_of_solvers() -> None:
    (table,) = section("False claims of solvers").tables
    assert {(row["solver"], row["problem"]) for row in cells(table)} == {("nsgs", "stack/c")}
    assert any(
        "2 runs the solver says that it has solved and the judge does not: nsgs" in s for s in page().summary
    )
    peer = campaign({"a/1": 3}, {("a/1", "siconos-nsgs"): {"outcome": Outcome.MISSED, "status": "info 0"}})
    assert len(claims(Grid(peer))) == 1


def test_what_nobody_solves() -> None:
    (table,) = section("Unsolved problems").tables
    assert [(row["problem"], row["nearest"]) for row in cells(table)] == [
        ("stack/c", "nsgs"),
        ("stack/c", "nsgs"),
    ]
    never_run = Grid(campaign({"a/1": 3, "a/2": 3}, {("a/1", "one"): 1.0}))
    assert unsolved_by_all(never_run, 1e-4) == [], "a problem without runs is not one that nobody solves"


def test_what_is_missing_is_said_so() -> None:
    assert "1 run was not made (mine 1); they are missing, not failed" in page().summary[-1]
    full = campaign({"a/1": 3}, {("a/1", "one"): 1.0})
    assert report(full).summary[-1] == "No run is missing."


def test_who_leads() -> None:
    tight = next(s for s in page().summary if s.startswith("At 1e-8 ") and "most" in s)
    assert tight.startswith(
        "At 1e-8 siconos-nsgs solves most: 6 of 7 problems; auto is fastest on most: 3 of 6."
    )


def test_families_and_exponents() -> None:
    _, tight = section("By family").tables
    (stacks,) = cells(tight, family="stack")
    assert (stacks["problems"], stacks["auto"], stacks["mine"]) == (3, 1, 0)
    (total,) = cells(tight, family="all")
    assert total["siconos-nsgs"] == 6
    (piles,) = cells(section("Time against contacts").tables[1], family="pile")
    assert piles["auto"] == pytest.approx(2.0)
    assert np.isnan(piles["mine"]), "three solved piles are too few"
    (why,) = cells(section("Every fit").tables[1], family="pile", solver="mine")
    assert "3 solved, 4 needed" in str(why["why there is none"])


def test_figures() -> None:
    profiles = section("Performance profiles").figures
    assert [len(figure.panels) for figure in profiles] == [2, 2, 2]
    panel = profiles[0].panels[1]
    assert panel.steps
    assert panel.log_x
    assert [curve.name for curve in panel.curves] == list(known().solvers)
    assert [curve.style for curve in panel.curves if curve.name == "siconos-nsgs"] == ["--"]
    auto = panel.curves[0]
    assert auto.x[0] == 1.0
    assert auto.y[0] == pytest.approx(3 / 6)
    assert auto.y[-1] == pytest.approx(4 / 6)
    for figure in (f for s in page().sections for f in s.figures):
        for one in figure.panels:
            assert one.curves
            assert all((curve.x > 0.0).all() for curve in one.curves if one.log_x), (
                f"{figure.title}: {one.title}"
            )
    data, *by_family = section("Data profiles").figures
    assert [[panel.title for panel in figure.panels] for figure in by_family] == [
        ["stack (3 problems)", "pile (4 problems)"], ["stack (3 problems)", "pile (3 problems)"],
    ]  # fmt: skip
    assert [panel.x_label for panel in data.panels[:2]] == ["alpha: time per contact [s]", "alpha: time [s]"]
    reached = section("Accuracy against time").figures[1].panels[0].curves
    assert [curve.y[-1] for curve in reached] == [5e-9] * 4  # the judge's error of every answer to 1e-8
    assert len({curve.x[-1] for curve in reached}) == 1
    histories = section("Convergence histories").figures[0]
    assert [panel.title for panel in histories.panels] == ["pile/40 (40 contacts)"]


def test_figures_show_not_too_many() -> None:
    made = campaign(
        {"a/1": 3}, {("a/1", f"solver{k}"): 1.0 + k for k in range(14)} | {("a/1", "auto"): "missed"}
    )
    profiles = section("Performance profiles", report(made))
    names = [curve.name for curve in profiles.figures[0].panels[0].curves]
    assert len(names) == 10
    assert "auto" in names
    assert "left out of them: solver9, solver10, solver11, solver12 and solver13" in profiles.text[-1]


def test_the_collection_and_the_setting() -> None:
    (table,) = section("The collection").tables
    (one,) = cells(table, problem="stack/b")
    assert (one["contacts"], one["dimension"], one["mass ratio"], one["rank of W"]) == (40, 3, 10.0, 119)
    assert len(str(one["hash"])) == 12
    assert str(one["recipe"]).startswith("stickslip bench record")
    assert section("How to reproduce").code == known().command
    assert ("processor", "A processor") in section("Environment").tables[0].rows
    assert section("All runs").folded
    assert len(section("All runs").tables[0].rows) == len(known().runs)


def test_what_was_not_computed_is_a_dash() -> None:
    made = campaign([entry("a/1", 3, rank=None, conditioning=None, mass_ratio=None)], {("a/1", "one"): 1.0})
    (row,) = section("The collection", report(made)).tables[0].text()
    assert row[7:10] == ("–", "–", "–")


def test_the_same_page_twice() -> None:
    assert everything(report(known())) == everything(page())


def test_a_campaign_without_runs() -> None:
    empty = report(campaign({"stack/a": 3}, {}))
    assert empty.summary == ["No run was made yet. To be solved to 1e-4: 1 problem of 1 family."]
    assert section("The collection", empty).tables[0].rows
    nothing = report(campaign({}, {}))
    assert "0 problems" in nothing.title
    json.dumps(findings(campaign({}, {})), allow_nan=False)


@pytest.mark.parametrize("said", [1.0, 0.0, "timeout", "refused", "raised", "memory"])
def test_one_solver_and_one_problem(said) -> None:
    made = campaign({"a/1": 3}, {("a/1", "auto"): said})
    (table,) = section("At a glance", report(made)).tables
    assert cells(table)[0]["solved"] == int(not isinstance(said, str))
    assert ("At 1e-4 no solver solves any problem." in report(made).summary) == isinstance(said, str)
    json.dumps(findings(made), allow_nan=False)


def test_solvers_without_a_common_problem() -> None:
    made = report(campaign({"a/1": 3, "a/2": 3}, {("a/1", "one"): 1.0, ("a/2", "two"): 1.0}))
    assert any("no problem on which one and two ran" in sentence for sentence in made.summary)
    assert section("Performance profiles", made).figures == []
    (table,) = section("At a glance", made).tables
    assert all(np.isnan(row["fastest"]) for row in cells(table))


def test_processor_time() -> None:
    made = campaign({"a/1": 3}, {("a/1", "auto"): {"seconds": 1.0, "cpu_seconds": 4.0}, ("a/1", "one"): 1.0})
    assert losses(Grid(made, "wall"), "auto", 1e-4)[1] == []
    assert "processor time" in report(made, time="cpu").summary[0]
    assert losses(Grid(made, "cpu"), "auto", 1e-4)[1][0].ratio == pytest.approx(4.0 / 0.9)
    with pytest.raises(ValueError, match="time is"):
        report(made, time="sun")


def test_notes_stand_below_the_summary() -> None:
    assert report(known(), notes=["Said by hand."]).summary[-1] == "Said by hand."


def test_runs_for_a_spreadsheet() -> None:
    table = runs_table(known())
    assert len(table.rows) == len(known().runs)
    (row,) = cells(table, problem="stack/b", solver="auto", tolerance=1e-8)
    assert row["wall [s]"] == 4.0
    assert len(str(row["hash"])) == 64
    assert json.loads(str(row["options"])) == {"tolerance": 1e-8}


def test_findings_for_machines() -> None:
    data = findings(known())
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    tight = data["tolerances"][1]
    assert tight["solvers"]["auto"]["solved"] == 5
    assert tight["solvers"]["mine"]["outcomes"]["refused"] == 3
    assert tight["profiles"]["left_out"] == 1
    assert tight["profiles"]["performance"]["nsgs"] == pytest.approx([0.0, 3 / 6, 3 / 6, 4 / 6, 4 / 6])
    assert tight["solved_by_nobody"] == ["stack/c"]
    slower = tight["losses"]["auto"]["slower"]
    assert [(loss["problem"], loss["winner"], loss["siconos"]) for loss in slower] == [
        ("stack/b", "siconos-nsgs", True)
    ]
    assert data["missing"]["mine"] == 1
    (fit,) = [fit for fit in tight["exponents"] if (fit["family"], fit["solver"]) == ("pile", "auto")]
    assert fit["exponent"] == pytest.approx(2.0)
    assert data["claimed_not_solved"][0]["solver"] == "nsgs"


@pytest.mark.parametrize("typed", ["1e-4", "1e-8", "2.5e-7", "1.00000001e-8", "5e-1", "1e-12"])
def test_tolerances_read_as_they_are_typed(typed):
    assert exhibits.power(float(typed)) == typed
    assert exhibits.shown(float(typed), "power") == typed


def test_who_refuses_everything_is_in_no_figure_and_no_comparison():
    said = {("stack/a", "auto"): 1.0, ("stack/a", "siconos-nsgs"): 2.0, ("stack/a", "siconos-cpg"): "refused"}
    made = report(campaign({"stack/a": 4}, said))
    losses_of_auto, profiles = (
        next(s for s in made.sections if s.title == title)
        for title in ("Losses of auto", "Performance profiles")
    )
    assert "(siconos-nsgs)" in " ".join(losses_of_auto.text)
    assert any("left out of them: siconos-cpg" in sentence for sentence in profiles.text)
    drawn = {curve.name for figure in profiles.figures for panel in figure.panels for curve in panel.curves}
    assert drawn == {"auto", "siconos-nsgs"}
