"""Sweeps, products with W = J J' and residual sums over one domain of contacts (`domains.py`), for threads.

A domain is a problem over some of the contacts, prepared for sweeps as in `body_sweeps.py`; all domains share
the velocities w of the bodies. All kernels take a domain and release the lock of the interpreter.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import anderson, body_sweeps, cones, contact_law, residuals
from stickslip.kernels.held import values_of
from stickslip.kernels.jit import jit_without_lock


class Domain(NamedTuple):
    """Contacts that one thread processes at a time."""

    problem: Any
    """`sweeps.Swept` of these contacts; all domains share the w of its `BodyW`."""
    work: Any
    """`sweeps.Work` of the domain."""
    memory: Any
    """`anderson.Memory` with the vectors of the domain; all domains share the numbers and products."""
    r: Any
    """Impulses of these contacts [N s], shape (n,)."""
    sums: Any
    """Contributions to the products dF' dF of this sweep and dF' f of the next start, shape (2, m + 1)."""


@jit_without_lock
def prepare(K, W, u_free, m):
    """Return (problem, work, weight, vectors) of the contacts of a domain; m: columns of the acceleration."""
    problem, work = body_sweeps.prepare_coulomb3(K, W, u_free, 1.0)
    if m == 0:
        return problem, work, np.empty(0), np.empty((0, 0))
    memory = anderson.memory_of(problem, m)
    return problem, work, memory.weight, memory.vectors


@jit_without_lock
def sweep(held):
    """Make one sweep over the contacts of a domain; return the squared changes of r, plain and weighted."""
    domain = values_of(held)
    moved = body_sweeps.sweep_coulomb3(domain.problem, domain.work, domain.r)
    mixes = domain.memory.weight.shape[0] > 0
    return moved, anderson.square_of_step(domain.memory, domain.r) if mixes else 0.0


@jit_without_lock
def push(held):
    """Add J' r of the contacts of a domain to w."""
    domain = values_of(held)
    bodies, rows, w, _ = domain.problem.W
    r = domain.r
    for i in range(bodies.shape[0]):
        for side in range(2):
            b = bodies[i, side]
            for j in range(3 * i, 3 * i + 3):
                for k in range(6):
                    w[b, k] += rows[j, side, k] * r[j]


@jit_without_lock
def measure(held):
    """Return the `residuals.stop_sums` of the contacts of a domain, from w."""
    domain = values_of(held)
    problem, work = domain.problem, domain.work
    body_sweeps.velocities(problem, domain.r, work.vectors[0])
    point = residuals.Point(domain.r, work.vectors[0], problem.u_free)
    spare = work.vectors[1], work.vectors[2]
    return residuals.stop_sums(contact_law.no_map, problem.K, problem.scales, residuals.EXACT, point, spare)


@jit_without_lock
def move_to_mix(held):
    """r <- mix of the last sweeps (`anderson.move_to_mix`), and add J' r to w."""
    domain = values_of(held)
    anderson.move_to_mix(cones.project_contacts, domain.problem.K, domain.memory, domain.r)
    push(held)


@jit_without_lock
def remember(held, adds):
    """Call `anderson.remember` and `anderson.correlate` for a domain; return the squared change of g.

    sums[0] <- products of the newest column, sums[1] <- products for the next start. Both are computed at
    once while the columns are in the cache.
    """
    domain = values_of(held)
    change = anderson.remember(domain.memory, adds, domain.r, domain.sums[0])
    anderson.correlate(domain.memory, domain.sums[1])
    return change


@jit_without_lock
def go_back(held):
    """Call `anderson.go_back` for the components of a domain."""
    domain = values_of(held)
    anderson.go_back(domain.memory, domain.r)
