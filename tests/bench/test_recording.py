"""Problems recorded while scenes run: what is in the files, and the same bytes from the same command."""

import json
from pathlib import Path

import h5py
import numpy as np
import pytest

import stickslip
from stickslip.bench.collections.collection import Collection
from stickslip.bench.collections.features import Features
from stickslip.bench.collections.recorded import Recorded, Recording, typed
from stickslip.bench.collections.recording import problems_of, record
from stickslip.files import read_record
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.residuals import judge
from stickslip.simulation.failure import SimulationFailure
from stickslip.solvers.auto import Auto

STACK = {"bodies": 2}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Recorded]]:
    """Two boxes on the floor at rest: contacts from the first step on."""
    out, told = tmp_path_factory.mktemp("stack"), []
    record("stack", STACK, out, every=5, until=0.04, report=lambda _, one: told.append(one))
    return out, told


def test_every_so_many_steps_that_have_contacts(stack) -> None:
    out, told = stack
    assert [one.step for one in told] == [1, 6, 11, 16]
    np.testing.assert_allclose([one.time for one in told], [0.0, 0.01, 0.02, 0.03], rtol=1e-12)
    names = sorted(path.name for path in out.iterdir())
    assert names == [f"stack-bodies2-{step:06d}.hdf5" for step in (1, 6, 11, 16)]


def test_the_same_command_writes_the_same_bytes(stack, tmp_path: Path) -> None:
    out, _ = stack
    for path in record("stack", STACK, tmp_path, every=5, until=0.04):
        assert path.read_bytes() == (out / path.name).read_bytes()


def test_a_file_holds_the_problem_its_answer_and_its_guess(stack) -> None:
    out, told = stack
    found = read_record(out / f"{told[1].name}.hdf5")
    assert fingerprint(found.problem) == fingerprint(told[1].record.problem)
    assert isinstance(found.problem, stickslip.GlobalProblem)
    # Each box stands on four corners; the lower one bears both.
    assert found.problem.contacts == 8
    residuals = judge(found.problem, found.solution.r, found.solution.v)
    assert residuals.solved(1e-8)
    weight = found.solution.r[::3].reshape(2, 4).sum(axis=1)
    assert weight.max() == pytest.approx(2.0 * weight.min(), rel=1e-6)
    # The first step knows nothing; the others begin with the impulses of the step before, which rest keeps.
    assert told[0].record.guesses == ()
    np.testing.assert_allclose(found.guesses[0].r.sum(), found.solution.r.sum(), rtol=1e-6)
    again = stickslip.solve(found.problem, "auto", tolerance=1e-8)
    np.testing.assert_allclose(again.u, found.solution.u, atol=1e-7)


def test_a_file_says_where_it_comes_from_to_everyone(stack) -> None:
    out, told = stack
    with h5py.File(out / f"{told[2].name}.hdf5") as file:
        info = file["fclib_global/info"]
        title, description = (info[name][()].decode() for name in ("title", "description"))
        said = {name: info.attrs[name] for name in info.attrs}
    assert title == "stack (bodies=2), step 11, t = 0.02 s: 8 contacts"
    for words in (
        "Scene stack",
        "bodies = 2",
        "mu = 0.5",
        "step 11",
        "moreau-jean-semi-explicit",
        "auto found",
    ):
        assert words in description
    assert (said["step"], said["contacts"], said["rank"], said["mass_ratio"]) == (11, 8, 12, 1.0)
    assert said["time"] == pytest.approx(0.02)
    assert said["family"] == said["scene"] == b"stack"
    assert json.loads(said["parameters"])["bodies"] == 2
    assert said["recipe"] == b"stickslip bench record stack --every 5 --until 0.04 --bodies 2"


def test_a_collection_of_recorded_files_needs_no_spectrum(stack) -> None:
    out, told = stack
    collection = Collection.of([out])
    by_name = {one.name: one for one in told}
    for entry in collection.entries:
        assert entry.family == "stack"
        assert entry.features == by_name[entry.name].features
        assert entry.recipe.startswith("stickslip bench record stack")


def test_a_start_and_a_most(stack) -> None:
    found = list(problems_of("stack", STACK, every=1, start=0.02, most=2))
    assert [one.step for one in found] == [11, 12]
    assert fingerprint(found[0].record.problem) == fingerprint(stack[1][2].record.problem)


def test_steps_without_contacts_are_not_counted() -> None:
    # A ball falls freely for sqrt(2 / g) = 0.45 s.
    found = list(problems_of("bouncing-ball", {}, every=1, most=1))
    assert found[0].time == pytest.approx(np.sqrt(2.0 / 9.81), abs=2e-3)
    assert list(problems_of("bouncing-ball", {}, every=1, until=0.4)) == []


def test_box_problems_come_back(tmp_path: Path) -> None:
    (path,) = record("relay", {}, tmp_path, every=1, most=1)
    found = read_record(path)
    assert Features.of(found.problem).kind == "box"
    assert judge(found.problem, found.solution.r).solved(1e-10)


def test_a_scene_that_is_one_problem() -> None:
    (one,) = problems_of("incline-problem", {"mu": 0.3}, every=1)
    assert (one.name, one.step, one.time) == ("incline-problem-mu0.3", 0, 0.0)
    assert one.record.info["recipe"] == "stickslip bench record incline-problem --mu 0.3"
    assert "step" not in one.record.info


def test_a_scene_that_fails_leaves_what_it_met(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = Auto.solve
    asked: list[int] = []

    def tired(self, problem, *, guess=None, progress=None):
        asked.append(1)
        answer = solve(self, problem, guess=guess)
        if len(asked) < 4:
            return answer
        return stickslip.solve(problem, "nsgs", max_iterations=1, tolerance=1e-14)

    monkeypatch.setattr(Auto, "solve", tired)
    with pytest.raises(SimulationFailure):
        record("box-incline", {}, tmp_path, every=1)
    kept = sorted(tmp_path.iterdir())
    # The problem that the solver missed is the most interesting of all.
    assert len(kept) == 4
    assert "iteration" in read_record(kept[-1]).info["description"]
    asked.clear()
    met = problems_of("box-incline", {}, every=1)
    assert [next(met).step for _ in range(4)] == [1, 2, 3, 4]
    with pytest.raises(SimulationFailure):
        next(met)


@pytest.mark.parametrize(
    ("name", "given", "how", "words"),
    [
        ("stcak", {}, {"every": 1}, "unknown scene 'stcak'; known: arch"),
        ("stack", {"bodeis": 2}, {"every": 1}, "no parameter 'bodeis'"),
        ("stack", {}, {"every": 0}, "every is 0"),
        ("stack", {}, {"every": 1, "most": 0}, "most is 0"),
        ("stack", {}, {"every": 1, "start": -1.0}, "start is -1.0"),
        ("stack", {}, {"every": 1, "solver": "sledge"}, "unknown solver 'sledge'"),
    ],
)
def test_what_cannot_be_recorded_is_named(name, given, how, words) -> None:
    with pytest.raises((KeyError, TypeError, ValueError), match=words):
        list(problems_of(name, given, **how))


def test_recipes_are_typed_to_the_last_digit() -> None:
    about = Recording(
        scene="soup", summary="", parameters={}, given={"mu": 0.1 + 0.2, "deep": True, "h": 0.5},
        every=3, start=0.25, until=None, h=1e-3, most=4, solver="prox", scheme="moreau-jean-semi-explicit",
    )  # fmt: skip
    assert about.recipe == (
        "stickslip bench record soup --every 3 --from 0.25 --h 0.001 --most 4 --solver prox"
        " --mu 0.30000000000000004 --deep yes --set h=0.5"
    )
    assert about.name(12) == "soup-deepyes-h0.5-mu0.30000000000000004-000012"
    assert typed((0.2, 0.1)) == "0.2,0.1"
