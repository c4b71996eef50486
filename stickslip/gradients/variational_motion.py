"""Bodies over a step of the variational scheme, to first order: momenta and where Cayley's map takes them."""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels.variational_derivatives.motion import (
    end_slopes,
    momenta,
    momentum_slopes,
    rows_from_end,
)
from stickslip.mechanics.parameters import SYMMETRIC
from stickslip.state import Array, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class End:
    """How the displacements of bodies at the end of a step depend on those at the start, on v and on h."""

    by_turn: Array
    """∂δθ₊/∂δθ [-], shape (n, 3, 3); displacements of centres go through as they are."""
    by_spin: Array
    """∂δθ₊/∂Ω [s], shape (n, 3, 3); ∂δx₊/∂ẋ is h."""
    by_h: Array
    """∂(δx₊, δθ₊)/∂h [m/s, rad/s], shape (n, 6)."""
    h: float

    @classmethod
    def of(cls, v: Array, h: float) -> "End":
        """Of velocities v (n, 6) over a step h."""
        n = v.shape[0]
        by_turn, by_spin, by_h = np.empty((n, 3, 3)), np.empty((n, 3, 3)), np.empty((n, 6))
        end_slopes(np.array(v), h, by_turn, by_spin, by_h)
        return cls(by_turn, by_spin, by_h, h)

    def rows_from_end(self, rows: Array, body: IntArray) -> tuple[Array, Array, Array]:
        """Rows (m, 2, 6) of displacements at the end as rows of velocities and of displacements at the start,
        and their sums by h, shape (m,); body (m, 2), -1 allowed."""
        on_v, on_q, on_h = np.empty_like(rows), np.empty_like(rows), np.empty(rows.shape[0])
        rows_from_end(rows, body, self.by_turn, self.by_spin, self.by_h, self.h, on_v, on_q, on_h)
        return on_v, on_q, on_h


def momentum(mass: Array, J: Array, v: Array, h: float) -> Array:
    """P(v), with -h what arrives at the end of a step [N s, N m s], shape (n, 6)."""
    out = np.empty((v.shape[0], 6))
    momenta(np.array(mass), np.array(J), np.array(v), h, out)
    return out


def momentum_by_v(mass: Array, J: Array, v: Array, h: float) -> Array:
    """∂P/∂v [kg, kg m²], shape (n, 6, 6)."""
    out = np.empty((v.shape[0], 6, 6))
    momentum_slopes(np.array(mass), np.array(J), np.array(v), h, out)
    return out


def momentum_by_h(J: Array, v: Array, h: float) -> Array:
    """∂P/∂h [N, N m], shape (n, 6)."""
    spin = v[:, 3:]
    L = np.einsum("nij,nj->ni", J, spin)
    energy = np.einsum("ni,ni->n", spin, L)[:, None]
    return np.hstack([np.zeros_like(spin), 0.5 * np.cross(spin, L) + 0.5 * h * energy * spin])


def momentum_by_inertia(v: Array, h: float) -> Array:
    """∂P/∂(xx, yy, zz, xy, xz, yz) [rad/s], shape (n, 6, 6): P is linear in J."""
    out, none = np.zeros((v.shape[0], 6, 6)), np.zeros(v.shape[0])
    for k, (i, j) in enumerate(SYMMETRIC):
        unit = np.zeros((v.shape[0], 3, 3))
        unit[:, i, j] = unit[:, j, i] = 1.0
        out[:, :, k] = momentum(none, unit, v, h)
    return out
