"""A box on a slope or on level ground: it stays, slides, or comes to rest on a known path."""

import math
from collections.abc import Iterator

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.scenes.block_views import turn
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import checked
from stickslip.scenes.rest import balance_fact, overlap_fact, speed, weight
from stickslip.scenes.scenario import Fact, Scenario, over_time, scene
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array


@checked
def box_incline(
    *, angle: float = 25.0, mu: float = 0.4, launch: float = 0.0, direction: float = 0.0, size: float = 0.2,
    until: float = 1.0, h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """A box on a plane that is tilted; x goes down the slope, y across it.

    angle: of the slope [deg], in [0, 60].
    mu: friction [-], in [0, 0.9), so that the box cannot tip over as it slides.
    launch: speed at which it is launched along the plane [m/s], >= 0.
    direction: of the launch, from the way down towards y [deg], in [-180, 180].
    size: edge of the box, a cube [m], > 0.

    From rest it stays if tan(angle) <= mu, and otherwise slides at g (sin - mu cos). Launched on level ground
    it goes straight for launch² / (2 mu g). Launched across a slope its path bends: with φ the angle of its
    velocity from the way down and k = mu / tan(angle), v' = g (sin cos φ - mu cos) and v φ' = -g sin sin φ,
    so that v sin φ / tan(φ / 2)ᵏ stays what it was.
    """
    tilt, course = math.radians(angle), math.radians(direction)
    frame, p = turn(tilt)
    heading = np.array([math.cos(course), math.sin(course), 0.0])
    builder = WorldBuilder()
    builder.material("default", mu=mu)
    builder.body("slope", Plane(), quaternion=p, fixed=True)
    builder.body(
        "box", Cuboid((size, size, size)), position=frame @ [0.0, 0.0, 0.5 * size], quaternion=p,
        velocity=frame @ (launch * heading),
    )  # fmt: skip
    pull, grip = GRAVITY * math.sin(tilt), mu * GRAVITY * math.cos(tilt)

    def along(trajectory: WorldTrajectory) -> tuple[Array, Array]:
        """Way and velocity of the box down the slope, across it and away from it, shape (n, 3) each."""
        box = trajectory.body("box")
        return (box.centre - box.centre[0]) @ frame, box.centre_velocity @ frame

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        x, v = along(trajectory)
        end = float(trajectory.t[-1])
        yield Fact("distance from the plane [m], none", np.abs(x[:, 2]).max(), 0.0, 1e-7 * size)
        yield _carried(trajectory, tilt)
        yield balance_fact(trajectory, size + launch * launch / GRAVITY)
        yield overlap_fact(trajectory, size)
        if launch == 0.0:
            yield from _from_rest(v, pull, grip, end)
            return
        if angle == 0.0:
            yield from _on_level_ground(trajectory, x, v, heading, launch, grip)
            return
        yield from _across(trajectory, v, launch, course, mu / math.tan(tilt))

    def figure(trajectory: WorldTrajectory) -> Figure:
        (x, v), t, on = along(trajectory), trajectory.t, trajectory.forces_on("box") @ frame
        names = ("down the slope", "across it")
        return Figure(f"Box on {angle:g}°, mu = {mu:g}, launched at {launch:g} m/s", [
            Panel("Path", "down the slope [m]", "across it [m]", [Curve("box", x[:, 0], x[:, 1])])
            if launch
            else over_time("Way down the slope", "x [m]", t, {"box": x[:, 0]}),
            over_time("Velocity", "v [m/s]", t,
                      {name: (v[:, k], "-" if k == 0 else "--") for k, name in enumerate(names)}),
            over_time("Contact force", "force [N]", t[1:],
                      {"normal": on[1:, 2], "friction": (np.linalg.norm(on[1:, :2], axis=1), "--")}),
            over_time("Energy", "energy [J]", t,
                      {"kinetic": trajectory.kinetic, "dissipated": (trajectory.dissipated, "--")}),
        ])  # fmt: skip

    return scene("box-incline", "A box on a slope stays, or slides as mu and the angle say.", builder.build(),
                 until, h, facts, figure)  # fmt: skip


def _carried(trajectory: WorldTrajectory, tilt: float) -> Fact:
    """The plane carries the weight's part across it, whatever the box does along it."""
    normal = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    force = trajectory.forces_on("box")[1:] @ normal / weight(trajectory)
    worst = float(force[np.argmax(np.abs(force - math.cos(tilt)))])
    return Fact("normal force [of the weight], cos(angle) in every step", worst, math.cos(tilt), 1e-5)


def _from_rest(v: Array, pull: float, grip: float, end: float) -> Iterator[Fact]:
    if pull <= grip:
        yield Fact("speed at the end [m/s]: it does not creep", math.hypot(*v[-1]), 0.0, 1e-9)
        return
    known = (pull - grip) * end
    yield Fact("velocity at the end [m/s], g (sin - mu cos) t", v[-1, 0], known, 1e-6 * known)
    yield Fact("velocity across the slope [m/s], none", np.abs(v[:, 1]).max(), 0.0, 1e-6 * known)


def _on_level_ground(
    trajectory: WorldTrajectory, x: Array, v: Array, heading: Array, launch: float, grip: float
) -> Iterator[Fact]:
    """Straight on, slowing down at mu g until it stands."""
    t, side = trajectory.t, np.array([-heading[1], heading[0], 0.0])
    reach = float(np.abs(x @ heading).max())
    bend = np.abs(x @ side).max() / reach
    left = np.maximum(launch - grip * t, 0.0)
    step = float(trajectory.h.max())
    yield Fact("bend of the path [rad], none", bend, 0.0, 1e-6)
    yield Fact("largest error of the speed [m/s], launch - mu g t (the step in which it stops: mu g h)",
               np.abs(v @ heading - left).max(), 0.0, grip * step + 1e-8 * launch)  # fmt: skip
    yield Fact("way [m], closed form (the step in which it stops: mu g h²)", reach,
               float((launch - 0.5 * grip * t[-1]) * t[-1]) if left[-1] > 0.0 else 0.5 * launch**2 / grip,
               grip * step**2 + 1e-8)  # fmt: skip


def _across(trajectory: WorldTrajectory, v: Array, launch: float, course: float, k: float) -> Iterator[Fact]:
    """The curve of velocities; friction takes the direction of the end of each step, an error of order h."""
    now, size = np.arctan2(v[:, 1], v[:, 0]), speed(trajectory)
    step = float(trajectory.h.max())
    if abs(math.sin(course)) < 1e-9:
        yield Fact("velocity across the slope [m/s], none", np.abs(v[:, 1]).max(), 0.0, 1e-6 * launch)
        return
    # Where the velocity is nearly along the slope or gone, the first integral is all rounding.
    clear = (size > 0.2 * launch) & (np.abs(np.sin(now)) > 0.05)
    phi = np.abs(now[clear])
    kept = size[clear] * np.sin(phi) / np.tan(0.5 * phi) ** k
    start = launch * abs(math.sin(course)) / math.tan(0.5 * abs(course)) ** k
    rate = GRAVITY / (0.2 * launch)
    yield Fact("largest change of v sin φ / tan(φ / 2)ᵏ [of its start], none (order h)",
               np.abs(kept / start - 1.0).max(), 0.0, 0.5 * (1.0 + k) * rate * step)  # fmt: skip
