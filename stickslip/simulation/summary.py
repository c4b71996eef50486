"""A trajectory in a few lines."""

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.kernels import cones
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.simulation.trajectory import Trajectory

if TYPE_CHECKING:
    from stickslip.simulation.world_trajectory import WorldTrajectory


def penetration(trajectory: Trajectory) -> float:
    """Deepest penetration of any unilateral contact of mechanics [m]; 0 where there was none."""
    deepest = 0.0
    for part, components, _ in trajectory.model.places:
        if part.first_order:
            continue
        unilateral = (part.K.kind == cones.NONNEGATIVE) | (part.K.kind == cones.FRICTION)
        gaps = trajectory.y[:, components][:, part.K.offset[:-1][unilateral]]
        deepest = max(deepest, -float(np.min(gaps, initial=0.0)))
    return deepest


def opening(trajectory: Trajectory) -> float:
    """Largest |y| of any bilateral constraint of mechanics [m, rad]; 0 where there was none."""
    largest = 0.0
    for part, components, _ in trajectory.model.places:
        if not part.first_order:
            held = np.repeat(part.K.kind == cones.FREE, np.diff(part.K.offset))
            largest = max(largest, float(np.abs(trajectory.y[:, components][:, held]).max(initial=0.0)))
    return largest


def summary(trajectory: Trajectory) -> str:
    """What was simulated, how, and how well."""
    model, n = trajectory.model, len(trajectory)
    options = ", ".join(f"{name}={value}" for name, value in unusual(trajectory).items())
    lines = [
        ("systems", ", ".join(f"{s.name} ({s.kind})" for s in model.systems)),
        ("interactions", ", ".join(i.name for i in model.interactions) or "none"),
        ("scheme", f"{trajectory.scheme} ({options})" if options else trajectory.scheme),
        ("solver", f"{trajectory.solver}, tolerance {trajectory.tolerance:g}"),
        ("time", f"{trajectory.t[0]:g} to {trajectory.t[-1]:g} s, h = {trajectory.clock.h:g} s"),
        ("steps", f"{trajectory.steps}, {n - 1} recorded, {trajectory.missed} missed their tolerance"),
        ("verdict", verdict(trajectory)),
        ("residuals", residuals(trajectory)),
    ]
    if any(not part.first_order for part in model.interactions):
        lines.append(("penetration", f"{trajectory.penetration:.3g} m"))
    if any(not part.first_order and (part.K.kind == cones.FREE).any() for part in model.interactions):
        lines.append(("joints", f"open by {trajectory.opening:.3g} at most [m, rad]"))
    if any(not part.first_order for part in model.systems):
        start, end = trajectory.energy[0], trajectory.energy[-1]
        work = trajectory.contact_work[-1] - trajectory.contact_work[0]
        did = f"; contacts did {work:.6g} J" if np.isfinite(work) else ""
        lines.append(("energy", f"{start:.6g} J to {end:.6g} J{did}{_unknown(trajectory)}"))
    lines.append(("events", _events(trajectory)))
    return "\n".join([f"trajectory of {n} records", *(f"  {name:<13}{text}" for name, text in lines)])


def verdict(trajectory: "Trajectory | WorldTrajectory") -> str:
    """What the run proves, in one line."""
    if trajectory.relaxed:
        missed = f"; {trajectory.missed} steps missed their tolerance" if trajectory.missed else ""
        return f"relaxed, {trajectory.relaxation}: not certified by the exact law{missed}"
    if trajectory.verdict is Verdict.CERTIFIED:
        return f"certified by the exact law, every step to {trajectory.tolerance:g}"
    return f"missed, {trajectory.missed} of {trajectory.steps} steps are not certified"


def residuals(trajectory: "Trajectory | WorldTrajectory") -> str:
    """How well the problems of the steps were solved, in one line."""
    natural, scaled = np.max(trajectory.natural), np.max(trajectory.natural_scaled)
    if trajectory.relaxed and not scaled > 0.0:
        return "none: nothing was solved that the judge measures"
    nothing = "; they certify nothing" if trajectory.relaxed else ""
    return f"worst natural {natural:.1e}, natural_scaled {scaled:.1e}{nothing}"


def _unknown(trajectory: Trajectory) -> str:
    """Whose potential energy is missing from the energies."""
    names = ", ".join(repr(s.name) for s in trajectory.model.systems if not s.potential_known)
    return f"; potential of {names} unknown" if names else ""


def unusual(trajectory: Any) -> dict[str, Any]:
    """Options of the scheme that are not what they are by default."""
    if trajectory.scheme not in registry.names():
        return dict(trajectory.scheme_options)
    _, defaults = registry.described(registry.make(trajectory.scheme))
    return {k: value for k, value in trajectory.scheme_options.items() if value != defaults.get(k)}


def _events(trajectory: Trajectory) -> str:
    counts: dict[str, int] = {}
    for event in trajectory.events:
        counts[event.kind] = counts.get(event.kind, 0) + 1
    return ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none"
