"""Campaigns: nothing lost, nothing run twice, whatever interrupts them and in whatever order runs end."""

import shutil
from dataclasses import replace

import pytest
from made_results import PLACE, Counting, Folder, entry, same

from stickslip.bench.campaigns import campaign as module
from stickslip.bench.campaigns.campaign import chosen, run_campaign
from stickslip.bench.campaigns.contestants import contestants
from stickslip.bench.campaigns.journal import InUse, Journal, journal_of
from stickslip.bench.campaigns.results_file import read_results
from stickslip.bench.records import Limits
from stickslip.bench.results import Mixed

FOLDER = Folder((entry("large", 30), entry("small", 3), entry("middle", 12)))
TOLERANCES = (1e-8, 1e-4)
WHOLE = 3 * 2 * 2


@pytest.fixture(autouse=True)
def _on_one_machine(monkeypatch):
    monkeypatch.setattr(module, "here", lambda: PLACE)


def campaign(out, executor=None, names="nsgs,prox", folder=FOLDER, **more):
    given = {"tolerances": TOLERANCES, "limits": Limits(), "command": "it"} | more
    return run_campaign(folder, contestants(names), executor=executor or Counting(), out=out, **given)


def keys(jobs):
    return [(job.problem, job.contestant.label, job.source, job.tolerance) for job in jobs]


class Snapshots:
    """Copies of all files after every record: what a kill at that moment leaves behind."""

    def __init__(self, folder, to):
        self.folder, self.to, self.taken = folder, to, []

    def planned(self, jobs, results):
        self.ended(None)

    def started(self, worker, job):
        pass

    def ended(self, record):
        self.taken.append(shutil.copytree(self.folder, self.to / f"{len(self.taken)}"))


def test_a_whole_campaign(tmp_path):
    executor = Counting()
    results = campaign(tmp_path / "r.h5", executor)
    assert len(results.runs) == len(results.done) == len(executor.ran) == WHOLE
    assert same(read_results(tmp_path / "r.h5"), results)
    assert results.conditions.tolerances == (1e-4, 1e-8)
    assert [run.problem for run in results.runs[::4]] == [e.hash for e in FOLDER.entries]
    assert [path.name for path in tmp_path.iterdir()] == ["r.h5"]


def test_jobs_go_problem_by_problem_the_small_ones_first(tmp_path):
    executor = Counting()
    campaign(tmp_path / "r.h5", executor)
    order = list(dict.fromkeys(job.problem for job in executor.ran))
    assert order == ["hash of small", "hash of middle", "hash of large"]
    assert [job.problem for job in executor.ran] == [problem for problem in order for _ in range(4)]


def test_the_table_does_not_depend_on_the_order_of_runs(tmp_path):
    def backwards(jobs):
        return list(reversed(jobs))

    first = campaign(tmp_path / "a.h5")
    second = campaign(tmp_path / "b.h5", Counting(order=backwards))
    assert same(first, second)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("after", range(WHOLE))
def test_an_interrupted_campaign_goes_on(tmp_path, after, error):
    first, second = Counting(stop_after=after, error=error), Counting()
    with pytest.raises(error):
        campaign(tmp_path / "r.h5", first)
    assert first.closed == 1
    assert len(read_results(tmp_path / "r.h5").runs) == after
    assert not journal_of(tmp_path / "r.h5").exists()
    results = campaign(tmp_path / "r.h5", second)
    assert len(first.ran) + len(second.ran) == len(results.runs) == WHOLE
    assert not set(keys(first.ran)) & set(keys(second.ran))
    assert same(results, campaign(tmp_path / "whole.h5"))


def test_a_kill_at_any_moment_loses_nothing_that_was_done(tmp_path):
    (tmp_path / "work").mkdir()
    out = tmp_path / "work" / "r.h5"
    with pytest.raises(KeyboardInterrupt):
        campaign(out, Counting(stop_after=3))
    watch = Snapshots(tmp_path / "work", tmp_path / "taken")
    whole = campaign(out, progress=watch)
    assert len(watch.taken) == 1 + WHOLE - 3
    for k, left in enumerate(watch.taken):
        assert journal_of(left / "r.h5").exists()
        assert len(read_results(left / "r.h5").runs) == 3 + k
        executor = Counting()
        assert same(campaign(left / "r.h5", executor), whole)
        assert len(executor.ran) == WHOLE - 3 - k
        assert not journal_of(left / "r.h5").exists()


@pytest.mark.parametrize("cut", [1, 2, 40, 400])
def test_a_torn_last_line_costs_that_run(tmp_path, cut):
    (tmp_path / "work").mkdir()
    watch = Snapshots(tmp_path / "work", tmp_path / "taken")
    whole = campaign(tmp_path / "work" / "r.h5", progress=watch)
    journal = journal_of(watch.taken[5] / "r.h5")
    journal.write_bytes(journal.read_bytes()[:-cut])
    assert len(read_results(watch.taken[5] / "r.h5").runs) == 4
    executor = Counting()
    assert same(campaign(watch.taken[5] / "r.h5", executor), whole)
    assert len(executor.ran) == WHOLE - 4


@pytest.mark.parametrize("left", [0, 1, 100])
def test_a_torn_first_line_is_a_campaign_that_did_not_begin(tmp_path, left):
    (tmp_path / "work").mkdir()
    watch = Snapshots(tmp_path / "work", tmp_path / "taken")
    whole = campaign(tmp_path / "work" / "r.h5", progress=watch)
    journal = journal_of(watch.taken[0] / "r.h5")
    journal.write_bytes(journal.read_bytes()[:left])
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_results(watch.taken[0] / "r.h5")
    assert same(campaign(watch.taken[0] / "r.h5"), whole)


def test_a_kill_between_the_file_and_its_journal(tmp_path):
    (tmp_path / "work").mkdir()
    watch = Snapshots(tmp_path / "work", tmp_path / "taken")
    whole = campaign(tmp_path / "work" / "r.h5", progress=watch)
    last = watch.taken[-1]
    shutil.copy(tmp_path / "work" / "r.h5", last / "r.h5")  # written, and the journal still there
    assert same(read_results(last / "r.h5"), whole)
    executor = Counting()
    assert same(campaign(last / "r.h5", executor), whole)
    assert not executor.ran


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_file_that_cannot_be_written_leaves_the_journal(tmp_path, monkeypatch, error):
    def full(path, results):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(module, "write_results", full)
        with pytest.raises(error):
            campaign(tmp_path / "r.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["r.h5.journal"]
    executor = Counting()
    assert len(campaign(tmp_path / "r.h5", executor).runs) == WHOLE
    assert not executor.ran


def test_nothing_is_run_twice(tmp_path):
    executor = Counting()
    first = campaign(tmp_path / "r.h5")
    content = (tmp_path / "r.h5").read_bytes()
    assert same(campaign(tmp_path / "r.h5", executor), first)
    assert not executor.ran
    assert (tmp_path / "r.h5").read_bytes() == content


def test_problems_and_solvers_may_be_added(tmp_path):
    campaign(tmp_path / "r.h5")
    more = Folder((*FOLDER.entries, entry("new", 6)))
    executor = Counting()
    results = campaign(tmp_path / "r.h5", executor, names="anderson", folder=more)
    assert len(executor.ran) == 4 * 2
    assert [e.name for e in results.problems] == ["large", "small", "middle", "new"]
    assert results.solvers == ("anderson", "nsgs", "prox")
    # Runs that were not asked for are missing; nobody has failed.
    assert {run.solver for run in results.runs if run.problem == "hash of new"} == {"anderson"}
    assert all(run.solved for run in results.runs)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tolerances": (1e-4,)}, ("precision", "tolerances 1e-4, 1e-8", "tolerances 1e-4")),
        ({"limits": Limits(timeout=5.0)}, ("timeout", "timeout 20 s", "timeout 5 s")),
        ({"limits": Limits(memory=100.0)}, ("memory", "limit 4096 MiB", "limit 100 MiB")),
        ({"limits": Limits(best_of=1)}, ("best-of", "best of 3", "best of 1")),
        ({"executor": Counting(workers=2)}, ("workers", "1 at a time", "2 at a time")),
        ({"executor": Counting(environment=replace(PLACE, cores=64))}, ("machine", "2 cores", "64 cores")),
        ({"executor": Counting(environment=replace(PLACE, code="def"))}, ("code", "abc", "def")),
    ],
)
def test_other_conditions_are_refused_and_named(tmp_path, change, words):
    out = tmp_path / "r.h5"
    with pytest.raises(KeyboardInterrupt):
        campaign(out, Counting(stop_after=2))
    content = out.read_bytes()
    with pytest.raises(Mixed) as refusal:
        campaign(out, **change)
    for word in (*words, str(out), "this campaign", "--out"):
        assert word in str(refusal.value)
    assert out.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["r.h5"]


def test_a_refusal_leaves_the_journal_of_a_killed_campaign_alone(tmp_path):
    (tmp_path / "work").mkdir()
    watch = Snapshots(tmp_path / "work", tmp_path / "taken")
    campaign(tmp_path / "work" / "r.h5", progress=watch)
    journal = journal_of(watch.taken[4] / "r.h5")
    content = journal.read_bytes()
    with pytest.raises(Mixed, match="timeout"):
        campaign(watch.taken[4] / "r.h5", limits=Limits(timeout=1.0))
    assert journal.read_bytes() == content


def test_a_solver_that_has_changed_is_refused(tmp_path):
    own = tmp_path / "mine.py"
    own.write_text("class Mine:\n    def solve(self, problem): ...\n")
    given = (f"mine={own}:Mine",)

    def again():
        run_campaign(FOLDER, contestants("mine", given), TOLERANCES, Limits(), Counting(), tmp_path / "r.h5")

    again()
    own.write_text("class Mine:\n    def solve(self, problem): return None\n")
    with pytest.raises(Mixed, match=r"mine is not what it was: .*another name, or use another --out"):
        again()


def test_runs_from_another_machine_are_refused_at_once(tmp_path):
    executor = Counting(place=replace(PLACE, processor="Another chip"))
    with pytest.raises(Mixed, match=r"machine.*A chip.*Another chip"):
        campaign(tmp_path / "r.h5", executor)
    assert len(executor.ran) == executor.closed == 1
    assert campaign(tmp_path / "r.h5", Counting(place=PLACE)).runs[0].environment is None


def test_the_environment_of_a_campaign_may_be_elsewhere(tmp_path):
    there = replace(PLACE, processor="Another chip")
    results = campaign(tmp_path / "r.h5", Counting(place=there, environment=there))
    assert results.conditions.environment == there
    assert len(results.runs) == WHOLE


def test_two_campaigns_do_not_write_one_file(tmp_path):
    out = tmp_path / "r.h5"

    class Second(Snapshots):
        def ended(self, record):
            if record is not None:
                with pytest.raises(InUse, match=r"another campaign is writing"):
                    campaign(out)
                self.taken.append(record)

    second = Second(None, None)
    assert len(campaign(out, progress=second).runs) == len(second.taken) == WHOLE
    Journal(out).close(keep=True)
    assert not journal_of(out).exists()


def test_a_run_that_nobody_waits_for(tmp_path):
    with pytest.raises(RuntimeError, match="nobody waits for"):
        campaign(tmp_path / "r.h5", Counting(order=lambda jobs: [*jobs, jobs[0]]))
    assert len(read_results(tmp_path / "r.h5").runs) == WHOLE


def test_jobs_that_were_left_are_told(tmp_path):
    with pytest.raises(RuntimeError, match="ended with 1 jobs left"):
        campaign(tmp_path / "r.h5", Counting(order=lambda jobs: jobs[1:]))
    assert len(read_results(tmp_path / "r.h5").runs) == WHOLE - 1
    assert len(campaign(tmp_path / "r.h5").runs) == WHOLE


def test_a_file_of_something_else_is_not_overwritten(tmp_path):
    out = tmp_path / "r.h5"
    out.write_text("my diary")
    with pytest.raises(ValueError, match="HDF5"):
        campaign(out)
    assert out.read_text() == "my diary"
    assert not journal_of(out).exists()


def test_chosen_problems():
    folder = Folder((entry("a", 9, "stack"), entry("b", 3, "pile"), entry("c", 6, "stack")))
    assert [e.name for e in chosen(folder, ["stack"]).entries] == ["a", "c"]
    assert [e.name for e in chosen(folder, (), 2).entries] == ["b", "c"]
    assert [e.name for e in chosen(folder, ["stack"], 1).entries] == ["c"]
    assert chosen(folder).path(folder.entries[0]) == folder.path(folder.entries[0])
    with pytest.raises(ValueError, match=r"unknown family 'tower'.*there are: stack, pile"):
        chosen(folder, ["tower"])
