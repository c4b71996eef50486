"""Joints of a world in a step: blocks of the contact problem.

A joint has one `free` block (u = 0) for all the motions that it constrains, a `nonnegative` block for each
stop that it reaches by the forecast, and an `interval` block [-h f, h f] for each dry friction. Only the free
coordinates of a joint have stops and friction: the slide of sliders and cylindrical joints, the angle of
hinges and cylindrical joints, and the length of distance joints. A distance joint with a finite stop is a
rope or strut and has no `free` block; otherwise its length is fixed. Friction in a ball joint is refused: it
would need a block whose set is a ball of constant radius.
"""

import numpy as np

from stickslip.kernels.bodies import joint_geometry
from stickslip.kernels.bodies import joints as kernels
from stickslip.kernels.bodies.joint_blocks import joint_blocks
from stickslip.kernels.bodies.layout import JointRowArrays, Span
from stickslip.mechanics.joints import JointKind, Joints
from stickslip.mechanics.world import World
from stickslip.state import Array, IntArray, ModelError

PARTS = (
    "hold",
    "lower stop",
    "upper stop",
    "sliding friction",
    "lower turning stop",
    "upper turning stop",
    "turning friction",
)
"""Function of a block in its joint, by its code in `JointRows.part`."""

OPEN = 1e-6
"""Largest opening of a joint at the start of a run [m, rad] (heuristic)."""


class JointRows:
    """Blocks of all joints, in the order of the joints and of `PARTS` within each."""

    def __init__(self, arrays: JointRowArrays):
        self.arrays = arrays
        """All arrays, as the named tuple of the kernels."""
        self.bodies = arrays.bodies
        """First and second body in the world, -1 for the inertial frame [-], shape (m, 2)."""
        self.rows = arrays.rows
        """Rows of H' over (ẋ, Ω) of either body: u = rows[:, 0] v_first + rows[:, 1] v_second [-, m],
        shape (n, 2, 6); 0 for the inertial frame."""
        self.size = arrays.size
        """Number of rows of each block [-], shape (m,)."""
        self.kind = arrays.kind
        """Kind of each block as in `ProductSet`: 0 free, 1 nonnegative, 2 interval [-], shape (m,)."""
        self.lower, self.upper = arrays.low, arrays.high
        """Bounds of each block [N s, N m s], shape (m,)."""
        self.bias = arrays.bias
        """Prescribed part of u: the change of the rows until the end of the step, and `restitution`
        [m/s, rad/s], shape (n,). The velocity of kinematic bodies is not included: it enters by their
        rows."""
        self.restitution = arrays.bounce
        """Part of `bias` by restitution: e u⁻ at approaching stops [m/s, rad/s], shape (n,)."""
        self.error = arrays.error
        """Error of a constrained motion, or gap of a stop, negative beyond it; 0 for friction [m, rad], shape
        (n,)."""
        self.joint = arrays.joint
        """Number of the joint [-], shape (m,)."""
        self.part = arrays.part
        """Function of the block in its joint, an index in `PARTS` [-], shape (m,)."""

    def __len__(self) -> int:
        return self.size.shape[0]

    @property
    def id(self) -> IntArray:
        """Identifier of each block, the same in every step, increasing [-], shape (m,)."""
        return self.joint * len(PARTS) + self.part


def joint_rows(
    world: World, t: float, q: Array, v: Array, h: float, theta: float, v_free: Array | None = None,
    v_ahead: Array | None = None, slack: Array | None = None, stabilised: bool = False,
) -> JointRows | None:  # fmt: skip
    """Return the blocks of all joints at coordinates `q`; None without joints.

    v: velocities before the step, used by restitution; v_free: velocities of the free motion, used by the
    forecast of the stops; v_ahead: v after the free rotation from here to the end of the step. Both default
    to v; all are velocities of all bodies [m/s, rad/s], shape (6 n,). slack: threshold of
    `kernels/activation.py` for stops of sliding and turning [m, rad], shape (nj, 2); default 0.
    stabilised: whether the laws contain errors and gaps over h.
    With h = 0 the blocks are those of a projection: stops that are reached at q, and no friction.
    """
    joints = world.joints
    if not len(joints):
        return None
    free = v if v_free is None else v_free
    ahead = v if v_ahead is None else v_ahead
    slack = np.zeros((len(joints), 2)) if slack is None else slack
    velocities = (x.reshape(-1, 6) for x in (v, free, ahead))
    span = Span(h, theta * h)
    bad, rows = joint_blocks(joints.arrays, q.reshape(-1, 7), *velocities, span, slack, stabilised)
    if bad >= 0:
        raise ModelError(
            f"joint {joints.names[bad]!r} has no finite rows at t = {t:.6g} s: its bodies are at no finite"
            " place or speed, the points of a distance joint coincide, or its axes are at right angles"
        )
    return JointRows(rows)


def joint_errors(world: World, q: Array) -> Array:
    """Return how far each joint is open or beyond a stop, in translation and rotation, >= 0 [m, rad], shape
    (nj, 2)."""
    opening = np.zeros((len(world.joints), 2))
    if len(world.joints):
        kernels.joint_openings(world.joints.arrays, q, opening)
    return opening


def joint_coordinates(world: World, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """Return the free coordinates of the joints: slide (the distance of a distance joint) [m], shape (nj,),
    angle in (-π, π] [rad], shape (nj,), and rates of both [m/s, rad/s], shape (nj, 2). Constrained
    coordinates are 0."""
    place, speed = np.zeros((len(world.joints), 2)), np.zeros((len(world.joints), 2))
    if len(world.joints):
        kernels.joint_coordinates(world.joints.arrays, q, v, place, speed)
    return place[:, 0], place[:, 1], speed


def check_joints(world: World, q: Array, closes: bool = False) -> None:
    """Raise ModelError for joints with invalid friction or stops, and for joints that are open or beyond a
    stop by more than `OPEN` at `q`, unless the scheme `closes` them."""
    joints = world.joints
    for j, name in enumerate(joints.names):
        slides, turns = _leaves(joints, j)
        for c, leaves, motion in ((0, slides, "sliding"), (1, turns, "turning")):
            if joints.friction[j, c] > 0.0 and not leaves:
                raise ModelError(
                    f"joint {name!r}: friction against {motion} of a {JointKind(joints.kind[j]).name.lower()}"
                    " joint has no law here; leave it out"
                )
        low, high = joints.lower[j, 1], joints.upper[j, 1]
        if turns and np.isfinite([low, high]).any() and not 0.0 <= high - low < 2.0 * np.pi:
            raise ModelError(
                f"joint {name!r}: its angle has stops at {low:.6g} and {high:.6g} rad; give two, less than a"
                " full turn apart"
            )
    for j, (place, turn) in enumerate(() if closes else joint_errors(world, q)):
        if not (place <= OPEN and turn <= OPEN):
            raise ModelError(
                f"joint {joints.names[j]!r} is open or beyond a stop by {place:.3g} m and {turn:.3g} rad at"
                f" the start; place its bodies so that it closes to {OPEN:g}"
            )


def _leaves(joints: Joints, j: int) -> tuple[bool, bool]:
    """Whether joint j leaves sliding (the length of a distance joint) and its angle free."""
    kind = int(joints.kind[j])
    low, high = float(joints.lower[j, 0]), float(joints.upper[j, 0])
    return bool(joint_geometry.leaves(0, kind, low, high)), bool(joint_geometry.leaves(1, kind, low, high))
