"""The recorded problems: all solved to 1e-10 by both measures with `auto`.

Where Gauss-Seidel alone does not get there, what it reaches is listed, so that a change shows.
"""

import pytest
from recorded import needs_recorded, recorded

from stickslip import judge, read, solve

MISSED = {
    "BoxesStack1-i100000-32.hdf5.dat": ("MAX_ITERATIONS", 1e-4),
    "Capsules-i122-1617.dat": ("MAX_ITERATIONS", 1e-7),
    "OneObject-i100000-316.hdf5.dat": ("STALLED", 1e-3),
    "lcp_CPS_2.dat": ("STALLED", 1.0),
    "lcp_CPS_3.dat": ("STALLED", 1.1),
    "lcp_CPS_4.dat": ("STALLED", 1.0),
    "lcp_Pang_isolated_sol.dat": ("STALLED", 1.1),
    "lcp_enum_fails.dat": ("STALLED", 0.1),
    "PD_mlcp.dat": ("STALLED", 1.1),
    "diodeBridge20_mlcp.dat": ("STALLED", 1.1),
    "diodeBridge_mlcp.dat": ("STALLED", 1.1),
    "relay2_mlcp.dat": ("STALLED", 1.1),
}
"""Files that 20,000 sweeps do not bring to 1e-10: how they end, and what error they stay below."""


@needs_recorded
@pytest.mark.parametrize("path", recorded(), ids=lambda p: p.name)
def test_auto_solves_every_recorded_problem_to_1e_10(path):
    problem = read(path)
    solution = solve(problem, tolerance=1e-10)
    again = judge(problem, solution.r, solution.v, solution.lam)
    assert again == solution.residuals, "the certificate is the judge's, not the solver's"
    assert solution.ok, solution
    assert again.natural <= 1e-10
    assert again.natural_scaled <= 1e-10


@needs_recorded
def test_auto_reaches_1e_12_on_nine_in_ten_friction_problems():
    paths = [path for path in recorded() if path.parent.name in ("friction", "rolling")]
    errors = {path.name: solve(read(path), tolerance=1e-12).residuals.natural for path in paths}
    missed = {name: error for name, error in errors.items() if not error <= 1e-12}
    assert len(missed) <= len(errors) / 10, missed


@needs_recorded
@pytest.mark.parametrize("path", recorded(), ids=lambda p: p.name)
def test_sweeps_alone_to_1e_10(path):
    problem = read(path)
    solution = solve(problem, "nsgs", tolerance=1e-10)
    again = judge(problem, solution.r, solution.v, solution.lam)
    assert again == solution.residuals, "the certificate is the judge's, not the solver's"
    if path.name in MISSED:
        status, error = MISSED[path.name]
        assert solution.status.name == status, "better or worse than listed: update the list"
        assert 1e-10 < again.error < error
        assert solution.reason or solution.status.value
    else:
        assert solution.ok, f"{path.name} belongs on the list: {solution}"
        assert again.natural <= 1e-10
        assert again.natural_scaled <= 1e-10


@needs_recorded
def test_every_listed_file_is_there():
    assert {path.name for path in recorded()} >= set(MISSED)
