"""Prepared robots: MuJoCo's model and data as arguments of kernels, and the state of the data."""

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from stickslip.detection.mujoco_library import Warnings, load_mujoco
from stickslip.detection.mujoco_memory import addresses_of, function_of, guard_of, set_arena
from stickslip.kernels.held import Held
from stickslip.kernels.robots.layout import (
    Carried,
    Engine,
    Functions,
    Laws,
    Motion,
    Places,
    Settings,
    Traits,
)
from stickslip.kernels.robots.margins import FOLLOW, LEAST, STEP
from stickslip.kernels.robots.motion import place
from stickslip.kernels.robots.steps import SPARE, scratch_needed
from stickslip.kernels.scratch import scratch_for
from stickslip.kernels.steps.guard import ERROR, FRAME, WARNING, message_in
from stickslip.robots.robot import Robot
from stickslip.schemes.robot_drive import drive_of
from stickslip.schemes.robot_margins import margins_of, set_least
from stickslip.state import Array, IntArray, ModelError, State

ARENA, ARENA_PER_DOF = 12 * 2**20, 60 * 2**10
"""Approximate default of MuJoCo's memory for contacts and constraints: constant part, and part per degree of
freedom [bytes]."""
MORE_ROWS = 96
"""Number of additional rows for which the scratch has room: about thirty contacts (heuristic)."""
FUNCTIONS = {
    "kinematics": "mj_kinematics", "com_pos": "mj_comPos", "reference": "mj_referenceConstraint",
    "camlight": "mj_camlight", "tendon": "mj_tendon",
    "make_m": "mj_makeM", "factor_m": "mj_factorM", "collision": "mj_collision",
    "make_constraint": "mj_makeConstraint", "transmission": "mj_transmission", "sensor_pos": "mj_sensorPos",
    "energy_pos": "mj_energyPos", "fwd_velocity": "mj_fwdVelocity", "sensor_vel": "mj_sensorVel",
    "fwd_actuation": "mj_fwdActuation", "fwd_acceleration": "mj_fwdAcceleration",
    "smooth_vel": "mjd_smooth_vel", "sensor_acc": "mj_sensorAcc", "euler": "mj_Euler",
    "solve_m": "mj_solveM", "integrate_pos": "mj_integratePos",
}  # fmt: skip
"""Names of MuJoCo's functions, by the names in kernels."""


class PreparedRobot:
    """Robot with a workspace of MuJoCo's data, which holds one state at a time."""

    def __init__(self, robot: Robot, spare: bool = True, like: "PreparedRobot | None" = None):
        """spare: whether to reserve more memory for contacts than the model; unused memory costs nothing.
        like: a prepared robot of the same structure, whose types and entries of kernels are shared."""
        self.robot = robot
        self.entries: dict[str, Any] = {} if like is None else like.entries
        """Compiled entries of kernels for these types, by name."""
        self._mujoco = mujoco = load_mujoco()
        self.model = m = copy.copy(robot.model)
        """MuJoCo's model, whose margins are the search distances of contacts."""
        flags = mujoco.mjtDisableBit
        m.opt.cone, m.opt.integrator = mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtIntegrator.mjINT_EULER
        m.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
        m.opt.disableflags |= int(flags.mjDSBL_EULERDAMP) | int(flags.mjDSBL_ISLAND)
        m.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
        m.opt.enableflags &= ~int(mujoco.mjtEnableBit.mjENBL_SLEEP)
        if spare:
            set_arena(mujoco, m, SPARE * max(int(m.narena), ARENA + ARENA_PER_DOF * m.nv))
        self.data = mujoco.MjData(m)
        """MuJoCo's data: controls, applied forces and poses of mocap bodies may be written between steps."""
        self.drive = drive_of(m, robot.world)
        """Motions and forces of the world around the robot; None without any."""
        self._frame = np.zeros(FRAME, np.uint8)
        self.traits: Held = Held(self._traits(), None if like is None else like.traits)
        """`Traits`."""
        self.motion: Held = Held(self._motion(), None if like is None else like.motion)
        """`Motion`."""
        self.engine: Held = Held(self._engine(), None if like is None else like.engine)
        """`Engine`."""
        self.scratch: Held = Held(scratch_for(0, 0), None if like is None else like.scratch)
        """`Scratch` of one step."""
        self._rows = MORE_ROWS + 2 * int(m.njnt) + 2 * int(m.ntendon) + int(m.nv)
        """Number of additional constraints for which the scratch has room, so that it grows rarely."""
        still = Carried(False, np.zeros((m.nbody, 6)), np.zeros(0))
        self.still: Held = Held(still, None if like is None else like.still)
        """`Carried` for steps in which no mocap body moves."""
        self._settings: Held | None = None if like is None else like._settings
        self._mocaps = int(m.nmocap)
        self.looks_around = False
        """Whether margins are wider because mocap bodies move."""
        self._mocap = np.array(self.data.mocap_pos), np.array(self.data.mocap_quat)
        self._driving = False
        """Whether forces of the world are added to those that the user applies to bodies."""
        self.at: State | None = None
        """State of the data, including its stages; None if it is at no state."""

    @property
    def reach(self) -> float:
        """Smallest search distance of contacts and limits [m, rad]."""
        return float(self.engine.margins.look[LEAST])

    def look(self, reach: float) -> None:
        """Set the smallest search distance of contacts and limits beyond their margins [m, rad]."""
        if reach != self.reach:
            set_least(self.model, self.engine.margins, reach)
            self.at = None

    def look_ahead(self, h: float, carried: Held, state: State) -> None:
        """Set the search distances for the motion of bodies and mocap bodies in a step of length h [s] from
        `state`, the state of the data."""
        margins = self.engine.margins
        if not carried.moving and not self.looks_around and margins.look[STEP] == h:
            return
        speed = self._speeds(carried)
        self.looks_around = bool(speed.any())
        if margins.look[STEP] != h or not np.array_equal(margins.speed, speed):
            margins.look[STEP], margins.speed[:] = h, speed
            self.renew(state)
            self.begin_drive(h)  # `renew` has ended it

    def _speeds(self, carried: Held) -> Array:
        """Return bounds on the speeds of bodies that mocap bodies carry, rounded up to powers of two so that
        they stay constant in uniform motion [m/s], shape (nbody,)."""
        m, out = self.model, np.zeros(self.model.nbody)
        if not carried.moving:
            return out
        reach = np.linalg.norm(m.geom_pos, axis=1) + m.geom_rbound
        np.maximum.at(out, m.geom_bodyid, reach)
        v, w = (np.linalg.norm(part, axis=1) for part in (carried.velocity[:, :3], carried.velocity[:, 3:]))
        out = np.where(out > 0.0, v + w * out, 0.0)
        some = out > 0.0
        out[some] = np.exp2(np.ceil(np.log2(out[some])))
        return out

    @contextmanager
    def held_margins(self) -> Iterator[None]:
        """Keep the search distances in the `with` block, independent of velocities."""
        look = self.engine.margins.look
        look[FOLLOW] = 0.0
        try:
            yield
        finally:
            look[FOLLOW] = 1.0

    def begin(self) -> tuple[Held, Held, Held, Held]:
        """Return engine, motion, traits and empty scratch for the kernels of the next step."""
        floats, ints = scratch_needed(self.data.nefc, self.motion)
        scratch = self.scratch
        if floats > scratch.floats.size or ints > scratch.ints.size:
            more = scratch_needed(2 * self.data.nefc + self._rows, self.motion)
            self.scratch = scratch = Held(scratch_for(*more), like=scratch)
        scratch.used[:2] = 0
        return self.engine, self.motion, self.traits, self.scratch

    def settings(self, h: float, tolerance: float) -> Held:
        """Return the `Settings` of steps of length h [s]."""
        self.model.opt.timestep = h
        values = Settings(float(h), float(tolerance), self.robot.cone == "groups")
        known = self._settings
        if known is None or known.values != values:
            self._settings = known = Held(values, like=known)
        return known

    def place(self, state: State) -> None:
        """Set the data to a state, and compute the stages of positions and velocities."""
        d, m = self.data, self.model
        na, nu, n = m.na, m.nu, m.nmocap
        d.time, d.qpos[:], d.qvel[:] = state.t, state.q, state.v
        d.act[:], d.ctrl[:] = state.z[:na], state.z[na : na + nu]
        mocap = state.z[na + nu :]
        d.mocap_pos[:], d.mocap_quat[:] = mocap[: 3 * n].reshape(n, 3), mocap[3 * n :].reshape(n, 4)
        self.check_memory()
        self.make_stages()
        self.at = state
        self.settle()

    def make_stages(self) -> None:
        """Compute MuJoCo's position and velocity stages at the state of the data."""
        place(self.engine, self.motion, self.traits)
        self.check_warnings(float(self.data.time))

    def check_warnings(self, t: float, warnings: Sequence[str] = ()) -> None:
        """Raise ModelError for an error or warning of MuJoCo in compiled code since the last call; a warning
        means a full buffer, from which contacts are missing. The data is then at no state."""
        level, text = message_in(self._frame)
        if not level and warnings:
            level, text = WARNING, " ".join(warnings[0].split())
        if level:
            self.leave_failure()
            verb = "has an error" if level >= ERROR else "warns"
            raise ModelError(f"{self.robot.name}: at t = {t:.9g} s MuJoCo {verb}: {text}")

    def leave_failure(self) -> None:
        """Discard MuJoCo's message; the data is at no state."""
        message_in(self._frame)
        self.data.warning.number[:] = 0  # MuJoCo gives each warning once
        self.at = None

    def renew(self, state: State) -> None:
        """Compute the stages at `state`, the state of the data, again; poses of mocap bodies that were
        written to the data are kept."""
        d = self.data
        poses = np.array(d.mocap_pos), np.array(d.mocap_quat)
        d.mocap_pos[:], d.mocap_quat[:] = self._mocap
        self.place(self.reading())
        d.mocap_pos[:], d.mocap_quat[:] = poses
        self.at = state

    @property
    def guarded(self) -> bool:
        """Whether compiled steps return from MuJoCo's errors and detect its warnings."""
        return bool(self.engine.guard.handler)

    @property
    def free(self) -> bool:
        """Whether compiled steps do not use Python."""
        return self.guarded and self.drive is None

    @property
    def crowded(self) -> bool:
        """Whether MuJoCo's memory is too full for a step."""
        return SPARE * int(self.data.maxuse_arena) > int(self.data.narena)

    def check_memory(self) -> None:
        """Raise ModelError if MuJoCo's memory is too full for the next step."""
        d, failure = self.data, ""
        try:
            with Warnings():
                self._mujoco.mj_fwdPosition(self.model, d)
        except self._mujoco.FatalError as error:
            failure = " ".join(str(error).split())
        if failure and "memory" not in failure:
            raise ModelError(f"{self.robot.name}: at t = {d.time:.9g} s MuJoCo has an error: {failure}")
        if failure or self.crowded:
            needed = int(np.ceil(2 * max(int(d.narena), SPARE * int(d.maxuse_arena)) / 2**20))
            raise ModelError(
                f"{self.robot.name}: at t = {d.time:.9g} s the memory of MuJoCo is too small for its"
                f' contacts, {d.ncon} so far; give it more: <size memory="{needed}M"/>'
            )

    def begin_again(self) -> None:
        """Compute the stages with mocap bodies at their poses at the start of the step."""
        self.data.mocap_pos[:], self.data.mocap_quat[:] = self._mocap
        self.make_stages()

    def begin_drive(self, h: float) -> None:
        """Write the motions and forces of the world in the next step, of length h [s], to the data; `settle`
        ends this."""
        if self.drive is None:
            return
        d, t = self.data, float(self.data.time)
        d.mocap_pos[:], d.mocap_quat[:] = self._driven_poses(t, h)
        if len(self.drive.forces):
            wrench = self.motion.xfrc_given
            if not self._driving:
                wrench[:], self._driving = d.xfrc_applied, True
            d.xfrc_applied[:] = wrench + self.drive.wrench(t, self.motion, self.traits)

    def _driven_poses(self, t: float, h: float) -> tuple[Array, Array]:
        """Return the poses of mocap bodies after the step: those of the world by its motions, others by the
        user."""
        assert self.drive is not None
        pos, quat = np.array(self.data.mocap_pos), np.array(self.data.mocap_quat)
        places = self.drive.mocap
        goal = self.drive.poses(t, h, *self._mocap)
        pos[places], quat[places] = goal[0][places], goal[1][places]
        return pos, quat

    def release(self) -> None:
        """Remove the forces of the world from those that the user applied."""
        if self._driving:
            self.data.xfrc_applied[:], self._driving = self.motion.xfrc_given, False

    def settle(self) -> None:
        """End a step: store the poses of mocap bodies in the data."""
        self.release()
        if self._mocaps:
            self._mocap = np.array(self.data.mocap_pos), np.array(self.data.mocap_quat)

    def carried(self, h: float) -> Held:
        """Return `Carried`: the motion of mocap bodies, in a step of length h [s], to the poses that were
        written since the last step."""
        m, d = self.model, self.data
        if not self._mocaps:
            return self.still
        pos, quat = np.array(d.mocap_pos), np.array(d.mocap_quat)
        before, turned = self._mocap
        if not (np.isfinite(pos).all() and np.isfinite(quat).all()):
            raise ModelError(f"at t = {d.time:.9g} s the pose of a mocap body is not finite")
        if not quat.any(axis=1).all():
            raise ModelError(f"at t = {d.time:.9g} s the quaternion of a mocap body is zero")
        if np.array_equal(pos, before) and np.array_equal(quat, turned):
            return self.still
        mujoco, spin = self._mujoco, np.zeros((m.nmocap, 3))
        for k in range(m.nmocap):
            goal = quat[k] / np.linalg.norm(quat[k])
            mujoco.mju_subQuat(spin[k], goal, turned[k] / np.linalg.norm(turned[k]))
            mujoco.mju_rotVecQuat(spin[k], spin[k].copy(), turned[k] / np.linalg.norm(turned[k]))
        spin /= h
        velocity = np.zeros((m.nbody, 6))
        # Bodies without joints move with the mocap body that carries them.
        for b in range(1, m.nbody):
            root = b
            while root and m.body_mocapid[root] < 0 and m.body_dofnum[root] == 0:
                root = int(m.body_parentid[root])
            k = int(m.body_mocapid[root]) if root else -1
            if k >= 0:
                arm = d.xpos[b] - before[k]
                velocity[b, :3] = (pos[k] - before[k]) / h + np.cross(spin[k], arm)
                velocity[b, 3:] = spin[k]
        return Held(Carried(True, velocity, self._rates(h, pos, quat)), like=self.still)

    def _rates(self, h: float, pos: Array, quat: Array) -> Array:
        """Return the rates of the errors of equalities due to mocap bodies [m/s, rad/s], shape (ne,)."""
        d = self.data
        if not d.ne:
            return np.zeros(0)
        self.make_stages()  # at the end of the step
        after = np.array(d.efc_pos[: d.ne])
        d.mocap_pos[:], d.mocap_quat[:] = self._mocap
        self.make_stages()
        before = np.array(d.efc_pos[: d.ne])
        d.mocap_pos[:], d.mocap_quat[:] = pos, quat
        return (after - before) / h

    def reading(self) -> State:
        """Return the present state of the data."""
        d = self.data
        z = np.concatenate([d.act, d.ctrl, d.mocap_pos.reshape(-1), d.mocap_quat.reshape(-1)])
        arrays = np.array(d.qpos), np.array(d.qvel), z
        for one in arrays:
            one.flags.writeable = False
        return State(float(d.time), *arrays)

    def _engine(self) -> Engine:
        m, d, mujoco = self.model, self.data, self._mujoco
        addresses = addresses_of(
            m, d, [name for name in Places._fields if name not in _OF_CONTACT], _OF_CONTACT
        )
        if addresses is None:
            raise ModelError(
                f"MuJoCo {mujoco.__version__} has an unexpected layout of its data; install another"
                " version for robots"
            )
        functions = {name: function_of(mujoco, there) for name, there in FUNCTIONS.items()}
        return Engine(
            int(m._address), int(d._address), Functions(**functions), Places(**addresses),
            bool(mujoco.mj_isSparse(m)), m.nsensor > 0, self._laws(), margins_of(m),
            guard_of(mujoco, self._frame),
        )  # fmt: skip

    def _laws(self) -> Laws:
        laws = self.robot.laws
        return Laws(laws.kind if laws.given else np.zeros(0, np.int64), laws.law)

    def _motion(self) -> Motion:
        d = self.data
        names = {
            "derivative": "qDeriv", "factor": "qLD", "inverse": "qLDiagInv", "moment": "actuator_moment",
            "moment_count": "moment_rownnz", "moment_start": "moment_rowadr",
            "moment_column": "moment_colind", "tendon": "ten_J", "tendon_length": "ten_length",
            "xfrc_given": "xfrc_applied",
        }  # fmt: skip
        arrays = {name: getattr(d, names.get(name, name)) for name in Motion._fields}
        arrays["eq_active"] = arrays["eq_active"].view(np.uint8)
        if self.drive is not None and len(self.drive.forces):
            arrays["xfrc_given"] = np.zeros((self.model.nbody, 6))  # those in the data include the world's
        return Motion(**arrays)

    def _traits(self) -> Traits:
        m, mujoco, robot = self.model, self._mujoco, self.robot
        off, flags = m.opt.disableflags, mujoco.mjtDisableBit
        springs, dampers, acting = (
            float(not off & int(one))
            for one in (flags.mjDSBL_SPRING, flags.mjDSBL_DAMPER, flags.mjDSBL_ACTUATION)
        )
        affine = m.actuator_biastype == int(mujoco.mjtBias.mjBIAS_AFFINE)
        kp = acting * np.where(affine, np.maximum(-m.actuator_biasprm[:, 1], 0.0), 0.0)
        kp[(np.array(m.opt.disableactuator, np.int64) >> np.clip(m.actuator_group, 0, 30)) & 1 == 1] = 0.0
        limited = np.asarray(m.actuator_forcelimited, bool)
        lower = np.where(limited, m.actuator_forcerange[:, 0], -np.inf)
        upper = np.where(limited, m.actuator_forcerange[:, 1], np.inf)
        return Traits(
            m.M_rownnz, m.M_rowadr, m.M_colind, m.mapD2M, springs * m.jnt_stiffness[m.dof_jntid],
            dampers * m.dof_damping, kp, lower, upper, springs * m.tendon_stiffness,
            m.tendon_lengthspring[:, 0].copy(), m.tendon_lengthspring[:, 1].copy(), m.ten_J_rownnz,
            m.ten_J_rowadr, m.ten_J_colind, m.geom_bodyid.astype(np.int64),
            m.body_rootid.astype(np.int64), np.array(robot.restitution), np.array(robot.limit_restitution),
            int(m.njnt), int(m.ntree), *_carried(m),
        )  # fmt: skip


def _carried(m: Any) -> tuple[IntArray, IntArray, IntArray]:
    """Return the dofs that each dof carries, from the rows of M, which have the dofs that carry it."""
    row = np.repeat(np.arange(m.nv), m.M_rownnz)
    entry = np.flatnonzero(m.M_colind != row)
    entry = entry[np.argsort(m.M_colind[entry], kind="stable")]
    start = np.searchsorted(m.M_colind[entry], np.arange(m.nv + 1))
    return start.astype(np.int64), row[entry].astype(np.int64), entry.astype(np.int64)


_OF_CONTACT = (
    "stride", "dist", "pos", "frame", "includemargin", "friction", "surfacevel", "dim", "geom",
)  # fmt: skip
