"""What may stand in one table: every difference is refused by name, unless it is allowed."""

from dataclasses import replace

import pytest
from made_results import CONDITIONS, PLACE, entry, run_of, same, table

from stickslip.bench.results import DIFFERENCES, MEASURE, Mixed, combine

OTHERS = {
    "precision": ({"tolerances": (1e-6,)}, ("tolerances 1e-4, 1e-8", "tolerances 1e-6")),
    "timeout": ({"timeout": 60.0}, ("timeout 20 s", "timeout 60 s")),
    "memory": ({"memory": 64.0}, ("memory limit 1024 MiB", "memory limit 64 MiB")),
    "best-of": ({"best_of": 1}, ("best of 3", "best of 1")),
    "workers": ({"workers": 8}, ("1 at a time", "8 at a time")),
    "measure": ({"measure": "another"}, (MEASURE, "measure another")),
}
PLACES = [
    ("machine", {"processor": "B chip"}, ("A chip", "B chip")),
    ("machine", {"cores": 16}, ("2 cores", "16 cores")),
    ("machine", {"memory": 64.0}, ("8 GiB", "64 GiB")),
    ("machine", {"system": "Darwin arm64"}, ("Linux x86_64", "Darwin arm64")),
    ("versions", {"python": "CPython 3.12"}, ("CPython 3.11", "CPython 3.12")),
    ("versions", {"packages": (("numba", "0.60"), ("numpy", "1.26"))}, ("numpy 2.0", "numpy 1.26")),
    ("versions", {"packages": (("numba", "0.60"),)}, ("numpy 2.0", "numpy (none)")),
    ("code", {"code": "def"}, ("code abc", "code def")),
    ("code", {"stickslip": "2.0"}, ("stickslip 1.0", "stickslip 2.0")),
]
CASES = [
    *((kind, change, words) for kind, (change, words) in OTHERS.items()),
    *((kind, {"environment": replace(PLACE, **change)}, words) for kind, change, words in PLACES),
]


def test_every_difference_is_tried():
    assert {kind for kind, _, _ in CASES} == set(DIFFERENCES)


@pytest.mark.parametrize(("kind", "change", "words"), CASES)
def test_a_difference_is_refused_by_name_unless_it_is_allowed(kind, change, words):
    first, second = table("a"), table("b", **change)
    others = [other for other in DIFFERENCES if other != kind]
    with pytest.raises(Mixed) as refusal:
        combine([first, second], allow=others, names=("one.h5", "two.h5"))
    said = str(refusal.value)
    assert f"differ in {kind} " in said
    assert said.index("one.h5 has") < said.index(words[0]) < said.index("two.h5 has") < said.index(words[1])
    both = combine([first, second], allow=[kind])
    assert len(both.runs) == len(first.runs) + len(second.runs)
    assert both.conditions.environment == PLACE


def test_small_differences_are_differences():
    with pytest.raises(Mixed, match=r"precision.*1e-4, 1e-8.*1e-4, 1\.00000001e-8"):
        combine([table("a"), table("b", tolerances=(1e-4, 1.00000001e-8))])


def test_all_differences_are_named_at_once():
    with pytest.raises(Mixed, match=r"precision, timeout, machine.*table 1 has.*table 2 has"):
        combine([table("a"), table("b", tolerances=(0.1,), timeout=1.0, environment=replace(PLACE, cores=9))])


def test_equal_conditions_combine():
    first, second = table("a", "b"), table("b", "c", solvers=("prox",))
    both = combine([first, second])
    assert both.conditions == CONDITIONS
    assert [e.name for e in both.problems] == ["a", "b", "c"]
    assert both.command == "the command"
    assert [(run.problem[-1], run.solver) for run in both.runs[::2]] == [
        ("a", "nsgs"), ("b", "nsgs"), ("b", "prox"), ("c", "prox"),
    ]  # fmt: skip
    assert same(combine([first]), first)


def test_tolerances_that_may_differ_are_all_kept():
    both = combine([table("a"), table("a", tolerances=(1e-6, 1e-4))], allow=["precision"])
    assert both.conditions.tolerances == (1e-4, 1e-6, 1e-8)
    assert [run.tolerance for run in both.runs] == [1e-4, 1e-6, 1e-8]


def test_runs_of_another_machine_remember_it():
    there = replace(PLACE, processor="B chip")
    both = combine([table("a"), table("b", environment=there)], allow=["machine"])
    assert [run.environment for run in both.runs] == [None, None, there, there]
    # And they are refused again where it is not allowed.
    with pytest.raises(Mixed, match=r"machine.*A chip.*nsgs in both.h5.*B chip"):
        combine([both], names=["both.h5"])


def test_one_run_twice_is_fine_if_it_is_the_same():
    first = table("a")
    assert same(combine([first, table("a")]), first)
    slower = first.with_runs(tuple(replace(run, seconds=9.0) for run in first.runs))
    with pytest.raises(Mixed, match=r"nsgs on problem hash of a at 1e-4 was run twice.*one\.h5.*two\.h5"):
        combine([first, slower], names=("one.h5", "two.h5"))


def test_a_missing_run_is_not_a_failed_one():
    first = table("a", "b")
    part = first.with_runs(first.runs[:1])
    both = combine([part, table("c")])
    assert len(both.runs) == 1 + 2
    assert all(run.solved for run in both.runs)


def test_two_versions_of_a_contestant():
    first, second = table("a"), table("b")
    newer = second.with_runs(tuple(replace(run, source="solver 2") for run in second.runs))
    with pytest.raises(Mixed, match=r"versions.*nsgs as.*nsgs as solver 2"):
        combine([first, newer])
    assert len(combine([first, newer], allow=["versions"]).runs) == 4
    # One cell of a table holds one run, whatever is allowed.
    same_problem = first.with_runs(tuple(replace(run, source="solver 2") for run in first.runs))
    with pytest.raises(Mixed, match=r"versions.*nsgs as solver 2"):
        combine([first, same_problem], allow=["versions"])


def test_the_first_name_of_a_problem_is_kept_and_told():
    told: list[str] = []
    other = replace(table("a"), problems=(replace(entry("a"), name="z", family="y"),))
    both = combine([table("a"), other], report=told.append)
    assert [e.name for e in both.problems] == ["a"]
    assert told == ["a of made is also called z of y; the first names are kept"]


def test_two_problems_of_one_name_are_told_apart():
    told: list[str] = []
    twin = replace(entry("a"), hash="0123456789abcdef")
    other = replace(table("a"), problems=(twin,), runs=(run_of(twin.hash, "nsgs"),))
    both = combine([table("a"), other], report=told.append)
    assert [e.name for e in both.problems] == ["a", "a [0123456789ab]"]
    assert len(told) == 1
    assert "two problems are called a" in told[0]


def test_what_cannot_be_asked():
    with pytest.raises(ValueError, match="no results"):
        combine([])
    with pytest.raises(ValueError, match=r"unknown difference 'weather'; known: precision"):
        combine([table("a")], allow=["weather"])
