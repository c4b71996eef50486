"""Scenes by name."""

import numpy as np
import pytest

from stickslip import scenes
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.scenes.rigid import incline
from stickslip.scenes.scenario import Scenario


def test_names() -> None:
    problems = ["chute-problem", "incline-problem", "packing-problem", "wall-problem"]
    assert scenes.names("problem") == problems
    assert scenes.names() == sorted([*problems, *scenes.names("run")]) == sorted(scenes.SCENES)


@pytest.mark.parametrize("name", scenes.names("run"))
def test_every_run_bears_the_name_that_it_is_listed_by(name: str) -> None:
    scene = scenes.make(name)
    assert isinstance(scene, Scenario)
    assert (scene.name, scene.summary) == (name, scenes.summary(name))


@pytest.mark.parametrize("name", scenes.names("problem"))
def test_every_problem_has_defaults_and_starts_free_of_bias(name: str) -> None:
    problem = scenes.make(name)
    assert isinstance(problem, GlobalProblem)
    assert problem.is_matrix_free
    assert not np.any(problem.u_bias)
    assert fingerprint(problem) == fingerprint(scenes.make(name))


def test_parameters_reach_the_scene() -> None:
    assert fingerprint(scenes.make("incline-problem", angle=10.0)) == fingerprint(incline(angle=10.0))


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(KeyError, match=r"unknown scene 'arc'; known: arch, .*; did you mean 'arch'"):
        scenes.make("arc")


def test_an_unknown_parameter_lists_the_known() -> None:
    with pytest.raises(
        TypeError, match="scene incline-problem has no parameter 'slope'; it has: angle, mu, mass, h, size"
    ):
        scenes.make("incline-problem", slope=10.0)
