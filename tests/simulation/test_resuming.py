"""A run that is interrupted and goes on is the run that was not, bit for bit."""

import importlib.util

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes import registry

COLUMNS = (
    "t", "h", "q", "v", "z", "r", "u", "y", "active", "forecast", "ok", "natural", "natural_scaled",
    "iterations", "newton", "index", "kinetic", "potential", "contact_work",
)  # fmt: skip
G = 9.81


def thrown():
    """A ball thrown against a floor with friction under a force that depends on time."""
    point = ss.Lagrangian(
        "ball", M=np.eye(2), q0=[0.0, 0.1], v0=[1.0, 0.0], F_ext=lambda t: np.array([np.sin(9 * t), -G])
    )
    touch = ss.Scleronomous(lambda q: np.array([q[1], q[0]]), lambda q: np.array([[0.0, 1.0], [1.0, 0.0]]))
    floor = ss.Interaction("floor", "ball", touch, ss.NewtonImpact(e=0.5, mu=0.3, dimension=2))
    return ss.NonsmoothSystem([point], [floor])


def rectified():
    """x' = -x - 5 sin 10 t + lam with 0 <= x ⟂ lam >= 0: the level cannot fall below zero."""
    tank = ss.FirstOrder("tank", x0=0.5, f=lambda t, x: -x - 5.0 * np.sin(10.0 * t))
    law = ss.Interaction(
        "rim", "tank", ss.systems.FirstOrderLinearRelation(C=1.0, B=1.0), ss.laws.Complementarity()
    )
    return ss.NonsmoothSystem([tank], [law])


def schemes():
    for name in registry.names():
        entry = registry.entry(name)
        if entry.order in ("first", "second") and importlib.util.find_spec(entry.module) is not None:
            yield pytest.param(name, rectified if entry.order == "first" else thrown, id=name)


def same(a, b, k):
    """Whether b is what a is after record k."""
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(b, name)[1:], getattr(a, name)[k + 1 :], err_msg=name)
    for name in a.memories:
        np.testing.assert_array_equal(b.memories[name][1:], a.memories[name][k + 1 :], err_msg=name)
    later = [event for event in a.events if event.t > a.t[k]]
    assert list(b.events) == later


@pytest.mark.parametrize("record", [1, 7])
@pytest.mark.parametrize(("scheme", "model"), list(schemes()))
def test_continuation_is_bit_identical(scheme, model, record, tmp_path):
    whole = ss.simulate(model(), until=0.6, h=2e-3, scheme=scheme, record=record, on_failure="accept")
    path = tmp_path / "run.h5"
    whole.save(path)
    stored = ss.read_trajectory(path)
    for k in (1, len(whole) // 3, len(whole) // 2, len(whole) - 2):
        for start in (whole.checkpoint(k), stored.checkpoint(k)):
            rest = ss.simulate(model(), until=0.6, start=start, record=record, on_failure="accept")
            same(whole, rest, k)
            assert rest.scheme == scheme


def test_two_halves_are_the_whole():
    whole = ss.simulate(thrown(), until=0.6, h=2e-3, record=4)
    first = ss.simulate(thrown(), until=0.4, h=2e-3, record=4)
    second = ss.simulate(thrown(), until=0.6, start=first.checkpoint(), record=4)
    same(whole, second, len(first) - 1)


def test_another_step_or_scheme_begins_anew_from_the_same_state():
    first = ss.simulate(thrown(), until=0.1, h=1e-3)
    finer = ss.simulate(thrown(), until=0.2, h=5e-4, start=first.checkpoint())
    assert finer.t[0] == first.t[-1]
    assert finer.steps == 200
    np.testing.assert_array_equal(finer.q[0], first.q[-1])
    other = ss.simulate(
        thrown(), until=0.2, scheme=ss.schemes.MoreauJean(theta=1.0), start=first.checkpoint()
    )
    assert other.scheme_options["theta"] == 1.0
    assert other.clock.h == 1e-3


def test_after_a_shortened_step_the_clock_begins_anew():
    first = ss.simulate(thrown(), until=0.1005, h=1e-3)
    rest = ss.simulate(thrown(), until=0.2005, start=first.checkpoint())
    assert rest.steps == 100
    assert rest.t[0] == 0.1005


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "bal"}, "its systems are ball; here they are bal"),
        ({"tie": "wall"}, "its interactions are floor; here they are wall"),
        ({"e": 0.1}, "the law of interaction 'floor' is NewtonImpact.*e=0.9.*here it is.*e=0.1"),
        ({"n": 2}, "the number of coordinates of system 'ball' is 1; here it is 2"),
    ],
)
def test_a_checkpoint_of_another_model_is_refused(change, words):
    def model(name="ball", tie="floor", e=0.9, n=1):
        falling = ss.Lagrangian(name, M=np.eye(n), q0=np.ones(n), F_ext=np.full(n, -G))
        floor = ss.Interaction(tie, name, ss.Scleronomous(lambda q: q[:1]), ss.NewtonImpact(e=e))
        return ss.NonsmoothSystem([falling], [floor])

    start = ss.simulate(model(), until=0.01, h=1e-3).checkpoint(5)
    with pytest.raises(ss.ModelError, match=words):
        ss.simulate(model(**change), until=1.0, start=start)


def test_there_is_no_record_beyond_the_last():
    run = ss.simulate(thrown(), until=0.01, h=1e-3)
    with pytest.raises(IndexError, match="record 11 of a trajectory of 11 records"):
        run.checkpoint(11)


def test_one_scheme_per_system():
    """A mechanical and a first-order system side by side, each with its own scheme, saved by name."""
    first, second = thrown(), rectified()
    ball = first.systems[0]
    floor = ss.Interaction(
        "floor", "ball",
        ss.Scleronomous(lambda q: np.array([q[1], q[0]]), lambda q: np.array([[0.0, 1.0], [1.0, 0.0]])),
        ss.NewtonImpact(e=0.5, mu=0.3, dimension=2),
    )  # fmt: skip
    rim = ss.Interaction(
        "rim", "tank", ss.systems.FirstOrderLinearRelation(C=1.0, B=1.0), ss.laws.Complementarity()
    )
    both = ss.NonsmoothSystem([ball, second.systems[0]], [floor, rim])
    how = {"ball": ss.schemes.MoreauJean(theta=0.6), "tank": "euler-moreau"}
    whole = ss.simulate(both, until=0.4, h=2e-3, scheme=how, record=3)
    assert whole.scheme == "composite"
    assert whole.scheme_options["ball"]["options"]["theta"] == 0.6
    rest = ss.simulate(both, until=0.4, start=whole.checkpoint(30), record=3)
    same(whole, rest, 30)
    alone = ss.simulate(second, until=0.4, h=2e-3, scheme="euler-moreau", record=3)
    np.testing.assert_allclose(whole.system("tank").x, alone.system("tank").x, atol=1e-13)
    # lam is a value and not an impulse: records show the last one, whatever their number.
    every = ss.simulate(second, until=0.4, h=2e-3, scheme="euler-moreau")
    np.testing.assert_array_equal(alone.interaction("rim").r[1:-1], every.interaction("rim").r[3:-1:3])
    states = every.interaction("rim").states[1:, 0]
    assert set(states) == {"separating", "touching"}
