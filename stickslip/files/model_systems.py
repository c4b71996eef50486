"""Systems of equations in model files: dynamics, relations and laws with constant numbers."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import AfterValidator, Field, model_validator

from stickslip import laws
from stickslip.files.model_difference import difference
from stickslip.files.model_faults import Faults, named_in
from stickslip.files.model_functions import NONE, Functions, resolved
from stickslip.files.model_parts import (
    AnyArray,
    As,
    Keys,
    Text,
    bounds,
    choices,
    keys_of,
    one_of,
)
from stickslip.files.model_trees import DYNAMICS, LAWS, RELATIONS, system_tree
from stickslip.state import ModelError
from stickslip.systems.system import Interaction, NonsmoothSystem

LARGEST = 25_000_000
"""Largest total number of entries of the matrices of a system, as a short file may declare large ones."""

InteractionKeys = keys_of(Interaction, own={
    "systems": Annotated[list[Text], Len(1, 100)], "relation": one_of(choices(RELATIONS)),
    "law": one_of(choices(LAWS, {laws.Box: {"lower": bounds(), "upper": bounds()}})),
})  # fmt: skip


def _interaction(keys: Any) -> Interaction:
    return Interaction(keys.name, keys.systems, keys.relation, keys.law)


DYNAMIC: Any = Annotated[Any, As(one_of(choices(DYNAMICS)))]
"""Types of systems and of interactions in lists; validation makes the objects."""
INTERACTION: Any = Annotated[Any, As(Annotated[Any, As(InteractionKeys), AfterValidator(_interaction)])]


class SystemKeys(Keys):
    """A system of equations with constant numbers."""

    version: Literal[1]
    """Version of the format."""
    model: Literal["system"]
    systems: Annotated[list[DYNAMIC], Len(1)]
    interactions: list[INTERACTION] = Field(default_factory=list)
    edges: Annotated[Any, As(AnyArray)] = None
    """Times at which functions of time jump [s], or a function that returns the next one."""

    @model_validator(mode="before")
    @classmethod
    def _refuse_large(cls, tree: Any) -> Any:
        """Refuse large mass matrices before they are allocated."""
        listed = tree.get("systems") if isinstance(tree, dict) else None
        starts = [one.get("q0", one.get("x0")) for one in listed or () if isinstance(one, dict)]
        total = sum(len(start) ** 2 for start in starts if isinstance(start, list))
        if total > LARGEST:
            raise ValueError(f"its mass matrices have {total} entries together; there may be {LARGEST}")
        return tree


def entries(systems: Iterable[Any], interactions: Iterable[Interaction]) -> int:
    """Total number of entries of the matrices of interactions between these systems."""
    sizes = {one.name: max(one.start.q.size, one.start.v.size) for one in systems}
    return sum(
        one.law.size * (one.law.size + sum(sizes.get(name, 0) for name in one.systems))
        for one in interactions
    )


def make_system(keys: SystemKeys, faults: Faults) -> NonsmoothSystem | None:
    """Make the system of checked keys; return None and add to `faults` if there are errors."""
    total = entries(keys.systems, keys.interactions)
    if total > LARGEST:
        faults.add(("interactions",), f"its matrices have {total} entries; there may be {LARGEST}")
        return None
    try:
        return NonsmoothSystem(keys.systems, keys.interactions, edges=keys.edges)
    except ModelError as error:
        if str(error).startswith("edges"):
            faults.add(("edges",), str(error).removeprefix("edges "))
            return None
        kind = "interactions" if str(error).startswith("interaction") else "systems"
        numbers = [k for k, one in enumerate(getattr(keys, kind)) if one.name == named_in(str(error))]
        with faults.at(kind, *numbers[:1]):
            raise
    return None


def describe_system(system: NonsmoothSystem, functions: Functions = NONE) -> dict[str, Any]:
    """Convert a system to the tree of a file; the tree is read back and compared with the system."""
    tree = system_tree(system, functions)
    copy = make_system(SystemKeys.model_validate(resolved(tree, functions, Faults())), Faults())
    where = "it" if copy is None else difference(constants(copy), constants(system))
    if where:
        raise ModelError(
            f"{where} of this system was changed after it was made, which the file format cannot express"
        )
    return tree


def constants(system: NonsmoothSystem) -> dict[str, Any]:
    """All constants of a system, by owner and name."""
    numbers: dict[str, Any] = {"q0": system.q0, "v0": system.v0, "z0": system.z0}
    for one in (*system.systems, *(bound.output for bound in system.interactions)):
        numbers |= {f"{part.owner}: {part.name}": part.constant for part in one.quantities}
    return numbers
