"""Runs of mechanical systems with access to every step."""

from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import first_state
from stickslip.solvers import registry


def steps(system, *, until, h, scheme, solver=None):
    """Return all steps of length h from the start to `until`."""
    solver = registry.make("auto", tolerance=1e-10) if solver is None else solver
    state, system = first_state(system), PreparedSystem(system)
    memory = scheme.begin(system, state, h)
    done = []
    for _ in range(round(until / h)):
        step = scheme.step(system, state, memory, h, solver)
        state, memory = step.state, step.memory
        done.append(step)
    return done
