"""A run step by step is the run: the same bits as `simulate`, with inputs between steps."""

import numpy as np
import pytest
from kill_trials import same, system, world
from late_signals import every_place

import stickslip as ss

H = 1e-3


def linear():
    """A ball that bounces, no part of it written in Python."""
    ball = ss.Lagrangian("ball", M=1.0, q0=0.01, v0=-1.0, F_ext=-9.81)
    gap = ss.systems.LagrangianLinearRelation(C=[[1.0]])
    return ss.NonsmoothSystem([ball], [ss.Interaction("floor", "ball", gap, ss.NewtonImpact(e=0.9))])


@pytest.mark.parametrize("make", [world, system])
@pytest.mark.parametrize("many", [1, 7])
def test_steps_are_those_of_simulate(make, many):
    model = make()
    whole = ss.simulate(model, until=0.07, h=H, forces="solver")
    live = ss.live(model, h=H)
    while live.t < 0.07 - 0.5 * H:
        live.step(many)
    assert (live.steps, live.index) == (70, 70)
    run = live.run()
    same(run, whole)
    assert len(run) == 71
    assert live.state.q.tobytes() == whole.q[-1].tobytes()
    assert live.residual == whole.natural_scaled[-1]
    more = ss.simulate(model, until=0.09, start=live.checkpoint(), forces="solver")
    np.testing.assert_array_equal(more.q[-1], ss.simulate(model, until=0.09, h=H).q[-1])


@pytest.mark.parametrize("make", [world, system, linear])
@pytest.mark.parametrize("record", [1, 7])
def test_what_is_asked_between_steps_changes_nothing(make, record):
    model = make()
    whole = ss.simulate(model, until=147 * H, h=H, forces="solver", record=record)
    live = ss.live(model, h=H, record=record)
    for k in range(147):
        state = live.step()
        assert state is live.state
        assert (live.steps, live.index, live.t) == (k + 1, k + 1, (k + 1) * H)
        if k % 9 == 4:
            assert live.residual <= live.checkpoint().tolerance
        if k % 17 == 5:
            np.testing.assert_allclose(live.last_step.state.q, state.q, rtol=0.0, atol=1e-12)
    same(live.run(), whole)


@pytest.mark.parametrize("make", [world, linear])
def test_a_signal_in_a_step_comes_before_it_or_after_it(make):
    model = make()
    whole = ss.simulate(model, until=8 * H, h=H, forces="solver")

    def some(live):
        live.step()
        live.step()
        live.step(2)
        return live.residual

    for places in every_place(some):
        live = ss.live(model, h=H)
        live.step()
        with places:
            try:
                places.arm()
                some(live)
            except KeyboardInterrupt:
                assert places.sent
        live.step(8 - live.steps)
        same(live.run(), whole)


@pytest.mark.parametrize("record", [1, 7])
def test_energies_go_on_from_a_checkpoint(record):
    model, live = system(), ss.live(system(), h=H, record=record)
    live.step(500)
    more = ss.simulate(model, until=1.0, start=live.checkpoint())
    whole = ss.simulate(model, until=1.0, h=H)
    assert whole.contact_work[500] < 0.0
    assert more.contact_work[-1] == pytest.approx(whole.contact_work[-1], rel=1e-12)


def test_a_run_that_was_taken_does_not_grow():
    live = ss.live(world(), h=H)
    live.step(5)
    run = live.run()
    live.step(5)
    assert (len(run), len(live.run())) == (6, 11)


@pytest.mark.parametrize("record", [1, 4])
def test_the_problem_and_the_contacts_of_the_last_step(record):
    live = ss.live(world(), h=H, record=record)
    assert live.problem() is None
    assert len(live.contacts) == 0
    for _ in range(6):
        live.step()
        problem = live.problem()
        again = ss.solve(problem, tolerance=1e-8)
        assert again.ok
        contacts = live.contacts
        assert len(contacts) == len(live.last_step.contacts) == 4
        np.testing.assert_array_equal(contacts.r, live.last_step.r)
        assert live.residual == live.last_step.natural_scaled


def test_going_back_to_a_checkpoint_gives_the_same_bits():
    live = ss.live(world(), h=H)
    live.step(20)
    kept = live.checkpoint()
    live.step(30)
    first = live.state
    live.reset(kept)
    assert live.t == kept.state.t
    live.step(30)
    assert live.state.q.tobytes() == first.q.tobytes()
    live.reset()
    assert (live.t, live.steps, len(live.run())) == (0.0, 0, 1)


def arm(**given):
    builder = ss.WorldBuilder()
    builder.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 0, 0))
    builder.joint("knee", "hinge", "arm", point=(0, 0, 0), axis=(0, -1, 0))
    builder.force(ss.forces.Actuator("motor", "knee", **given))
    return builder.build()


def test_a_control_loop_holds_an_arm():
    """A proportional controller leaves the angle at which its moment is that of the weight."""
    live = ss.live(arm(), h=H)
    assert dict(live.inputs) == {"motor": 0.0}
    stiffness = 4000.0
    while live.t < 2.0:
        knee = live.joint("knee")
        live.inputs["motor"] = -stiffness * knee.position - 800.0 * knee.speed
        live.step()
    weight = 10.0 * 9.81
    angle = live.joint("knee").position
    assert stiffness * angle == pytest.approx(-0.5 * weight * np.cos(angle), rel=1e-3)
    joint = live.run().joint("knee")
    assert joint.angle[-1] == angle
    np.testing.assert_allclose(joint.force[-1], [0, 0, weight], atol=1e-3)
    with pytest.raises(ss.ModelError, match="unknown input 'moter'"):
        live.inputs["moter"] = 1.0
    with pytest.raises(TypeError, match="cannot be removed"):
        del live.inputs["motor"]


def test_an_input_at_its_default_is_the_constant():
    constant, live = ss.simulate(arm(effort=3.0), until=0.05, h=H), ss.live(arm(), h=H)
    live.inputs["motor"] = 3.0
    live.step(50)
    np.testing.assert_array_equal(live.state.q, constant.q[-1])


def test_discrete_parameters_are_the_inputs_of_systems():
    plant = ss.Lagrangian("mass", M=2.0, q0=0.0, F_ext=lambda t, z: z, z=[0.0])
    live = ss.live(ss.NonsmoothSystem([plant], []), h=0.1)
    live.step()
    assert live.state.v[0] == 0.0
    live.inputs["mass"] = 4.0
    live.step(10)
    assert live.state.v[0] == pytest.approx(2.0)
    np.testing.assert_array_equal(live.inputs["mass"], [4.0])
    with pytest.raises(ss.ModelError, match="expected 1 finite numbers, the discrete parameters z"):
        live.inputs["mass"] = [1.0, 2.0]


def test_a_live_run_is_written_too(tmp_path):
    live = ss.live(world(), h=H, out=tmp_path / "run.h5", flush=0.0)
    live.step(30)
    same(live.run(), ss.simulate(world(), until=0.03, h=H, forces="solver"))
    with pytest.raises(ss.ModelError, match="written to a file and cannot be reset"):
        live.reset()
    assert live.end(complete=True).complete


@pytest.mark.parametrize("n", [0, -3, 1.5, True])
def test_steps_are_counted_from_one(n):
    with pytest.raises(ss.ModelError, match="the number of steps must be a whole number from 1"):
        ss.live(world(), h=H).step(n)


def test_progress_may_take_the_status_of_the_run():
    told = []
    ss.simulate(world(), until=0.02, h=H, progress=lambda t, until, status: told.append(status))
    assert told[-1].t == pytest.approx(0.02)
    assert (told[-1].steps, told[-1].contacts) == (20, 4)
    assert 0.0 < told[-1].residual <= 1e-8


@pytest.mark.parametrize("flush", [-1.0, float("nan"), "soon"])
def test_the_time_between_two_writes_is_checked(flush):
    with pytest.raises(ss.ModelError, match="the time between two writes must be 0 s or more"):
        ss.live(world(), h=H, flush=flush)
