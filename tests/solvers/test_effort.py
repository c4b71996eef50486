"""What `auto` believes that sweeps and Newton steps cost: near the counts of the factorisation itself."""

import numpy as np
import pytest

from stickslip import scenes, solve
from stickslip.compilation import JIT
from stickslip.linalg.front_lu import BlockLU, elimination_work
from stickslip.problem.convert import reduce_to_contacts
from stickslip.solvers.effort import is_hyperstatic, newton_step


def contacts(name, **parameters):
    return reduce_to_contacts(scenes.make(name, **parameters)).problem


@pytest.mark.skipif(not JIT, reason="the factor is laid out by compiled code")
@pytest.mark.parametrize("name", ["packing-problem", "wall-problem"])
def test_the_work_of_elimination_is_that_of_the_factor(name):
    problem = contacts(name, **({"spheres": 60} if name == "packing-problem" else {}))
    W = problem.W.blocks(problem.K)
    one = np.repeat(np.arange(len(problem.K)), np.diff(W.row_start))
    work = elimination_work(np.diff(problem.K.offset), one, W.column)
    counted = 0.5 * BlockLU(*W.arrays[:3]).flops
    assert 0.4 * counted < work < 2.5 * counted


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
