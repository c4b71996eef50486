"""Spread of times over repeated calls."""

import pytest
from bench.campaigns import campaign

from stickslip.bench.analysis.costs import Grid
from stickslip.bench.analysis.spread import spread, undecided
from stickslip.bench.reports.report import report


def repeated(shortest, middle, longest, **more):
    """Times of a run by the wall clock; by the processor's a tenth, without any spread."""
    cpu = dict.fromkeys(("cpu_seconds", "median_cpu_seconds", "longest_cpu_seconds"), 0.1 * shortest)
    return {"seconds": shortest, "median_seconds": middle, "longest_seconds": longest} | cpu | more


RESULTS = campaign({"a/1": 3, "a/2": 3, "a/3": 3, "a/4": 3}, {
    ("a/1", "one"): repeated(1.0, 1.1, 1.5), ("a/1", "two"): repeated(1.2, 1.3, 1.4),
    ("a/2", "one"): repeated(1.0, 1.2, 3.0), ("a/2", "two"): repeated(4.0, 4.0, 4.0),
    ("a/3", "one"): repeated(1.0, 1.0, 1.0, repetitions=1), ("a/3", "two"): repeated(2.0, 2.0, 2.0),
    ("a/4", "one"): "missed", ("a/4", "two"): repeated(1.0, 1.0, 1.0),
})  # fmt: skip


def test_spread_is_of_runs_that_solved_and_were_repeated():
    found = spread(Grid(RESULTS), "one", 1e-4)
    assert found.problems == ("a/1", "a/2")
    assert found.calls.tolist() == [3.0, 3.0]
    assert found.medians.tolist() == pytest.approx([1.1, 1.2])
    assert found.longest.tolist() == pytest.approx([1.5, 3.0])
    assert spread(Grid(RESULTS, "cpu"), "one", 1e-4).longest.tolist() == [1.0, 1.0]


def test_comparisons_that_the_spread_leaves_open_are_counted():
    assert undecided(Grid(RESULTS), 1e-4) == (1, 2)
    assert undecided(Grid(RESULTS, "cpu"), 1e-4) == (0, 2)


def test_the_report_has_the_spread():
    (section,) = [one for one in report(RESULTS).sections if one.title == "Spread of times"]
    assert "on 1 of 2 problems the times of the two fastest solvers overlap" in section.text[-1]
    (table,) = section.tables
    row = dict(zip(table.headings, table.rows[0], strict=True))
    assert (row["solver"], row["runs"], row["at most [%]"], row["on"]) == (
        "one",
        2,
        pytest.approx(200.0),
        "a/2",
    )
