"""Inputs: a default is the constant; a value that is set is the world built with it, others stay."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.kernels.jit import entry
from stickslip.mechanics.inputs import Input, with_inputs
from stickslip.schemes import body_march
from stickslip.schemes.body_march import BodyMarch
from stickslip.solvers import registry
from stickslip.state import ModelError, UnknownNameError

MOTION = (0.1, 0.0, 0.0, 0.0, 0.0, 0.5)
AIR = (0.0, 0.0, 1.0)


def machine(motor, push, turn, belt, joint=True):
    """An arm with a motor, a box that is pushed and turned, and a belt that carries it."""
    b = ss.WorldBuilder()
    b.body("belt", ss.Plane(), motion=belt)
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1), mass=2.0)
    if joint:
        b.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 5, 2), mass=1.0)
        b.joint("knee", "hinge", "arm", point=(0, 5, 2), axis=(0, 1, 0))
        b.force(ss.forces.BodyForce("air", "arm", force=lambda t: AIR))
        b.force(ss.forces.Actuator("motor", "knee", motor))
    b.force(ss.forces.BodyForce("lift", "box", force=(0, 0, 0.1)))
    b.force(ss.forces.BodyForce("push", "box", force=push, moment=turn, point=(0, 0, 0.2)))
    return b.build()


def pair(six):
    return tuple(six[:3]), tuple(six[3:])


def same(a, b):
    np.testing.assert_array_equal(a.q, b.q)
    np.testing.assert_array_equal(a.v, b.v)


@pytest.mark.parametrize("joint", [True, False])
def test_a_default_is_the_constant(joint):
    push, turn = (1.0, 2.0, 0.0), (0.0, 0.0, 0.3)
    declared = machine(Input(0.7), Input(push), Input(turn), Input(MOTION), joint)
    given = machine(0.7, push, turn, pair(MOTION), joint)
    same(ss.simulate(declared, until=0.05, h=1e-3), ss.simulate(given, until=0.05, h=1e-3))
    assert list(given.inputs) == []
    assert [*declared.inputs] == ["motor"] * joint + ["push", "belt"]
    assert declared.inputs["push"].unit == "N, N m"
    np.testing.assert_array_equal(declared.inputs["push"].default, [*push, *turn])
    np.testing.assert_array_equal(declared.inputs["belt"].default, MOTION)
    assert "inputs" in str(declared)


def test_an_actuator_without_an_effort_and_an_input_without_a_default_are_zero():
    b = ss.WorldBuilder()
    b.body("arm", ss.Sphere(0.1))
    b.joint("rail", "slider", "arm", axis=(1, 0, 0))
    b.force(ss.forces.Actuator("motor", "rail"))
    b.force(ss.forces.BodyForce("push", "arm", moment=Input()))
    world = b.build()
    assert world.inputs["motor"].unit == "N"
    assert world.inputs["push"].unit == "N m"
    assert float(world.inputs["motor"].default) == 0.0
    np.testing.assert_array_equal(world.inputs["push"].default, np.zeros(3))


SET = {
    "motor": {"motor": -0.4},
    "push": {"push": (3.0, 0.0, 0.0, 0.0, 0.1, 0.0)},
    "belt": {"belt": (0.0, 0.2, 0.0, 0.0, 0.0, -0.1)},
    "all": {"motor": 0.9, "push": (0.0, 1.0, 0.0, 0.0, 0.0, 0.2), "belt": np.zeros(6)},
}


@pytest.mark.parametrize("joint", [True, False])
@pytest.mark.parametrize("values", SET.values(), ids=list(SET))
def test_values_that_are_set_make_the_world_that_has_them(values, joint):
    if not joint and "motor" in values:
        values = {name: value for name, value in values.items() if name != "motor"}
    whole = {"motor": 0.7, "push": (1.0, 2.0, 0.0, 0.0, 0.0, 0.3), "belt": MOTION} | values
    start = machine(Input(0.7), Input((1.0, 2.0, 0.0)), Input((0.0, 0.0, 0.3)), Input(MOTION), joint)
    force, moment = pair(whole["push"])
    wanted = machine(whole["motor"], force, moment, pair(whole["belt"]), joint)
    prepared = ss.schemes.PreparedWorld(start)
    untouched = ss.simulate(start, until=0.01, h=1e-3)
    made = prepared.with_inputs({"push": np.ones(6)}).with_inputs(values)
    made = made.with_inputs({"push": whole["push"]})
    scheme, solver = ss.schemes.SemiExplicitMoreauJean(), registry.make("auto", tolerance=1e-8)
    for one, other in ((made, wanted), (prepared, start)):
        memory = scheme.begin(other, start.start, 1e-3)
        a = scheme.step(one, start.start, memory, 1e-3, solver)
        b = scheme.step(other, start.start, memory, 1e-3, solver)
        same(a.state, b.state)
        assert a.energy == b.energy
    state = start.start
    same(
        ss.simulate(made.world, until=0.01, h=1e-3, start=state),
        ss.simulate(wanted, until=0.01, h=1e-3, start=state),
    )
    same(ss.simulate(start, until=0.01, h=1e-3), untouched)
    assert made.detector is prepared.detector
    assert start.inputs is made.world.inputs


def test_inputs_of_pushes_and_motions_leave_steps_compiled():
    world = machine(None, Input(), Input(), Input(MOTION), joint=False)
    prepared = ss.schemes.PreparedWorld(world).with_inputs({"push": np.ones(6)})
    assert not prepared.world.forces.need_python
    solver = registry.make("auto", tolerance=1e-8)
    plain = machine(None, AIR, AIR, pair(MOTION), joint=False)
    ours = BodyMarch.of(prepared, ss.schemes.SemiExplicitMoreauJean(), solver)
    theirs = BodyMarch.of(ss.schemes.PreparedWorld(plain), ss.schemes.SemiExplicitMoreauJean(), solver)
    assert (ours is None) == (theirs is None)


@pytest.mark.parametrize("by", ["effort", "mass", "v"])
def test_derivatives_take_an_input_as_the_constant_that_it_is(by):
    push, turn = (1.0, 2.0, 0.0), (0.0, 0.0, 0.3)
    declared = ss.schemes.PreparedWorld(machine(Input(), Input(), Input(turn), Input(MOTION)))
    made = declared.with_inputs({"motor": 0.7, "push": (*push, *turn)})
    given = machine(0.7, push, turn, pair(MOTION))
    found, wanted = ss.differentiate(made, h=1e-3), ss.differentiate(given, h=1e-3)
    np.testing.assert_array_equal(found.jacobian("v", by), wanted.jacobian("v", by))
    np.testing.assert_array_equal(made.parameters.effort, [0.7])


WRONG = {
    "unknown input 'moter'; known: motor, push, belt; did you mean 'motor'": {"moter": 1.0},
    "input 'motor': its value has shape": {"motor": (1.0, 2.0)},
    "input 'push': its value has shape": {"push": 1.0},
    "input 'belt': its value\\[2\\] is nan": {"belt": (0, 0, np.nan, 0, 0, 0)},
    "input 'motor': its value is 'fast'": {"motor": "fast"},
}


@pytest.mark.parametrize(("message", "values"), WRONG.items(), ids=list(WRONG))
def test_wrong_names_and_values_are_refused(message, values):
    prepared = ss.schemes.PreparedWorld(machine(Input(), Input(), None, Input()))
    with pytest.raises(ModelError, match=message):
        prepared.with_inputs(values)


def test_what_cannot_be_declared_is_refused():
    with pytest.raises(ModelError, match="effort has shape"):
        machine(Input((1.0, 2.0)), AIR, AIR, Input())
    with pytest.raises(ModelError, match="body 'belt': motion has shape"):
        machine(Input(), AIR, AIR, Input((1.0, 0.0, 0.0)))
    with pytest.raises(UnknownNameError, match="unknown input 'motor'; this world has none"):
        with_inputs(machine(1.0, AIR, AIR, pair(MOTION)), {"motor": 1.0})
    b = ss.WorldBuilder()
    b.body("x", ss.Sphere(1.0), motion=Input())
    b.body("y", ss.Sphere(1.0), position=(3, 0, 0))
    b.force(ss.forces.BodyForce("x", "y", force=Input()))
    with pytest.raises(ModelError, match="input 'x': a force and a kinematic body have the same name"):
        b.build()


def driven(forces):
    """A pushed box on a floor and an arm with a motor, live, with other inputs in every step."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1), mass=2.0)
    b.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 5, 2), mass=1.0)
    b.joint("knee", "hinge", "arm", point=(0, 5, 2), axis=(0, 1, 0))
    b.force(ss.forces.Actuator("motor", "knee"))
    b.force(ss.forces.BodyForce("push", "box", force=Input()))
    live = ss.live(b.build(), h=1e-3, forces=forces)
    for k in range(100):
        live.set_inputs({"motor": 0.1 * k, "push": (0.3 * k, 0.0, 0.0)})
        live.step()
        if k == 50:
            live.inputs["push"] = (-100.0, 0.0, 0.0)  # the last step had another
            np.testing.assert_array_equal(live.last_step.state.v, live.state.v)
    return live


@pytest.mark.parametrize("forces", ["solver", "least"])
def test_inputs_of_every_step_are_those_of_steps_by_hand(forces):
    live = driven(forces)
    prepared, solver = ss.schemes.PreparedWorld(live.model), registry.make("auto", tolerance=1e-8)
    state = live.model.start
    memory = live.scheme.begin(prepared, state, 1e-3)
    for k in range(100):
        prepared = prepared.with_inputs({"motor": 0.1 * k, "push": (0.3 * k, 0.0, 0.0)})
        step = live.scheme.step(prepared, state, memory, 1e-3, solver)
        state, memory = step.state, step.memory
        np.testing.assert_array_equal(live.run().v[k + 1], state.v)


def test_inputs_leave_the_compiled_step_as_it_is(monkeypatch):
    found = []
    monkeypatch.setattr(body_march, "entry", lambda *given: found.append(1) or entry(*given))
    driven("solver")
    assert len(found) == 1
