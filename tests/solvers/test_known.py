"""Closed forms x every registered solver x every certificate: a solver enters by being registered."""

import numpy as np
import pytest
from closed_forms import KNOWN

from stickslip import BoxProblem, Status, judge
from stickslip.extras import MissingPackage
from stickslip.problem.convert import box_to_contacts
from stickslip.solvers import registry
from stickslip.solvers.certify import refuse_unknown_blocks


def kinds(problem):
    K = box_to_contacts(problem).problem.K if isinstance(problem, BoxProblem) else problem.K
    return list(K.census)


CASES = [
    pytest.param(name, case, id=f"{name}-{case}")
    for case, known in KNOWN.items()
    for name in registry.names(accepting=kinds(known.problem))
    if registry.entry(name).installed  # those that are not say so in test_licensed_adapters.py
    and registry.entry(name).accepts  # ipm-step takes whole steps
]


def solve(name, problem, finest, **options):
    """The answer of a solver at its own reach if that is less than `finest`; skips where it cannot be run."""
    tolerance = max(finest, registry.entry(name).reach)
    try:
        return registry.make(name, tolerance=tolerance).solve(problem, **options), tolerance
    except MissingPackage as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_solver_on_every_known_problem(name, case):
    known, entry = KNOWN[case], registry.entry(name)
    solution, tolerance = solve(name, known.problem, 1e-12)
    if known.slides and not entry.exact and "relaxation" in entry.instead:
        assert solution.status is Status.RELAXED
        assert "relaxation" in repr(solution)
        assert judge(known.problem, solution.r, solution.v, solution.lam, relaxed=True).solved(1e-12)
        assert solution.residuals.natural > 1e-3, "it solves another law, and the judge says so"
        return
    if known.slides and not entry.exact and not solution.ok:
        assert solution.status is Status.APPROXIMATE
        assert "pyramids of 8 facets: their law is solved to" in repr(solution)
        assert 1e-3 < solution.residuals.error < 0.1, "a pyramid is not the cone, and the judge says so"
        return
    solution.or_raise()
    residuals, distance = judge(known.problem, solution.r, solution.v, solution.lam), 100.0 * tolerance
    assert residuals.natural <= tolerance
    assert residuals.natural_scaled <= tolerance
    assert residuals.impulse <= distance
    assert residuals.velocity <= distance
    assert residuals.work <= distance
    assert residuals.equilibrium <= tolerance
    assert residuals.joints <= tolerance
    if known.r is not None:
        np.testing.assert_allclose(solution.r, known.r, atol=distance)
    if known.u is not None:
        np.testing.assert_allclose(solution.u, known.u, atol=distance)
    if known.total is not None:
        np.testing.assert_allclose(solution.contact_impulses.sum(axis=0), known.total, atol=distance)


@pytest.mark.parametrize(
    "name", [name for name in registry.names(accepting=["coulomb3d"]) if registry.entry(name).installed]
)
def test_same_input_same_bytes_and_a_guess_costs_nothing(name):
    known, entry = KNOWN["coupled slip"], registry.entry(name)
    (first, _), (again, _) = (solve(name, known.problem, 1e-10) for _ in range(2))
    assert first.r.tobytes() == again.r.tobytes()
    assert first.iterations == again.iterations
    warm, _ = solve(name, known.problem, 1e-10, guess=first.r)
    assert warm.iterations <= first.iterations
    other = Status.RELAXED if "relaxation" in entry.instead else Status.APPROXIMATE
    assert warm.status is first.status is (Status.SOLVED if entry.exact else other)


@pytest.mark.parametrize("name", registry.names())
def test_every_solver_keeps_the_contract(name):
    entry = registry.entry(name)
    assert isinstance(registry.make(name), registry.Solver)
    assert entry.summary.endswith(".")
    assert {"tolerance", "max_iterations"} <= {o.name for o in entry.options}
    for spec in entry.options:
        assert spec.metadata["doc"], f"{name}.{spec.name} says nothing"
        assert spec.metadata["unit"], f"{name}.{spec.name} has no unit"
    with pytest.raises(TypeError, match="no option 'tolerence'; it has: tolerance"):
        registry.make(name, tolerence=1e-8)
    for bad in (0.0, 2.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match=r"tolerance must lie in \(0, 1\)"):
            registry.make(name, tolerance=bad)
    with pytest.raises(ValueError, match=r"max_iterations must be int, got 1\.5"):
        registry.make(name, max_iterations=1.5)


def test_unknown_solver_lists_the_known():
    with pytest.raises(KeyError, match=r"unknown solver 'nsg'; known: .*nsgs"):
        registry.make("nsg")


def test_a_solver_given_a_block_it_does_not_take_says_who_does(monkeypatch):
    picky = registry.Entry("picky", "stickslip.solvers.gauss_seidel", "NSGS", frozenset({"free"}))
    monkeypatch.setitem(registry._TABLE, "picky", picky)
    with pytest.raises(ValueError, match=r"picky does not take rolling blocks; solvers that do: .*nsgs"):
        refuse_unknown_blocks("picky", KNOWN["rolling sphere"].problem)
