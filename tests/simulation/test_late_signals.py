"""A signal after the last step of a run: the run is returned, or is what the signal's exception carries."""

import signal

import pytest
from interrupt_trials import SCENES, rows
from late_signals import every_place

import stickslip as ss


@pytest.fixture
def terminated():
    """SIGTERM has a handler too: there is more than one to put back."""

    def raising(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, raising)
    yield raising
    signal.signal(signal.SIGTERM, before)


def left_of(model, how, places, progress=None):
    """What is left of a run after a signal at one of the places."""
    with places:
        try:
            return ss.simulate(model, **how, progress=progress)
        except KeyboardInterrupt as stop:
            return stop.trajectory


@pytest.mark.parametrize("scene", SCENES)
def test_a_signal_after_the_last_step_leaves_the_whole_run(scene, terminated):
    model, how = SCENES[scene]()
    how["until"] = 3 * how["h"]
    whole = ss.simulate(model, **how)
    for places in every_place(ss.simulate):

        def progress(t, until, arm=places.arm):
            if t >= until:
                arm()

        run = left_of(model, how, places, progress)
        assert run is not None
        assert rows(run, len(run)) == rows(whole, len(whole))
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is terminated


def test_a_signal_while_steps_made_together_end_does_not_lose_them():
    # The force arms it in the last step; what is left is all of the run, or all but that step.
    how = {"until": 0.05, "h": 1e-3}
    now = []

    def force(t):
        if now and t > how["until"] - 0.5 * how["h"]:
            now[0].arm()
        return -9.81

    ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=force)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact())
    model = ss.NonsmoothSystem([ball], [floor])
    whole = ss.simulate(model, **how)
    for places in every_place(ss.simulate):
        now[:] = [places]
        run = left_of(model, how, places)
        assert len(run) >= len(whole) - 1
        assert rows(run, len(run)) == rows(whole, len(run))


def test_a_signal_while_handlers_are_put_back_finds_them_all_put_back(terminated):
    problem = ss.ContactProblem([[1.0]], [-1.0], ss.problem.nonnegative(1))
    wanted = ss.solve(problem).r
    for places in every_place(ss.solve):
        with places:
            try:
                places.arm()
                found = ss.solve(problem).r
            except KeyboardInterrupt:
                found = wanted
                assert places.sent
        assert found == wanted
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert signal.getsignal(signal.SIGTERM) is terminated
