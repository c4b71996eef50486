"""`stickslip run` of worlds: parameters of the scene as options of their own, files, resuming."""

import json
import signal

import numpy as np
import pytest
from world_runs import Drop, balls

import stickslip as ss
from stickslip import scenes
from stickslip.exhibits import Curve, Figure, Panel
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.schemes import registry


def fall(
    *, bodies: int = 2, mass: float = 2.0, slow_start: bool = False, places: tuple = (1.0,), h: float = 1e-2
) -> Scenario:
    """Balls fall on a floor.

    bodies: how many balls,
        at least one.
    mass: of a ball [kg], > 0.

    Nothing else happens.
    """

    def facts(run):
        return [Fact("height of the first ball [m]", run.body("ball 0").position[-1, 2], 0.15, 0.051)]

    def figure(run):
        return Figure("Balls", [Panel("Energy", "t [s]", "E [J]", [Curve("all", run.t, run.energy)])])

    world = balls(bodies, mass=mass)
    return Scenario("fall", "Balls fall.", world, 0.4, h, "moreau-jean-semi-explicit", {}, facts, figure)


@pytest.fixture(autouse=True)
def scene(monkeypatch):
    monkeypatch.setattr(scenes, "SCENES", {"fall": f"{__name__}:fall"})
    entry = registry.Entry("moreau-jean-semi-explicit", "world_runs", "Drop", "bodies")
    monkeypatch.setitem(registry._TABLE, "moreau-jean-semi-explicit", entry)


def test_parameters_are_options(run, tmp_path):
    out, plot = tmp_path / "fall.h5", tmp_path / "fall.svg"
    result = run(
        "run", "fall", "--bodies", 3, "--mass=5", "--slow-start", "yes", "--places", "1,-2", "--until", 0.3,
        "--short", "-0.5", "--set", "bad=9", "--record", 10, "--out", out, "--plot", plot,
    )  # fmt: skip
    assert (result.code, result.err) == (0, "")
    for words in ("Balls fall.", "3 dynamic, 1 fixed", "height of the first ball", "yes", f"wrote {out}"):
        assert words in result.out
    stored = ss.read_trajectory(out)
    assert (len(stored), stored.model.mass.tolist()) == (4, [0.0, 5.0, 5.0, 5.0])
    assert stored.scheme_options == {"bad": 9.0, "short": -0.5, "lost": np.inf}
    assert plot.exists()


def test_a_run_goes_on_bit_for_bit(run, tmp_path):
    whole, first, rest = (tmp_path / f"{name}.h5" for name in ("whole", "first", "rest"))
    assert run("run", "fall", "--until", 0.4, "--out", whole).code == 0
    assert run("run", "fall", "--until", 0.2, "--out", first).code in (0, 1)
    result = run("run", "fall", "--resume", first, "--scheme", "moreau-jean-semi-explicit", "--out", rest)
    assert (result.code, result.err) == (0, "")
    a, b = ss.read_trajectory(whole), ss.read_trajectory(rest)
    np.testing.assert_array_equal(a.q[20:], b.q)
    np.testing.assert_array_equal(a.dissipated[20:], b.dissipated)


def test_parameters_are_listed(run):
    result = run("run", "fall", "--parameters")
    assert (result.code, result.err) == (0, "")
    for words in ("--bodies", "how many balls, at least one.", "of a ball [kg], > 0.", "--slow-start"):
        assert words in result.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["fall", "--bodys", 3], ("--bodys", "fall has no such parameter", "bodies, mass, slow_start")),
        (["fall", "--bodies", "x"], ("bodies takes a whole number, got 'x'",)),
        (["fall", "--bodies", 3, "--set", "bodies=4"], ("bodies is given twice",)),
        (["fall", "--mass", -1], ("mass",)),
        (["fall", "--scheme", "euler-moreau"], ("applies to systems of first order, not to worlds",)),
        (["fal", "--bodies", 3], ("unknown scene 'fal'", "fall")),
        (["fal", "--parameters"], ("unknown scene 'fal'",)),
        (["--bodies", 3], ("NAME is missing",)),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(run, arguments, words):
    run("run", *arguments).refuses(*words)


def test_a_bad_step_is_said_in_a_sentence(run):
    result = run("run", "fall", "--bad", 0.1)
    assert result.code == 1
    result.says("missed its tolerance: deliberate failure")


def test_info_tells_what_a_trajectory_of_a_world_holds(run, tmp_path):
    path = tmp_path / "fall.h5"
    ss.simulate(balls(joint=True), until=0.4, h=1e-2, scheme=Drop()).save(path)
    shown = run("info", path)
    assert shown.code == 0
    for words in ("trajectory of a world", "3 (2 dynamic, 1 fixed)", "1 plane, 2 sphere", "energy balance"):
        assert words in shown.out
    report = json.loads(run("info", path, "--json").out)
    assert (report["bodies"], report["joints"], report["records"]) == (3, ["rope"], 41)


@pytest.mark.parametrize(
    ("number", "code", "word"), [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")]
)
def test_a_signal_keeps_what_was_done(run, tmp_path, monkeypatch, number, code, word):
    out = tmp_path / "fall.h5"
    whole = Drop.step

    def step(self, world, state, *rest):
        if state.t > 0.195:
            signal.raise_signal(number)
        return whole(self, world, state, *rest)

    monkeypatch.setattr(Drop, "step", step)
    result = run("run", "fall", "--out", out)
    assert result.code == code
    result.says(f"{word} at t = 0.2 s", "kept")
    assert f"wrote {out}" in result.out
    assert len(ss.read_trajectory(out)) == 21


def test_a_run_is_shown_while_it_goes_on_and_then_played(run, tmp_path, monkeypatch):
    from stickslip.view.browser.viewer import Viewer

    asked, out = [], tmp_path / "fall.h5"

    def wait(viewer):
        assert out.exists()
        asked.append(viewer.url)
        raise KeyboardInterrupt

    monkeypatch.setattr(Viewer, "wait", wait)
    monkeypatch.setattr("webbrowser.open", lambda url: asked.append(url) or True)
    result = run("run", "fall", "--view", "--port", 0, "--out", out)
    assert (result.code, result.err) == (0, "")
    assert asked == [asked[0]] * 2
    lines = result.out.splitlines()
    assert lines[0] == f"showing the run at {asked[0]} (Ctrl+C ends it)"
    assert lines[-3:] == [f"wrote {out}", f"showing 41 records at {asked[0]} (Ctrl+C ends)", "ended"]
    assert any("height of the first ball" in line for line in lines[1:-3])


def test_an_interrupt_of_a_shown_run_ends_it_all(run, monkeypatch):
    from stickslip.view.browser.live import LiveView

    def stop(view, record):
        raise KeyboardInterrupt

    monkeypatch.setattr(LiveView, "__call__", stop)
    result = run("run", "fall", "--view", "--port", 0, "--no-browser")
    assert result.code == 130
    result.says("interrupted at t = 0 s")
    assert "records at" not in result.out


def test_what_cannot_be_shown_is_said_in_a_sentence(run, monkeypatch):
    run("run", "fall", "--view", "--port", 70000, "--no-browser").refuses("70000")
    monkeypatch.setattr(scenes, "SCENES", {"bouncing-ball": "stickslip.scenes.balls:bouncing_ball"})
    run("run", "bouncing-ball", "--view").refuses("bouncing-ball is written as equations", "--plot FILE")
