"""What is certified about a run of bodies: residuals, overlaps, energy; each with what is allowed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from stickslip.cli.tables import table

if TYPE_CHECKING:
    from stickslip.simulation.world_trajectory import WorldTrajectory

ROUNDING = 1e-12
"""Error of the balance of energy that rounding may leave in a thousand steps [of the largest energy]."""


class Bound(NamedTuple):
    """A line of the table: something that must not be more than it may be."""

    claim: str
    """What was measured, in words."""
    measured: float
    """The number."""
    allowed: float
    """The most that it may be."""
    unit: str = ""
    """Of both numbers."""
    note: str = ""
    """The same in other words, or why it may be so much."""

    @property
    def ok(self) -> bool:
        """Whether it holds; not for what is not a number."""
        return self.measured <= self.allowed


def certificates(trajectory: WorldTrajectory, size: float) -> list[Bound]:
    """Of a run whose bodies are about `size` [m] wide; all steps count, recorded or not."""
    run, depth = trajectory, float(trajectory.penetration.max())
    speed = np.linalg.norm(run.v.reshape(len(run), -1, 6)[:, :, :3], axis=2).max()
    balance = float(np.abs(run.balance).max()) / _largest_energy(run)
    return [
        Bound("steps above the tolerance", float(run.missed), 0.0, note=f"of {run.steps}"),
        Bound("natural residual, worst step", float(run.natural.max()), run.tolerance),
        Bound(
            "the same, independent of units", float(run.natural_scaled.max()), run.tolerance,
        ),
        Bound(
            "deepest penetration", depth, 2.0 * float(speed * run.h.max()), "m",
            f"{depth / size:.3f} diameters; allowed: two of the fastest meet within a step",
        ),
        Bound(
            "error of the energy balance", balance, ROUNDING * max(1.0, run.steps / 1000.0),
            note="of the largest energy; allowed: rounding",
        ),
    ]  # fmt: skip


def show_certificates(found: list[Bound]) -> bool:
    """Print them; whether all hold."""
    rows = [
        (
            one.claim, _number(one.measured, one.unit), _number(one.allowed, one.unit),
            "yes" if one.ok else "NO", one.note,
        )
        for one in found
    ]  # fmt: skip
    table(("certificate", "measured", "allowed", "ok", ""), rows, numbers=("measured", "allowed"))
    return all(one.ok for one in found)


def show_energy(trajectory: WorldTrajectory) -> None:
    """Print where energy was at the start and at the end, and where it went."""
    run = trajectory
    rows = [
        (f"{name}, at the {when}", float(values[k]))
        for when, k in (("start", 0), ("end", -1))
        for name, values in (("kinetic", run.kinetic), ("potential", run.potential))
    ]
    rows += [
        ("dissipated by contacts", float(run.dissipated[-1])),
        ("given by what moves or pushes", float(run.work[-1])),
        ("lifted by the correction of overlaps", float(run.lifted[-1])),
        ("left over: the error of the balance", float(run.balance[-1])),
    ]
    table(("energy", "J"), [(name, f"{value:.6g}") for name, value in rows if value], numbers=("J",))


def _largest_energy(run: WorldTrajectory) -> float:
    largest = float(run.kinetic.max() + np.abs(run.potential).max() + np.abs(run.work).max())
    return largest or 1.0


def _number(value: float, unit: str) -> str:
    shown = f"{value:.0f}" if value == round(value) and abs(value) < 1e6 else f"{value:.1e}"
    return f"{shown} {unit}".rstrip()
