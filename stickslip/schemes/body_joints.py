"""Joints of a world in a step: blocks of the same problem as the contacts.

A joint is a `free` block (u = 0, all that it holds in one), a `nonnegative` block for each stop that the
forecast says is reached, and an `interval` block [-h f, h f] for each dry friction. Only coordinates that a
joint leaves free have stops and friction: sliding of sliders and cylindrical joints, the angle of hinges and
cylindrical joints, and the length of a distance joint. A distance joint with a finite stop of its length is a
rope or strut and holds nothing else; without, its length is held. Friction about a ball would need a ball of
constant radius, which no block is; it is refused.
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
"""What a block does in its joint, by its number in `JointRows.part`."""

OPEN = 1e-6
"""Largest opening of a joint at the start [m, rad]."""


class JointRows:
    """The blocks of all joints, in the order of the joints and of `PARTS` within each."""

    def __init__(self, arrays: JointRowArrays):
        self.arrays = arrays
        """As kernels take them."""
        self.bodies = arrays.bodies
        """First and second body in the world, -1 for the inertial frame [-], shape (m, 2)."""
        self.rows = arrays.rows
        """Rows of H' over (ẋ, Ω) of either body: u = rows[:, 0] v_first + rows[:, 1] v_second [-, m],
        shape (n, 2, 6); 0 for the inertial frame."""
        self.size = arrays.size
        """Rows of each block [-], shape (m,)."""
        self.kind = arrays.kind
        """Of each block as in `ProductSet`: 0 free, 1 nonnegative, 2 interval [-], shape (m,)."""
        self.lower, self.upper = arrays.low, arrays.high
        """Bounds of each block [N s, N m s], shape (m,)."""
        self.bias = arrays.bias
        """Prescribed part of u: what the rows turn by until the end of the step, and `restitution`
        [m/s, rad/s], shape (n,). The speed of kinematic bodies is not in it: their rows multiply it."""
        self.restitution = arrays.bounce
        """Its part by restitution: e u⁻ at stops that were approached [m/s, rad/s], shape (n,)."""
        self.error = arrays.error
        """Of what is held, and gap of the stops, negative beyond; 0 for friction [m, rad], shape (n,)."""
        self.joint = arrays.joint
        """Number of the joint [-], shape (m,)."""
        self.part = arrays.part
        """What the block does in its joint, as in `PARTS` [-], shape (m,)."""

    def __len__(self) -> int:
        return self.size.shape[0]

    @property
    def id(self) -> IntArray:
        """One number per block that lasts from step to step, increasing [-], shape (m,)."""
        return self.joint * len(PARTS) + self.part


def joint_rows(
    world: World, t: float, q: Array, v: Array, h: float, theta: float, v_free: Array | None = None,
    v_ahead: Array | None = None, slack: Array | None = None, stabilised: bool = False,
) -> JointRows | None:  # fmt: skip
    """Blocks of all joints at coordinates `q`; None without joints.

    v: velocities before the step, of which restitution speaks; v_free: those of the free motion, which the
    forecast of the stops continues; v_ahead: v after the free rotation from here to the end of the step. Both
    are v unless given; all of all bodies [m/s, rad/s], shape (6 n,). slack: threshold of
    `kernels/activation.py` for stops of sliding and turning [m, rad], shape (nj, 2); 0 unless given.
    stabilised: whether errors and gaps over h stand in the laws.
    With h = 0 the stops that are reached as it stands, and no friction: what a projection needs.
    """
    joints = world.joints
    if not len(joints):
        return None
    free = v if v_free is None else v_free
    ahead = v if v_ahead is None else v_ahead
    slack = np.zeros((len(joints), 2)) if slack is None else slack
    velocities = (x.reshape(-1, 6) for x in (v, free, ahead))
    span = Span(h, theta * h)
    bad, found = joint_blocks(joints.arrays, q.reshape(-1, 7), *velocities, span, slack, stabilised)
    if bad >= 0:
        raise ModelError(
            f"joint {joints.names[bad]!r} has no finite rows at t = {t:.6g} s: its bodies are at no finite"
            " place or speed, the points of a distance joint coincide, or its axes are at right angles"
        )
    return JointRows(found)


def joint_errors(world: World, q: Array) -> Array:
    """How far each joint is open or beyond a stop, place and turn, >= 0 [m, rad], shape (nj, 2)."""
    opening = np.zeros((len(world.joints), 2))
    if len(world.joints):
        kernels.joint_openings(world.joints.arrays, q, opening)
    return opening


def joint_coordinates(world: World, q: Array, v: Array) -> tuple[Array, Array, Array]:
    """What joints leave free: slide (the distance of a distance joint) [m], shape (nj,), angle in (-π, π]
    [rad], shape (nj,), and rates of both [m/s, rad/s], shape (nj, 2); 0 where a joint holds it."""
    place, speed = np.zeros((len(world.joints), 2)), np.zeros((len(world.joints), 2))
    if len(world.joints):
        kernels.joint_coordinates(world.joints.arrays, q, v, place, speed)
    return place[:, 0], place[:, 1], speed


def check_joints(world: World, q: Array, closes: bool = False) -> None:
    """Refuse joints that cannot be, or that are open or beyond a stop by more than `OPEN` at `q`, unless the
    scheme `closes` them."""
    joints = world.joints
    for j, name in enumerate(joints.names):
        slides, turns = _leaves(joints, j)
        for c, leaves, what in ((0, slides, "sliding"), (1, turns, "turning")):
            if joints.friction[j, c] > 0.0 and not leaves:
                raise ModelError(
                    f"joint {name!r}: friction against {what} of a {JointKind(joints.kind[j]).name.lower()}"
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
