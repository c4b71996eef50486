"""What is drawn of a world stands where the world says."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.view.browser.stage import LONGEST, STATE_COLOURS, Stage, shown_state


def world():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body(
        "wall", ss.Plane(), position=(-1, 0, 0), quaternion=ss.rotation((0, 1, 0), np.pi / 2), fixed=True
    )
    parts = ss.shapes.Compound((ss.Sphere(0.1), (0.3, 0, 0)), (ss.Cuboid((0.2, 0.1, 0.1)), (-0.1, 0, 0)))
    builder.body("dumbbell", parts, position=(0, 0, 0.11), velocity=(0, 0, -1), mass=1.0)
    builder.body("ball", ss.Sphere(0.1), position=(1, 1, 0.1), velocity=(1, 0, 0), mass=2.0)
    builder.body("box", ss.Cuboid((0.2, 0.3, 0.4)), position=(0, 1, 0.2), mass=4.0)
    return builder.build()


@pytest.fixture(scope="module")
def run():
    return ss.simulate(world(), until=0.05, h=0.01)


@pytest.fixture(scope="module")
def stage(run):
    return Stage.of(run)


def rotated(p, a):
    from stickslip.rotations import matrices

    return matrices(p) @ a


def test_every_shape_is_drawn_once(stage):
    counts = {}
    for group in stage.instances:
        kind = group.name.rpartition("-")[0]
        counts.setdefault(kind, []).append(len(group))
    # Planes have two shades; wall and floor are cut differently.
    assert counts == {"plane": [1, 1, 1, 1], "sphere": [2], "cuboid": [2]}
    assert len({group.name for group in stage.instances}) == len(stage.instances)
    assert stage.unknown == ()


def test_instances_stand_where_bodies_are(run, stage):
    for k in (0, 2, len(run) - 1):
        frame = stage.frame(k)
        for group in stage.instances:
            positions, turns = group.placed(frame.bodies, frame.turns)
            for i, body in enumerate(group.body):
                if group.ground:
                    continue
                name = run.model.names[body]
                found = run.body(name)
                if name == "dumbbell":
                    offset = [0.3, 0, 0] if group.name.startswith("sphere") else [-0.1, 0, 0]
                else:
                    offset = [0.0, 0, 0]
                expected = found.position[k] + rotated(found.quaternion[k], np.array(offset))
                np.testing.assert_allclose(positions[i], expected, atol=1e-12)
                np.testing.assert_allclose(abs(turns[i] @ found.quaternion[k]), 1.0)


def test_velocities_are_inertial(run, stage):
    frame = stage.frame(-1)
    for body, name in enumerate(run.model.names):
        found = run.body(name)
        np.testing.assert_allclose(frame.velocity[body, :3], found.centre_velocity[-1], atol=1e-12)
        np.testing.assert_allclose(frame.velocity[body, 3:], found.spin[-1], atol=1e-12)
        np.testing.assert_allclose(frame.bodies[body], found.centre[-1], atol=1e-12)


def test_scales_are_the_sizes(stage):
    cuboids = next(group for group in stage.instances if group.name.startswith("cuboid"))
    assert sorted(cuboids.scale.tolist()) == [[0.2, 0.1, 0.1], [0.2, 0.3, 0.4]]


def test_planes_lie_in_their_planes_and_end_at_each_other(stage):
    frame = stage.frame(0)
    for group in stage.instances:
        if not group.ground:
            continue
        positions, turns = group.placed(frame.bodies, frame.turns)
        corners = group.mesh.vertices * group.scale[0]
        places = np.array([positions[0] + rotated(turns[0], corner) for corner in corners])
        if stage.model.names[group.body[0]] == "floor":
            np.testing.assert_allclose(places[:, 2], 0.0, atol=1e-12)
            assert places[:, 0].min() == pytest.approx(-1.0)
        else:
            np.testing.assert_allclose(places[:, 0], -1.0, atol=1e-12)
            assert places[:, 2].min() == pytest.approx(0.0, abs=1e-12)


def test_arrows_are_forces_on_the_body_that_moves(run, stage):
    frame = stage.frame(-1)
    record = run.at(len(run) - 1)
    assert len(frame.points) == len(record.contacts) > 0
    np.testing.assert_array_equal(frame.points, record.contacts.point)
    steps = frame.arrows[:, 1] - frame.arrows[:, 0]
    assert (steps[:, 2] > 0.0).all()  # the floor lifts
    sizes = np.linalg.norm(record.contacts.force(np.array([record.h]))[0], axis=1)
    limit = LONGEST * stage.arrow
    np.testing.assert_allclose(
        np.linalg.norm(steps, axis=1), np.minimum(stage.force_scale * sizes, limit), rtol=1e-12
    )
    box = 4
    signs = (frame.pairs[:, 0] == box) * 1.0 - (frame.pairs[:, 1] == box)
    np.testing.assert_allclose(signs @ frame.forces, [0.0, 0.0, 9.81 * 4.0], atol=1e-5)


def test_a_blow_has_an_arrow_of_bounded_length(run, stage):
    record = run.at(len(run) - 1)
    contacts = replace(record.contacts, r=1e6 * record.contacts.r)
    blow = replace(record, tell={"contacts": contacts, "states": record.states}.__getitem__)
    arrows = stage.frame_of(blow).arrows
    lengths = np.linalg.norm(arrows[:, 1] - arrows[:, 0], axis=1)
    np.testing.assert_allclose(lengths, LONGEST * stage.arrow)


def test_colours_are_those_of_the_states(run, stage):
    frame, record = stage.frame(-1), run.at(len(run) - 1)
    assert "slipping" in frame.states  # the ball began without spin
    for state, colour, name in zip(frame.states, frame.colours, record.states, strict=True):
        assert state == shown_state(name)
        assert tuple(colour.tolist()) == STATE_COLOURS[state]
    assert sum(frame.readout.counts.values()) == frame.readout.contacts == len(frame.points)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("separating", "separating"),
        ("sticking", "sticking"),
        ("slipping", "slipping"),
        ("sliding", "slipping"),
        ("rolling", "rolling"),
        ("spinning", "rolling"),
        ("rolling and spinning", "rolling"),
        ("sliding and rolling", "slipping"),
        ("sliding and rolling and spinning", "slipping"),
    ],
)
def test_every_state_is_one_of_four(name, shown):
    assert shown_state(name) == shown


def test_the_readout_is_the_record(run, stage):
    readout = stage.frame(2).readout
    assert (readout.t, readout.penetration) == (run.t[2], run.penetration[2])
    assert (readout.residual, readout.tolerance, readout.verdict) == (
        run.natural_scaled[2],
        run.tolerance,
        "certified",
    )
    assert readout.lost == 0


def test_a_world_alone_is_one_frame_without_contacts():
    placed = world()
    stage = Stage.of(placed)
    assert len(stage) == 1
    frame = stage.frame(0)
    assert len(frame.points) == len(frame.arrows) == frame.readout.contacts == 0
    cuboid = next(group for group in stage.instances if group.name.startswith("cuboid"))
    np.testing.assert_allclose(
        cuboid.placed(frame.bodies, frame.turns)[0][1], placed.pose(placed.start, "box")[0]
    )
    with pytest.raises(IndexError, match="frame 1 of 1"):
        stage.frame(1)


def test_a_model_alone_shows_records_of_others(run):
    stage = Stage.of(run.model)
    assert len(stage) == 0
    np.testing.assert_array_equal(stage.frame_of(run.at(1)).bodies, run.q[1].reshape(-1, 7)[:, :3])


def test_the_scene_is_as_large_as_what_moves(stage):
    assert 1.0 < stage.size < 4.0
    assert np.linalg.norm(stage.centre - [0.5, 0.5, 0.2]) < 0.4
    np.testing.assert_array_equal(stage.up, [0.0, 0.0, 1.0])


def test_huge_ground_does_not_make_the_scene_small():
    builder = ss.WorldBuilder(gravity=(0, -9.81, 0))
    builder.body("ground", ss.Cuboid((1000, 1, 1000)), position=(0, -0.5, 0), fixed=True)
    builder.body("ball", ss.Sphere(0.5), position=(0, 0.5, 0))
    stage = Stage.of(builder.build())
    assert stage.size < 10.0
    np.testing.assert_array_equal(stage.up, [0.0, 1.0, 0.0])


def test_bodies_that_are_nowhere_are_counted_and_drawn_in_the_middle(run, stage):
    record = run.at(1)
    q = np.array(record.q).reshape(-1, 7)
    q[2, 0], q[3, :3], q[4, 3:] = np.nan, 1e30, 0.0
    frame = stage.frame_of(replace(record, poses=q.reshape(-1)))
    assert frame.readout.lost == 3
    np.testing.assert_array_equal(frame.bodies[2:], np.tile(stage.centre, (3, 1)))
    for group in stage.instances:
        assert all(np.isfinite(each).all() for each in group.placed(frame.bodies, frame.turns))


def test_shapes_of_unknown_looks_are_marked_and_named(run):
    model: WorldModel = run.model
    shapes = (*model.shapes[:-1], ShapeRecord("<b>torus</b>"))
    stage = Stage.of(replace(run, model=replace(model, shapes=shapes)))
    assert stage.unknown == ("<b>torus</b>",)
    marked = stage.instances[-1]
    assert marked.name.replace("-", "").isalnum()
    assert marked.body.tolist() == [4]
    assert marked.mesh.volume > 0.0


def test_an_empty_world_has_a_stage():
    stage = Stage.of(ss.WorldBuilder().build())
    assert stage.instances == ()
    assert stage.size == 1.0
    assert stage.frame(0).readout.contacts == 0


def test_what_has_no_bodies_is_refused():
    with pytest.raises(TypeError, match="a dict has no bodies to draw"):
        Stage.of({})
