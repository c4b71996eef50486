"""Motions of kinematic bodies and forces of the world around a robot, and velocities of mocap bodies.

Forces that are not elements of MuJoCo's model are evaluated at the start of a step, by the code of worlds,
and applied to the bodies. Kinematic bodies move with their velocities at the midpoint of the step.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels.bodies.motion import move_along
from stickslip.kernels.held import Held
from stickslip.kernels.robots import layout as at
from stickslip.kernels.robots.outputs import write_bodies
from stickslip.mechanics.forces import Forces
from stickslip.mechanics.inputs import with_inputs
from stickslip.mechanics.world import World
from stickslip.problem.checks import frozen
from stickslip.robots.linkage import carrier_name, input_values, select_springs, tendon_springs, tree_of
from stickslip.rotations import between, matrices, turned
from stickslip.state import Array, IntArray


class WorldDrive:
    """Computes the forces and motions of a world for MuJoCo's data."""

    def __init__(self, model: Any, world: World):
        self.world, self.forces = world, applied_forces(world)
        self._placed, controls = world, input_values(world)
        self.inputs: dict[str, Array] = {
            name: one.default for name, one in world.inputs.items() if name not in controls
        }
        """Values of the inputs of forces on bodies and of motions, by name [N, N m, m/s, rad/s], shape (3,)
        or (6,)."""
        self._count = int(model.nbody)
        self._body: IntArray = np.array([int(model.body(name).id) for name in world.names], np.int64)
        moved = world.motions.numbers
        self.mocap: IntArray = np.array(model.body_mocapid, np.int64)[self._body[moved]]
        """Numbers of the mocap bodies that are kinematic bodies of the world [-], shape (k,)."""
        names = [carrier_name(world, body) for body, _ in tree_of(world).carried]
        self._carriers = [(model.joint(name), model.body(name)) for name in names]
        self._gravity = np.array(model.opt.gravity)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the kinematic bodies and of the forces."""
        tables = (self.forces.springs, self.forces.dampers)
        named = [name for one in tables if one is not None for name in one.names]
        pushed = () if self.forces.wrench is None else ("wrench",)
        return (*self.world.motions.names, *named, *(one.name for one in self.forces.written), *pushed)

    def begin(self, values: Mapping[str, ArrayLike]) -> None:
        """Set inputs to these values, and the others to their defaults."""
        self.world, self.inputs = self._placed, {n: self._placed.inputs[n].default for n in self.inputs}
        self.set({name: value for name, value in values.items() if name in self.inputs})

    def set(self, values: Mapping[str, ArrayLike]) -> None:
        """Set inputs for the following steps."""
        if not self.inputs:
            return
        self.world = with_inputs(self.world, values)
        self.forces = applied_forces(self.world)
        self.inputs = self.inputs | {name: frozen(np.array(value, float)) for name, value in values.items()}

    def poses(self, t: float, h: float, pos: Array, quat: Array) -> tuple[Array, Array]:
        """Return positions and quaternions of all mocap bodies after the step of length h from t; pos [m],
        shape (k, 3), and quat, shape (k, 4): those at its start."""
        if not self.mocap.size:
            return pos, quat
        n, bodies = len(self.world.names), self.world.motions.numbers
        q, v, end = np.zeros((n, 7)), np.zeros((n, 6)), np.zeros((n, 7))
        q[:, 3] = 1.0
        q[bodies, :3], q[bodies, 3:] = pos[self.mocap], quat[self.mocap]
        self.world.motions.prescribe(t + 0.5 * h, q.reshape(-1), v.reshape(-1))
        move_along(q, v, h, end)
        pos, quat = pos.copy(), quat.copy()
        pos[self.mocap], quat[self.mocap] = end[bodies, :3], end[bodies, 3:]
        return pos, quat

    def carrier_energy(self, q: Array, v: Array) -> tuple[Array, Array]:
        """Return the kinetic and potential energy of the carriers of kinematic bodies, which MuJoCo includes
        in its energies [J], shape (n,) each; q (n, nq), v (n, nv)."""
        kinetic, potential = np.zeros(len(q)), np.zeros(len(q))
        for joint, body in self._carriers:
            place, dof = int(joint.qposadr[0]), int(joint.dofadr[0])
            mass, R = float(body.mass[0]), matrices(np.array(body.iquat))
            J = R @ np.diag(body.inertia) @ R.T
            speed, spin = v[:, dof : dof + 3], v[:, dof + 3 : dof + 6]
            kinetic += 0.5 * (mass * (speed * speed).sum(axis=1) + ((spin @ J) * spin).sum(axis=1))
            potential -= mass * (q[:, place : place + 3] @ self._gravity)
        return kinetic, potential

    def own_numbers(self, numbers: Array, q: Array, v: Array) -> Array:
        """Return the numbers of n steps without the energy of carriers, shape (n, NUMBERS), so that its
        change does not count as dissipation. q (n + 1, nq), v (n + 1, nv): including the start."""
        if not self._carriers:
            return numbers
        kinetic, potential = self.carrier_energy(q, v)
        out = numbers.copy()
        out[:, at.KINETIC] -= kinetic[1:]
        out[:, at.POTENTIAL] -= potential[1:]
        out[:, at.DISSIPATED] += np.diff(kinetic + potential)
        return out

    def with_motions(self, t: Array, poses: Array, twists: Array) -> Array:
        """Return the velocities of all bodies at times t (n,) [m/s, rad/s], shape (n, 6 nbody), from
        MuJoCo's, which are 0 for mocap bodies; poses (n, 7 nbody)."""
        if not self.mocap.size:
            return twists
        bodies, out = self.world.motions.numbers, twists.reshape(len(t), -1, 6).copy()
        every = poses.reshape(len(t), -1, 7)
        v = np.zeros((len(self.world.names), 6))
        for k, now in enumerate(t.tolist()):
            self.world.motions.prescribe(now, every[k, self._body].reshape(-1), v.reshape(-1))
            out[k, self._body[bodies]] = v[bodies]
        return out.reshape(len(t), -1)

    def wrench(self, t: float, motion: Held, traits: Held) -> Array:
        """Return forces on the centres of mass of all bodies, and moments, in the inertial frame [N, N m],
        shape (nbody, 6).

        motion, traits: a held `Motion` and `Traits`.
        """
        out = np.zeros((self._count, 6))
        if not len(self.forces):
            return out
        n, poses, twists = len(self.world.names), np.empty((self._count, 7)), np.empty((self._count, 6))
        write_bodies(motion, traits, poses, twists)
        q, v, F = poses[self._body].reshape(-1), twists[self._body].reshape(-1), np.zeros((3, n, 6))
        if self.mocap.size:
            self.world.motions.prescribe(t, q, v)
        self.forces.add(t, q, v, F)
        total = F.sum(axis=0)
        out[self._body, :3] = total[:, :3]
        out[self._body, 3:] = np.einsum("bij,bj->bi", matrices(poses[self._body, 3:]), total[:, 3:])
        return out


def applied_forces(world: World) -> Forces:
    """Return the forces of a world that are neither tendons nor controls of MuJoCo's model."""
    forces, springs, controls = world.forces, world.forces.springs, input_values(world)
    if springs is not None:
        others = np.setdiff1d(np.arange(len(springs.names)), tendon_springs(world))
        springs = select_springs(springs, others)
    written = tuple(one for one in forces.written if one.name not in controls)
    return Forces(springs, forces.dampers, written, forces.bodies, forces.wrench)


def drive_of(model: Any, world: World | None) -> WorldDrive | None:
    """Return the motions and forces of a world; None if it has neither."""
    if world is None or not (len(world.motions) or len(applied_forces(world))):
        return None
    return WorldDrive(model, world)


def mocap_twists(model: Any, before: Array, after: Array, h: Array, twists: Array) -> Array:
    """Return the velocities of all bodies, with those of mocap bodies over steps of lengths h (n,) [s], for
    which MuJoCo has 0 [m/s, rad/s], shape (n, 6 nbody); before, after: z of the states, shape (n, nz)."""
    n, first = int(model.nmocap), int(model.na + model.nu)
    if not n:
        return twists
    out = twists.reshape(len(h), -1, 6).copy()
    for body in np.flatnonzero(model.body_mocapid >= 0).tolist():
        k = int(model.body_mocapid[body])
        place, turn = first + 3 * k, first + 3 * n + 4 * k
        p, end = (z[:, turn : turn + 4] for z in (before, after))
        p, end = (one / np.linalg.norm(one, axis=1, keepdims=True) for one in (p, end))
        centre = np.tile(model.body_ipos[body], (len(h), 1))
        moved = after[:, place : place + 3] - before[:, place : place + 3]
        out[:, body, :3] = (moved + turned(end, centre) - turned(p, centre)) / h[:, None]
        out[:, body, 3:] = between(p, end) / h[:, None]
    return out.reshape(len(h), -1)
