"""The viewer: its clock, its words, its server."""

import socket
import sys
import urllib.request
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from world_runs import Drop, balls

import stickslip as ss
from stickslip.problem.solution import Verdict
from stickslip.view.browser.panel import body_html, readout_html, shown_name
from stickslip.view.browser.server import close_server, is_local, open_server
from stickslip.view.browser.stage import Readout, Stage
from stickslip.view.browser.viewer import SPEEDS, Player, Viewer, ViewerError, chosen_frames

HOSTILE = '<img src=x onerror="alert(1)">\n\x1b[31m*_`'


@pytest.fixture(scope="module")
def run():
    return ss.simulate(balls(2), scheme=Drop(), h=0.01, until=0.3)


def test_real_time_is_real_time_whatever_the_records_are():
    player = Player(np.array([0.0, 0.1, 0.5, 2.0, 10.0]))
    assert player.speed == 1.0
    player.play(100.0)
    assert [player.at(100.0 + t) for t in (0.0, 0.09, 0.11, 0.6, 2.5, 9.99, 10.0)] == [0, 0, 1, 2, 3, 3, 4]


def test_speed_changes_from_where_it_is():
    player = Player(np.linspace(0.0, 10.0, 101))
    player.play(0.0)
    assert player.at(1.05) == 10
    player.set_speed(8.0, 1.05)
    assert player.at(1.05 + 0.26) == 30  # 1 s and 8 times 0.26 s
    player.set_speed(0.1, 1.31)
    assert player.at(1.31 + 2.05) == 32


def test_the_end_begins_anew_or_stays():
    player = Player(np.linspace(0.0, 10.0, 11))
    player.play(0.0)
    assert [player.at(t) for t in (9.9, 10.2, 10.3, 11.4)] == [9, 10, 0, 1]
    player.loop = False
    assert player.at(30.0) == 10
    assert not player.playing
    player.play(40.0)
    assert player.at(40.0) == 0


def test_steps_and_seeks_stay_inside():
    player = Player(np.linspace(0.0, 10.0, 11))
    player.play(0.0)
    player.step(-1, 0.0)
    assert (player.at(5.0), player.playing) == (0, False)
    player.step(3, 0.0)
    player.seek(99, 0.0)
    assert player.at(0.0) == 10
    player.step(1, 0.0)
    assert player.at(0.0) == 10


def test_short_runs_are_slow_at_first():
    assert Player(np.array([0.0, 0.2])).speed == 0.03
    assert Player(np.array([0.0, 1e-9])).speed == SPEEDS[0]
    still = Player(np.array([0.0]))
    still.play(0.0)
    assert not still.playing


def test_frames_are_chosen_evenly_with_both_ends():
    assert chosen_frames(5, 10).tolist() == [0, 1, 2, 3, 4]
    assert chosen_frames(101, 5).tolist() == [0, 25, 50, 75, 100]
    assert chosen_frames(1, 2).tolist() == [0]
    with pytest.raises(ValueError, match="frames is 1"):
        chosen_frames(5, 1)


def test_the_readout_says_whether_the_tolerance_was_met():
    met = readout_html(Readout(1.5, 2e-6, 3e-9, 1e-8, Verdict.CERTIFIED, {"sticking": 3, "slipping": 1}))
    for text in (
        "1.5000 s",
        "2.00e-06 m",
        "3.0e-09",
        "1e-08",
        ">certified<",
        "3 sticking",
        "1 slipping",
        "0 rolling",
    ):
        assert text in met
    assert ">missed<" in readout_html(Readout(0.0, 0.0, 1.0, 1e-8, Verdict.MISSED))
    assert ">relaxed<" in readout_html(Readout(0.0, 0.0, 1.0, 1e-8, Verdict.RELAXED))
    assert "tolerance" not in readout_html(Readout(0.0))
    assert "2 bodies" in readout_html(Readout(0.0, lost=2))


def test_the_state_of_a_body_is_told(run):
    stage = Stage.of(run)
    text = body_html(stage, stage.frame(29), 1)
    assert "<b>ball 0</b>, dynamic, 2 kg" in text
    assert "19.6 N from floor" in text
    assert "0, 0, 19.6 N" in text
    assert 'contacts</div><div style="overflow-wrap:anywhere">1<' in text
    assert "fixed<" in body_html(stage, stage.frame(29), 0)


def test_names_of_bodies_are_only_text(run):
    model = replace(run.model, names=(HOSTILE, HOSTILE * 50, "b"))
    stage = Stage.of(replace(run, model=model))
    for body in range(2):
        text = body_html(stage, stage.frame(29), body)
        assert "<img" not in text
        assert "\x1b" not in text
        assert "&lt;img" in text
    assert len(shown_name(HOSTILE * 50)) == 60


def test_a_viewer_serves_at_the_port_it_was_given_and_says_nothing(run, capfd):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Viewer(run, port=port, frames=10) as viewer:
        assert viewer.url == f"http://127.0.0.1:{port}"
        assert len(viewer.frames) == 10
        with urllib.request.urlopen(viewer.url) as answer:
            assert b"<html" in answer.read(10_000).lower()
        with pytest.raises(ViewerError, match=f"port {port} on 127.0.0.1 is in use.*--port"):
            Viewer(run, port=port)
    viewer.close()  # once more does no harm
    viewer.wait()
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(("127.0.0.1", port))
    assert capfd.readouterr() == ("", "")


def test_controls_change_what_is_shown(run):
    with Viewer(run, port=0) as viewer:
        viewer._step(">|")
        assert "0.3000 s" in viewer._readout.content
        assert viewer._slider.value == 30
        viewer._step("<")
        assert "0.2900 s" in viewer._readout.content
        assert viewer._painter.points.visible
        viewer._contacts.value = False
        viewer._show()
        assert not viewer._painter.points.visible
        spheres = next(k for k, group in enumerate(viewer.stage.instances) if group.name.startswith("sphere"))
        viewer._choose(spheres, 1)
        viewer._show()
        assert "ball 1" in viewer._state.content
        viewer._choose(spheres, 7)  # a message of a client may say anything
        assert viewer._body == 2
        viewer._step(">|")
        viewer._toggle()
        assert viewer._play.label == "Pause"
        assert "0.0000 s" in viewer._readout.content


def test_a_world_is_shown_where_it_starts():
    with Viewer(balls(1), port=0) as viewer:
        assert viewer._slider.disabled
        assert "0 sticking" in viewer._readout.content


def test_clients_cannot_open_a_tunnel():
    server = open_server(port=0)
    try:
        assert server.request_share_url() is None
        assert type(server).request_share_url is not type(server).__mro__[1].request_share_url
    finally:
        server.stop()


@pytest.mark.parametrize(
    ("host", "port", "match"),
    [
        ("127.0.0.1", 70000, "port 70000 is no port"),
        ("127.0.0.1", -1, "port -1 is no port"),
        ("", 0, "host '' is not known"),
        ("300.1.1.1", 0, "host '300.1.1.1' is not known"),
        ("192.0.2.1", 0, "host '192.0.2.1' is not an address of this machine"),
    ],
)
def test_places_that_cannot_be_served_at(host, port, match):
    with pytest.raises(ViewerError, match=match):
        open_server(host, port)


def test_which_hosts_are_local():
    assert is_local("127.0.0.1")
    assert is_local("127.1.2.3")
    assert not is_local("0.0.0.0")


def test_without_viser_one_sentence_says_what_to_install(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ViewerError, match=r"needs the package viser.*stickslip\[view\]"):
        Viewer(run)


@pytest.mark.parametrize(
    ("t", "text"), [(0.0, "0.0000 s"), (0.25, "0.2500 s"), (2.5e-6, "2.5e-06 s"), (1e300, "1e+300 s")]
)
def test_times_of_any_size_are_told_apart(t, text):
    assert f">{text}<" in readout_html(Readout(t))


@pytest.mark.parametrize("room", ["viewer", "live"])
def test_a_view_that_cannot_be_built_leaves_no_server(run, room, monkeypatch):
    module = import_module(f"stickslip.view.browser.{room}")
    opened, closed = [], []

    def no_scene(scene, stage):
        raise MemoryError

    server = import_module("stickslip.view.browser.server")
    monkeypatch.setattr(server, "open_server", lambda *at: opened.append(open_server(*at)) or opened[0])
    monkeypatch.setattr(server, "close_server", lambda one: closed.append(one) or close_server(one))
    monkeypatch.setattr(module, "Painter", no_scene)
    make = (lambda: Viewer(run, port=0)) if room == "viewer" else (lambda: module.LiveView(balls(2), port=0))
    with pytest.raises(MemoryError):
        make()
    assert closed == opened != []
