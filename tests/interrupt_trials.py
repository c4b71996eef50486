"""Trials of runs interrupted at random times: each must leave a beginning of the uninterrupted run.

`trials(scene, count)` makes trials from a test; the script makes the given number of trials:

    python tests/interrupt_trials.py 300 [scene ...]
"""

import math
import random
import subprocess
import sys
import time
from collections import Counter

import numpy as np

import stickslip as ss

COLUMNS = (
    "t", "h", "q", "v", "z", "r", "u", "y", "active", "forecast", "ok", "natural", "natural_scaled",
    "iterations", "newton", "index", "penetration", "opening", "kinetic", "dissipated", "balance",
)  # fmt: skip
"""Columns of trajectories; those of worlds and of systems have different subsets of them."""


def bouncing(h=1e-4, until=0.3):
    """A bouncing ball whose force and gap are Python functions, called by the compiled march."""
    ball = ss.Lagrangian("ball", M=1.0, q0=0.05, F_ext=lambda t: [-9.81 + 5 * math.sin(50 * t)])
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
    return ss.NonsmoothSystem([ball], [floor]), {"until": until, "h": h}


def compiled():
    """Balls on springs without Python functions, so that the march never leaves compiled code."""
    balls = [ss.LagrangianLinear(f"b{k}", M=1.0, q0=0.1 * k, K=100.0, F_ext=-9.81) for k in range(6)]
    gap = ss.systems.LagrangianLinearRelation([[-1.0, 1.0]], [-0.09])
    ties = [ss.Interaction(f"c{k}", (f"b{k}", f"b{k + 1}"), gap, ss.NewtonImpact(e=0.5)) for k in range(5)]
    return ss.NonsmoothSystem(balls, ties), {"until": 0.5, "h": 1e-4}


def single():
    """The bouncing ball by Schatzman-Paoli, with steps in Python."""
    system, options = bouncing()
    return system, options | {"scheme": "schatzman-paoli", "h": 1e-3}


def circuit():
    """A first-order system whose source is a Python function, evaluated ahead of the march."""
    A, B, C = [[0.0, -1.0], [1.0, 0.0]], [[1.0], [0.0]], [[1.0, 0.0]]
    tank = ss.FirstOrderLinear("tank", A=A, b=lambda t: [math.sin(9 * t), 0.0], x0=[1.0, 0.0])
    relation = ss.systems.FirstOrderLinearRelation(C=C, B=B, D=[[1.0]])
    diode = ss.Interaction("diode", "tank", relation, ss.laws.Complementarity())
    return ss.NonsmoothSystem([tank], [diode]), {"until": 2.0, "h": 1e-4, "scheme": "euler-moreau"}


def world():
    """Balls that fall on a floor."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    for k in range(5):
        builder.body(f"ball {k}", ss.Sphere(0.1), position=(0.25 * k, 0, 0.2 + 0.1 * k))
    return builder.build(), {"until": 0.5, "h": 1e-3}


def relaxed():
    """The bouncing ball with a compliant contact, which is not the exact law."""
    system, options = bouncing()
    return system, options | {"scheme": "compliant", "h": 1e-3}


SCENES = {
    "bouncing": bouncing, "compiled": compiled, "single": single, "circuit": circuit, "world": world,
    "relaxed": relaxed,
}  # fmt: skip


def rows(run, count):
    """Return the first `count` records as bytes by column."""
    columns = {
        name: getattr(run, name)[:count].tobytes() for name in COLUMNS if np.ndim(getattr(run, name, 0))
    }
    if isinstance(run, ss.Trajectory):
        columns |= {f"memory {name}": column[:count].tobytes() for name, column in run.memories.items()}
    return columns


SENDER = """
import os, sys, time
for line in sys.stdin:
    time.sleep(float(line))
    sent = time.monotonic()
    os.kill(os.getppid(), 2)
    print(sent, flush=True)
"""
"""Script that interrupts its parent after the seconds read from standard input, and prints the time."""


def trial(system, options, whole, delay, sender):
    """Interrupt a run after `delay` [s]; return the outcome, and the time from the interrupt to the end [s].

    whole: the uninterrupted run. Raises an AssertionError if the result is neither this run nor a beginning
    of it, or if the interrupt never arrives.
    """
    done = finished = None
    reached = []
    try:
        sender.stdin.write(f"{delay}\n")
        sender.stdin.flush()
        # Explicit arguments: after a call with ** Python checks signals before the assignment.
        finished = ss.simulate(
            system, until=options["until"], h=options["h"], scheme=options.get("scheme"),
            progress=lambda t, _: reached.append(t),
        )  # fmt: skip
        time.sleep(delay + 10.0)
        raise AssertionError("the interrupt was swallowed")
    except KeyboardInterrupt as stop:
        ended = time.monotonic()
        done = getattr(stop, "trajectory", None)
    took = ended - float(sender.stdout.readline())
    if finished is not None:
        assert rows(finished, len(finished)) == rows(whole, len(whole)), "another run"
        return "finished", 0.0
    if done is None:
        assert not reached, "nothing of the run is kept"
        return "before the first record", took
    assert rows(done, len(done)) == rows(whole, len(done)), "not the beginning of the run"
    if len(done) < len(whole):
        rest = ss.simulate(system, until=options["until"], start=done.checkpoint())
        assert rest.q[-1].tobytes() == whole.q[-1].tobytes(), "going on from there is another run"
        assert len(rest) + len(done) - 1 == len(whole)
    return "interrupted", took


def trials(scene, count, seed=0):
    """Make trials; return the counts of outcomes, and the longest time from an interrupt to the end [s]."""
    system, options = SCENES[scene]()
    whole = ss.simulate(system, **options)
    start = time.monotonic()
    again = ss.simulate(system, **options)
    length, draw, outcomes, longest = time.monotonic() - start, random.Random(seed), Counter(), 0.0
    assert rows(again, len(whole)) == rows(whole, len(whole))
    lost = []
    before, sys.unraisablehook = sys.unraisablehook, lost.append
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SENDER], **pipes) as sender:
        try:
            for _ in range(count):
                outcome, took = trial(system, options, whole, draw.uniform(0.0, length), sender)
                outcomes[outcome], longest = outcomes[outcome] + 1, max(longest, took)
        finally:
            sys.unraisablehook = before
            sender.kill()
    # Finalizers may lose an exception, as the run ends anyway; callbacks must not.
    assert not [error for error in lost if "ctypes" in (error.err_msg or "")]
    return outcomes, longest


if __name__ == "__main__":
    for name in sys.argv[2:] or SCENES:
        print(name, *trials(name, int(sys.argv[1])), flush=True)
