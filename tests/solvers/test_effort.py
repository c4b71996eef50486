"""What `auto` believes that sweeps and Newton steps cost: near the counts of the factorisation itself."""

import numpy as np
import pytest

from stickslip import scenes, solve
from stickslip.compilation import JIT
from stickslip.linalg.front_lu import BlockLU, elimination_size
from stickslip.problem.convert import reduce_to_contacts
from stickslip.solvers import effort, newton_systems
from stickslip.solvers.effort import is_hyperstatic, newton_step


def contacts(name, **parameters):
    return reduce_to_contacts(scenes.make(name, **parameters)).problem


@pytest.mark.skipif(not JIT, reason="the factor is laid out by compiled code")
@pytest.mark.parametrize("name", ["packing-problem", "wall-problem"])
def test_the_work_of_elimination_is_that_of_the_factor(name):
    problem = contacts(name, **({"spheres": 60} if name == "packing-problem" else {}))
    W = problem.W.blocks(problem.K)
    one = np.repeat(np.arange(len(problem.K)), np.diff(W.row_start))
    numbers, work = elimination_size(np.diff(problem.K.offset), one, W.column)
    counted = 0.5 * BlockLU(*W.arrays[:3]).flops
    assert 0.4 * counted < work < 2.5 * counted
    assert W.data.size < numbers < work


@pytest.mark.parametrize("bound", ["MOST_NUMBERS", "MOST_WORK"])
def test_problems_too_large_to_factor_are_swept_and_refused_with_a_reason(bound, monkeypatch):
    problem = scenes.make("wall-problem")
    assert {stage.solver for stage in solve(problem, tolerance=1e-12).tried} & {"prox", "ipm"}
    monkeypatch.setattr(effort, "ALWAYS", 0)
    monkeypatch.setattr(effort, bound, 1e3)
    solution = solve(problem, tolerance=1e-12)
    assert not solution.ok
    assert "too large for Newton's method: its factor would have" in solution.reason
    assert {stage.solver for stage in solution.tried} <= {"nsgs", "anderson"}


def test_contacts_that_all_meet_on_one_body_are_eliminated_over_bodies(monkeypatch):
    problem = contacts("packing-problem", spheres=60)
    monkeypatch.setattr(newton_systems, "CROWDED", 1e9)
    assert not newton_systems.goes_over_bodies(problem)
    monkeypatch.setattr(newton_systems, "MOST_ENTRIES", 1e3)
    assert isinstance(newton_systems.proximal_system(problem), newton_systems.BodySystem)


def test_newton_grows_faster_than_the_problem():
    small, large = (newton_step(contacts("packing-problem", spheres=spheres)) for spheres in (60, 240))
    assert large > 6.0 * small


def test_walls_are_hyperstatic_and_packings_are_not():
    assert is_hyperstatic(contacts("wall-problem"))
    assert not is_hyperstatic(contacts("packing-problem", spheres=60))


def test_sweeps_that_converge_are_not_left_for_costly_factorisations():
    solution = solve(scenes.make("packing-problem", spheres=200, velocity=0.3, seed=1), tolerance=1e-8)
    assert solution.ok
    assert {stage.solver for stage in solution.tried} <= {"nsgs", "anderson"}
