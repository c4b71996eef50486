"""Blocks of records of a run, so that the memory of exports does not grow with its length."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from stickslip.rotations import turned
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray

Run = Trajectory
Report = Callable[[int, int], None]
"""Called with the number of records done and the total number."""

BLOCK = 32e6
"""Approximate size of a block [bytes]."""
OF_A_CONTACT = 40
"""Approximate number of numbers per contact."""
SAMPLES = 10
"""Approximate number of records from which the size of blocks is estimated."""


class ExportError(ValueError):
    """Export that is not possible; the message names a remedy."""


def records(run: Run, first: int, last: int) -> Run:
    """Records from `first` to before `last` of a run, with energies and states of the whole run."""
    return run[first:last]


def picked(run: Run, start: float | None = None, until: float | None = None, every: int = 1) -> IntArray:
    """Numbers of every `every`-th record from `start` to `until` [s] [-], shape (k,)."""
    if every < 1:
        raise ExportError(f"every {every}: it must be 1 or more records")
    t = run.t
    rounding = 1e-12 * float(np.max(np.abs(t), initial=0.0))
    low, high = (end if end is not None else t[k] for end, k in ((start, 0), (until, -1)))
    numbers = np.flatnonzero((t >= low - rounding) & (t <= high + rounding))[::every]
    if not numbers.size:
        raise ExportError(
            f"no record from {low:g} to {high:g} s; those of the run are from {t[0]:g} to {t[-1]:g} s"
        )
    return numbers


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive records of a run, some of which are exported."""

    part: Run
    """The consecutive records."""
    rows: IntArray
    """Rows of the exported records in `part` [-], shape (k,)."""
    numbers: IntArray
    """Numbers of the exported records in the run [-], shape (k,)."""
    since: IntArray
    """First of the omitted records before each exported one, which that one represents [-], shape (k,)."""

    @property
    def t(self) -> Array:
        """Times of the exported records [s], shape (k,)."""
        return self.part.t[self.rows]

    @property
    def contacts(self) -> IntArray:
        """Rows of the contacts of the exported records of a world [-], shape (nc,)."""
        return np.flatnonzero(np.isin(self.part.contacts.record, self.rows))

    @property
    def counts(self) -> IntArray:
        """Numbers of contacts of the exported records [-], shape (k,)."""
        return np.diff(self.part.contacts.offset)[self.rows]


def blocks(run: Run, numbers: IntArray, width: float = 0.0, report: Report | None = None) -> Iterator[Block]:
    """Yield the records `numbers` of a run in blocks; width: approximate exported numbers per record."""
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
    """Approximate number of numbers of one record."""
    width = record.q.size + record.v.size
    return width + OF_A_CONTACT * len(record.contacts) if record.of_world else width


@dataclass(frozen=True, eq=False)
class Motion:
    """Motion of all bodies in some records, for the frames in which the user defined their shapes."""

    position: Array
    """Positions of the origins of these frames [m], shape (k, nb, 3)."""
    quaternion: Array
    """Orientations, scalar first [-], shape (k, nb, 4)."""
    velocity: Array
    """Velocities of these origins, inertial frame [m/s], shape (k, nb, 3)."""
    spin: Array
    """Angular velocities, inertial frame [rad/s], shape (k, nb, 3)."""


def motion(block: Block) -> Motion:
    """Motion of the exported records of a world, see `run.body(name)`."""
    part = block.part
    q, v = part.poses[block.rows].reshape(-1, len(part.model), 7), part.twists[block.rows]
    v = v.reshape(*q.shape[:2], 6)
    x, p = q[..., :3], q[..., 3:]
    spin = turned(p, v[..., 3:])
    arm = turned(p, np.broadcast_to(part.model.origin, x.shape))
    return Motion(x + arm, p, v[..., :3] + np.cross(spin, arm), spin)
