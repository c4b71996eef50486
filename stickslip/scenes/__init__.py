"""Ready contact problems by name: `make("wall", rows=12)`. A new scene is one function and one line here."""

from inspect import getdoc

from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.parameters import Catalogue

SCENES = {
    "chute": "stickslip.scenes.packing:chute",
    "incline": "stickslip.scenes.rigid:incline",
    "packing": "stickslip.scenes.packing:sphere_packing",
    "wall": "stickslip.scenes.rigid:wall",
}
"""The scenes that are problems, and where they are made, as module:function."""
_CATALOGUE: Catalogue[GlobalProblem] = Catalogue("", SCENES)
names, parameters, meanings = _CATALOGUE.names, _CATALOGUE.parameters, _CATALOGUE.meanings
make, function = _CATALOGUE.make, _CATALOGUE.function


def summary(name: str) -> str:
    """What the scene `name` is, in a line."""
    return (getdoc(function(name)) or "").partition("\n")[0]
