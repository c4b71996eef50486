"""Reaction forces and moments of the joints of a world around a robot.

A joint whose motion is described by coordinates has no impulse in the contact problem. Its reaction F, M
follows from the balance of momentum of the bodies that it carries, over a step of length h:

    h F = Δ(Σ m v) - h Σ f,    h M = Δ(Σ I ω) - h Σ τ + Σ (x - p) × (Δ(m v) - h f)

with the forces f and moments τ of gravity, force elements, contacts and other joints on each body, its centre
of mass x, and the point p of the joint. Joints that close loops, and the welds between the parts of a divided
body, are equality constraints and tendons, whose impulses are unknowns of the contact problem.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from stickslip.kernels.robots.layout import EQUALITY, LIMIT
from stickslip.mechanics.forces import Forces
from stickslip.mechanics.inputs import with_inputs
from stickslip.mechanics.joints import JointKind, Joints
from stickslip.mechanics.points import Point
from stickslip.mechanics.sensors import Reading
from stickslip.mechanics.step_sensors import contact_wrench
from stickslip.mechanics.world import BodyKind, World
from stickslip.robots.linkage import (
    CONNECTED,
    input_values,
    part_name,
    select_springs,
    tendon_springs,
    tree_of,
)
from stickslip.rotations import cross, matrices
from stickslip.schemes.robot_drive import applied_forces
from stickslip.state import Array, IntArray


class RobotStep(NamedTuple):
    """Results of a step of a robot that the `Reading` of the world around it does not contain."""

    world: World
    """World with the inputs of the step."""
    controls: Array
    """Efforts of actuators that are inputs of the world, in the order of `input_values` [N, N m], shape
    (k,)."""
    r: Array
    """Impulses of constraints other than contacts [N s, N m s], shape (p,)."""
    id: IntArray
    """Identifier of the block of each impulse, defined by `write_contacts` [-], shape (p,)."""
    applied: Array
    """Forces and moments that the user applies to the bodies of the model [N, N m], shape (nbody, 6)."""


class _Node(NamedTuple):
    """A body of the world, or a part of one."""

    body: int
    """Number of the body in the world."""
    number: int
    """Number of the body in the model."""
    share: float
    """Share of the mass of the body [-]."""
    subtree: list[int]
    """Nodes that the joint of this node carries, including this node."""
    main: bool
    """Whether contacts and force elements act on this node; False for additional parts of divided bodies."""


class JointReactions:
    """Computes the reactions of the joints of a world around a robot."""

    def __init__(self, model: Any, world: World):
        # 1. Nodes of the tree: bodies, then additional parts of divided bodies.
        tree, joints = tree_of(world), world.joints
        n, self.world = len(world.names), world
        names = (*world.names, *(part_name(world, body, j) for body, _, j in tree.cuts))
        owner = [*range(n), *(body for body, _, _ in tree.cuts)]
        parent = [*tree.parent.tolist(), *(on for _, on, _ in tree.cuts)]
        subtrees: list[list[int]] = [[] for _ in names]
        for k in range(len(names)):
            ancestor = k
            while ancestor >= 0:
                subtrees[ancestor].append(k)
                ancestor = parent[ancestor]
        self._nodes = [
            _Node(b, int(model.body(name).id), 1.0 / float(tree.parts[b]), subtrees[k], k < n)
            for k, (name, b) in enumerate(zip(names, owner, strict=True))
        ]
        self._node_of = {int(j): k for k, j in enumerate(tree.joint) if j >= 0}
        """Node that each joint with coordinates carries, by number of the joint."""
        self._node_of |= {j: n + k for k, (_, _, j) in enumerate(tree.cuts)}
        # 2. Welds, and constraints of joints that close loops.
        self._dynamic = world.kind == BodyKind.DYNAMIC
        self._welds = [
            (n + k, body, int(model.equality(part_name(world, body, j)).id))
            for k, (body, _, j) in enumerate(tree.cuts)
        ]
        self._closing = tree.closing
        self._equality, self._tendon = _constraints(model, joints, tree.closing)
        # 3. Forces at the end of the step: springs that are tendons are implicit.
        springs = select_springs(world.forces.springs, tendon_springs(world))
        self._at_end = Forces(springs, bodies=world.forces.bodies)

    def __call__(self, reading: Reading, step: RobotStep) -> Array:
        """Return the mean force of each joint on its first body over a step, and its moment about the point
        of the joint [N, N m], shape (nj, 6)."""
        wrenches = np.zeros((len(self.world.joints), 6))
        if reading.h == 0.0:
            return wrenches
        points = np.stack([_middle(reading, Point(b, x)) for b, x in _first_points(self.world.joints)])
        # 1. Impulses of joints that close loops and of welds. `missing` is the rate of change of momentum of
        # each node, less the forces considered so far.
        missing, centres = self._momenta(reading, step), self._centres(reading)
        for j in self._closing:
            wrenches[j] = self._closing_wrench(j, reading, step, points[j])
            for b, sign in zip(self.world.joints.body[j].tolist(), (1.0, -1.0), strict=True):
                if b >= 0:
                    missing[b] -= sign * _about(wrenches[j], points[j], centres[b])
        for part, body, equality in self._welds:  # the impulse acts on the body, its opposite on the part
            wrench = _weld_impulse(_impulses(step, 4 * equality + EQUALITY), reading, body, body) / reading.h
            missing[body] -= wrench
            missing[part] += wrench
        # 2. The reaction of a joint with coordinates is the sum of `missing` over the nodes that it carries.
        for j, node in self._node_of.items():
            sign = 1.0 if self.world.joints.body[j, 0] == self._nodes[node].body else -1.0
            for k in self._nodes[node].subtree:
                wrenches[j] += sign * _about(missing[k], centres[k], points[j])
        return wrenches

    def _centres(self, reading: Reading) -> Array:
        """Return the centres of mass of the nodes at the middle of the step [m], shape (k, 3)."""
        return np.stack([_middle(reading, Point(node.body, np.zeros(3))) for node in self._nodes])

    def _momenta(self, reading: Reading, step: RobotStep) -> Array:
        """Return the rate of change of momentum of each node about its centre of mass, less gravity, forces
        and contacts [N, N m], shape (k, 6)."""
        world, h, end, start = self.world, reading.h, reading.state, reading.before
        forces, out = self._forces(reading, step), np.zeros((len(self._nodes), 6))
        v, before = end.v.reshape(-1, 6), start.v.reshape(-1, 6)
        R, R_before = (matrices(state.q.reshape(-1, 7)[:, 3:]) for state in (end, start))
        for k, node in enumerate(self._nodes):
            i = node.body
            if not self._dynamic[i]:
                continue
            force = world.mass[i] * ((v[i, :3] - before[i, :3]) / h - world.gravity)
            moment = (R[i] @ world.inertia[i] @ v[i, 3:] - R_before[i] @ world.inertia[i] @ before[i, 3:]) / h
            out[k] = node.share * np.concatenate([force, moment]) - step.applied[node.number]
            if node.main:
                out[k] -= forces[i] + np.concatenate(contact_wrench(reading, i, None))
        return out

    def _forces(self, reading: Reading, step: RobotStep) -> Array:
        """Return forces and moments of the world's force elements on its bodies, in inertial axes [N, N m],
        shape (n, 6)."""
        world, n = step.world, len(self.world.names)
        controls = dict(zip(input_values(world), step.controls, strict=True))
        world = with_inputs(world, controls) if controls else world
        explicit = replace(applied_forces(world), written=world.forces.written)
        out = np.zeros((n, 6))
        for forces, state in ((explicit, reading.before), (self._at_end, reading.state)):
            F = np.zeros((3, n, 6))
            forces.add(state.t, state.q, state.v, F)
            total, R = F.sum(axis=0), matrices(state.q.reshape(-1, 7)[:, 3:])
            out += np.concatenate([total[:, :3], np.einsum("bij,bj->bi", R, total[:, 3:])], axis=1)
        return out

    def _closing_wrench(self, j: int, reading: Reading, step: RobotStep, point: Array) -> Array:
        """Return force and moment of a joint that closes a loop, about a point [N, N m], shape (6,)."""
        joints, h = self.world.joints, reading.h
        first, second = joints.body[j].tolist()
        ends = [_middle(reading, Point(b, x)) for b, x in zip((first, second), joints.point[j], strict=True)]
        kind, rows = JointKind(int(joints.kind[j])), self._equality[j]
        if kind == JointKind.DISTANCE:
            line = ends[0] - ends[1]
            length = float(np.linalg.norm(line))
            pull = float(_impulses(step, 4 * rows[0] + EQUALITY).sum()) if rows else 0.0
            pull += self._stop_impulse(j, length, step)
            return np.concatenate([pull * line / (h * max(length, 1e-300)), np.zeros(3)])
        if kind == JointKind.FIXED:
            wrench = _weld_impulse(_impulses(step, 4 * rows[0] + EQUALITY), reading, first, second) / h
            return _about(wrench, ends[1], point)
        axis = matrices(reading.state.q[7 * first + 3 : 7 * first + 7]) @ joints.frame[j, 0, 0]
        out = np.zeros(6)
        for along, equality in zip(CONNECTED[kind], rows, strict=True):
            force = _impulses(step, 4 * equality + EQUALITY) / h
            out += np.concatenate([force, cross(along * axis, force)])
        return out

    def _stop_impulse(self, j: int, length: float, step: RobotStep) -> float:
        """Return the impulse of the stops of a distance joint along the line to its first point [N s]."""
        if j not in self._tendon:
            return 0.0
        of_tendon = (step.id % 4 == LIMIT) & (step.id // 4 // 4 == self._tendon[j]) & (step.id // 4 % 4 >= 2)
        lower, upper = max(float(self.world.joints.lower[j, 0]), 0.0), float(self.world.joints.upper[j, 0])
        impulses = step.r[of_tendon]
        if impulses.size == 2:  # the lower stop comes first
            return float(impulses[0] - impulses[1])
        return float(impulses.sum()) * (1.0 if length - lower < upper - length else -1.0)


def _first_points(joints: Joints) -> list[tuple[int, Array]]:
    """Return the first body of each joint, and the point of the joint in its frame."""
    return [(int(b), x) for b, x in zip(joints.body[:, 0], joints.point[:, 0], strict=True)]


def _constraints(
    model: Any, joints: Joints, closing: tuple[int, ...]
) -> tuple[dict[int, list[int]], dict[int, int]]:
    """Return the numbers of the equality constraints and of the limited tendons that represent joints."""
    equality: dict[int, list[int]] = {}
    tendon: dict[int, int] = {}
    for j in closing:
        kind, name = JointKind(int(joints.kind[j])), joints.names[j]
        limited = kind == JointKind.DISTANCE and np.isfinite([joints.lower[j, 0], joints.upper[j, 0]]).any()
        names = [] if limited else [name, f"{name}/axis"] if kind == JointKind.HINGE else [name]
        equality[j] = [int(model.equality(label).id) for label in names]
        if limited:
            tendon[j] = int(model.tendon(name).id)
    return equality, tendon


def _impulses(step: RobotStep, key: int) -> Array:
    """Return the impulses of the block with this identifier."""
    return step.r[step.id == key]


def _weld_impulse(r: Array, reading: Reading, first: int, second: int) -> Array:
    """Return the impulse and angular impulse of a weld on its first body [N s, N m s], shape (6,).

    The first three rows of MuJoCo's weld are along the inertial axes; the others are half of the relative
    angular velocity in the frame of the second body.
    """
    if second < 0:
        return np.concatenate([r[:3], 0.5 * r[3:]])
    R = matrices(reading.before.q[7 * second + 3 : 7 * second + 7])
    return np.concatenate([r[:3], 0.5 * R @ r[3:]])


def _middle(reading: Reading, point: Point) -> Array:
    """Return the position of a point at the middle of a step [m], shape (3,)."""
    return 0.5 * (point.position(reading.before.q) + point.position(reading.state.q))


def _about(wrench: Array, point: Array, other: Array) -> Array:
    """Return the wrench about `other` that equals a wrench about `point` [N, N m], shape (6,)."""
    moment = wrench[3:] + cross(point - other, wrench[:3])
    return np.concatenate([wrench[:3], moment])
