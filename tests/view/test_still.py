"""Still pictures: the same bytes, what is in front hides what is behind, every shape, and plain refusals."""

from dataclasses import replace
from types import SimpleNamespace

import matplotlib.image
import numpy as np
import pytest
from world_runs import Drop, balls

import stickslip as ss
from stickslip.simulation.world_model import ShapeRecord
from stickslip.view.browser.stage import STATE_COLOURS, Stage
from stickslip.view.casting import NOTHING, Camera, Convex, Solid, cast
from stickslip.view.colours import FREE, Colouring
from stickslip.view.solids import parts_of
from stickslip.view.still import draw_world

SMALL = {"size": (1.0, 1.0)}
AHEAD = np.eye(3)[[0, 2, 1]] * [[1.0], [1.0], [-1.0]]
"""Axes of a camera that looks along y: right is x, up is z, towards the viewer is -y."""


def pixels(path):
    """Red, green and blue, rows from above."""
    return np.round(255.0 * matplotlib.image.imread(path)[:, :, :3]).astype(int)


def looking(half=1.0, count=64, axes=AHEAD):
    return Camera(np.zeros(3), axes, (-half, -half), 2.0 * half / count, (count, count))


def solid(form, position=(0.0, 0.0, 0.0), turn=None, triangles=None):
    return Solid(form, np.array(position), np.eye(3) if turn is None else turn, triangles)


def turned(seed=3):
    """Some rotation matrix."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.sign(np.linalg.det(q))


def two_boxes(colour_first):
    """A box that is seen before another; which of them is placed first decides its colour, not what hides."""
    builder = ss.WorldBuilder()
    places = {"near": (0, -2, 0), "far": (0, 2, 0)}
    for name in ("near", "far") if colour_first else ("far", "near"):
        builder.body(name, ss.Cuboid((1, 1, 1)), position=places[name])
    return builder.build()


@pytest.fixture(scope="module")
def fall():
    return ss.simulate(balls(), until=0.4, h=1e-2, scheme=Drop())


@pytest.mark.parametrize("ending", ["png", "svg", "pdf"])
def test_the_same_run_gives_the_same_bytes(fall, tmp_path, ending):
    paths = [tmp_path / f"{k}.{ending}" for k in (1, 2)]
    for path in paths:
        draw_world(fall, path, contacts=True, forces=True, **SMALL)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size > 1000


def test_another_time_is_another_picture(fall, tmp_path):
    draw_world(fall, tmp_path / "start.png", at=0.0, **SMALL)
    draw_world(fall, tmp_path / "end.png", **SMALL)
    draw_world(fall, tmp_path / "marked.png", contacts=True, **SMALL)
    start, end, marked = (pixels(tmp_path / f"{name}.png") for name in ("start", "end", "marked"))
    assert start.shape == end.shape == (200, 200, 3)
    assert (start != end).any()
    assert (end != marked).any()


def test_what_is_in_front_hides_what_is_behind(tmp_path):
    seen = []
    for first in (True, False):
        path = tmp_path / f"{first}.png"
        draw_world(two_boxes(first), path, azimuth=-90.0, elevation=0.0, **SMALL)
        seen.append(pixels(path)[100, 100])
    # Bodies have colours by their number: the box that is seen is number 0 here and number 1 there.
    assert np.abs(seen[0] - seen[1]).max() > 15


def test_numbers_of_solids_do_not_decide_who_is_seen():
    near, far = (
        solid(Convex.ball(np.full(3, 0.5)), (0, -2, 0)),
        solid(Convex.cuboid(np.full(3, 1.4)), (0, 2, 0)),
    )
    for solids, first in (((near, far), 0), ((far, near), 1)):
        hits = cast(solids, looking())
        assert hits.solid[32, 32] == first
        assert hits.solid[32 + 20, 32 + 20] == 1 - first
        assert hits.solid[0, 0] == NOTHING


def test_a_ball_is_met_where_it_is():
    camera = looking()
    hits = cast([solid(Convex.ball(np.full(3, 0.7)), (0.1, 0.0, 0.2))], camera)
    up, right = camera.rows_and_columns()
    inside = 0.49 - (right[None] - 0.1) ** 2 - (up[:, None] - 0.2) ** 2
    assert ((hits.solid == 0) == (inside > 0.0)).all()
    np.testing.assert_allclose(hits.depth[inside > 0.0], np.sqrt(inside[inside > 0.0]))
    row, column = np.nonzero(inside > 0.0)
    out = np.stack([right[column] - 0.1, up[row] - 0.2, hits.depth[row, column]], axis=1) / 0.7
    np.testing.assert_allclose(hits.normal[row, column], out, atol=1e-6)


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (Convex.ball(np.array([0.6, 0.3, 0.4])), lambda y: (y / [0.6, 0.3, 0.4]) ** 2 @ np.ones(3) - 1.0),
        (
            Convex.cuboid(np.array([0.6, 0.9, 0.4])),
            lambda y: (np.abs(y) / [0.3, 0.45, 0.2]).max(axis=1) - 1,
        ),
        (
            Convex.cylinder(0.3, 0.5),
            lambda y: np.maximum(np.hypot(y[:, 0], y[:, 1]) / 0.3, np.abs(y[:, 2]) / 0.5) - 1,
        ),
        (
            ss.Capsule(0.3, 1.0),
            lambda y: np.linalg.norm(y - np.clip(y, [0, 0, -0.5], [0, 0, 0.5]), axis=1) / 0.3 - 1.0,
        ),
    ],
)
@pytest.mark.parametrize("turn", [np.eye(3), AHEAD, turned()])
def test_rays_end_on_the_surface_first_and_nowhere_inside(form, value, turn):
    camera = looking(half=1.2)
    place = np.array([0.1, 0.3, -0.05])
    parts = [solid(form)]
    if isinstance(form, ss.Capsule):  # a cylinder and two balls
        parts = parts_of(ShapeRecord("capsule", (form.radius, form.length)), 1.0)
    hits = cast([solid(part.form, place + turn @ part.position, turn) for part in parts], camera)
    up, right = camera.rows_and_columns()
    row, column = np.nonzero(hits.solid != NOTHING)
    assert row.size > 100
    at = np.stack([right[column], up[row], hits.depth[row, column]], axis=1)

    def own(points):
        return (points @ camera.axes - place) @ turn

    np.testing.assert_allclose(value(own(at)), 0.0, atol=1e-9)
    normal = hits.normal[row, column].astype(float)
    assert (normal[:, 2] >= -1e-6).all()
    assert (value(own(at + 1e-4 * normal)) > 0.0).all()
    assert (value(own(at - 1e-4 * normal)) < 0.0).all()
    missed = np.nonzero(hits.solid == NOTHING)
    for depth in np.linspace(-1.5, 1.5, 61):
        beside = np.stack([right[missed[1]], up[missed[0]], np.full(missed[0].size, depth)], axis=1)
        assert (value(own(beside)) > -1e-9).all()


def test_triangles_and_planes_are_met_like_the_solid_they_bound():
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.4, 0.4) for z in (-0.3, 0.3)])
    hull = ss.ConvexHull(corners)
    turn = turned(5)
    camera = looking()
    box, faces, skin = (
        cast([one], camera)
        for one in (
            solid(Convex.cuboid(np.array([1.0, 0.8, 0.6])), turn=turn),
            solid(Convex.hull(hull.vertices, hull.triangles), turn=turn),
            solid(None, turn=turn, triangles=hull.vertices[hull.triangles]),
        )
    )
    for other in (faces, skin):
        assert (box.solid != other.solid).sum() <= 2
        both = (box.solid == 0) & (other.solid == 0)
        np.testing.assert_allclose(box.depth[both], other.depth[both], atol=1e-12)
        assert np.median(np.abs(box.normal[both] - other.normal[both])) < 1e-6


def test_a_plane_is_seen_from_above_only():
    assert (cast([solid(Convex.below())], looking(axes=np.eye(3))).solid == 0).all()
    assert (cast([solid(Convex.below())], looking(axes=np.diag([1.0, -1.0, -1.0]))).solid == NOTHING).all()


def test_every_shape_is_drawn(tmp_path):
    heights = np.add.outer(np.zeros(5), 0.2 * np.arange(6.0))
    shapes = {
        "ball": ss.Sphere(0.4), "box": ss.Cuboid((0.8, 0.6, 0.7)), "pill": ss.Capsule(0.2, 0.5),
        "can": ss.Cylinder(0.3, 0.6), "egg": ss.shapes.Ellipsoid((0.4, 0.3, 0.2)),
        "rock": ss.ConvexHull(np.random.default_rng(0).normal(size=(12, 3)) * 0.3),
        "both": ss.shapes.Compound((ss.Sphere(0.2), (0, 0, 0)), (ss.Cuboid((0.6, 0.2, 0.2)), (0.3, 0, 0))),
    }  # fmt: skip
    empty = ss.WorldBuilder()
    empty.body("floor", ss.Plane(), fixed=True)
    draw_world(empty.build(), tmp_path / "nothing.png", **SMALL)
    for name, shape in shapes.items():
        builder = ss.WorldBuilder()
        builder.body(name, shape)
        path = tmp_path / f"{name}.png"
        draw_world(builder.build(), path, **SMALL)
        assert (pixels(path) < 240).any(axis=2).mean() > 0.15, name
    ground = ss.WorldBuilder()
    ground.body("ground", ss.HeightField(heights, (2.0, 3.0)), fixed=True)
    draw_world(ground.build(), tmp_path / "ground.png", **SMALL)
    assert (pixels(tmp_path / "ground.png") < 240).any(axis=2).mean() > 0.15


def test_bodies_that_are_lost_and_shapes_that_nobody_knows_are_drawn_all_the_same(fall, tmp_path):
    q = fall.q.copy()
    q[-1, 7:14] = np.nan
    q[-1, 14] = 1e300
    strange = replace(fall.model.shapes[1], kind="<torus>")
    model = replace(fall.model, shapes=(fall.model.shapes[0], strange, fall.model.shapes[2]))
    draw_world(
        replace(fall, model=model).with_columns(q=q),
        tmp_path / "lost.png",
        contacts=True,
        forces=True,
        **SMALL,
    )
    assert (tmp_path / "lost.png").exists()


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"at": 2.0}, r"at is 2.0 s; there are records from 0 to 0.4 s"),
        ({"at": float("nan")}, "at is nan"),
        ({"size": (0.1, 4.0)}, r"size is \(0.1, 4.0\); width and height are 1 to 10 in"),
        ({"elevation": 100.0}, "elevation must lie in"),
    ],
)
def test_what_cannot_be_drawn_is_said(fall, tmp_path, how, words):
    with pytest.raises(ValueError, match=words):
        draw_world(fall, tmp_path / "no.png", **how)


def test_other_things_and_other_files_are_refused(fall, tmp_path):
    with pytest.raises(TypeError, match="SimpleNamespace cannot be drawn"):
        draw_world(SimpleNamespace(), tmp_path / "no.png")
    with pytest.raises(ValueError, match=r"\.png, \.svg, \.pdf"):
        draw_world(fall, tmp_path / "no.jpg", **SMALL)
    with pytest.raises(ValueError, match="at 0 s alone"):
        draw_world(balls(), tmp_path / "no.png", at=1.0)


def test_an_unknown_option_names_the_known_ones(fall, tmp_path):
    with pytest.raises(TypeError, match=r"Look has no option 'azimut'.*did you mean 'azimuth'"):
        draw_world(fall, tmp_path / "no.png", azimut=3.0)


def test_bodies_are_coloured_by_speed_force_and_state(tmp_path):
    """A ball that falls beside one that rests: the scale shows which is fast and which carries weight."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("rests", ss.Sphere(0.2), position=(0, 0, 0.2))
    b.body("falls", ss.Sphere(0.2), position=(1, 0, 3.0))
    run = ss.simulate(b.build(), until=0.4, h=1e-2)
    stage = Stage.of(run)
    frame = stage.frame(-1)
    speed, force, state = (Colouring.of(stage, by) for by in ("speed", "force", "state"))
    assert speed.numbers(frame)[1:] == pytest.approx([0.0, 9.81 * 0.4], abs=1e-9)
    assert force.numbers(frame)[1:] == pytest.approx([9.81 * run.model.mass[1], 0.0], rel=1e-6)
    assert speed.top == 5.0
    first, last = (np.array(matplotlib.colormaps["viridis"](end)[:3]) * 255.0 for end in (0.0, 1.0))
    np.testing.assert_allclose(speed.bodies(frame)[1], first, atol=1e-9)
    assert np.linalg.norm(speed.bodies(frame)[2] - last) < np.linalg.norm(speed.bodies(frame)[2] - first)
    np.testing.assert_array_equal(state.bodies(frame)[1:], [STATE_COLOURS["sticking"], FREE])
    fixed = Colouring.of(stage, "body").bodies(frame)[0]
    assert all((one.bodies(frame)[0] == fixed).all() for one in (speed, force, state))
    for by in ("body", "speed", "force", "state"):
        draw_world(run, tmp_path / f"{by}.png", colour=by, **SMALL)
    shown = [pixels(tmp_path / f"{by}.png") for by in ("body", "speed", "force", "state")]
    assert all((a != c).any() for k, a in enumerate(shown) for c in shown[:k])
    with pytest.raises(ValueError, match="colour must be one of body, speed, force, state"):
        draw_world(run, tmp_path / "no.png", colour="temperature")
