"""Time step of a mechanical system as a contact problem, from momenta, gaps and joints.

    M (v⁺ - v) = h force + H r + G lam
    0 = g / h + G'v⁺ + g_t
    K* ∋ u_hat(u) ⟂ r ∈ K,   u = H'v⁺ + (gap / h) e_N

(Anitescu & Hart 2004). The terms gap / h and g / h stabilise the positions: a contact may close its gap
within the step but not penetrate, and the violation g of a joint is corrected in one step.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from stickslip.kernels import cones
from stickslip.problem.checks import Array, ProblemError, finite, flat
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.mass import mass_matrix
from stickslip.problem.sets import ProductSet


def velocity_step(
    M: Any,
    v: ArrayLike,
    force: ArrayLike,
    h: float,
    H: Any,
    K: ProductSet,
    gap: ArrayLike,
    *,
    G: Any = None,
    g: ArrayLike | None = None,
    g_t: ArrayLike | None = None,
) -> GlobalProblem:
    """Return the problem of a time step: its v is the new velocity, its r and lam are impulses over the step.

    M, H, G   as in GlobalProblem; G'v is the rate of g (G = (dg/dq L)')
    v         velocity at the start [m/s, rad/s], shape (nv,)
    force     applied force [N, N m], shape (nv,)
    h         time step [s], > 0
    gap       gap of every block of K [m], shape (nb,): positive apart, negative in penetration, 0 for blocks
              that are not contacts (free, interval)
    g         violation of the joints at the start [m], shape (p,), 0 if not given
    g_t       its explicit time derivative [m/s], shape (p,), 0 if not given
    """
    h = _step(h)
    if not isinstance(K, ProductSet):
        raise ProblemError(f"K is {type(K).__name__}, expected a product set such as coulomb(mu)")
    mass = mass_matrix(M)
    old, applied = _given("v", v, mass.size), _given("force", force, mass.size)
    with np.errstate(all="ignore"):  # the problem rejects an overflow
        f = mass.multiply(old) + h * applied
        u_bias = np.zeros(K.size)
        u_bias[K.offset[:-1]] = _gaps(K, gap) / h
        g_bias = _given("g", g, _joints(G, "g", g)) / h + _given("g_t", g_t, _joints(G, "g_t", g_t))
    return GlobalProblem(mass, f, H, u_bias, K, G, g_bias)


def _step(h: float) -> float:
    value = float(flat("h", h, 1)[0])
    if not (value > 0.0 and np.isfinite(value)):
        raise ProblemError(f"h is {value}; a time step must be positive and finite")
    return value


def _given(name: str, value: ArrayLike | None, size: int) -> Array:
    """Return `value` as `size` finite numbers; zeros if it is None."""
    array = flat(name, np.zeros(size) if value is None else value, size)
    finite(name, array)
    return array


def _gaps(K: ProductSet, gap: ArrayLike) -> Array:
    gaps = flat("gap", gap, len(K), "one per block")
    finite("gap", gaps, lambda k: f"block {k[0]}")
    contact = (K.kind == cones.FRICTION) | (K.kind == cones.NONNEGATIVE)
    others = np.flatnonzero(~contact & (gaps != 0.0))
    if others.size:
        i = int(others[0])
        raise ProblemError(
            f"gap of block {i} is {gaps[i]}, but it is {K.kind_name(i)}, not a contact; give 0"
        )
    return gaps


def _joints(G: Any, name: str, value: ArrayLike | None) -> int:
    """Return the number of columns of G, the size of `value`; the problem checks other errors of G."""
    if G is None:
        if value is not None and np.size(value):
            raise ProblemError(f"{name} has {np.size(value)} entries, but there is no G")
        return 0
    if isinstance(G, ContactBlocks):
        return G.size
    shape = G.shape if sp.issparse(G) else np.shape(G)
    if len(shape) != 2:
        raise ProblemError(f"G has shape {shape}, expected a matrix with one column per bilateral row")
    return int(shape[1])
