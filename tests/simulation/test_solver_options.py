"""The solver of a run by name and options, and as an object: the same bits, and every law it can be told."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problem.solution import Verdict
from stickslip.solvers.cone_point import ALGORITHMS

EXACT, RELAXED = Verdict.CERTIFIED, Verdict.RELAXED


def sliding_box(angle: float = 0.3) -> ss.World:
    """A box on a floor, sent at 1 m/s at an angle to x."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.5)
    builder.body("floor", ss.Plane(), fixed=True)
    velocity = (np.cos(angle), np.sin(angle), 0.0)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=velocity)
    return builder.build()


@pytest.mark.parametrize(
    ("name", "cls", "options", "verdict"),
    [
        *(("ipm", "InteriorPoint", {"algorithm": each}, EXACT) for each in ALGORITHMS),
        ("ipm", "InteriorPoint", {"law": "relaxed"}, RELAXED),
        ("nsgs", "NSGS", {"max_iterations": 9999}, EXACT),
        ("clarabel", "Clarabel", {"formulation": "primal"}, EXACT),
        ("scs", "SCS", {"tolerance": 1e-7}, EXACT),
        ("clarabel", "Clarabel", {"facets": 6}, RELAXED),
        ("piqp", "PIQP", {"facets": 8}, RELAXED),
    ],
)
def test_name_and_options_give_the_bits_of_the_object(name, cls, options, verdict):
    world = sliding_box()
    named = ss.simulate(world, until=0.01, h=5e-3, solver=name, solver_options=options)
    made = ss.simulate(world, until=0.01, h=5e-3, solver=getattr(ss.solvers, cls)(**options))
    stepped = ss.live(world, h=5e-3, solver=name, solver_options=options)
    stepped.step(2)
    assert named.verdict is verdict
    assert named.solver == made.solver == stepped.run().solver
    for run in (made, stepped.run()):
        np.testing.assert_array_equal(run.q, named.q)
        np.testing.assert_array_equal(run.v, named.v)


def test_kappa_relaxes_a_run_by_as_much_as_it_is():
    exact = ss.simulate(sliding_box(), until=0.02, h=5e-3, scheme="variational").q[-1]
    errors = []
    for kappa in (1e-3, 1e-4, 1e-5):
        how = {"scheme": "variational", "solver": "ipm-step", "solver_options": {"kappa": kappa}}
        run = ss.simulate(sliding_box(), until=0.02, h=5e-3, **how)
        assert run.verdict is RELAXED
        errors.append(np.abs(run.q[-1] - exact).max())
    assert errors[0] > 3.0 * errors[1] > 9.0 * errors[2] > 0.0


def test_the_default_solver_takes_kappa(tmp_path):
    """The bits of ipm-step; and a run that goes on with it."""
    how = {"scheme": "variational", "solver_options": {"kappa": 1e-4}}
    run = ss.simulate(sliding_box(), until=0.02, h=5e-3, **how)
    step = ss.simulate(sliding_box(), until=0.02, h=5e-3, solver="ipm-step", **how)
    assert run.verdict is RELAXED
    assert run.relaxation == "the law smoothed with kappa = 0.0001"
    np.testing.assert_array_equal(run.q, step.q)
    ss.simulate(sliding_box(), until=0.01, h=5e-3, **how).save(tmp_path / "run.h5")
    rest = ss.simulate(sliding_box(), until=0.02, start=ss.read_trajectory(tmp_path / "run.h5").checkpoint())
    np.testing.assert_array_equal(rest.q[-1], run.q[-1])
    assert rest.verdict is RELAXED


@pytest.mark.parametrize("scheme", [None, "moreau-jean", "event-driven"])
def test_schemes_without_smoothed_steps_say_so(scheme):
    """Before the run begins, for worlds and for systems; and for a problem."""
    words = r"Auto with kappa = 0.0001 solves whole steps, which scheme='variational' makes of worlds"
    with pytest.raises(ss.ModelError, match=words):
        ss.simulate(sliding_box(), until=0.02, h=5e-3, scheme=scheme, solver_options={"kappa": 1e-4})
    with pytest.raises(ss.ModelError, match="or another solver"):
        ss.simulate(sliding_box().as_system(), until=0.02, h=5e-3, scheme="variational", solver="ipm-step")
    with pytest.raises(ss.ProblemError, match="leave kappa out"):
        ss.solve(ss.scenes.make("incline-problem"), kappa=1e-4)


def test_a_run_goes_on_with_the_options_of_its_solver(tmp_path):
    world, options = sliding_box(), {"algorithm": "nt-f", "polish": 7}
    whole = ss.simulate(world, until=0.02, h=5e-3, solver="ipm", solver_options=options)
    half = ss.simulate(world, until=0.01, h=5e-3, solver="ipm", solver_options=options)
    half.save(tmp_path / "half.h5")
    rest = ss.simulate(world, until=0.02, start=ss.read_trajectory(tmp_path / "half.h5").checkpoint())
    assert rest.solver == whole.solver == "ipm(algorithm='nt-f', polish=7)"
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])
    other = ss.simulate(world, until=0.02, start=half.checkpoint(), solver_options={"polish": 8})
    assert other.solver == "ipm(algorithm='nt-f', polish=8)"


@pytest.mark.parametrize(
    ("how", "error", "words"),
    [
        ({"solver": "ipm", "solver_options": {"algoritm": "nt-f"}}, TypeError, "no option 'algoritm'; it"),
        ({"solver_options": {"facets": 6}}, TypeError, "auto has no option 'facets'; it has: tol"),
        ({"solver": "nsgs", "solver_options": {"kappa": 1e-3}}, TypeError, "that have it: auto, ipm-step"),
        ({"solver_options": {"kappa": 1e-3}}, ss.ModelError, "Auto with kappa = 0.001 solves whole steps"),
        ({"solver": ss.solvers.NSGS(), "solver_options": {"tolerance": 1e-3}}, TypeError, "its options"),
        ({"tolerance": 1e-6, "solver_options": {"tolerance": 1e-3}}, TypeError, "tolerance is given twice"),
        ({"solver": "ipm", "solver_options": {"law": "exakt"}}, ValueError, "law must be one of"),
    ],
)  # fmt: skip
def test_wrong_options_are_errors_before_the_first_step(how, error, words):
    for verb in (
        lambda **given: ss.simulate(sliding_box(), until=0.1, **given),
        lambda **given: ss.live(sliding_box(), **given),
    ):
        with pytest.raises(error, match=words):
            verb(h=5e-3, **how)


def test_a_step_that_misses_the_other_law_is_missed():
    options = {"law": "relaxed", "max_iterations": 1, "polish": 0}
    with pytest.raises(ss.SimulationFailure):
        ss.simulate(sliding_box(), until=0.01, h=5e-3, solver="ipm", solver_options=options)
