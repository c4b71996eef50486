"""Contacts of a world: spheres and planes by the grid, other shapes by MuJoCo's narrow phase."""

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.detection.contacts import ContactSet, joined
from stickslip.detection.spheres import ROUND, SphereDetector
from stickslip.kernels.steps import detection as finders
from stickslip.mechanics.shapes import Sphere
from stickslip.mechanics.world import World
from stickslip.state import Array, ModelError

if TYPE_CHECKING:
    from stickslip.detection import general
    from stickslip.detection.mujoco_library import Warnings


class NoWarnings(nullcontext[None]):
    """Stand-in for `Warnings` in worlds that do not use MuJoCo."""

    found = ()


NO_WARNINGS = NoWarnings()
"""The one instance of `NoWarnings`."""


class Detector:
    """Detector for the contacts of one world. It stores no physical state: equal q give bitwise equal
    contacts."""

    def __init__(self, world: World):
        if not isinstance(world, World):
            raise ModelError(f"world is {type(world).__name__}, expected a World, such as builder.build()")
        shapes = world.shapes.shape
        self._names = world.names
        self._asked = False
        self._compiled: tuple[Any, Any] | None = None
        if all(isinstance(s, ROUND) for s in shapes):
            self._spheres: SphereDetector | None = SphereDetector(world)
            self._general: general.GeneralDetector | None = None
            return
        # Imported on use: worlds of spheres and planes need no MuJoCo.
        from stickslip.detection.general import GeneralDetector

        self._spheres = SphereDetector(world) if any(isinstance(s, Sphere) for s in shapes) else None
        self._general = GeneralDetector(world)

    def find(self, q: Array, margin: float) -> ContactSet:
        """Return all contacts with gap <= margin [m] at q, shape (7 n,), sorted by id."""
        n = len(self._names)
        if q.shape != (7 * n,):
            raise ModelError(f"q has shape {q.shape}, expected ({7 * n},): {n} bodies")
        if not -math.inf < margin < math.inf:
            raise ModelError(f"margin of detection is {margin}, expected a finite length")
        if self._general is None:
            assert self._spheres is not None
            self._check_finite(q)
            return self._spheres.find(q, margin)
        contacts = self._general.find(q, margin)  # refuses a q that is not finite
        return contacts if self._spheres is None else joined(contacts, self._spheres.find(q, margin))[0]

    def compiled(self) -> tuple[Any, Any, Any] | None:
        """Return a search function of `kernels/steps/detection.py` and its data, for compiled steps.

        The third entry is the data of the sphere grid in worlds that have spheres and other shapes, otherwise
        None. The result is None if detection cannot be compiled. The data are valid as long as this detector,
        but `find` may replace them.
        """
        if self._general is None:
            assert self._spheres is not None
            return finders.find_spheres, self._spheres.compiled(), None
        if not self._asked:
            self._asked, self._compiled = True, self._general.compiled()
        if self._compiled is None:
            return None
        return *self._compiled, None if self._spheres is None else self._spheres.compiled()

    def warned(self) -> "Warnings | NoWarnings":
        """Return a context manager that collects MuJoCo's warnings."""
        return NO_WARNINGS if self._general is None else self._general.warned()

    def _check_finite(self, q: Array) -> None:
        if not np.isfinite(q).all():
            bad = int(np.flatnonzero(~np.isfinite(q))[0]) // 7
            raise ModelError(f"body {self._names[bad]!r}: q is {q[7 * bad : 7 * bad + 7]}")
