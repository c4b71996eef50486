"""Export runs of bodies as USD animations with Pixar's usd-core: shapes as prims, sampled transforms."""

from pathlib import Path
from typing import Any

import numpy as np

from stickslip.export.records import Report, Run, blocks, motion
from stickslip.export.scene import instances
from stickslip.extras import needed
from stickslip.mechanics.world import BodyKind
from stickslip.rotations import units
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.state import Array, IntArray, ModelError
from stickslip.view.browser.instances import Instances, colour_of
from stickslip.view.browser.meshes import Mesh, marker, shape_mesh, shape_scale

TREE = "/World"
"""Path of the parent prim of all bodies."""


def write_usd(path: Path, run: Run, numbers: IntArray, report: Report | None = None) -> None:
    """Write a stage in metres, z upwards, with a time code per record if these are evenly spaced.

    USD writes a layer at once, so the transforms of all exported records are held in memory.
    """
    for module in ("Gf", "Sdf", "Usd", "UsdGeom", "Tf", "Vt"):
        needed(f"pxr.{module}", "a USD file")
    from pxr import Sdf, Tf, Usd, UsdGeom

    stage = Usd.Stage.CreateInMemory(path.name)
    UsdGeom.SetStageUpAxis(stage, UsdGeom.Tokens.z)
    UsdGeom.SetStageMetersPerUnit(stage, 1.0)
    times = run.t[numbers]
    rate = _rate(times)
    stage.SetTimeCodesPerSecond(rate)
    stage.SetFramesPerSecond(rate)
    stage.SetStartTimeCode(_code(times[0], rate))
    stage.SetEndTimeCode(_code(times[-1], rate))
    stage.SetDefaultPrim(UsdGeom.Xform.Define(stage, TREE).GetPrim())
    model, _, groups = instances(run)
    ways = [_body(stage, model, k) for k in range(len(model))]
    for k, shape in enumerate(model.shapes):
        if shape.kind != "plane":
            _shape(stage, model, k, shape)
    for group in groups:
        if group.ground:
            _sheets(stage, model, group)
    for block in blocks(run, numbers, 0.0, report):
        moved = motion(block)
        codes = [_code(t, rate) for t in block.t]
        with Sdf.ChangeBlock():
            for k, way in enumerate(ways):
                rests = model.kind[k] == BodyKind.FIXED
                if rests and block.numbers[0] != numbers[0]:
                    continue
                some = slice(0, 1) if rests else slice(None)
                _move(way, moved.position[some, k], moved.quaternion[some, k], None if rests else codes)
    try:
        stage.GetRootLayer().Export(str(path))
    except Tf.ErrorException as error:
        raise OSError(f"USD could not write it: {error}") from None


def _rate(times: Array) -> float:
    """Time codes per second [1/s]: one per record if these are evenly spaced."""
    steps = np.diff(times)
    steps = steps[steps > 0.0]
    return float(f"{1.0 / np.median(steps):.9g}") if steps.size else 24.0


def _code(t: float, rate: float) -> float:
    """Time code of a time; integers up to rounding become integers."""
    code = float(t) * rate
    return float(round(code)) if abs(code - round(code)) < 1e-6 else code


def _body(stage: Any, model: WorldModel, k: int) -> tuple[Any, Any]:
    """Make the prim of a body; return its operations of translation and rotation."""
    from pxr import UsdGeom

    prim = UsdGeom.Xform.Define(stage, _place(model, k))
    prim.GetPrim().SetDisplayName(model.names[k])
    double = UsdGeom.XformOp.PrecisionDouble
    return prim.AddTranslateOp(double), prim.AddOrientOp(double)


def _place(model: WorldModel, k: int) -> str:
    """Path of the prim of a body: its name without invalid characters, and its number."""
    from pxr import Tf

    return f"{TREE}/{Tf.MakeValidIdentifier(model.names[k])}_{k}"


def _move(way: tuple[Any, Any], x: Array, p: Array, codes: list[float] | None) -> None:
    """Set poses of a body, shapes (k, 3) and (k, 4), at time codes; non-finite poses are omitted."""
    from pxr import Gf, Usd

    turns, good = units(p)
    good &= np.isfinite(x).all(axis=1)
    for i in np.flatnonzero(good).tolist():
        code = Usd.TimeCode.Default() if codes is None else codes[i]
        way[0].Set(Gf.Vec3d(*x[i].tolist()), code)
        way[1].Set(Gf.Quatd(*turns[i].tolist()), code)


def _shape(stage: Any, model: WorldModel, k: int, shape: ShapeRecord) -> None:
    """Make the prim of a shape: spheres, cuboids, capsules and cylinders as such, others as meshes."""
    from pxr import UsdGeom

    body, scale = int(model.shape_body[k]), shape_scale(shape)
    place, numbers, factors = f"{_place(model, body)}/shape_{k}", shape.numbers, None
    if scale is not None and shape.kind in ("sphere", "ellipsoid"):
        prim = UsdGeom.Sphere.Define(stage, place)
        prim.CreateRadiusAttr(numbers[0] if shape.kind == "sphere" else 1.0)
        factors = scale if shape.kind == "ellipsoid" else None
    elif scale is not None and shape.kind == "cuboid":
        prim, factors = UsdGeom.Cube.Define(stage, place), scale
        prim.CreateSizeAttr(1.0)
    elif scale is not None and shape.kind in ("capsule", "cylinder"):
        kind = UsdGeom.Capsule if shape.kind == "capsule" else UsdGeom.Cylinder
        prim = kind.Define(stage, place)
        prim.CreateRadiusAttr(numbers[0])
        prim.CreateHeightAttr(numbers[1])
        prim.CreateAxisAttr(UsdGeom.Tokens.z)
    else:
        try:
            mesh, factors = shape_mesh(shape), scale
        except ModelError:
            mesh, factors = marker(), np.full(3, 0.1)
        prim = _mesh(stage, place, mesh)
    _put(prim, model, body, model.shape_position[k], model.shape_quaternion[k], factors)
    _paint(prim, colour_of(model, body))


def _sheets(stage: Any, model: WorldModel, group: Instances) -> None:
    """Make the squares of planes."""
    for k, body in enumerate(group.body.tolist()):
        prim = _mesh(stage, f"{_place(model, body)}/{group.name.replace('-', '_')}_{k}", group.mesh)
        _put(prim, model, body, group.position[k], group.quaternion[k], group.scale[k])
        _paint(prim, group.colour[k].tolist())


def _mesh(stage: Any, place: str, mesh: Mesh) -> Any:
    from pxr import UsdGeom, Vt

    prim = UsdGeom.Mesh.Define(stage, place)
    prim.CreatePointsAttr(Vt.Vec3fArray.FromNumpy(mesh.vertices.astype(np.float32)))
    prim.CreateFaceVertexIndicesAttr(Vt.IntArray.FromNumpy(mesh.triangles.reshape(-1).astype(np.int32)))
    prim.CreateFaceVertexCountsAttr(Vt.IntArray([3] * len(mesh.triangles)))
    prim.CreateSubdivisionSchemeAttr(UsdGeom.Tokens.none)
    return prim


def _put(prim: Any, model: WorldModel, body: int, x: Array, p: Array, scale: Array | None) -> None:
    """Set pose and scale of a shape, in the frame in which the user defined it."""
    from pxr import Gf, UsdGeom

    double = UsdGeom.XformOp.PrecisionDouble
    prim.AddTranslateOp(double).Set(Gf.Vec3d(*(x - model.origin[body]).tolist()))
    prim.AddOrientOp(double).Set(Gf.Quatd(*p.tolist()))
    if scale is not None:
        prim.AddScaleOp(double).Set(Gf.Vec3d(*scale.tolist()))


def _paint(prim: Any, colour: Any) -> None:
    from pxr import Gf, Vt

    prim.CreateDisplayColorAttr(Vt.Vec3fArray([Gf.Vec3f(*(c / 255.0 for c in colour))]))
