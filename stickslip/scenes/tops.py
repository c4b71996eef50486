"""Bodies that spin: one that flips about its intermediate axis, and a top that turns over."""

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ellipkm1

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.energy import momentum
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.scenes.measures import turning_points
from stickslip.scenes.parameters import checked, lengths
from stickslip.scenes.scenario import Fact, Scenario, over_time, scene
from stickslip.simulation.world_trajectory import WorldTrajectory, rotated
from stickslip.state import Array

BODY = "body"
TOP = "top"


@checked
def dzhanibekov(
    *, size: Sequence[float] = (0.02, 0.1, 0.06), rate: float = 10.0, nudge: float = 1e-3, flips: int = 5,
    h: float = 1e-3,
) -> Scenario:  # fmt: skip
    """A free body that spins about its intermediate axis, and flips again and again.

    size: edges of the box along x, y, z [m], all different, > 0.
    rate: spin at the start [rad/s], > 0.
    nudge: angle of the spin from the intermediate axis at the start [rad], in (0, 0.5].
    flips: how many are waited for [-], >= 1.

    Euler's equations have Jacobi's elliptic functions as solutions (Landau & Lifshitz, Mechanics, § 37): the
    spin about the intermediate axis vanishes at (2 j + 1) T / 4 with T = 4 K(k) / s. Momentum in space and
    energy are kept whatever the step; times are of second order in it.
    """
    x, y, z = edges = lengths("size", size, ("along x", "along y", "along z"))
    if len(set(edges)) < 3:
        raise ValueError(f"size is {size!r}; the three edges must differ, or there is no intermediate axis")
    # a longer edge is a smaller moment about it: the axes by their moments, I1 < I2 < I3
    first, middle, third = np.argsort(edges)[::-1]
    spin = np.zeros(3)
    spin[middle], spin[first] = rate * math.cos(nudge), rate * math.sin(nudge)
    builder = WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body(BODY, Cuboid((x, y, z)), spin=spin)
    world = builder.build()
    moments = np.diag(world.inertia[0])[[first, middle, third]]
    period = _period(moments, spin[[first, middle, third]])
    until = (0.5 * flips + 0.1) * period

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        crossings, _ = turning_points(trajectory.t, trajectory.t, trajectory.v[:, 3 + middle])
        expected = period * (0.25 + 0.5 * np.arange(flips))
        late = np.abs(crossings[:flips] - expected).max() if crossings.size >= flips else np.inf
        around = [momentum(world, q, v)[1] for q, v in zip(trajectory.q, trajectory.v, strict=True)]
        turned = np.linalg.norm(np.array(around) - around[0], axis=1) / np.linalg.norm(around[0])
        rounding = 1e-15 * max(trajectory.steps, 1000)
        yield Fact("flips [-], Landau & Lifshitz § 37", crossings.size, flips, 0)
        yield Fact("times of the flips less those of the elliptic functions [s], second order in the step",
                   late, 0.0, flips * period * (h * rate) ** 2 / 12.0)  # fmt: skip
        yield Fact("change of the momentum in space [of it], rounding", turned.max(), 0.0, rounding)
        yield Fact("change of the energy [of it], rounding",
                   np.abs(trajectory.kinetic / trajectory.kinetic[0] - 1.0).max(), 0.0, rounding)  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, p = trajectory.t, trajectory.body(BODY).quaternion
        axis = rotated(p, np.eye(3)[middle])
        names = {first: "smallest moment", middle: "intermediate", third: "largest moment"}
        _, along = momentum(world, trajectory.q[0], trajectory.v[0])
        along = along / np.linalg.norm(along)
        crossings: Array = period * (0.25 + 0.5 * np.arange(flips, dtype=np.float64))
        return Figure(f"A box spins about its intermediate axis and flips every {0.5 * period:.4g} s", [
            over_time("Spin in the body", "Ω [rad/s]", t,
                      {names[k]: trajectory.v[:, 3 + k] for k in (first, middle, third)}),
            Panel("Intermediate axis against the momentum", "t [s]", "cosine [-]",
                  [Curve("run", t, axis @ along),
                   Curve("flips by elliptic functions", crossings, 0.0 * crossings, "o")]),
            Panel("Way of the spin over the body", "Ω intermediate [rad/s]", "Ω largest moment [rad/s]",
                  [Curve("run", trajectory.v[:, 3 + middle], trajectory.v[:, 3 + third])]),
            over_time("Energy", "E / E(0) - 1 [-]", t,
                      {"run": trajectory.kinetic / trajectory.kinetic[0] - 1.0}),
        ])  # fmt: skip

    return scene("dzhanibekov", "A free body flips about its intermediate axis; momentum and energy stay.",
                 world, until, h, facts, figure)  # fmt: skip


def _period(moments: Array, spin: Array) -> float:
    """Period T of the spin [s] (Landau & Lifshitz § 37, 10 to 12), moments and spin by rising moments."""
    energy, square = float(moments @ spin**2), float(moments**2 @ spin**2)  # 2 E and M²
    a, b, c = (float(x) for x in (moments if square > energy * moments[1] else moments[::-1]))
    # 1 - k² by its own formula: k is close to 1
    rest = (c - a) * (square - energy * b) / ((c - b) * (square - energy * a))
    speed = math.sqrt((c - b) * (square - energy * a) / (a * b * c))
    return float(4.0 * ellipkm1(rest) / speed)


@checked
def tippe_top(
    *, mu: float = 0.3, rate: float = 180.0, tilt: float = 0.1, radius: float = 0.02, offset: float = 0.2,
    ratio: float = 0.95, until: float = 2.5, h: float = 2.5e-4,
) -> Scenario:  # fmt: skip
    """A tippe top: a ball whose centre of mass is below its centre spins, and turns over.

    mu: sliding friction on the floor [-], >= 0; without it nothing turns over.
    rate: spin about the vertical at the start [rad/s], > 0.
    tilt: of the axis at the start [rad], in (0, 1].
    radius: of the ball [m], > 0.
    offset: of the centre of mass below the centre, over the radius [-], in (0, 1).
    ratio: moment of inertia across the axis over the one about it [-], in (0.5, 2].

    Friction at the point of contact keeps Jellett's integral, momentum times the arm from the centre of mass
    to that point (Cohen 1977, Am. J. Phys. 45, 12; Bou-Rabee, Marsden & Romero 2004, SIAM J. Appl. Dyn. Syst.
    3, 352), and takes energy. Between 1 - offset and 1 + offset of the ratio of inertias, and with enough
    spin, the top ends upside down, with its spin lessened by about (1 - offset) / (1 + offset).
    """
    mass, low = 0.02, offset * radius
    about = 0.4 * mass * radius**2
    builder = WorldBuilder()
    builder.material("default", mu=mu)
    builder.body("floor", Plane(), fixed=True)
    builder.body(
        TOP, Sphere(radius), position=(0.0, 0.0, radius), spin=(0.0, 0.0, rate), mass=mass,
        quaternion=(math.cos(0.5 * tilt), 0.0, math.sin(0.5 * tilt), 0.0), centre=(0.0, 0.0, -low),
        inertia=(ratio * about, ratio * about, about), velocity=(0.0, rate * low * math.sin(tilt), 0.0),
    )  # fmt: skip
    world = builder.build()
    # R (e_z - offset e_3) · (A e_z + (C - A) cos(tilt) e_3) rate
    lean = math.cos(tilt)
    kept = about * rate * radius * (ratio * (1.0 - offset * lean) + (1.0 - ratio) * lean * (lean - offset))

    def jellett(trajectory: WorldTrajectory) -> Array:
        """L · (R e_z - offset R e_3) [N m² s], shape (n,)."""
        p, spin = trajectory.q[:, 10:14], trajectory.v[:, 9:12]
        arm = np.array([0.0, 0.0, radius]) - low * rotated(p, np.array([0.0, 0.0, 1.0]))
        around = rotated(p, spin * np.array([ratio * about, ratio * about, about]))
        return np.asarray(np.einsum("ni,ni->n", around, arm))

    def facts(trajectory: WorldTrajectory) -> Iterator[Fact]:
        upright = rotated(trajectory.q[:, 10:14], np.array([0.0, 0.0, 1.0]))[:, 2]
        final = kept / (about * radius * (1.0 + offset))
        lost = np.diff(trajectory.dissipated)
        scale = trajectory.energy[0]
        yield Fact("Jellett's integral [of it], kept to (h Ω)²",
                   np.abs(jellett(trajectory) / kept - 1.0).max(), 0.0, (h * rate) ** 2)  # fmt: skip
        yield Fact("cosine of the axis at the end [-], upside down", upright[-1], -1.0, 0.02)
        yield Fact("height that the centre of mass gained [m], 2 offset radius",
                   trajectory.q[-1, 9] - trajectory.q[0, 9], low * (1.0 + math.cos(tilt)),
                   0.02 * low)  # fmt: skip
        yield Fact("spin about the vertical at the end [rad/s], by Jellett's integral",
                   trajectory.body(TOP).spin[-1, 2], final, 0.02 * final)  # fmt: skip
        yield Fact("least that friction takes in a step [of the energy], nothing is given",
                   min(lost.min(), 0.0) / scale, 0.0, 1e-9)  # fmt: skip
        yield Fact("largest error of the balance of energy [of it], rounding",
                   np.abs(trajectory.balance).max() / scale, 0.0,
                   1e-14 * max(trajectory.steps, 100))  # fmt: skip

    def figure(trajectory: WorldTrajectory) -> Figure:
        t, body = trajectory.t, trajectory.body(TOP)
        upright = rotated(body.quaternion, np.array([0.0, 0.0, 1.0]))[:, 2]
        return Figure(f"A tippe top, mu = {mu:g}: it turns over by sliding friction", [
            over_time("Axis", "angle from the vertical [rad]", t,
                      {"run": np.arccos(np.clip(upright, -1.0, 1.0))}, level=math.pi),
            over_time("Spin", "[rad/s]", t,
                      {"about the vertical": body.spin[:, 2], "about its own axis": trajectory.v[:, 11]}),
            over_time("Energies over those of the start", "[-]", t,
                      {"kinetic": trajectory.kinetic / trajectory.energy[0],
                       "dissipated": trajectory.dissipated / trajectory.energy[0]}),
            over_time("Where the centre of mass is", "height [m]", t, {"run": body.centre[:, 2]}),
            over_time("Jellett's integral", "change of it [1e-4]", t,
                      {"run": 1e4 * (jellett(trajectory) / kept - 1.0)}),
            Panel("Path of the centre of the ball", "x [m]", "y [m]",
                  [Curve("run", body.position[:, 0], body.position[:, 1])]),
        ])  # fmt: skip

    return scene("tippe-top", "A top with a low centre of mass turns over and lifts it, by sliding friction.",
                 world, until, h, facts, figure)  # fmt: skip
