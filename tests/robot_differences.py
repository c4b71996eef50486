"""Finite differences of steps of robots, as a reference for their derivatives."""

import copy
from dataclasses import replace

import mujoco
import numpy as np

from stickslip.differentiation import made_solver
from stickslip.schemes.robot_prepared import PreparedRobot
from stickslip.schemes.robots import ReducedMoreauJean
from stickslip.state import State

SOLVER = made_solver("auto", 1e-13)
LENGTH = {
    "q": 2e-6,
    "v": 1e-5,
    "act": 1e-6,
    "ctrl": 1e-4,
    "force": 1e-4,
    "mass": 1e-6,
    "friction": 1e-5,
    "restitution": 1e-5,
    "limit_restitution": 1e-5,
    "h": 1e-7,
}
"""Lengths of the differences."""


def moved(robot, state, h, name, change):
    """Return the state after the whole step with one input changed."""
    x = {"q": state.q, "v": state.v, "z": np.array(state.z), "h": h}
    m, force = copy.copy(robot.model), np.zeros(robot.model.nv)
    if name == "q":
        x["q"] = np.array(state.q)
        mujoco.mj_integratePos(m, x["q"], change, 1.0)
    elif name == "v":
        x["v"] = state.v + change
    elif name == "act":
        x["z"][: m.na] += change
    elif name == "ctrl":
        x["z"][m.na : m.na + m.nu] += change
    elif name == "force":
        force = change
    elif name == "h":
        x["h"] = h + change[0]
    elif name == "mass":
        m.body_mass[:] += change
        mujoco.mj_setConst(m, mujoco.MjData(m))
    elif name == "friction":
        m.geom_friction[:] += change.reshape(-1, 3)
    scheme = ReducedMoreauJean()
    fields = {name: getattr(robot, name) + change} if "restitution" in name else {}
    prepared = PreparedRobot(replace(robot, model=m, **fields))
    begin = State(state.t, x["q"], x["v"], x["z"])
    memory = {**scheme.begin(prepared, begin, x["h"]), "qfrc_applied": force}
    step = scheme.step(prepared, begin, memory, x["h"], SOLVER)
    assert step.solved
    return step.state


def differences(robot, state, h, name, size):
    """Return the derivatives of the final q (as displacements), v and act by central differences of whole
    steps."""
    columns, m = [], robot.model
    for j in range(size):
        unit = np.zeros(size)
        unit[j] = length = LENGTH[name] * (
            max(m.geom_friction.reshape(-1)[j], 1e-4) if name == "friction" else 1.0
        )
        up, down = (moved(robot, state, h, name, sign * unit) for sign in (1.0, -1.0))
        dq = np.zeros(m.nv)
        mujoco.mj_differentiatePos(m, dq, 1.0, down.q, up.q)
        columns.append(np.concatenate([dq, up.v - down.v, up.z[: m.na] - down.z[: m.na]]) / (2.0 * length))
    return np.array(columns).reshape(size, 2 * m.nv + m.na).T


def matrix(derivative, name):
    """Return the same matrix from the derivative."""
    return np.concatenate([derivative.jacobian(of, name) for of in ("q", "v", "act")])
