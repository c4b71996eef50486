"""Conversion: a new problem, and the map from its solution to one of the original."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from stickslip.problem.box import BoxProblem
from stickslip.problem.certificate import Certificate
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem


class Answer(NamedTuple):
    """Solution of the original problem: impulses and, for global problems, velocities and multipliers."""

    r: Array
    """Impulses [N s], shape (n,); z for a BoxProblem."""
    v: Array | None = None
    """Velocities of a GlobalProblem [m/s, rad/s], shape (nv,)."""
    lam: Array | None = None
    """Bilateral multipliers of a GlobalProblem [N s], shape (p,)."""


New = TypeVar("New", ContactProblem, BoxProblem, GlobalProblem)
Contacts = TypeVar("Contacts", ContactProblem, GlobalProblem)


def _same(certificate: Certificate) -> Certificate:
    return certificate


@dataclass(frozen=True)
class Conversion(Generic[New]):
    """A problem in another form, and the maps between the solutions of the two."""

    problem: New
    """The new problem."""
    recover: Callable[[Array], Answer]
    """Map from r of the new problem to the solution of the original."""
    guess: Callable[[Array], Array]
    """Map from r of the original to r of the new problem, for warm starts."""
    certificate: Callable[[Certificate], Certificate | None] = _same
    """Map from a certificate of the new problem to one of the original; None if there is none."""


def placed(order: IntArray, x: Array) -> Array:
    """Return z with z[order] = x, shape (n,)."""
    z = np.empty(order.size)
    z[order] = x
    return z
