"""Drawing data of a world, independent of the renderer: placed meshes, contacts, forces and numbers.

All data are in metres and inertial axes, as in the records.
"""

import math
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.solution import Verdict
from stickslip.rotations import turned, units
from stickslip.simulation.contacts import CONTACT_WIDTHS, LEAST, WHOLE, WorldContacts
from stickslip.simulation.record import Record
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, IntArray
from stickslip.view.browser.instances import Instances, Surroundings, drawable, instances_of, surroundings_of

STATE_COLOURS: dict[str, tuple[int, int, int]] = {
    "separating": (140, 140, 140),
    "sticking": (0, 114, 178),
    "slipping": (213, 94, 0),
    "rolling": (0, 158, 115),
}
"""Red, green and blue of contact states [0 to 255]; colours of Okabe and Ito, which colour-blind readers can
distinguish."""
PALE = 0.55
"""Share of white in the colour of arrows of forces that are not unique [-]."""
SAMPLE = 300
"""Approximate number of records from which the extent of the scene and the size of arrows are estimated."""
LONGEST = 4.0
"""Length of the longest arrow [lengths of the arrow of a typical force]; arrows of impacts are cut to it."""


def shown_state(name: str) -> str:
    """Map a state of `problem.states` to one of `STATE_COLOURS`: sliding contacts are slipping, other
    contacts that roll or spin are rolling."""
    words = set(name.split(" and "))
    if words & {"slipping", "sliding"}:
        return "slipping"
    if words & {"rolling", "spinning"}:
        return "rolling"
    return "separating" if name == "separating" else "sticking"


@dataclass(frozen=True)
class Readout:
    """Numbers of a frame."""

    t: float
    """Time [s]."""
    penetration: float = 0.0
    """Deepest penetration [m]."""
    residual: float = 0.0
    """Largest unit-free natural residual [-]."""
    tolerance: float = math.nan
    """Tolerance of the residual [-]; nan if it is not known."""
    verdict: Verdict = Verdict.CERTIFIED
    """The worst verdict of the steps since the previous record: certified, relaxed or missed."""
    counts: dict[str, int] = field(default_factory=dict)
    """Number of contacts in each state of `STATE_COLOURS`, in that order."""
    lost: int = 0
    """Number of bodies whose position is not finite or too far away; they are drawn at the centre."""
    many: int = 0
    """Number of contacts whose force is not unique and has been chosen by least norm."""

    @property
    def contacts(self) -> int:
        """Number of contacts."""
        return sum(self.counts.values())


@dataclass(frozen=True, eq=False)
class Frame:
    """Drawing data of one record."""

    bodies: Array
    """Centres of mass of all bodies [m], shape (nb, 3)."""
    turns: Array
    """Orientations of all bodies, unit quaternions with the scalar first [-], shape (nb, 4)."""
    points: Array
    """Contact points [m], shape (nc, 3)."""
    arrows: Array
    """Start and end of the arrow of each contact force, on the movable body; if both are movable, on the one
    that is lifted [m], shape (nc, 2, 3)."""
    colours: np.ndarray
    """Colours of the contacts, by state [0 to 255], shape (nc, 3), uint8."""
    states: np.ndarray
    """State of each contact, one of `STATE_COLOURS` [-], shape (nc,), text."""
    forces: Array
    """Force on the first body of each contact [N], shape (nc, 3)."""
    choice: IntArray
    """How the impulse of each contact was chosen, see `WorldContacts.choice` [-], shape (nc,)."""
    pairs: IntArray
    """First and second body of each contact [-], shape (nc, 2)."""
    ids: IntArray
    """Identities of the contacts, constant while a contact lasts [-], shape (nc,)."""
    normal: Array
    """Normal force of each contact [N], shape (nc,)."""
    gap: Array
    """Signed distance of the surfaces of each contact [m], shape (nc,)."""
    velocity: Array
    """(ẋ, ω) of all bodies, inertial axes [m/s, rad/s], shape (nb, 6)."""
    readout: Readout

    @property
    def arrow_colours(self) -> np.ndarray:
        """Colours of the arrows: those of the contacts, paler if a force is not unique [0 to 255], shape (nc,
        3), uint8."""
        paler = (self.choice == LEAST)[:, None]
        return np.where(paler, PALE * 255.0 + (1.0 - PALE) * self.colours, self.colours).astype(np.uint8)


@dataclass(frozen=True, eq=False)
class Stage:
    """Drawing data of a world and its records."""

    model: WorldModel
    """Bodies, shapes and joints: names and numbers."""
    instances: tuple[Instances, ...]
    """Instances of meshes, grouped by mesh."""
    surroundings: Surroundings
    """Centre and size of the scene."""
    force_scale: float
    """Length of arrows per force [m/N]."""
    arrow: float
    """Length of the arrow of a typical force [m]; the longest arrow is `LONGEST` times as long."""
    tolerance: float
    """Tolerance of the residuals [-]; nan if it is not known."""
    unknown: tuple[str, ...] = ()
    """Kinds of unknown shapes, which are only marked."""
    records: Trajectory | Record | None = None
    """Records shown by `frame`; without them only `frame_of` can be used."""

    @classmethod
    def of(cls, source: Trajectory | World | WorldModel) -> Self:
        """The stage of a run, of a world at its start (one frame without contacts), or of a model."""
        records: Trajectory | Record | None = None
        tolerance = math.nan
        if isinstance(source, Trajectory) and source.of_world:
            model, tolerance, records = source.model, source.tolerance, source
            sample = source.sample(SAMPLE)
            places = sample.poses
        elif isinstance(source, World):
            model, places, records = WorldModel.of(source), source.start.q[None], _start(source)
        elif isinstance(source, WorldModel):
            model, places = source, np.tile([0.0, 0, 0, 1, 0, 0, 0], len(source))[None]
        else:
            kind = type(source).__name__
            raise TypeError(f"a {kind} has no bodies to draw; give a World, or the trajectory of one")
        model = drawable(model)
        around = surroundings_of(model, places)
        instances, unknown = instances_of(model, around)
        contacts = (sample.raw_contacts, sample.h) if isinstance(source, Trajectory) else None
        usual = _usual_force(model, contacts)
        arrow = max(0.04 * around.size, min(2.0 * around.body, 0.2 * around.size))
        return cls(model, instances, around, arrow / usual, arrow, tolerance, unknown, records)

    def __len__(self) -> int:
        """Number of records."""
        return len(self.records) if isinstance(self.records, Trajectory) else int(self.records is not None)

    @property
    def centre(self) -> Array:
        """Centre of the scene [m], shape (3,)."""
        return self.surroundings.centre

    @property
    def size(self) -> float:
        """Diameter of the scene [m]."""
        return self.surroundings.size

    @property
    def up(self) -> Array:
        """Direction opposite to gravity; +z without gravity [-], shape (3,)."""
        return self.surroundings.up

    @property
    def times(self) -> Array:
        """Times of the records [s], shape (n,)."""
        if isinstance(self.records, Trajectory):
            return self.records.t
        return np.zeros(len(self)) if self.records is None else np.array([self.records.t])

    def frame(self, k: int) -> Frame:
        """Frame of record k; negative k count from the end."""
        if not -len(self) <= k < len(self):
            raise IndexError(f"frame {k} of {len(self)}")
        if isinstance(self.records, Trajectory):
            return self.frame_of(self.records.at(k))
        assert self.records is not None
        return self.frame_of(self.records)

    @np.errstate(all="ignore")  # diverged runs are drawn too
    def frame_of(self, record: Record) -> Frame:
        """Frame of any record of this world, of a finished or a running simulation."""
        q, v = record.poses.reshape(-1, 7), record.twists.reshape(-1, 6)
        x, p, lost = self._placed(q)
        states, palette, counts = _shown_states(record.states)
        forces = _finite(record.contacts.force(np.array([record.h]))[0])
        points = np.clip(_finite(record.contacts.point, self.centre), *self._bounds())
        steps = self.force_scale * self._sides(record.contacts.body, forces)[:, None] * forces
        length = np.linalg.norm(steps, axis=1, keepdims=True)
        limit = LONGEST * self.arrow
        steps = _finite(np.where(length > limit, steps * (limit / np.maximum(length, limit)), steps))
        return Frame(
            bodies=x, turns=p, points=points, arrows=np.stack([points, points + steps], axis=1),
            colours=palette, states=states, forces=forces, choice=record.contacts.choice,
            pairs=record.contacts.body, ids=record.contacts.id,
            normal=record.contacts.r[:, 0] / (record.h if record.h > 0.0 else 1.0), gap=record.contacts.gap,
            velocity=np.concatenate([v[:, :3], turned(p, v[:, 3:])], axis=1),
            readout=Readout(
                record.t, record.penetration, record.natural_scaled, self.tolerance, record.verdict, counts,
                lost, int((record.contacts.choice == LEAST).sum()),
            ),
        )  # fmt: skip

    def _sides(self, pairs: IntArray, forces: Array) -> Array:
        """1 for arrows of the force on the first body, -1 for those on the second."""
        movable = (self.model.kind == BodyKind.DYNAMIC)[pairs]
        lifted = np.where(forces @ self.up >= 0.0, 1.0, -1.0)
        return np.where(movable[:, 0] == movable[:, 1], lifted, np.where(movable[:, 0], 1.0, -1.0))

    def _bounds(self) -> tuple[Array, Array]:
        far = self.surroundings.farthest
        return self.centre - far, self.centre + far

    def _placed(self, q: Array) -> tuple[Array, Array, int]:
        """Positions and unit quaternions that can be drawn, and the number of bodies with other poses."""
        near = (np.abs(q[:, :3] - self.centre) <= self.surroundings.farthest).all(axis=1)
        turns, turned_ = units(q[:, 3:])
        good = near & turned_
        x = np.where(good[:, None], q[:, :3], self.centre)
        return x, np.where(good[:, None], turns, [1.0, 0, 0, 0]), int((~good).sum())


def _shown_states(names: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, int]]:
    """Return the shown states of contacts, their colours, and the number of contacts in each state.

    Each distinct name is mapped once, because there may be thousands of contacts.
    """
    order = list(STATE_COLOURS)
    number = {name: order.index(shown_state(name)) for name in set(names.tolist())}
    code = np.array([number[name] for name in names.tolist()], np.int64)
    counts = np.bincount(code, minlength=len(order)).tolist()
    return (
        np.array(order, object)[code],
        np.array(list(STATE_COLOURS.values()), np.uint8)[code],
        {name: count for name, count in zip(order, counts, strict=True) if count},
    )


def _start(world: World) -> Record:
    """Record of a world at its start, without contacts."""
    columns: dict[str, Any] = {
        name: np.zeros((0, *width), np.int64 if name in WHOLE else np.float64)
        for name, width in CONTACT_WIDTHS.items()
    }
    none = WorldContacts(offset=np.zeros(2, np.int64), **columns)
    start = world.start
    return Record(
        t=start.t, h=0.0, q=start.q, v=start.v, verdict=Verdict.CERTIFIED, natural=0.0, natural_scaled=0.0,
        penetration=0.0, tell={"contacts": none, "states": np.zeros(0, object)}.__getitem__,
        poses=start.q, twists=start.v,
    )  # fmt: skip


def _usual_force(model: WorldModel, contacts: tuple[WorldContacts, Array] | None) -> float:
    """Typical force, whose arrow has the length `arrow` [N]: the 0.9 quantile of the acting forces; without
    forces, three times the weight of a typical body."""
    if contacts is not None:
        with np.errstate(all="ignore"):
            sizes = np.linalg.norm(contacts[0].force(contacts[1])[0], axis=1)
        sizes = sizes[np.isfinite(sizes)]
        acting = sizes[sizes > 1e-6 * sizes.max(initial=0.0)]
        if acting.size:
            return float(np.quantile(acting, 0.9))
    masses = model.mass[model.kind == BodyKind.DYNAMIC]
    weight = float(np.median(masses) if masses.size else 1.0) * float(np.linalg.norm(model.gravity))
    return 3.0 * weight if 0.0 < weight < math.inf else 1.0


def _finite(rows: Array, instead: Array | float = 0.0) -> Array:
    """Replace rows with non-finite values."""
    good = np.isfinite(rows).all(axis=1, keepdims=True)
    return np.where(good, rows, instead)
