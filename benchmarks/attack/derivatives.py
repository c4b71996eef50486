"""Derivatives of random steps: if `exists` is claimed, finite differences from both sides must agree.

The step is repeated from states displaced along one direction of velocities and positions, forwards and
backwards, by 1e-4 to 1e-8 of it. The claim is false if the differences of one side deviate from the
derivative for all lengths, by more than 1 % and more than the solver's tolerance explains.
"""

import json
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import stickslip as ss
from benchmarks.attack import runs, systems, worlds
from stickslip.schemes import registry

LENGTHS = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""Lengths of the differences, over the direction, whose velocities and places are of order 1 [-]."""
TOLERANCE = 1e-12
"""Tolerance of the steps [-]."""
Array = np.ndarray


@dataclass
class Tally:
    """Counts of claims by scheme, and the false claims."""

    claims: Counter[tuple[str, str]] = field(default_factory=Counter)
    families: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    false: list[dict[str, object]] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Add the counts of another process."""
        for name in ("claims", "families", "seconds"):
            getattr(self, name).update(getattr(other, name))
        self.false.extend(other.false)


def plan_of(seed: int, index: int) -> tuple[runs.Plan, np.random.Generator]:
    """Return a random plan that can be differentiated, and the generator for further choices.

    Its contacts have closed forms; it has no correction of positions and no Poisson impacts.
    """
    rng = np.random.default_rng([seed, index, 2])
    while True:
        if rng.random() < 0.4:
            system = systems.plan(rng)
            if system.scheme in ("moreau-jean", "variational") and system.impact == "newton":
                return replace(system, solver="auto"), rng
            continue
        plan = worlds.plan(rng)
        bodies = tuple(body for body in plan.bodies if body.shape in ("ball", "cuboid", "capsule"))
        if plan.ground == "terrain" or not bodies or plan.options.get("impact") == "poisson":
            continue
        if len(bodies) > 1 and any(body.shape != "ball" for body in bodies):
            bodies = bodies[:1]
        options = {"correction": False} if plan.scheme == "moreau-jean-semi-explicit" else {"contact": "cone"}
        joints = plan.joints if len(bodies) == len(plan.bodies) else ()
        return replace(plan, bodies=bodies, joints=joints, options=options, solver="auto"), rng


def attack(indices: range, seed: int, folder: Path | None) -> Tally:
    """Differentiate the steps of these indices and check the claims; write false claims to a folder."""
    tally = Tally()
    for index in indices:
        plan, rng = plan_of(seed, index)
        before = int(rng.integers(0, 6))
        direction = int(rng.integers(2**31))
        start = perf_counter()
        claim, faults = examine(plan, before, direction)
        tally.seconds[plan.scheme] += perf_counter() - start
        tally.claims[plan.scheme, claim] += 1
        tally.families[plan.family, plan.scheme, claim] += 1
        if faults:
            line: dict[str, object] = {
                "scheme": plan.scheme, "family": plan.family, "claim": claim, "seed": seed, "index": index,
                "why": faults, "before": before, "direction": direction,
            }  # fmt: skip
            if folder is not None:
                path = folder / f"derivative-{plan.scheme}-{seed}-{index}.json"
                path.write_text(json.dumps({"plan": runs.plain(plan), "about": line}, indent=1))
                line["file"] = str(path)
            tally.false.append(line)
    return tally


def examine(plan: runs.Plan, before: int, direction: int) -> tuple[str, list[str]]:
    """Return the claim about the derivative of the step after `before` steps, and its faults."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model: Any = runs.world_of(plan) if isinstance(plan, worlds.Plan) else runs.system_of(plan)
            scheme = registry.make(plan.scheme, **plan.options)
            state = None
            if isinstance(plan, worlds.Plan):
                state = model.start
                if before:
                    state = runs.run_of(replace(plan, steps=before)).checkpoint().state
            derivative: Any = ss.differentiate(model, state, h=plan.h, scheme=scheme, tolerance=TOLERANCE)
    except (ss.ModelError, ss.SimulationFailure):
        return "refused", []
    except Exception as error:
        return type(error).__name__, [f"{type(error).__name__}: {error}"]
    if not derivative.exists:
        return "exists False", []
    return "exists True", refute(plan, state, derivative, np.random.default_rng(direction))


def refute(plan: runs.Plan, state: Any, derivative: Any, rng: np.random.Generator) -> list[str]:
    """Compare the derivative of the final velocities with differences along a random direction."""
    if isinstance(plan, worlds.Plan):
        return _compare(*_of_world(plan, state, derivative, rng))
    a = plan.arrays
    dq, dv = _direction(rng, a["q0"].size)
    slope = np.asarray(derivative.jvp(q=dq, v=dv)["v"]).reshape(-1)

    def after(length: float) -> Array | None:
        arrays = {**a, "q0": a["q0"] + length * dq, "v0": a["v0"] + length * dv}
        try:
            run = runs.run_of(replace(plan, arrays=arrays, steps=1, tolerance=TOLERANCE))
        except ss.ModelError:  # the start is in penetration
            return None
        return np.array(run.v[-1]) if bool(run.ok[-1]) else None

    return _compare(slope, after)


def _direction(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """Return a direction of positions and velocities: of both, or of one of them."""
    which = rng.random()
    dq = np.zeros(size) if which < 0.5 else rng.normal(size=size)
    return dq, np.zeros(size) if which > 0.8 else rng.normal(size=size)


def _of_world(
    plan: worlds.Plan, state: Any, derivative: Any, rng: np.random.Generator
) -> tuple[Array, Callable[[float], Array | None]]:
    """Return the derivative along a random direction, and a function of the displacement along it that
    returns the velocities after the step."""
    first, count = int(plan.ground != "none"), len(plan.bodies)
    dx, dv = np.zeros((first + count, 6)), np.zeros((first + count, 6))
    positions, velocities = _direction(rng, 6 * count)
    dv[first:] = velocities.reshape(count, 6)
    if not plan.joints:  # positions that open joints are refused
        dx[first:, :3] = positions.reshape(count, 6)[:, :3]
    slope = derivative.jvp(q=dx.reshape(-1), v=dv.reshape(-1))["v"].reshape(-1)
    world = runs.world_of(plan)

    def after(length: float) -> Array | None:
        q, v = np.array(state.q).reshape(-1, 7), np.array(state.v).reshape(-1, 6)
        q[:, :3] += length * dx[:, :3]
        moved = ss.State(state.t, q.reshape(-1), (v + length * dv).reshape(-1))
        try:
            run = ss.simulate(
                world, until=state.t + plan.h, h=plan.h, scheme=registry.make(plan.scheme, **plan.options),
                start=moved, tolerance=TOLERANCE, on_failure="accept",
            )  # fmt: skip
        except ss.ModelError:
            return None
        return np.array(run.v[-1]) if bool(run.ok[-1]) else None

    return slope, after


def _compare(slope: Array, after: Callable[[float], Array | None]) -> list[str]:
    """Compare differences from both sides at all lengths; no fault if one length agrees or a step fails."""
    here = after(0.0)
    if here is None:
        return []
    speed, worst = 1.0 + float(np.abs(here).max()), []
    for length in LENGTHS:
        ahead, behind = after(length), after(-length)
        if ahead is None or behind is None:
            return []
        slopes = (ahead - here) / length, (here - behind) / length
        scale = max(float(np.abs(x).max()) for x in (slope, *slopes))
        error = max(float(np.abs(side - slope).max()) for side in slopes)
        bound = 1e-2 * scale + 100.0 * TOLERANCE * speed / length
        if error <= bound:
            return []
        worst.append(f"{length:.0e}: {error:.2e} > {bound:.2e}")
    return ["differences miss the derivative, by length: " + ", ".join(worst)]


def replay(path: Path) -> list[str]:
    """Differentiate the step of a file again, print the claim and its faults, and return the faults."""
    text = json.loads(path.read_text())
    plan, about = runs.planned(text["plan"]), text["about"]
    claim, faults = examine(plan, about["before"], about["direction"])
    print(claim)
    print("\n".join(f"FALSE: {one}" for one in faults) or "no false claim")
    return faults
