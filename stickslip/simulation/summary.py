"""Summary of a trajectory as text."""

from collections import Counter
from typing import Any

import numpy as np

from stickslip.kernels import cones
from stickslip.mechanics.world import BodyKind
from stickslip.problem.solution import Verdict
from stickslip.schemes import registry
from stickslip.simulation.model import Model
from stickslip.simulation.trajectory import Trajectory


def summary(run: Trajectory) -> str:
    """Return a summary of the model, the method, the verdict and the measured quantities."""
    n, systems = len(run), isinstance(run.model, Model)
    options = ", ".join(f"{name}={value}" for name, value in unusual(run).items())
    model_lines, measured = _of_systems(run) if systems else _of_world(run)
    end = "" if run.complete else "; unfinished"
    lines = [
        *model_lines,
        ("scheme", f"{run.scheme} ({options})" if options else run.scheme),
        ("solver", f"{run.solver}, tolerance {run.tolerance:g}"),
        ("time", f"{run.t[0]:g} to {run.t[-1]:g} s, {run.clock.told}{end}"),
        ("steps", f"{run.steps}, {n - 1} recorded, {run.missed} missed their tolerance{_pace(run)}"),
        ("verdict", verdict(run)),
        ("residuals", residuals(run)),
        *measured,
        *(("note", text) for text in run.notes),
    ]
    return "\n".join([f"trajectory of {n} records", *(f"  {name:<13}{text}" for name, text in lines)])


def _pace(run: Trajectory) -> str:
    """Return the statistics of adaptive steps, as part of a sentence."""
    if run.pace is None:
        return ""
    coarse = f", {run.pace.coarse} of the shortest kept with a larger error" if run.pace.coarse else ""
    return f"; {run.pace.rejected} pairs rejected{coarse}"


def _of_systems(run: Trajectory) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the lines on the model and on the measured quantities of a run of systems."""
    model, measured = run.model, []
    model_lines = [
        ("systems", ", ".join(f"{s.name} ({s.kind})" for s in model.systems)),
        ("interactions", ", ".join(i.name for i in model.interactions) or "none"),
    ]
    mechanical = [part for part in model.interactions if not part.first_order]
    if mechanical:
        measured.append(("penetration", f"{np.max(run.penetration):.3g} m"))
    if any((part.K.kind == cones.FREE).any() for part in mechanical):
        measured.append(("joints", f"open by {np.max(run.opening):.3g} at most [m, rad]"))
    if any(not part.first_order for part in model.systems):
        energy, work = run.energy, run.contact_work[-1] - run.contact_work[0]
        did = f"; contacts did {work:.6g} J" if np.isfinite(work) else ""
        names = ", ".join(repr(s.name) for s in model.systems if not s.potential_known)
        unknown = f"; potential of {names} unknown" if names else ""
        measured.append(("energy", f"{energy[0]:.6g} J to {energy[-1]:.6g} J{did}{unknown}"))
    counts = Counter(event.kind for event in run.events)
    measured.append(("events", ", ".join(f"{count} {kind}" for kind, count in counts.items()) or "none"))
    return model_lines, measured


def _of_world(run: Trajectory) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the lines on the model and on the measured quantities of a run of a world."""
    model, energy = run.model, run.energy
    model_lines = [
        ("bodies", bodies(run)),
        ("shapes", ", ".join(f"{count} {kind}" for kind, count in shapes(run).items()) or "none"),
    ]
    if model.joints:
        opening = f"open by {np.max(run.opening):.3g} at most [m, rad]"
        model_lines.append(("joints", f"{len(model.joints)}, {opening}"))
    counts = np.diff(run.store.offset("contacts"))
    did = [
        f"{name} {run.column(name)[-1]:.6g} J"
        for name in ("dissipated", "work", "lifted")
        if run.column(name)[-1] != 0.0
    ]
    forces = "as the solver found them; whether they are unique is not known"
    if run.forces == "least":
        forces = "of least norm where several are certified; contact_table says where"
    measured = [
        ("iterations", f"{int(run.iterations.sum())}"),
        ("contacts", f"{counts[-1]} at the end, {counts.max()} at most in a record"),
        ("forces", forces),
        ("penetration", f"{np.max(run.penetration):.3g} m at most"),
        ("correction", f"{np.max(run.correction):.3g} m at most"),
        ("energy", ", ".join([f"{energy[0]:.6g} J to {energy[-1]:.6g} J", *did])),
        ("balance", f"kept to {np.max(np.abs(run.balance)):.2e} J"),
    ]
    if run.sensors:
        measured.append(("sensors", ", ".join(run.sensors)))
    return model_lines, measured


def verdict(run: Trajectory) -> str:
    """Return the verdict of the run in one line."""
    if run.relaxed:
        missed = f"; {run.missed} steps missed their tolerance" if run.missed else ""
        return f"relaxed, {run.relaxation}: not certified by the exact law{missed}"
    if run.verdict is Verdict.CERTIFIED:
        return f"certified by the exact law, every step to {run.tolerance:g}"
    return f"missed, {run.missed} of {run.steps} steps are not certified"


def residuals(run: Trajectory) -> str:
    """Return the largest residuals of the run in one line."""
    natural, scaled = np.max(run.natural), np.max(run.natural_scaled)
    if run.relaxed and not scaled > 0.0:
        return "none: nothing was solved that the judge measures"
    nothing = "; they certify nothing" if run.relaxed else ""
    return f"worst natural {natural:.1e}, natural_scaled {scaled:.1e}{nothing}"


def unusual(run: Trajectory) -> dict[str, Any]:
    """Return the options of the scheme that differ from their defaults."""
    if run.scheme not in registry.names():
        return dict(run.scheme_options)
    _, defaults = registry.described(registry.make(run.scheme))
    return {k: value for k, value in run.scheme_options.items() if value != defaults.get(k)}


def bodies(run: Trajectory) -> str:
    """Return the number of bodies of each kind, as text."""
    kinds = Counter(run.model.kind.tolist())
    return ", ".join(f"{kinds[kind]} {kind.name.lower()}" for kind in BodyKind if kinds[kind]) or "none"


def shapes(run: Trajectory) -> dict[str, int]:
    """Return the number of shapes of each kind."""
    return dict(sorted(Counter(shape.kind for shape in run.model.shapes).items()))
