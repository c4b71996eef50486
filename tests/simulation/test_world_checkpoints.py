"""A run of a world goes on from any of its records, bit for bit, in memory and from files."""

import numpy as np
import pytest
from kill_trials import same, world
from step_worlds import linked

import stickslip as ss

H = 2e-3


def doors():
    """A door with a stop and friction in its hinge that a box slides against, and a pair of boxes."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.3, e=0.2)
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("door", ss.Cuboid((1.0, 0.1, 1.0)), position=(0.5, 0, 0.6))
    builder.joint(
        "hinge", "hinge", "door", point=(0, 0, 0.6), axis=(0, 0, 1), limits=(-0.1, 0.1), friction=0.2
    )
    builder.body("low", ss.Cuboid((0.4, 0.4, 0.4)), position=(0.7, -0.3, 0.2), velocity=(0, 2, 0))
    builder.body("high", ss.Cuboid((0.4, 0.4, 0.4)), position=(0.7, -0.3, 0.65), velocity=(0, 2, 0))
    return builder.build()


def rest_is(whole, rest, k):
    """Whether a run is what another is after record k."""
    for name in ("t", "q", "v", "index", "kinetic", "potential", "dissipated", "balance"):
        np.testing.assert_array_equal(getattr(rest, name)[1:], getattr(whole, name)[k + 1 :], err_msg=name)
    rows = slice(whole.contacts.at(k).stop, None)
    for name in ("id", "r", "choice", "gap"):
        np.testing.assert_array_equal(getattr(rest.contacts, name), getattr(whole.contacts, name)[rows])
    assert whole.memory.keys() == rest.memory.keys()
    for name, value in whole.memory.items():
        np.testing.assert_array_equal(rest.memory[name], value, err_msg=name)


@pytest.mark.parametrize("forces", ["least", "solver"])
@pytest.mark.parametrize("record", [1, 7])
@pytest.mark.parametrize("make", [world, doors])
def test_a_run_goes_on_from_any_record(make, record, forces, tmp_path):
    world = make()
    whole = ss.simulate(world, until=0.14, h=H, record=record, forces=forces, out=tmp_path / "out.h5")
    again = ss.simulate(world, until=0.14, h=H, record=record, forces=forces)
    same(whole, again)
    again.save(tmp_path / "saved.h5")
    for k in (0, 1, len(whole) // 2, len(whole) - 2):
        for run in (
            again,
            ss.read_trajectory(tmp_path / "out.h5"),
            ss.read_trajectory(tmp_path / "saved.h5"),
        ):
            start = run.checkpoint(k)
            rest_is(whole, ss.simulate(world, until=0.14, start=start, record=record, forces=forces), k)


@pytest.mark.parametrize("scheme", ["variational-bodies", "moreau-jean", "schatzman-paoli"])
def test_so_it_does_with_other_schemes(scheme, tmp_path):
    world, how = linked(3), {"h": H, "scheme": scheme, "forces": "solver"}
    whole = ss.simulate(world, until=0.04, out=tmp_path / "out.h5", **how)
    for run in (ss.simulate(world, until=0.04, **how), whole):
        for k in (0, 3, 11):
            rest_is(whole, ss.simulate(world, until=0.04, start=run.checkpoint(k), forces="solver"), k)


def arm():
    builder = ss.WorldBuilder()
    builder.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 0, 0))
    builder.joint("knee", "hinge", "arm", point=(0, 0, 0), axis=(0, -1, 0))
    builder.force(ss.forces.Actuator("motor", "knee"))
    return builder.build()


def driven(live, until):
    while live.t < until - 0.5 * H:
        if live.steps % 5 == 0:
            live.inputs["motor"] = -50.0 * np.sin(30.0 * live.t)
        live.step()


def test_inputs_are_recorded_and_are_as_they_were_where_a_run_goes_on(tmp_path):
    live = ss.live(arm(), h=H, out=tmp_path / "run.h5")
    driven(live, 0.05)
    run = live.end(complete=False)
    motor = run.inputs["motor"]
    assert motor.shape == (26,)
    np.testing.assert_array_equal(motor[1:], np.repeat(-50.0 * np.sin(30.0 * run.t[:-1:5]), 5))
    # 1. From a record within, with the input that was set before it.
    live = ss.live(arm(), start=run.checkpoint(13))
    assert live.inputs["motor"] == motor[13]
    live.step(2)
    np.testing.assert_array_equal(live.state.q, run.q[15])
    # 2. Back to a checkpoint, and back to the start.
    live.inputs["motor"] = 7.0
    live.reset(run.checkpoint(3))
    assert live.inputs["motor"] == motor[3]
    live.reset()
    assert live.inputs["motor"] == motor[13]
    # 3. In the file that was cut off.
    more = ss.simulate(arm(), until=0.06, start=run.checkpoint(), out=tmp_path / "run.h5", forces="solver")
    assert (more.inputs["motor"][25:] == motor[-1]).all()
    np.testing.assert_array_equal(more[:26].inputs["motor"], motor)


def test_discrete_parameters_are_inputs_of_a_run():
    plant = ss.Lagrangian("mass", M=2.0, q0=0.0, F_ext=lambda t, z: z, z=[0.0])
    live = ss.live(ss.NonsmoothSystem([plant], []), h=0.1)
    live.step()
    live.inputs["mass"] = 4.0
    live.step()
    assert live.run().inputs["mass"].tolist() == [[0.0], [0.0], [4.0]]


def test_an_input_that_the_world_has_not_is_named():
    live = ss.live(arm(), h=H)
    live.step()
    builder = ss.WorldBuilder()
    builder.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 0, 0))
    builder.joint("knee", "hinge", "arm", point=(0, 0, 0), axis=(0, -1, 0))
    with pytest.raises(ss.ModelError, match="unknown input 'motor'; this world has none"):
        ss.live(builder.build(), start=live.checkpoint())
