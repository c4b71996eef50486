"""Runs of the event-driven scheme, step by step."""

import numpy as np

from stickslip.schemes.event_driven import EventDriven
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Step, first_state
from stickslip.solvers import registry
from stickslip.systems.system import NonsmoothSystem

G = 9.81
SOLVER = registry.make("auto", tolerance=1e-10)


def run(system: NonsmoothSystem, until: float, h: float, **options) -> list[Step]:
    """Return all steps until `until`, which must be good."""
    steps = walk(system, until, h, **options)
    assert all(step.ok for step in steps), [step.reason for step in steps if not step.ok]
    return steps


def walk(system: NonsmoothSystem, until: float, h: float, scheme=None, **options) -> list[Step]:
    """Return all steps until `until`, good or not."""
    scheme = EventDriven(**options) if scheme is None else scheme
    state, system = first_state(system), PreparedSystem(system)
    memory, steps = scheme.begin(system, state, h), []
    for _ in range(round(until / h)):
        step = scheme.step(system, state, memory, h, SOLVER)
        state, memory = step.state, step.memory
        steps.append(step)
    return steps


def events(steps: list[Step], kind: str, interaction: str = "") -> np.ndarray:
    """Return the times of the events of a kind, for one interaction or for all."""
    every = [e for step in steps for e in step.events]
    return np.array([e.t for e in every if e.kind == kind and interaction in ("", e.interaction)])
