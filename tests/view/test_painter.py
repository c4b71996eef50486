"""The painter changes what is there: nothing is added or removed from frame to frame."""

from types import SimpleNamespace

import numpy as np
import pytest
from scenery import on_screen
from world_runs import Drop, balls

import stickslip as ss
from stickslip.view.browser.painter import ASPECT, CHOSEN, FILLED, WIDE, Painter, linear
from stickslip.view.browser.stage import STATE_COLOURS, Stage
from stickslip.view.browser.viewer import Labels


class Scene:
    """Remembers what was added, and takes nothing after `shut`."""

    def __init__(self):
        self.nodes, self.open, self.up = {}, True, None

    def __getattr__(self, verb):
        def add(name, *texts, **given):
            assert self.open, f"{verb} while a frame is shown"
            assert verb.startswith("add_")
            assert name not in self.nodes
            self.nodes[name] = SimpleNamespace(verb=verb, texts=texts, visible=True, **given)
            return self.nodes[name]

        return add

    def set_up_direction(self, up):
        self.up = up

    def configure_default_lights(self, enabled):
        assert not enabled, "two suns"

    def configure_environment_map(self, hdri):
        assert hdri is None, "slow without a graphics card"


@pytest.fixture(scope="module")
def stage():
    return Stage.of(ss.simulate(balls(2), scheme=Drop(), h=0.01, until=0.3))


def painted(stage):
    scene = Scene()
    painter = Painter(scene, stage)
    scene.open = False
    return scene, painter


def metres(stage, drawn):
    return stage.centre + np.asarray(drawn, float) / WIDE * stage.size


def test_bodies_move_and_the_floor_stays(stage):
    scene, painter = painted(stage)
    before = {name: node.__dict__.copy() for name, node in scene.nodes.items()}
    painter.show(stage.frame(20))
    spheres = [node for name, node in scene.nodes.items() if name.startswith("/bodies/sphere")]
    assert len(spheres) == 2
    expected = stage.records.q[20].reshape(-1, 7)[1:, :3]
    for node in spheres:
        np.testing.assert_allclose(metres(stage, node.batched_positions), expected, atol=1e-5)
        np.testing.assert_allclose(node.batched_scales, 0.1 * WIDE / stage.size, rtol=1e-5)
    for name, node in scene.nodes.items():
        if name.startswith("/bodies/plane"):
            assert node.batched_positions is before[name]["batched_positions"]
    assert scene.up == (0.0, 0.0, 1.0)


def test_contacts_and_forces_come_and_go(stage):
    scene, painter = painted(stage)
    points, arrows = scene.nodes["/contacts"], scene.nodes["/forces"]
    painter.show(stage.frame(0))  # balls in the air
    assert not points.visible
    assert not arrows.visible
    touching = stage.frame(29)
    assert len(touching.points) == 1
    painter.show(touching)
    assert points.visible
    assert arrows.visible
    np.testing.assert_allclose(metres(stage, points.points), touching.points, atol=1e-5)
    np.testing.assert_allclose(metres(stage, arrows.points), touching.arrows, atol=1e-5)
    for colour, state in zip(points.colors, touching.states, strict=True):
        assert tuple(colour.tolist()) == STATE_COLOURS[state]
    np.testing.assert_array_equal(arrows.colors, linear(touching.colours))
    painter.show(touching, contacts=False, forces=False)
    assert not points.visible
    assert not arrows.visible


def test_arrows_are_stretched_from_their_points(stage):
    scene, painter = painted(stage)
    frame = stage.frame(29)
    painter.show(frame, stretch=3.0)
    arrows = metres(stage, scene.nodes["/forces"].points)
    np.testing.assert_allclose(arrows[:, 0], frame.arrows[:, 0], atol=1e-5)
    steps = frame.arrows[:, 1] - frame.arrows[:, 0]
    np.testing.assert_allclose(arrows[:, 1] - arrows[:, 0], 3.0 * steps, atol=1e-5)


@pytest.mark.parametrize("shift", [0.0, 1e7])
@pytest.mark.parametrize("size", [1e-6, 1.0, 1e6])
def test_every_scene_is_drawn_as_wide_and_about_the_origin(size, shift):
    builder = ss.WorldBuilder()
    for k in range(3):
        builder.body(f"{k}", ss.Sphere(size), position=(shift * size + 4 * k * size, 0, 0))
    stage = Stage.of(builder.build())
    scene, painter = painted(stage)
    places = scene.nodes["/bodies/sphere-0"].batched_positions
    np.testing.assert_allclose(places[1], 0.0, atol=1e-5 * WIDE)
    assert np.linalg.norm(places[2] - places[0]) == pytest.approx(WIDE * 8.0 / np.sqrt(100.0 + 8.0), rel=1e-5)
    assert 0.5 * WIDE < np.linalg.norm(painter.camera().position) < 2 * WIDE


@pytest.mark.parametrize("gravity", [(0, 0, -9.81), (0, 0, 0), (0, -9.81, 0), (9.81, 0, 0), (3, 4, 5)])
def test_the_camera_looks_down_a_little(gravity):
    stage = Stage.of(ss.WorldBuilder(gravity=gravity).build())
    camera = painted(stage)[1].camera()
    steepness = camera.position @ stage.up / np.linalg.norm(camera.position)
    assert 0.2 < steepness < 0.7
    np.testing.assert_array_equal(camera.look_at, 0.0)


def test_a_chosen_body_has_a_colour_of_its_own(stage):
    _, painter = painted(stage)
    painter.mark(0)
    assert not any(
        (handle.batched_colors == linear(np.array(CHOSEN))).all(axis=1).any() for _, handle in painter.bodies
    )
    painter.mark(2)
    for group, handle in painter.bodies:
        for body, colour, own in zip(group.body, handle.batched_colors, group.colour, strict=True):
            assert colour.tolist() == linear(np.array(CHOSEN) if body == 2 else own).tolist()
    painter.mark(None)
    for group, handle in painter.bodies:
        np.testing.assert_array_equal(handle.batched_colors, linear(group.colour))


def test_colours_of_screens_become_light_as_the_standard_of_srgb_says():
    np.testing.assert_array_equal(linear(np.array([0, 10, 128, 188, 255])), [0, 1, 55, 128, 255])


@pytest.mark.parametrize("aside", [0.0, 0.12, -0.09])
@pytest.mark.parametrize("edges", [(1, 1, 9), (9, 1, 1), (1, 9, 1), (3, 3, 3)])
def test_the_scene_fills_its_part_of_the_picture_and_no_more(edges, aside):
    builder = ss.WorldBuilder()
    builder.body("box", ss.Cuboid(edges), position=(5.0, 6.0, 7.0))
    painter = painted(Stage.of(builder.build()))[1]
    signs = np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, 8).T
    corners = np.array([5.0, 6.0, 7.0]) + signs * edges
    picture = (0.0, 0.0, 300.0 * ASPECT, 300.0)
    x, y = np.array([on_screen(painter, picture, corner, aside) for corner in corners]).T
    middle = (0.5 - aside) * 300.0 * ASPECT
    wide = np.abs(x - middle).max() / (0.5 * (1.0 - 2.0 * abs(aside)) * 300.0 * ASPECT)
    high = np.abs(y - 150.0).max() / 150.0
    # Moved aside, what is nearer moves farther.
    assert max(wide, high) == pytest.approx(FILLED, rel=0.2 if aside else 1e-3)


def test_labels_are_made_when_they_are_asked_for_and_follow_their_bodies(stage):
    scene, painter = painted(stage)
    labels = Labels(scene, stage, painter)
    labels.show(stage.frame(0), False)
    assert not any(name.startswith("/labels") for name in scene.nodes)
    scene.open = True
    labels.show(stage.frame(0), True)
    scene.open = False
    labels.show(stage.frame(29), True)
    ball = scene.nodes["/labels/1"]
    assert ball.texts == ("ball 0",)
    np.testing.assert_allclose(metres(stage, ball.position), stage.frame(29).bodies[1], atol=1e-5)
    labels.show(stage.frame(29), False)
    assert not ball.visible
