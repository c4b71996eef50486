"""Shapes of bodies: what they are made of in the eyes of detection, and their volume and inertia."""

from typing import Protocol, runtime_checkable

from stickslip.state import Array


@runtime_checkable
class Shape(Protocol):
    """What a body needs to know of its shape, all in the shape's own frame."""

    @property
    def volume(self) -> float:
        """[m³]; inf for shapes that only fixed or kinematic bodies may have."""

    @property
    def centroid(self) -> Array:
        """Centre of volume [m], shape (3,)."""

    @property
    def inertia(self) -> Array:
        """About the centroid at density 1 kg/m³ [kg m²], shape (3, 3)."""

    @property
    def radius(self) -> float:
        """Of the smallest ball about the origin of the frame that holds it [m]; inf for a plane."""
