"""The start of a step of the variational scheme: the node, what may touch, and the problem of the step.

The memory from step to step has

h                              length of the step before [s], shape (1,); 0 at the beginning
id, approach                   contacts that closed in it, and how fast they had come [-, m/s], shape (k,)
joint_id, joint_approach       stops of joints that were reached in it, likewise [-, m/s, rad/s]
potential                      of the step before, as its energy has it, and at its end [J], shape (2,)
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
NO_ID: IntArray = frozen(np.zeros(0, np.int64))
NO_CONTACTS = ContactArrays(
    gaps.Forms(
        NO_ID, NO_ID.reshape(0, 2), np.zeros((0, 2, 3)), np.zeros((0, 3)), np.zeros((0, 3)),
        np.zeros((0, 2)), np.zeros((0, 2, 3, 3)),
    ),
    NONE, np.zeros((0, 3, 3)), np.zeros((0, 4)), NONE,
)  # fmt: skip


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """A node in time between two steps: where all is, the forces there, and momenta with them."""

    prepared: PreparedWorld
    state: State
    before: float
    """Length of the step before [s]."""
    h: float
    """Length of the step that begins [s]."""
    q: Array
    """[m, -], shape (n, 7)."""
    v_before: Array
    """Of the step before [m/s, rad/s], shape (n, 6)."""
    v: Array
    """The same, of bodies that are not dynamic over the step that begins [m/s, rad/s], shape (n, 6)."""
    F: Array
    """Forces beside gravity by kind [N, N m], shape (3, n, 6); (3, 0, 6) where there are none."""
    p: Array
    """Momenta [N s, N m s], shape (n, 6)."""
    speed: Array
    """No point of a body is faster, before or after the forces [m/s], shape (n,)."""
    margin: float
    """No contact with a larger gap closes in the step at these speeds [m]."""

    @property
    def world(self) -> World:
        """Whose step it is."""
        return self.prepared.world

    @property
    def bodies(self) -> Bodies:
        """Its bodies."""
        return self.prepared.bodies

    @property
    def turn(self) -> Array:
        """How far bodies turn in the step as they did before it [rad], shape (n,)."""
        return np.asarray(self.h * np.linalg.norm(self.v_before[:, 3:], axis=1))

    @classmethod
    def of(cls, prepared: PreparedWorld, state: State, memory: Memory, h: float) -> "Node":
        """The start of a step of length h from `state`."""
        world, bodies, before = prepared.world, prepared.bodies, length_before(memory)
        n = bodies.count
        q, v_before = state.q.reshape(n, 7), state.v.reshape(n, 6)
        q.flags.writeable = v_before.flags.writeable = False
        v = v_before.copy()
        if bodies.driven:  # as in the middle of the step
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
    """The blocks of the joints of a world in every step, made once."""

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
        """Numbers of those that are stops [-], shape (k,)."""
        joint, part = blocks.joint[self.stop], blocks.part[self.stop]
        self.place = joint, (part - 1) // 3, (part - 1) % 3
        """Where a stop is in `JointArrays.bounce`: joint, sliding or turning, lower or upper."""
        self.id: Array = (joint * len(PARTS) + part).astype(float)
        """As `JointRows.id` [-], shape (k,), increasing."""
        ids = blocks.joint * len(PARTS) + blocks.part
        self.row_id: IntArray = frozen(blocks.K.spread(ids))
        """Of every row of all blocks, likewise [-], shape (p,)."""


@dataclass(frozen=True, eq=False, slots=True)
class Posed:
    """A step before it is solved."""

    node: Node
    problem: StepProblem
    contacts: ContactSet
    """Those of the problem, in the same order."""
    candidates: Candidates
    """All that were looked at."""
    chosen: BoolArray
    """Which of them are in the problem [-], shape (k,)."""
    margin: float
    """Gap up to which contacts were looked for [m]."""


def step_problem(
    scheme: "VariationalBodies", world: World | PreparedWorld, state: State, memory: Memory, h: float
) -> StepProblem:
    """The step of length h from `state` as a problem."""
    return posed(scheme, Node.of(PreparedWorld.of(world), state, memory, h), memory).problem


def posed(
    scheme: "VariationalBodies", node: Node, memory: Memory, keys: IntArray = NO_ID, margin: float = 0.0,
    entered: Sequence[Candidates] = (), turn: float = 0.0,
) -> Posed:  # fmt: skip
    """The step from a node, with contacts looked for up to a gap of at least `margin` [m]; those of `keys`
    and `entered` are in it however far they are. turn: how far bodies turn at least [rad]."""
    bodies, h, shapes = node.bodies, node.h, node.prepared.shapes
    margin = max(margin, node.margin)
    found = shapes.candidates(node.state.q, margin)
    if shapes.other_pair is not None:
        turns = np.maximum(turn, node.turn)
        near = shapes.near(node.prepared.detector, node.state.q, margin, bodies.touch, turns)
        found = shapes.gathered(found, near, *entered)
        keys = np.concatenate([keys, *(part.key for part in entered)])
    k = len(found)
    must = np.isin(found.key, keys) if keys.size else np.zeros(k, bool)
    rows, gap, frame, place = gaps.look(found.forms, node.q, node.speed, h, bodies.touch, must)
    is_chosen = np.zeros(k, bool)
    is_chosen[rows] = True
    contacts = ContactSet(
        found.id[rows], found.shape[rows], found.body[rows], place, frame, gap, found.law[rows]
    )
    bounce = h * contacts.law[:, 3] * approaches(memory, contacts.id)
    forms = gaps.Forms(*(column[rows] for column in found.forms))
    rows_of = ContactArrays(forms, contacts.gap, contacts.frame, contacts.law, bounce)
    problem = StepProblem(
        h, bodies.row, node.q, node.v, bodies.mass, bodies.J, node.p, rows_of,
        _joints(node, memory), scheme.contact,
    )  # fmt: skip
    return Posed(node, problem, contacts, found, is_chosen, margin)


def _joints(node: Node, memory: Memory) -> JointArrays:
    joints = _step_joints(node.world.joints, 0.5 * (node.before + node.h))
    if memory["joint_id"].size:
        stops = node.prepared.stops
        e = node.world.joints.e[stops.place[0]]
        joints.bounce[stops.place] = node.h * e * approaches(memory, stops.id, "joint_")
    return joints


def _step_joints(joints: Joints, time: float) -> JointArrays:
    """The joints of a step whose dry friction acts for so long [s], and which bounce nowhere."""
    return JointArrays(
        joints.kind, joints.body, joints.point, joints.frame, joints.length, joints.lower, joints.upper,
        time * joints.friction, np.zeros((len(joints), 2, 2)),
    )  # fmt: skip


def first_memory(potential: float) -> Memory:
    """That of the beginning, where the potential energy is so much [J]."""
    return {
        "h": np.zeros(1), "id": NONE, "approach": NONE, "joint_id": NONE, "joint_approach": NONE,
        "potential": np.array([potential, potential]),
    }  # fmt: skip


def length_before(memory: Memory) -> float:
    """Of the step before [s]."""
    if "h" not in memory:
        raise ModelError("the memory of the start has no 'h': no step of the variational scheme left it")
    h = memory["h"]
    if h.shape != (1,) or not 0.0 <= h[0] < np.inf:
        raise ModelError(f"the memory of the start: 'h' is {h}; expected one length of time")
    return float(h[0])


def approaches(memory: Memory, ids: IntArray | Array, of: str = "") -> Array:
    """How fast contacts (`of` joint_: stops) of these ids had come when they closed in the step before, 0 for
    the others [m/s, rad/s], shape (k,)."""
    known, speed = memory[f"{of}id"], memory[f"{of}approach"]
    if known.ndim != 1 or known.shape != speed.shape:
        raise ModelError(
            f"the memory of the start: {speed.shape} of '{of}approach' and {known.shape} of '{of}id'"
        )
    found = np.zeros(ids.size)
    if known.size and ids.size:
        at = np.minimum(np.searchsorted(ids, known), ids.size - 1)  # both are sorted
        same = ids[at] == known
        found[at[same]] = speed[same]
    return found
