"""`auto`: deterministic, honest about what it tried, and blind to order, tangents, units and files."""

import time

import numpy as np
import pytest
from random_problems import random_problem
from recorded import needs_recorded, recorded

from stickslip import ContactProblem, coulomb, read, solve
from stickslip.problem import nonnegative
from stickslip.problem.convert import rescale
from stickslip.problem.copies import mean_impulse, permuted, perturbed, rotated
from stickslip.solvers.auto import Auto

LONG = ("KaplasTower-i1061-4.hdf5.dat",)
"""Files whose noisiest copies take long; `benchmarks/copies.py` runs them."""


def friction():
    return [path for path in recorded() if path.parent.name in ("friction", "rolling")]


def stacked(nc=12):
    """Many contacts between two bodies: W of rank 6, which sweeps converge on slowly."""
    rng = np.random.default_rng(5)
    H = rng.normal(size=(6, 3 * nc))
    return ContactProblem(H.T @ H, H.T @ rng.normal(size=6), coulomb(np.full(nc, 0.4)))


def test_it_is_the_default():
    solution = solve(stacked())
    assert solution.solver == "auto"
    assert solution.ok


def test_same_problem_same_bytes_whatever_the_clock(monkeypatch):
    first = solve(stacked(), tolerance=1e-11)
    ticks = iter(np.cumsum(np.random.default_rng(0).exponential(1e3, 100_000)))
    monkeypatch.setattr(time, "perf_counter", lambda: float(next(ticks)))
    second = solve(stacked(), tolerance=1e-11)
    assert first.r.tobytes() == second.r.tobytes()
    assert first.tried == second.tried
    assert first.history.tobytes() == second.history.tobytes()


def test_stages_are_told_with_their_iterations_operations_and_errors():
    solution = solve(stacked(), tolerance=1e-11)
    assert solution.tried[0].solver in ("nsgs", "anderson")
    assert solution.iterations == sum(stage.iterations for stage in solution.tried)
    assert solution.operations == pytest.approx(sum(stage.operations for stage in solution.tried))
    assert solution.tried[-1].error <= 1e-11
    if len(solution.tried) > 1:
        assert "tried" in repr(solution)


def test_what_it_cannot_solve_it_says_with_all_it_tried():
    problem = ContactProblem(np.diag([1.0, 0.0]), [-1.0, -0.3], nonnegative(2))
    solution = solve(problem, tolerance=1e-9)
    assert solution.status.name == "INFEASIBLE"
    assert solution.certificate is not None
    rods = ContactProblem([[-1.0]], [1.0], nonnegative(1))
    assert solve(rods).ok, "Painlevé's rod with two answers: either will do"


def test_the_step_limit_is_kept_and_said():
    problem = stacked(30)
    solution = Auto(tolerance=1e-13, max_iterations=1).solve(problem)
    assert sum(s.iterations for s in solution.tried if s.solver in ("prox", "ipm")) <= 10
    if not solution.ok:
        assert solution.status.name == "MAX_ITERATIONS"
        assert solution.reason.startswith("tried ")


def test_a_guess_is_where_it_starts():
    problem = stacked()
    answer = solve(problem, tolerance=1e-12)
    again = solve(problem, tolerance=1e-10, guess=answer.r)
    assert again.iterations == 0
    np.testing.assert_allclose(again.r, answer.r, atol=1e-14)


@pytest.mark.parametrize("seed", range(6))
def test_mixtures_of_blocks(seed):
    problem = random_problem(seed=seed)
    solution = solve(problem, tolerance=1e-11)
    assert solution.ok, solution
    np.testing.assert_allclose(
        solution.u, solve(problem, "nsgs", tolerance=1e-11, max_iterations=100_000).u, atol=1e-7
    )


@needs_recorded
@pytest.mark.parametrize("path", friction(), ids=lambda p: p.name)
def test_order_tangents_and_units_do_not_matter(path):
    problem = read(path)
    copies = [permuted(problem, 1), rotated(problem, 1), rescale(problem, 1e-3, 1e-3, 1e-3)]
    for copy in copies:
        solution = solve(copy.problem, tolerance=1e-10)
        assert solution.ok, solution


@needs_recorded
@pytest.mark.parametrize("path", [p for p in friction() if p.name not in LONG], ids=lambda p: p.name)
def test_other_motions_of_the_same_bodies(path):
    problem = read(path)
    size = mean_impulse(problem.K, solve(problem).r)
    for share in (0.02, 0.1, 0.5):
        solution = solve(perturbed(problem, share * size, seed=1), tolerance=1e-10)
        assert solution.ok, (share, solution)
