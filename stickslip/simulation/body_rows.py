"""Rows of runs of bodies, of a world or of a robot: numbers, contacts and joints of each step."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.schemes.step import Memory, Step
from stickslip.simulation.contacts import CONTACT_WIDTHS, WHOLE
from stickslip.simulation.rows import TOTAL, Reduction, Rows, Table, rule
from stickslip.state import Array, IntArray, State

NUMBERS = (
    "t", "h", "index", "verdicts", "natural", "natural_scaled", "iterations", "penetration", "opening",
    "correction", "kinetic", "potential", "dissipated", "work", "lifted", "balance",
)  # fmt: skip
"""Columns of one number per row, in the order of `Kept.numbers`."""
TOTALS = tuple(name for name in NUMBERS if rule(name) == TOTAL)
"""Energies that are summed over a run."""
KINDS = {"index": np.int64, "iterations": np.int64, "verdicts": np.int8}
"""Types of the columns of integers."""
NO_CONTACTS: tuple[Any, ...] = tuple(
    np.zeros((0, *width), np.int64 if name in WHOLE else np.float64) for name, width in CONTACT_WIDTHS.items()
)
"""Empty columns of contacts."""


class Kept(NamedTuple):
    """Data of a single step for its row."""

    numbers: tuple[float, ...]
    """Values of the columns `NUMBERS`."""
    arrays: dict[str, Array]
    """Columns of more than one number, by name."""
    contacts: tuple[Any, ...] = NO_CONTACTS
    """Columns of the contacts."""
    joint_r: Array = np.zeros(0)
    """Impulses of the joints [N s, N m s], shape (p,)."""
    joint_id: IntArray = np.zeros(0, np.int64)
    """Identifier of the joint block of each impulse [-], shape (p,)."""
    memory: Memory = {}  # noqa: RUF012
    """Recorded part of the scheme's memory."""


def numbers_of(step: Step, state: State, index: int) -> tuple[float, ...]:
    """Return the values of `NUMBERS` of a step that ended at `state`."""
    e = step.energy
    return (
        state.t, step.h, index, 0 if step.ok else step.verdict.code, step.natural, step.natural_scaled,
        step.iterations, step.penetration, step.opening, step.correction, e.kinetic, e.potential,
        e.dissipated, e.work, e.lifted, e.balance,
    )  # fmt: skip


def start_numbers(
    state: State, index: int, kinetic: float, potential: float, sums: Mapping[str, float]
) -> tuple[float, ...]:  # fmt: skip
    """Return the values of `NUMBERS` of the record of the start; sums: energies so far [J]."""
    totals = (sums.get(name, 0.0) for name in TOTALS)
    return (state.t, 0.0, index, *(0.0,) * 7, kinetic, potential, *totals)


def contacts_of(step: Step) -> tuple[Any, ...]:
    """Return the columns of the contacts of a step."""
    c = step.contacts
    choice = np.zeros(len(c), np.int64) if step.choice is None else step.choice
    return c.id, c.body, c.point, c.frame, c.gap, c.law, step.r, step.u, choice


def rows_of(kept: Sequence[Kept]) -> Rows:
    """Return one row per step."""
    table = np.array([one.numbers for one in kept])
    columns: dict[str, Any] = {
        name: table[:, k].astype(KINDS.get(name, float)) for k, name in enumerate(NUMBERS)
    }
    columns |= {name: np.stack([one.arrays[name] for one in kept]) for name in kept[0].arrays}
    contacts = {
        name: np.concatenate([one.contacts[k] for one in kept]) for k, name in enumerate(CONTACT_WIDTHS)
    }
    joints = {name: np.concatenate([getattr(one, f"joint_{name}") for one in kept]) for name in ("r", "id")}
    return Rows(columns, {
        "contacts": Table(np.array([len(one.contacts[0]) for one in kept]), contacts),
        "joints": Table(np.array([len(one.joint_r) for one in kept]), joints),
    })  # fmt: skip


def certified_columns(
    t: Array, h: float, index: int, numbers: Array, judged: Mapping[str, int]
) -> dict[str, Any]:
    """Return the columns of one number of certified steps of length h [s] that end at t (n,) [s]; index:
    index of the clock before the first; judged: index of each column in `numbers` (n, ...)."""
    n = len(t)
    columns: dict[str, Any] = {
        "t": t, "h": np.full(n, h), "index": index + np.arange(1, n + 1),
        "verdicts": np.full(n, Verdict.CERTIFIED.code, np.int8),
    }  # fmt: skip
    values = np.ascontiguousarray(numbers.T)  # one copy is faster than one per column
    return columns | {
        name: values[k].astype(KINDS[name]) if name in KINDS else values[k] for name, k in judged.items()
    }


def reduction(sums: Mapping[str, float]) -> Reduction:
    """Return the reduction of steps to records; sums: energies so far [J]."""
    return Reduction({name: sums.get(name, 0.0) for name in TOTALS})


def explain_contact(names: Sequence[str], step: Step, raised: bool) -> str:
    """Return the bodies of the contact with the largest residual in a step, as part of a sentence."""
    worst = next((one.residuals.worst for one in step.solves if not one.ok), -1)
    if not raised or step.reason or not step.summed or not 0 <= worst < len(step.contacts):
        return ""
    first, second = (names[body] for body in step.contacts.body[worst])
    return f", worst where {first!r} and {second!r} touch"
