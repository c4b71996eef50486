"""Records of a simulation as columns, with views by system and interaction, or by body and contact.

There is one class for every model. Its columns are in a store (`store.py`): in memory, or in a file, from
which they are read on access. `run[a:b]` is the trajectory of those records, by which runs larger than the
memory can be read in parts.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any

import numpy as np

from stickslip.kernels.steps.tables import JointTable
from stickslip.mechanics.world import World
from stickslip.rotations import turned
from stickslip.schemes.step import Event, Memory, frozen_state
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock
from stickslip.simulation.columns import Columns, Named
from stickslip.simulation.contacts import ContactTable, WorldContacts, contact_table
from stickslip.simulation.joint_view import JointView, joint_view
from stickslip.simulation.model import Model
from stickslip.simulation.paces import Pace, read
from stickslip.simulation.record import Record
from stickslip.simulation.robot_model import CoordinateView, RobotModel, coordinate_view
from stickslip.simulation.states import state_names
from stickslip.simulation.store import Store
from stickslip.simulation.verdicts import RunVerdict
from stickslip.simulation.views import BodyView, InteractionView, SystemView
from stickslip.simulation.world_memory import memory_at
from stickslip.simulation.world_model import WorldModel
from stickslip.state import Array, ModelError

CARRIED = ("contact_work", "dissipated", "work", "lifted", "balance", "kinetic", "potential")
"""Energies that a continued run starts from, by column."""


@dataclass(frozen=True, eq=False)
class Trajectory(Columns, RunVerdict):
    """Records of a run; row 0 is the start. All arrays have one row for each of the n records.

    Iterations, impulses and energies are sums over the steps since the record before; residuals, penetration,
    opening and correction are the worst of these steps; all other columns belong to the last step.

    Example:

        b = ss.WorldBuilder()
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 1))
        run = ss.simulate(b.build(), until=0.1, h=1e-2)
        print(run.verdict, run.t[-1], run.body("ball").position[-1])
    """

    model: Any
    """Simulated model: a `Model` of systems and interactions, or a `WorldModel` of bodies, shapes and
    joints."""
    store: Store = field(repr=False)
    """Storage of the columns."""
    scheme: str
    """Name of the scheme."""
    scheme_options: dict[str, Any]
    """Options of the scheme."""
    solver: str
    """Name of the solver."""
    tolerance: float
    """Tolerance of the solver [-]."""
    clock: Clock
    """Origin of the steps, and the length of a full step."""
    steps: int
    """Steps taken, recorded or not."""
    missed: int
    """Number of steps that missed their tolerance."""
    relaxation: str
    """Law that replaced the exact one; empty if none did."""
    forces: str
    """Selection of non-unique impulses: those of `least` norm, or those of the `solver`."""
    memory: Memory = field(repr=False, default_factory=dict)
    """The scheme's memory at the last record, by name [any], any shape."""
    events: tuple[Event, ...] = field(repr=False, default=())
    """Events within steps, in order."""
    notes: tuple[str, ...] = ()
    """Notes on the run, one sentence each: bodies that left the ground or fell below all fixed bodies, with
    times."""
    complete: bool = True
    """Whether the run reached its end; False for a file that is being written, or whose writer was killed."""
    until: float | None = None
    """Planned end of an interrupted run [s], if its file contains it."""
    derive: "Callable[[str, Trajectory], Array] | None" = field(default=None, repr=False)
    """Returns columns that are not in the store, on first access: kinetic, potential and contact_work of
    systems [J], shape (n,) each."""
    choose: "Callable[[Trajectory], Mapping[str, Any]] | None" = field(default=None, repr=False)
    """Returns the selected impulses on first access; None: impulses as recorded."""
    records: range | None = field(default=None, repr=False)
    """Range of records of the store; None: all."""
    given: dict[str, Any] = field(default_factory=dict, repr=False)
    """Columns that replace those of the store, by name [any], shape (n, ...) each."""
    whole: "Trajectory | None" = field(default=None, repr=False)
    """The complete run of which this is a part, which selects impulses for all records together."""
    _known: dict[str, Any] = field(default_factory=dict, repr=False, init=False)
    """Cached columns."""

    def __getitem__(self, which: slice) -> "Trajectory":
        """Return the trajectory of some records; its columns are read on access."""
        if not isinstance(which, slice):
            raise TypeError(f"run[{which!r}]: select records by a slice, or one record by run.at(k)")
        chosen = (range(len(self)) if self.records is None else self.records)[which]
        if not len(chosen):
            raise IndexError(
                f"run[{which.start}:{which.stop}:{which.step}] selects none of the {len(self)} records"
            )
        if chosen.step < 0:
            raise IndexError("the records of a run are in order of time: give a positive step")
        inputs = {name: _rows_of(value, which) for name, value in self.given.items()}
        whole = self if self.records is None else self.whole
        return replace(self, records=chosen, given=inputs, whole=None if self._large else whole)

    def with_columns(self, **columns: Any) -> "Trajectory":
        """Return the run with some columns replaced."""
        return replace(self, given=self.given | columns)

    @property
    def sensors(self) -> dict[str, Array]:
        """Values of the sensors, by name [any], shape (n, ...) each."""
        return self._named("sensors/")

    @property
    def inputs(self) -> dict[str, Array]:
        """Inputs by name: values in the last step of each record, in row 0 at the start [see the input],
        shape (n, ...) each. These are inputs of a world, discrete parameters z of systems, controls of a
        robot and poses of its mocap bodies. Forces written to the data of a robot are `qfrc_applied`, shape
        (n, nv), and `xfrc_applied`, shape (n, nbody, 6)."""
        if isinstance(self.model, RobotModel):
            # Records before the first force have no such column, and are read as NaN.
            applied = {name: np.nan_to_num(force) for name, force in self._named("inputs/").items()}
            return Named("inputs", self.model.inputs(self.column("z")) | applied)
        if isinstance(self.model, Model):
            views = [self.system(part.name) for part in self.model.systems]
            return Named("inputs", {view.name: view.z for view in views if view.z.shape[1]})
        return self._named("inputs/")

    @property
    def measures(self) -> dict[str, Array]:
        """Other quantities measured by the scheme, by name with the unit [see the name], shape (n,) each: the
        largest value since the previous record (contact work: the sum), NaN if it was not measured."""
        return self._named("measures/")

    @property
    def memories(self) -> dict[str, Array]:
        """Memory of the scheme at every record, for systems, by name [any], shape (n, ...) each."""
        return self._named("memory/")

    @property
    def pace(self) -> Pace | None:
        """Statistics of adaptive steps: length of the next step, number of rejected pairs; None for constant
        steps."""
        return read(self.memory)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy [J], shape (n,)."""
        return np.asarray(self.kinetic + self.potential)

    @property
    def of_world(self) -> bool:
        """Whether this is a run of a world, not of systems of equations."""
        return isinstance(self.model, WorldModel)

    @property
    def source(self) -> Any:
        """The simulated `World` or `NonsmoothSystem`, which can be simulated or differentiated again.

        For a run from a file it is built from the model in the file. A ModelError is raised if the file has
        none, because the model has users' functions or the file was written by an earlier version.
        """
        source = self.model.source
        if source is None:
            raise ModelError(
                "the file of this run does not contain its model: it was written by an earlier version"
            )
        return source() if callable(source) else source

    @property
    def relaxed(self) -> bool:
        """Whether another law replaced the exact one, so that residuals do not certify the exact law."""
        return bool(self.relaxation)

    def system(self, name: str) -> SystemView:
        """Return one system by name: .q, .v, .z, or .x in first order."""
        self._must_be(Model, f"unknown system {name!r}: this is a run of a world; see body({name!r})")
        part, q, v, z = self.model.system(name)
        return SystemView(name, self.q[:, q], self.v[:, v], self.z[:, z], part.integrated)

    def interaction(self, name: str) -> InteractionView:
        """Return one interaction by name: .r, .u, .y, .active, .states, .unique."""
        self._must_be(Model, f"unknown interaction {name!r}: this is a run of a world; see contacts")
        part, components, blocks = self.model.interaction(name)
        u = self.u[:, components]
        single = self.index[1:] - self.index[:-1] == 1
        span = np.concatenate([[0.0], np.where(single, self.h[1:], np.diff(self.t))])
        names = state_names(part, span, self.solver_r[:, components], u)
        return InteractionView(
            name, u, self.y[:, components], self.active[:, blocks], names,
            lambda: (self.r[:, components], self.choice[:, blocks]),
        )  # fmt: skip

    def body(self, name: str) -> BodyView:
        """Return one body by name: .position, .quaternion, .velocity, .spin, .centre, .centre_velocity."""
        self._must_be(WorldModel, f"unknown body {name!r}: this is a run of systems; see system({name!r})")
        k = self.model.body(name)
        q, v = self.poses, self.twists
        x, p = q[:, 7 * k : 7 * k + 3], q[:, 7 * k + 3 : 7 * k + 7]
        speed, spin = v[:, 6 * k : 6 * k + 3], turned(p, v[:, 6 * k + 3 : 6 * k + 6])
        arm = turned(p, self.model.origin[k])
        return BodyView(name, x + arm, p, speed + np.cross(spin, arm), spin, x, speed)

    @property
    def poses(self) -> Array:
        """Centres of mass and unit quaternions of all bodies [m, -], shape (n, 7 nb): `q` of a world."""
        return np.asarray(self.column("poses") if isinstance(self.model, RobotModel) else self.q)

    @property
    def twists(self) -> Array:
        """Velocities of the centres of mass, and spins in the frames of the bodies [m/s, rad/s], shape
        (n, 6 nb): `v` of a world."""
        return np.asarray(self.column("twists") if isinstance(self.model, RobotModel) else self.v)

    def joint(self, name: str) -> JointView | CoordinateView:
        """Return one joint by name: .angle or .position, .speed, .force and .moment on the first body,
        .effort. Joints of robots have .position, .speed and .effort."""
        impulses = JointTable(self.joint_offset, self.joint_id, self.joint_r)
        if isinstance(self.model, RobotModel):
            return coordinate_view(self.model, name, self.h, self.q, self.v, impulses)
        self._must_be(
            WorldModel, f"unknown joint {name!r}: this is a run of systems; see interaction({name!r})"
        )
        return joint_view(self.model, name, self.t, self.h, self.q, self.v, impulses)

    def at(self, k: int) -> Record:
        """Return record k; negative k count from the end."""
        n = len(self)
        if not -n <= k < n:
            raise IndexError(f"record {k} of a trajectory of {n} records")
        k %= n
        return Record.of(self[k : k + 1], 0) if self._large or self.choose is not None else Record.of(self, k)

    def contact_table(self, body: str | None = None) -> ContactTable:
        """Return the forces of the contacts on every body, or on one body by name.

        Each contact has two rows, one for each body, so that the forces on a body at one time sum to the
        resultant of its contacts: to rounding for impulses that are unique or the solver's, to the tolerance
        for selected impulses of least norm. The rows are those of recorded steps.
        """
        return contact_table(self, None if body is None else self.model.body(body))

    def forces_on(self, name: str) -> Array:
        """Return the resultant contact force on one body, in the inertial frame, over the last step of each
        record [N], shape (n, 3)."""
        k, contacts = self.model.body(name), self.contacts
        force, _ = contacts.force(self.h)
        total = np.zeros((len(self), 3))
        for side, sign in ((0, 1.0), (1, -1.0)):
            rows = np.flatnonzero(contacts.body[:, side] == k)
            np.add.at(total, contacts.record[rows], sign * force[rows])
        return total

    def checkpoint(self, k: int = -1) -> Checkpoint:
        """Return the checkpoint of record k, from which `simulate(..., start=...)` continues bit for bit.
        Runs of robots, of worlds with user-defined schemes, and in older files store only the last memory: k
        must then be the last record."""
        n = len(self)
        if not -n <= k < n:
            raise IndexError(f"record {k} of a trajectory of {n} records")
        k %= n
        memory: Memory | None = self.memory
        if rows := self.memories:
            memory = {name: value[k] for name, value in rows.items()}
        elif self.of_world:
            memory = memory_at(self, k)
        if memory is None:
            if self.number(k) != len(self.store) - 1:
                raise IndexError(f"record {k}: this run continues only from its last record, {n - 1}")
            memory = self.memory
        t, index = float(self.t[k]), int(self.index[k])
        clock = replace(self.clock, index=index) if index >= 0 else self.clock.anew(t)
        z = self.z[k] if isinstance(self.model, Model | RobotModel) else np.zeros(0)
        return Checkpoint(
            frozen_state(t, *map(np.array, (self.q[k], self.v[k], z))),
            {name: np.array(value) for name, value in memory.items()}, clock, self.model, self.scheme,
            self.scheme_options, self.solver, self.tolerance,
            {name: float(self.column(name)[k]) for name in CARRIED if self._has(name)},
            {name: np.array(value[k]) for name, value in self._named("inputs/").items()},
        )  # fmt: skip

    def before(self, k: int) -> "Trajectory":
        """Return record k and the previous record of the run, with impulses as recorded."""
        number = self.number(k)
        return replace(self, records=range(number - 1, number + 1), given={}, whole=None, choose=None)

    def as_world(self, world: World) -> "Trajectory":
        """Return the bodies of a run of the equations of a world, with or without other systems, as a run of
        the world, without contacts and energies."""
        from stickslip.simulation.world_replay import replayed

        return replayed(self, world)

    def to_frame(self, what: str = "states") -> Any:
        """Return a table of the run as a pandas DataFrame: `states`, `contacts`, `interactions`, `sensors`,
        `inputs`, `joints` or `energies`."""
        from importlib import import_module

        # `export` is above this room in the import ladder, and is imported on use.
        return import_module("stickslip.export").frame(self, what)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the run to an HDF5 file, which `read_trajectory` reads back bit for bit."""
        from importlib import import_module

        # `files` is above this room in the import ladder, and is imported on use.
        import_module("stickslip.files.runs").write_trajectory(path, self)

    def _repr_html_(self) -> str:
        """Return the HTML representation for notebooks."""
        from importlib import import_module

        # `view` is above this room in the import ladder, and is imported on use.
        return str(import_module("stickslip.view.notebook").run_html(self))

    def __str__(self) -> str:
        from stickslip.simulation.summary import summary

        return summary(self)

    def sample(self, count: int) -> "Trajectory":
        """Return the run; if it is too large to be read at once, about `count` evenly spaced records."""
        return self[:: max(1, len(self) // count)] if self._large else self

    def _must_be(self, kind: type, otherwise: str) -> None:
        """Raise AttributeError with the message `otherwise` if the model is of another kind."""
        if not isinstance(self.model, kind):
            raise AttributeError(otherwise)


def _rows_of(value: Any, which: slice) -> Any:
    """Return some rows of a column."""
    return value.of_records(which) if isinstance(value, WorldContacts) else value[which]
