"""First-order methods on the recorded friction problems: what each reaches, so that a change shows."""

import pytest
from recorded import needs_recorded, recorded

from stickslip import Status, judge, read, solve

SLOW = {
    "fixed-point": {"BoxesStack1-i100000-32.hdf5.dat"},
    "extragradient": {"BoxesStack1-i100000-32.hdf5.dat"},
    "bb": {"BoxesStack1-i100000-32.hdf5.dat"},
}
"""Files that a method does not bring to 1e-6, all for slow progress."""
TO_1E_8 = ("admm", "tresca")


@needs_recorded
@pytest.mark.parametrize("path", recorded("friction"), ids=lambda p: p.name)
def test_friction_problems_to_1e_6(path):
    problem = read(path)
    for name in ("fixed-point", "extragradient", "s-loop"):
        solution = solve(problem, name, tolerance=1e-6)
        late = path.name in SLOW.get(name, ())
        assert solution.status is (Status.STALLED if late else Status.SOLVED), solution
        assert judge(problem, solution.r, solution.v, solution.lam) == solution.residuals


@needs_recorded
@pytest.mark.parametrize("path", recorded("friction"), ids=lambda p: p.name)
def test_friction_problems_to_1e_8(path):
    problem = read(path)
    for name in TO_1E_8:
        assert solve(problem, name, tolerance=1e-8).ok, name


@needs_recorded
@pytest.mark.parametrize("path", recorded("friction"), ids=lambda p: p.name)
def test_relaxations_of_friction_problems(path):
    problem = read(path)
    for name in ("apgd", "bb"):
        solution = solve(problem, name, tolerance=1e-6)
        if path.name in SLOW.get(name, ()):
            assert solution.status is Status.STALLED
            continue
        relaxed = judge(problem, solution.r, solution.v, solution.lam, relaxed=True)
        assert relaxed.solved(1e-6)
        assert solution.status is (Status.SOLVED if solution.residuals.solved(1e-6) else Status.RELAXED)
