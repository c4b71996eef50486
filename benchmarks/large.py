"""Large problems: threads, steps of a million contacts, and construction of worlds of ten thousand bodies.

    python benchmarks/large.py [--parts threads,steps,factor,order,step,rest,build] [--threads 2]
        [--spheres 380000] [--first]

threads  solves of a packing of 50,000 contacts on one thread and on several: shortest times of alternating
         runs, and whether the results are equal bit for bit
steps    the same for whole steps
factor   the same for block Cholesky and LU of 10,000 contacts
order    number of sweeps in the order of the domains and in the order of the problem
step     time and memory of steps of a shaken packing between rough walls
rest     the same for a bed of spheres at rest with a depth of ten spheres; each size in a new process
build    time to build worlds of boxes and of hulls, and their detectors

--first uses real-time priority, which requires the permission for it: on a busy machine threads otherwise
wait for each other while other processes run.
"""

import argparse
import os
import resource
import time
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import numpy as np
import scipy.sparse as sp
from world import RADIUS, resting

import stickslip as ss
from stickslip import scenes
from stickslip.detection.detector import Detector
from stickslip.kernels import domains
from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.front_lu import BlockLU
from stickslip.linalg.symbolic import analyse
from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.convert import reduce_to_contacts
from stickslip.scenes.packing import DENSITY_OF_PACKING, deposit
from stickslip.solvers import registry

REPEATS = 5
"""Number of timed runs."""


def packing(velocity: float = 1.0) -> Any:
    """Return a packing of spheres with 49,948 contacts, thrown at `velocity` [m/s]."""
    return scenes.make("packing-problem", spheres=16_900, velocity=velocity)


def on_threads(threads: int) -> None:
    """Print wall times of solves on one thread and on several."""
    whole = packing()
    local = reduce_to_contacts(whole).problem
    solves: dict[str, Callable[[], Any]] = {
        "nsgs, 100 sweeps": lambda: registry.make("nsgs", tolerance=1e-12, max_iterations=100).solve(local),
        "anderson, 60": lambda: registry.make("anderson", tolerance=1e-12, max_iterations=60).solve(local),
        "auto to 1e-3": lambda: ss.solve(whole, tolerance=1e-3),
    }
    print(f"{local.contacts} contacts, on 1 and {threads} threads, ms")
    for name, solve in solves.items():
        best: dict[int, float] = {}
        answers = set()
        for _ in range(REPEATS + 1):  # once more, to compile
            for number in (1, threads):
                with ss.use_threads(number):
                    start = time.perf_counter()
                    solution = solve()
                    seconds = time.perf_counter() - start
                best[number] = min(best.get(number, np.inf), seconds)
                answers.add(solution.r.tobytes())
        same = "same bits" if len(answers) == 1 else "DIFFERENT BITS"
        one, several = 1e3 * best[1], 1e3 * best[threads]
        print(f"{name:20} {one:8.1f} {several:8.1f}   {one / several:.2f} times   {same}", flush=True)


def shaken(spheres: int) -> tuple[World, ss.State]:
    """Return a packing between rough walls, and a start with random velocities of 1 m/s."""
    world = resting(spheres)
    moves = np.array([kind == BodyKind.DYNAMIC for kind in world.kind])
    v = np.zeros((len(moves), 6))
    v[moves, :3] = np.random.default_rng(0).normal(size=(moves.sum(), 3))
    return world, ss.State(0.0, world.start.q, v.reshape(-1))


def whole_steps(threads: int, spheres: int = 36_000, steps: int = 3) -> None:
    """Print wall times of whole steps on one thread and on several."""
    world, start = shaken(spheres)
    solver, best, ends = registry.make("auto", tolerance=1e-3), dict[int, float](), set()
    for _ in range(REPEATS + 1):
        for number in (1, threads):
            live = ss.live(world, h=1e-3, solver=solver, start=start, record=1000)
            with ss.use_threads(number):
                live.step(2)
                begun = time.perf_counter()
                live.step(steps)
                seconds = (time.perf_counter() - begun) / steps
            best[number] = min(best.get(number, np.inf), seconds)
            ends.add(live.state.q.tobytes() + live.state.v.tobytes())
    same = "same bits" if len(ends) == 1 else "DIFFERENT BITS"
    one, several, contacts = 1e3 * best[1], 1e3 * best[threads], len(live.last_step.contacts)
    print(f"step, {contacts} contacts {one:8.1f} {several:8.1f}   {one / several:.2f} times   {same}")


def factors(threads: int, spheres: int = 3_420) -> None:
    """Print wall times of block Cholesky and LU of M + rho H H' on one thread and on several."""
    problem = scenes.make("packing-problem", spheres=spheres)
    H, M = problem.H, problem.M.matrix
    pattern = body_pattern(H.bodies, spheres)
    values = pattern.values(M, H, float(np.median(M[:, 0, 0])))
    matrix = sp.bsr_array(sp.csr_array(pattern.sparse(values)), blocksize=(6, 6))
    matrix.sort_indices()
    data, best, answers = np.ascontiguousarray(matrix.data).reshape(-1), dict[Any, float](), set()
    with ss.use_threads(threads):  # workspaces for several threads
        symbolic = analyse(pattern, positions=deposit(spheres).centre)
        lu = BlockLU(6 * np.arange(spheres + 1), matrix.indptr, matrix.indices)
        cholesky = symbolic.cholesky(values)
    b = np.ones(pattern.size)
    makes: dict[str, Callable[[], Any]] = {
        "Cholesky": lambda: cholesky.refactor(values), "LU": lambda: lu.refactor(data)
    }  # fmt: skip
    for name, make in makes.items():
        for _ in range(REPEATS):
            for number in (1, threads):
                with ss.use_threads(number):
                    begun = time.perf_counter()
                    make()
                    seconds = time.perf_counter() - begun
                best[name, number] = min(best.get((name, number), np.inf), seconds)
                x = (cholesky if name == "Cholesky" else lu).solve(b)
                answers.add((name, x.tobytes()))
        one, several = 1e3 * best[name, 1], 1e3 * best[name, threads]
        same = "same bits" if len({x for kind, x in answers if kind == name}) == 1 else "DIFFERENT BITS"
        print(f"{name:20} {one:8.1f} {several:8.1f}   {one / several:.2f} times   {same}", flush=True)


def in_order() -> None:
    """Print the sweeps to 1e-3 in the order of the domains, and in the order of the problem."""
    print("sweeps to 1e-3: by domains, in the order of the problem")
    for name in ("nsgs", "anderson"):
        for velocity in (1.0, 0.1):
            local = reduce_to_contacts(packing(velocity)).problem
            solver = registry.make(name, tolerance=1e-3, max_iterations=1000)
            sweeps, large = [], domains.LARGE
            for limit in (large, local.contacts + 1):
                domains.LARGE = limit
                solution = solver.solve(local)
                sweeps.append(f"{solution.iterations} ({solution.residuals.error:.1e})")
            domains.LARGE = large
            print(f"{name:10} thrown at {velocity} m/s: {', '.join(sweeps)}", flush=True)


def memory() -> float:
    """Return the peak memory of this process so far [MB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def in_steps(spheres: int, threads: int, steps: int = 3) -> None:
    """Print time and memory of steps of a packing with random initial velocities of 1 m/s."""
    begun = time.process_time()
    world, start = shaken(spheres)
    built = time.process_time() - begun
    solver = registry.make("auto", tolerance=1e-3)
    live = ss.live(world, h=1e-3, solver=solver, start=start, record=steps + 1)
    with ss.use_threads(threads):
        live.step(1)
        first = time.process_time() - begun - built
        cpu, wall = time.process_time(), time.perf_counter()
        live.step(steps)
        cpu, wall = (time.process_time() - cpu) / steps, (time.perf_counter() - wall) / steps
    contacts = int(np.diff(live.run().contacts.offset)[-1])
    print(
        f"{spheres:8} spheres, {contacts:8} contacts: world built in {built:.1f} s, first step {first:.1f} s,"
        f" others {cpu:.2f} s of processor time, {wall:.2f} s on {threads} threads,"
        f" {1e6 * cpu / contacts:.1f} µs a contact; {memory():.0f} MB",
        flush=True,
    )


DEEP = 10.0
"""Depth of a bed at rest, in mean diameters."""


def at_rest(spheres: int, threads: int, steps: int = 3) -> None:
    """Print time, memory and residuals of steps of a bed of spheres at rest, without warm start."""
    begun = time.process_time()
    area = spheres * 4.0 / 3.0 * np.pi * RADIUS**3 / DENSITY_OF_PACKING / (DEEP * 2.0 * RADIUS)
    world = resting(spheres, width=float(np.sqrt(area)))
    built = time.process_time() - begun
    live = ss.live(world, h=1e-3, solver=registry.make("auto", tolerance=1e-3), record=steps + 1)
    with ss.use_threads(threads):
        live.step(1)
        first = time.process_time() - begun - built
        cpu, worst = time.process_time(), live.last_step.natural
        for _ in range(steps):
            live.step(1)
            worst = max(worst, live.last_step.natural)
        cpu = (time.process_time() - cpu) / steps
    contacts = len(live.last_step.contacts)
    speed = np.linalg.norm(live.state.v.reshape(-1, 6)[:, :3], axis=1)
    print(
        f"{spheres:8} spheres, {contacts:8} contacts at rest: world built in {built:.1f} s, first step"
        f" {first:.1f} s, others {cpu:.2f} s of processor time, {1e6 * cpu / contacts:.1f} µs a contact;"
        f" {memory():.0f} MB; natural {worst:.1e}; median speed {np.median(speed):.1e} m/s,"
        f" {(speed > 0.01).sum()} spheres faster than 0.01 m/s",
        flush=True,
    )


def lattice(bodies: int, hulls: bool) -> World:
    """Return a lattice of separated boxes, or of ten different hulls of 12 points, on a floor."""
    random, side = np.random.default_rng(0), int(np.ceil(bodies ** (1.0 / 3.0)))
    shapes: list[Any] = [ss.Cuboid((1.0, 1.0, 1.0))]
    if hulls:
        shapes = [ss.ConvexHull(0.3 * random.normal(size=(12, 3))) for _ in range(10)]
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    for k in range(bodies):
        place = 1.5 * (k % side), 1.5 * (k // side % side), 0.5 + k // side**2 + 0.5 * hulls
        builder.body(f"{k}", shapes[k % len(shapes)], position=place)
    return builder.build()


def built(sizes: tuple[int, ...] = (1_000, 3_000, 10_000)) -> None:
    """Print the time to build worlds and their detectors."""
    # Load the kernels first.
    Detector(lattice(10, True))
    for hulls in (False, True):
        for bodies in sizes:
            begun = time.process_time()
            world = lattice(bodies, hulls)
            middle = time.process_time()
            Detector(world)
            end = time.process_time()
            kind = "hulls" if hulls else "boxes"
            print(
                f"{bodies:6} {kind}: world {middle - begun:.2f} s, detector {end - middle:.2f} s,"
                f" {1e6 * (end - begun) / bodies:.0f} µs a body",
                flush=True,
            )


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--parts",
        default="threads,steps,factor,order,step,rest,build",
        help="parts to run, separated by commas",
    )
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--spheres", default="20000,125000,380000", help="numbers of spheres of the parts step and rest"
    )
    parser.add_argument("--first", action="store_true", help="run with real-time priority")
    arguments = parser.parse_args()
    if arguments.first:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    parts = arguments.parts.split(",")
    if "threads" in parts:
        on_threads(arguments.threads)
    if "steps" in parts:
        whole_steps(arguments.threads)
    if "factor" in parts:
        factors(arguments.threads)
    if "order" in parts:
        in_order()
    if "build" in parts:
        built()
    for part, run in (("step", in_steps), ("rest", at_rest)):
        for spheres in map(int, arguments.spheres.split(",")) if part in parts else ():
            # A new process, so that its peak memory is that of this size.
            process = get_context("spawn").Process(target=run, args=(spheres, arguments.threads))
            process.start()
            process.join()


if __name__ == "__main__":
    main()
