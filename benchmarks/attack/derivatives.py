"""Random steps, differentiated: where `exists` is claimed, differences from both sides must agree with it.

The step is made again from states moved along one direction of velocities and places, forwards and backwards,
by 1e-4 to 1e-8 of it. The claim is false where no length agrees: the slope of one side misses the derivative
by more than a hundredth of either, and more than the solver's tolerance explains.
"""

import json
import warnings
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import stickslip as ss
from benchmarks.attack import runs, worlds
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


def plan_of(seed: int, index: int) -> tuple[worlds.Plan, np.random.Generator]:
    """A plan whose steps have derivatives: shapes in closed form, no correction."""
    rng = np.random.default_rng([seed, index, 2])
    while True:
        plan = worlds.plan(rng)
        few = tuple(one for one in plan.bodies if one.shape in ("ball", "cuboid", "capsule"))
        if plan.ground == "terrain" or not few or plan.options.get("impact") == "poisson":
            continue
        if len(few) > 1 and any(one.shape != "ball" for one in few):
            few = few[:1]
        options = {"correction": False} if plan.scheme == "moreau-jean-bodies" else {"contact": "cone"}
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


def examine(plan: worlds.Plan, before: int, direction: int) -> tuple[str, list[str]]:
    """What is claimed of the derivative of the step after `before` steps, and why it is wrong."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            world = runs.world_of(plan)
            scheme = registry.make(plan.scheme, **plan.options)
            state = world.start
            if before:
                state = runs.run_of(replace(plan, steps=before)).checkpoint().state
            found: Any = ss.differentiate(world, state, h=plan.h, scheme=scheme, tolerance=TOLERANCE)
    except (ss.ModelError, ss.SimulationFailure):
        return "refused", []
    except Exception as error:
        return type(error).__name__, [f"{type(error).__name__}: {error}"]
    if not found.exists:
        return "exists False", []
    return "exists True", _refute(plan, world, scheme, state, found, direction)


def _refute(plan: worlds.Plan, world: Any, scheme: Any, state: Any, found: Any, direction: int) -> list[str]:
    rng = np.random.default_rng(direction)
    first = 0 if plan.ground == "none" else 1
    count = len(plan.bodies)
    dv, dx = np.zeros((first + count, 6)), np.zeros((first + count, 6))
    if rng.random() < 0.7:
        dv[first:] = rng.normal(size=(count, 6))
    if not dv.any() or rng.random() < 0.5:
        dx[first:, :3] = rng.normal(size=(count, 3))
    if plan.joints:  # places that open joints are refused
        dx[:] = 0.0
        dv[first:] = rng.normal(size=(count, 6))
    slope = found.jvp(q=dx.reshape(-1), v=dv.reshape(-1))["v"].reshape(-1)

    def after(length: float) -> Array | None:
        q, v = np.array(state.q).reshape(-1, 7), np.array(state.v).reshape(-1, 6)
        q[:, :3] += length * dx[:, :3]
        moved = ss.State(state.t, q.reshape(-1), (v + length * dv).reshape(-1))
        try:
            run = ss.simulate(
                world, until=state.t + plan.h, h=plan.h, scheme=scheme, start=moved, tolerance=TOLERANCE,
                on_failure="accept",
            )  # fmt: skip
        except ss.ModelError:
            return None
        return np.array(run.v[-1]) if bool(run.ok[-1]) else None

    here = after(0.0)
    if here is None:
        return []
    speed, worst = 1.0 + float(np.abs(here).max()), []
    for length in LENGTHS:
        sides = [after(length), after(-length)]
        if any(side is None for side in sides):
            return []
        slopes = [(side - here) / (sign * length) for side, sign in zip(sides, (1.0, -1.0), strict=True)]
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
    assert isinstance(plan, worlds.Plan)
    claim, why = examine(plan, about["before"], about["direction"])
    print(claim)
    print("\n".join(f"FALSE: {one}" for one in why) or "no false claim")
    return why
