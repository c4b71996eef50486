"""Memory of the scheme of robots, and the arrays to which its steps are written."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stickslip.kernels.held import Held
from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots.layout import LastImpulses, Room
from stickslip.kernels.steps.tables import empty_contacts, empty_joints
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.step import Memory
from stickslip.state import Array, State

NOT_FINITE = "from t = {:.9g} s on the velocities of the robot are not finite; use a smaller h"
"""Message of steps with non-finite velocities."""
WRITTEN = (
    "at t = {:.9g} s data.qpos, data.qvel or data.act differs from the end of the last step; to set it, call"
    " live.reset(robot.state(qpos, qvel))"
)
"""Message of steps from data that the user changed."""


def as_held(values: NamedTuple) -> Held:
    """Return values as held arguments, as compiled steps pass them from kernel to kernel."""
    return Held(values, fixed=False)


def restore(prepared: PreparedRobot, state: State, memory: Memory) -> None:
    """Set the data to a state, with the applied forces and the search distance of the memory."""
    prepared.look(float(memory["reach"][0]))
    if prepared.at is not state:
        prepared.release()
        prepared.data.qfrc_applied[:] = memory["qfrc_applied"]
        prepared.data.xfrc_applied[:] = memory["xfrc_applied"].reshape(-1, 6)
        prepared.data.eq_active[:] = memory.get("eq_active", prepared.model.eq_active0)
        prepared.place(state)


def applied_to(general: Array, bodies: Array, active: Array) -> dict[str, Array]:
    """Return copies of the forces that a user applies and of the flags of active equality constraints, as
    entries of the memory."""
    return {
        "qfrc_applied": np.array(general), "xfrc_applied": np.array(bodies),
        "eq_active": np.array(active, float),
    }  # fmt: skip


def memory_of(last: LastImpulses, reach: float, applied: Mapping[str, Array]) -> Memory:
    """Return the scheme's memory after a step; applied: the forces that the user applied in it."""
    memory = {
        "key": last.key.astype(float), "offset": last.offset.astype(float), "r": np.array(last.r),
        "reach": np.array([reach]), **applied,
    }  # fmt: skip
    for array in memory.values():
        array.flags.writeable = False
    return memory


def last_of(memory: Memory) -> LastImpulses:
    """Return the impulses in a memory."""
    return LastImpulses(
        memory["key"].astype(np.int64), memory["offset"].astype(np.int64),
        np.ascontiguousarray(memory["r"], float),
    )  # fmt: skip


def room_for(prepared: PreparedRobot, steps: int, most: int) -> Room:
    """Return output arrays for `steps` steps with `most` contacts in all."""
    m = prepared.model
    rows = steps * (8 * m.neq + m.nv + 2 * m.njnt + 2 * m.ntendon) + 16
    n, blocks = steps + 1, most + rows
    return Room(
        np.empty(n), np.empty((n, m.nq)), np.empty((n, m.nv)), np.empty((n, m.na + m.nu + 7 * m.nmocap)),
        np.empty((n, m.nbody, 7)), np.empty((n, m.nbody, 6)), np.empty((n, m.nsensordata)),
        np.zeros(n, np.int64), np.empty((n, m.nv + 6 * m.nbody)),
        np.zeros((steps, at.NUMBERS)), empty_contacts(steps, most), empty_joints(steps, rows),
        np.zeros(n + 1, np.int64), np.empty(blocks, np.int64), np.zeros(blocks + n, np.int64),
        np.empty(6 * most + rows),
    )  # fmt: skip
