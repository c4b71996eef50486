"""Problems of any model of the user's own, written while it runs: the run is the same, and the files hold."""

from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.bench import ProblemRecorder, record
from stickslip.files import read_record

OWN = '''
import stickslip as ss


def boxes(*, bodies=2, mu=0.4):
    """Boxes that slide."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=mu)
    builder.body("floor", ss.Plane(), fixed=True)
    for k in range(bodies):
        builder.body(f"box{k}", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5 + k), velocity=(1, 0, 0))
    return builder


def one_problem():
    return ss.ContactProblem([[1.0]], [-1.0], ss.problem.nonnegative(1))


def needs(mass):
    return None


def wrong():
    return 3.0
'''


def boxes() -> ss.World:
    names: dict = {}
    exec(OWN, names)
    return names["boxes"]().build()


def bouncing() -> ss.NonsmoothSystem:
    ball = ss.Lagrangian("ball", M=1.0, q0=0.05, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    return ss.NonsmoothSystem([ball], [floor])


@pytest.mark.parametrize(
    ("model", "how"),
    [
        (boxes, {}),
        (boxes, {"solver": "nsgs"}),
        (boxes, {"scheme": "variational"}),
        (bouncing, {"record": 7}),
        (bouncing, {"scheme": "schatzman-paoli"}),
    ],
)
def test_the_run_is_the_same_and_the_files_hold_what_it_asked(model, how, tmp_path):
    how = {"until": 0.2, "h": 5e-3, **how}
    plain = ss.simulate(model(), **how)
    ticks: list[float] = []
    heard = ss.simulate(model(), record_problems=tmp_path, progress=lambda t, end: ticks.append(t), **how)
    np.testing.assert_array_equal(heard.q, plain.q)
    np.testing.assert_array_equal(heard.v, plain.v)
    assert heard.solver == plain.solver
    assert len(ticks) == 40
    files = sorted(tmp_path.iterdir())
    assert files
    for path in (files[0], files[-1]):
        one = read_record(path)
        assert one.info["recipe"] == "stickslip.simulate(..., record_problems=...)"
        assert float(one.info["time"]) == pytest.approx(5e-3 * (int(one.info["step"]) - 1))
        arguments = () if one.solution.v is None else (one.solution.v, one.solution.lam)
        assert ss.judge(one.problem, one.solution.r, *arguments).solved(1e-7)


def test_which_steps_are_kept(tmp_path):
    wanted = ProblemRecorder(out=tmp_path / "new" / "box", every=4, start=0.02, most=3, name="box")
    run = ss.simulate(boxes(), until=0.2, h=5e-3, record_problems=wanted)
    assert run.steps == 40, "the run goes on without"
    steps = [int(path.stem.rpartition("-")[2]) for path in sorted(Path(wanted.out).iterdir())]
    assert steps == [5, 9, 13]
    half = ss.simulate(boxes(), until=0.1, h=5e-3)
    ss.simulate(boxes(), until=0.11, start=half.checkpoint(), record_problems=tmp_path / "rest")
    assert [float(read_record(path).info["time"]) for path in sorted((tmp_path / "rest").iterdir())] == (
        pytest.approx([0.1, 0.105])
    )


@pytest.fixture
def own(tmp_path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN)
    return path


def test_a_function_in_a_file_is_recorded_like_a_scene(own, tmp_path):
    how = {"every": 3, "until": 0.05, "h": 5e-3, "solver": "ipm", "solver_options": {"algorithm": "nt-f"}}
    files = record(f"{own}:boxes", {"bodies": 3}, tmp_path / "a", **how)
    assert [path.name for path in files] == [f"boxes-bodies3-{k:06d}.hdf5" for k in (1, 4, 7, 10)]
    one = read_record(files[-1])
    assert one.info["recipe"].startswith(
        f"stickslip bench record {own}:boxes --every 3 --until 0.05 --h 0.005"
    )
    assert one.info["recipe"].endswith("--solver ipm --solver-option algorithm=nt-f --bodies 3")
    assert "Boxes that slide." in one.info["description"]
    again = record(f"{own}:boxes", {"bodies": 3}, tmp_path / "b", **how)
    assert [path.read_bytes() for path in files] == [path.read_bytes() for path in again]
    (alone,) = record(f"{own}:one_problem", {}, tmp_path / "c", every=1)
    np.testing.assert_allclose(read_record(alone).solution.r, [1.0], atol=1e-8)


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("boxes", {}, "until is missing"),
        ("boxes", {"masses": 2}, "has no parameter 'masses'; it has: bodies, mu"),
        ("needs", {}, "its parameter mass has no default"),
        ("wrong", {}, "gives a float; expected a World"),
        ("absent", {}, "has no absent"),
    ],
)
def test_what_cannot_be_recorded_is_said(own, tmp_path, name, given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        record(f"{own}:{name}", given, tmp_path / "out", every=1)
    with pytest.raises(ss.ModelError, match="record_problems is 3; expected a folder"):
        ss.simulate(boxes(), until=0.1, h=5e-3, record_problems=3)


def test_the_command_line_takes_a_function(own, tmp_path, capsys):
    from stickslip.cli.main import main

    given = ["bench", "record", f"{own}:boxes", "--every", "5", "--until", "0.02", "--h", "0.005"]
    assert main([*given, "--mu", "0.2", "--out", str(tmp_path / "files")]) == 0
    assert "boxes-mu0.2-000001.hdf5" in capsys.readouterr().out
    assert main(given[:5]) == 2
    assert "until is missing" in capsys.readouterr().err
