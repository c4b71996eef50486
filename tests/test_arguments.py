"""Mistaken arguments of the public verbs say what to write instead."""

import numpy as np
import pytest

import stickslip as ss
from stickslip import scenes

BALL = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
PROBLEM = ss.problem.lcp([[1.0]], [-1.0])


def builder():
    made = ss.WorldBuilder()
    made.body("ball", ss.Sphere(0.5), position=(0, 0, 1))
    return made


SIMULATED = {
    "builder": (builder, r"WorldBuilder, expected .*: call \.build\(\) first, simulate\(builder\.build\(\)"),
    "problem": (lambda: PROBLEM, r"BoxProblem, expected .* use solve\(problem\)"),
    "one system": (lambda: BALL, r"Lagrangian, expected .* NonsmoothSystem\(\[ball\], \[interactions\]\)"),
    "a list": (lambda: [BALL], r"list, expected .* NonsmoothSystem\(\[systems\]"),
    "a name": (lambda: "bouncing-ball", r"scenes\.make\('bouncing-ball'\)\.system"),
    "a wrong name": (lambda: "bouncing-bal", "did you mean 'bouncing-ball'"),
    "a file": (lambda: "run.h5", r"read_trajectory\('run\.h5'\)"),
    "a scene": (lambda: scenes.make("bouncing-ball"), r"pass its model, simulate\(scene\.system"),
    "a class": (lambda: ss.World, "is the class World, expected a NonsmoothSystem, a World or a Robot$"),
    "nothing": (lambda: None, "is NoneType, expected"),
}


@pytest.mark.parametrize("case", SIMULATED)
def test_what_cannot_be_simulated(case):
    make, words = SIMULATED[case]
    with pytest.raises(ss.ModelError, match=words):
        ss.simulate(make(), until=1.0, h=0.1)


@pytest.mark.parametrize("verb", ["differentiate", "gradient", "sensitivity", "step_function"])
def test_what_cannot_be_differentiated(verb):
    call = {
        "differentiate": lambda given: ss.differentiate(given, h=0.1),
        "gradient": lambda given: ss.gradient(given, lambda k, state: None, until=1.0, h=0.1),
        "sensitivity": lambda given: ss.sensitivity(given, until=1.0, h=0.1, by="q"),
        "step_function": lambda given: ss.step_function(given, 0.1, "jax"),
    }[verb]
    with pytest.raises(ss.ModelError, match=rf"call \.build\(\) first, {verb}\(builder\.build\(\)"):
        call(builder())
    with pytest.raises(ss.ModelError, match=r"NonsmoothSystem\(\[ball\]"):
        call(BALL)


@pytest.mark.parametrize("solver", ["auto", "nsgs"])
@pytest.mark.parametrize(
    ("given", "words"),
    [
        (lambda: builder().build(), r"not World: simulate\(it, until"),
        (builder, r"not WorldBuilder: call \.build\(\)"),
        (lambda: "problem.hdf5", r"not str: read the file first, solve\(read\('problem\.hdf5'\)\)"),
        (lambda: "wall-problem", r"solve\(scenes\.make\('wall-problem'\)\)"),
        (lambda: ss.files.ProblemRecord(PROBLEM), r"solve\(record\.problem\)"),
        (lambda: np.eye(3), r"ContactProblem\(W, u_free"),
        (lambda: 3, "a problem is needed, not int$"),
    ],
)
def test_what_cannot_be_solved(solver, given, words):
    with pytest.raises(TypeError, match=words):
        ss.solve(given(), solver)


def test_a_trajectory_where_a_problem_is_read_and_the_other_way_round(tmp_path):
    run, place = ss.simulate(builder().build(), until=0.1, h=0.1), tmp_path / "run.h5"
    run.save(place)
    with pytest.raises(ss.FormatError, match=r"run\.h5: .*read it with read_trajectory"):
        ss.read(place)
    with pytest.raises(ss.FormatError, match="which is written by its save"):
        ss.write(tmp_path / "x.h5", run)
    ss.write(place, PROBLEM)
    with pytest.raises(ss.FormatError, match=r"run\.h5: .*if it holds a problem, read it with read"):
        ss.read_trajectory(place)


@pytest.mark.parametrize(
    "verb", [ss.detection.Detector, lambda world: ss.detection.find_overlaps(world, None)]
)
def test_detection_wants_a_world(verb):
    with pytest.raises(
        ss.ModelError, match=r"world is WorldBuilder, expected a World, such as builder\.build"
    ):
        verb(builder())
