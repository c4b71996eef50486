"""`stickslip run`: scenes simulated, checked, drawn, saved and taken up again."""

import json
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

import stickslip as ss
from stickslip import scenes
from stickslip.cli import progress
from stickslip.cli.settings import parsed
from stickslip.exhibits import Curve, Figure, Panel
from stickslip.scenes.scenario import Fact, Scenario


def drop(*, e: float = 0.5, stiff: bool = False, levels: tuple = (1.0, 2.0), wrong: int = 0) -> Scenario:
    """A ball dropped."""
    spring = (lambda q: 50.0 * np.sin(q)) if stiff else None
    ball = ss.Lagrangian("ball", M=1.0, q0=0.1, F_ext=-9.81, F_int=spring)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=e))

    def facts(run):
        first = run.t[np.flatnonzero(run.active[:, 0])[0]]
        return [Fact("first impact [s]", float(first), np.sqrt(0.2 / 9.81) + wrong, 2e-2)]

    def figure(run):
        return Figure("Ball", [Panel("Height", "t [s]", "q [m]", [Curve("ball", run.t, run.q[:, 0])])])

    system = ss.NonsmoothSystem([ball], [floor])
    return Scenario(
        "drop", "A ball is dropped.", system, 0.4, 2e-3, "moreau-jean", {"theta": 0.75}, facts, figure,
        ("moreau-jean", "compliant"),
    )  # fmt: skip


@pytest.fixture(autouse=True)
def scene(monkeypatch):
    monkeypatch.setattr(scenes, "SCENES", {"drop": f"{__name__}:drop"})


def test_a_run_shows_its_facts(run, tmp_path):
    out, plot = tmp_path / "drop.h5", tmp_path / "drop.png"
    result = run("run", "drop", "--out", out, "--plot", plot)
    assert (result.code, result.err) == (0, "")
    for words in ("A ball is dropped.", "moreau-jean (theta=0.75)", "first impact [s]", "yes", str(out)):
        assert words in result.out
    assert plot.read_bytes().startswith(b"\x89PNG")
    stored = ss.read_trajectory(out)
    assert len(stored) == 201
    assert stored.scheme_options["theta"] == 0.75


def test_scenes_are_listed(run):
    result = run("run")
    assert result.code == 0
    assert "A ball is dropped." in result.out


def test_a_run_goes_on(run, tmp_path):
    whole, first, rest = (tmp_path / f"{name}.h5" for name in ("whole", "first", "rest"))
    assert run("run", "drop", "--out", whole).code == 0
    assert run("run", "drop", "--until", 0.2, "--out", first).code == 0
    result = run("run", "drop", "--resume", first, "--out", rest)
    assert (result.code, result.err) == (0, "")
    a, b = ss.read_trajectory(whole), ss.read_trajectory(rest)
    np.testing.assert_array_equal(a.q[100:], b.q)
    np.testing.assert_array_equal(a.t[100:], b.t)


def test_settings_reach_scene_and_scheme(run, tmp_path):
    out = tmp_path / "drop.h5"
    result = run("run", "drop", "--set", "e=0.25", "--set", "theta=1", "--record", 10, "--out", out)
    assert result.code == 0
    stored = ss.read_trajectory(out)
    assert "e=0.25" in stored.model.interactions[0].law
    assert stored.scheme_options["theta"] == 1.0
    assert len(stored) == 21


def test_a_fact_that_does_not_hold_is_exit_code_1(run):
    result = run("run", "drop", "--set", "wrong=1")
    assert result.code == 1
    assert "NO" in result.out


def test_facts_that_cannot_be_measured_are_exit_code_1(run):
    result = run("run", "drop", "--until", 0.01)
    assert result.code == 1
    result.says("the checks of drop cannot be evaluated on this run")


def test_a_missed_step_is_exit_code_1(run, tmp_path):
    out = tmp_path / "drop.h5"
    settings = ("stiff=true", "newton_max=1", "newton_tolerance=1e-15")
    arguments = ("run", "drop", *(word for one in settings for word in ("--set", one)), "--out", out)
    stopped = run(*arguments)
    assert stopped.code == 1
    stopped.says("missed its tolerance")
    assert out.exists()
    accepted = run(*arguments, "--on-failure", "accept")
    assert accepted.code == 1
    assert accepted.err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["dro"], ("unknown scene 'dro'", "drop")),
        (["drop", "--scheme", "euler"], ("unknown scheme 'euler'", "moreau-jean")),
        (["drop", "--scheme", "euler-moreau"], ("cannot be run by euler-moreau", "moreau-jean")),
        (["drop", "--solver", "autom"], ("unknown solver 'autom'", "auto")),
        (["drop", "--h", "0"], ("h is 0.0",)),
        (["drop", "--until", "-1"], ("until is -1.0",)),
        (["drop", "--record", "0"], ("record is 0",)),
        (["drop", "--on-failure", "ignore"], ("--on-failure", "ignore")),
        (["drop", "--set", "e"], ("'e' is not of the form name=value",)),
        (["drop", "--set", "f=1"], ("--f", "e, stiff, levels, wrong", "theta")),
        (["drop", "--set", "e=x"], ("e takes a number, got 'x'",)),
        (["drop", "--set", "e=2"], ("restitution must lie in [0, 1]",)),
        (["drop", "--set", "theta=2"], ("theta must lie in [0, 1]",)),
        (["drop", "--set", "e=0.1", "--set", "e=0.2"], ("--set e is given twice",)),
        (["drop", "--out", "drop.txt"], ("drop.txt", ".h5")),
        (["drop", "--plot", "drop.gif"], ("drop.gif", ".png")),
        (["drop", "--resume", "none.h5"], ("none.h5", "no such file")),
    ],
)
def test_bad_input_is_one_sentence(run, arguments, words):
    run("run", *arguments).refuses(*words)


def test_a_trajectory_of_another_scene_is_refused(run, tmp_path):
    ball = ss.Lagrangian("bullet", M=1.0, q0=0.1)
    path = tmp_path / "other.h5"
    ss.simulate(ss.NonsmoothSystem([ball]), until=0.1, h=1e-2).save(path)
    run("run", "drop", "--resume", path).refuses("its systems are bullet; here they are ball")
    before = path.read_bytes()
    run("run", "drop", "--resume", path, "--out", path).refuses("its systems are bullet")
    assert path.read_bytes() == before


def test_a_run_goes_on_in_its_file(run, tmp_path):
    path = tmp_path / "drop.h5"
    run("run", "drop", "--until", "0.1", "--out", path)
    run("run", "drop", "--until", "0.2", "--resume", path)
    other = tmp_path / "rest.h5"
    run("run", "drop", "--until", "0.3", "--resume", path, "--out", other)
    whole, rest = ss.read_trajectory(path), ss.read_trajectory(other)
    assert (whole.t[0], whole.t[-1], rest.t[0]) == (0.0, 0.2, 0.2)
    assert rest.t[-1] == pytest.approx(0.3)


def test_values_have_the_type_of_their_defaults():
    assert parsed("a", "yes", False) is True
    assert parsed("a", "3", 1) == 3
    assert parsed("a", "1,2", (0.0,)) == (1.0, 2.0)
    assert parsed("a", "x", "y") == "x"
    assert parsed("a", "2.5", None) == 2.5
    assert parsed("a", "b", None) == "b"


def test_info_tells_of_a_trajectory(run, tmp_path):
    path = tmp_path / "drop.h5"
    run("run", "drop", "--out", path)
    result = run("info", path)
    assert (result.code, result.err) == (0, "")
    for words in ("trajectory", "ball (Lagrangian)", "NewtonImpact(e=0.5", "0 to 0.4 s", "200 of 200 steps"):
        assert words in result.out
    told = json.loads(run("info", path, "--json").out)
    assert told["records"] == 201
    assert told["scheme"] == "moreau-jean"
    path.write_bytes(path.read_bytes()[:-1000])
    assert run("info", path).code == 2


def test_a_terminal_gets_a_bar(monkeypatch):
    assert progress.terminal() is None
    console = Console(file=StringIO(), force_terminal=True, width=80)
    monkeypatch.setattr(progress, "terminal", lambda: console)
    with progress.watch_time("drop") as report:
        for k in range(1001):
            report(k / 1000.0, 1.0)
    assert "drop" in console.file.getvalue()


def test_a_relaxed_run_says_so_and_ends_well(run, tmp_path):
    path = tmp_path / "soft.h5"
    soft = run("run", "drop", "--scheme", "compliant", "--out", path)
    assert soft.code == 0, soft
    assert "verdict      relaxed, springs" in soft.out
    info = run("info", path)
    assert "relaxed, springs" in info.out
    assert json.loads(run("info", path, "--json").out)["verdict"] == "relaxed"
    exact = run("run", "drop")
    assert "certified by the exact law" in exact.out
    assert "relaxed" not in exact.out


def test_options_of_the_solver_are_those_of_its_object(run, tmp_path):
    out = tmp_path / "drop.h5"
    how = ("--solver", "ipm", "--solver-option", "algorithm=nt-f", "--solver-option", "tolerance=1e-9")
    assert run("run", "drop", "--until", "0.2", *how, "--out", out).code == 0
    stored = ss.read_trajectory(out)
    solver = ss.solvers.InteriorPoint(algorithm="nt-f", tolerance=1e-9)
    scheme = ss.schemes.MoreauJean(theta=0.75)
    same = ss.simulate(drop().system, until=0.2, h=2e-3, scheme=scheme, solver=solver)
    assert (stored.solver, stored.tolerance) == ("ipm(algorithm='nt-f')", 1e-9)
    np.testing.assert_array_equal(stored.q, same.q)
    rest = ("--until", "0.3", "--solver-option", "algorithm=nt-qp", "--out", tmp_path / "rest.h5")
    assert "ipm(algorithm='nt-qp')" in run("run", "drop", "--resume", out, *rest).out


def test_a_misspelt_option_of_the_solver_lists_those_there_are(run):
    result = run("run", "drop", "--solver", "ipm", "--solver-option", "algorithmus=nt-f")
    assert result.code == 2
    result.says("ipm has no option 'algorithmus'", "it has: tolerance", "did you mean 'algorithm'?")


def test_times_of_steps_by_grid_and_by_error(run, tmp_path):
    out = tmp_path / "run.h5"
    assert run("run", "drop", "--grid", "0,0.1,0.15,0.4", "--out", out).code in (0, 1)
    np.testing.assert_array_equal(ss.read_trajectory(out).t, [0.0, 0.1, 0.15, 0.4])
    times = tmp_path / "times.txt"
    times.write_text("0\n0.1\n0.15\n")
    run("run", "drop", "--grid", times, "--out", out)
    np.testing.assert_array_equal(ss.read_trajectory(out).t, [0.0, 0.1, 0.15])
    run("run", "drop", "--adaptive", "tolerance=1e-4,h_max=0.05", "--out", out)
    ours = ss.simulate(
        drop().system, until=0.4, scheme=ss.schemes.MoreauJean(theta=0.75),
        adaptive=ss.schemes.Adaptive(tolerance=1e-4, h_max=0.05),
    )  # fmt: skip
    np.testing.assert_array_equal(ss.read_trajectory(out).q, ours.q)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--grid", "0,0.2,0.1"], "times must increase"),
        (["--grid", "nowhere.txt"], "neither a list of times separated by commas nor a text file of times"),
        (["--grid", "0,0.1", "--h", "0.01"], "h and grid are given"),
        (["--adaptive", "1e-6"], "is not of the form name=value, as tolerance=1e-6"),
        (["--adaptive", "tolerence=1e-6"], "did you mean 'tolerance'"),
        (["--adaptive", "tolerance=-1"], "tolerance must lie in"),
        (["--adaptive", "h_max=1", "--grid", "0,1"], "grid and adaptive are given"),
        (["--solver", "siconos-magic"], "unknown solver 'siconos-magic'"),
    ],
)
def test_wrong_paces_are_refused(run, given, words):
    run("run", "drop", *given).refuses(words)


def test_siconos_by_name_where_it_is_absent(run, monkeypatch):
    from stickslip.bench.siconos import solver
    from stickslip.bench.siconos.process import Found

    monkeypatch.setattr(solver, "find_siconos", lambda: Found(None, "", ("python3: no module",)))
    run("run", "drop", "--solver", "siconos-nsgs").refuses(
        "siconos-nsgs: Siconos was not found; set an interpreter that imports it in STICKSLIP_SICONOS"
    )
    assert "Siconos was not found" in run("solvers", "siconos-nsgs").out
