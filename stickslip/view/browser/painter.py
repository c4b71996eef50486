"""Puts frames of a stage into a scene of viser, by changing what is there already."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.state import Array
from stickslip.view.browser.instances import LARGEST, Instances
from stickslip.view.browser.stage import Frame, Stage

WIDE = 10.0
"""Size of every scene as it is drawn: lights, shadows and the camera's limits are made for such sizes."""
NONE = np.full((1, 3), -1e4)
"""Where a point or an arrow of no length waits while there are none: empty arrays are not drawn anew."""
CHOSEN = (240, 228, 66)
"""Colour of a body that was chosen [0 to 255]."""
ANGLE = math.radians(40.0)
"""Height of the picture as the camera sees it [rad]: narrow, so that what is upright looks upright."""
FILLED, ASPECT = 0.74, 1.5
"""How much of the picture the scene fills at most, and the width over the height that is counted on."""
NEAREST = 0.6
"""Least distance of the camera from the middle, in sizes of the scene."""
SUN, SKY, GLOW = 2.6, 2.2, (130, 125, 120)
"""Light of the sun, over the left shoulder, and of the sky, and the colour of what the ground gives back."""


@dataclass(frozen=True, eq=False)
class Camera:
    """Where to look from at first, as drawn."""

    position: Array
    """[drawn units], shape (3,)."""
    look_at: Array
    """[drawn units], shape (3,)."""
    up: Array
    """[-], shape (3,)."""
    angle: float = ANGLE
    """Height of the picture [rad]."""


class Painter:
    """Draws a stage in a scene: `server.scene` of viser, or anything else with its verbs.

    All is drawn about the origin and as `WIDE`, whatever the size of the scene in metres and wherever it is.
    """

    def __init__(self, scene: Any, stage: Stage):
        self.stage = stage
        self.zoom = WIDE / stage.size
        """Drawn units per metre."""
        self._scene = scene
        scene.set_up_direction(tuple(stage.up.tolist()))
        self._light()
        self.bodies: list[tuple[Instances, Any]] = []
        """Groups of copies, each with the handle that draws it."""
        x, p = stage.surroundings.start[:, :3], stage.surroundings.start[:, 3:]
        for group in stage.instances:
            places, turns = group.placed(x, p)
            handle = scene.add_batched_meshes_simple(
                f"/bodies/{group.name}",
                vertices=group.mesh.vertices.astype(np.float32), faces=group.mesh.triangles,
                batched_wxyzs=turns.astype(np.float32), batched_positions=self.drawn(places),
                batched_scales=np.minimum(self.zoom * group.scale, LARGEST).astype(np.float32),
                batched_colors=linear(group.colour), flat_shading=group.mesh.flat, lod="off",
                cast_shadow=False, receive_shadow=False,
            )  # fmt: skip
            self.bodies.append((group, handle))
        arrow = self.zoom * stage.arrow
        self.points = scene.add_point_cloud(
            "/contacts", points=NONE.astype(np.float32), colors=np.zeros((1, 3), np.uint8),
            point_size=0.07 * arrow, point_shape="circle", point_shading="flat", precision="float32",
        )  # fmt: skip
        self.arrows = scene.add_arrows(
            "/forces", points=np.stack([NONE, NONE], axis=1).astype(np.float32),
            colors=np.zeros((1, 3), np.uint8), shaft_radius=0.03 * arrow, head_radius=0.08 * arrow,
            head_length=0.2 * arrow,
        )  # fmt: skip

    def drawn(self, x: Array) -> Array:
        """Places [m] as they are drawn, shape (..., 3), float32."""
        return np.asarray((x - self.stage.centre) * self.zoom, np.float32)

    def camera(self, aside: float = 0.0) -> Camera:
        """From where all of the scene is seen, a little from above; `aside` moves it to the left, by parts of
        the width of the picture; to the right, if negative."""
        way, right = self._axes()
        above = np.cross(way, right)
        half = self.zoom * self.stage.surroundings.half
        corners = half * np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
        high = FILLED * math.tan(0.5 * ANGLE)
        wide = high * ASPECT * (1.0 - 2.0 * abs(aside))
        needed = np.maximum(np.abs(corners @ above) / high, np.abs(corners @ right) / wide) + corners @ way
        distance = max(float(needed.max()), NEAREST * WIDE)
        shift = 2.0 * aside * ASPECT * math.tan(0.5 * ANGLE) * distance * right
        return Camera(distance * way + shift, shift, self.stage.up)

    def look(self, camera: Any, aside: float = 0.0) -> None:
        """Let the first camera of a server see the scene from there."""
        view = self.camera(aside)
        camera.position, camera.look_at, camera.up = (
            tuple(part.tolist()) for part in (view.position, view.look_at, view.up)
        )
        camera.fov = view.angle

    def _axes(self) -> tuple[Array, Array]:
        """Where the camera is from the middle, and what is to its right [-], shape (3,) each."""
        up = self.stage.up
        least = np.eye(3)[int(np.argmin(np.abs(up)))]
        if np.allclose(up, [0.0, 0.0, 1.0]):
            least = np.array([0.0, -1.0, 0.0])
        front = least - (least @ up) * up
        front /= np.linalg.norm(front)
        side = np.cross(front, up)
        way = 0.85 * front - 0.45 * side + 0.42 * up
        way /= np.linalg.norm(way)
        right = np.cross(up, way)
        return way, right / np.linalg.norm(right)

    def _light(self) -> None:
        """A sun to the left of the camera, and a sky.

        No shadows, and no surroundings that are mirrored: with either a computer without a graphics card
        draws one picture a second, without them tens.
        """
        _, right = self._axes()
        sun = 1.2 * self.stage.up - 0.8 * right + 0.5 * np.cross(right, self.stage.up)
        self._scene.configure_default_lights(enabled=False)
        self._scene.configure_environment_map(None)
        self._scene.add_light_directional("/sun", intensity=SUN, position=tuple((WIDE * sun).tolist()))
        self._scene.add_light_hemisphere(
            "/sky", sky_color=(255, 255, 255), ground_color=GLOW, intensity=SKY,
            position=tuple((WIDE * self.stage.up).tolist()),
        )  # fmt: skip

    def show(self, frame: Frame, contacts: bool = True, forces: bool = True, stretch: float = 1.0) -> None:
        """Move everything to where it is in a frame; `stretch` makes the arrows longer."""
        for (group, handle), places, turns in zip(
            self.bodies, frame.positions, frame.quaternions, strict=True
        ):
            if group.moving:
                handle.batched_positions = self.drawn(places)
                handle.batched_wxyzs = turns.astype(np.float32)
        contacts = contacts and len(frame.points) > 0
        if contacts:
            self.points.points = self.drawn(frame.points)
            self.points.colors = frame.colours
        self.points.visible = contacts
        start, end = frame.arrows[:, 0], frame.arrows[:, 1]
        acting = np.linalg.norm(end - start, axis=1) > 0.0
        forces = forces and bool(acting.any())
        if forces:
            tips = start + stretch * (end - start)
            self.arrows.points = self.drawn(np.stack([start, tips], axis=1)[acting])
            self.arrows.colors = linear(frame.arrow_colours[acting])
        self.arrows.visible = forces

    def mark(self, body: int | None) -> None:
        """Paint one body in a colour of its own, and all others in theirs; planes keep theirs."""
        for group, handle in self.bodies:
            if group.ground:
                continue
            chosen = (group.body == body)[:, None]
            handle.batched_colors = linear(np.where(chosen, np.array(CHOSEN, np.uint8), group.colour))


def linear(colours: np.ndarray) -> np.ndarray:
    """Colours as screens have them, sRGB, as light: viser takes those of copies and arrows so, and without
    this they are pale; of points it takes them as they are [0 to 255], shape (n, 3), uint8."""
    part = colours / 255.0
    light = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)  # IEC 61966-2-1
    return np.asarray(np.round(255.0 * light), np.uint8)
