"""A run that is shown while it goes on: the same run, held, slowed and stopped when that is wished."""

import json
import math
import socket
import struct
import threading
import time
import urllib.request
import zlib

import numpy as np
import pytest
from view.held import unpacked
from world_runs import Drop, balls, equal

import stickslip as ss
from stickslip.view.browser.live import LiveView, RunStopped, _Pace
from stickslip.view.browser.server import ViewerError

H = 1e-2


@pytest.fixture(scope="module")
def world():
    return balls()


@pytest.fixture
def view(world):
    with LiveView(world, port=0, until=0.5) as view:
        yield view


def run(world, **how):
    return ss.simulate(world, until=0.5, h=H, scheme=Drop(), **how)


def instant(view, after):
    """What a page is sent: the text and the numbers of the instant after one that it has."""
    with urllib.request.urlopen(f"{view.url}/next?after={after}") as answer:
        message = answer.read()
    (long,) = struct.unpack("<I", message[:4])
    info = json.loads(message[4 : 4 + long])
    return info, unpacked(info["instant"], zlib.decompress(message[4 + long :]))


def test_a_run_that_is_shown_is_the_run_that_is_not(world, view):
    view._asked = math.inf  # as if a browser looked on
    shown = run(world, watch=view)
    equal(run(world), shown)
    assert view.url == f"http://127.0.0.1:{view.port}"
    info, numbers = instant(view, -1)
    assert numbers["t"] == [shown.t[-1]]
    places = (shown.q[-1].reshape(-1, 7)[:, :3] - view._scene.centre) * view._scene.zoom
    np.testing.assert_allclose(numbers["x"][0], places, atol=1e-4)
    assert "t = 0.5 s of 0.5 s" in info["progress"]
    assert info["series"][0][2] == pytest.approx(shown.energy[-1])


def test_without_a_browser_nothing_is_packed(world, view, monkeypatch):
    monkeypatch.setattr(view, "_packed", lambda *_: pytest.fail("packed"))
    run(world, watch=view)


def test_a_held_run_waits_and_a_stopped_one_ends_with_what_was_done(world, view):
    ended = []

    def simulate():
        try:
            run(world, watch=view)
        except RunStopped as stop:
            ended.append(stop)

    view.order("hold")
    thread = threading.Thread(target=simulate)
    thread.start()
    time.sleep(0.2)
    assert thread.is_alive()
    assert view._record.t == 0.0
    assert instant(view, -1)[0]["held"]
    view._stopped.set()
    thread.join(30.0)
    assert not thread.is_alive()
    assert len(ended[0].trajectory) == 1
    assert "stopped at t = 0 s" in str(ended[0])


def test_a_run_may_go_no_faster_than_time(world, view):
    view.order("slow")
    began = time.monotonic()
    ss.simulate(world, until=0.2, h=H, scheme=Drop(), watch=view)
    assert time.monotonic() - began >= 0.2


def test_pace_counts_steps_between_records_and_forgets_the_time_of_a_pause():
    seen = []
    run(balls(), record=5, watch=seen.append)
    pace = _Pace()
    for k, record in enumerate(seen):
        pace.step(record, 0.1 * k)
    assert pace.steps_per_second == pytest.approx(50.0)
    assert pace.speed == pytest.approx(0.5)
    assert pace.ahead(1.0, 0.1) == pytest.approx(0.9)
    pace.begin_again()
    assert pace.ahead(1.0, 0.1) == 0.0


def test_a_port_in_use_is_said(world):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ViewerError, match="in use"):
            LiveView(world, port=taken.getsockname()[1])
