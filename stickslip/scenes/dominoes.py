"""A run of dominoes: a push at one end, and a wave that topples them one after another."""

import math
from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane
from stickslip.scenes.block_views import side_view
from stickslip.scenes.measures import GRAVITY
from stickslip.scenes.parameters import number, whole
from stickslip.scenes.rest import balance_fact, weight
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.state import Array

HEIGHT, WIDTH, THICK = 0.048, 0.024, 0.0075
"""Of a domino [m]."""


def dominoes(
    *, bodies: int = 12, spacing: float = 0.02, mu: float = 0.3, mu_floor: float = 0.8, push: float = 4.0,
    until: float = 0.0, h: float = 5e-4,
) -> Scenario:  # fmt: skip
    """Dominoes in a row, the first of which is given a spin about its lower edge.

    bodies: how many [-], >= 3.
    spacing: from face to face [m], in [0.005, 0.04].
    mu: friction of dominoes on each other [-], >= 0.
    mu_floor: on the floor [-], >= 0.
    push: spin of the first at the start [rad/s], enough to topple it.
    until: end [s], >= 0; 0 is long enough for all to fall.
    h: time step [s], > 0.

    A domino topples by itself once its centre is past its edge, at atan(THICK / HEIGHT); its neighbour is hit
    at asin(spacing / HEIGHT). Each fall gives energy, each impact takes some, and after a few dominoes the
    two balance: the wave goes at a steady speed.
    """
    bodies = whole("bodies", bodies, 3)
    spacing = number("spacing", spacing, "m", least=0.005, most=0.04)
    mu = number("mu", mu, "", least=0.0)
    mu_floor = number("mu_floor", mu_floor, "", least=0.0)
    tipping = math.atan2(THICK, HEIGHT)
    # From standing to tipping the centre rises; the moment of inertia is about the edge.
    reach = math.hypot(THICK, HEIGHT)
    least = math.sqrt(3.0 * GRAVITY * (reach - HEIGHT)) / reach
    push = number("push", push, "rad/s", above=least)
    h = number("h", h, "s", above=0.0)
    until = number("until", until, "s", least=0.0) or 0.35 + 0.03 * bodies
    pitch = spacing + THICK
    builder, shape = WorldBuilder(), Cuboid((THICK, WIDTH, HEIGHT))
    builder.material("domino", mu=mu)
    builder.material("floor")
    builder.pair("domino", "floor", mu=mu_floor)
    builder.body("floor", Plane(), fixed=True, material="floor")
    for k in range(bodies):
        spin = push if k == 0 else 0.0
        builder.body(
            f"domino {k + 1}", shape, position=(k * pitch, 0.0, 0.5 * HEIGHT), material="domino",
            velocity=(0.5 * HEIGHT * spin, 0.0, 0.5 * THICK * spin), spin=(0.0, spin, 0.0),
        )  # fmt: skip
    struck = math.asin(min(spacing / HEIGHT, 1.0))

    def facts(trajectory: WorldTrajectory) -> Sequence[Fact]:
        lean = leans(trajectory, bodies)
        passed = passing(trajectory.t, lean, 0.5 * (tipping + struck))
        turned = float(np.abs(trajectory.v.reshape(len(lean), -1, 6)[:, :, 3:]).max() * trajectory.h.max())
        fallen = float((lean[-1] > struck).mean())
        rows = [
            Fact("share of dominoes that have fallen [-], all", fallen, 1.0, 0.0),
            balance_fact(trajectory, HEIGHT * bodies),
            Fact(
                "deepest overlap of two bodies [m], less than a corner goes in a step",
                float(trajectory.penetration.max()), 0.0, turned * HEIGHT,
            ),
            Fact(
                "largest gain of energy in a step, less what the correction lifts [J], none (order h²: an"
                " edge that turns)",
                float(max(np.diff(trajectory.energy - trajectory.lifted).max(), 0.0)), 0.0,
                weight(trajectory) / bodies * turned**2 * HEIGHT,
            ),
        ]  # fmt: skip
        if np.isfinite(passed).all():
            between = np.diff(passed)
            rows.append(Fact("least time from one domino to the next [s]: in order",
                             float(min(between.min(), 0.0)), 0.0, 0.0))  # fmt: skip
            if bodies >= 9:
                late = between[bodies // 2 : -2]
                rows.append(
                    Fact(
                        "spread of the wave's speed over its second half [of its mean], steady",
                        float(np.ptp(late) / late.mean()), 0.0, 0.1,
                    )
                )  # fmt: skip
        return rows

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, lean = trajectory.t, leans(trajectory, bodies)
        passed = passing(t, lean, 0.5 * (tipping + struck))
        stop = float(np.nanmax(passed)) if np.isfinite(passed).any() else float(t[-1])
        return Figure(
            f"{bodies} dominoes, {1e3 * spacing:g} mm apart",
            [
                Panel("From the side", "x [m]", "z [m]", side_view(trajectory, [0.5 * stop, float(t[-1])])),
                Panel("Lean", "t [s]", "angle [deg]",
                      [Curve(f"domino {k + 1}", t, np.degrees(lean[:, k]))
                       for k in (0, bodies // 2, bodies - 1)]),
                Panel("Speed of the wave", "domino", "speed [m/s]",
                      [Curve("wave", np.arange(2.0, bodies + 1), pitch / np.diff(passed), "o")]),
                Panel("Energy", "t [s]", "energy [J]",
                      [Curve("kinetic", t, trajectory.kinetic),
                       Curve("potential", t, trajectory.potential - trajectory.potential[-1]),
                       Curve("dissipated", t, trajectory.dissipated, "--")]),
            ],
        )  # fmt: skip

    return Scenario(
        "dominoes", "A push topples a row of dominoes one after another.", builder.build(), until, h,
        "moreau-jean-bodies", {}, facts, figure, ("moreau-jean-bodies",),
    )  # fmt: skip


def leans(trajectory: WorldTrajectory, bodies: int) -> Array:
    """Angle of each domino from standing, towards +x [rad], shape (n, bodies)."""
    p = trajectory.q.reshape(len(trajectory), -1, 7)[:, 1 : bodies + 1, 3:]
    return np.asarray(2.0 * np.arctan2(p[:, :, 2], p[:, :, 0]))


def passing(t: Array, lean: Array, angle: float) -> Array:
    """When each domino is first past an angle [rad], between records by interpolation [s], shape (bodies,);
    NaN where it never is."""
    found = np.full(lean.shape[1], np.nan)
    for k, one in enumerate(lean.T):
        past = np.flatnonzero(one > angle)
        if past.size and past[0] > 0:
            j = past[0]
            found[k] = t[j - 1] + (angle - one[j - 1]) / (one[j] - one[j - 1]) * (t[j] - t[j - 1])
    return found
