"""Contestants as they are typed: what is understood, and what is refused at once."""

import hashlib

import pytest

from stickslip.bench.campaigns.contestants import (
    USUAL,
    Contestant,
    ContestantError,
    contestants,
    is_ours,
    is_peer,
    source_of,
)  # fmt: skip
from stickslip.bench.environment import version_of
from stickslip.bench.running.calls import entrant
from stickslip.bench.siconos import peer as siconos
from stickslip.bench.siconos.peer import Found
from stickslip.solvers import registry

OWN = '''
from dataclasses import dataclass

@dataclass(frozen=True)
class Mine:
    tolerance: float = 1e-3
    sweeps: int = 10
    damping: float = 0.5
    rough: bool = False
    mode: str = "fast"

    def solve(self, problem):
        return None

class Needy:
    def __init__(self, thing):
        self.solve = thing

class Idle:
    """Solves nothing."""

class Leaving:
    def __init__(self):
        raise SystemExit(3)

number = 3
'''


@pytest.fixture
def present(monkeypatch):
    """Siconos is there, whatever this machine has."""
    monkeypatch.setattr(siconos, "find_siconos", lambda: Found("/somewhere/python", "9.9"))


@pytest.fixture
def absent(monkeypatch):
    """Siconos is not there."""
    found = Found(None, "", ("/somewhere/python: No module named 'siconos'",))
    monkeypatch.setattr(siconos, "find_siconos", lambda: found)


@pytest.fixture
def own(tmp_path):
    path = tmp_path / "solver.py"
    path.write_text(OWN)
    return path


def labels(text, own=()):
    return [contestant.label for contestant in contestants(text, own)]


def test_names_and_options():
    found = contestants(" nsgs, newton ")
    assert [c.name for c in found] == ["nsgs", "newton-ac"]
    assert labels("nsgs:relaxation=0.9:max-iterations=50") == ["nsgs:max_iterations=50:relaxation=0.9"]
    (one,) = contestants("nsgs:relaxation=0.9:max_iterations=50")
    assert one.options == (("max_iterations", 50), ("relaxation", 0.9))
    assert Contestant.from_json(one.as_json()) == one
    assert is_ours(one)
    assert not is_peer(one)
    # A label is what can be typed again.
    assert contestants(one.label) == (one,)


def test_an_option_at_its_default_is_no_option():
    default = next(s.default for s in registry.entry("nsgs").options if s.name == "max_iterations")
    assert contestants(f"nsgs:max_iterations={default}") == contestants("nsgs")


def test_the_usual_ones(absent):
    assert labels("") == list(USUAL)


def test_the_usual_ones_with_siconos(present):
    assert labels("") == [*USUAL, *siconos.methods()]
    assert labels("siconos") == list(siconos.methods())
    (one,) = contestants("siconos-nsgs")
    assert is_peer(one)
    assert source_of(one) == "siconos 9.9"
    with pytest.raises(ContestantError, match=r"unknown solver 'siconos-best'.*siconos-nsgs"):
        contestants("siconos-best")
    with pytest.raises(ContestantError, match="siconos-nsgs takes no options"):
        contestants("siconos-nsgs:sweeps=3")


def test_siconos_that_is_absent_says_what_was_tried(absent):
    for text in ("siconos", "nsgs,siconos-nsgs"):
        with pytest.raises(ContestantError, match=r"was not found; tried /somewhere/python: No module"):
            contestants(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("sngs", ("unknown solver 'sngs'", "nsgs", "siconos", "newton")),
        ("nsgs,,prox", ("unknown solver ''",)),
        ("nsgs:sweeps=3", ("nsgs has no option 'sweeps'", "max_iterations")),
        ("nsgs:max_iterations", ("'max_iterations' is not of the form name=value",)),
        ("nsgs:max_iterations=many", ("nsgs", "max_iterations", "whole number", "[1, inf)", "'many'")),
        ("nsgs:max_iterations=0", ("nsgs: max_iterations must lie in [1, inf), got 0",)),
        ("nsgs:max_iterations=1:max_iterations=2", ("given twice",)),
        ("nsgs:tolerance=1e-4", ("the tolerance of the campaign", "--tolerance")),
        ("nsgs,prox,nsgs", ("nsgs appears twice",)),
        ("newton,newton-ac", ("newton-ac appears twice",)),
        ("nsgs,auto:__class__=3", ("no option '__class__'",)),
    ],
)
def test_what_is_refused(text, words):
    with pytest.raises(ContestantError) as refusal:
        contestants(text)
    for word in words:
        assert word in str(refusal.value)


def test_a_solver_whose_package_is_missing(monkeypatch):
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    with pytest.raises(ContestantError, match=r"scs is not available: not installed: pip install"):
        contestants("scs")


def test_sources():
    ours, theirs = contestants("nsgs,clarabel")
    assert source_of(ours) == ""
    assert source_of(theirs) == f"clarabel {version_of('clarabel')}"


def test_a_solver_of_the_user(own):
    given = (f"mine={own}:Mine",)
    assert labels("nsgs,mine", given) == ["nsgs", "mine"]
    assert labels("nsgs", given) == ["nsgs", "mine"]
    (one,) = contestants("mine:damping=1:rough=yes:sweeps=10:mode=slow", given)
    assert one.label == "mine:damping=1.0:mode=slow:rough=True"
    assert one.place == f"{own.resolve()}:Mine"
    assert source_of(one) == hashlib.sha256(OWN.encode()).hexdigest()[:12]
    made, _ = entrant(one, 1e-6)
    assert (made.damping, made.rough, made.mode, made.tolerance) == (1.0, True, "slow", 1e-6)
    assert not is_ours(one)


def test_a_solver_in_a_package():
    (one,) = contestants("theirs:max_iterations=7", ("theirs=stickslip.solvers.gauss_seidel:NSGS",))
    assert one.place == "stickslip.solvers.gauss_seidel:NSGS"
    assert entrant(one, 1e-5)[1]["max_iterations"] == 7
    assert len(source_of(one)) == 12


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("{own}:Mine", ("is not of the form NAME=file.py:Class",)),
        ("mine={own}", ("mine", "is not of the form file.py:Class")),
        ("nsgs={own}:Mine", ("the name nsgs is that of a built-in solver",)),
        ("newton={own}:Mine", ("the name newton is that of a built-in solver",)),
        ("siconos-mine={own}:Mine", ("built-in solver",)),
        ("mi:ne={own}:Mine", ("is not of the form",)),
        ("mine={own}:Yours", ("mine", "has no Yours")),
        ("mine={own}:number", ("number", "is not a class")),
        ("mine={own}:Idle", ("mine", "has no method solve")),
        ("mine={own}:Needy", ("mine", "TypeError", "thing")),
        ("mine={own}:Leaving", ("mine", "SystemExit: 3")),
        ("mine=nowhere.py:Mine", ("mine", "does not exist", "nowhere.py")),
        (
            "mine=no_such_package_at_all:Mine",
            ("the module no_such_package_at_all was not found", "PYTHONPATH"),
        ),
        ("mine=no_such_package_at_all.inner:Mine", ("no_such_package_at_all", "cannot be imported")),
    ],
)
def test_own_solvers_that_are_refused(own, given, words):
    with pytest.raises(ContestantError) as refusal:
        contestants("nsgs", (given.format(own=own),))
    for word in words:
        assert word in str(refusal.value)


@pytest.mark.parametrize(
    ("code", "word"),
    [("import no_such_thing", "ModuleNotFoundError"), ("x = (", "SyntaxError"), ("exit(1)", "SystemExit")],
)
def test_a_module_that_fails_is_said_in_one_sentence(tmp_path, code, word):
    (tmp_path / "broken.py").write_text(code)
    with pytest.raises(ContestantError, match=rf"mine: importing .*broken\.py failed with {word}"):
        contestants("nsgs", (f"mine={tmp_path}/broken.py:Mine",))


def test_a_name_is_given_once(own):
    with pytest.raises(ContestantError, match="--own mine is given twice"):
        contestants("nsgs", (f"mine={own}:Mine", f"mine={own}:Idle"))
