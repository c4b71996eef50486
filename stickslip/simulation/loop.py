"""`simulate`: step after step until the end, recorded."""

from stickslip.schemes.step import Scheme, Solver, Step, first_state
from stickslip.systems.quantities import ModelError
from stickslip.systems.system import NonsmoothSystem


def steps(system: NonsmoothSystem, *, until: float, h: float, scheme: Scheme, solver: Solver) -> list[Step]:
    """Every step from the start to `until` [s], each of length h [s]."""
    if not h > 0.0:
        raise ModelError(f"h is {h}; a step must be positive")
    state = first_state(system)
    memory = scheme.begin(system, state, h)
    done: list[Step] = []
    for _ in range(round(until / h)):
        step = scheme.step(system, state, memory, h, solver)
        state, memory = step.state, step.memory
        done.append(step)
    return done
