"""Closed forms x every registered solver x every certificate: a solver enters by being registered."""

import numpy as np
import pytest
from closed_forms import KNOWN

from stickslip import BoxProblem, Status, judge
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
]


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_solver_on_every_known_problem(name, case):
    known = KNOWN[case]
    solution = registry.make(name, tolerance=1e-12).solve(known.problem)
    if known.slides and not registry.entry(name).exact:
        assert solution.status is Status.RELAXED
        assert "relaxation" in repr(solution)
        assert judge(known.problem, solution.r, solution.v, solution.lam, relaxed=True).solved(1e-12)
        assert solution.residuals.natural > 1e-3, "it solves another law, and the judge says so"
        return
    solution.or_raise()
    residuals = judge(known.problem, solution.r, solution.v, solution.lam)
    assert residuals.natural <= 1e-12
    assert residuals.natural_scaled <= 1e-12
    assert residuals.impulse <= 1e-10
    assert residuals.velocity <= 1e-10
    assert residuals.work <= 1e-10
    assert residuals.equilibrium <= 1e-12
    assert residuals.joints <= 1e-12
    if known.r is not None:
        np.testing.assert_allclose(solution.r, known.r, atol=1e-10)
    if known.u is not None:
        np.testing.assert_allclose(solution.u, known.u, atol=1e-10)
    if known.total is not None:
        np.testing.assert_allclose(solution.contact_impulses.sum(axis=0), known.total, atol=1e-10)


@pytest.mark.parametrize("name", registry.names(accepting=["coulomb3d"]))
def test_same_input_same_bytes_and_a_guess_costs_nothing(name):
    known = KNOWN["coupled slip"]
    solver = registry.make(name, tolerance=1e-10)
    first, again = solver.solve(known.problem), solver.solve(known.problem)
    assert first.r.tobytes() == again.r.tobytes()
    assert first.iterations == again.iterations
    warm = solver.solve(known.problem, guess=first.r)
    assert warm.iterations <= first.iterations
    assert warm.status is first.status is (Status.SOLVED if registry.entry(name).exact else Status.RELAXED)


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
    with pytest.raises(KeyError, match=r"no solver 'nsg'; known: .*nsgs"):
        registry.make("nsg")


def test_a_solver_given_a_block_it_does_not_take_says_who_does(monkeypatch):
    picky = registry.Entry("picky", "stickslip.solvers.gauss_seidel", "GaussSeidel", frozenset({"free"}))
    monkeypatch.setitem(registry._TABLE, "picky", picky)
    with pytest.raises(ValueError, match=r"picky does not take rolling blocks; solvers that do: .*nsgs"):
        refuse_unknown_blocks("picky", KNOWN["rolling sphere"].problem)
