"""VTKHDF files: the layout of the format, and shapes where the bodies are; read by VTK where it is there."""

import h5py
import numpy as np
import pytest

from stickslip.export import records, write
from stickslip.export.scene import STATES


@pytest.fixture(scope="module")
def files(world, tmp_path_factory):
    return write(world, tmp_path_factory.mktemp("vtk") / "run.vtkhdf")


@pytest.fixture
def bodies(files):
    with h5py.File(files[0]) as file:
        yield file


@pytest.fixture
def contacts(files):
    with h5py.File(files[1]) as file:
        yield file


def test_there_are_two_files_with_names_beside(world, files, bodies):
    assert [path.name for path in files] == ["run.vtkhdf", "run-contacts.vtkhdf"]
    assert [name.decode() for name in bodies["stickslip/bodies"][:]] == list(world.model.names)
    assert tuple(name.decode() for name in bodies["stickslip/states"][:]) == STATES


@pytest.mark.parametrize("which", ["bodies", "contacts"])
def test_the_layout_is_that_of_temporal_polydata(which, world, request):
    root = request.getfixturevalue(which)["VTKHDF"]
    n, steps = len(world), root["Steps"]
    assert root.attrs["Type"] == b"PolyData"
    assert root.attrs["Version"].tolist() == [2, 0]
    assert steps.attrs["NSteps"] == n
    np.testing.assert_array_equal(steps["Values"], world.t)
    assert (steps["NumberOfParts"][:] == 1).all()
    kind = {"bodies": "Polygons", "contacts": "Vertices"}[which]
    column = ("Vertices", "Lines", "Polygons", "Strips").index(kind)
    cells = steps["CellOffsets"][:, column]
    assert not np.delete(steps["CellOffsets"][:], column, axis=1).any()
    points = root["NumberOfPoints"][:][steps["PartOffsets"][:]]
    assert (steps["PointOffsets"][:] + points <= len(root["Points"])).all()
    of_cells = root[f"{kind}/NumberOfCells"][:][steps["PartOffsets"][:]]
    for place, total in (("PointData", points), ("CellData", of_cells)):
        for name, data in root.get(place, {}).items():
            assert (steps[f"{place}Offsets/{name}"][:] + total <= len(data)).all()
    parts = len(root["NumberOfPoints"])
    for each in ("Vertices", "Lines", "Polygons", "Strips"):
        assert len(root[f"{each}/Offsets"]) == root[f"{each}/NumberOfCells"][:].sum() + parts
        assert len(root[f"{each}/Connectivity"]) == root[f"{each}/NumberOfConnectivityIds"][:].sum()
    assert cells.shape == (n,)


def test_shapes_are_where_the_bodies_are(world, bodies):
    root = bodies["VTKHDF"]
    count = int(root["NumberOfPoints"][0])
    triangles = root["Polygons/Connectivity"][:].reshape(-1, 3)
    owner, nt = root["CellData/body"][:], len(triangles)
    volumes = {1: None, 2: 0.2 * 0.3 * 0.4, 3: 2 * 0.4 * 0.1 * 0.1}
    for k in (0, 17, len(world) - 1):
        points = root["Points"][k * count : (k + 1) * count].astype(float)
        for body, volume in volumes.items():
            mine = triangles[owner == body]
            if volume is None:
                distance = np.linalg.norm(points[mine] - world.body("ball").position[k], axis=-1)
                np.testing.assert_allclose(distance, 0.1, atol=1e-6)
            else:
                assert np.linalg.det(points[mine]).sum() / 6.0 == pytest.approx(volume, rel=1e-4)
                # The first moment of volume is at the centre of mass.
                thirds = points[mine].sum(axis=1) / 4.0
                weights = np.linalg.det(points[mine]) / 6.0
                centre = weights @ thirds / weights.sum()
                name = world.model.names[body]
                np.testing.assert_allclose(centre, world.body(name).centre[k], atol=1e-5)
        velocity = root["CellData/velocity"][k * nt : (k + 1) * nt]
        expected = world.body("angle").velocity[k].astype(np.float32)
        assert (velocity[owner == 3] == expected).all()


def test_contacts_are_those_of_the_run(world, contacts):
    root = contacts["VTKHDF"]
    np.testing.assert_array_equal(root["NumberOfPoints"][:], np.diff(world.contacts.offset))
    np.testing.assert_array_equal(root["Steps/PointOffsets"][:], world.contacts.offset[:-1])
    np.testing.assert_array_equal(root["PointData/force"][:], world.contacts.force(world.h)[0])
    np.testing.assert_array_equal(root["PointData/gap"][:], world.contacts.gap)
    np.testing.assert_array_equal(root["PointData/body"][:], world.contacts.body)
    named = np.array(STATES, object)[root["PointData/state"][:]]
    slips = world.contact_states == "slipping"
    assert slips.any()
    assert ((named == "slipping") == slips).all()


def test_the_size_of_blocks_changes_no_byte_of_data(world, files, tmp_path, monkeypatch):
    assert [path.read_bytes() for path in write(world, tmp_path / "run.vtkhdf")] == [
        path.read_bytes() for path in files
    ]
    monkeypatch.setattr(records, "BLOCK", 1e5)
    for ours, theirs in zip(write(world, tmp_path / "run.vtkhdf"), files, strict=True):
        with h5py.File(ours) as one, h5py.File(theirs) as other:
            places = []
            other.visititems(lambda name, item: places.append(name) if hasattr(item, "shape") else None)  # noqa: B023
            for place in places:
                assert np.array_equal(one[place][()], other[place][()]), place


def test_vtk_reads_them(world, files):
    """Through the reader of ParaView."""
    pytest.importorskip("vtk", reason="VTK is not installed")
    from vtkmodules.util.numpy_support import vtk_to_numpy
    from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
    from vtkmodules.vtkIOHDF import vtkHDFReader

    for path in files:
        reader = vtkHDFReader()
        reader.SetFileName(str(path))
        reader.UpdateInformation()
        times = reader.GetOutputInformation(0).Get(vtkStreamingDemandDrivenPipeline.TIME_STEPS())
        np.testing.assert_array_equal(times, world.t)
        with h5py.File(path) as file:
            root = file["VTKHDF"]
            for k in (0, 23, len(world) - 1):
                reader.UpdateTimeStep(times[k])
                found, part = reader.GetOutputDataObject(0), root["Steps/PartOffsets"][k]
                count, start = root["NumberOfPoints"][part], root["Steps/PointOffsets"][k]
                assert found.GetNumberOfPoints() == count
                assert found.GetNumberOfCells() == sum(
                    root[f"{kind}/NumberOfCells"][part] for kind in ("Vertices", "Polygons")
                )
                if count:
                    points = vtk_to_numpy(found.GetPoints().GetData())
                    np.testing.assert_array_equal(points, root["Points"][start : start + count])
