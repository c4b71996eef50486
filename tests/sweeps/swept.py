"""Functions that tests of sweeps run in other processes: a body on a line, and runs that go wrong."""

import os
import signal
import time
from pathlib import Path

import numpy as np

import stickslip as ss
from stickslip.laws import NewtonImpact


def drop(*, height=1.0, e=0.5, seed=0, note=""):
    """A ball dropped on a floor; the seed moves its start a little."""
    height = height + 1e-3 * np.random.default_rng(seed).random()
    if note:
        with Path(note).open("a") as file:
            file.write(f"{height!r}\n")
    ball = ss.Lagrangian("ball", M=1.0, q0=height, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q, dy_dq=np.eye(1)), NewtonImpact(e=e))
    return ss.NonsmoothSystem([ball], [floor])


def slow(*, height=1.0, note=""):
    """The same, after a while: to be killed meanwhile."""
    time.sleep(0.05)
    return drop(height=height, note=note)


def bad(*, what="fine", height=1.0):
    """A ball, or what goes wrong instead."""
    if what == "raises":
        raise RuntimeError("no such ball")
    if what == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "parent":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(600.0)
    if what == "hangs":
        time.sleep(600.0)
    if what == "hungry":
        np.ones(1 << 40)
    if what == "nothing":
        return 7
    return drop(height=height)


def box(*, mu=0.5, speed=1.0):
    """A box that slides on a plane until friction has stopped it."""
    builder = ss.WorldBuilder()
    builder.material("default", mu=mu)
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1), velocity=(speed, 0, 0))
    return builder


def lowest(run):
    """Height at the end."""
    return run.q[-1, 0]


def several(run, parameters):
    """Numbers by name, the parameters among them."""
    return {"height at the end [m]": run.q[-1, 0], "where it began [m]": parameters["height"]}


def words(run):
    """No number."""
    return "low"
