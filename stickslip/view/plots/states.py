"""Two numbers of the state over time: a coordinate and its velocity, or two states of first order."""

from dataclasses import dataclass

import numpy as np

from stickslip.names import LISTED, alternatives
from stickslip.problem.checks import Array
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_trajectory import WorldTrajectory
from stickslip.view.plots.choice import (
    PlotError,
    Run,
    body_number,
    refuse_body,
    refuse_interaction,
)

Coordinate = int | str | tuple[int, int]
"""Number of a coordinate, x, y or z of a body, or the numbers of two states of first order."""

AXES = ("x", "y", "z")
NEAR = 3
"""Intervals on either side that a jump is compared with."""
SHARP = 5.0
"""A velocity jumps where it changes so many times as much as around it [-]."""
SEEN = 1e-3
"""Smallest jump that can be seen, relative to the range of the velocity [-]."""


@dataclass(frozen=True, eq=False)
class Portrait:
    """Two numbers of the state at every record."""

    name: str
    """Of the system or body, and the coordinate."""
    t: Array
    """Times [s], shape (n,)."""
    x: Array
    """Coordinate, or first state [any], shape (n,)."""
    y: Array
    """Its velocity, or second state [any], shape (n,)."""
    labels: tuple[str, str]
    """Of the axes."""
    moves: bool
    """Whether y is the velocity of x."""
    jump: np.ndarray
    """Whether y jumps between a record and the next: an impact [-], shape (n - 1,), bool."""

    def within(self, rows: slice) -> "Portrait":
        """Some records, one after another."""
        jump = self.jump[rows.start : max(rows.start, rows.stop - 1)]
        columns = (self.t[rows], self.x[rows], self.y[rows])
        return Portrait(self.name, *columns, self.labels, self.moves, jump)


def portrait(
    run: Run, system: str | None = None, body: str | None = None, coordinate: Coordinate | None = None
) -> Portrait:
    """What phase portraits and Poincaré sections draw; the first system, dynamic body and coordinate unless
    others are named."""
    if isinstance(run, Trajectory):
        refuse_body(run, body)
        return _of_system(run, system, coordinate)
    refuse_interaction(run, system, "system")
    return _of_body(run, body, coordinate)


def state_of(run: Run, system: str | None = None, body: str | None = None) -> tuple[Array, Array]:
    """q and v of the system or body that `portrait` draws, shape (n, nq) and (n, nv)."""
    if isinstance(run, Trajectory):
        refuse_body(run, body)
        view = run.system(_system(run, system))
        return view.q, view.v
    refuse_interaction(run, system, "system")
    k = _body(run, body)
    return run.q[:, 7 * k : 7 * k + 7], run.v[:, 6 * k : 6 * k + 6]


def _system(run: Trajectory, name: str | None) -> str:
    names = [part.name for part in run.model.systems]
    if name is not None and name not in names:
        raise PlotError(f"no system {name!r}; {alternatives(name, names, most=LISTED)}")
    return names[0] if name is None else name


def _body(run: WorldTrajectory, name: str | None) -> int:
    if name is not None:
        return body_number(run, name)
    if not len(run.model):
        raise PlotError("no body: the world is empty")
    return int(np.argmax(run.model.mass > 0.0))


def _of_system(run: Trajectory, system: str | None, coordinate: Coordinate | None) -> Portrait:
    name = _system(run, system)
    part = run.model.system(name)[0]
    view = run.system(name)
    if part.first_order:
        i, j = _two(name, part.nq, coordinate)
        labels = (f"x{i}", f"x{j}")
        still = np.zeros(len(run) - 1, bool)
        return Portrait(name, run.t, view.x[:, i], view.x[:, j], labels, False, still)
    turns = part.nq != part.nv
    count = 3 if turns else part.nq
    k = _number(f"system {name!r}", coordinate, count, AXES if turns else ())
    labels = (f"{AXES[k]} [m]", f"v{AXES[k]} [m/s]") if turns else (f"q{k}", f"v{k}")
    touched = np.zeros(len(run) - 1, bool)
    for one, components, _ in run.model.places:
        if name in one.systems:
            touched |= run.r[1:, components].any(axis=1)
    y = view.v[:, k]
    return Portrait(name, run.t, view.q[:, k], y, labels, True, touched & jumps(y))


def _of_body(run: WorldTrajectory, body: str | None, coordinate: Coordinate | None) -> Portrait:
    b = _body(run, body)
    name = run.model.names[b]
    k = _number(f"body {name!r}", coordinate, 3, AXES)
    y = run.v[:, 6 * b + k]
    labels = (f"{AXES[k]} [m]", f"v{AXES[k]} [m/s]")
    touched = np.ones(len(run) - 1, bool)
    if np.allclose(np.diff(run.t), run.h[1:]):  # every step is recorded, and with it every contact
        contacts, touched = run.contacts, np.zeros(len(run), bool)
        rows = (contacts.body == b).any(axis=1) & (contacts.r[:, 0] > 0.0)
        touched[contacts.record[rows]] = True
        touched = touched[1:]
    return Portrait(name, run.t, run.q[:, 7 * b + k], y, labels, True, touched & jumps(y))


def jumps(v: Array) -> np.ndarray:
    """Where a velocity changes much more from one record to the next than around: shape (n - 1,), bool."""
    with np.errstate(all="ignore"):  # a run that blew up is drawn all the same
        change = np.abs(np.diff(v))
        if not change.size:
            return np.zeros(0, bool)
        padded = np.pad(change, NEAR, mode="reflect") if change.size > NEAR else np.pad(change, NEAR, "edge")
        around = np.lib.stride_tricks.sliding_window_view(padded, 2 * NEAR + 1)
        usual = np.median(np.delete(around, NEAR, axis=1), axis=1)
        finite = v[np.isfinite(v)]
        seen = SEEN * float(np.ptp(finite)) if finite.size else 0.0
        return np.asarray((change > SHARP * usual) & (change > seen))


def _number(whose: str, coordinate: Coordinate | None, count: int, names: tuple[str, ...]) -> int:
    """The number of one coordinate, given by number or name."""
    if coordinate is None and count:
        return 0
    if isinstance(coordinate, str) and coordinate in names:
        return names.index(coordinate)
    text = str(coordinate)
    if not _is_below(text, count):
        said = f" ({', '.join(names)})" if names else ""
        raise PlotError(f"no coordinate {coordinate!r} of {whose}; known: 0 to {count - 1}{said}")
    return int(text)


def _two(name: str, count: int, coordinate: Coordinate | None) -> tuple[int, int]:
    """The numbers of two states of a system of first order."""
    if count < 2:
        raise PlotError(f"system {name!r} is of first order and has one state: a portrait needs two")
    if coordinate is None:
        return 0, 1
    parts = coordinate.split(",") if isinstance(coordinate, str) else coordinate
    texts = [str(part).strip() for part in parts] if not isinstance(parts, int) else []
    if len(texts) != 2 or not all(_is_below(text, count) for text in texts):
        wanted = f"two of 0 to {count - 1}, such as 0,1"
        raise PlotError(f"coordinate {coordinate!r}: system {name!r} is of first order; give {wanted}")
    return int(texts[0]), int(texts[1])


def _is_below(text: str, count: int) -> bool:
    """Whether a text is a number from 0 on, and less than so many."""
    return text.isdecimal() and len(text) < 10 and int(text) < count
