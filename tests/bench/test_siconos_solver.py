"""Siconos as a solver of runs: the same motion as ours, certified by our judge."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.bench import SiconosSolver
from stickslip.bench.siconos import solver as module
from stickslip.bench.siconos.process import Found, find_siconos
from stickslip.extras import MissingPackage
from stickslip.problem.solution import Verdict
from stickslip.solvers import registry

present = pytest.mark.skipif(not find_siconos(), reason="Siconos was not found")


def sliding() -> ss.World:
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.5)
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(1, 0.3, 0))
    return builder.build()


@present
@pytest.mark.parametrize("method", ["nsgs", "nsn-ac"])
def test_a_run_by_siconos_is_certified_and_the_same(method):
    ours = ss.simulate(sliding(), until=0.02, h=5e-3)
    theirs = ss.simulate(sliding(), until=0.02, h=5e-3, solver=SiconosSolver(method=method))
    assert theirs.verdict is Verdict.CERTIFIED
    np.testing.assert_allclose(theirs.q[-1], ours.q[-1], atol=1e-8)
    named = ss.simulate(sliding(), until=0.02, h=5e-3, solver=f"siconos-{method}")
    assert named.solver == theirs.solver == f"siconos-{method}"
    np.testing.assert_array_equal(named.q, theirs.q)


@present
def test_other_problems_go_through_their_own_solvers():
    lcp = ss.problem.lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0, -6.0])
    solver = SiconosSolver(method="lemke", tolerance=1e-10)
    for _ in range(2):  # by one process
        np.testing.assert_allclose(ss.solve(lcp, solver).or_raise().r, [4.0 / 3.0, 7.0 / 3.0])
    with pytest.raises(
        ss.ProblemError, match=r"siconos-lemke does not take .*; solvers of Siconos that do: siconos-nsgs"
    ):
        ss.solve(ss.ContactProblem(np.eye(5), -np.ones(5), ss.problem.rolling([0.5], [0.1])), solver)


def test_where_siconos_is_absent_it_is_said(monkeypatch):
    monkeypatch.setattr(module, "find_siconos", lambda: Found(None, "", ("python3: no module",)))
    for solver in ("siconos-lemke", SiconosSolver(method="lemke")):
        with pytest.raises(MissingPackage, match=r"Siconos was not found; .*; tried python3: no module"):
            ss.solve(ss.problem.lcp([[1.0]], [-1.0]), solver)
    for verb in (
        lambda **how: ss.simulate(sliding(), until=0.02, **how),
        lambda **how: ss.live(sliding(), **how),
    ):
        with pytest.raises(MissingPackage, match="siconos-nsgs: Siconos was not found"):
            verb(h=5e-3, solver="siconos-nsgs")
    with pytest.raises(ValueError, match="method must be one of"):
        SiconosSolver(method="magic")


def test_names_stand_for_methods_and_runs_tell_them():
    made = registry.make("siconos-nsn-ac", tolerance=1e-6, timeout=5.0)
    assert made == SiconosSolver(method="nsn-ac", tolerance=1e-6, timeout=5.0)
    assert registry.described(made) == "siconos-nsn-ac(timeout=5.0)"
    assert registry.remade("siconos-nsn-ac(timeout=5.0)") == ("siconos-nsn-ac", {"timeout": 5.0})
    assert "method" not in {spec.name for spec in registry.entry("siconos-prox").options}
    with pytest.raises(TypeError, match="siconos-prox has no option 'method'"):
        registry.make("siconos-prox", method="nsgs")
    with pytest.raises(KeyError, match=r"unknown solver 'siconos-nsg'; .*siconos-nsgs"):
        registry.make("siconos-nsg")
