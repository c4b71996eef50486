"""The viewer's server: at the port that was asked for, for this machine's pages alone."""

import socket
import threading
import urllib.error
import urllib.request

import numpy as np
import pytest
from view.held import held
from world_runs import Drop, balls

import stickslip as ss
from stickslip.view.browser import viewer as module
from stickslip.view.browser.export import chosen
from stickslip.view.browser.live import LiveView
from stickslip.view.browser.server import is_local
from stickslip.view.browser.viewer import Viewer, ViewerError


@pytest.fixture(scope="module")
def run():
    return ss.simulate(balls(2), scheme=Drop(), h=0.01, until=0.3)


def test_frames_are_chosen_evenly_with_both_ends():
    assert chosen(np.arange(5.0), 10).tolist() == [0, 1, 2, 3, 4]
    assert chosen(np.arange(101.0), 5).tolist() == [0, 25, 50, 75, 100]
    assert chosen(np.zeros(1), 2).tolist() == [0]


def test_a_viewer_serves_at_the_port_it_was_given_and_says_nothing(run, capfd):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with Viewer(run, port=port, frames=10) as viewer:
        assert viewer.url == f"http://127.0.0.1:{port}"
        assert viewer.reels[0].rows.size == 10
        with urllib.request.urlopen(viewer.url) as answer:
            assert b"<html" in answer.read(10_000).lower()
        with pytest.raises(ViewerError, match=f"port {port} on 127.0.0.1 is in use.*--port"):
            Viewer(run, port=port)
    viewer.close()  # once more does no harm
    viewer.wait()
    with socket.socket() as probe, pytest.raises(ConnectionRefusedError):
        probe.connect(("127.0.0.1", port))
    assert capfd.readouterr() == ("", "")


def test_a_world_is_shown_where_it_starts():
    with Viewer(balls(1), port=0) as viewer, urllib.request.urlopen(viewer.url) as answer:
        assert held(answer.read().decode())["runs"][0]["t"].tolist() == [0.0]


def asked(url, path="/", method="GET", **headers):
    request = urllib.request.Request(url + path, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_pages_of_others_can_neither_read_nor_order(run):
    with LiveView(balls(2), port=0) as view:
        assert asked(view.url) == 200
        assert asked(view.url, Host="localhost:1") == 200
        assert asked(view.url, Host="stranger.example") == 403
        assert asked(view.url, "/order", "POST") == 403
        assert not view._held.is_set()
        assert asked(view.url, "/order", "POST", **{"X-Stickslip": "hold"}) == 200
        assert view._held.is_set()
        assert asked(view.url, "/../pyproject.toml") == 404


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
        Viewer(balls(1), host=host, port=port)


def test_which_hosts_are_local():
    assert is_local("127.0.0.1")
    assert is_local("127.1.2.3")
    assert not is_local("0.0.0.0")


def test_a_view_that_cannot_be_built_leaves_no_server(run, monkeypatch):
    def none(*_, **__):
        raise MemoryError

    monkeypatch.setattr(module, "reels_of", none)
    before = threading.active_count()
    with pytest.raises(MemoryError):
        Viewer(run, port=0)
    assert threading.active_count() == before


def test_the_module_shows_runs_and_returns_when_it_is_interrupted(run, monkeypatch, capfd):
    opened = []

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "wait", interrupt)
    monkeypatch.setattr(module.webbrowser, "open", opened.append)
    monkeypatch.delitem(module.sys.modules, "ipykernel", raising=False)
    assert ss.view(run, run) is None
    assert opened[0].startswith("http://127.0.0.1:")
    assert opened[0] in capfd.readouterr().err
