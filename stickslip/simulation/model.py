"""Description of a simulated system, with which a trajectory can be read without the system itself."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.kernels import cones
from stickslip.names import LISTED, alternatives
from stickslip.problem.contact import Level
from stickslip.problem.sets import ProductSet
from stickslip.state import Array, ModelError, UnknownNameError
from stickslip.systems.couplings import Integrated
from stickslip.systems.dynamics import Dynamics, FirstOrderDynamics
from stickslip.systems.relations import FirstOrderOutput
from stickslip.systems.system import NonsmoothSystem


@dataclass(frozen=True)
class SystemPart:
    """One dynamical system: its name, kind and sizes in the flat arrays."""

    name: str
    kind: str
    """Name of its class."""
    first_order: bool
    """Whether it has a state x in place of q and v."""
    nq: int
    """Number of coordinates or states."""
    nv: int
    """Number of velocities."""
    nz: int
    """Number of discrete parameters."""
    potential_known: bool = True
    """Whether its potential energy is known; true in first order, which has none."""

    @property
    def integrated(self) -> bool:
        """Whether it is a first-order system among second-order ones; its x is stored as v."""
        return self.kind == Integrated.__name__

    @property
    def facts(self) -> dict[str, Any]:
        """Properties that must agree when a run continues from a checkpoint."""
        return {
            "order": "first" if self.first_order else "second", "number of coordinates": self.nq,
            "number of velocities": self.nv, "number of discrete parameters": self.nz,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class InteractionPart:
    """One interaction: its name, systems, law and multipliers."""

    name: str
    systems: tuple[str, ...]
    """Names of its systems."""
    law: str
    """Its law as text."""
    K: ProductSet
    """The set of its multipliers."""
    first_order: bool
    """Whether its multipliers are values lam rather than impulses."""
    level: Level
    """The derivative of y on which its law was stated."""

    @property
    def facts(self) -> dict[str, Any]:
        """Properties that must agree when a run continues from a checkpoint."""
        return {"systems": ", ".join(self.systems), "law": self.law, "number of components": self.K.size}


@dataclass(frozen=True, eq=False)
class Model:
    """The systems and interactions of a run, by name, in order."""

    systems: tuple[SystemPart, ...]
    interactions: tuple[InteractionPart, ...]
    source: Any = field(default=None, repr=False)
    """The `NonsmoothSystem`, or for a file a function that returns it; None for a file without it."""

    @classmethod
    def of(cls, system: NonsmoothSystem, levels: tuple[Level, ...]) -> "Model":
        """Return the description of a system whose laws are stated on these levels."""
        parts = tuple(
            SystemPart(
                name, type(one.dynamics).__name__, isinstance(one.dynamics, FirstOrderDynamics),
                one.q.size, one.v.size, one.z.size, _potential_known(system.systems[one.system]),
            )
            for name, one in system.members.items()
        )  # fmt: skip
        return cls(
            parts,
            tuple(
                InteractionPart(
                    one.name, one.names, repr(one.law), one.law.K,
                    isinstance(one.output, FirstOrderOutput), level,
                )
                for one, level in zip(system.interactions, levels, strict=True)
            ),
            system,
        )  # fmt: skip

    @property
    def sizes(self) -> tuple[int, int, int, int, int]:
        """Lengths of the flat q, v, z, of r, and the number of blocks."""
        nq, nv, nz = (sum(getattr(s, key) for s in self.systems) for key in ("nq", "nv", "nz"))
        return nq, nv, nz, sum(i.K.size for i in self.interactions), sum(len(i.K) for i in self.interactions)

    def system(self, name: str) -> tuple[SystemPart, slice, slice, slice]:
        """Return a system by name with its slices of q, v and z; raise UnknownNameError without one."""
        q = v = z = 0
        for part in self.systems:
            if part.name == name:
                return part, slice(q, q + part.nq), slice(v, v + part.nv), slice(z, z + part.nz)
            q, v, z = q + part.nq, v + part.nv, z + part.nz
        known = alternatives(name, (part.name for part in self.systems), most=LISTED)
        raise UnknownNameError(f"unknown system {name!r}; {known}")

    def interaction(self, name: str) -> tuple[InteractionPart, slice, slice]:
        """Return an interaction by name with its slices of components and blocks; raise UnknownNameError
        without one."""
        for part, components, blocks in self.places:
            if part.name == name:
                return part, components, blocks
        known = alternatives(name, (part.name for part in self.interactions), most=LISTED)
        raise UnknownNameError(f"unknown interaction {name!r}; {known}")

    @cached_property
    def places(self) -> tuple[tuple[InteractionPart, slice, slice], ...]:
        """Every interaction with its slices of components and of blocks."""
        places, component, block = [], 0, 0
        for part in self.interactions:
            ends = component + part.K.size, block + len(part.K)
            places.append((part, slice(component, ends[0]), slice(block, ends[1])))
            component, block = ends
        return tuple(places)

    @cached_property
    def values(self) -> np.ndarray:
        """Whether a component of r is a value (first order) and not an impulse [-], shape (size,), bool."""
        sizes = [part.K.size for part in self.interactions]
        return np.repeat(np.array([part.first_order for part in self.interactions], bool), sizes)

    def penetration(self, y: Array) -> Array:
        """Return the deepest penetration of mechanical unilateral contacts in n records of y [m], shape
        (n,)."""
        deepest = np.zeros(len(y))
        for part, components, _ in self.places:
            if not part.first_order:
                unilateral = (part.K.kind == cones.NONNEGATIVE) | (part.K.kind == cones.FRICTION)
                gaps = y[:, components][:, part.K.offset[:-1][unilateral]]
                deepest = np.maximum(deepest, -np.min(gaps, axis=1, initial=0.0))
        return deepest

    def opening(self, y: Array) -> Array:
        """Return the largest |y| of mechanical bilateral constraints in n records of y [m, rad], shape
        (n,)."""
        largest = np.zeros(len(y))
        for part, components, _ in self.places:
            if not part.first_order:
                held = np.repeat(part.K.kind == cones.FREE, np.diff(part.K.offset))
                largest = np.maximum(largest, np.abs(y[:, components][:, held]).max(axis=1, initial=0.0))
        return largest

    def check_same(self, other: "Model") -> None:
        """Raise ModelError with the first difference if `other` cannot continue a run of this model."""
        for label, ours, theirs in (
            ("systems", _facts(self.systems), _facts(other.systems)),
            ("interactions", _facts(self.interactions), _facts(other.interactions)),
        ):
            if list(ours) != list(theirs):
                raise ModelError(
                    f"the start belongs to another model: its {label} are {', '.join(ours) or 'none'};"
                    f" here they are {', '.join(theirs) or 'none'}"
                )
            for name, facts in ours.items():
                for key, value in facts.items():
                    if value != theirs[name][key]:
                        raise ModelError(
                            f"the start belongs to another model: the {key} of {label[:-1]} {name!r}"
                            f" is {value};"
                            f" here it is {theirs[name][key]}"
                        )


def _potential_known(system: Dynamics) -> bool:
    """Whether the potential energy of a system is known; true in first order, which has none."""
    return isinstance(system, FirstOrderDynamics) or system.potential_known


def _facts(parts: Iterable[SystemPart | InteractionPart]) -> dict[str, dict[str, Any]]:
    """Return the facts of all parts, by name."""
    return {part.name: part.facts for part in parts}
