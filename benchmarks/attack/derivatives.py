"""Derivatives of random steps: if `exists` is claimed, finite differences from both sides must agree.

The step is made again from states moved along one direction of velocities and places, forwards and backwards,
by 1e-4 to 1e-8 of it. The claim is false where no length agrees: the slope of one side misses the derivative
by more than a hundredth of either, and more than the solver's tolerance explains.
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
"""Of the steps."""
Array = np.ndarray


@dataclass
class Tally:
    """What was claimed, by scheme, and what was wrong."""

    claims: Counter[tuple[str, str]] = field(default_factory=Counter)
    families: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    false: list[dict[str, object]] = field(default_factory=list)
    seconds: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Tally") -> None:
        """Take in what another process counted."""
        for name in ("claims", "families", "seconds"):
            getattr(self, name).update(getattr(other, name))
        self.false.extend(other.false)


def plan_of(seed: int, index: int) -> tuple[runs.Plan, np.random.Generator]:
    """A plan whose steps have derivatives: shapes in closed form, no correction, Newton's impacts."""
    rng = np.random.default_rng([seed, index, 2])
    while True:
        if rng.random() < 0.4:
            system = systems.plan(rng)
            if system.scheme in ("moreau-jean", "variational") and system.impact == "newton":
                return replace(system, solver="auto"), rng
            continue
        plan = worlds.plan(rng)
        few = tuple(one for one in plan.bodies if one.shape in ("ball", "cuboid", "capsule"))
        if plan.ground == "terrain" or not few or plan.options.get("impact") == "poisson":
            continue
        if len(few) > 1 and any(one.shape != "ball" for one in few):
            few = few[:1]
        options = {"correction": False} if plan.scheme == "moreau-jean-semi-explicit" else {"contact": "cone"}
        joints = plan.joints if len(few) == len(plan.bodies) else ()
        return replace(plan, bodies=few, joints=joints, options=options, solver="auto"), rng


def attack(indices: range, seed: int, folder: Path | None) -> Tally:
    """Differentiate the steps of these indices and check what is claimed."""
    tally = Tally()
    for index in indices:
        plan, rng = plan_of(seed, index)
        before = int(rng.integers(0, 6))
        direction = int(rng.integers(2**31))
        start = perf_counter()
        claim, why = examine(plan, before, direction)
        tally.seconds[plan.scheme] += perf_counter() - start
        tally.claims[plan.scheme, claim] += 1
        tally.families[plan.family, plan.scheme, claim] += 1
        if why:
            line: dict[str, object] = {
                "scheme": plan.scheme, "family": plan.family, "claim": claim, "seed": seed, "index": index,
                "why": why, "before": before, "direction": direction,
            }  # fmt: skip
            if folder is not None:
                path = folder / f"derivative-{plan.scheme}-{seed}-{index}.json"
                path.write_text(json.dumps({"plan": runs.plain(plan), "about": line}, indent=1))
                line["file"] = str(path)
            tally.false.append(line)
    return tally


def examine(plan: runs.Plan, before: int, direction: int) -> tuple[str, list[str]]:
    """What is claimed of the derivative of the step after `before` steps, and why it is wrong."""
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
            found: Any = ss.differentiate(model, state, h=plan.h, scheme=scheme, tolerance=TOLERANCE)
    except (ss.ModelError, ss.SimulationFailure):
        return "refused", []
    except Exception as error:
        return type(error).__name__, [f"{type(error).__name__}: {error}"]
    if not found.exists:
        return "exists False", []
    return "exists True", refute(plan, state, found, np.random.default_rng(direction))


def refute(plan: runs.Plan, state: Any, found: Any, rng: np.random.Generator) -> list[str]:
    """Differences along a random direction against the derivative `found` of the velocities at the end."""
    if isinstance(plan, worlds.Plan):
        return _compare(*_of_world(plan, state, found, rng))
    a = plan.arrays
    dq, dv = _direction(rng, a["q0"].size)
    slope = np.asarray(found.jvp(q=dq, v=dv)["v"]).reshape(-1)

    def after(length: float) -> Array | None:
        arrays = {**a, "q0": a["q0"] + length * dq, "v0": a["v0"] + length * dv}
        try:
            run = runs.run_of(replace(plan, arrays=arrays, steps=1, tolerance=TOLERANCE))
        except ss.ModelError:  # the start is inside
            return None
        return np.array(run.v[-1]) if bool(run.ok[-1]) else None

    return _compare(slope, after)


def _direction(rng: np.random.Generator, size: int) -> tuple[Array, Array]:
    """Of places and velocities: of both, or of one of them."""
    which = rng.random()
    dq = np.zeros(size) if which < 0.5 else rng.normal(size=size)
    return dq, np.zeros(size) if which > 0.8 else rng.normal(size=size)


def _of_world(
    plan: worlds.Plan, state: Any, found: Any, rng: np.random.Generator
) -> tuple[Array, Callable[[float], Array | None]]:
    """The derivative along a direction, and the velocities after a step from a state moved along it."""
    first, count = int(plan.ground != "none"), len(plan.bodies)
    dx, dv = np.zeros((first + count, 6)), np.zeros((first + count, 6))
    places, velocities = _direction(rng, 6 * count)
    dv[first:] = velocities.reshape(count, 6)
    if not plan.joints:  # places that open joints are refused
        dx[first:, :3] = places.reshape(count, 6)[:, :3]
    slope = found.jvp(q=dx.reshape(-1), v=dv.reshape(-1))["v"].reshape(-1)
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
    """Differences from both sides at all lengths; nothing where one length agrees, or a step is not good."""
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
        off = max(float(np.abs(one - slope).max()) for one in slopes)
        due = 1e-2 * scale + 100.0 * TOLERANCE * speed / length
        if off <= due:
            return []
        worst.append(f"{length:.0e}: {off:.2e} > {due:.2e}")
    return ["differences miss the derivative, by length: " + ", ".join(worst)]


def replay(path: Path) -> list[str]:
    """Differentiate the step of a file again and print what is claimed and why it is wrong."""
    text = json.loads(path.read_text())
    plan, about = runs.planned(text["plan"]), text["about"]
    claim, why = examine(plan, about["before"], about["direction"])
    print(claim)
    print("\n".join(f"FALSE: {one}" for one in why) or "no false claim")
    return why
