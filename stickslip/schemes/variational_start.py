"""Start of a step of the variational scheme: the node, possible contacts, and the problem of the step.

The memory of the scheme has

h                              length of the previous step [s], shape (1,); 0 at the start of a run
id, approach                   contacts that closed in it, and their approach velocities [-, m/s], shape (k,)
joint_id, joint_approach       the same for stops of joints [-, m/s, rad/s], shape (k,)
potential                      potential energy of the previous step: mean and at its end [J], shape (2,)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from stickslip.detection.contacts import ContactSet
from stickslip.kernels import cones
from stickslip.kernels.bodies import gaps, motion
from stickslip.kernels.bodies.layout import JointArrays
from stickslip.kernels.variational import node as kernels
from stickslip.kernels.variational.layout import ContactArrays
from stickslip.mechanics.joints import Joints
from stickslip.mechanics.world import World
from stickslip.problem.checks import frozen
from stickslip.problem.step_problem import StepProblem
from stickslip.problem.step_tangent import step_blocks
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_start import not_finite
from stickslip.schemes.body_world import Bodies, PreparedWorld
from stickslip.schemes.step import Memory
from stickslip.schemes.variational_contacts import Candidates
from stickslip.state import Array, BoolArray, IntArray, ModelError, State

if TYPE_CHECKING:
    from stickslip.schemes.variational import VariationalBodies

NONE: Array = frozen(np.zeros(0))
"""Values of no contacts or stops."""
NO_ID: IntArray = frozen(np.zeros(0, np.int64))
"""Identifiers of no contacts or stops."""
NO_CONTACTS = ContactArrays(
    gaps.Forms(
        NO_ID, NO_ID.reshape(0, 2), np.zeros((0, 2, 3)), np.zeros((0, 3)), np.zeros((0, 3)),
        np.zeros((0, 2)), np.zeros((0, 2, 3, 3)),
    ),
    NONE, np.zeros((0, 3, 3)), np.zeros((0, 4)), NONE,
)  # fmt: skip
"""Arrays of a step without contacts."""


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """Node in time between two steps: poses, forces, and momenta after these forces."""

    prepared: PreparedWorld
    """The world."""
    state: State
    """State at the node."""
    before: float
    """Length of the previous step [s]."""
    h: float
    """Length of the next step [s]."""
    q: Array
    """Poses at the node [m, -], shape (n, 7)."""
    v_before: Array
    """Velocities of the previous step [m/s, rad/s], shape (n, 6)."""
    v: Array
    """The same, with the velocities of kinematic bodies in the next step [m/s, rad/s], shape (n, 6)."""
    F: Array
    """Forces by kind, without gravity [N, N m], shape (3, n, 6); (3, 0, 6) if there are none."""
    p: Array
    """Momenta after the forces [N s, N m s], shape (n, 6)."""
    speed: Array
    """Bound on the speed of the points of a body, before and after the forces [m/s], shape (n,)."""
    margin: float
    """Margin of detection: contacts with a larger gap cannot close in the step at these speeds [m]."""

    @property
    def world(self) -> World:
        """The world."""
        return self.prepared.world

    @property
    def bodies(self) -> Bodies:
        """The bodies of the world as arrays."""
        return self.prepared.bodies

    @property
    def turn(self) -> Array:
        """Rotation of the bodies in the step, with the spin of the previous step [rad], shape (n,)."""
        return np.asarray(self.h * np.linalg.norm(self.v_before[:, 3:], axis=1))

    @classmethod
    def of(cls, prepared: PreparedWorld, state: State, memory: Memory, h: float) -> "Node":
        """Return the node at the start of a step of length h from `state`."""
        world, bodies, before = prepared.world, prepared.bodies, length_before(memory)
        n = bodies.count
        q, v_before = state.q.reshape(n, 7), state.v.reshape(n, 6)
        q.flags.writeable = v_before.flags.writeable = False
        v = v_before.copy()
        if bodies.driven:  # with the orientations at the midpoint of the step
            middle = np.empty((n, 7))
            motion.move_along(q, v_before, 0.5 * h, middle)
            world.motions.prescribe(state.t + 0.5 * h, middle.reshape(-1), v.reshape(-1))
        F = prepared.forces_at(state.t, q, v)
        p, speed, (bad, fastest, second) = kernels.leave(bodies.arrays, q, v, F, before, h)
        if bad >= 0:
            raise not_finite(world, state, F, bad)
        margin = h * (fastest + second) + bodies.touch
        return cls(prepared, state, before, h, q, v_before, v, F, p, speed, margin)


class StepStops:
    """Joint blocks of the steps of a world, computed once."""

    def __init__(self, world: World, bodies: Bodies):
        n = bodies.count
        table, none = _step_joints(world.joints, 1.0), np.zeros((n, 6))
        q = world.start.q.reshape(n, 7)
        blocks = step_blocks(
            StepProblem(1.0, bodies.row, q, none, bodies.mass, bodies.J, none, NO_CONTACTS, table)
        )
        self.sides = blocks.sides
        """Bodies of each block [-], shape (m, 2)."""
        self.stop = np.flatnonzero(blocks.K.kind == cones.NONNEGATIVE)
        """Numbers of the blocks of stops [-], shape (k,)."""
        joint, part = blocks.joint[self.stop], blocks.part[self.stop]
        self.place = joint, (part - 1) // 3, (part - 1) % 3
        """Indices of each stop in `JointArrays.bounce`: joint, sliding or turning, lower or upper."""
        self.id: Array = (joint * len(PARTS) + part).astype(float)
        """Identifier of each stop, as `JointRows.id`, increasing [-], shape (k,)."""
        ids = blocks.joint * len(PARTS) + blocks.part
        self.row_id: IntArray = frozen(blocks.K.spread(ids))
        """Identifier of the block of each row, as `JointRows.id` [-], shape (p,)."""


@dataclass(frozen=True, eq=False, slots=True)
class Posed:
    """A step before its solution."""

    node: Node
    """The node at its start."""
    problem: StepProblem
    """The problem of the step."""
    contacts: ContactSet
    """Contacts of the problem, in the same order."""
    candidates: Candidates
    """All possible contacts that were considered."""
    chosen: BoolArray
    """Whether a candidate is in the problem [-], shape (k,)."""
    margin: float
    """Gap up to which contacts were detected [m]."""


def step_problem(
    scheme: "VariationalBodies", world: World | PreparedWorld, state: State, memory: Memory, h: float
) -> StepProblem:
    """Return the problem of the step of length h from `state`."""
    return posed(scheme, Node.of(PreparedWorld.of(world), state, memory, h), memory).problem


def posed(
    scheme: "VariationalBodies", node: Node, memory: Memory, keys: IntArray = NO_ID, margin: float = 0.0,
    entered: Sequence[Candidates] = (), turn: float = 0.0,
) -> Posed:  # fmt: skip
    """Return the step from a node before its solution.

    keys, entered: candidates that are in the problem whatever their gap; margin: least margin of detection
    [m]; turn: least rotation of the bodies in the step [rad].
    """
    # 1. Candidates: the table or the grid, features by detection, features of earlier attempts.
    bodies, h, shapes = node.bodies, node.h, node.prepared.shapes
    margin = max(margin, node.margin)
    candidates = shapes.candidates(node.state.q, margin)
    if shapes.other_pair is not None:
        turns = np.maximum(turn, node.turn)
        near = shapes.near(node.prepared.detector, node.state.q, margin, bodies.touch, turns)
        candidates = shapes.gathered(candidates, near, *entered)
        keys = np.concatenate([keys, *(part.key for part in entered)])
    # 2. Candidates that enter the problem, by their gaps and speeds.
    k = len(candidates)
    must = np.isin(candidates.key, keys) if keys.size else np.zeros(k, bool)
    rows, gap, frame, place = gaps.look(candidates.forms, node.q, node.speed, h, bodies.touch, must)
    is_chosen = np.zeros(k, bool)
    is_chosen[rows] = True
    contacts = ContactSet(
        candidates.id[rows],
        candidates.shape[rows],
        candidates.body[rows],
        place,
        frame,
        gap,
        candidates.law[rows],
    )
    # 3. The problem, with the gaps that restitution prescribes.
    bounce = h * contacts.law[:, 3] * approaches(memory, contacts.id)
    forms = gaps.Forms(*(column[rows] for column in candidates.forms))
    rows_of = ContactArrays(forms, contacts.gap, contacts.frame, contacts.law, bounce)
    problem = StepProblem(
        h, bodies.row, node.q, node.v, bodies.mass, bodies.J, node.p, rows_of,
        _joints(node, memory), scheme.contact,
    )  # fmt: skip
    return Posed(node, problem, contacts, candidates, is_chosen, margin)


def _joints(node: Node, memory: Memory) -> JointArrays:
    """Return the joints of a step, with the restitution of stops."""
    joints = _step_joints(node.world.joints, 0.5 * (node.before + node.h))
    if memory["joint_id"].size:
        stops = node.prepared.stops
        e = node.world.joints.e[stops.place[0]]
        joints.bounce[stops.place] = node.h * e * approaches(memory, stops.id, "joint_")
    return joints


def _step_joints(joints: Joints, time: float) -> JointArrays:
    """Return the joints of a step whose dry friction acts for `time` [s], without restitution."""
    return JointArrays(
        joints.kind, joints.body, joints.point, joints.frame, joints.length, joints.lower, joints.upper,
        time * joints.friction, np.zeros((len(joints), 2, 2)),
    )  # fmt: skip


def first_memory(potential: float) -> Memory:
    """Return the memory at the start of a run; potential: potential energy [J]."""
    return {
        "h": np.zeros(1), "id": NONE, "approach": NONE, "joint_id": NONE, "joint_approach": NONE,
        "potential": np.array([potential, potential]),
    }  # fmt: skip


def length_before(memory: Memory) -> float:
    """Return the length of the previous step [s]; raise ModelError if the memory is not valid."""
    if "h" not in memory:
        raise ModelError("the memory of the start has no 'h': no step of the variational scheme left it")
    h = memory["h"]
    if h.shape != (1,) or not 0.0 <= h[0] < np.inf:
        raise ModelError(f"the memory of the start: 'h' is {h}; expected one length of time")
    return float(h[0])


def approaches(memory: Memory, ids: IntArray | Array, of: str = "") -> Array:
    """Return the approach velocities of contacts (`of` joint_: of stops) that closed in the previous step, by
    id, and 0 for other ids [m/s, rad/s], shape (k,)."""
    known, speed = memory[f"{of}id"], memory[f"{of}approach"]
    if known.ndim != 1 or known.shape != speed.shape:
        raise ModelError(
            f"the memory of the start: {speed.shape} of '{of}approach' and {known.shape} of '{of}id'"
        )
    approach = np.zeros(ids.size)
    if known.size and ids.size:
        at = np.minimum(np.searchsorted(ids, known), ids.size - 1)  # both are sorted
        same = ids[at] == known
        approach[at[same]] = speed[same]
    return approach
