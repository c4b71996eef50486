"""Numbers that are none, or beyond all measure, do not keep a run from being drawn."""

from dataclasses import replace

import numpy as np
import pytest
from view.held import held

from stickslip.simulation.world_model import ShapeRecord
from stickslip.view.browser.export import page_of
from stickslip.view.browser.stage import Stage

BAD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e160)
BOX = 1
"""Number of the body of a run of `fall` that is a box."""
HULL = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


def check_drawn(run):
    """All places and sizes that a page holds are numbers; velocities and gaps are shown as they are."""
    found = held(page_of(run, frames=3))["runs"][0]
    for name in ("x", "p", "point", "load"):
        assert np.isfinite(found[name]).all(), name
    for group in found["groups"]:
        for name in ("x", "p", "scale"):
            assert np.isfinite(group[name]).all(), name
        assert (group["scale"] >= 0.0).all()
        assert all(np.isfinite(mesh["v"]).all() for mesh in group["meshes"])
    assert np.isfinite([found["zoom"], found["body"], found["arrow"], *found["centre"], *found["up"]]).all()
    return Stage.of(run)


def check_marked(run, shape):
    """The box with another shape is drawn, but not as what it is."""
    shapes = (*run.model.shapes[:BOX], shape, *run.model.shapes[BOX + 1 :])
    assert check_drawn(replace(run, model=replace(run.model, shapes=shapes))).unknown == (shape.kind,)


@pytest.mark.parametrize("value", BAD)
def test_places_of_shapes_and_gravity_may_be_anything(run, value):
    model = run.model
    for name, row in (("shape_position", BOX), ("shape_quaternion", BOX), ("gravity", 0)):
        array = np.array(getattr(model, name))
        array[row] = value
        stage = check_drawn(replace(run, model=replace(model, **{name: array})))
        assert stage.unknown == (() if name == "gravity" else ("cuboid",))


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("name", ["q", "v", "h"])
def test_states_may_be_anything(run, name, value):
    array = np.array(getattr(run, name))
    array[...] = value
    check_drawn(run.with_columns(**{name: array}))


@pytest.mark.parametrize("value", BAD)
@pytest.mark.parametrize("name", ["point", "frame", "r", "u"])
def test_contacts_may_be_anything(run, name, value):
    array = np.array(getattr(run.contacts, name))
    array[len(array) // 2 :] = value
    check_drawn(run.with_columns(contacts=replace(run.contacts, **{name: array})))


@pytest.mark.parametrize("value", [*BAD, 1e-200, -1.0, 0.0])
@pytest.mark.parametrize(
    "record",
    [
        lambda x: ShapeRecord("sphere", (x,)),
        lambda x: ShapeRecord("capsule", (x, 0.1)),
        lambda x: ShapeRecord("capsule", (0.1, x)),
        lambda x: ShapeRecord("height-field", (x, 1.0), np.zeros((3, 3))),
    ],
)
def test_lengths_may_be_anything(run, record, value):
    check_marked(run, record(value))


@pytest.mark.parametrize("value", BAD)
def test_points_and_heights_may_be_anything(run, value):
    check_marked(run, ShapeRecord("convex-hull", (), np.where(HULL > 0.0, value, HULL)))
    check_marked(run, ShapeRecord("height-field", (1.0, 1.0), np.full((3, 3), value)))


def test_what_is_only_marked_has_a_size_though_nothing_has_a_known_one(run):
    shapes = tuple(ShapeRecord(f"thing {k}") for k in range(len(run.model.shapes)))
    stage = check_drawn(replace(run, model=replace(run.model, shapes=shapes)))
    assert all((group.scale > 0.0).all() for group in stage.instances)
