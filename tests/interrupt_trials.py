"""Runs that are interrupted at random times: each must leave the beginning of the run that was not.

`trials(scene, count)` can be called by others; as a script it makes as many trials as asked for:

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
"""Columns of trajectories; those of worlds and of systems have some of them each."""


def bouncing(h=1e-4, until=0.3):
    """A ball whose force and gap are plain Python functions, called back by the compiled march."""
    ball = ss.Lagrangian("ball", M=1.0, q0=0.05, F_ext=lambda t: [-9.81 + 5 * math.sin(50 * t)])
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
    return ss.NonsmoothSystem([ball], [floor]), {"until": until, "h": h}


def compiled():
    """Balls on springs without any function: the march never leaves compiled code."""
    balls = [ss.LagrangianLinear(f"b{k}", M=1.0, q0=0.1 * k, K=100.0, F_ext=-9.81) for k in range(6)]
    gap = ss.systems.LagrangianLinearRelation([[-1.0, 1.0]], [-0.09])
    ties = [ss.Interaction(f"c{k}", (f"b{k}", f"b{k + 1}"), gap, ss.NewtonImpact(e=0.5)) for k in range(5)]
    return ss.NonsmoothSystem(balls, ties), {"until": 0.5, "h": 1e-4}


def single():
    """The bouncing ball by Schatzman-Paoli: one step after another in Python."""
    system, how = bouncing()
    return system, how | {"scheme": "schatzman-paoli", "h": 1e-3}


def circuit():
    """A first-order system, whose source is a Python function that is asked for ahead."""
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
    """The bouncing ball on a spring: a law other than the exact one."""
    system, how = bouncing()
    return system, how | {"scheme": "compliant", "h": 1e-3}


SCENES = {
    "bouncing": bouncing, "compiled": compiled, "single": single, "circuit": circuit, "world": world,
    "relaxed": relaxed,
}  # fmt: skip


def rows(run, count):
    """The first `count` records as bytes, by the name of their column."""
    found = {name: getattr(run, name)[:count].tobytes() for name in COLUMNS if np.ndim(getattr(run, name, 0))}
    if isinstance(run, ss.Trajectory):
        found |= {f"memory {name}": column[:count].tobytes() for name, column in run.memories.items()}
    return found


SENDER = """
import os, sys, time
for line in sys.stdin:
    time.sleep(float(line))
    sent = time.monotonic()
    os.kill(os.getppid(), 2)
    print(sent, flush=True)
"""
"""A process that interrupts its parent after as many seconds as it is told."""


def trial(system, how, whole, delay, sender):
    """Interrupt a run after `delay` [s]: what became of it, and how long that took [s].

    whole: the run that is not interrupted. An AssertionError where the outcome is neither that run nor the
    beginning of it, or where the interrupt never arrives.
    """
    done = finished = None
    reached = []
    try:
        sender.stdin.write(f"{delay}\n")
        sender.stdin.flush()
        # Arguments are written out: after a call by ** Python looks for signals before it assigns.
        finished = ss.simulate(
            system, until=how["until"], h=how["h"], scheme=how.get("scheme"),
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
        rest = ss.simulate(system, until=how["until"], start=done.checkpoint())
        assert rest.q[-1].tobytes() == whole.q[-1].tobytes(), "going on from there is another run"
        assert len(rest) + len(done) - 1 == len(whole)
    return "interrupted", took


def trials(scene, count, seed=0):
    """(outcomes counted, longest time from an interrupt to the end [s]) of that many trials."""
    system, how = SCENES[scene]()
    whole = ss.simulate(system, **how)
    start = time.monotonic()
    again = ss.simulate(system, **how)
    length, draw, outcomes, longest = time.monotonic() - start, random.Random(seed), Counter(), 0.0
    assert rows(again, len(whole)) == rows(whole, len(whole))
    lost = []
    before, sys.unraisablehook = sys.unraisablehook, lost.append
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", SENDER], **pipes) as sender:
        try:
            for _ in range(count):
                outcome, took = trial(system, how, whole, draw.uniform(0.0, length), sender)
                outcomes[outcome], longest = outcomes[outcome] + 1, max(longest, took)
        finally:
            sys.unraisablehook = before
            sender.kill()
    # Finalizers may lose an exception: the run ends all the same. A function that is called back must not.
    assert not [one for one in lost if "ctypes" in (one.err_msg or "")]
    return outcomes, longest


if __name__ == "__main__":
    for name in sys.argv[2:] or SCENES:
        print(name, *trials(name, int(sys.argv[1])), flush=True)
