"""What a simulation of a world leaves: every recorded step as arrays, by body and by contact."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from stickslip.problem.solution import Verdict
from stickslip.rotations import turned
from stickslip.schemes.step import Memory
from stickslip.simulation.clock import OFF_CLOCK, Clock
from stickslip.simulation.verdicts import RunVerdict
from stickslip.simulation.world_checkpoint import EnergySums, WorldCheckpoint
from stickslip.simulation.world_contacts import UNIQUE, ContactTable, WorldContacts
from stickslip.simulation.world_model import WorldModel
from stickslip.simulation.world_record import WorldRecord
from stickslip.state import Array, IntArray, State


@dataclass(frozen=True, eq=False)
class BodyView:
    """One body of a trajectory, in the frame in which the user gave its shape."""

    name: str
    position: Array
    """Of the origin of the user's frame [m], shape (n, 3)."""
    quaternion: Array
    """Orientation, scalar first [-], shape (n, 4)."""
    velocity: Array
    """Of that origin, inertial frame [m/s], shape (n, 3)."""
    spin: Array
    """Angular velocity, inertial frame [rad/s], shape (n, 3)."""
    centre: Array
    """The centre of mass [m], shape (n, 3)."""
    centre_velocity: Array
    """Of the centre of mass, inertial frame [m/s], shape (n, 3)."""


@dataclass(frozen=True, eq=False)
class WorldTrajectory(RunVerdict):
    """The recorded instants of a run of a world, row 0 being the start. All arrays are over the n instants.

    Between two records iterations and energies add up, the worst residual, penetration, opening and
    correction count, and contacts and joint impulses are those of the last step.
    """

    model: WorldModel
    """Bodies, shapes and joints: names and numbers."""
    t: Array
    """Times [s], shape (n,)."""
    h: Array
    """Length of the step that ended there [s], shape (n,); 0 at the start."""
    q: Array
    """(x, p) of all bodies [m, -], shape (n, 7 nb); see `State`."""
    v: Array
    """(ẋ, Ω) of all bodies [m/s, rad/s], shape (n, 6 nb); see `State`."""
    verdicts: IntArray
    """The worst of the steps since the record before, by `Verdict.code`: 0 certified, 1 relaxed, 2 missed
    [-], shape (n,)."""
    natural: Array
    """Largest natural residual since the record before [-], shape (n,)."""
    natural_scaled: Array
    """Largest unit-free natural residual since the record before [-], shape (n,)."""
    iterations: IntArray
    """Iterations of the solver since the record before [-], shape (n,)."""
    penetration: Array
    """Deepest overlap at the end of a step since the record before [m], shape (n,)."""
    opening: Array
    """Largest error of a joint at the end of a step since the record before [m, rad], shape (n,)."""
    correction: Array
    """Largest displacement by the position correction since the record before [m], shape (n,)."""
    kinetic: Array
    """Kinetic energy [J], shape (n,)."""
    potential: Array
    """Potential energy, gravity's and springs' [J], shape (n,)."""
    dissipated: Array
    """By contacts, joints and dampers since the start of the first run [J], shape (n,)."""
    work: Array
    """Of actuators, users' forces and kinematic bodies since then [J], shape (n,)."""
    lifted: Array
    """Potential energy that the position correction gave since then [J], shape (n,)."""
    balance: Array
    """Change of kinetic + potential + dissipated - work - lifted since then [J], shape (n,): the error."""
    raw_contacts: WorldContacts
    """The contacts of every record with impulses as they were recorded; `contacts` has those it tells."""
    joint_offset: IntArray
    """Where the joint impulses of each record begin in `joint_r` [-], shape (n + 1,)."""
    joint_id: IntArray
    """Which joint each of `joint_r` is of and what it does there: 7 times the number of the joint plus that
    of its part in `body_joints.PARTS`; -1 where the scheme does not tell [-], shape (sum,)."""
    raw_joint_r: Array
    """Impulses of the joints as they were recorded, one record after another [N s, N m s], shape (sum,);
    `joint_r` has those that are told."""
    sensors: dict[str, Array]
    """What the sensors showed, by name [any], shape (n, ...) each."""
    memory: Memory
    """The scheme's memory at the last record, by name [any], any shape."""
    scheme: str
    """Name of the scheme."""
    scheme_options: dict[str, Any]
    """Its options."""
    solver: str
    """Name of the solver."""
    tolerance: float
    """Its tolerance [-]."""
    clock: Clock
    """Where counting began, the length of a full step, and the steps to the last record (-1: it ended a
    shortened step)."""
    steps: int
    """Steps taken, recorded or not."""
    missed: int
    """How many of them missed their tolerance."""
    relaxation: str
    """What stood in the place of the exact law; empty where nothing did."""
    forces: str
    """Which of many impulses of contacts and joints are told: those of `least` norm, or the `solver`'s."""
    choose: "Callable[[WorldTrajectory], tuple[Array, IntArray, Array]] | None" = field(
        default=None, repr=False
    )
    """Gives the impulses that are told, and how they were chosen, when they are first asked for; None: as
    they were recorded."""
    notes: tuple[str, ...] = ()
    """What else happened, a sentence each: bodies that left the ground or fell below everything, and when."""

    def __len__(self) -> int:
        return self.t.size

    @cached_property
    def _told(self) -> tuple[WorldContacts, Array]:
        """Contacts and joint impulses as they are told."""
        if self.choose is None:
            return self.raw_contacts, self.raw_joint_r
        r, choice, joint_r = self.choose(self)
        return replace(self.raw_contacts, r=r, choice=choice), joint_r

    @property
    def contacts(self) -> WorldContacts:
        """The contacts of every record. Of many impulses with the same motion they have those of least norm,
        unless `forces` is `solver`; these are chosen when first asked for."""
        return self._told[0]

    @property
    def joint_r(self) -> Array:
        """Impulses of the joints in the last step of each record, one record after another [N s, N m s],
        shape (sum,), chosen as those of the contacts."""
        return self._told[1]

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy [J], shape (n,)."""
        return self.kinetic + self.potential

    @property
    def relaxed(self) -> bool:
        """Whether another law stood in the place of the exact one, so that residuals certify nothing."""
        return bool(self.relaxation)

    def body(self, name: str) -> BodyView:
        """One body by name: .position, .quaternion, .velocity, .spin, .centre, .centre_velocity."""
        k = self.model.body(name)
        x, p = self.q[:, 7 * k : 7 * k + 3], self.q[:, 7 * k + 3 : 7 * k + 7]
        v, spin = self.v[:, 6 * k : 6 * k + 3], turned(p, self.v[:, 6 * k + 3 : 6 * k + 6])
        arm = turned(p, self.model.origin[k])
        return BodyView(name, x + arm, p, v + np.cross(spin, arm), spin, x, v)

    @cached_property
    def contact_states(self) -> np.ndarray:
        """What each of `contacts` does, by name, shape (nc,), text: separating, sticking, slipping, ..."""
        return self.contacts.states(self.model.lightest(self.contacts.body), self.tolerance)

    def at(self, k: int) -> WorldRecord:
        """Record k by itself; negative k count from the end."""
        rows = self.contacts.at(k)
        return WorldRecord(
            t=float(self.t[k]), h=float(self.h[k]), q=self.q[k], v=self.v[k],
            verdict=tuple(Verdict)[int(self.verdicts[k])],
            natural=float(self.natural[k]), natural_scaled=float(self.natural_scaled[k]),
            penetration=float(self.penetration[k]), energy=float(self.energy[k]),
            dissipated=float(self.dissipated[k]), contacts=self.contacts.part(rows),
            tell=lambda: self.contact_states[rows],
        )  # fmt: skip

    def contact_table(self, body: str | None = None) -> ContactTable:
        """The forces of the contacts, on every body or on the one of that name: two rows per contact, one
        for either body, so that the forces of a body at a time add up to what contacts do to it: to rounding
        where they are unique or the solver's, at least to the tolerance where they are the least of many.

        When only some steps are recorded the rows are those of the steps that were.
        """
        contacts = self.contacts
        force, moment = contacts.force(self.h)
        states = self.contact_states
        side = np.tile([0, 1], len(contacts))
        rows = np.repeat(np.arange(len(contacts)), 2)
        if body is not None:
            keep = contacts.body[rows, side] == self.model.body(body)
            rows, side = rows[keep], side[keep]
        sign = 1.0 - 2.0 * side[:, None]
        names = np.array(self.model.names, object)
        normal = contacts.frame[rows, 0]
        across = force[rows] - np.einsum("ki,ki->k", force[rows], normal)[:, None] * normal
        return ContactTable(
            t=self.t[contacts.record[rows]], body=names[contacts.body[rows, side]],
            other=names[contacts.body[rows, 1 - side]], id=contacts.id[rows], point=contacts.point[rows],
            normal=sign * normal, force=sign * force[rows], moment=sign * moment[rows],
            normal_force=np.einsum("ki,ki->k", force[rows], normal),
            friction_force=np.linalg.norm(across, axis=1), gap=contacts.gap[rows], state=states[rows],
            unique=np.array(UNIQUE, object)[contacts.choice[rows]],
        )  # fmt: skip

    def forces_on(self, name: str) -> Array:
        """All contact forces on one body together, inertial frame, over the last step of each record [N],
        shape (n, 3)."""
        k, contacts = self.model.body(name), self.contacts
        force, _ = contacts.force(self.h)
        total = np.zeros((len(self), 3))
        for side, sign in ((0, 1.0), (1, -1.0)):
            rows = np.flatnonzero(contacts.body[:, side] == k)
            np.add.at(total, contacts.record[rows], sign * force[rows])
        return total

    def checkpoint(self) -> WorldCheckpoint:
        """What `simulate(..., start=...)` takes to go on from the end, bit for bit."""
        t, clock = float(self.t[-1]), self.clock
        if clock.index == OFF_CLOCK:
            clock = Clock(t, clock.h)
        terms = (self.dissipated, self.work, self.lifted, self.balance, self.kinetic, self.potential)
        sums = EnergySums(*(float(x[-1]) for x in terms))
        return WorldCheckpoint(
            State(t, _read_only(self.q[-1]), _read_only(self.v[-1])),
            {name: np.array(value) for name, value in self.memory.items()},
            clock, sums, self.model, self.scheme, self.scheme_options, self.solver, self.tolerance,
        )  # fmt: skip

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to an HDF5 file, which `read_trajectory` reads back bit for bit."""
        from importlib import import_module

        # Files look at trajectories, and a trajectory at files only when it is asked to.
        import_module("stickslip.files.trajectories").write_trajectory(path, self)

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from importlib import import_module

        # The room that draws is above this one, and is looked at only when there is something to be seen.
        return str(import_module("stickslip.view.notebook").run_html(self))

    def __str__(self) -> str:
        from stickslip.simulation.world_summary import summary

        return summary(self)


def _read_only(array: Array) -> Array:
    copy = np.array(array)
    copy.flags.writeable = False
    return copy
