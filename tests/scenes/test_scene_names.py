"""Scenes by name."""

import numpy as np
import pytest

from stickslip import scenes
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.fingerprint import fingerprint
from stickslip.scenes.rigid import incline


def test_names() -> None:
    assert scenes.names() == ["chute", "incline", "packing", "wall"]
    assert scenes.names() == sorted(scenes.SCENES)


@pytest.mark.parametrize("name", scenes.names())
def test_every_scene_has_defaults_and_starts_free_of_bias(name: str) -> None:
    problem = scenes.make(name)
    assert isinstance(problem, GlobalProblem)
    assert problem.is_matrix_free
    assert not np.any(problem.u_bias)
    assert fingerprint(problem) == fingerprint(scenes.make(name))


def test_parameters_reach_the_scene() -> None:
    assert fingerprint(scenes.make("incline", angle=10.0)) == fingerprint(incline(angle=10.0))


def test_an_unknown_name_lists_the_known() -> None:
    with pytest.raises(KeyError, match="no scene 'arch'; known: chute, incline, packing, wall"):
        scenes.make("arch")


def test_an_unknown_parameter_lists_the_known() -> None:
    with pytest.raises(
        TypeError, match="scene incline has no parameter 'slope'; it has: angle, mu, mass, h, size"
    ):
        scenes.make("incline", slope=10.0)
