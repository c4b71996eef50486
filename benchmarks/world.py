"""Costs of steps of worlds, compared with MuJoCo on the same worlds in the same run.

    python benchmarks/world.py [--quick] [--scenes box,stack,pile,collapse,packing,detection,joints]

All runs use one thread. `cpu` is processor time per step and `wall` is wall time. On a busy machine only the
first is meaningful, and it also grows when other processes use the caches. The last two columns are the
judge's residuals for Coulomb's exact law; ours are the worst of all measured steps.

MuJoCo has the same bodies, masses, friction (elliptic cones), time step and start, its default softness
(solref, solimp) and tolerance, and Newton's method for the stack or CG for spheres. Its contact law is soft
and easier to solve, so its rows are not solutions of the exact law: the judge gets its contact forces times h
as impulses of a problem with its contacts, its free velocities and our Jacobian.

Worlds with joints have two rows: several steps per compiled call, and the same steps one by one in Python.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import mujoco
import numpy as np

import stickslip as ss
from stickslip import scenes as built_in
from stickslip.detection.contacts import SLOTS
from stickslip.detection.detector import Detector
from stickslip.detection.tracking import NOTHING
from stickslip.kernels.bodies.assembly import assemble
from stickslip.kernels.bodies.layout import Contacts, FreeMotion, LastContacts, Span
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import ContactBlocks
from stickslip.problem.residuals import Residuals, judge
from stickslip.problem.sets import ProductSet
from stickslip.scenes.packing import deposit
from stickslip.schemes.body_world import NO_FORCES, Bodies
from stickslip.simulation.trajectory import Trajectory
from stickslip.solvers import registry
from stickslip.solvers.auto import Auto
from stickslip.state import State

MU = 0.5
"""Coefficient of friction [-]."""
RADIUS = 0.05
"""Mean radius of the spheres [m], whose mass is about 0.5 kg."""
ALL = 10**9
"""Number of steps between two records, such that only the last step is recorded."""


class Timing(NamedTuple):
    """Mean processor and wall time of a step in the fastest of several runs [s]."""

    cpu: float
    wall: float


class Row(NamedTuple):
    """A line of the table."""

    scene: str
    engine: str
    contacts: int
    timing: Timing
    iterations: float
    natural: float
    natural_scaled: float
    note: str = ""

    def show(self) -> None:
        """Print the line."""
        t = self.timing
        print(
            f"{self.scene:22} {self.engine:16} {self.contacts:8} {1e3 * t.cpu:9.3f} {1e3 * t.wall:9.3f}"
            f" {1.0 / t.cpu:9.1f} {self.iterations:7.1f} {self.natural:9.1e} {self.natural_scaled:9.1e}"
            f"  {self.note}",
            flush=True,
        )


def stack(boxes: int = 10) -> World:
    """Return a stack of cubes of 1 m and 1000 kg on a floor."""
    b = WorldBuilder()
    b.material("default", mu=MU)
    b.body("floor", Plane(), fixed=True)
    for k in range(boxes):
        b.body(f"box {k}", Cuboid((1.0, 1.0, 1.0)), position=(0.0, 0.0, k + 0.5))
    return b.build()


def pile(spheres: int, seed: int = 0) -> World:
    """Return a random packing of spheres between four walls, which collapses."""
    packing = deposit(spheres=spheres, seed=seed, radius=RADIUS, spread=0.2)
    low = (packing.centre - packing.radius[:, None]).min(axis=0)
    high = (packing.centre + packing.radius[:, None]).max(axis=0)
    b, half = WorldBuilder(), np.sqrt(0.5)
    b.material("default", mu=MU)
    b.body("floor", Plane(), fixed=True)
    b.body("left", Plane(), fixed=True, quaternion=(half, 0, half, 0), position=(low[0], 0, 0))
    b.body("right", Plane(), fixed=True, quaternion=(half, 0, -half, 0), position=(high[0], 0, 0))
    b.body("front", Plane(), fixed=True, quaternion=(half, -half, 0, 0), position=(0, low[1], 0))
    b.body("back", Plane(), fixed=True, quaternion=(half, half, 0, 0), position=(0, high[1], 0))
    for i, (x, r) in enumerate(zip(packing.centre, packing.radius, strict=True)):
        b.body(str(i), Sphere(float(r)), position=x)
    return b.build()


def links(count: int = 10) -> World:
    """Return a horizontal chain of rods of 0.2 m with hinges, fixed at one end."""
    b = WorldBuilder()
    for k in range(count):
        b.body(f"rod {k}", Cuboid((0.2, 0.05, 0.05)), position=(0.1 + 0.2 * k, 0, 0))
        second = f"rod {k - 1}" if k else None
        b.joint(f"pin {k}", "hinge", f"rod {k}", second, point=(0.2 * k, 0, 0), axis=(0, 1, 0))
    return b.build()


class StepByStep(Auto):
    """Solver `auto` with steps one by one in Python."""

    compiled_steps = False


def resting(spheres: int, seed: int = 0, width: float | None = None) -> World:
    """Return a packing at rest between rough walls: spheres in contact with a periodic image are fixed.

    width: width of the packing [m]; its height by default.
    """
    packing = deposit(spheres=spheres, seed=seed, radius=RADIUS, spread=0.2, width=width)
    fixed = np.zeros(spheres, bool)
    fixed[packing.bodies[packing.image.any(axis=1)]] = True
    b = WorldBuilder()
    b.material("default", mu=MU)
    b.body("floor", Plane(), fixed=True)
    for i, (x, r) in enumerate(zip(packing.centre, packing.radius, strict=True)):
        b.body(str(i), Sphere(float(r)), position=x, fixed=bool(fixed[i]))
    return b.build()


def shortest(steps: int, repeats: int, run: Callable[[], Any]) -> tuple[Timing, Any]:
    """Return the time per step of the fastest run, and the result of the last one."""
    cpu = wall = np.inf
    for _ in range(repeats):
        begun, clock = time.process_time(), time.perf_counter()
        result = run()
        cpu = min(cpu, (time.process_time() - begun) / steps)
        wall = min(wall, (time.perf_counter() - clock) / steps)
    return Timing(cpu, wall), result


def ours(
    name: str, world: World, h: float, tolerance: float, settle: int, steps: int, repeats: int,
    solver: Any = "auto",
) -> tuple[Row, Trajectory]:  # fmt: skip
    """Measure `steps` steps after `settle` others; return the row and the run of the first `settle` steps."""
    # Forces of least norm are computed when contacts are read: they are no part of a step.
    options: dict[str, Any] = {
        "tolerance": tolerance, "on_failure": "accept", "solver": solver, "forces": "solver",
    }  # fmt: skip
    begun = ss.simulate(world, until=settle * h, h=h, record=ALL, **options)
    start = begun.checkpoint()

    def run() -> Trajectory:
        return ss.simulate(world, until=(settle + steps) * h, start=start, record=ALL, **options)

    timing, after = shortest(steps, repeats, run)
    nc = int(np.diff(after.contacts.offset)[-1])
    missed = f"{after.missed} of {steps} steps above tolerance" if after.missed else ""
    row = Row(
        name, f"stickslip {tolerance:.0e}", nc, timing, after.iterations.sum() / steps,
        after.natural.max(), after.natural_scaled.max(), missed,
    )  # fmt: skip
    return row, begun


def mujoco_model(world: World, h: float, solver: mujoco.mjtSolver) -> Any:
    """Convert the world to a model of MuJoCo, with a free joint for each dynamic body."""
    spec = mujoco.MjSpec()
    spec.option.timestep, spec.option.gravity, spec.option.solver = h, world.gravity, solver
    spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    n = len(world.names)
    spec.memory = 2**26 + (6 * n + 2**16) * n
    bodies = []
    for i, kind in enumerate(world.kind):
        q = world.start.q[7 * i : 7 * i + 7]
        body = spec.worldbody.add_body(name=str(i), pos=q[:3], quat=q[3:])
        if kind == BodyKind.DYNAMIC:
            body.add_freejoint()
            J = world.inertia[i]
            body.mass, body.explicitinertial = world.mass[i], True
            body.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]
        bodies.append(body)
    shapes = world.shapes
    for s, shape in enumerate(shapes.shape):
        kind, size = {
            Plane: lambda: (mujoco.mjtGeom.mjGEOM_PLANE, [0.0, 0.0, 1.0]),
            Sphere: lambda: (mujoco.mjtGeom.mjGEOM_SPHERE, [shape.radius, 0.0, 0.0]),  # noqa: B023
            Cuboid: lambda: (mujoco.mjtGeom.mjGEOM_BOX, np.divide(shape.size, 2.0)),  # noqa: B023
        }[type(shape)]()
        bodies[shapes.body[s]].add_geom(
            type=kind, size=size, pos=shapes.position[s], quat=shapes.quaternion[s],
            friction=[MU, 0.0, 0.0], condim=3,
        )  # fmt: skip
    return spec.compile()


def mujoco_at(world: World, model: Any, state: State) -> Any:
    """Return data of MuJoCo at a state of ours."""
    data = mujoco.MjData(model)  # its angular velocities are in the frames of the bodies, as ours
    moves = world.kind == BodyKind.DYNAMIC
    data.qpos[:] = state.q.reshape(-1, 7)[moves].reshape(-1)
    data.qvel[:] = state.v.reshape(-1, 6)[moves].reshape(-1)
    return data


def judged(world: World, model: Any, data: Any) -> Residuals:
    """Judge MuJoCo's forces at this state, as impulses of a step, by the exact law.

    MuJoCo's frames have n from geom 1 to geom 2, and its force is on geom 2: the first body in our order.
    """
    mujoco.mj_forward(model, data)
    h, count, bodies = model.opt.timestep, data.ncon, Bodies(world)
    r, force = np.zeros((count, 6)), np.zeros(6)
    for i in range(count):
        mujoco.mj_contactForce(model, data, i, force)
        r[i] = h * force
    contact = data.contact
    body = (model.geom_bodyid[contact.geom].astype(np.int64) - 1)[:, ::-1].copy()
    law = np.tile([MU, 0.0, 0.0, 0.0], (count, 1))
    contacts = Contacts(
        np.arange(count), body, body, contact.pos.copy(), contact.frame.reshape(-1, 3, 3).copy(),
        np.full(count, -1.0), law,
    )  # fmt: skip
    q, v = world.start.q.reshape(-1, 7).copy(), np.zeros((len(world.names), 6))
    q[bodies.dynamic] = data.qpos.reshape(-1, 7)
    v[bodies.dynamic] = (data.qvel + h * data.qacc_smooth).reshape(-1, 6)
    none = LastContacts(*NOTHING)
    free = FreeMotion(q, v, q, v, v, NO_FORCES)
    active = assemble(contacts, none, SLOTS, bodies.row, free, Span(h, 0.0), 0.0, False, False)
    H = ContactBlocks.unchecked(active.rows_of_M, active.rows, active.K.offset)
    f = np.einsum("bij,bj->bi", bodies.M.matrix, v[bodies.dynamic])
    problem = GlobalProblem.unchecked(bodies.M, f.reshape(-1), H, active.u_bias, ProductSet(*active.K))
    return judge(problem, r[:, :3])


def theirs(
    name: str, world: World, h: float, solver: str, state: State, settle: int, steps: int, repeats: int
) -> Row:
    """Measure MuJoCo's steps from the same state, after `settle` steps in which its contacts settle."""
    model = mujoco_model(world, h, getattr(mujoco.mjtSolver, f"mjSOL_{solver.upper()}"))
    data = mujoco_at(world, model, state)
    mujoco.mj_step(model, data, settle)
    qpos, qvel, warm = data.qpos.copy(), data.qvel.copy(), data.qacc_warmstart.copy()

    def run() -> int:
        data.qpos[:], data.qvel[:], data.qacc_warmstart[:] = qpos, qvel, warm
        niter = 0
        for _ in range(steps):
            mujoco.mj_step(model, data)
            niter += int(data.solver_niter[0])
        return niter

    timing, niter = shortest(steps, repeats, run)
    residuals = judged(world, model, data)
    return Row(
        name,
        f"MuJoCo {solver}",
        data.ncon,
        timing,
        niter / steps,
        residuals.natural,
        residuals.natural_scaled,
    )


def packing(spheres: int, steps: int, h: float, tolerance: float) -> Row:
    """Measure the first steps of a packing; the note gives time per contact and sweep, and memory."""
    world = resting(spheres)
    sweeps = registry.make("auto", tolerance=tolerance)
    row, _ = ours(f"packing of {spheres}", world, h, tolerance, 1, steps, 1, sweeps)
    each = row.timing.cpu / (max(row.iterations, 1.0) * row.contacts)
    memory = 1024.0 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    note = f"{1e9 * each:.0f} ns per contact and sweep, peak memory {memory / 2**20:.0f} MB"
    return row._replace(note=f"{row.note} {note}")


def detection(spheres: int, repeats: int = 30) -> None:
    """Print the time of one contact detection of a packing."""
    world = pile(spheres)
    detector, q = Detector(world), world.start.q.copy()
    contacts = detector.find(q, 1e-6)
    timing, _ = shortest(1, repeats, lambda: detector.find(q, 1e-6))
    print(f"detection of {spheres} spheres: {len(contacts)} contacts, {1e3 * timing.cpu:.2f} ms cpu a search")


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small scenes and few steps")
    parser.add_argument(
        "--scenes",
        default="box,stack,pile,collapse,packing,detection,joints",
        help="scenes, separated by commas",
    )
    arguments = parser.parse_args()
    quick, scenes = arguments.quick, arguments.scenes.split(",")
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(
        f"{'scene':22} {'engine':16} {'contacts':>8} {'cpu ms':>9} {'wall ms':>9} {'steps/s':>9}"
        f" {'iters':>7} {'natural':>9} {'scaled':>9}"
    )
    if "box" in scenes:
        world, h, steps = stack(1), 1e-3, 1000 if quick else 10_000
        row, begun = ours("one box", world, h, 1e-8, 50, steps, 5)
        row.show()
        theirs("one box", world, h, "newton", begun.checkpoint().state, 1000, steps, 5).show()
    if "stack" in scenes:
        world, h, steps = stack(), 1e-3, 100 if quick else 1000
        row, begun = ours("stack of 10 boxes", world, h, 1e-8, 50, steps, 5)
        row.show()
        theirs("stack of 10 boxes", world, h, "newton", begun.checkpoint().state, 1000, steps, 5).show()
    if "pile" in scenes:
        spheres, h = 100 if quick else 1000, 2e-3
        world, name = resting(spheres), f"pile of {spheres}"
        row, begun = ours(name, world, h, 1e-6, 20, 20, 2)
        row.show()
        theirs(name, world, h, "cg", begun.checkpoint().state, 50, 20, 2).show()
    if "collapse" in scenes:
        spheres, h, settle = 100 if quick else 1000, 2e-3, 20
        world, name = pile(spheres), f"collapse of {spheres}"
        row, begun = ours(name, world, h, 1e-6, settle, 20, 1)
        row.show()
        theirs(name, world, h, "cg", begun.checkpoint().state, 20, 20, 1).show()
    if "packing" in scenes:
        for spheres in (200, 2000) if quick else (10_000, 100_000):
            packing(spheres, 20, 1e-3, 1e-3).show()
    if "joints" in scenes:
        steps, worlds = 200 if quick else 1000, {"chain of 10 links": (links(), 1e-3)}
        for name in ("crank-stops", "four-bar", "chain"):
            scene = built_in.make(name)
            worlds[name] = scene.system, scene.h
        for name, (world, h) in worlds.items():
            together, _ = ours(name, world, h, 1e-8, 50, steps, 3)
            alone, _ = ours(name, world, h, 1e-8, 50, steps, 1, StepByStep(tolerance=1e-8))
            ratio = f"{alone.timing.cpu / together.timing.cpu:.1f} times as long"
            together.show()
            alone._replace(engine="step by step", note=ratio).show()
    if "detection" in scenes:
        detection(1000 if quick else 10_000)


if __name__ == "__main__":
    main()
