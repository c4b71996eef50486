"""Shapes of bodies: primitives, hulls of points and meshes, terrains, and compounds of them."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.files.meshes import Mesh as Mesh
    from stickslip.files.meshes import read_mesh as read_mesh
    from stickslip.mechanics.compounds import Compound as Compound
    from stickslip.mechanics.height_fields import HeightField as HeightField
    from stickslip.mechanics.hulls import ConvexHull as ConvexHull
    from stickslip.mechanics.shapes import Capsule as Capsule
    from stickslip.mechanics.shapes import Cuboid as Cuboid
    from stickslip.mechanics.shapes import Cylinder as Cylinder
    from stickslip.mechanics.shapes import Ellipsoid as Ellipsoid
    from stickslip.mechanics.shapes import Plane as Plane
    from stickslip.mechanics.shapes import Shape as Shape
    from stickslip.mechanics.shapes import Sphere as Sphere
else:
    __getattr__, __dir__ = door(__name__)
