"""Steps of a robot on an external MuJoCo model and its data, which are also used with MuJoCo's functions."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots.layout import LIMIT
from stickslip.kernels.robots.rows import LIMIT_OF_TENDON, MOST_OF_A_PAIR
from stickslip.options import Options, option, tolerance_option
from stickslip.robots.robot import CONES, Robot
from stickslip.schemes.robot_march import RobotMarch
from stickslip.schemes.robot_memory import applied_to, memory_of, restore
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.robots import ReducedMoreauJean
from stickslip.schemes.step import Memory
from stickslip.simulation.failure import SimulationFailure
from stickslip.solvers import registry
from stickslip.state import Array, IntArray, ModelError, State

FORCES = (
    "qacc", "qacc_smooth", "qfrc_smooth", "qfrc_actuator", "qfrc_constraint",
    "actuator_force", "act_dot",
)  # fmt: skip
"""Arrays of forces and accelerations that MuJoCo's step leaves in its data."""
GIVEN = ("ctrl", "qfrc_applied", "xfrc_applied", "userdata")
"""Arrays that users of the data may write between steps, and that do not affect positions."""
PLACING = ("mocap_pos", "mocap_quat", "eq_active")
"""Arrays that users of the data may write between steps, and that affect positions."""
REFRESHED = ("mj_kinematics", "mj_comPos", "mj_camlight", "mj_tendon", "mj_transmission", "mj_comVel")
"""MuJoCo's functions of positions and velocities that its last Runge-Kutta stage calls."""
OF_CONTACTS = (
    "dist", "pos", "frame", "includemargin", "friction", "solref", "solreffriction", "solimp", "mu", "H",
    "dim", "geom", "flex", "elem", "vert", "exclude", "efc_address", "adhesion", "surfacevel",
)  # fmt: skip
"""Fields of MuJoCo's contacts."""
TORSION_THIRD = np.array([0, 1, 2, 5, 3, 4])
"""MuJoCo's order of the rows of a contact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact(Options):
    """Options of contact in an environment."""

    tolerance: float = tolerance_option()
    restitution: float = option(0.0, "restitution of all geoms", low=0.0, high=1.0)
    limit_restitution: float = option(0.0, "restitution at limits of joints and tendons", low=0.0, high=1.0)
    cone: str = option(
        "groups",
        "limits of sliding, torsion and rolling: separate (groups) or one ellipsoid (joint)",
        choices=CONES,
    )
    on_failure: str = option("raise", "action when a step misses its tolerance", choices=("raise", "accept"))


ROWS = 32
"""Number of steps for which memory is reserved; small, because there may be many environments. Heuristic."""


class Substeps:
    """Makes steps on a model; the data is left as by MuJoCo's `mj_step` and `mj_rnePostConstraint`."""

    def __init__(self, model: Any, contact: Contact):
        self._mujoco = mujoco = load_mujoco()
        # The layout of the data assumes elliptic cones.
        model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        self._image = _image(mujoco, model)
        robot = Robot.load(
            model, restitution=contact.restitution, limit_restitution=contact.limit_restitution,
            cone=contact.cone,
        )  # fmt: skip
        self.contact, self.prepared = contact, PreparedRobot(robot, spare=False)  # data is copied
        self._scheme = ReducedMoreauJean()
        self._solver: Any = registry.make("auto", tolerance=contact.tolerance)
        self._march = RobotMarch(self.prepared, self._solver, ROWS)
        self._state: State | None = None
        self._memory: Memory = {}
        self.residual = 0.0
        """Largest unit-free natural residual of the last call [-], by the judge."""

    def fits(self, model: Any) -> bool:
        """Whether the model is unchanged; it is compared only at a new start."""
        return self._state is not None or _image(self._mujoco, model) == self._image

    def forget(self) -> None:
        """Discard the state, so that the next step is the first of a run."""
        self._state = None

    def make(self, model: Any, data: Any, steps: int) -> None:
        """Make `steps` steps of the model's timestep from the state of the data."""
        if steps < 1:
            return
        h = float(model.opt.timestep)
        self._take(data, h)
        self.residual = 0.0
        times = np.add.accumulate([float(data.time)] + [h] * steps).tolist()
        if steps > 1:
            self._advance(times[:-1], h)
        assert self._state is not None
        self.prepared.look_ahead(h, self.prepared.still, self._state)
        more = np.array(self.prepared.engine.margins.more)
        # Quantities other than the state are those at the start of the last step.
        self._mujoco.mj_copyData(data, self.prepared.model, self.prepared.data)
        impulses = self._advance(times[-2:], h)
        self._leave(model, data, h, more, *impulses)

    def _take(self, data: Any, h: float) -> None:
        """Take over the state and the inputs of the data."""
        prepared, state = self.prepared, self._state
        mirror = prepared.data
        same = state is not None and all(
            np.array_equal(getattr(data, name), getattr(mirror, name)) for name in ("qpos", "qvel", "act")
        )
        placed = same and all(np.array_equal(getattr(data, name), getattr(mirror, name)) for name in PLACING)
        if not placed or prepared.at is None:  # no state: the last step failed
            parts = (data.act, data.ctrl, data.mocap_pos.reshape(-1), data.mocap_quat.reshape(-1))
            arrays = np.array(data.qpos), np.array(data.qvel), np.concatenate(parts)
            if not all(np.isfinite(one).all() for one in arrays[:2]):
                raise ModelError(f"at t = {data.time:.9g} s the state of the environment is not finite")
            self._state = State(float(data.time), *arrays)
            if not same:
                self._memory = self._scheme.begin(prepared, self._state, h)
            self._memory = {**self._memory, "eq_active": np.array(data.eq_active, float)}
            restore(prepared, self._state, self._memory)
        for name in GIVEN:
            getattr(mirror, name)[:] = getattr(data, name)

    def _advance(self, times: list[float], h: float) -> tuple[IntArray, Array, IntArray, Array]:
        """Make steps between these times; return ids and impulses of the contacts and of the other
        constraints of
        the last step [N s, N m s]."""
        prepared, k = self.prepared, 0
        result: Any = None
        while k < len(times) - 1:
            state = self._state
            assert state is not None
            step_result = self._march.make(
                state, lambda: self._memory, h, lambda n: times[n], k, len(times) - 1 - k
            )
            if step_result is None:
                step = self._scheme.step(prepared, state, self._memory, h, self._solver)
                if not step.solved and self.contact.on_failure == "raise":
                    raise SimulationFailure(state.t, step, None)
                self.residual = max(self.residual, float(step.natural_scaled))
                self._state, self._memory = step.state, step.memory
                ids = np.zeros(0, np.int64) if step.joint_id is None else step.joint_id
                result, k = (step.contacts.id, step.r, ids, step.joint_r), k + 1
            else:
                strip, done = step_result
                room, n = strip.room, strip.steps
                judged = room.numbers[n - done : n, at.NATURAL_SCALED]
                self.residual = max(self.residual, float(judged.max()))
                applied = applied_to(
                    prepared.data.qfrc_applied, prepared.data.xfrc_applied, prepared.data.eq_active
                )
                self._state = strip.state
                self._memory = memory_of(strip.last_after(n), prepared.reach, applied)
                contacts, joints = room.contacts, room.joints
                rows, other = slice(*contacts.offset[n - 1 : n + 1]), slice(*joints.offset[n - 1 : n + 1])
                result, k = (contacts.id[rows], contacts.r[rows], joints.id[other], joints.r[other]), k + done
            if not (np.isfinite(self._state.q).all() and np.isfinite(self._state.v).all()):
                raise ModelError(f"at t = {times[k]:.9g} s the state is not finite; use a smaller timestep")
        return result  # type: ignore[no-any-return]

    def _leave(
        self, model: Any, data: Any, h: float, more: Array, id: IntArray, r: Array, joint_id: IntArray,
        joint_r: Array,
    ) -> None:  # fmt: skip
        """Convert the data from the start of the last step to the form in which MuJoCo leaves it after a
        step.

        more: additional margins of geoms in the step [m].
        """
        mujoco, mirror, as_ours = self._mujoco, self.prepared.data, self.prepared.model
        for name in FORCES:
            getattr(data, name)[:] = getattr(mirror, name)
        data.qacc_warmstart[:] = mirror.qacc
        late = np.repeat(as_ours.sensor_needstage == int(mujoco.mjtStage.mjSTAGE_ACC), as_ours.sensor_dim)
        data.sensordata[late] = mirror.sensordata[late]
        # 1. Forces of constraints and contacts.
        data.efc_force[:] = 0.0
        if joint_r.size:
            _put_joints(mujoco, as_ours, data, joint_id, joint_r / h)
        if data.ncon:
            _put_contacts(data, as_ours.ngeom, more, id, r / h)
        # 2. The state at the end.
        for name in ("qpos", "qvel", "act"):
            getattr(data, name)[:] = getattr(mirror, name)
        data.time = mirror.time
        if model.opt.integrator == int(mujoco.mjtIntegrator.mjINT_RK4):
            for name in REFRESHED:
                getattr(mujoco, name)(model, data)
        mujoco.mj_rnePostConstraint(model, data)


def _put_joints(mujoco: Any, model: Any, data: Any, id: IntArray, force: Array) -> None:
    """Write forces of equalities, dry friction and limits to MuJoCo's data [N, N m]."""
    always = data.ne + data.nf
    data.efc_force[:always] = force[:always]
    if len(force) == always:
        return
    sums = np.zeros(data.nefc)
    mujoco.mj_mulJacVec(model, data, sums, np.ones(model.nv))
    rows = np.arange(always, always + data.nl)
    tendon = data.efc_type[rows] == LIMIT_OF_TENDON
    key = 4 * (4 * data.efc_id[rows] + 2 * tendon + (sums[rows] > 0.0)) + LIMIT
    row_of = dict(zip(key.tolist(), rows.tolist(), strict=True))
    for name, value in zip(id[always:].tolist(), force[always:].tolist(), strict=True):
        data.efc_force[row_of[name]] = value


def _put_contacts(data: Any, ngeom: int, more: Array, id: IntArray, force: Array) -> None:
    """Write forces of contacts to MuJoCo's data [N, N m], and remove contacts beyond their own margin."""
    contact = data.contact
    contact.includemargin[:] -= more[contact.geom1] + more[contact.geom2]
    is_kept = contact.dist < contact.includemargin
    taking = np.flatnonzero(contact.efc_address >= 0)
    pair = contact.geom1[taking].astype(np.int64) * ngeom + contact.geom2[taking]
    count = np.arange(len(pair))
    ordinal = count - np.maximum.accumulate(np.where(np.diff(pair, prepend=-1) != 0, count, 0))
    place = dict(zip((pair * MOST_OF_A_PAIR + ordinal).tolist(), taking.tolist(), strict=True))
    for name, share in zip(id.tolist(), force, strict=True):
        c = place[name]
        is_kept[c] = True
        start, dim = int(contact.efc_address[c]), int(contact.dim[c])
        data.efc_force[start : start + dim] = share[TORSION_THIRD[:dim]]
    left = int(is_kept.sum())
    if left < len(is_kept):
        for name in OF_CONTACTS:
            column = getattr(contact, name)
            column[:left] = column[is_kept]
        data.ncon = left


def _image(mujoco: Any, model: Any) -> bytes:
    """Return the binary image of a model."""
    buffer = np.empty(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, buffer)
    return buffer.tobytes()
