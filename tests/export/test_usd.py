"""USD files, read back by USD: bodies where the run has them, shapes of their size."""

import numpy as np
import pytest

pytest.importorskip("pxr", reason="the extra stickslip[usd] is not installed")

from pxr import Usd, UsdGeom

import stickslip as ss
from stickslip.export import write


@pytest.fixture(scope="module")
def stage(world, tmp_path_factory):
    (path,) = write(world, tmp_path_factory.mktemp("usd") / "run.usdc")
    return Usd.Stage.Open(str(path))


def prims(stage):
    return {prim.GetDisplayName(): prim for prim in stage.GetPrimAtPath("/World").GetChildren()}


def test_bodies_move_as_in_the_run(world, stage):
    assert stage.GetTimeCodesPerSecond() == 200.0  # a code per record
    assert (stage.GetStartTimeCode(), stage.GetEndTimeCode()) == (0.0, 40.0)
    assert UsdGeom.GetStageUpAxis(stage) == "Z"
    assert UsdGeom.GetStageMetersPerUnit(stage) == 1.0
    found = prims(stage)
    assert list(found) == list(world.model.names)
    for name, prim in found.items():
        view = world.body(name)
        for k in (0, 7, 40):
            place = UsdGeom.Xformable(prim).ComputeLocalToWorldTransform(float(k))
            np.testing.assert_allclose(place.ExtractTranslation(), view.position[k], atol=1e-12)
            turn = place.ExtractRotationQuat()
            both = np.array([turn.GetReal(), *turn.GetImaginary()])
            assert abs(both @ view.quaternion[k]) == pytest.approx(1.0, abs=1e-12)
    still = UsdGeom.Xformable(found["floor"])
    assert not still.TransformMightBeTimeVarying()


def test_shapes_are_prims_of_their_size(world, stage):
    found = prims(stage)
    (ball,) = found["ball"].GetChildren()
    assert UsdGeom.Sphere(ball).GetRadiusAttr().Get() == 0.1
    box = UsdGeom.BBoxCache(0.0, [UsdGeom.Tokens.default_])
    size = box.ComputeWorldBound(found[world.model.names[2]]).ComputeAlignedRange().GetSize()
    np.testing.assert_allclose(size, [0.2, 0.3, 0.4], atol=1e-6)
    # The parts of a compound stand where the user put them, at the first instant not turned.
    bounds = box.ComputeWorldBound(found["angle"]).ComputeAlignedRange()
    np.testing.assert_allclose(bounds.GetMin(), [-1.05, -0.05, 0.15], atol=1e-6)
    np.testing.assert_allclose(bounds.GetMax(), [-0.6, 0.05, 0.6], atol=1e-6)
    assert {prim.GetTypeName() for prim in found["floor"].GetChildren()} == {"Mesh"}


def test_the_same_run_is_the_same_text(world, tmp_path):
    texts = [write(world, tmp_path / "run.usda", every=10)[0].read_bytes() for _ in range(2)]
    assert texts[0] == texts[1]
    assert texts[0].startswith(b"#usda")
    assert [path.name for path in tmp_path.iterdir()] == ["run.usda"]


def test_every_shape_has_a_prim(tmp_path):
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
    shapes = {
        "Sphere": (ss.shapes.Ellipsoid((0.1, 0.2, 0.3)), (0.2, 0.4, 0.6)),
        "Capsule": (ss.Capsule(0.1, 0.4), (0.2, 0.2, 0.6)),
        "Cube": (ss.Cuboid((0.1, 0.2, 0.3)), (0.1, 0.2, 0.3)),
        "Cylinder": (ss.Cylinder(0.1, 0.4), (0.2, 0.2, 0.4)),
        "Mesh": (ss.ConvexHull(corners), (1.0, 1.0, 1.0)),
    }
    builder = ss.WorldBuilder()
    for k, (name, (shape, _)) in enumerate(shapes.items()):
        builder.body(name, shape, position=(2.0 * k, 0.0, 0.0), density=1.0)
    run = ss.simulate(builder.build(), until=0.01, h=0.01)
    stage = Usd.Stage.Open(str(write(run, tmp_path / "run.usd")[0]))
    box = UsdGeom.BBoxCache(0.0, [UsdGeom.Tokens.default_])
    for name, prim in prims(stage).items():
        (shape,) = prim.GetChildren()
        assert shape.GetTypeName() == name
        size = box.ComputeWorldBound(prim).ComputeAlignedRange().GetSize()
        np.testing.assert_allclose(size, shapes[name][1], atol=1e-6)


def test_places_that_are_no_numbers_are_left_out(tmp_path):
    builder = ss.WorldBuilder()
    builder.body("ball", ss.Sphere(0.1), density=1.0)
    run = ss.simulate(builder.build(), until=0.02, h=0.01)
    run.q.flags.writeable = True
    run.q[1, 0] = np.nan
    stage = Usd.Stage.Open(str(write(run, tmp_path / "run.usda")[0]))
    assert UsdGeom.Xformable(prims(stage)["ball"]).GetTimeSamples() == [0.0, 2.0]
