"""Unknown names: the message lists the known ones and suggests the one that was meant."""

import pytest

import stickslip as ss
from stickslip import scenes, studies
from stickslip.names import alternatives, listing, suggestion
from stickslip.schemes import registry
from stickslip.solvers import registry as solvers


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("nsg", "nsgs"),
        ("moreau", "moreau-jean"),
        ("Moreau_Jean", "moreau-jean"),
        ("MOREAU JEAN", "moreau-jean"),
        ("euler", "euler-moreau"),  # the beginning of a name
        ("jean", "moreau-jean"),  # a part of it
    ],
)
def test_the_closest_name_is_suggested(name, meant):
    known = ("apgd", "euler-moreau", "moreau-jean", "nsgs")
    assert suggestion(name, known) == f"did you mean {meant!r}?"
    assert alternatives(name, known) == f"known: {', '.join(known)}; did you mean {meant!r}?"


@pytest.mark.parametrize("name", ["xyz", "", "eu", 3, None, "moreau-jean" * 100])
def test_what_is_close_to_nothing_gets_no_suggestion(name):
    assert alternatives(name, ("moreau-jean", "euler-moreau")) == "known: moreau-jean, euler-moreau"


def test_long_lists_are_cut():
    assert listing((f"{k}" for k in range(20)), 3) == "0, 1, 2, ..."
    assert listing(("a", "b", "c"), 3) == "a, b, c"
    assert alternatives("x", ()) == "known: none"


def world():
    builder = ss.WorldBuilder()
    builder.body("box", ss.Sphere(0.5), position=(0, 0, 1))
    return builder.build()


def system():
    ball = ss.Lagrangian("ball", M=1.0, q0=1.0)
    return ss.NonsmoothSystem(
        [ball], [ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))]
    )


def material():
    builder = ss.WorldBuilder()
    builder.material("rubber", mu=0.9)
    builder.body("box", ss.Sphere(0.5), material="ruber")


UNKNOWN = {
    "scheme of a world": (lambda: ss.simulate(world(), until=1.0, h=0.1, scheme="moreu"), "moreau-jean"),
    "scheme": (lambda: ss.simulate(system(), until=1.0, h=0.1, scheme="event-drivn"), "event-driven"),
    "solver": (lambda: ss.simulate(system(), until=1.0, h=0.1, solver="nsg"), "nsgs"),
    "solver of a problem": (lambda: ss.solve(ss.problem.lcp([[1.0]], [1.0]), "lemk"), "lemke"),
    "scene": (lambda: scenes.make("wal"), "wall-problem"),
    "scene that runs": (lambda: scenes.make("bouncing-bal"), "bouncing-ball"),
    "study": (lambda: studies.load("tossses"), "tosses"),
    "body": (lambda: ss.simulate(world(), until=0.1, h=0.1).body("bxo"), "box"),
    "body of a world": (lambda: world().body("bxo"), "box"),
    "system": (lambda: ss.simulate(system(), until=0.1, h=0.1).system("bal"), "ball"),
    "interaction": (lambda: ss.simulate(system(), until=0.1, h=0.1).interaction("flor"), "floor"),
}


@pytest.mark.parametrize("case", UNKNOWN)
def test_every_unknown_name_is_one_error_with_a_suggestion(case):
    call, meant = UNKNOWN[case]
    with pytest.raises(ss.ModelError, match=f"; did you mean '{meant}'\\?$") as caught:
        call()
    assert isinstance(caught.value, KeyError)
    assert str(caught.value).startswith("unknown ")  # not in quotes, as messages of a KeyError are


@pytest.mark.parametrize(
    ("call", "error", "meant"),
    [
        (material, ss.ModelError, "rubber"),
        (lambda: ss.schemes.MoreauJean(thetta=0.5), TypeError, "theta"),
        (lambda: registry.make("moreau-jean", thetta=0.5), TypeError, "theta"),
        (lambda: ss.solve(ss.problem.lcp([[1.0]], [1.0]), "nsgs", tolerence=1e-3), TypeError, "tolerance"),
        (lambda: solvers.make("nsgs", form="bodys"), ValueError, "bodies"),
        (lambda: scenes.make("stack", bodys=3), TypeError, "bodies"),
        (lambda: scenes.make("wall-problem", row=3), TypeError, "rows"),
        (lambda: ss.simulate(system(), until=1.0, h=0.1, on_failure="rase"), ss.ModelError, "raise"),
        (lambda: ss.Spere, AttributeError, "Sphere"),
    ],
)
def test_materials_options_and_parameters_too(call, error, meant):
    with pytest.raises(error, match=f"did you mean '{meant}'\\?"):
        call()
