"""Systems of equations stay plain values; what steps make of one is held beside it, and made once."""

import copy
from collections import Counter

import numpy as np
import pytest
from system_families import FAMILIES

import stickslip as ss
from stickslip.schemes.composite import Composite
from stickslip.schemes.prepared_system import KEPT
from stickslip.schemes.step import first_state
from stickslip.solvers import registry

H = 1e-2
SOLVER = registry.make("auto", tolerance=1e-10)
FLOOR = ss.Scleronomous(lambda q: q, dy_dq=[[1.0]])
SECOND_ORDER = {
    "moreau-jean": ss.schemes.MoreauJean(),
    "complete": ss.schemes.MoreauJean(variant="complete", projection="combined"),
    "schatzman-paoli": ss.schemes.SchatzmanPaoli(),
    "event-driven": ss.schemes.EventDriven(),
    "variational": ss.schemes.Variational(),
    "compliant": ss.schemes.Compliant(stiffness=1e4),
    "composite": Composite({"a": ss.schemes.MoreauJean(), "b": ss.schemes.SchatzmanPaoli()}),
}
LOSS = ss.gradients.AtEnd(lambda state: (state.q[0], np.eye(state.q.size)[0], None))


def balls():
    """Two balls that bounce on floors of their own; the first comes to rest in a run of half a second."""
    bodies = [ss.Lagrangian("a", M=1.0, q0=0.02, F_ext=-9.81), ss.Lagrangian("b", M=2.0, q0=0.5, F_ext=-9.81)]
    ties = [ss.Interaction(f"under {one.name}", one.name, FLOOR, ss.NewtonImpact(e=0.4)) for one in bodies]
    return ss.NonsmoothSystem(bodies, ties)


def circuit():
    plant = ss.FirstOrderLinear("circuit", A=[[-1.0]], x0=1.0)
    relation = ss.systems.FirstOrderLinearRelation(C=[[1.0]], e=[-0.5], B=[[1.0]])
    return ss.NonsmoothSystem(
        [plant], [ss.Interaction("diode", "circuit", relation, ss.laws.Complementarity())]
    )


MODELS = {name: (balls, scheme) for name, scheme in SECOND_ORDER.items()}
MODELS["euler-moreau"] = circuit, ss.schemes.EulerMoreau()


def fields(system):
    """What a system consists of, by name: the objects themselves."""
    return {name: id(value) for name, value in vars(system).items()}


@pytest.fixture(params=MODELS)
def model(request):
    make, scheme = MODELS[request.param]
    return make(), scheme


def test_a_system_is_its_fields_whatever_was_run(model):
    system, scheme = model
    before = fields(system)
    run = ss.simulate(system, until=0.5, h=H, scheme=scheme)
    ss.simulate(system, until=0.6, h=H, scheme=scheme, start=run.checkpoint())
    assert run.r.shape[0] == len(run)
    system.explain(0.0, system.q0, system.v0, system.z0)
    assert fields(system) == before
    assert copy.deepcopy(system).interaction.keys() == system.interaction.keys()


@pytest.mark.parametrize("scheme", ["moreau-jean", "variational"])
def test_a_system_is_its_fields_whatever_was_differentiated(scheme):
    system, family = balls(), FAMILIES["ball"]
    before, theirs = fields(system), (fields(family), fields(family.system))
    for thing in (system, family):
        ss.differentiate(thing, h=H, scheme=scheme).jacobian("v", "v")
        ss.sensitivity(thing, until=0.05, h=H, scheme=scheme, by=("v",))
        ss.gradient(thing, LOSS, until=0.05, h=H, scheme=scheme, by=("v",))
    ss.gradient(family, LOSS, until=0.05, h=H, scheme=scheme, by=tuple(family.numbers))
    assert fields(system) == before
    assert (fields(family), fields(family.system)) == theirs


def test_steps_of_a_plain_system_have_the_same_bits(model):
    system, scheme = model
    prepared = ss.schemes.PreparedSystem(system)
    state = first_state(system)
    memory, same = scheme.begin(prepared, state, H), scheme.begin(system, state, H)
    assert scheme.levels(prepared) == scheme.levels(system)
    for _ in range(12):
        for name, value in memory.items():
            assert value.tobytes() == same[name].tobytes()
        together = scheme.step(prepared, state, memory, H, SOLVER)
        alone = scheme.step(system, state, memory, H, SOLVER)
        for name in ("r", "u", "y"):
            assert getattr(together, name).tobytes() == getattr(alone, name).tobytes()
        assert together.state.q.tobytes() == alone.state.q.tobytes()
        assert together.state.v.tobytes() == alone.state.v.tobytes()
        state, memory, same = together.state, together.memory, alone.memory


@pytest.mark.parametrize("name", ["moreau-jean", "event-driven", "euler-moreau"])
def test_marches_of_a_plain_system_have_the_same_bits(name):
    make, scheme = MODELS[name]
    system, state = make(), first_state(make())
    memory = scheme.begin(system, state, H)
    if name == "event-driven":  # what is closed is decided in a first step
        step = scheme.step(system, state, memory, H, SOLVER)
        state, memory = step.state, step.memory
    together, alone = (
        scheme.march(given, state, memory, H, 5, 1e-10)
        for given in (ss.schemes.PreparedSystem(system), system)
    )
    assert (together is None) == (alone is None)
    assert together is None or together.q.tobytes() == alone.q.tobytes()


def test_a_part_is_made_once_for_each_key_and_few_are_kept():
    made, prepared = Counter(), ss.schemes.PreparedSystem(balls())

    def part(given, *key):
        assert given is prepared
        made[key] += 1
        return object()

    def other(given, number):
        return number

    assert prepared.part(part, 1) is prepared.part(part, 1) is not prepared.part(part, 2)
    assert made == {(1,): 1, (2,): 1}
    assert prepared.part(other, 1) == 1
    for k in range(2 * KEPT):
        prepared.part(part, k)
    prepared.part(part, 2 * KEPT - 1)
    assert made[2 * KEPT - 1,] == 1
    prepared.part(part, 1)
    assert made[1,] == 2


def test_a_family_is_prepared_at_all_numbers_that_are_asked_for():
    family = FAMILIES["pair"]
    prepared = ss.schemes.PreparedSystem(family)
    assert prepared.system is family.system
    own = {name: value.ravel() for name, value in family.numbers.items()}
    assert prepared.at(own) is prepared
    other = {**own, "m": own["m"] + 1.0}
    assert prepared.at(other) is prepared.at(other) is not prepared
    assert float(prepared.at(other).system.systems[0].mass(0.0, np.zeros(1), np.zeros(0))[0, 0]) == 2.0
    alone = ss.schemes.PreparedSystem(family.system)
    assert alone.at(own) is alone
    assert ss.schemes.PreparedSystem.of(prepared) is prepared
    assert ss.schemes.PreparedSystem.of(family.system).system is family.system


def test_a_copy_makes_its_own_parts():
    system, scheme = (
        ss.NonsmoothSystem([ss.Lagrangian("a", M=1.0, q0=0.0, F_ext=lambda t: t)]),
        ss.schemes.MoreauJean(),
    )
    prepared, state = ss.schemes.PreparedSystem(system), first_state(system)
    memory = scheme.begin(prepared, state, H)
    first = scheme.march(prepared, state, memory, H, 3, 1e-9)
    again = copy.deepcopy(prepared)
    assert again.system is not system
    found = scheme.march(again, state, memory, H, 3, 1e-9)
    assert (found is None) == (first is None)
    assert first is None or found.q.tobytes() == first.q.tobytes()
