"""What runs prove: certified by the exact law, relaxed, or missed; in print, files and pictures alike."""

from typing import Any

import numpy as np
import pytest

import stickslip as ss
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.solvers import registry as solvers
from stickslip.view.browser.export import page_of
from stickslip.view.browser.stage import Stage
from stickslip.view.plots.histories import plot_residuals

EXACT = [True, "certified", False]
RELAXED = [False, "relaxed", True]


def skating(mu: float, mu_floor: float | None = None) -> ss.World:
    """A ball that slides on a floor."""
    builder = ss.WorldBuilder()
    builder.material("ball", mu=mu)
    builder.material("floor", mu=mu if mu_floor is None else mu_floor)
    builder.body("floor", ss.Plane(), fixed=True, material="floor")
    builder.body("ball", ss.Sphere(0.5), position=(0, 0, 0.5), velocity=(0.3, 0.2, 0), material="ball")
    return builder.build()


def sliding(mu: float, dimension: int = 3) -> ss.NonsmoothSystem:
    """A point that slides on a floor, in space or in a plane."""
    v0 = [0.0, 0.3, 0.2][:dimension]
    force = np.array([-9.81, 0.0, 0.0])[:dimension]
    point = ss.Lagrangian("point", M=np.eye(dimension), q0=np.zeros(dimension), v0=v0, F_ext=force)
    law = ss.NewtonImpact(e=0.0, mu=mu, dimension=dimension)
    return ss.NonsmoothSystem([point], [ss.Interaction("floor", "point", ss.Scleronomous(lambda q: q), law)])


def told(run: ss.Trajectory | ss.Trajectory) -> list[object]:
    """ok, verdict and relaxed of a run, if all steps agree."""
    assert run.ok[0], "no step led to the start"
    assert run.ok[1:].all() or not run.ok[1:].any()
    return [bool(run.ok[1:].all()), run.verdict.value, run.relaxed]


@pytest.mark.parametrize("contact", ["cone", "pyramid", "impact"])
@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_other_models_than_the_cone_are_relaxed_where_there_is_friction(contact, mu):
    wanted = EXACT if contact == "cone" or mu == 0.0 else RELAXED
    bodies = ss.simulate(
        skating(mu), until=0.02, h=0.01, scheme=ss.schemes.VariationalBodies(contact=contact)
    )
    written = ss.simulate(sliding(mu), until=0.02, h=0.01, scheme=ss.schemes.Variational(contact=contact))
    for run in (bodies, written):
        assert told(run) == wanted
        assert run.missed == 0
        assert wanted[1] in str(run)
        assert ("relaxed" in str(run)) == run.relaxed


def test_friction_of_bodies_that_never_touch_does_not_count():
    scheme = ss.schemes.VariationalBodies(contact="impact")
    run = ss.simulate(skating(0.5, mu_floor=0.0), until=0.02, h=0.01, scheme=scheme)
    assert told(run) == EXACT


def test_a_pyramid_in_the_plane_is_the_cone():
    cone, pyramid = (
        ss.simulate(sliding(0.5, 2), until=0.02, h=0.01, scheme=ss.schemes.Variational(contact=contact))
        for contact in ("cone", "pyramid")
    )
    assert told(pyramid) == EXACT
    np.testing.assert_array_equal(pyramid.q, cone.q)
    assert told(
        ss.simulate(sliding(0.5, 2), until=0.02, h=0.01, scheme=ss.schemes.Variational(contact="impact"))
    ) == (RELAXED)


def test_springs_are_relaxed_from_the_first_step_on():
    run = ss.simulate(sliding(0.0), until=0.02, h=0.01, scheme="compliant")
    assert told(run) == RELAXED
    assert "springs" in run.relaxation
    free = ss.NonsmoothSystem([ss.Lagrangian("point", M=1.0, q0=0.0, v0=1.0)], [])
    assert told(ss.simulate(free, until=0.02, h=0.01, scheme="compliant")) == EXACT


def falling(scheme: Any, record: int, **how: Any) -> ss.Trajectory:
    """A ball that lands on its way with friction."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.05)
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.5), position=(0, 0, 0.502), velocity=(0.3, 0.2, 0))
    how = {"until": 0.05, "h": 0.005, "on_failure": "accept"} | how
    return ss.simulate(builder.build(), scheme=scheme, record=record, **how)


@pytest.mark.parametrize("record", [1, 3])
@pytest.mark.parametrize(
    ("scheme", "solver"),
    [
        (ss.schemes.VariationalBodies(contact="pyramid"), "auto"),
        (ss.schemes.VariationalBodies(contact="impact"), "auto"),
        ("moreau-jean-semi-explicit", "apgd"),
    ],
)
def test_what_a_record_of_a_world_claims_does_not_depend_on_what_follows(scheme, solver, record):
    seen = []
    whole = falling(scheme, record, solver=solver, watch=lambda one: seen.append(one.verdict.code))
    assert whole.relaxed
    assert seen == whole.verdicts.tolist()
    for until in whole.t[1:-1].tolist():
        part = falling(scheme, record, solver=solver, until=until)
        np.testing.assert_array_equal(part.verdicts, whole.verdicts[: len(part)])

    def stop(one):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        falling(scheme, record, solver=solver, watch=stop)
    np.testing.assert_array_equal(caught.value.trajectory.verdicts, whole.verdicts[:1])


@pytest.mark.parametrize("scheme", ["compliant", ss.schemes.Variational(contact="pyramid")])
def test_what_a_record_of_a_system_claims_does_not_depend_on_what_follows(scheme):
    asked = 0

    def run(last=10**9):
        nonlocal asked
        asked = 0

        def force():
            nonlocal asked
            asked += 1
            if asked > last:
                raise KeyboardInterrupt
            return [-9.81, 0.0, 0.0]

        point = ss.Lagrangian("point", M=np.eye(3), q0=[1e-4, 0.0, 0.0], v0=[0.0, 0.3, 0.2], F_ext=force)
        law = ss.NewtonImpact(e=0.0, mu=0.5)
        floor = ss.Interaction("floor", "point", ss.Scleronomous(lambda q: q), law)
        return ss.simulate(ss.NonsmoothSystem([point], [floor]), until=0.02, h=0.005, scheme=scheme)

    whole, lengths = run(), set()
    assert whole.relaxed
    for last in np.unique(np.linspace(0, asked - 1, 40, dtype=int)).tolist():
        with pytest.raises(KeyboardInterrupt) as caught:
            run(last)
        part = getattr(caught.value, "trajectory", None)
        if part is not None:
            lengths.add(len(part))
            np.testing.assert_array_equal(part.verdicts, whole.verdicts[: len(part)])
    assert {1, len(whole) - 1} <= lengths


def test_a_run_is_relaxed_if_one_of_its_schemes_is():
    exact, soft = (ss.Lagrangian(name, M=1.0, q0=0.0, F_ext=-9.81) for name in ("exact", "soft"))
    floors = [
        ss.Interaction(f"under {one.name}", one.name, ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.0))
        for one in (exact, soft)
    ]
    system = ss.NonsmoothSystem([exact, soft], floors)
    scheme = {"exact": "moreau-jean", "soft": "compliant"}
    assert told(ss.simulate(system, until=0.02, h=0.01, scheme=scheme)) == RELAXED


@pytest.mark.parametrize("solver", ["apgd", "bb"])
def test_answers_of_the_relaxation_make_a_run_relaxed(solver):
    for model in (sliding(0.5), skating(0.5)):
        run = ss.simulate(model, until=0.02, h=0.01, solver=solver, tolerance=1e-9)
        assert (run.verdict, run.relaxed, run.missed) == (Verdict.RELAXED, True, 0)
        assert not run.ok[1]
        assert "convex relaxation" in run.relaxation


def test_missed_steps_are_missed_and_not_relaxed():
    once = solvers.make("nsgs", tolerance=1e-300, max_iterations=1)
    run = ss.simulate(sliding(0.5), until=0.02, h=0.01, solver=once, on_failure="accept")
    assert (run.verdict, run.relaxed) == (Verdict.MISSED, False)
    assert run.missed == 2
    assert "2 of 2 steps are not certified" in str(run)


@pytest.mark.parametrize("relaxed", [False, True])
def test_files_say_it(tmp_path, relaxed):
    contact = "pyramid" if relaxed else "cone"
    runs = (
        ss.simulate(skating(0.5), until=0.02, h=0.01, scheme=ss.schemes.VariationalBodies(contact=contact)),
        ss.simulate(sliding(0.5), until=0.02, h=0.01, scheme=ss.schemes.Variational(contact=contact)),
    )
    for run in runs:
        path = tmp_path / "run.h5"
        run.save(path)
        back = ss.read_trajectory(path)
        assert told(back) == told(run) == (RELAXED if relaxed else EXACT)
        assert back.relaxation == run.relaxation


def test_pictures_say_it():
    run = ss.simulate(
        skating(0.5), until=0.02, h=0.01, scheme=ss.schemes.VariationalBodies(contact="pyramid")
    )
    assert Stage.of(run).frame(-1).readout.verdict is Verdict.RELAXED
    assert run.at(-1).verdict is Verdict.RELAXED
    assert "relaxed, pyramids" in page_of(run)
    assert "relaxed" in run._repr_html_()
    figure = plot_residuals(run)
    assert "relaxed" in figure.title
    assert "missed" not in [curve.name for curve in figure.panels[0].curves]


def test_solutions_and_steps_have_verdicts():
    assert ss.Status.SOLVED.verdict is Verdict.CERTIFIED
    assert {ss.Status.RELAXED.verdict, ss.Status.APPROXIMATE.verdict} == {Verdict.RELAXED}
    assert ss.Status.STALLED.verdict is ss.Status.INFEASIBLE.verdict is Verdict.MISSED
    system, scheme = sliding(0.5), registry.make("variational", contact="pyramid")
    state = ss.State(0.0, system.q0, system.v0, system.z0)
    step = scheme.step(
        system, state, scheme.begin(system, state, 0.01), 0.01, solvers.make("auto", tolerance=1e-10)
    )
    assert (step.solved, step.ok, step.verdict) == (True, False, Verdict.RELAXED)
