"""All that a step of a world depends on, along many directions at once.

A function f that is smooth has f(x + i ε d) = f(x) + i ε f'(x) d to rounding if ε² is below it: the real part
is the value, the imaginary one the derivative, and nothing is subtracted (Squire & Trapp 1998). Files
`moreau_jean_*` write the assembly of a step in such numbers. Arrays begin with an axis of k directions, which
has length 1 where nothing changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stickslip.mechanics.parameters import SYMMETRIC, Parameters
from stickslip.rotations import rates
from stickslip.state import Array, State

Complex = NDArray[Any]
"""Complex numbers, or real ones where nothing changes."""
EPSILON = 1e-30
"""Imaginary part of a change by 1."""


@dataclass(frozen=True, eq=False, slots=True)
class Inputs:
    """State, length of the step and parameters along k directions; units as `State` and `Parameters`."""

    q: Complex
    """[m, -], shape (k, n, 7)."""
    v: Complex
    """[m/s, rad/s], shape (k, n, 6)."""
    h: Complex
    """[s], shape (k,)."""
    gravity: Complex
    """[m/s²], shape (k, 3)."""
    mass: Complex
    """[kg], shape (k, n)."""
    J: Complex
    """[kg m²], shape (k, n, 3, 3)."""
    law: Complex
    """mu, mu_roll, mu_spin, e of each pair of materials [-, m, m, -], shape (k, pairs, 4)."""
    size: Complex
    """[m], shape (k, lengths)."""
    place: Complex
    """[m], shape (k, shapes, 3)."""
    effort: Complex
    """[N, N m], shape (k, actuators)."""
    wrench: Complex
    """[N, N m], shape (k, n, 6)."""


def inputs_along(state: State, h: float, given: Parameters, tangents: Mapping[str, Array]) -> Inputs:
    """Inputs that change by the columns of `tangents`, each (size, k)."""
    n = given.mass.size

    def along(name: str, value: Array) -> Complex:
        return _complex(value, tangents.get(name))

    law = [along(name, getattr(given, name)) for name in ("mu", "mu_roll", "mu_spin", "e")]
    six = along("inertia", given.inertia)
    J = np.empty((six.shape[0], n, 3, 3), complex)
    for c, (i, j) in enumerate(SYMMETRIC):
        J[:, :, i, j] = J[:, :, j, i] = six[:, :, c]
    return Inputs(
        _displaced(state.q.reshape(n, 7), tangents.get("q")),
        along("v", state.v.reshape(n, 6)),
        along("h", np.array(h)),
        along("gravity", given.gravity),
        along("mass", given.mass),
        J,
        np.stack(np.broadcast_arrays(*law), axis=-1),
        along("size", given.size),
        along("place", given.place),
        along("effort", given.effort),
        along("wrench", given.wrench),
    )


def changes(x: Complex, k: int) -> Array:
    """How x changes along each direction, shape (k, ...)."""
    return np.broadcast_to(x.imag / EPSILON, (k, *x.shape[1:]))


def _complex(value: Array, change: Array | None) -> Complex:
    """value + i ε change, shape (k, ...)."""
    if change is None:
        return value[None].astype(complex)
    return value + 1j * EPSILON * change.T.reshape(change.shape[1], *value.shape)


def _displaced(q: Array, change: Array | None) -> Complex:
    """q moved along displacements, (6 n, k), shape (k, n, 7)."""
    if change is None:
        return q[None].astype(complex)
    moved = change.T.reshape(change.shape[1], q.shape[0], 6)
    turned = np.einsum("nij,knj->kni", rates(q[:, 3:]), moved[:, :, 3:])
    return q + 1j * EPSILON * np.concatenate([moved[:, :, :3], turned], axis=2)
