"""Versions of a solver compared: what is gained and lost, and the mean of the ratios of times."""

import math

import pytest
from bench.campaigns import campaign

from stickslip.bench import combine
from stickslip.bench.reports.versions import tagged, versions_section

PROBLEMS = {"stack/a": 4, "stack/b": 9, "chute/c": 20, "chute/d": 30}
OLD = campaign(PROBLEMS, {
    ("stack/a", "nsgs"): 1.0, ("stack/b", "nsgs"): 8.0, ("chute/c", "nsgs"): "timeout",
    ("chute/d", "nsgs"): 1.0,
    ("stack/a", "ipm:variant=simple"): 2.0,
})  # fmt: skip
NEW = campaign(PROBLEMS, {
    ("stack/a", "nsgs"): 0.5, ("stack/b", "nsgs"): 1.0, ("chute/c", "nsgs"): 3.0,
    ("chute/d", "nsgs"): "missed",
    ("stack/a", "ipm:variant=simple"): 2.0,
})  # fmt: skip


@pytest.fixture(scope="module")
def both():
    return combine([tagged(OLD, "old"), tagged(NEW, "new")], allow=("versions", "code"))


def test_every_solver_has_its_version_in_its_name(both):
    assert set(both.solvers) == {
        "nsgs@old", "nsgs@new", "ipm@old:variant=simple", "ipm@new:variant=simple",
    }  # fmt: skip


def test_gains_losses_and_means_are_told(both):
    summary, largest = versions_section(both, ["old", "new"]).tables
    rows = {row[0]: row for row in summary.rows}
    solver, version, tolerance, before, after, gained, lost, common, *_, mean, least, most = rows["nsgs"]
    assert (solver, version, before, after, gained, lost, common) == ("nsgs", "new", 3, 3, 1, 1, 2)
    assert tolerance in both.conditions.tolerances
    assert (mean, least, most) == (pytest.approx(math.sqrt(2.0 * 8.0)), 2.0, 8.0)
    assert rows["ipm:variant=simple"][-3:] == [1.0, 1.0, 1.0]
    # Problems gained or lost come first, then the largest ratio.
    assert {row[3] for row in largest.rows[:2]} == {"chute/c", "chute/d"}
    assert largest.rows[2][3:] == ["stack/b", "8 s", "1 s", 8.0]


def test_only_times_that_do_not_overlap_are_faster_or_slower():
    def repeated(shortest, longest):
        return {"seconds": shortest, "median_seconds": shortest, "longest_seconds": longest}

    names = dict.fromkeys(("a/faster", "a/slower", "a/open", "a/one call"), 3)
    old = {"a/faster": repeated(2.0, 3.0), "a/slower": repeated(1.0, 1.1), "a/open": repeated(1.0, 1.3)}
    new = {"a/faster": repeated(1.0, 1.9), "a/slower": repeated(1.2, 1.3), "a/open": repeated(1.2, 1.4)}
    tables = [campaign(names, {(name, "nsgs"): said for name, said in (one | {"a/one call": 1.0}).items()})
              for one in (old, new)]  # fmt: skip
    both = combine([tagged(*pair) for pair in zip(tables, ("old", "new"), strict=True)])
    summary, largest = versions_section(both, ["old", "new"]).tables
    row = dict(zip(summary.headings, summary.rows[0], strict=True))
    assert (row["both"], row["faster"], row["slower"]) == (4, 1, 1)
    assert largest.rows[0][3:6] == ["a/faster", "2 to 3 s", "1 to 1.9 s"]


def test_a_solver_of_one_version_alone_is_not_compared():
    alone = combine([tagged(OLD, "old"), tagged(campaign(PROBLEMS, {("stack/a", "prox"): 1.0}), "new")],
                    allow=("versions", "code"))  # fmt: skip
    assert versions_section(alone, ["old", "new"]).tables[0].rows == []
