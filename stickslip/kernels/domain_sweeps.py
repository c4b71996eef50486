"""Work of threads on domains of contacts (`domains.py`): sweeps, products with W = J J', the judge's sums.

A domain is a problem over its own contacts, prepared for sweeps as any other (`body_sweeps.py`); the
velocities w of the bodies belong to all. Every kernel takes a domain and works without the lock of the
interpreter.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels import anderson, body_sweeps, cones, contact_law, residuals
from stickslip.kernels.held import values_of
from stickslip.kernels.jit import jit_without_lock


class Domain(NamedTuple):
    """Contacts that one thread works on at a time."""

    problem: Any
    """`sweeps.Swept` of these contacts; w of its `BodyW` is that of all domains."""
    work: Any
    """`sweeps.Work` of its own."""
    memory: Any
    """`anderson.Memory` with vectors of its own; numbers and products are those of all domains."""
    r: Any
    """Impulses of these contacts [N s], shape (n,)."""
    sums: Any
    """What the domain adds to products of vectors, of this sweep and for the next, shape (2, m + 1)."""


@jit_without_lock
def prepare(K, W, u_free, m):
    """(problem, work, weight, vectors) of the contacts of a domain; m: sweeps that are mixed."""
    problem, work = body_sweeps.prepare_coulomb3(K, W, u_free, 1.0)
    if m == 0:
        return problem, work, np.empty(0), np.empty((0, 0))
    memory = anderson.memory_of(problem, m)
    return problem, work, memory.weight, memory.vectors


@jit_without_lock
def sweep(held):
    """One sweep over the contacts of a domain; squared change of r, and that of a mixed sweep in all."""
    domain = values_of(held)
    moved = body_sweeps.sweep_coulomb3(domain.problem, domain.work, domain.r)
    mixes = domain.memory.weight.shape[0] > 0
    return moved, anderson.square_of_step(domain.memory, domain.r) if mixes else 0.0


@jit_without_lock
def push(held):
    """w += J' r of the contacts of a domain."""
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
    """`residuals.stop_sums` of the contacts of a domain, from w."""
    domain = values_of(held)
    problem, work = domain.problem, domain.work
    body_sweeps.velocities(problem, domain.r, work.vectors[0])
    at = residuals.Point(domain.r, work.vectors[0], problem.u_free)
    spare = work.vectors[1], work.vectors[2]
    return residuals.stop_sums(contact_law.no_map, problem.K, problem.scales, residuals.EXACT, at, spare)


@jit_without_lock
def move_to_mix(held):
    """r <- the mix of the last sweeps, in K; w += J' r."""
    domain = values_of(held)
    anderson.move_to_mix(cones.project_contacts, domain.problem.K, domain.memory, domain.r)
    push(held)


@jit_without_lock
def remember(held, adds):
    """`anderson.remember` over the components of a domain, products into the first row of its sums, and
    `anderson.correlate` for the next start into the second, while the columns are near."""
    domain = values_of(held)
    way = anderson.remember(domain.memory, adds, domain.r, domain.sums[0])
    anderson.correlate(domain.memory, domain.sums[1])
    return way


@jit_without_lock
def go_back(held):
    """`anderson.go_back` over the components of a domain."""
    domain = values_of(held)
    anderson.go_back(domain.memory, domain.r)
