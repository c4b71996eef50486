"""Experiments of the literature, reproduced, and one of measurements: each gives tables and figure data.

One line per study here.
"""

from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, cast

from stickslip.names import alternatives
from stickslip.state import UnknownNameError

if TYPE_CHECKING:
    from stickslip.studies.study import StudyModule

__all__ = ["load", "names", "options"]

STUDIES: dict[str, str] = {
    "cam": "stickslip.studies.cam",
    "families": "stickslip.studies.families",
    "incline": "stickslip.studies.incline",
    "rolling": "stickslip.studies.rolling",
    "tilt": "stickslip.studies.tilt",
    "tosses": "stickslip.studies.tosses",
}
"""The studies and their modules; each offers NAME, SUMMARY and run(quick, progress, ...)."""


def names() -> list[str]:
    """Names of the studies."""
    return sorted(STUDIES)


def load(name: str) -> "StudyModule":
    """The module of the study `name`; unknown names are an UnknownNameError that lists the known."""
    if name not in STUDIES:
        raise UnknownNameError(f"unknown study {name!r}; {alternatives(name, names())}")
    return cast("StudyModule", import_module(STUDIES[name]))


def options(name: str) -> list[str]:
    """What the study `name` takes beside `quick` and `progress`: the keywords of its `run`."""
    return [each for each in signature(load(name).run).parameters if each not in ("quick", "progress")]
