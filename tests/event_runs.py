"""Runs of the event-driven scheme, step by step, for its tests."""

import numpy as np

from stickslip.schemes.event_driven import EventDriven
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import Step, first_state
from stickslip.solvers import registry
from stickslip.systems.system import NonsmoothSystem

G = 9.81
SOLVER = registry.make("auto", tolerance=1e-10)


def run(system: NonsmoothSystem, until: float, h: float, **options) -> list[Step]:
    """Every step to `until`, all of them good."""
    done = walk(system, until, h, **options)
    assert all(step.ok for step in done), [step.reason for step in done if not step.ok]
    return done


def walk(system: NonsmoothSystem, until: float, h: float, scheme=None, **options) -> list[Step]:
    """Every step to `until`, good or not."""
    scheme = EventDriven(**options) if scheme is None else scheme
    state, system = first_state(system), PreparedSystem(system)
    memory, done = scheme.begin(system, state, h), []
    for _ in range(round(until / h)):
        step = scheme.step(system, state, memory, h, SOLVER)
        state, memory = step.state, step.memory
        done.append(step)
    return done


def events(done: list[Step], kind: str, interaction: str = "") -> np.ndarray:
    """Times of the events of a kind, of one interaction or of all."""
    found = [e for step in done for e in step.events]
    return np.array([e.t for e in found if e.kind == kind and interaction in ("", e.interaction)])
