"""Worlds of balls above a floor, and a simple scheme for them, for tests of runs."""

from dataclasses import dataclass

import numpy as np

import stickslip as ss
from stickslip.detection.contacts import ContactSet
from stickslip.mechanics import energy
from stickslip.options import Options, option
from stickslip.schemes.body_step import BodyPart, EnergyTerms
from stickslip.schemes.step import Step
from stickslip.state import State


def balls(count=2, sensor=None, mass=2.0, joint=False):
    """Return balls with radius 0.1 m above a floor, the k-th at (k, 0, 0.3 + k / 10)."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    for k in range(count):
        builder.body(f"ball {k}", ss.Sphere(0.1), position=(k, 0, 0.3 + 0.1 * k), mass=mass)
    if sensor is not None:
        builder.sensor(sensor)
    if joint:
        builder.joint("rope", "distance", "ball 0", None, point=(0, 0, 0.3), second_point=(0, 0, 2))
    return builder.build()


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop(Options):
    """Scheme of falling balls that stop at the floor, without a solver."""

    bad: float = option(np.inf, "from then on steps are not good", unit="s")
    short: float = option(0.0, "unless they are no longer than this", unit="s")
    lost: float = option(np.inf, "from then on velocities are no numbers", unit="s")

    def begin(self, prepared, state, h):
        return {"count": np.zeros(1), "hit": np.zeros(0)}

    def step(self, prepared, state, memory, h, solver):
        world = prepared.world
        q, v = np.array(state.q.reshape(-1, 7)), np.array(state.v.reshape(-1, 6))
        v[1:, 2] -= 9.81 * h
        hit = 1 + np.flatnonzero(q[1:, 2] + h * v[1:, 2] < 0.1)
        r = np.zeros((hit.size, 6))
        r[:, 0] = -world.mass[hit] * v[hit, 2]
        kinetic = energy.kinetic(world, v.reshape(-1))
        v[hit, 2] = 0.0
        q[:, :3] += h * v[:, :3]
        after = energy.kinetic(world, v.reshape(-1))
        if state.t + h >= self.lost:
            v[1, 0] = np.nan
        n = hit.size
        frame = np.array([[0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
        contacts = ContactSet(
            hit, np.stack([0 * hit, hit], 1), np.stack([0 * hit, hit], 1), q[hit, :3] - [0.0, 0.0, 0.1],
            np.tile(frame, (n, 1, 1)), q[hit, 2] - 0.1, np.tile([0.5, 0.0, 0.0, 0.0], (n, 1)),
        )  # fmt: skip
        end = State(state.t + h, q.reshape(-1), v.reshape(-1))
        account = EnergyTerms(after, energy.potential(world, end.t, end.q), kinetic - after, 0.0, 0.0, 0.0)
        reason = "deliberate failure" if state.t + 1e-9 >= self.bad and h > self.short else ""
        memory = {"count": memory["count"] + 1.0, "hit": hit.astype(float)}
        return Step(
            end, h, r, np.zeros((n, 6)), memory, reason=reason,
            bodies=BodyPart(contacts, np.zeros(n % 2), account, 1e-3 * n, 0.0, 1e-4 * n),
        )  # fmt: skip


def equal(a, b, rows=slice(None), but=()):
    """Assert that every column of b equals that of the rows of a, bit for bit; but: columns not compared."""
    for name in [name for name in COLUMNS if name not in but]:
        x, y = getattr(a, name)[rows], getattr(b, name)
        assert x.dtype == y.dtype
        np.testing.assert_array_equal(x, y, err_msg=name)


COLUMNS = (
    "t", "h", "q", "v", "ok", "natural", "natural_scaled", "iterations", "penetration", "opening",
    "correction", "kinetic", "potential", "dissipated", "work", "lifted", "balance",
)  # fmt: skip
CONTACTS = ("id", "body", "point", "frame", "gap", "law", "r", "u")
