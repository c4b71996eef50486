"""Steps of linear first-order systems made together are those made one by one."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes
from stickslip.compilation import JIT
from stickslip.problem.box import BoxProblem
from stickslip.problem.residuals import judge
from stickslip.schemes import euler_moreau_march, registry
from stickslip.schemes.euler_moreau_parts import parts
from stickslip.schemes.step import first_state
from stickslip.solvers import registry as solvers

pytestmark = pytest.mark.skipif(not JIT, reason="the march is compiled")

SCENES = ("diode-bridge", "bridge-filter", "rlc-diode", "relay", "filippov", "sliding-mode")
SCHEMES = {
    "implicit": {},
    "theta 1/2": {"theta": 0.5},
    "theta = gamma = 1/2": {"theta": 0.5, "gamma": 0.5},
    "relation at gamma": {"theta": 0.7, "gamma": 0.6, "relation": "gamma"},
    "midpoint": {"theta": 0.5, "gamma": 0.5, "relation": "midpoint"},
}
COLUMNS = ("t", "q", "r", "u", "y", "active", "forecast", "ok", "newton")


class Alone:
    """A scheme without its march."""

    def __init__(self, scheme):
        self.begin, self.step, self.levels = scheme.begin, scheme.step, scheme.levels


def driven():
    """Two circuits side by side, driven in time by b, by T u and by e; one has a mass of its own."""
    one = ss.FirstOrderLinear(
        "one", A=[[-1.0, 2.0], [-2.0, 0.0]], M=[[2.0, 0.3], [0.1, 1.0]], x0=[1.0, 0.0],
        b=lambda t: [np.sin(3.0 * t), 0.1], T=[[0.0], [1.0]], u=lambda t: [np.cos(t)],
    )  # fmt: skip
    two = ss.FirstOrderLinear("two", A=[[-0.5]], x0=[0.4], b=0.2)
    three = ss.FirstOrderLinear("three", A=[[-0.5]], x0=[0.4])
    diode = ss.systems.FirstOrderLinearRelation(
        C=[[1.0, 0.0, -1.0]], B=[[1.0], [0.0], [-1.0]], D=0.1, e=lambda t: 0.3 * np.sin(5.0 * t)
    )
    switch = ss.systems.FirstOrderLinearRelation(C=[[1.0, 0.0]], B=[[1.0], [0.0]])
    ties = [
        ss.Interaction("diode", ("one", "three"), diode, ss.laws.Complementarity()),
        ss.Interaction("switch", "one", switch, ss.laws.Relay(0.4)),
    ]
    return ss.NonsmoothSystem([one, two, three], ties)


def assert_alike(together, alone, tolerance=1e-9):
    for name in COLUMNS:
        a, b = getattr(together, name), getattr(alone, name)
        if a.dtype != float or name in ("t", "forecast"):
            np.testing.assert_array_equal(a, b)
        else:
            assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max()), name


def simulated(system, scheme, **options):
    """With the march, and step by step with the same solver."""
    together = ss.simulate(system, scheme=scheme, **options)
    alone = ss.simulate(system, scheme=Alone(scheme), **options)
    return together, alone


@pytest.mark.parametrize("name", SCENES)
def test_scenes_march_as_they_step(name):
    made = scenes.make(name)
    scheme = registry.make(made.scheme, **made.options)
    assert scheme.march(
        made.system, first_state(made.system), scheme.begin(made.system, first_state(made.system), made.h),
        made.h, 1, 1e-10,
    ) is not None  # fmt: skip
    assert_alike(*simulated(made.system, scheme, until=300 * made.h, h=made.h))


@pytest.mark.parametrize("options", SCHEMES.values(), ids=SCHEMES)
@pytest.mark.parametrize("record", [1, 7])
def test_every_scheme_of_driven_circuits(options, record):
    assert_alike(*simulated(driven(), ss.schemes.EulerMoreau(**options), until=2.0, h=0.01, record=record))


def test_steps_beyond_one_look_ahead(monkeypatch):
    monkeypatch.setattr(euler_moreau_march, "AHEAD", 13)
    assert_alike(*simulated(driven(), ss.schemes.EulerMoreau(), until=1.0, h=0.01))


@pytest.mark.parametrize("cut", [1, 57])
def test_a_run_resumes_bit_for_bit(cut):
    scheme, h = ss.schemes.EulerMoreau(theta=0.5, gamma=0.5), 0.01
    whole = ss.simulate(driven(), until=1.0, h=h, scheme=scheme)
    first = ss.simulate(driven(), until=cut * h, h=h, scheme=scheme)
    rest = ss.simulate(driven(), until=1.0, start=first.checkpoint(-1))
    for name in ("t", "q", "r", "u", "y", "natural", "iterations"):
        np.testing.assert_array_equal(getattr(rest, name)[1:], getattr(whole, name)[cut + 1 :])


def test_a_function_that_fails_is_met_when_its_time_comes():
    def b(t):
        if t > 0.5:
            raise RuntimeError("no more")
        return [1.0]

    system = ss.NonsmoothSystem([ss.FirstOrderLinear("one", A=[[-1.0]], x0=[0.0], b=b)])
    run = ss.simulate(system, until=0.45, h=0.01, scheme="euler-moreau")
    assert run.steps == 45
    with pytest.raises(RuntimeError, match="no more"):
        ss.simulate(system, until=1.0, h=0.01, scheme="euler-moreau")


@pytest.mark.parametrize("when", [0.0, 0.5])
def test_what_is_not_finite_is_named(when):
    system = ss.NonsmoothSystem(
        [ss.FirstOrderLinear("one", A=[[-1.0]], x0=[0.0], b=lambda t: [np.nan if t > when else 1.0])]
    )
    with pytest.raises(ss.ModelError, match=r"system 'one'.*is not finite"):
        ss.simulate(system, until=1.0, h=0.01, scheme="euler-moreau")


def test_a_singular_iteration_matrix_is_named():
    system = ss.NonsmoothSystem([ss.FirstOrderLinear("one", A=[[100.0]], x0=[1.0])])
    with pytest.raises(Exception, match=r"system 'one'.*singular for h = 0\.01"):
        ss.simulate(system, until=1.0, h=0.01, scheme="euler-moreau")


@pytest.mark.parametrize("alone", [False, True])
def test_a_state_may_fade_to_nothing(alone):
    system = ss.NonsmoothSystem(
        [ss.FirstOrderLinear("one", A=[[-1.0, 0.3], [0.0, -1.5]], x0=[1e-280, 1e-285])]
    )
    scheme = ss.schemes.EulerMoreau(theta=0.5)
    run = ss.simulate(system, until=120.0, h=0.1, scheme=Alone(scheme) if alone else scheme)
    assert run.missed == 0
    assert np.abs(run.q[-1]).max() < 1e-300


def test_what_cannot_march_steps():
    moved = ss.FirstOrderLinear("one", A=lambda t: [[-1.0 - t]], x0=[1.0])
    bent = ss.FirstOrder("one", f=lambda x: -(x**3), x0=[1.0])
    held = ss.FirstOrderLinear("one", A=[[-1.0]], x0=[1.0], z=[1.0], b=lambda z: z)
    scheme = ss.schemes.EulerMoreau()
    for one in (moved, bent, held):
        system = ss.NonsmoothSystem([one])
        start = first_state(system)
        assert scheme.march(system, start, scheme.begin(system, start, 0.1), 0.1, 3, 1e-10) is None
        assert ss.simulate(system, until=0.3, h=0.1, scheme=scheme).steps == 3


def test_constant_matrices_are_made_once_for_each_length_of_step():
    prepared, scheme, solver = (
        ss.schemes.PreparedSystem(driven()),
        ss.schemes.EulerMoreau(),
        solvers.make("auto"),
    )
    state = first_state(prepared.system)
    memory = scheme.begin(prepared, state, 0.01)
    step = scheme.step(prepared, state, memory, 0.01, solver)
    kept = [dict(part.kept) for part in prepared.part(parts)]
    scheme.step(prepared, step.state, step.memory, 0.01, solver)
    for part, before in zip(prepared.part(parts), kept, strict=True):
        assert part.constant
        assert len(before) == 1
        assert all(part.kept[key] is value for key, value in before.items())


def test_a_blocked_bridge_does_not_go_round_in_circles():
    # Its second active set is degenerate: taking all that want to change sides goes round in a circle of two.
    A = [[0.0, -1.0, 1.0, 1.0], [1.0, 2.0, 0.0, -2.0], [-1.0, 0.0, 6.6, 6.6], [-1.0, -2.0, 6.6, 8.6]]
    problem = BoxProblem(np.array(A), np.array([0.0, -5.17, 5.14, 10.31]), np.zeros(4), np.full(4, np.inf))
    solution = ss.solve(problem, tolerance=1e-10, guess=[5.0, 0.0, 0.0, 0.0])
    assert solution.ok
    assert solution.r.min() >= 0.0
    assert judge(problem, solution.r).natural_scaled <= 1e-10


def test_an_unchecked_box_is_the_checked_one():
    A, b, lower, upper = np.eye(2), np.array([1.0, -1.0]), np.zeros(2), np.full(2, np.inf)
    checked, unchecked = BoxProblem(A, b, lower, upper), BoxProblem.unchecked(A, b, lower, upper)
    assert unchecked.kind == checked.kind == "lcp"
    np.testing.assert_array_equal(unchecked.value([1.0, 2.0]), checked.value([1.0, 2.0]))
    assert not unchecked.A.flags.writeable
