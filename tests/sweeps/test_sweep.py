"""Sweeps: every run once, whatever ends them; the same rows whatever makes them; failures are rows."""

import math
import shutil
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.bench.campaigns.journal import InUse, Journal, journal_of
from stickslip.bench.records import Outcome
from stickslip.bench.running.executors import Here
from stickslip.files.errors import FormatError
from stickslip.state import ModelError
from stickslip.sweeps import Integers, LogUniform, Normal, OtherSweep, SweepResult, Uniform
from stickslip.sweeps import sweep as module
from stickslip.sweeps.designs import Design, parameter_of

FILE = Path(__file__).with_name("swept.py")
DROP = f"{FILE}:drop"
HOW = {"until": 0.3, "h": 0.01}
TIMES = ("seconds", "simulated", "compile_seconds")


def swept(out=None, parameters=None, executor="here", make=DROP, measure=f"{FILE}:lowest", **how):
    given = {"height": [1.0, 2.0, 3.0], "e": [0.0, 0.5]} if parameters is None else parameters
    return ss.sweep(make, given, measure, executor=executor, out=out, **HOW | how)


def content(result: SweepResult) -> list:
    """All but times, to the last bit."""
    columns = (*result.parameters.values(), *result.measures.values(), result.residual, result.t)
    return [
        result.number.tolist(), list(result.parameters), list(result.measures), result.outcomes,
        result.reasons, result.steps.tolist(), *(repr(np.asarray(x).tolist()) for x in columns),
    ]  # fmt: skip


def without_times(path: Path, to: Path) -> bytes:
    """The bytes of a file of a sweep whose times are put to zero."""
    import h5py

    shutil.copy(path, to)
    with h5py.File(to, "r+") as file:
        for name in TIMES:
            file["stickslip_sweep/runs"][name][...] = 0.0
    return to.read_bytes()


class Stops(Here):
    """Is interrupted after so many runs."""

    def __init__(self, after, error=KeyboardInterrupt):
        self.after, self.error, self.ran = after, error, []

    def run(self, jobs, limits, told=None):
        runs = super().run(jobs, limits, told)
        for _ in range(self.after):
            if (row := next(runs, None)) is None:
                return
            self.ran.append(row.number)
            yield row
        raise self.error


def test_a_grid_is_all_combinations_the_last_parameter_fastest():
    result = swept()
    assert result.complete
    assert result.parameters["height"].tolist() == [1.0, 1.0, 2.0, 2.0, 3.0, 3.0]
    assert result.parameters["e"].tolist() == [0.0, 0.5] * 3
    assert result.solved.all()
    assert result.residual.max() <= 1e-10
    fall = 9.81 * 0.3**2 / 2.0  # nothing touches the floor until then
    moved = 1e-3 * np.random.default_rng(0).random()
    known = result.parameters["height"] + moved - fall
    assert np.abs(result.measures["lowest"] - known).max() < 1e-2


def test_samples_are_those_of_their_method_and_seed():
    given = {"height": Uniform(1.0, 2.0), "e": [0.0, 0.5]}
    for method in ("random", "latin", "sobol"):
        result = swept(parameters=given, samples=8, method=method, seed=3)
        heights = result.parameters["height"].reshape(2, 8)
        assert (heights[0] == heights[1]).all()  # the same at each value of the grid
        assert ((heights >= 1.0) & (heights < 2.0)).all()
        if method != "random":  # one in each eighth
            assert sorted(np.floor(8.0 * (heights[0] - 1.0)).tolist()) == list(range(8))
        again = swept(parameters=given, samples=8, method=method, seed=3)
        other = swept(parameters=given, samples=8, method=method, seed=4)
        assert content(again) == content(result) != content(other)


def test_distributions_have_their_quantiles():
    u = np.array([0.0, 0.25, 0.5, 0.999])
    assert Uniform(2.0, 4.0).values(u).tolist() == [2.0, 2.5, 3.0, 3.998]
    assert LogUniform(1.0, 100.0).values(u)[2] == pytest.approx(10.0, rel=1e-15)
    assert Normal(1.0, 2.0).values(u)[2] == 1.0
    assert np.isfinite(Normal(0.0, 1.0).values(u)).all()
    assert Integers(1, 4).values(u).tolist() == [1.0, 2.0, 3.0, 4.0]
    for wrong in (lambda: Uniform(1.0, 1.0), lambda: LogUniform(0.0, 1.0), lambda: Normal(0.0, math.nan),
                  lambda: Integers(0.5, 2)):  # fmt: skip
        with pytest.raises(ModelError, match="expected finite numbers"):
            wrong()


def test_each_repetition_has_a_seed_of_its_own():
    result = swept(parameters={"height": [1.0, 2.0]}, repeat=3, seed=5)
    seeds = result.parameters["seed"]
    assert len(set(seeds.tolist())) == 6
    assert seeds.dtype.kind == "i"
    assert len(set(result.measures["lowest"].tolist())) == 6
    assert content(swept(parameters={"height": [1.0, 2.0]}, repeat=3, seed=5)) == content(result)
    with pytest.raises(ModelError, match="no parameter seed"):
        swept(make="bouncing-ball", parameters={"e": [0.1]}, repeat=2)


def test_a_list_of_runs():
    rows = [{"height": 1.0, "e": 0.1}, {"height": 5.0, "e": 0.9}]
    result = swept(parameters=rows)
    assert [dict(zip(result.parameters, row, strict=True)) for row in
            zip(*result.parameters.values(), strict=True)] == rows  # fmt: skip
    with pytest.raises(ModelError, match="row 1 of the list has height; row 0 has height, e"):
        swept(parameters=[rows[0], {"height": 1.0}])


def test_any_function_and_any_measure_here():
    def make(height):
        import sys

        sys.path.insert(0, str(FILE.parent))
        from swept import drop

        return drop(height=height)

    result = swept(make=make, measure=["final", lambda run: [1.0, 2.0]], parameters={"height": [1.0]})
    assert list(result.measures) == ["ball q0", "ball v0", "<lambda> 0", "<lambda> 1"]
    with pytest.raises(ModelError, match=r'do not find the function make.*executor="here"'):
        swept(make=make, executor="processes", parameters={"height": [1.0]})


def test_measures_of_bodies_are_known():
    result = ss.sweep(f"{FILE}:box", {"mu": [0.2, 0.4]}, ["runout", "speed", "energy", "final"],
                      executor="here", until=1.0, h=1e-3)  # fmt: skip
    mu = result.parameters["mu"]
    assert result.column("runout") == pytest.approx(1.0 / (2.0 * mu * 9.81), rel=1e-2)
    assert result.column("largest speed") == pytest.approx(1.0)
    assert np.abs(result.column("speed at the end")).max() < 1e-6
    assert result.column("energy lost") == pytest.approx(0.5 * 8.0, rel=1e-3)
    assert np.abs(result.column("box position z") - 0.1).max() < 1e-6


def test_facts_of_a_scene_are_measured():
    result = ss.sweep("bouncing-ball", {"e": [0.5, 2.0]}, executor="here", h=2e-3)
    assert result.outcomes == (Outcome.SOLVED, Outcome.REFUSED)
    assert "e is 2.0; it must be" in result.reasons[1]
    assert result.column("share of facts that hold").tolist()[0] == 1.0
    assert all(np.isnan(column[1]) for column in result.measures.values())


def test_what_goes_wrong_is_a_row_that_says_why(tmp_path):
    what = ["fine", "raises", "dies", "hangs", "hungry", "nothing", "fine"]
    result = ss.sweep(
        f"{FILE}:bad", [{"what": each, "height": 1.0 + k} for k, each in enumerate(what)],
        f"{FILE}:several", workers=1, timeout=8.0, out=tmp_path / "s.h5", **HOW,
    )  # fmt: skip
    assert [one.name for one in result.outcomes] == [
        "SOLVED", "RAISED", "CRASHED", "TIMEOUT", "MEMORY", "RAISED", "SOLVED"
    ]  # fmt: skip
    for word, reason in zip(
        ["", "no such ball", "SIGKILL", "stopped after", "Unable to allocate", "gives a int", ""],
        result.reasons, strict=True,
    ):  # fmt: skip
        assert word in reason
    assert result.column("where it began")[[0, 6]].tolist() == [1.0, 7.0]
    assert result.parameters["what"].tolist() == what
    assert content(ss.read(tmp_path / "s.h5")) == content(result)


def test_a_measure_that_gives_no_number_is_told():
    result = swept(measure=f"{FILE}:words", parameters={"height": [1.0]})
    assert result.outcomes == (Outcome.RAISED,)
    assert "the measure words gives a str; expected a number" in result.reasons[0]


def test_the_file_is_the_same_whoever_makes_the_runs(tmp_path):
    many = {"height": Uniform(1.0, 2.0), "e": [0.0, 0.5], "seed": [1, 2]}
    files = {}
    for name, how in {"here": {"executor": "here"}, "one": {"workers": 1}, "two": {"workers": 2}}.items():
        out = tmp_path / f"{name}.h5"
        swept(out, many, samples=20, seed=1, **{"executor": "processes"} | how)
        files[name] = without_times(out, tmp_path / f"{name}.copy")
    assert files["here"] == files["one"] == files["two"]


def test_a_file_folded_often_is_the_same(tmp_path, monkeypatch):
    whole = swept(tmp_path / "whole.h5")
    monkeypatch.setattr(module, "PORTION", 2)
    parts = swept(tmp_path / "parts.h5")
    assert content(parts) == content(whole)
    assert without_times(tmp_path / "parts.h5", tmp_path / "a") == without_times(
        tmp_path / "whole.h5", tmp_path / "b"
    )


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("after", [0, 1, 5])
def test_an_interrupted_sweep_goes_on(tmp_path, after, error):
    out = tmp_path / "s.h5"
    first, second = Stops(after, error), Stops(100)
    with pytest.raises(error):
        swept(out, executor=first)
    assert [path.name for path in tmp_path.iterdir()] == ["s.h5"]
    assert len(ss.read(out)) == after
    assert not ss.read(out).complete
    result = swept(out, executor=second)
    assert sorted(first.ran + second.ran) == list(range(6))
    assert content(result) == content(swept())


def test_a_kill_at_any_moment_loses_nothing(tmp_path):
    (tmp_path / "work").mkdir()
    out, taken = tmp_path / "work" / "s.h5", []

    def told(what, done, size):
        if journal_of(out).exists():
            taken.append(shutil.copytree(out.parent, tmp_path / f"{len(taken)}"))

    whole = content(swept(out, progress=told))
    assert len(taken) >= 6
    for k, left in enumerate(taken[-6:], 1):
        assert len(ss.read(left / "s.h5")) == k
        with pytest.raises(OtherSweep):  # which loses nothing either
            swept(left / "s.h5", h=0.02)
        assert len(ss.read(left / "s.h5")) == k
        rest = Stops(100)
        assert content(swept(left / "s.h5", executor=rest)) == whole
        assert len(rest.ran) == 6 - k


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"parameters": {"height": [1.0, 2.0], "e": [0.0, 0.5]}}, "the parameter height is height=1,2,3"),
        ({"parameters": {"height": [1.0, 2.0, 3.0]}}, "the parameter e is e=0,0.5 there and not given here"),
        ({"until": 0.4}, "until is 0.3 there and 0.4 here"),
        ({"h": 0.02}, "h is 0.01 there and 0.02 here"),
        ({"solver": "nsgs"}, 'solver is not given there and "nsgs" here'),
        ({"measure": f"{FILE}:several"}, "what is measured is lowest there and several here"),
        ({"make": f"{FILE}:bad"}, "the model is drop there and bad here"),
        ({"seed": 1}, "seed is 0 there and 1 here"),
        ({"timeout": 5.0}, "timeout is 3600.0 s there and 5.0 s here"),
    ],
)
def test_other_parameters_are_refused_and_named(tmp_path, change, words):
    out = tmp_path / "s.h5"
    with pytest.raises(KeyboardInterrupt):
        swept(out, executor=Stops(2))
    before = out.read_bytes()
    if "make" in change:
        change["parameters"] = {"height": [1.0]}
    with pytest.raises(OtherSweep) as refusal:
        swept(out, **change)
    assert words in str(refusal.value)
    assert str(out) in str(refusal.value)
    assert out.read_bytes() == before
    assert not journal_of(out).exists()


def test_a_function_that_has_changed_is_refused(tmp_path):
    own, out = tmp_path / "own.py", tmp_path / "s.h5"
    own.write_text(FILE.read_text())
    with pytest.raises(KeyboardInterrupt):
        swept(out, make=f"{own}:drop", executor=Stops(2))
    own.write_text(FILE.read_text() + "\n# another one\n")
    with pytest.raises(OtherSweep, match="the file of functions"):
        swept(out, make=f"{own}:drop")


def test_a_second_writer_is_refused_by_name(tmp_path):
    out = tmp_path / "s.h5"
    first = Journal(out, "sweep")
    with pytest.raises(InUse, match=r"s\.h5: another sweep is writing to it"):
        swept(out)
    first.close(keep=False)
    assert swept(out).complete


def test_results_open_as_frame_csv_and_hdf5(tmp_path):
    pandas = pytest.importorskip("pandas")
    result = swept(parameters={"height": [1.0, 2.0], "e": [0.5]})
    frame = result.to_frame()
    assert list(frame["height"]) == [1.0, 2.0]
    assert list(frame["outcome"]) == ["solved", "solved"]
    result.save(tmp_path / "s.csv")
    back = pandas.read_csv(tmp_path / "s.csv")
    assert back["lowest"].tolist() == frame["lowest"].tolist()
    result.save(tmp_path / "s.h5")
    assert content(ss.read(tmp_path / "s.h5")) == content(result)
    with pytest.raises(ValueError, match=r"must end in \.h5, \.hdf5 or \.csv"):
        result.save(tmp_path / "s.txt")


def test_a_result_says_what_it_is():
    said = str(swept(parameters={"height": Uniform(1, 2)}, samples=3))
    assert said.splitlines()[0] == "sweep of drop"
    assert "height=uniform:1:2" in said
    assert "3 of 3: 3 solved" in said


def test_a_design_of_too_many_runs_is_refused():
    axis = parameter_of("a", list(range(10_000)))
    with pytest.raises(ModelError, match="makes 100000000 runs"):
        Design((axis, parameter_of("b", list(range(10_000)))))


def test_a_file_of_something_else_is_not_overwritten(tmp_path):
    out = tmp_path / "s.h5"
    out.write_text("my diary")
    with pytest.raises(FormatError, match="exists and is not that of a sweep"):
        swept(out)
    assert out.read_text() == "my diary"
    assert not journal_of(out).exists()
