"""However a run ends, by an error of a user's function or by a signal, it says where and keeps the steps."""

import math
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import interrupt_trials
import numpy as np
import pytest
from interrupt_trials import rows
from world_runs import balls

import stickslip as ss

SCHEMES = ("moreau-jean", "schatzman-paoli", "event-driven", "compliant", "variational")
H, LATE = 1e-2, 0.095
pytestmark = pytest.mark.usefixtures("no_collection")


class Leaving(BaseException):
    """An exception of a user that is no Exception."""


class Once:
    """A function that raises a single time: when it is first called at t > LATE."""

    def __init__(self, error):
        self.error = error

    def __call__(self, t, value):
        if t > LATE and self.error is not None:
            error, self.error = self.error, None
            raise error
        return value


def falling(scheme="moreau-jean", gap=lambda t, q: q, law=None, until=0.2, q0=1.0, **given):
    ball = ss.Lagrangian("ball", M=given.pop("M", 1.0), q0=q0, **({"F_ext": -9.81} | given))
    floor = ss.Interaction("floor", "ball", ss.systems.Rheonomous(gap), law or ss.NewtonImpact(e=0.5))
    return ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=until, h=H, scheme=scheme)


def check_beginning(done, run):
    """`done` is `run` up to the step in which LATE lies, bit for bit."""
    assert rows(done, len(done)) == rows(run, len(done))
    assert LATE - 2 * H < done.t[-1] < LATE + H


@pytest.mark.parametrize("error", [ZeroDivisionError("mine"), SystemExit(3), Leaving(), KeyboardInterrupt()])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_a_force_raises_once_ends_the_run(scheme, error):
    once, plain = Once(type(error)(*error.args)), falling(scheme, F_ext=lambda t: -9.81)
    with pytest.raises(type(error)) as caught:
        falling(scheme, F_ext=lambda t: once(t, -9.81))
    check_beginning(caught.value.trajectory, plain)
    assert caught.value.__notes__[0].startswith("in F_ext of system 'ball', at t = 0.")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: None, "F_ext returned nothing"),
        (lambda: [1.0, 2.0], r"F_ext has shape \(2,\), expected \(1,\)"),
        (lambda: math.nan, "F_ext is not finite"),
        (lambda: (x for x in [1.0]), "F_ext"),
        (lambda: "fast", "F_ext"),
    ],
)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_what_a_force_returns_that_is_no_force_is_named(scheme, value, message):
    plain = falling(scheme, F_ext=lambda t: -9.81)
    with pytest.raises(ss.ModelError, match=rf"system 'ball': at t = 0\.\d+ s, {message}") as caught:
        falling(scheme, F_ext=lambda t: -9.81 if t < LATE else value())
    check_beginning(caught.value.trajectory, plain)


@pytest.mark.parametrize(
    ("given", "note"),
    [
        (lambda once: {"M": lambda t, q: once(t, [[1.0]])}, "in M of system 'ball'"),
        (lambda once: {"gap": lambda t, q: once(t, q)}, "of interaction 'floor'"),
        (lambda once: {"z": [0.0], "z_update": lambda t, z: once(t, z)}, "in z_update of system 'ball'"),
        (
            lambda once: {"F_int": lambda q: 0.0 * q, "dF_int_dq": lambda t, q: once(t, [[0.0]])},
            "in dF_int_dq of system 'ball'",
        ),
    ],
)
def test_every_function_of_a_model_is_heard(given, note):
    once = Once(ZeroDivisionError())
    with pytest.raises(ZeroDivisionError) as caught:
        falling(**given(once))
    assert LATE - 2 * H < caught.value.trajectory.t[-1] < LATE + H
    assert note in caught.value.__notes__[0]


@pytest.mark.parametrize("late", [0.05, 0.7])
def test_a_source_that_is_asked_for_ahead_ends_the_run_where_it_fails(late):
    def source(t):
        if t > late:
            raise ZeroDivisionError
        return [math.sin(t)]

    def circuit(b):
        flow = ss.FirstOrderLinear("flow", A=-1.0, b=b, x0=1.0)
        tie = ss.Interaction(
            "diode", "flow", ss.systems.FirstOrderLinearRelation(1.0, 1.0), ss.laws.Complementarity()
        )
        return ss.simulate(ss.NonsmoothSystem([flow], [tie]), until=1.0, h=1e-3, scheme="euler-moreau")

    whole = circuit(lambda t: [math.sin(t)])
    with pytest.raises(ZeroDivisionError) as caught:
        circuit(source)
    done = caught.value.trajectory
    assert rows(done, len(done)) == rows(whole, len(done))
    assert late - 2e-3 < done.t[-1] < late + 1e-9
    assert "in b of system 'flow'" in caught.value.__notes__[0]


class Broken(ss.NewtonImpact):
    """A law whose own bias is given by a function."""

    def bias(self, u_before):
        return self.given()

    @staticmethod
    def given():
        return 1 / 0


@pytest.mark.parametrize("scheme", ["moreau-jean", "variational"])
@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (lambda: 1 / 0, ZeroDivisionError, "in bias of its law of interaction 'floor', at t = "),
        (lambda: [1.0, 2.0], ss.ModelError, "bias of its law has shape"),
        (lambda: [math.nan], ss.ModelError, "the bias of its law is not finite"),
    ],
)
def test_a_law_of_ones_own_is_heard(monkeypatch, scheme, given, error, text):
    monkeypatch.setattr(Broken, "given", staticmethod(given))
    with pytest.raises(error) as caught:
        falling(scheme, law=Broken(e=0.5), q0=0.05)
    said = "".join([str(caught.value), *getattr(caught.value, "__notes__", [])])
    assert "interaction 'floor'" in said
    assert text in said
    assert caught.value.trajectory is not None


def system_and_world():
    ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    return [(ss.NonsmoothSystem([ball]), {"scheme": "schatzman-paoli"}), (balls(1), {})]


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("error", [KeyError("mine"), Leaving(), KeyboardInterrupt()])
def test_what_progress_raises_ends_the_run(which, error):
    model, how = system_and_world()[which]
    told = []

    def progress(t, until):
        told.append(t)
        if t > LATE:
            raise error

    with pytest.raises(type(error)) as caught:
        ss.simulate(model, until=0.3, h=H, progress=progress, **how)
    assert caught.value.trajectory.t[-1] == told[-1] > LATE
    assert len([t for t in told if t > LATE]) == 1
    assert f"in progress of the run, at t = {told[-1]:.9g} s" in caught.value.__notes__


@pytest.mark.parametrize("which", [0, 1])
def test_an_interrupt_that_is_caught_on_its_way_ends_the_run_all_the_same(which):
    model, how = system_and_world()[which]
    told = []

    def progress(t, until):
        told.append(t)
        if t > LATE:
            try:
                signal.raise_signal(signal.SIGINT)
            except KeyboardInterrupt:
                return

    with pytest.raises(KeyboardInterrupt) as caught:
        ss.simulate(model, until=0.3, h=H, progress=progress, **how)
    assert caught.value.trajectory.t[-1] == told[-1] > LATE


def test_an_interrupt_ends_a_function_that_takes_long():
    def slow(t):
        if t > LATE:
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            for _ in range(1000):
                time.sleep(0.05)
        return -9.81

    with pytest.raises(KeyboardInterrupt) as caught:
        falling(F_ext=slow)
    check_beginning(caught.value.trajectory, falling(F_ext=lambda t: -9.81))
    assert caught.value.__notes__[0].startswith("in F_ext of system 'ball'")


def test_handlers_of_others_are_respected(monkeypatch):
    heard = []

    def progress(t, until):
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGUSR1, lambda number, frame: heard.append(number))
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        model, how = system_and_world()[0]
        run = ss.simulate(model, until=0.05, h=H, progress=progress, **how)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before)
        signal.signal(signal.SIGINT, interrupt)
    assert len(run) == 6
    assert heard == [signal.SIGUSR1] * 5


def test_what_a_handler_of_ones_own_raises_ends_the_run():
    def handler(number, frame):
        raise TimeoutError("too slow")

    def slow(t):
        if t > LATE and not begun:
            begun.append(t)
            signal.setitimer(signal.ITIMER_REAL, 0.02)
        time.sleep(0.01)
        return -9.81

    begun = []
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(TimeoutError, match="too slow") as caught:
            falling(F_ext=slow, until=30.0)
        assert signal.getsignal(signal.SIGALRM) is handler
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert np.isfinite(caught.value.trajectory.q).all()


def test_a_run_in_another_thread_leaves_signals_alone():
    found = []
    thread = threading.Thread(target=lambda: found.append(falling(F_ext=lambda t: -9.81)))
    thread.start()
    thread.join()
    assert len(found[0]) == 21
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_run_within_a_function_of_another():
    def inner(t):
        run = falling(F_ext=lambda t: -9.81, until=0.02)
        if t > LATE:
            with pytest.raises(ZeroDivisionError):
                falling(F_ext=lambda t: 1 / 0, until=0.02)
        return 0.0 * run.q[-1] - 9.81

    whole = falling(F_ext=lambda t: -9.81)
    assert rows(falling(F_ext=inner), 21) == rows(whole, 21)


def test_runs_that_are_interrupted_at_random_times_are_the_beginning_of_the_run():
    """`python tests/interrupt_trials.py 300` makes more trials, of more models."""
    script = Path(interrupt_trials.__file__)
    ended = subprocess.run(
        [sys.executable, script, os.environ.get("STICKSLIP_INTERRUPTS", "20"), "bouncing"],
        capture_output=True, text=True,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "'interrupted': " in ended.stdout
