"""Studies: reproduced experiments of the literature, and one on measurements; each returns tables and
figures."""

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
"""Modules of the studies by name; each has NAME, SUMMARY and run(quick, progress, ...)."""


def names() -> list[str]:
    """Return the names of the studies."""
    return sorted(STUDIES)


def load(name: str) -> "StudyModule":
    """Return the module of the study `name`; an unknown name raises an UnknownNameError."""
    if name not in STUDIES:
        raise UnknownNameError(f"unknown study {name!r}; {alternatives(name, names())}")
    return cast("StudyModule", import_module(STUDIES[name]))


def options(name: str) -> list[str]:
    """Return the options of the study `name`: the keywords of its `run` besides `quick` and `progress`."""
    return [each for each in signature(load(name).run).parameters if each not in ("quick", "progress")]
