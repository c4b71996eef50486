"""`stickslip plot`: pictures of files, and one sentence where there is none."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import files
from tests.world_runs import Drop, balls


@pytest.fixture(scope="module")
def ball(tmp_path_factory):
    """The file of a ball that bounces."""
    body = ss.Lagrangian("ball", M=1.0, q0=0.1, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    path = tmp_path_factory.mktemp("runs") / "ball.h5"
    ss.simulate(ss.NonsmoothSystem([body], [floor]), until=0.3, h=1e-3).save(path)
    return path


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """The file of two balls that fall."""
    path = tmp_path_factory.mktemp("runs") / "world.h5"
    ss.simulate(balls(2), until=0.3, h=5e-3, scheme=Drop()).save(path)
    return path


@pytest.mark.parametrize(
    "arguments",
    [
        ["energy"],
        ["gaps", "--log"],
        ["impulses", "--forces", "--interaction", "floor"],
        ["phase", "--system", "ball", "--coordinate", "0", "--coordinate", "0"],
        ["poincare", "--period", "0.05", "--after", "0.1"],
        ["residuals"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_run_is_drawn_from_its_file(run, ball, tmp_path, arguments):
    out = tmp_path / "x.svg"
    result = run("plot", ball, *arguments, "--out", out)
    assert (result.code, result.err) == (0, "")
    assert result.out == f"wrote {out}\n"
    assert out.read_bytes().startswith(b"<?xml")
    assert out.stat().st_size < 100_000


def test_the_plot_is_named_after_what_it_shows(run, world, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("plot", world, "cones", "--body", "ball 0", "--at", "0.3").out == "wrote cones.svg\n"
    assert [path.name for path in tmp_path.iterdir()] == ["cones.svg"]


def test_without_what_the_plots_of_a_file_are_listed(run, ball, world, local_file):
    listed = run("plot", ball)
    assert listed.code == 0
    for words in ("energy", "--interaction --forces", "interactions: floor", "systems: ball", "--period"):
        assert words in listed.out
    assert "--body" not in listed.out
    listed = run("plot", world)
    assert "bodies: floor, ball 0, ball 1" in listed.out
    assert "--system" not in listed.out
    assert "none: the file has no solution" in run("plot", local_file).out


def test_cones_of_a_stored_solution(run, local_file, tmp_path):
    solved, out = tmp_path / "solved.hdf5", tmp_path / "cones.png"
    run("solve", local_file, "--out", solved)
    result = run("plot", solved, "cones", "--out", out)
    assert (result.code, result.err) == (0, "")
    assert out.read_bytes().startswith(b"\x89PNG")
    run("plot", local_file, "cones", "--out", out).refuses("local.hdf5", "stores no solution")
    run("plot", solved, "energy", "--out", out).refuses("energy needs a run")
    run("plot", solved, "residuals", "--out", out).refuses("contains no history", "stickslip solve")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense"], ["nonsense", "energy"]),
        (["phase", "--system", "cube"], ["no system 'cube'", "known: ball"]),
        (["gaps", "--interaction", "wall"], ["no interaction 'wall'", "known: floor"]),
        (["gaps", "--body", "ball"], ["no body 'ball'", "written equations"]),
        (["phase", "--coordinate", "7"], ["no coordinate '7'", "0 to 0"]),
        (["energy", "--body", "ball"], ["--body does not apply to energy", "gaps"]),
        (["poincare"], ["needs a period"]),
        (["poincare", "--period", "-1"], ["must be positive"]),
        (["poincare", "--period", "0"], ["must be positive"]),
        (["phase", "--until", "nan"], ["no record", "until = nan s"]),
        (["phase", "--coordinate", "9" * 5000], ["no coordinate"]),
        (["poincare", "--period", "1", "--coordinate", "0", "--coordinate", "0"], ["--coordinate"]),
        (["cones"], ["no friction"]),
        (["--log"], ["WHAT is missing", "residuals"]),
    ],
)
def test_what_cannot_be_drawn_is_said_in_a_sentence(run, ball, tmp_path, arguments, words):
    place = ["--out", tmp_path / "x.svg"] if arguments[0] != "--log" else []
    run("plot", ball, *arguments, *place).refuses(*words)
    assert not list(tmp_path.iterdir())


def test_bad_files_and_places_are_said_in_a_sentence(run, ball, world, tmp_path):
    run("plot", tmp_path / "none.h5", "energy").refuses("none.h5: no such file")
    run("plot", ball, "energy", "--out", tmp_path / "x.jpg").refuses("x.jpg", ".png or .svg or .pdf")
    run("plot", ball, "energy", "--out", tmp_path / "no" / "x.svg").refuses("no directory")
    run("plot", world, "cones", "--at", "9", "--out", tmp_path / "x.svg").refuses("0 to 0.3 s")
    run("plot", world, "cones", "--at", "0", "--out", tmp_path / "x.svg").refuses("0 s")  # 0 is a time, too
    broken = tmp_path / "broken.h5"
    broken.write_bytes(ball.read_bytes()[:3000])
    run("plot", broken, "energy", "--out", tmp_path / "x.svg").refuses("broken.h5")
    run("plot", tmp_path, "energy", "--out", tmp_path / "x.svg").refuses("is a directory")


def test_names_of_strangers_are_shown_as_they_are(run, tmp_path):
    name = "<b>$x_1$</b>\x1b[31m"
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body(name, ss.Sphere(0.1), position=(0, 0, 0.3), mass=1.0)
    path, out = tmp_path / "odd.h5", tmp_path / "x.svg"
    ss.simulate(builder.build(), until=0.3, h=1e-2, scheme=Drop()).save(path)
    assert run("plot", path, "gaps", "--body", name, "--out", out).code == 0
    assert b"\x1b" not in out.read_bytes()
    assert "\x1b" not in run("plot", path).out
    run("plot", path, "gaps", "--body", "x", "--out", out).refuses("no body 'x'")


def test_a_solution_with_numbers_that_are_none_is_drawn_or_refused(run, tmp_path):
    problem = ss.ContactProblem(np.eye(3), np.array([-1.0, 0.0, 0.0]), ss.coulomb([0.5]))
    path, out = tmp_path / "odd.hdf5", tmp_path / "x.svg"
    stored = files.StoredSolution(np.array([1e308, -1e308, 0.0]), np.zeros(3))
    files.write(path, files.ProblemRecord(problem, {}, stored))
    result = run("plot", path, "cones", "--out", out)
    assert result.code in (0, 2)
    assert "Traceback" not in result.err


def test_a_run_is_drawn_again_while_it_is_written(run, tmp_path, monkeypatch):
    path, picture, drawn = tmp_path / "ball.h5", tmp_path / "energy.svg", []
    body = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    live = ss.live(ss.NonsmoothSystem([body]), h=0.01, out=path)
    live.step(3)
    live.run()

    def pause(seconds):
        drawn.append(picture.read_bytes())
        live.step(40)
        live.run()
        if len(drawn) == 2:
            live.end(complete=True)

    monkeypatch.setattr("stickslip.cli.places.time.sleep", pause)
    found = run("plot", path, "energy", "--follow", "--out", picture)
    assert (found.code, found.err) == (0, "")
    assert len({*drawn, picture.read_bytes()}) == 3


def test_info_says_how_far_a_run_is(run, tmp_path):
    path = tmp_path / "ball.h5"
    live = ss.live(ss.NonsmoothSystem([ss.Lagrangian("ball", M=1.0, q0=1.0)]), h=0.01, out=path)
    live.step(3)
    live.run()
    assert "0 to 0.03 s, h = 0.01 s; so far; the file is being written" in run("info", path).out
    live.end(complete=False)
    assert "unfinished; --resume continues it" in run("info", path).out
