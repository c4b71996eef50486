"""Errors against time, from histories written down by hand."""

import numpy as np
import pytest
from bench.campaigns import campaign

from stickslip.bench.analysis.accuracy import accuracy, falling, reached, telling_problem
from stickslip.bench.analysis.costs import Grid

INF = float("inf")


def ending(seconds, error, history=(), iterations=10, **more):
    return {
        "seconds": seconds,
        "error": error,
        "history": history or np.zeros((0, 3)),
        "iterations": iterations,
    } | more


def grid(runs, problems=None, tolerances=(1e-4,)):
    return Grid(campaign(problems or {"stack/a": 10}, runs, tolerances))


def test_a_run_is_its_history_and_its_end() -> None:
    rows = [[2, 1e-1, 5e-1], [4, 1e-2, 1e-3], [8, 3e-2, 3e-2], [9, 2e-2, 2e-2]]
    found = reached(grid({("stack/a", "one"): ending(5.0, 1e-5, rows)}), *_first("one"))
    np.testing.assert_allclose(
        found.times, [1.0, 2.0, 5.0]
    )  # iterations 8 and 9 are worse than 4: nothing new
    np.testing.assert_allclose(found.errors, [5e-1, 1e-2, 1e-5])
    np.testing.assert_allclose(found.at(np.array([0.5, 1.0, 3.0, 9.0])), [INF, 5e-1, 1e-2, 1e-5])


def test_the_runs_at_all_tolerances_together() -> None:
    runs = {
        ("stack/a", "one", 1e-2): ending(1.0, 9e-3),
        ("stack/a", "one", 1e-6): ending(3.0, 1e-7, [[5, 0.5, 0.5]]),
    }
    found = reached(grid(runs, tolerances=(1e-2, 1e-6)), *_first("one"))
    np.testing.assert_allclose(found.times, [1.0, 3.0])  # 0.5 at 1.5 s is worse than what was there at 1 s
    np.testing.assert_allclose(found.errors, [9e-3, 1e-7])


def test_a_run_without_an_answer_reaches_nothing() -> None:
    found = reached(grid({("stack/a", "one"): "timeout"}), *_first("one"))
    assert len(found.times) == 0
    assert found.at(np.array([1e9])) == INF


def test_no_time_and_no_iterations() -> None:
    rows = [[0, 0.5, 0.25]]
    found = reached(grid({("stack/a", "one"): ending(2.0, 1e-5, rows, iterations=0)}), *_first("one"))
    np.testing.assert_allclose(found.times, [2.0])  # both points at the end, the better one counts
    np.testing.assert_allclose(found.errors, [1e-5])
    lost = ending(float("nan"), 1e-5, rows)
    assert len(reached(grid({("stack/a", "one"): lost}), *_first("one")).times) == 0


def test_times_are_relative_to_the_fastest_on_each_problem() -> None:
    problems = {"stack/a": 10, "stack/b": 1000}
    runs = {
        ("stack/a", "one"): ending(1.0, 1e-5), ("stack/a", "two"): ending(3.0, 1e-6),
        ("stack/b", "one"): ending(100.0, 1e-5), ("stack/b", "two"): ending(300.0, 1e-6),
    }  # fmt: skip
    found = accuracy(grid(runs, problems), spread=np.array([0.9, 1.0, 2.9, 3.1]))
    for quartile in found.quartiles:  # the two problems are alike but for their size
        np.testing.assert_allclose(quartile, [[INF, 1e-5, 1e-5, 1e-5], [INF, INF, INF, 1e-6]])
    assert (len(found.problems), found.unsolved, found.missing) == (2, 0, 0)


def test_quartiles_are_errors_that_so_many_reach() -> None:
    problems = {f"stack/{k}": 10 for k in range(4)}
    runs = {(name, "one"): ending(1.0, 10.0 ** -(5 + k)) for k, name in enumerate(problems)}
    found = accuracy(grid(runs, problems), spread=np.array([1.0]))
    np.testing.assert_allclose(found.quartiles[:, 0, 0], [1e-8, 1e-7, 1e-6])


def test_what_is_left_out_is_counted() -> None:
    problems = {"stack/a": 1, "stack/b": 1, "stack/c": 1}
    runs = {("stack/a", "one"): 1.0, ("stack/a", "two"): 1.0, ("stack/c", "one"): 1.0}
    runs |= {("stack/b", "one"): "missed", ("stack/b", "two"): "timeout"}
    found = accuracy(grid(runs, problems))
    assert (len(found.problems), found.unsolved, found.missing) == (1, 1, 1)
    nothing = accuracy(grid({}, problems))
    assert nothing.problems == ()


def test_checks_that_are_no_numbers_are_left_out() -> None:
    runs = grid(
        {("stack/a", "one"): ending(1.0, 1e-5, [[1, 0.5, 0.1], [2, float("nan"), 0.1], [3, 0.1, 0.2]])}
    )
    iterations, errors = falling(runs.results.runs[0])
    np.testing.assert_allclose(iterations, [1, 3])
    np.testing.assert_allclose(errors, [0.5, 0.2])


@pytest.mark.parametrize(
    ("times", "chosen"), [((1.0, 1.0, 1.0, 5.0), "stack/b"), ((1.0, "missed", 1.0, 2.0), "stack/a")]
)
def test_the_problem_that_separates_most(times, chosen) -> None:
    names = [(problem, solver) for problem in ("stack/a", "stack/b") for solver in ("one", "two")]
    runs = {
        name: {"outcome": _outcome(t), "history": [[1, 0.1, 0.1], [2, 0.01, 0.01]]}
        | ({} if isinstance(t, str) else {"seconds": t})
        for name, t in zip(names, times, strict=True)
    }
    found = telling_problem(grid(runs, {"stack/a": 10, "stack/b": 10}), "stack")
    assert found is not None
    assert found.name == chosen


def test_no_history_no_problem() -> None:
    assert telling_problem(grid({("stack/a", "one"): 1.0}), "stack") is None
    rows = [[1, 0.1, 0.1], [2, 0.01, 0.01]]
    alone = {("stack/a", "one"): ending(1.0, 1e-5, rows), ("stack/a", "two"): ending(1.0, 1e-5, rows[:1])}
    assert telling_problem(grid(alone), "stack") is None
    both = {("stack/a", solver): ending(1.0, 1e-5, rows) for solver in ("one", "two")}
    assert telling_problem(grid(both), "stack") is not None
    assert telling_problem(grid(both), "another") is None


def _first(solver):
    return campaign({"stack/a": 10}, {}).problems[0], solver


def _outcome(said):
    from stickslip.bench.records import Outcome

    return Outcome(said) if isinstance(said, str) else Outcome.SOLVED
