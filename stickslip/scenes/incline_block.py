"""A block launched up a slope: it stops, and stays or slides back as tan(angle) and mu decide."""

import math
from collections.abc import Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import NewtonImpact
from stickslip.scenes.measures import GRAVITY, energy, spacing
from stickslip.scenes.parameters import number
from stickslip.scenes.scenario import Fact, Scenario
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem


def incline_block(
    *, angle: float = 25.0, mu: float = 0.3, speed: float = 2.0, mass: float = 1.0, h: float = 1e-3
) -> Scenario:
    """A block on a slope, launched upwards; coordinates are (down the slope, away from it).

    angle: of the slope [deg], in [0, 80].
    mu: friction [-], >= 0; not 0 together with angle 0, where nothing would stop it.
    speed: at which it is launched up the slope [m/s], >= 0.
    mass: of the block [kg], > 0.
    h: time step [s], > 0.

    It slows down at g (sin + mu cos), stops at speed / (g (sin + mu cos)), and then stays if
    tan(angle) <= mu, or slides down at g (sin - mu cos).
    """
    angle = number("angle", angle, "deg", least=0.0, most=80.0)
    mu = number("mu", mu, "", least=0.0)
    speed = number("speed", speed, "m/s", least=0.0)
    mass = number("mass", mass, "kg", above=0.0)
    h = number("h", h, "s", above=0.0)
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    slowing = GRAVITY * (sine + mu * cosine)
    if not slowing > 0.0:
        raise ValueError("angle and mu are both 0: nothing stops the block; give one of them a value > 0")
    sticks = sine <= mu * cosine
    falling = 0.0 if sticks else GRAVITY * (sine - mu * cosine)
    stop = speed / slowing
    turn = -0.5 * speed**2 / slowing
    until = max(3.0 * stop, 0.5)
    weight = np.array([mass * GRAVITY * sine, -mass * GRAVITY * cosine])
    block = Lagrangian(
        "block", M=mass, q0=[0.0, 0.0], v0=[-speed, 0.0], F_ext=weight, potential=lambda q: -weight @ q
    )
    rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    slope = Interaction(
        "slope", "block", Scleronomous(lambda q: q[1:], dy_dq=rows), NewtonImpact(mu=mu, dimension=2)
    )

    def facts(trajectory: Trajectory) -> Sequence[Fact]:
        t, block = trajectory.t, trajectory.system("block")
        x, v, end, dt = block.q[:, 0], block.v[:, 0], float(trajectory.t[-1]), spacing(trajectory)
        after = max(end - stop, 0.0)
        near = 1e-7 if trajectory.scheme == "event-driven" else 2.0 * GRAVITY * dt
        found = [
            Fact(
                "distance from the slope [m], none", float(np.abs(block.q[:, 1]).max()), 0.0, 1e-9
            ),
        ]  # fmt: skip
        if after > 0.0:
            found += [
                Fact(
                    "velocity at the end [m/s]: " + ("it stays" if sticks else "g (sin - mu cos) (t - stop)")
                    + " (the step of the stop is half as good as the others)",
                    float(v[-1]), falling * after, near,
                ),
                Fact(
                    "farthest up the slope [m], speed² / (2 g (sin + mu cos))", float(x.min()), turn,
                    dt * dt * GRAVITY + 1e-9,
                ),
                Fact(
                    "place at the end [m], closed form", float(x[-1]), turn + 0.5 * falling * after**2,
                    near * after + 1e-8,
                ),
            ]  # fmt: skip
            sliding = (t > stop + 2.0 * dt)[1:]
            if sliding.sum() > 2:
                r = trajectory.interaction("slope").r[1:][sliding]
                ratio = float(r[:, 1].sum() / r[:, 0].sum())
                found.append(
                    Fact(
                        "friction over normal force after the stop [-]: -min(tan, mu)", ratio,
                        -min(sine / cosine, mu), 1e-6,
                    )
                )  # fmt: skip
        return found

    def figure(trajectory: Trajectory) -> Figure:
        t, block = trajectory.t, trajectory.system("block")
        force = trajectory.interaction("slope").r[1:] / np.diff(t)[:, None]
        return Figure(
            f"Block on a slope of {angle:g}°, mu = {mu:g}: it " + ("stays" if sticks else "slides back"),
            [
                Panel("Way down the slope", "t [s]", "x [m]", [Curve("block", t, block.q[:, 0])]),
                Panel("Velocity", "t [s]", "v [m/s]", [Curve("block", t, block.v[:, 0])]),
                Panel(
                    "Contact force", "t [s]", "force [N]",
                    [Curve("normal", t[1:], force[:, 0]), Curve("friction", t[1:], force[:, 1], "--")],
                ),
                Panel("Energy", "t [s]", "E [J]", [Curve("total", t, energy(trajectory))]),
            ],
        )  # fmt: skip

    return Scenario(
        "incline-block", "A block launched up a slope stops, and stays or slides back.",
        NonsmoothSystem([block], [slope]), until, h, "moreau-jean", {}, facts, figure,
        ("moreau-jean", "event-driven"),
    )  # fmt: skip
