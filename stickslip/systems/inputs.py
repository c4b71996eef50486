"""Inputs of a system: T(q) u(t, q, v, z), a map and what it carries."""

from dataclasses import dataclass

import numpy as np

from stickslip.problem.checks import Array
from stickslip.state import ModelError
from stickslip.systems.quantities import Given, Quantity, needed, quantity, returned


@dataclass(frozen=True, eq=False)
class Input:
    """T u, with the two beside their product."""

    T: Quantity
    """The map [any], shape (n, nu)."""
    u: Quantity
    """What is put in [any], shape (nu,)."""
    product: Quantity
    """T u [any], shape (n,)."""


def inputs(
    owner: str, T: Given | None, u: Given | None, n: int, at: tuple[Array, Array, Array],
    arguments: tuple[str, str, str, str], allowed: tuple[str, ...] | None = None,
) -> Input | None:  # fmt: skip
    """T(q) u as one quantity; T is the identity unless given. `at` is where u is asked for its size."""
    if u is None:
        if T is not None:
            raise ModelError(f"{owner}: T is given, but u is not")
        return None
    size = returned(owner, "u", u, arguments, at)
    carried = needed(quantity(owner, "u", u, (size,), arguments, allowed))
    map_ = needed(quantity(owner, "T", np.eye(n) if T is None else T, (n, size), arguments, allowed))
    if map_.constant is not None and carried.constant is not None:
        constant = map_.constant @ carried.constant
        return Input(map_, carried, needed(quantity(owner, "T u", constant, (n,), arguments)))
    wanted = tuple(a for a in arguments if a in carried.wanted or a in map_.wanted)
    product = Quantity(
        owner, "T u", (n,), lambda t, a, b, z: map_(t, a, b, z) @ carried(t, a, b, z), wanted=wanted
    )
    return Input(map_, carried, product)
