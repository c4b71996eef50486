"""Materials by pairs: the combination rule, and what a user says of a pair instead."""

from dataclasses import dataclass

import numpy as np

from stickslip.mechanics.given import numbers
from stickslip.mechanics.world import Materials
from stickslip.state import Array, ModelError

FIELDS = ("mu", "mu_roll", "mu_spin", "e")


@dataclass(frozen=True, slots=True)
class Material:
    """What a surface brings to a contact."""

    mu: float
    """Friction [-], >= 0."""
    mu_roll: float
    """Rolling friction [m], >= 0."""
    mu_spin: float
    """Torsional friction about the normal [m], >= 0."""
    e: float
    """Restitution [-], from 0 to 1."""


def checked(owner: str, key: str, value: float) -> float:
    """A coefficient in its range."""
    found = float(numbers(owner, key, value, ()))
    if found < 0.0:
        raise ModelError(f"{owner}: {key} is {found:g}; it cannot be negative")
    if key == "e" and found > 1.0:
        raise ModelError(f"{owner}: e is {found:g}; it is from 0 to 1")
    return found


def tables(materials: dict[str, Material], pairs: dict[tuple[str, str], dict[str, float]]) -> Materials:
    """mu, mu_roll, mu_spin of a pair are geometric means, e is the smaller one, unless the pair is given."""
    names = tuple(materials)

    def table(key: str) -> Array:
        own = np.array([getattr(material, key) for material in materials.values()])
        # the root of each first: of mu with itself it may round, so the diagonal is set
        out = np.minimum.outer(own, own) if key == "e" else np.sqrt(own)[:, None] * np.sqrt(own)
        np.fill_diagonal(out, own)
        for (first, second), given in pairs.items():
            if key in given:
                i, j = names.index(first), names.index(second)
                out[i, j] = out[j, i] = given[key]
        out.flags.writeable = False
        return out

    return Materials(names, *(table(key) for key in FIELDS))
