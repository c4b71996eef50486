"""A trajectory of a world in a few lines."""

from collections import Counter

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.simulation.summary import residuals, unusual, verdict
from stickslip.simulation.world_trajectory import WorldTrajectory


def summary(trajectory: WorldTrajectory) -> str:
    """What was simulated, how, and how well."""
    n, model = len(trajectory), trajectory.model
    options = ", ".join(f"{name}={value}" for name, value in unusual(trajectory).items())
    lines = [
        ("bodies", bodies(trajectory)),
        ("shapes", ", ".join(f"{count} {kind}" for kind, count in shapes(trajectory).items()) or "none"),
        ("scheme", f"{trajectory.scheme} ({options})" if options else trajectory.scheme),
        ("solver", f"{trajectory.solver}, tolerance {trajectory.tolerance:g}"),
        ("time", f"{trajectory.t[0]:g} to {trajectory.t[-1]:g} s, h = {trajectory.clock.h:g} s"),
        ("steps", f"{trajectory.steps}, {n - 1} recorded, {trajectory.missed} missed their tolerance"),
        ("verdict", verdict(trajectory)),
        ("residuals", residuals(trajectory)),
        ("iterations", f"{int(trajectory.iterations.sum())}"),
        ("contacts", _contacts(trajectory)),
        ("forces", _forces(trajectory)),
        ("penetration", f"{np.max(trajectory.penetration):.3g} m at most"),
        ("correction", f"{np.max(trajectory.correction):.3g} m at most"),
        ("energy", _energy(trajectory)),
        ("balance", _balance(trajectory)),
    ]
    if model.joints:
        opening = f"open by {np.max(trajectory.opening):.3g} at most [m, rad]"
        lines.insert(2, ("joints", f"{len(model.joints)}, {opening}"))
    if trajectory.sensors:
        lines.append(("sensors", ", ".join(trajectory.sensors)))
    lines += [("note", text) for text in trajectory.notes]
    return "\n".join([f"trajectory of {n} records", *(f"  {name:<13}{text}" for name, text in lines)])


def bodies(trajectory: WorldTrajectory) -> str:
    """How many bodies of which kind."""
    kinds = Counter(trajectory.model.kind.tolist())
    return ", ".join(f"{kinds[kind]} {kind.name.lower()}" for kind in BodyKind if kinds[kind]) or "none"


def shapes(trajectory: WorldTrajectory) -> dict[str, int]:
    """How many shapes of which kind."""
    return dict(sorted(Counter(shape.kind for shape in trajectory.model.shapes).items()))


def _contacts(trajectory: WorldTrajectory) -> str:
    counts = np.diff(trajectory.raw_contacts.offset)
    return f"{counts[-1]} at the end, {counts.max()} at most in a record"


def _forces(trajectory: WorldTrajectory) -> str:
    """Which of many certified impulses are told."""
    if trajectory.forces != "least":
        return "as the solver found them; whether they are unique is not known"
    return "of least norm where several are certified; contact_table says where"


def _energy(trajectory: WorldTrajectory) -> str:
    start, end = trajectory.energy[0], trajectory.energy[-1]
    did = [
        f"{name} {getattr(trajectory, name)[-1]:.6g} J"
        for name in ("dissipated", "work", "lifted")
        if getattr(trajectory, name)[-1] != 0.0
    ]
    return ", ".join([f"{start:.6g} J to {end:.6g} J", *did])


def _balance(trajectory: WorldTrajectory) -> str:
    """The largest error of the sum of all energies."""
    return f"kept to {np.max(np.abs(trajectory.balance)):.2e} J"
