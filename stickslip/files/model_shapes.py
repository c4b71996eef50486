"""Shapes in model files: within a body, or by name for several bodies; convex hulls also from mesh files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import ValidationInfo

from stickslip.files.meshes import read_mesh
from stickslip.files.model_parts import (
    As,
    Keys,
    Text,
    array,
    choices,
    one_of,
    tagged,
)
from stickslip.files.model_trees import SIMPLE
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.placement import UPRIGHT
from stickslip.names import LISTED, alternatives
from stickslip.state import ModelError

Vector, Quaternion = array(3), array(4)


class HullKeys(Keys):
    """The convex hull of points."""

    kind: Literal["convex-hull"]
    points: Annotated[Any, As(array(None, 3))] = None
    """Points [m], shape (m, 3); or give a mesh."""
    mesh: Text | None = None
    """File with the points, .obj or .stl, in the folder of the model or below."""
    hull: bool = False
    """Whether to use the convex hull of a mesh that is not convex."""


def _hull(keys: HullKeys, info: ValidationInfo) -> ConvexHull:
    if (keys.points is None) == (keys.mesh is None):
        raise ValueError("give its points or a mesh")
    if keys.mesh is None:
        return ConvexHull(keys.points)
    folder, known = (info.context or {}).get("folder"), (info.context or {}).setdefault("meshes", {})
    path = _inside(folder, keys.mesh)
    if (path, keys.hull) not in known:
        known[path, keys.hull] = ConvexHull(read_mesh(path), keys.hull)
    hull: ConvexHull = known[path, keys.hull]
    return hull


def _inside(folder: Path | None, name: str) -> Path:
    """Path of a file in the folder of the model or below, after resolving links."""
    if folder is None:
        raise ValueError("mesh: the model has no folder to search; give the points")
    relative = Path(name)
    if relative.is_absolute() or ".." in relative.parts or "\\" in name or "\0" in name:
        raise ValueError(f"mesh is {name!r}; give a path within the folder of the model, without '..'")
    resolved = (folder / relative).resolve()
    if not resolved.is_relative_to(folder.resolve()):
        raise ValueError(f"mesh is {name!r}, a link out of the folder of the model")
    if not resolved.is_file():
        raise ValueError(f"mesh is {name!r}; the folder of the model has no such file")
    return resolved


_HULL = tagged(HullKeys, _hull, "convex-hull")
_SIMPLE = choices(SIMPLE, {HeightField: {"nodata": None, "fill": None}})


class PartKeys(Keys):
    """A shape of a compound, and its pose."""

    shape: Annotated[Any, As(one_of([*_SIMPLE, _HULL]))]
    position: Annotated[Any, As(Vector)]
    """Position in the frame of the compound [m], shape (3,)."""
    quaternion: Annotated[Any, As(Quaternion)] = UPRIGHT
    """Orientation in the frame of the compound, scalar first [-], shape (4,)."""


class CompoundKeys(Keys):
    """Several shapes as one rigid body."""

    kind: Literal["compound"]
    parts: Annotated[list[PartKeys], Len(1)]


def _compound(keys: CompoundKeys) -> Compound:
    return Compound(*((part.shape, part.position, part.quaternion) for part in keys.parts))


SHAPE_CHOICES = [*_SIMPLE, _HULL, tagged(CompoundKeys, _compound, "compound")]


def named_shape(shapes_: Mapping[str, Any], name: str) -> Any:
    """Return the shape of this name."""
    if name not in shapes_:
        raise ModelError(f"shape is {name!r}; {alternatives(name, shapes_, 'shapes are:', LISTED)}")
    return shapes_[name]
