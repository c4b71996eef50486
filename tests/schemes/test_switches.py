"""Laws of first-order systems in the event-driven scheme, against closed forms: diodes, relays, guards."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.problem.solution import Verdict
from stickslip.scenes.circuits import Mode, _rlc, piecewise
from stickslip.systems import Guard

DRIVEN = {"scheme": "event-driven"}
REFUSED = r"without a jump of the state|violates its law"


def plant(law, e=None, x0=1.0, D=0.0, edges=None, guards=(), **more):
    """ẋ = f + lam, y = x + D lam + e."""
    system = ss.FirstOrder("plant", x0=[x0], **more)
    relation = ss.systems.FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]], D=[[D]], e=e)
    tie = ss.Interaction("law", "plant", relation, law)
    return ss.NonsmoothSystem([system], [tie], edges=edges, guards=guards)


def switches(run):
    return [event.t for event in run.events if event.kind == "switch"]


def test_a_relay_reaches_zero_at_its_instant_and_slides():
    run = ss.simulate(plant(ss.laws.Relay(1.0), f=[0.5]), until=4.0, h=0.3, **DRIVEN)
    assert run.verdict is Verdict.CERTIFIED
    np.testing.assert_allclose(switches(run), [2.0], rtol=1e-14)
    np.testing.assert_allclose(run.q[:, 0], np.maximum(1.0 - 0.5 * run.t, 0.0), atol=1e-14)
    np.testing.assert_allclose(run.interaction("law").r[run.t > 2.0, 0], -0.5, rtol=1e-12)


def test_a_relay_follows_what_moves():
    """y = x - sin t is reached and kept: lam = cos t, by the law on rates."""
    run = ss.simulate(
        plant(ss.laws.Relay(2.0), e=lambda t: [-math.sin(t)], f=[0.0]), until=3.0, h=0.1, **DRIVEN
    )
    after = run.t > switches(run)[0]
    np.testing.assert_allclose(run.q[after, 0], np.sin(run.t[after]), atol=1e-9)
    np.testing.assert_allclose(run.interaction("law").r[after, 0], np.cos(run.t[after]), atol=1e-8)


def test_the_circuits_with_one_diode_of_degree_0_and_1():
    scene = scenes.make("rlc-diode")
    run = ss.simulate(scene.system, until=scene.until, h=2e-5, **DRIVEN)
    assert run.verdict is Verdict.CERTIFIED
    circuits, modes = _rlc(1e-2, 1e-6, 200.0, 20.0)
    for name in circuits:
        exact, _, told = piecewise(modes[name], "on" if name != "b" else "off", [10.0, 0.0], run.t)
        np.testing.assert_allclose(run.system(name).x, exact, atol=1e-11)
        mine = [event.t for event in run.events if event.interaction == f"diode {name}"]
        np.testing.assert_allclose(mine, [t for t, _ in told], rtol=1e-11)


def test_the_bridge_of_four_diodes():
    scene = scenes.make("diode-bridge")
    run = ss.simulate(scene.system, until=scene.until, h=5e-5, **DRIVEN)
    damped = {"": Mode([[-1e3, -1e6], [1e2, 0.0]])}
    exact = piecewise(damped, "", [10.0, 0.0], run.t)[0]
    np.testing.assert_allclose(run.system("oscillator").x, exact, atol=1e-11)
    lam = run.interaction("bridge").r[1:]
    np.testing.assert_allclose(lam[:, 0] + lam[:, 1], np.abs(exact[1:, 0]), atol=1e-11)
    assert len(switches(run)) == 6


def test_edges_of_a_relay_are_landed_on():
    """A push that changes sides at 1 and 2: slower than the relay it is held, faster it is not."""
    push = plant(ss.laws.Relay(1.0), f=lambda t: [3.0 if 1.0 <= t < 2.0 else 0.5], x0=0.0, edges=[1.0, 2.0])
    run = ss.simulate(push, until=8.0, h=0.7, **DRIVEN)
    np.testing.assert_allclose(switches(run), [1.0, 6.0], rtol=1e-13)
    exact = np.interp(run.t, [0.0, 1.0, 2.0, 6.0, 8.0], [0.0, 0.0, 2.0, 0.0, 0.0])
    np.testing.assert_allclose(run.q[:, 0], exact, atol=1e-13)


def test_guards_beside_laws():
    """A capacitor behind a diode; a guard turns the source off and on."""
    model = plant(
        ss.laws.Complementarity(), e=None, D=1.0, x0=-1.0, f=lambda x, z: z - 1.0, z=[2.0],
        guards=[Guard("full", "plant", lambda x: x[0] - 1.0, {"z": [0.5]}, direction="rising")],
    )  # fmt: skip
    run = ss.simulate(model, until=4.0, h=0.25, **DRIVEN)
    # x < 0: lam = -x, ẋ = 1 - x; x > 0: ẋ = 1 until x = 1, then -1/2 down to 0, then ẋ = -1/2 - x.
    zero, full = math.log(2.0), math.log(2.0) + 1.0
    guard = [event.t for event in run.events if event.kind == "guard"]
    np.testing.assert_allclose(guard, [full], rtol=1e-10)
    np.testing.assert_allclose(switches(run), [zero, full + 2.0], rtol=1e-10)
    rest = np.exp(-(4.0 - full - 2.0))
    np.testing.assert_allclose(run.q[-1, 0], -0.5 * (1.0 - rest), atol=1e-10)


def test_infinitely_many_switches_in_finite_time():
    scene = scenes.make("filippov")
    run = ss.simulate(scene.system, until=1.5, h=0.01, **DRIVEN)
    np.testing.assert_allclose(np.abs(run.q).sum(axis=1), np.maximum(2.0 - 2.0 * run.t, 0.0), atol=1e-13)


def test_a_run_goes_on_bit_for_bit():
    model = plant(ss.laws.Relay(1.0), f=[0.5])
    whole = ss.simulate(model, until=3.0, h=0.25, **DRIVEN)
    half = ss.simulate(model, until=1.5, h=0.25, **DRIVEN)
    rest = ss.simulate(model, until=3.0, start=half.checkpoint())
    np.testing.assert_array_equal(rest.q[-1], whole.q[-1])


def test_what_cannot_be_carried_is_named():
    ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    relay = ss.Interaction(
        "law", "plant", ss.systems.FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]]), ss.laws.Relay(1.0)
    )
    both = ss.NonsmoothSystem([ball, ss.FirstOrder("plant", f=[0.5], x0=[1.0])], [relay])
    with pytest.raises(ss.ModelError, match="'law' ties systems of first order beside mechanics"):
        ss.simulate(both, until=1.0, h=0.1, **DRIVEN)
    # The same by a scheme for each.
    run = ss.simulate(both, until=0.4, h=0.1, scheme={"ball": "moreau-jean", "plant": "event-driven"})
    np.testing.assert_allclose(run.system("plant").x[-1], 0.8, rtol=1e-12)
    with pytest.raises(ss.ModelError, match="the start violates its law"):
        ss.simulate(plant(ss.laws.Complementarity(), x0=-1.0, f=[0.0]), until=1.0, h=0.1, **DRIVEN)
    down = Guard("down", "plant", lambda t: t - 0.5, {"x": [-1.0]}, direction="rising")
    model = plant(ss.laws.Complementarity(), f=[0.0], guards=[down])
    with pytest.raises(ss.SimulationFailure, match=r"y = -1 of interaction 'law' has a sign"):
        ss.simulate(model, until=1.0, h=0.1, **DRIVEN)


@pytest.mark.parametrize(
    "name", ["rlc-diode", "diode-bridge", "bridge-filter", "relay", "filippov", "sliding-mode"]
)
def test_facts_of_scenes(name):
    scene = scenes.make(name)
    run = ss.simulate(
        scene.system, until=scene.until, h=scene.h, scheme=scenes.scheme_of(scene, "event-driven")
    )
    facts = scene.facts(run)
    assert len(facts) >= 3
    for fact in facts:
        assert fact.ok, fact


def test_interactions_of_degree_0_and_1_on_one_system():
    """ẋ = 0.5 + lam - max(x, 0), lam a relay on y = x: x = 1.5 exp(-t) - 0.5 until t = ln 3, then 0."""
    linear = ss.systems.FirstOrderLinearRelation
    relay = ss.Interaction("relay", "plant", linear(C=[[1.0]], B=[[1.0]]), ss.laws.Relay(1.0))
    leak = ss.Interaction(
        "leak", "plant", linear(C=[[-1.0]], B=[[-1.0]], D=[[1.0]]), ss.laws.Complementarity()
    )
    system = ss.NonsmoothSystem([ss.FirstOrder("plant", f=[0.5], x0=[1.0])], [relay, leak])
    run = ss.simulate(system, until=2.0, h=0.1, **DRIVEN)
    assert run.verdict is Verdict.CERTIFIED
    np.testing.assert_allclose(switches(run)[0], math.log(3.0), rtol=1e-10)
    np.testing.assert_allclose(run.q[:, 0], np.maximum(1.5 * np.exp(-run.t) - 0.5, 0.0), atol=1e-9)
    np.testing.assert_allclose(run.interaction("relay").r[run.t > 1.2, 0], -0.5, rtol=1e-9)


def test_the_bridge_before_a_capacitor_at_any_step():
    """Degrees 0 and 1 within one interaction: conducting, the diodes' current follows from ẏ = 0."""
    scene = scenes.make("bridge-filter", until=6e-4)
    ends = []
    for h in (2e-6, 2e-5, 1e-4):
        run = ss.simulate(scene.system, until=scene.until, h=h, **DRIVEN)
        lam, y = run.interaction("bridge").r, run.interaction("bridge").y
        assert np.minimum(lam, y).min() > -1e-9
        assert np.abs(lam * y)[1:].max() < 1e-9
        ends.append(run.q[-1])
    np.testing.assert_allclose(ends[1:], [ends[0]] * 2, atol=1e-9)


def test_a_start_that_would_have_to_jump_is_refused():
    """Two capacitors at 2 V and at 1 V that a diode ties together: charge would flow in no time."""
    capacitors = [ss.FirstOrder(name, f=[0.0], x0=[v]) for name, v in (("a", 2.0), ("b", 1.0))]
    linear = ss.systems.FirstOrderLinearRelation
    diode = linear(C=[[-1.0, 1.0], [1.0, 0.0]], B=[[-1.0, 0.0], [1.0, 0.0]], D=[[0.0, 0.0], [0.0, 1.0]])
    system = ss.NonsmoothSystem(
        capacitors, [ss.Interaction("diode", ("a", "b"), diode, ss.laws.Complementarity(2))]
    )
    with pytest.raises((ss.ModelError, ss.SimulationFailure), match=REFUSED):
        ss.simulate(system, until=1.0, h=0.1, **DRIVEN)


@pytest.mark.parametrize(("name", "steps"), [("bridge-filter", 300), ("rlc-diode", 40), ("relay", 300)])
def test_every_step_has_the_word_of_the_judge(name, steps):
    """On its multipliers at the end, and on the modes of its switches; also where no solver was asked."""
    scene, told = scenes.make(name), []
    prepared = ss.schemes.PreparedSystem(scene.system)
    scheme, solver = ss.schemes.EventDriven(), ss.solvers.Auto(tolerance=1e-10)
    state = ss.State(0.0, scene.system.q0, scene.system.v0, scene.system.z0)
    memory = scheme.begin(prepared, state, scene.h)
    for _ in range(steps):
        step = scheme.step(prepared, state, memory, scene.h, solver)
        state, memory = step.state, step.memory
        assert any(np.array_equal(one.r, step.r) for one in step.solves)
        assert step.ok
        told.append(step.natural)
    assert max(told) <= 1e-10
    assert (max(told) > 0.0) is (name != "relay")  # whose numbers are exact
