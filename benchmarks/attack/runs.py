"""Runs of random worlds and systems with every scheme; `motions` and `systems` check the claim `ok`.

Some runs are repeated and interrupted by a SIGINT at a random time. This must raise a KeyboardInterrupt with
a prefix of the first run, bit for bit, or come too late and change nothing.
"""

import json
import signal
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import stickslip as ss
from benchmarks.attack import motions, systems, worlds
from stickslip.schemes import registry

Plan = worlds.Plan | systems.Plan
FAR = """<mujoco><option gravity="0 0 {}"/><worldbody><body name="far" pos="0 0 1000"><joint/>
<geom size="1" contype="0" conaffinity="0"/></body></worldbody></mujoco>"""
"""MJCF template of a robot with one joint and without contacts."""


@dataclass
class Tally:
    """Counts of claims by scheme, and the false claims."""

    claims: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Number of each outcome for each scheme."""
    families: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    """Number of each outcome for each family and scheme."""
    false: list[dict[str, object]] = field(default_factory=list)
    """Every false claim: scheme, family, index, claim, reasons, file."""
    seconds: Counter[str] = field(default_factory=Counter)
    """Time by scheme [s]."""
    steps: int = 0
    """Total number of steps."""

    def add(self, other: "Tally") -> None:
        """Add the counts of another process."""
        for name in ("claims", "families", "seconds"):
            getattr(self, name).update(getattr(other, name))
        self.false.extend(other.false)
        self.steps += other.steps


def world_of(plan: worlds.Plan) -> ss.World:
    """Build the world of a plan."""
    b = ss.WorldBuilder(gravity=(0.0, 0.0, -plan.gravity))
    b.material("default", mu=plan.mu, mu_roll=plan.mu_roll, e=plan.e)
    if plan.ground == "plane":
        b.body("ground", ss.Plane(), fixed=True)
    elif plan.ground == "terrain":
        x = np.linspace(-3.0, 3.0, 25)
        heights = 0.05 * np.sin(4.0 * x)[:, None] * np.cos(3.0 * x)[None, :]
        b.body("ground", ss.HeightField(heights, (6.0, 6.0)), fixed=True)
    for i, body in enumerate(plan.bodies):
        shape = {
            "ball": lambda s: ss.Sphere(s[0]), "cuboid": lambda s: ss.Cuboid(s),
            "capsule": lambda s: ss.Capsule(s[0], s[1]), "cylinder": lambda s: ss.Cylinder(s[0], s[1]),
            "hull": lambda s: ss.ConvexHull(worlds.hull_points(np.array(s))),
        }[body.shape](body.size)  # fmt: skip
        b.body(
            f"body {i}", shape, position=body.position, quaternion=body.quaternion, velocity=body.velocity,
            spin=body.spin, mass=body.mass, inertia=body.inertia, centre=(0.0, 0.0, 0.0),
        )  # fmt: skip
    for n, (kind, i, j, point) in enumerate(plan.joints):
        second = None if j < 0 else f"body {j}"
        if kind == "distance":
            far = point if j < 0 else plan.bodies[j].position
            b.joint(f"joint {n}", kind, f"body {i}", second, point=plan.bodies[i].position, second_point=far)
        else:
            axis = (0.0, 1.0, 0.0) if kind == "hinge" else None
            b.joint(f"joint {n}", kind, f"body {i}", second, point=point, axis=axis)
    return b.build()


def system_of(plan: systems.Plan) -> ss.NonsmoothSystem:
    """Build the system of a plan."""
    a, law = plan.arrays, None
    if plan.scheme == "euler-moreau":
        circuit = ss.FirstOrderLinear("x", A=a["A"], x0=a["x0"], b=a["b"])
        m = a["e"].size
        relation = ss.systems.FirstOrderLinearRelation(C=a["C"], B=a["B"], D=a["D"], e=a["e"])
        law = ss.laws.Complementarity(m) if np.isinf(plan.upper) else ss.laws.Relay(plan.upper, m)
        return ss.NonsmoothSystem([circuit], [ss.Interaction("law", "x", relation, law)])
    K = a["K"] if a["K"].any() else None
    body = ss.LagrangianLinear("q", M=a["M"], q0=a["q0"], v0=a["v0"], K=K, F_ext=a["F"])
    d, n = plan.dimension, a["C"].shape[0]
    ties = []
    for i in range(n // d):
        impact = ss.laws.PoissonImpact if plan.impact == "poisson" else ss.NewtonImpact
        law = impact(e=plan.e) if d == 1 else impact(e=plan.e, mu=plan.mu, dimension=d)
        relation = ss.systems.LagrangianLinearRelation(C=a["C"][i * d : i * d + d])
        ties.append(ss.Interaction(f"contact {i}", "q", relation, law))
    return ss.NonsmoothSystem([body], ties)


def run_of(plan: Plan, progress: Callable[[float, float], None] | None = None) -> Any:
    """Make the run of a plan, with every step recorded."""
    model: Any = world_of(plan) if isinstance(plan, worlds.Plan) else system_of(plan)
    if plan.scheme == worlds.REDUCED:
        model = ss.Robot.load(FAR.format(-plan.gravity)).with_world(model)
    return ss.simulate(
        model, until=plan.h * plan.steps, h=plan.h, scheme=registry.make(plan.scheme, **plan.options),
        solver=plan.solver, tolerance=plan.tolerance, on_failure="accept", progress=progress,
        forces=getattr(plan, "forces", "least"),
    )  # fmt: skip


def wrong(plan: Plan, run: Any) -> list[str]:
    """Return the faults of the claims of a run."""
    if not plan.exact:
        world = isinstance(plan, worlds.Plan)
        touched = np.diff(run.contacts.offset) > 0 if world else np.arange(len(run)) > 0
        return ["ok, but the scheme states another law"] if run.ok[touched].any() else []
    if isinstance(plan, systems.Plan):
        record = systems.Record(run.t, run.q, run.v, run.r, run.u, run.y, run.active, run.ok)
        return systems.refute(plan, record)
    n, c = len(run), run.contacts
    first = 2 if plan.scheme == worlds.REDUCED else 0  # without the inertial frame and the robot
    states = run.poses.reshape(n, -1, 7)[:, first:], run.twists.reshape(n, -1, 6)[:, first:]
    motion = motions.Record(
        run.t, *states, run.ok, run.correction, c.offset, c.body - first, c.point, c.frame, c.r, c.u, c.gap
    )
    return motions.refute(plan, motion)


def plan_of(seed: int, index: int) -> tuple[Plan, np.random.Generator]:
    """Return the plan of an index, and the generator for further choices."""
    rng = np.random.default_rng([seed, index, 1])
    plan = worlds.plan(rng) if rng.random() < 0.5 else systems.plan(rng)
    if plan.scheme == "moreau-jean-semi-explicit" and index % 4 == 3 and not plan.joints:
        plan = worlds.around_robot(plan)
    return plan, rng


def attack(
    indices: range, seed: int, folder: Path | None, progress: Callable[[Tally], None] | None = None,
    interrupts: float = 0.1, only: str = "",
) -> Tally:  # fmt: skip
    """Make the runs of these indices and check their claims; interrupt a share of them."""
    tally = Tally()
    for index in indices:
        plan, rng = plan_of(seed, index)
        if only and plan.scheme != only:
            continue
        _run(tally, plan, seed, index, folder, rng.random() < interrupts, rng)
        if progress is not None:
            progress(tally)
    return tally


def _run(
    tally: Tally,
    plan: Plan,
    seed: int,
    index: int,
    folder: Path | None,
    interrupt: bool,
    rng: np.random.Generator,
) -> None:
    """Make a run, interrupt a second one if requested, and count the claims."""
    start = perf_counter()
    claim, faults, run = _claimed(plan)
    seconds = perf_counter() - start
    if run is not None:
        tally.steps += len(run) - 1
    if run is not None and interrupt:
        outcome, others = interrupted(plan, run, float(rng.uniform(0.0, 1.2)) * seconds)
        tally.claims[plan.scheme, outcome] += 1
        faults += others
    tally.seconds[plan.scheme] += perf_counter() - start
    tally.claims[plan.scheme, claim] += 1
    tally.families[plan.family, plan.scheme, claim] += 1
    if faults:
        line: dict[str, object] = {
            "scheme": plan.scheme, "family": plan.family, "claim": claim, "seed": seed, "index": index,
            "why": faults,
        }  # fmt: skip
        if folder is not None:
            path = folder / f"run-{plan.scheme}-{seed}-{index}.json"
            path.write_text(json.dumps({"plan": plain(plan), "about": line}, indent=1))
            line["file"] = str(path)
        tally.false.append(line)


def _claimed(plan: Plan) -> tuple[str, list[str], Any]:
    """Make a run; return its outcome, the faults of its claims, and the run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            run = run_of(plan)
    except ss.ModelError as error:
        return "refused", [] if str(error) else ["a refusal without a message"], None
    except ss.SimulationFailure:
        return "failed", [], None
    except Exception as error:  # crashes and warnings are faults, too
        return type(error).__name__, [f"{type(error).__name__}: {error}"], None
    claim = "ok" if bool(np.all(run.ok)) else "not ok"
    return claim, wrong(plan, run), run


def interrupted(plan: Plan, whole: Any, delay: float) -> tuple[str, list[str]]:
    """Make a second run with a SIGINT after `delay` [s]; return its outcome and its faults."""
    reached: list[float] = []
    done: list[Any] = []
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        before_alarm = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        try:
            signal.setitimer(signal.ITIMER_REAL, max(delay, 1e-5))
            done.append(run_of(plan, lambda t, _: reached.append(t)))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before_alarm)
    except KeyboardInterrupt as stop:
        if not done:
            return _stopped(whole, getattr(stop, "trajectory", None), reached)
    except Exception as error:
        return "interrupted", [f"an interrupt became {type(error).__name__}: {error}"]
    finally:
        signal.signal(signal.SIGINT, before)
    same = _prefix(whole, done[0]) and len(whole) == len(done[0])
    return "interrupt too late", [] if same else ["the run with a late interrupt differs"]


def _stopped(whole: Any, part: Any, reached: list[float]) -> tuple[str, list[str]]:
    """Compare the part that an interrupt left with the whole run and the times that `progress` reported."""
    if part is None:
        lost = (
            [f"interrupted at t = {reached[-1]:.3g} s, and no part of the run was returned"]
            if reached
            else []
        )
        return "interrupted", lost
    if not _prefix(whole, part):
        return "interrupted", ["the interrupted run is not a prefix of the run"]
    if reached and part.t[-1] < reached[-1] * (1.0 - 1e-12):
        return "interrupted", [f"t = {reached[-1]:.3g} s was reached, but the run ends at {part.t[-1]:.3g} s"]
    return "interrupted", []


def _prefix(whole: Any, part: Any) -> bool:
    """Whether the records of `part` are the first of `whole`, bit for bit."""
    n = len(part)
    return n <= len(whole) and all(
        getattr(whole, name)[:n].tobytes() == getattr(part, name).tobytes()
        for name in ("t", "q", "v", "natural", "ok")
    )


def plain(plan: Plan) -> dict[str, Any]:
    """Convert a plan to data for JSON."""
    data = asdict(plan)
    if "arrays" in data:
        data["arrays"] = {name: np.asarray(x).tolist() for name, x in data["arrays"].items()}
    return {"world": isinstance(plan, worlds.Plan), **data}


def planned(data: dict[str, Any]) -> Plan:
    """Convert the data of `plain` to a plan."""
    fields = dict(data)
    if fields.pop("world"):
        bodies = tuple(
            worlds.Body(**{k: tuple(v) if isinstance(v, list) else v for k, v in body.items()})
            for body in fields.pop("bodies")
        )
        joints = tuple((kind, i, j, tuple(point)) for kind, i, j, point in fields.pop("joints"))
        return worlds.Plan(bodies=bodies, joints=joints, **fields)
    arrays = {name: np.array(x, float) for name, x in fields.pop("arrays").items()}
    return systems.Plan(arrays=arrays, **fields)


def replay(path: Path) -> list[str]:
    """Make the run of a file again, print the claim and its faults, and return the faults."""
    plan = planned(json.loads(path.read_text())["plan"])
    claim, faults, run = _claimed(plan)
    print(run if run is not None else claim)
    print("\n".join(f"FALSE: {one}" for one in faults) or f"{claim}: no false claim")
    return faults


def shortened(plan: Plan, steps: int) -> Plan:
    """Return the plan with at most `steps` steps."""
    return replace(plan, steps=min(plan.steps, steps))
