"""Kill writers of runs at random times, and check their files: kill_trials.py FOLDER TRIALS SEED.

A writer is killed soon after its file has reached a random length, so that all parts of a run are covered on
machines of any speed; some trials end while the last record is written or the file is closed. Every file must
open and contain a beginning of the run bit for bit, and the continued run must have the same end. Prints one
line of JSON: the number of trials, and the smallest and largest number of records in the files.
"""

import json
import os
import random
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np

import stickslip as ss

H, UNTIL = 2e-3, 0.5
LATER = 0.005
"""Largest delay of the kill after the file has reached the length of the trial [s]."""
COLUMNS = ("t", "index", "q", "v", "natural_scaled", "kinetic", "verdicts")


def world() -> ss.World:
    """A box that slides and a ball that falls on it."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(2, 0, 0))
    builder.body("ball", ss.Sphere(0.2), position=(0.3, 0, 1.6))
    return builder.build()


def system() -> ss.NonsmoothSystem:
    """A bouncing ball."""
    ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
    return ss.NonsmoothSystem([ball], [floor])


def same(part: ss.Trajectory, whole: ss.Trajectory) -> None:
    """Assert that a run is a beginning of another, bit for bit."""
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[: len(part)], err_msg=name)
    if part.of_world:
        count = len(part.contacts)
        np.testing.assert_array_equal(part.contacts.r, whole.contacts.r[:count])


def written(model: ss.World | ss.NonsmoothSystem, path: Path) -> int:
    """Write a run and return the length of its file before it is closed [bytes]."""
    live = ss.live(model, h=H, out=path, flush=0.0, forces="solver")
    live.step(round(UNTIL / H))
    live.end(complete=False)
    return path.stat().st_size


def wait(child: int, path: Path, length: float) -> None:
    """Wait until a file has reached a length, or its writer has ended."""
    while os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        with suppress(FileNotFoundError):
            if path.stat().st_size >= length:
                return
        time.sleep(1e-4)


def main(folder: Path, trials: int, seed: int) -> None:
    """Run the trials."""
    draw = random.Random(seed)
    models = [(model, ss.simulate(model, until=UNTIL, h=H, forces="solver")) for model in (world(), system())]
    for model, _ in models:  # load everything that children need for writing
        ss.simulate(model, until=H, h=H, out=folder / "first.h5", forces="solver")
    lengths = [written(model, folder / f"{k}.h5") for k, (model, _) in enumerate(models)]
    held = []
    for trial in range(trials):
        model, whole = models[trial % 2]
        path = folder / "run.h5"
        path.unlink(missing_ok=True)
        child = os.fork()
        if child == 0:
            ss.simulate(model, until=UNTIL, h=H, out=path, flush=0.0, forces="solver")
            os._exit(0)
        wait(child, path, draw.uniform(0.0, 1.1) * lengths[trial % 2])
        time.sleep(draw.uniform(0.0, LATER))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        run = ss.read_trajectory(path)
        same(run, whole)
        held.append(len(run))
        if trial % 20 < 2 and len(run) < len(whole):
            start = run.checkpoint()
            same(ss.simulate(model, until=UNTIL, start=start, out=path, forces="solver"), whole)
            assert len(ss.read_trajectory(path)) == len(whole)
    print(json.dumps({"trials": trials, "least": min(held), "most": max(held), "whole": len(whole)}))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
