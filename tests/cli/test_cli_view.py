"""`stickslip view`: an address, or one sentence that says why not."""

import os
import signal
import socket
import subprocess
import sys
import urllib.request
from dataclasses import replace

import pytest
from world_runs import Drop, balls

import stickslip as ss
from stickslip import scenes
from stickslip.cli import view as module

ENTRY = "import sys; from stickslip.cli.main import main; sys.exit(main())"


@pytest.fixture(scope="module")
def trajectory():
    return ss.simulate(balls(2), scheme=Drop(), h=0.01, until=0.1)


@pytest.fixture
def file(trajectory, tmp_path):
    trajectory.save(tmp_path / "balls.h5")
    return tmp_path / "balls.h5"


@pytest.fixture
def at_once(monkeypatch):
    """The user looks, and presses Ctrl+C; the addresses that a browser was opened at."""
    from stickslip.view.browser.viewer import Viewer

    opened = []

    def interrupt(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "wait", interrupt)
    monkeypatch.setattr(module.webbrowser, "open", lambda url: opened.append(url) or True)
    return opened


def test_the_address_is_printed_and_opened(run, file, at_once):
    found = run("view", file, "--port", 0)
    assert (found.code, found.err) == (0, "")
    first, last = found.out.splitlines()
    url = first.split()[4]
    assert first == f"showing 11 records at {url} (Ctrl+C ends)"
    assert url.startswith("http://127.0.0.1:")
    assert at_once == [url]
    assert last == "ended"


def test_no_browser_opens_none(run, file, at_once):
    assert run("view", file, "--port", 0, "--no-browser").code == 0
    assert at_once == []


def test_fewer_frames_are_said(run, file, at_once):
    found = run("view", file, "--port", 0, "--frames", 5)
    assert "5 of 11 records are played" in found.out
    run("view", file, "--frames", 1).refuses("--frames 1", "at least 2")


def test_unknown_shapes_are_said_without_control_characters(run, trajectory, tmp_path, at_once):
    model = trajectory.model
    shapes = (model.shapes[0], replace(model.shapes[1], kind="to\x1brus", numbers=()), model.shapes[2])
    replace(trajectory, model=replace(model, shapes=shapes)).save(tmp_path / "own.h5")
    found = run("view", tmp_path / "own.h5", "--port", 0)
    assert found.code == 0
    assert "only marked: to\\x1brus" in found.out


def test_serving_beyond_the_machine_is_warned_of(run, file, at_once):
    found = run("view", file, "--port", 0, "--host", "0.0.0.0", "--no-browser")
    assert found.code == 0
    found.says("warning", "0.0.0.0", "may open the viewer")
    assert "http://127.0.0.1:" in found.out


def test_a_port_in_use_is_named(run, file, at_once):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        run("view", file, "--port", port).refuses(f"port {port} on 127.0.0.1 is in use", "--port N")


def test_bad_hosts_and_ports(run, file):
    run("view", file, "--port", 99999).refuses("port 99999")
    run("view", file, "--host", "nowhere.invalid", "--port", 0).refuses("nowhere.invalid")


def test_files_that_cannot_be_shown(run, tmp_path):
    run("view", tmp_path / "none.h5").refuses("none.h5", "no such file")
    (tmp_path / "broken.h5").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    run("view", tmp_path / "broken.h5").refuses("broken.h5")
    (tmp_path / "text.h5").write_text("hello")
    run("view", tmp_path / "text.h5").refuses("text.h5")
    run("view", tmp_path).refuses(str(tmp_path))


def test_written_equations_have_no_shapes(run, tmp_path):
    ss.simulate(scenes.make("bouncing-ball").system, until=0.01, h=1e-3).save(tmp_path / "ball.h5")
    run("view", tmp_path / "ball.h5", "--still", tmp_path / "x.png").refuses("equations", "stickslip plot")
    run("view", tmp_path / "ball.h5", "--follow").refuses("equations", "stickslip plot")
    assert run("view", tmp_path / "ball.h5", "--export", tmp_path / "ball.html").code == 0
    assert "multipliers" in (tmp_path / "ball.html").read_text(encoding="utf-8")


def test_two_runs_are_side_by_side(run, file, tmp_path, at_once):
    other = tmp_path / "other.h5"
    other.write_bytes(file.read_bytes())
    found = run("view", file, other, "--port", 0)
    assert (found.code, found.err) == (0, "")
    assert "showing 11 and 11 records at" in found.out
    page = tmp_path / "both.html"
    assert run("view", file, other, "--export", page).code == 0
    assert "<title>balls and other</title>" in page.read_text(encoding="utf-8")
    run("view", file, other, "--still", tmp_path / "x.png").refuses("two runs are shown in the browser")


def test_bodies_without_shapes(run, tmp_path):
    empty = ss.simulate(ss.WorldBuilder().build(), scheme=Drop(), until=0.01, h=0.01)
    empty.save(tmp_path / "empty.h5")
    run("view", tmp_path / "empty.h5").refuses("no shapes")


def test_an_export_is_a_page(run, file, tmp_path):
    run("view", file, "--export", tmp_path / "page.txt").refuses("page.txt", ".html")
    run("view", file, "--export", tmp_path / "none" / "page.html").refuses("none")
    found = run("view", file, "--export", tmp_path / "page.html", "--frames", 3)
    assert found.code == 0
    assert f"wrote {tmp_path / 'page.html'} (" in found.out
    assert "<html" in (tmp_path / "page.html").read_text(encoding="utf-8")[:10_000].lower()


def test_an_interrupt_ends_it_well(file):
    process = subprocess.Popen(
        [sys.executable, "-c", ENTRY, "view", str(file), "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(os.environ),
    )  # fmt: skip
    try:
        url = process.stdout.readline().split()[4]
        with urllib.request.urlopen(url) as answer:
            assert answer.status == 200
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, out, err) == (0, "ended\n", "")


def test_a_still_is_a_picture(run, file, tmp_path):
    run("view", file, "--at", 0.1).refuses("--at", "--still")
    run("view", file, "--still", tmp_path / "still.jpg").refuses("still.jpg", ".png")
    run("view", file, "--still", tmp_path / "still.png", "--at", 1e9).refuses("--still", "there are records")
    assert not list(tmp_path.glob("still*"))


def test_an_animation_is_written_without_a_display(run, file, tmp_path):
    small = ("--pixels", "168x120", "--fps", 20)
    found = run("view", file, "--export", tmp_path / "run.gif", *small, "--contacts", "--azimuth", 30)
    assert found.code == 0
    assert found.out.startswith(f"wrote {tmp_path / 'run.gif'} (")
    assert (tmp_path / "run.gif").read_bytes()[:6] == b"GIF89a"
    found = run("view", file, "--export", tmp_path / "run.png", *small)
    assert "run-0000.png to run-0002.png (3 pictures," in found.out
    run("view", file, "--export", tmp_path / "x.gif", "--pixels", "big").refuses("--pixels big", "640x480")
    run("view", file, "--export", tmp_path / "x.gif", "--frames", 5).refuses("--frames", "--fps")
    run("view", file, "--export", tmp_path / "x.html", "--fps", 5).refuses("--fps is for animations")
    run("view", file, "--export", tmp_path / "x.html", "--forces").refuses("--forces is for pictures")
    run("view", file, "--export", tmp_path / "x.gif", "--fps", 5000).refuses("--export", "fps is 5000")
    run("view", file, "--speed", 2).refuses("--speed is for --export")
    assert not list(tmp_path.glob("x.*"))


def test_a_model_is_no_animation(run, tmp_path):
    ss.save(balls(2), tmp_path / "balls.toml")
    run("view", tmp_path / "balls.toml", "--export", tmp_path / "x.gif").refuses("a model stands still")


def test_a_run_is_followed_while_it_is_written(run, tmp_path, at_once, monkeypatch):
    path = tmp_path / "balls.h5"
    live = ss.live(balls(2), scheme=Drop(), h=0.01, out=path)
    pauses = []

    def pause(seconds):
        pauses.append(seconds)
        live.step(3)
        live.run()
        if len(pauses) == 2:
            live.end(complete=True)

    monkeypatch.setattr("stickslip.cli.places.time.sleep", pause)
    found = run("view", path, "--follow", "--port", 0)
    assert (found.code, found.err) == (0, "")
    assert found.out.startswith(f"following {path} at http://127.0.0.1:")
    assert "showing 7 records" in found.out
    assert len(pauses) == 2
    run("view", path, "--follow", "--still", tmp_path / "x.png").refuses(
        "--follow shows a run while it is written"
    )
