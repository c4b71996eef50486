"""Costs from the runs of a campaign: what is missing, what failed, what was refused."""

import dataclasses

import numpy as np
import pytest
from bench.campaigns import campaign, entry, record

from stickslip.bench.analysis.costs import Grid, costs
from stickslip.bench.analysis.profiles import performance_profile

INF = float("inf")
PROBLEMS = {"stack/a": 10, "stack/b": 40, "pile/c": 100, "pile/d": 7}


def grid(runs, **more):
    return Grid(campaign(PROBLEMS, runs, **more))


def full(one, two):
    """Runs of two solvers on the four problems."""
    said = {(problem, "one"): cost for problem, cost in zip(PROBLEMS, one, strict=True)}
    return said | {(problem, "two"): cost for problem, cost in zip(PROBLEMS, two, strict=True)}


def test_times_and_failures() -> None:
    found = costs(grid(full([1.0, "timeout", 2.0, "missed"], [3.0, 4.0, "crashed", "raised"])), 1e-4)
    np.testing.assert_array_equal(found.seconds, [[1.0, 3.0], [INF, 4.0], [2.0, INF], [INF, INF]])
    assert not found.missing
    assert not found.refused.any()
    np.testing.assert_array_equal(found.contacts, [10, 40, 100, 7])


def test_a_missing_run_is_not_a_failed_one() -> None:
    found = costs(grid(full([1.0, None, 2.0, 1.0], [3.0, 4.0, "memory", 1.0])), 1e-4)
    assert [e.name for e in found.problems] == ["stack/a", "pile/c", "pile/d"]
    assert [e.name for e in found.missing] == ["stack/b"]
    np.testing.assert_allclose(performance_profile(found.seconds).at(1e9), [1.0, 2 / 3])
    assert "1 problem left out, since some run on it is missing (not failed)" in found.statement
    alone = costs(grid(full([1.0, None, 2.0, 1.0], [3.0, 4.0, "memory", 1.0])), 1e-4, solvers=["two"])
    assert len(alone.problems) == 4, "what one solver misses leaves out nothing where it is not compared"


def test_a_refusal_is_no_success_and_told_apart() -> None:
    found = costs(grid(full([1.0, 1.0, 1.0, 1.0], ["refused", 2.0, "missed", 2.0])), 1e-4)
    np.testing.assert_array_equal(found.seconds[:, 1], [INF, 2.0, INF, 2.0])
    np.testing.assert_array_equal(
        found.refused, [[False, True], [False, False], [False, False], [False, False]]
    )
    assert "1 refusal" in found.statement


def test_no_problem_left_is_a_statement() -> None:
    found = costs(grid(full([1.0, 1.0, None, None], [None, None, 1.0, 1.0])), 1e-4)
    assert found.problems == ()
    assert found.seconds.shape == (0, 2)
    assert "no problem on which one and two ran" in found.statement
    assert "4 problems left out" in found.statement


def test_no_runs_at_all() -> None:
    found = costs(grid({}), 1e-4)
    assert "No run was made" in found.statement
    assert len(found.missing) == 4


def test_families_and_solvers_are_chosen() -> None:
    made = grid(full([1.0] * 4, [2.0] * 4))
    assert [e.name for e in costs(made, 1e-4, family="pile").problems] == ["pile/c", "pile/d"]
    np.testing.assert_array_equal(costs(made, 1e-4, solvers=["two"]).seconds, [[2.0]] * 4)
    with pytest.raises(ValueError, match="no run of 'three'"):
        costs(made, 1e-4, solvers=["three"])


def test_tolerances_are_kept_apart() -> None:
    said = {("stack/a", "one", 1e-4): 1.0, ("stack/a", "one", 1e-8): "timeout"}
    made = Grid(campaign({"stack/a": 10}, said, tolerances=(1e-4, 1e-8)))
    assert costs(made, 1e-4).seconds[0, 0] == 1.0
    assert costs(made, 1e-8).seconds[0, 0] == INF
    assert made.tolerances == (1e-4, 1e-8)


def test_processor_time_on_demand() -> None:
    results = campaign({"stack/a": 10}, {("stack/a", "one"): {"seconds": 2.0, "cpu_seconds": 1.5}})
    assert costs(Grid(results, "cpu"), 1e-4).seconds[0, 0] == 1.5
    with pytest.raises(ValueError, match="time is 'user'"):
        Grid(results, "user")


def test_a_run_without_this_time_is_left_out_not_failed() -> None:
    results = campaign({"stack/a": 10}, {("stack/a", "peer"): {"seconds": 2.0, "cpu_seconds": float("nan")}})
    assert len(costs(Grid(results, "cpu"), 1e-4).missing) == 1
    assert len(costs(Grid(results, "wall"), 1e-4).problems) == 1


@pytest.mark.parametrize("seconds", [-1.0, INF, float("nan")])
def test_a_time_that_is_none_is_not_compared(seconds) -> None:
    found = costs(grid(full([seconds, 1.0, 1.0, 1.0], [2.0] * 4)), 1e-4)
    assert [e.name for e in found.missing] == ["stack/a"]


def test_two_versions_of_a_package_are_two_solvers() -> None:
    old, new = ({"seconds": t, "source": f"peer {v}"} for t, v in ((1.0, "1.0"), (2.0, "2.0")))
    results = campaign({"stack/a": 10}, {("stack/a", "peer"): old})
    both = results.with_runs((*results.runs, record("stack/a", "peer", 1e-4, new)))
    made = Grid(both)
    assert made.solvers == ("peer [peer 1.0]", "peer [peer 2.0]")
    np.testing.assert_array_equal(costs(made, 1e-4).seconds, [[1.0, 2.0]])


def test_equal_problems_count_once() -> None:
    first = entry("stack/a", 10)
    results = campaign([first, dataclasses.replace(first, name="stack/copy")], {("stack/a", "one"): 1.0})
    assert [e.name for e in Grid(results).problems] == ["stack/a"]
