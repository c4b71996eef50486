"""Of many certified impulses records tell those of least norm; the motion does not depend on it."""

from dataclasses import fields

import numpy as np
import pytest

import stickslip as ss
from stickslip.problem.residuals import judge
from stickslip.view.browser.export import page_of
from stickslip.view.browser.stage import Stage

G, H, MASS = 9.81, 0.01, 1000.0
WEIGHT = MASS * G


def boxed(speed: float = 0.0, push: float = 0.0, **options) -> ss.World:
    """A box of 1 m³ and 1000 kg on a floor, that slides at first, or is pushed along x at its foot."""
    builder = ss.WorldBuilder()
    builder.material("stone", mu=0.5, **options)
    builder.body("floor", ss.Plane(), fixed=True, material="stone")
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(speed, 0, 0), density=MASS,
                 material="stone")  # fmt: skip
    if push:
        builder.force(ss.forces.BodyForce("push", "box", force=(push, 0, 0), point=(0, 0, 0)))
    return builder.build()


def last(run: ss.Trajectory) -> np.ndarray:
    """Forces N, T1, T2 of the contacts of the last record [N], shape (nc, 3)."""
    return run.contacts.r[run.contacts.at(-1), :3] / H


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_a_stopped_box_has_no_friction_and_a_quarter_of_its_weight_at_each_corner(scheme):
    run = ss.simulate(boxed(speed=0.1), until=0.08, h=H, scheme=scheme)
    assert np.abs(run.v[-1]).max() < 1e-9, "it has stopped"
    forces = last(run)
    np.testing.assert_allclose(forces[:, 0], WEIGHT / 4, rtol=1e-6)
    np.testing.assert_allclose(forces[:, 1:], 0.0, atol=1e-6 * WEIGHT)
    table = run.contact_table("box")
    assert set(table.unique[-4:]) == {"no"}
    assert "unique" in str(table)
    assert "of least norm where several are certified" in str(run)


def test_a_push_is_split_evenly_over_the_corners():
    run = ss.simulate(boxed(push=1.0), until=0.03, h=H)
    force = run.contact_table("box").force[-4:]
    np.testing.assert_allclose(force.sum(axis=0), [-1.0, 0.0, WEIGHT], atol=1e-6 * WEIGHT)
    np.testing.assert_allclose(force[:, 0], -0.25, atol=1e-4)


@pytest.mark.parametrize("scheme", ["moreau-jean-semi-explicit", "variational"])
def test_the_motion_is_the_same_bit_for_bit_and_so_is_what_goes_on_from_it(scheme):
    least, solver = (
        ss.simulate(boxed(speed=0.1), until=0.06, h=H, scheme=scheme, forces=forces)
        for forces in ("least", "solver")
    )
    assert (least.forces, solver.forces) == ("least", "solver")
    for name in ("q", "v", "kinetic", "potential", "dissipated", "iterations"):
        np.testing.assert_array_equal(getattr(least, name), getattr(solver, name), err_msg=name)
    for name, value in solver.memory.items():
        np.testing.assert_array_equal(least.memory[name], value, err_msg=name)
    assert not solver.contacts.choice.any()
    assert set(solver.contact_table().unique) == {"unknown"}
    np.testing.assert_array_equal(least.natural_scaled, solver.natural_scaled)
    assert least.ok.all()
    half = ss.simulate(boxed(speed=0.1), until=0.03, h=H, scheme=scheme)
    again = ss.simulate(boxed(speed=0.1), until=0.06, start=half.checkpoint())
    np.testing.assert_array_equal(again.q[-1], least.q[-1])
    np.testing.assert_array_equal(
        again.contacts.r[again.contacts.at(-1)], least.contacts.r[least.contacts.at(-1)]
    )


def test_only_recorded_steps_are_asked():
    every, third = (ss.simulate(boxed(speed=0.1), until=0.06, h=H, record=record) for record in (1, 3))
    np.testing.assert_array_equal(third.q, every.q[::3])
    np.testing.assert_array_equal(last(third), last(every))


def test_a_ball_has_the_one_force_that_there_is():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.5), position=(0, 0, 0.5), velocity=(1, 0, 0))
    least, solver = (ss.simulate(builder.build(), until=0.03, h=H, forces=f) for f in ("least", "solver"))
    assert set(least.contact_table().unique) == {"yes"}
    np.testing.assert_array_equal(least.contacts.r, solver.contacts.r)


def test_poissons_impact_keeps_the_impulses_of_the_solver():
    scheme = ss.schemes.SemiExplicitMoreauJean(impact="poisson")
    builder = ss.WorldBuilder()
    builder.material("stone", mu=0.5, e=0.5)
    builder.body("floor", ss.Plane(), fixed=True, material="stone")
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(0, 0, -1), material="stone")
    run = ss.simulate(builder.build(), until=H, h=H, scheme=scheme)
    assert set(run.contact_table().unique) == {"unknown"}


def test_a_misspelt_choice_is_refused_at_once():
    with pytest.raises(ss.ModelError, match="forces is 'leats'; known: least, solver; did you mean 'least'"):
        ss.simulate(boxed(), until=0.02, h=H, forces="leats")
    with pytest.raises(ss.ModelError, match="forces is 3"):
        ss.simulate(feet(), until=0.02, h=H, forces=3)


def test_files_keep_the_choice(tmp_path):
    for run in (ss.simulate(boxed(0.1), until=0.02, h=H), ss.simulate(feet(), until=0.02, h=H)):
        path = tmp_path / "run.h5"
        run.save(path)
        back = ss.read_trajectory(path)
        holder, kept = (run.contacts, back.contacts) if run.of_world else (run, back)
        np.testing.assert_array_equal(kept.choice, holder.choice)
        np.testing.assert_array_equal(kept.r, holder.r)
        assert back.forces == "least"


def test_viewers_say_which_forces_are_one_of_many():
    run = ss.simulate(boxed(), until=H, h=H)
    stage = Stage.of(run)
    frame = stage.frame(-1)
    assert (frame.arrow_colours > frame.colours).any(), "pale"
    assert frame.readout.many == 4
    assert "pale arrows" in page_of(run)


def feet(speed: float = 0.0, push: float = 0.0) -> ss.NonsmoothSystem:
    """A box in the plane, of 2 kg, on two feet with friction, written as equations."""
    box = ss.Lagrangian(
        "box",
        M=np.diag([2.0, 2.0, 0.3]),
        q0=[0.0, 0.2, 0.0],
        v0=[speed, 0, 0],
        F_ext=[push, -2 * G, 0.2 * push],
    )
    H_rows = {side: np.array([[0.0, 1.0, side], [1.0, 0.0, 0.2]]) for side in (-0.5, 0.5)}
    ties = [
        ss.Interaction(
            name, "box", ss.systems.LagrangianLinearRelation(C=H_rows[side], e=[-0.2, 0.0]),
            ss.NewtonImpact(e=0.0, mu=0.5, dimension=2),
        )
        for name, side in (("left", -0.5), ("right", 0.5))
    ]  # fmt: skip
    return ss.NonsmoothSystem([box], ties)


@pytest.mark.parametrize("scheme", ["moreau-jean", "variational"])
@pytest.mark.parametrize("record", [1, 2])
def test_written_equations_tell_the_least_when_they_are_asked(scheme, record):
    least, solver = (
        ss.simulate(feet(0.1), until=0.08, h=H, scheme=scheme, record=record, forces=forces)
        for forces in ("least", "solver")
    )
    np.testing.assert_array_equal(least.q, solver.q)
    np.testing.assert_array_equal(least.v, solver.v)
    np.testing.assert_array_equal(least.solver_r, solver.r)
    force = np.stack([least.interaction(name).r[-1] for name in ("left", "right")]) / (record * H)
    np.testing.assert_allclose(force, [[G, 0.0], [G, 0.0]], atol=1e-4)
    assert not least.interaction("left").unique[-1].any()
    assert not solver.interaction("left").unique.any(), "not known"


def test_a_push_on_written_equations_is_split_evenly():
    run = ss.simulate(feet(push=1.0), until=H, h=H)
    np.testing.assert_allclose(
        [run.interaction(name).r[-1, 1] / H for name in ("left", "right")], -0.5, atol=1e-4
    )


def test_written_equations_with_independent_rows_have_the_one_answer():
    ball = ss.Lagrangian("ball", M=1.0, q0=0.0, F_ext=-G)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    run = ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=0.05, h=H)
    assert run.interaction("floor").unique.all()
    np.testing.assert_array_equal(run.r, run.solver_r)


def test_solve_selects_the_least_and_refuses_what_has_none():
    problem = ss.simulate(boxed(0.1), until=H, h=H, forces="solver")
    assert problem.ok.all()
    W, law = np.ones((2, 2)), ss.problem.nonnegative(2)
    twice = ss.ContactProblem(W, [-1.0, -1.0], law)
    found = ss.solve(twice, select="least")
    np.testing.assert_allclose(found.r, [0.5, 0.5], atol=1e-8)
    assert found.selection == "least"
    assert found.unique.tolist() == [False, False]
    assert "of least norm" in str(found)
    single = ss.solve(ss.ContactProblem(np.eye(2), [-1.0, -1.0], law), select="least")
    assert single.unique.all()
    with pytest.raises(ValueError, match="select is 'leats'; known: any, least; did you mean 'least'"):
        ss.solve(twice, select="leats")
    with pytest.raises(ss.ProblemError, match="not for a BoxProblem"):
        ss.solve(ss.problem.lcp([[1.0]], [-1.0]), select="least")


def test_every_field_of_a_step_that_is_told_is_that_of_the_step_but_its_forces():
    from stickslip.schemes.body_forces import with_least_forces
    from stickslip.solvers import registry as solvers
    from stickslip.solvers.selection import least_of_many

    world, scheme = boxed(0.1), ss.schemes.SemiExplicitMoreauJean()
    memory = scheme.begin(world, world.start, H)
    step = scheme.step(world, world.start, memory, H, solvers.make("auto", tolerance=1e-8))
    told = with_least_forces(step, least_of_many)
    kept = [one.name for one in (*fields(step), *fields(step.bodies)) if one.name != "bodies"]
    changed = {name for name in kept if getattr(told, name) is not getattr(step, name)}
    assert changed == {"r", "joint_r", "choice"}
    problem = step.solves[0].problem
    assert judge(problem, told.r[:, :3].reshape(-1), step.solves[0].v).solved(1e-8)


def test_a_part_chooses_for_its_own_records():
    whole = ss.simulate(boxed(0.1), until=0.04, h=H)
    part = whole[2:4]
    r, states = part.contacts.r, part.contact_states
    assert "contacts" not in whole._known
    rows = slice(whole.contacts.at(2).start, whole.contacts.at(3).stop)
    np.testing.assert_array_equal(r, whole.contacts.r[rows])
    np.testing.assert_array_equal(states, whole.contact_states[rows])


def test_steps_that_the_clock_does_not_make_are_chosen_as_they_are_made():
    run = ss.simulate(boxed(0.1), until=0.035, h=H)  # the last step is shorter
    assert run.raw_contacts.choice.tolist() == [0] * 12 + [2] * 4
    assert run.contacts.choice.tolist() == [2] * 16


@pytest.mark.parametrize("record", [1, 3])
def test_inputs_that_change_between_records_are_those_of_the_forces(record):
    """The friction of the corners carries a push that is another one in every step."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), density=MASS)
    builder.force(ss.forces.BodyForce("push", "box", force=ss.forces.Input(), point=(0, 0, -0.5)))
    live = ss.live(builder.build(), h=H, forces="least", record=record)
    for k in range(12):
        live.inputs["push"] = (10.0 * k, 0.0, 0.0)
        live.step()
    run = live.run()
    np.testing.assert_array_equal(
        run.inputs["push"][1:, 0], 10.0 * (record * np.arange(1, 12 // record + 1) - 1)
    )
    assert set(run.contacts.choice.tolist()) == {2}
    force = run.contact_table("box").force.reshape(-1, 4, 3).sum(axis=1)
    np.testing.assert_allclose(force[:, 0], -run.inputs["push"][1:, 0], atol=1e-6 * WEIGHT)


def test_a_run_that_is_watched_tells_the_same():
    seen = []
    watched = ss.simulate(boxed(0.1), until=0.03, h=H, watch=lambda record: seen.append(record.contacts.r))
    run = ss.simulate(boxed(0.1), until=0.03, h=H)
    np.testing.assert_array_equal(np.concatenate(seen), run.contacts.r)
    np.testing.assert_array_equal(watched.contacts.r, run.contacts.r)
    np.testing.assert_array_equal(watched.contacts.choice, run.contacts.choice)
    np.testing.assert_array_equal(watched.natural, run.natural)


@pytest.mark.parametrize("make", [lambda: boxed(0.1), lambda: feet(0.1)])
def test_files_that_are_written_meanwhile_choose_when_they_are_asked(make, tmp_path):
    whole = ss.simulate(make(), until=0.06, h=H)
    run = ss.simulate(make(), until=0.06, h=H, out=tmp_path / "run.h5")
    holder = (lambda one: one.contacts) if run.of_world else (lambda one: one)
    for part in (slice(None), slice(2, 5), slice(None, None, 2)):
        for name in ("r", "choice"):
            np.testing.assert_array_equal(
                getattr(holder(run[part]), name), getattr(holder(whole[part]), name)
            )
    raw = run.raw_contacts if run.of_world else run
    assert not (raw.choice if run.of_world else run.recorded("choice")).any()
    run.save(tmp_path / "chosen.h5")
    chosen = ss.read_trajectory(tmp_path / "chosen.h5")
    assert chosen.choose is None
    np.testing.assert_array_equal(holder(chosen).r, holder(whole).r)
    np.testing.assert_array_equal(holder(chosen).choice, holder(whole).choice)
