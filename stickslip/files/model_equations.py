"""Equations of a world in model files: the world, and the systems coupled to its bodies."""

from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import AfterValidator, Field

from stickslip.files.model_difference import difference
from stickslip.files.model_faults import Faults, named_in
from stickslip.files.model_functions import NONE, Functions, named, resolved
from stickslip.files.model_parts import AnyArray, As, Keys, Text, keys_of
from stickslip.files.model_systems import DYNAMIC, INTERACTION, LARGEST, constants, entries
from stickslip.files.model_trees import arguments, dynamics_tree, interaction_tree
from stickslip.files.model_worlds import WorldKeys, describe_world, make_world
from stickslip.schemes.equations import Origin, as_system, origin_of
from stickslip.state import ModelError
from stickslip.systems.couplings import Coupling
from stickslip.systems.system import NonsmoothSystem

CouplingKeys = keys_of(Coupling, own={
    "systems": Annotated[list[Text], Len(1, 100)],
    **dict.fromkeys(("force", "dforce_dq", "dforce_dv", "potential"), Annotated[Any, As(AnyArray)]),
})  # fmt: skip

_COUPLING: Any = Annotated[
    Any, As(Annotated[CouplingKeys, AfterValidator(lambda keys: Coupling(**keys.given()))])
]


class EquationsKeys(Keys):
    """A world as equations, `world.as_system(systems, interactions, couplings)`."""

    version: Literal[1]
    """Version of the format."""
    model: Literal["equations"]
    world: WorldKeys
    """The world, as in a model file of a world."""
    systems: list[DYNAMIC] = Field(default_factory=list)
    interactions: list[INTERACTION] = Field(default_factory=list)
    couplings: list[_COUPLING] = Field(default_factory=list)


def make_equations(keys: EquationsKeys, faults: Faults) -> NonsmoothSystem | None:
    """Make the system of checked keys; return None and add to `faults` if there are errors."""
    inner = Faults()
    world = make_world(keys.world, inner)
    for place, sentence in inner.found:
        faults.add(("world", *place), sentence)
    total = entries(keys.systems, keys.interactions)
    if total > LARGEST:
        faults.add(("interactions",), f"their matrices have {total} entries; there may be {LARGEST}")
    if world is None or faults:
        return None
    try:
        return as_system(world, keys.systems, keys.interactions, keys.couplings)
    except ModelError as error:
        kinds = ("systems", "interactions", "couplings")
        kind = next((part for part in kinds if str(error).startswith(part[:-1])), "world")
        parts = getattr(keys, kind) if kind in kinds else ()
        numbers = [k for k, part in enumerate(parts) if part.name == named_in(str(error))]
        with faults.at(kind, *numbers[:1]):
            raise
    return None


def describe_equations(system: NonsmoothSystem, functions: Functions = NONE) -> dict[str, Any] | None:
    """Convert the equations of a world to the tree of a file; None for another system.

    The tree is read back and compared, so that the file is certain to give the same model.
    """
    origin = origin_of(system)
    if origin is None:
        return None
    tree = named(_tree(origin, describe_world(origin.world, functions)), functions)
    checked = EquationsKeys.model_validate(resolved(tree, functions, Faults()))
    copy = make_equations(checked, Faults())
    where = "it" if copy is None else difference(constants(copy), constants(system))
    if where:
        raise ModelError(
            f"{where} of these equations was changed after they were made, which the file format"
            " cannot express"
        )
    return tree


def _tree(origin: Origin, world: dict[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {"version": 1, "model": "equations"}
    tree["systems"] = [dynamics_tree(one) for one in origin.systems]
    tree["interactions"] = [
        interaction_tree(one.name, one.systems, one.relation, one.law) for one in origin.interactions
    ]
    tree["couplings"] = [
        arguments(Coupling, {**vars(one), "systems": None}, one.owner) | {"systems": list(one.systems)}
        for one in origin.couplings
    ]
    return {key: value for key, value in tree.items() if value} | {"world": world}
