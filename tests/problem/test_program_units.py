"""Programs in units of their own: the same program, numbers of order one, and the way back."""

import numpy as np
import pytest
import scipy.sparse as sp
from closed_forms import KNOWN

import stickslip as ss
from stickslip.problem.convert.cone_programs import dual_program, primal_program
from stickslip.problem.convert.program_units import program_units
from stickslip.problem.program import ConeProgram, judge_program
from stickslip.scenes.rigid import incline
from stickslip.solvers.adapters.conic import clarabel as run


@pytest.mark.parametrize("h", [1e-1, 1e-3, 1e-6])
def test_the_step_does_not_show(h):
    program = primal_program(incline(angle=25.0, mu=0.3, h=h)).problem
    units = program_units(program)
    scaled, other = units.scaled(program), primal_program(incline(angle=25.0, mu=0.3, h=1.0)).problem
    expected = program_units(other).scaled(other)
    for name in ("P", "A"):
        np.testing.assert_allclose(
            getattr(scaled, name).toarray(), getattr(expected, name).toarray(), atol=1e-12
        )
    np.testing.assert_allclose(scaled.c, expected.c, atol=1e-12)
    assert np.abs(scaled.c).max() == pytest.approx(1.0)
    np.testing.assert_allclose(scaled.P.diagonal(), 1.0)


@pytest.mark.parametrize("case", ["coupled slip", "sliding and rolling", "mixed blocks", "spinning top"])
def test_an_optimum_of_the_one_is_an_optimum_of_the_other(case):
    program = dual_program(KNOWN[case].problem).problem
    program = program.with_(c=1e-7 * program.c, b=1e-7 * program.b)
    units = program_units(program)
    found = run(units.scaled(program), 1e-10, 100)
    x, y = units.back(found.x, found.y)
    assert judge_program(program, x, y).error == pytest.approx(
        judge_program(units.scaled(program), found.x, found.y).error, rel=1e3, abs=1e-9
    )
    assert judge_program(program, x, y).error <= 1e-8
    assert units.extent(x, y) == pytest.approx(np.abs(found.x).max() + np.abs(found.y).max())


def test_rows_of_a_cone_have_one_unit():
    problem = ss.ContactProblem(
        np.diag([1.0, 4.0, 4.0, 1e4, 1e4]), [-1.0, 1, 0, 0, 0], ss.problem.rolling([0.5], [1e-3])
    )
    program = dual_program(problem).problem
    units = program_units(program)
    for first, size in zip(program.cone_start[:-1], program.second_order, strict=True):
        assert np.ptp(units.rows[first : first + size]) == 0.0


def test_no_load_and_no_curvature_have_units_too():
    nothing = ConeProgram(np.zeros((2, 2)), [0.0, 0.0], np.zeros((0, 2)), [])
    assert program_units(nothing).energy == 1.0
    rows = ConeProgram(sp.eye_array(2).tocsr(), [0.0, 0.0], np.eye(2), [-1e-6, 2e-6], nonnegative=2)
    units = program_units(rows)
    assert np.abs(units.scaled(rows).b).max() == pytest.approx(1.0)
    empty = ConeProgram(np.zeros((0, 0)), [], np.zeros((0, 0)), [])
    assert program_units(empty).x.size == 0
