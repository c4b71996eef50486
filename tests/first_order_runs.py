"""First-order models and runs, shared by several tests."""

import numpy as np

from stickslip.laws import Complementarity
from stickslip.schemes.euler_moreau import EulerMoreau
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Step, first_state
from stickslip.solvers import registry
from stickslip.systems.system import Interaction, NonsmoothSystem

FULL = {"theta": 0.5, "gamma": 0.5, "relation": "gamma"}
MIDPOINT = {"theta": 0.5, "gamma": 0.5, "relation": "midpoint"}
TRAPEZOID = {"theta": 0.5, "gamma": 0.5, "relation": "end"}
IMPLICIT = {"theta": 1.0, "gamma": 1.0, "relation": "end"}


def steps(system: NonsmoothSystem, until: float, h: float, solver: str = "lemke", **options) -> list[Step]:
    """Return all steps of a run, which must be good."""
    scheme, solver_object = EulerMoreau(**options), registry.make(solver, tolerance=1e-12)
    state, system = first_state(system), PreparedSystem(system)
    memory = scheme.begin(system, state, h)
    done = []
    for _ in range(round(until / h)):
        step = scheme.step(system, state, memory, h, solver_object)
        assert step.ok, step.reason or step.solves
        state, memory = step.state, step.memory
        done.append(step)
    return done


def last(system: NonsmoothSystem, until: float, h: float, **options) -> np.ndarray:
    """Return the final state of a run."""
    return steps(system, until, h, **options)[-1].state.q


def order(system: NonsmoothSystem, exact, until: float, h: float, **options) -> float:
    """Return the order of convergence of the final state, measured between h and h / 4."""
    errors = [np.abs(last(system, until, h / k, **options) - exact).max() for k in (1, 4)]
    return float(np.log(errors[0] / errors[1]) / np.log(4.0))


def one_diode(circuit, relation) -> NonsmoothSystem:
    """Return a circuit with one diode."""
    return NonsmoothSystem([circuit], [Interaction("diode", circuit.name, relation, Complementarity())])
