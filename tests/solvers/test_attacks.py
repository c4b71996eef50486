"""Inputs at the limits of what can be asked: a proper status, or an error that names what is wrong."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.solvers import registry

ROW = np.array([1.0, 2.0, 3.0])
INTEGERS = [
    (name, spec.name)
    for name in registry.names()
    for spec in registry.entry(name).options
    if type(spec.default) is int and not spec.metadata["high"] < 2**63
]


def test_free_blocks_alone_have_no_shift_to_smooth():
    """W of rank one: solvable where u_free lies in its range, otherwise not; warnings are errors here."""
    W, solver = np.outer(ROW, ROW), registry.make("ipm")
    assert solver.solve(ss.ContactProblem(W, ROW, ss.problem.free(3))).ok
    assert not solver.solve(ss.ContactProblem(W, [1.0, 0.0, 0.0], ss.problem.free(3))).ok


@pytest.mark.parametrize(("name", "option"), INTEGERS)
def test_integers_beyond_what_can_be_counted_are_refused(name, option):
    with pytest.raises(ValueError, match=f"{option} is too large"):
        registry.make(name, **{option: 10**400})
