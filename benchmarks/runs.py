"""Costs of runs: live steps, writing of files, growth of memory, and opening of large files.

    python benchmarks/runs.py                      all parts, some minutes
    python benchmarks/runs.py --parts live,writing

live      processor time of `live.step()`, of steps of the scheme by hand, and of several steps in one call
writing   cost of writing the file relative to the steps, for a drum of 500 bodies with `out`
memory    resident memory of streamed runs of a bouncing ball and of the drum, at tenths of the run
opening   time to open a large file and to draw its energy
"""

import argparse
import os
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import psutil

import stickslip as ss
from stickslip.files import journal, runs
from stickslip.scenes import make
from stickslip.simulation.live import Live
from stickslip.simulation.store import MemoryStore
from stickslip.solvers import registry


def box() -> ss.World:
    """Return a box that slides on a floor."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(2, 0, 0))
    return builder.build()


def ball() -> ss.NonsmoothSystem:
    """Return a bouncing ball as a system of equations."""
    mass = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    gap = ss.systems.LagrangianLinearRelation(C=[[1.0]])
    floor = ss.Interaction("floor", "ball", gap, ss.NewtonImpact(e=0.9))
    return ss.NonsmoothSystem([mass], [floor])


def arm() -> ss.World:
    """Return an arm whose motor is an input."""
    builder = ss.WorldBuilder()
    builder.body("arm", ss.Cuboid((1, 0.1, 0.1)), position=(0.5, 0, 0))
    builder.joint("knee", "hinge", "arm", point=(0, 0, 0), axis=(0, -1, 0))
    builder.force(ss.forces.Actuator("motor", "knee"))
    return builder.build()


def least(work, times: int) -> float:
    """Return the shortest processor time of several calls of `work` [s]."""
    seconds = []
    for _ in range(times):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def live() -> None:
    """Print the cost of a call of `live.step`."""
    for name, model in (("box", box()), ("ball", ball())):
        run = ss.live(model, h=1e-3)
        run.step(10)
        count = 64

        def calls(run=run, count=count):
            for _ in range(count):
                run.step()

        # Alternating turns, for equal disturbances by other processes.
        turns = [(least(calls, 3), least(partial(run.step, 4 * count), 1)) for _ in range(40)]
        one, together = np.min(turns, axis=0) / (count, 4 * count)
        scheme, solver = run.scheme, registry.make("auto", tolerance=1e-8)
        prepared = (ss.schemes.PreparedWorld if name == "box" else ss.schemes.PreparedSystem)(model)
        state, memory = run.state, run.checkpoint().memory
        arguments = (prepared, state, memory, 1e-3, solver)
        alone = least(partial(scheme.step, *arguments), 200)

        def through_checkpoint(run=run, model=model):
            start = run.checkpoint()
            ss.simulate(model, until=run.t + 1e-3, start=start, forces="solver")

        slow = least(through_checkpoint, 20)
        print(
            f"{name}: live.step() {1e6 * one:.1f} us a call, live.step(256) {1e6 * together:.1f} us a step;"
            f" scheme.step by hand {1e6 * alone:.0f} us; through a checkpoint {1e6 * slow:.0f} us"
        )

    run, count = ss.live(arm(), h=1e-3), 64

    def controlled(sets: bool) -> None:
        for _ in range(count):
            if sets:
                run.inputs["motor"] = -4.0
            run.step()

    turns = [[least(partial(controlled, sets), 3) for sets in (False, True)] for _ in range(40)]
    one, both = np.min(turns, axis=0) / count
    print(f"arm: live.step() {1e6 * one:.1f} us a call, with an input set before it {1e6 * both:.1f} us")


def writing(folder: Path) -> None:
    """Print the time that a run with `out` spends on its file, relative to that of its steps."""
    scene, spent, inside = make("drum", bodies=500), [0.0], [0]

    def timed(verb):
        def call(*args, **kwargs):
            began = time.process_time()
            inside[0] += 1
            try:
                return verb(*args, **kwargs)
            finally:
                inside[0] -= 1
                if not inside[0]:  # `end` calls `_write`, too
                    spent[0] += time.process_time() - began

        return call

    Live._write, Live.end = timed(Live._write), timed(Live.end)
    for record, forces in ((1, "least"), (1, "solver"), (10, "least")):
        shares = []
        for k in range(4):  # the first loads kernels and modules
            spent[0], began, out = 0.0, time.process_time(), folder / f"{record}-{k}.h5"
            ss.simulate(scene.system, until=0.4, h=scene.h, record=record, out=out, forces=forces)
            shares.append((spent[0], time.process_time() - began - spent[0]))
        write, steps = np.median(shares[1:], axis=0)
        print(
            f"drum of 500, one of {record} steps recorded, forces={forces!r}: {1e3 * write:.0f} ms of"
            f" processor time on a file of {out.stat().st_size / 1e6:.1f} MB, {steps:.2f} s on steps:"
            f" {100 * write / steps:.1f} % (medians of 3)"
        )


def memory(folder: Path, steps: int, seconds: float) -> None:
    """Print resident memory during runs that are written to files."""
    process = psutil.Process()

    def flat(name, model, until, **options):
        resident = []
        marks = iter(np.linspace(0.1, 1.0, 10) * until)
        following = next(marks)

        def look(t, end):
            nonlocal following
            if t >= following * (1 - 1e-9):
                resident.append(process.memory_info().rss / 1e6)
                following = next(marks, np.inf)

        began = time.perf_counter()
        run = ss.simulate(
            model, until=until, out=folder / f"{name}.h5", progress=look, forces="solver", **options
        )
        elapsed = time.perf_counter() - began
        growth = 100 * (max(resident[1:]) / resident[1] - 1)
        print(
            f"{name}: {run.steps} steps in {elapsed:.0f} s, {len(run)} records,"
            f" {(folder / f'{name}.h5').stat().st_size / 1e6:.0f} MB; resident"
            f" {' '.join(f'{x:.0f}' for x in resident)} MB, {growth:+.1f} %"
        )

    flat("ball", ball(), 1e-4 * steps, h=1e-4, record=10)
    # Steps of 5 ms at tolerance 1e-3 with stabilisation: an hour takes about 35 minutes on one core.
    scheme = ss.schemes.SemiExplicitMoreauJean(stabilisation=True)
    drum = make("drum", bodies=500, mu=0.3).system
    flat("drum", drum, seconds, h=5e-3, tolerance=1e-3, scheme=scheme, record=100)


def opening(folder: Path, gigabytes: float) -> None:
    """Print the time to open a large run and to draw its energy."""
    scene = make("drum", bodies=500)
    run = ss.simulate(scene.system, until=0.2, h=scene.h, forces="solver")
    path, rows = folder / "large.h5", runs.file_rows(run, chosen=True)
    out = journal.Journal(path)
    out.append(run)
    length = float(run.t[-1])
    k = 0
    while path.stat().st_size < gigabytes * 1e9:
        k += 1
        rows.columns["t"] = run.t + k * length
        out.append(replace(run, store=MemoryStore(rows), choose=None))
    began = time.perf_counter()
    opened = ss.read_trajectory(path)
    first = time.perf_counter() - began
    ss.view.plot_energy(opened, folder / "energy.svg")
    both = time.perf_counter() - began
    print(
        f"{path.stat().st_size / 1e9:.2f} GB, {len(opened)} records, {opened.t[-1]:.3g} s: opened in"
        f" {first:.2f} s, energy drawn after {both:.2f} s (with the import of matplotlib)"
    )
    began = time.perf_counter()
    hdf5 = out.end(complete=True)
    print(f"converted to HDF5 in {time.perf_counter() - began:.0f} s")
    began = time.perf_counter()
    hdf5 = ss.read_trajectory(path)
    ss.view.plot_energy(hdf5, folder / "energy.svg")
    part = hdf5[1000:1010].q.shape
    print(f"HDF5: opened and drawn in {time.perf_counter() - began:.2f} s; q of ten records {part}")


def main() -> None:
    """Run the selected parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--parts", default="live,writing,memory,opening")
    parser.add_argument("--steps", type=int, default=10**7, help="steps of the bouncing ball")
    parser.add_argument("--seconds", type=float, default=3600.0, help="simulated time of the drum [s]")
    parser.add_argument("--gigabytes", type=float, default=2.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as place:
        folder = Path(place)
        parts = {
            "live": live, "writing": lambda: writing(folder),
            "memory": lambda: memory(folder, options.steps, options.seconds),
            "opening": lambda: opening(folder, options.gigabytes),
        }  # fmt: skip
        for name in options.parts.split(","):
            parts[name]()


if __name__ == "__main__":
    main()
