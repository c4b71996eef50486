"""Overhead of sweeps of many runs, beside the simulations: time, memory and disk space.

    python benchmarks/sweep_runs.py                        10,000 bouncing balls on two processes
    python benchmarks/sweep_runs.py --runs 1000 --dask     the same table by processes and by a Dask cluster
    python benchmarks/sweep_runs.py --short --runs 100000  runs of ten steps: what the sweep itself takes

"outside simulation" is the share of the total time of all processes (wall time times their number) that is
not spent in simulations: making models, measuring, messages, writing. It is printed for the whole sweep, and
from the first row on, that is without the start of processes and the loading of kernels.
"""

import argparse
import resource
import tempfile
import threading
import time
from pathlib import Path

import h5py
import numpy as np
import psutil

import stickslip as ss
from stickslip.laws import NewtonImpact
from stickslip.sweeps import Uniform

TIMES = ("seconds", "simulated", "compile_seconds")


def short(*, height: float = 0.02) -> ss.NonsmoothSystem:
    """A ball that falls and bounces, for ten steps."""
    ball = ss.Lagrangian("ball", M=1.0, q0=height, F_ext=-9.81)
    floor = ss.Interaction(
        "floor", "ball", ss.Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=0.5)
    )
    return ss.NonsmoothSystem([ball], [floor])


class Watch:
    """The most memory of this process and of those that it has started, while a `with` lasts [MiB]."""

    def __enter__(self):
        self.own = self.family = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *failure):
        self._end.set()
        self._thread.join()

    def _look(self):
        me = psutil.Process()
        while not self._end.wait(5.0):  # looking at processes takes milliseconds
            self.own = max(self.own, me.memory_info().rss / 2**20)
            for child in me.children(recursive=True):
                try:
                    self.family = max(self.family, child.memory_info().rss / 2**20)
                except psutil.Error:
                    continue


def sweep(runs: int, executor: str, workers: int, out: Path, of_short: bool, measure: str):
    if of_short:
        given, how = {"height": Uniform(0.005, 0.04)}, {"until": 0.1, "h": 0.01}
    else:
        given, how = {"e": Uniform(0.5, 0.8), "height": Uniform(0.5, 2.0)}, {}
    cpu, start = time.process_time(), time.perf_counter()
    first: list[float] = []

    def told(what, done, size):
        if done and not first:
            first.append(time.perf_counter() - start)

    with Watch() as watch:
        result = ss.sweep(
            short if of_short else "bouncing-ball", given, measure, samples=runs, executor=executor,
            workers=workers, out=out, progress=told, **how,
        )  # fmt: skip
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    whole = wall * workers
    inside, run = float(result.simulated.sum()), float(result.seconds.sum())
    compiled = float(result.compile_seconds.sum())
    outside = f"outside simulation {1.0 - inside / whole:.1%}, of which making and measuring"
    outside += f" {(run - inside) / whole:.1%}, loading kernels {compiled / whole:.1%}"
    later = 1.0 - inside / (workers * (wall - first[0]))
    outside += f"; from the first row on, after {first[0]:.1f} s, {later:.1%}"
    size = out.stat().st_size
    print(f"{executor}: {runs} runs, measure {measure}, {wall:.1f} s, {1e3 * run / runs:.2f} ms a run")
    print(f"    {outside}; the client takes {1e3 * cpu / runs:.2f} ms of processor a run")
    print(f"    solved {int(result.solved.sum())}; file {size / 1e6:.2f} MB, {size / runs:.0f} bytes a run")
    print(f"    most memory of the client {watch.own:.0f} MiB, of a process {watch.family:.0f} MiB")
    return result


def bytes_without_times(path: Path) -> bytes:
    with h5py.File(path, "r+") as file:
        for name in TIMES:
            file["stickslip_sweep/runs"][name][...] = 0.0
    return path.read_bytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--measure", default="final")
    parser.add_argument("--short", action="store_true", help="runs of ten steps")
    parser.add_argument("--dask", action="store_true", help="by a Dask cluster of this machine, too")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one = Path(folder) / "processes.h5"
        sweep(given.runs, "processes", given.workers, one, given.short, given.measure)
        if given.dask:
            two = Path(folder) / "dask.h5"
            sweep(given.runs, "dask", given.workers, two, given.short, given.measure)
            same = bytes_without_times(one) == bytes_without_times(two)
            print(f"the two files are {'the same' if same else 'DIFFERENT'} but for times")
    print(f"peak of this process {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MiB")


if __name__ == "__main__":
    main()
