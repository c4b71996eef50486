"""A run in blocks of records, so that memory stays bounded however long it is."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from stickslip.rotations import turned
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray

Run = Trajectory
Report = Callable[[int, int], None]
"""Called with how many records are done and how many there are."""

BLOCK = 32e6
"""What the numbers of a block take, about [bytes]."""
OF_A_CONTACT = 40
"""Numbers that a contact takes, about."""
SAMPLES = 10
"""Records that are looked at for the size of blocks, about."""


class ExportError(ValueError):
    """Export that is not possible; the message names a remedy."""


def records(run: Run, first: int, last: int) -> Run:
    """Records `first` to `last`, without it, of a run; energies and states are those of the whole run."""
    return run[first:last]


def picked(run: Run, start: float | None = None, until: float | None = None, every: int = 1) -> IntArray:
    """Numbers of the records from `start` to `until` [s], every so many of them [-], shape (k,)."""
    if every < 1:
        raise ExportError(f"every {every}: it must be 1 or more records")
    t = run.t
    rounding = 1e-12 * float(np.max(np.abs(t), initial=0.0))
    low, high = (end if end is not None else t[k] for end, k in ((start, 0), (until, -1)))
    found = np.flatnonzero((t >= low - rounding) & (t <= high + rounding))[::every]
    if not found.size:
        raise ExportError(
            f"no record from {low:g} to {high:g} s; those of the run are from {t[0]:g} to {t[-1]:g} s"
        )
    return found


@dataclass(frozen=True, eq=False)
class Block:
    """Some records of a run that follow one another, and which of them are exported."""

    part: Run
    """Those records."""
    rows: IntArray
    """Which of them are exported [-], shape (k,)."""
    numbers: IntArray
    """Their numbers in the run [-], shape (k,)."""
    since: IntArray
    """The first record that each stands for, those left out before it included [-], shape (k,)."""

    @property
    def t(self) -> Array:
        """Times of what is exported [s], shape (k,)."""
        return self.part.t[self.rows]

    @property
    def contacts(self) -> IntArray:
        """Rows of the contacts of what is exported, of a part of a world [-], shape (nc,)."""
        return np.flatnonzero(np.isin(self.part.contacts.record, self.rows))

    @property
    def counts(self) -> IntArray:
        """How many contacts each exported record has [-], shape (k,)."""
        return np.diff(self.part.contacts.offset)[self.rows]


def blocks(run: Run, numbers: IntArray, width: float = 0.0, report: Report | None = None) -> Iterator[Block]:
    """The records `numbers` of a run, block by block; an exporter makes `width` numbers of each, about."""
    width += max(_width(records(run, k, k + 1)) for k in numbers[:: max(1, numbers.size // SAMPLES)].tolist())
    size = max(1, int(BLOCK / (8.0 * width + 1.0)))
    since = np.concatenate([numbers[:1], numbers[:-1] + 1])
    end, done = int(numbers[-1]) + 1, 0
    for first in range(int(numbers[0]), end, size):
        last = min(first + size, end)
        here = slice(*np.searchsorted(numbers, [first, last]).tolist())
        if here.start < here.stop:
            part = records(run, first, last)
            yield Block(part, numbers[here] - first, numbers[here], since[here])
        done = here.stop
        if report is not None:
            report(done, numbers.size)


def _width(record: Run) -> int:
    """How many numbers one record has, about."""
    own = record.q.size + record.v.size
    return own + OF_A_CONTACT * len(record.contacts) if record.of_world else own


@dataclass(frozen=True, eq=False)
class Motion:
    """Where all bodies are in some records, in the frames in which the user gave their shapes."""

    position: Array
    """Of the origins of these frames [m], shape (k, nb, 3)."""
    quaternion: Array
    """Orientations, scalar first [-], shape (k, nb, 4)."""
    velocity: Array
    """Of these origins, inertial frame [m/s], shape (k, nb, 3)."""
    spin: Array
    """Angular velocities, inertial frame [rad/s], shape (k, nb, 3)."""


def motion(block: Block) -> Motion:
    """Of the exported records of a world, as `run.body(name)` has it for one body."""
    part = block.part
    q, v = part.poses[block.rows].reshape(-1, len(part.model), 7), part.twists[block.rows]
    v = v.reshape(*q.shape[:2], 6)
    x, p = q[..., :3], q[..., 3:]
    spin = turned(p, v[..., 3:])
    arm = turned(p, np.broadcast_to(part.model.origin, x.shape))
    return Motion(x + arm, p, v[..., :3] + np.cross(spin, arm), spin)
