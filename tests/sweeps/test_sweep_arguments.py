"""Arguments of sweeps: what is wrong is refused before the first run; functions of any kind."""

import math
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.sweeps import Uniform

FILE = Path(__file__).with_name("swept.py")


def swept(out=None, parameters=None, executor="here", make=f"{FILE}:drop", measure=f"{FILE}:lowest", **how):
    given = {"height": 1.0} if parameters is None else parameters
    return ss.sweep(make, given, measure, executor=executor, out=out, **{"until": 0.1, "h": 0.01} | how)


def ball(height=1.0):
    """A ball that falls."""
    body = ss.Lagrangian("ball", M=1.0, q0=height, F_ext=-9.81)
    return ss.NonsmoothSystem([body], [])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: swept(parameters={"hight": [1.0]}), r"no parameter 'hight'.*did you mean 'height'"),
        (lambda: swept(parameters={"height": []}), "height has 0 values"),
        (lambda: swept(parameters={"height": [1.0, math.inf]}), "height is inf"),
        (lambda: swept(parameters={"height": Uniform(0.0, 1.0)}), "samples is 0"),
        (lambda: swept(samples=3), "samples is 3, and no parameter is sampled"),
        (lambda: swept(parameters={"height": object()}), "expected a number, a text"),
        (lambda: swept(parameters={"seed": [0.5]}), "must be whole numbers"),
        (lambda: swept(method="magic", parameters={"height": Uniform(0, 1)}, samples=1), "magic"),
        (lambda: swept(make="wall-problem"), "is a problem and does not run"),
        (lambda: swept(measure="final, speed"), "no measure 'final, speed'"),
        (lambda: swept(until_=3.0), "no argument 'until_'.*did you mean 'until'"),
        (lambda: swept(scheme=object()), "names and numbers, which go to processes"),
        (lambda: swept(out="s.txt"), r"must end in \.h5"),
        (lambda: swept(executor="threads"), "unknown executor 'threads'"),
        (lambda: swept(make=f"{FILE}:nobody"), "has no nobody"),
        (lambda: swept(seed=-1, parameters={"height": 1.0}), "seed is -1"),
        (lambda: swept(seed=2**63, parameters={"height": 1.0}), "must be below 2"),
        (lambda: swept(parameters={"height": range(10**9)}), "height has 1000000000 values; at most"),
        (lambda: swept(parameters=[1.0, 2.0]), "row 0 of the list is 1.0; expected the parameters of a run"),
        (lambda: swept(parameters="height"), "parameters is str; expected values by name, or a list"),
        (lambda: swept(measure=3), "3 is neither a function nor the name of one"),
        (lambda: swept(workers=0), "workers is 0; it must be a whole number >= 1"),
        (lambda: swept(repeat=0), "repeat is 0; it must be a whole number >= 1"),
        (lambda: swept(make="drop.py"), r"drop\.py is a file; name a function of it"),
        (lambda: Uniform("a", 2.0), "expected finite numbers, low < high"),
        (lambda: swept(until=math.nan), "until is nan; it must be a finite time"),
        (lambda: swept(h=0.0), "h is 0.0; a time step must be"),
        (lambda: swept(record=0), "record is 0"),
        (lambda: swept(on_failure="hold"), "on_failure is 'hold'"),
        (lambda: swept(scheme="moro-jean"), "unknown scheme 'moro-jean'"),
        (lambda: swept(solver="nsgz"), "unknown solver 'nsgz'"),
        (lambda: swept(solver="nsgs", solver_options={"max_iter": 3}), "nsgs has no option 'max_iter'"),
        (lambda: swept(tolerance=-1.0), "tolerance must lie in"),
    ],
)
def test_wrong_arguments_are_named(call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call()


def test_functions_without_a_place_are_those_of_their_own_sweep():
    """Two sweeps of one process, as in a notebook, give their functions the same name."""
    found = [swept(make=lambda: ball(), parameters={}, measure=lambda run, k=k: k) for k in (1, 2, 3)]
    assert [one.measures["<lambda>"].tolist() for one in found] == [[1.0], [2.0], [3.0]]


def test_functions_that_take_any_keyword():
    def falls(**given):
        return ball(**given)

    assert swept(make=falls, parameters={"height": [0.1, 0.2]}, measure="energy").solved.all()


def test_what_measures_raise_is_told_with_their_names():
    def wrong(run):
        return 1 / 0

    found = swept(measure=[lambda run: {"a": 1}, wrong])
    assert found.reasons == ("the measure wrong: ZeroDivisionError: division by zero",)
    twice = swept(measure=[lambda run: {"a": 1}, lambda run: {"a": 2}])
    assert "both give 'a'; rename one of the two" in twice.reasons[0]
    assert swept(measure=["usual", "energy"]).solved.all()


def test_numbers_of_numpy_are_numbers():
    height = Uniform(np.float32(1.0), np.int64(2))
    given = {"samples": np.int64(2), "seed": np.int64(3), "repeat": np.int64(1)}
    found = swept(parameters={"height": height, "e": np.array(0.5)}, **given)
    plain = swept(parameters={"height": Uniform(1.0, 2.0), "e": 0.5}, samples=2, seed=3)
    assert np.array_equal(found.parameters["height"], plain.parameters["height"])
