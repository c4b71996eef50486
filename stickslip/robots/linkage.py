"""Joints, springs and inputs of a world around a robot, as MuJoCo has them.

A joint becomes coordinates of the body that it carries, wherever joints make a tree: the body then has no
free joint. Joints that close a loop are equality constraints. Distances and springs are tendons.

Sliders, stops, dry friction and inputs need a coordinate in a loop too: a body is cut into parts of the same
mass, which are welded to each other and carried by one joint each. A kinematic body, whose velocity MuJoCo
does not know, has a carrier: a body that moves freely and is welded to it, and has what joints hold.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.mechanics.forces import Springs
from stickslip.mechanics.joints import COLUMNS, SLIDING, TURNING, JointKind, Joints
from stickslip.mechanics.world import BodyKind, World
from stickslip.mechanics.written_forces import JointEffort
from stickslip.rotations import conjugate, matrices, product
from stickslip.state import Array, BoolArray, IntArray

FAR = 1e9
"""In the place of a stop that there is none of [m, rad]."""
FREE, GROUND = -1, -1
"""No joint carries the body; the inertial frame carries it."""
EQUALITY = 2
"""Rank of joints that an equality constraint can stand for."""
HELD = {JointKind.BALL: (0.0,), JointKind.HINGE: (-0.5, 0.5)}
"""Points on the axis that connect constraints hold, from the point of the joint [m]: those of a hinge are as
far apart as measures angles as lengths, and on both sides, so that two halves of a force make no moment."""


class Tree(NamedTuple):
    """Which body of a world is carried by which."""

    parent: IntArray
    """The body that carries each, -1 for the inertial frame [-], shape (n,)."""
    joint: IntArray
    """By which joint, -1 for none: it flies, or does not move by itself [-], shape (n,)."""
    order: tuple[int, ...]
    """All bodies, each after the one that carries it."""
    closing: tuple[int, ...]
    """Joints that carry nothing."""
    cuts: tuple[tuple[int, int, int], ...]
    """More parts of bodies: body, the one that carries the part, and by which joint."""
    carried: tuple[tuple[int, int], ...]
    """Kinematic bodies with a carrier, and the body after which it is as heavy."""

    @property
    def parts(self) -> IntArray:
        """Of how many each body is [-], shape (n,)."""
        cut = np.array([body for body, _, _ in self.cuts], np.int64)
        return 1 + np.bincount(cut, minlength=self.parent.size)

    @property
    def coordinates(self) -> set[int]:
        """Joints that are coordinates."""
        return {int(j) for j in self.joint if j >= 0} | {j for _, _, j in self.cuts}


def tree_of(world: World) -> Tree:
    """A tree of the joints. Those that only a coordinate can stand for come first: sliders, and joints with
    stops, dry friction or an input."""
    joints, n = world.joints, len(world.names)
    dynamic, kinematic = world.kind == BodyKind.DYNAMIC, world.kind == BodyKind.KINEMATIC
    driven = {one.joint for one in _inputs(world)}
    rank = [_rank(joints, j, j in driven) for j in range(len(joints))]
    distance = joints.kind == JointKind.DISTANCE
    # 1. Parts that joints tie together; all that does not move by itself is one of them, number n.
    part = np.where(dynamic, np.arange(n), n)
    chosen = []
    for j in sorted(range(len(joints)), key=lambda j: (rank[j], j)):
        if distance[j]:
            continue
        a, b = (n if side < 0 else int(part[side]) for side in joints.body[j])
        if a != b:
            part[part == min(a, b)] = max(a, b)
            chosen.append(j)
    # 2. Each part hangs on what does not move by itself, or on its first body, which flies.
    parent, joint = np.full(n, GROUND), np.full(n, FREE)
    reached = {GROUND, *np.flatnonzero(~dynamic).tolist()}
    waiting = np.flatnonzero(dynamic).tolist()
    while waiting:
        carried = _carried(joints, chosen, reached)
        if carried is None:
            grounded = part == n
            carried = next(b for b in waiting if not grounded[b]), GROUND, FREE
        body, parent[carried[0]], joint[carried[0]] = carried
        reached.add(body)
        waiting.remove(body)
    # 3. In the order in which they were placed, as far as what carries them comes first.
    order: dict[int, None] = {}
    for body in range(n):
        line = [body]
        while parent[line[-1]] >= 0:
            line.append(int(parent[line[-1]]))
        order |= dict.fromkeys(reversed(line))
    # 4. What is left closes loops: bodies are cut where it needs a coordinate.
    cuts, closing = [], []
    for j in sorted(set(range(len(joints))) - set(chosen)):
        first, second = joints.body[j].tolist()
        if distance[j] or rank[j] == EQUALITY:
            closing.append(j)
        else:
            cuts.append((first, second, j) if dynamic[first] else (second, first, j))
    # 5. Carriers of kinematic bodies.
    carriers: dict[int, int] = {}
    links: list[tuple[int, int]] = []
    for j in np.flatnonzero(~distance | stopped(joints)).tolist():
        links += [(a, b) for a, b in (joints.body[j], joints.body[j, ::-1]) if b >= 0]
    for body, on in links:
        if on >= 0 and kinematic[on]:
            carriers.setdefault(on, body)
    return Tree(parent, joint, tuple(order), tuple(closing), tuple(cuts), tuple(carriers.items()))


def stopped(joints: Joints) -> BoolArray:
    """Which joints have stops, shape (nj,)."""
    return np.asarray((np.isfinite(joints.lower) | np.isfinite(joints.upper)).any(axis=1))


def _rank(joints: Joints, j: int, driven: bool) -> int:
    """The smaller, the more a joint needs a coordinate."""
    if joints.kind[j] in (JointKind.SLIDER, JointKind.CYLINDRICAL):
        return 0
    return 1 if stopped(joints)[j] or joints.friction[j].any() or driven else EQUALITY


def _carried(joints: Joints, chosen: list[int], reached: set[int]) -> tuple[int, int, int] | None:
    """A body that one of the joints ties to those that are reached, the one it is tied to, and the joint."""
    for j in chosen:
        first, second = joints.body[j].tolist()
        if (first in reached) != (second in reached):
            return (second, first, j) if first in reached else (first, second, j)
    return None


def place_of(world: World, body: int, parent: int) -> tuple[Array, Array]:
    """Position [m] and quaternion of a body at the start, in the frame of another or the inertial one."""
    q = world.start.q.reshape(-1, 7)
    if parent < 0:
        return q[body, :3], q[body, 3:]
    shift = matrices(q[parent, 3:]).T @ (q[body, :3] - q[parent, :3])
    return shift, product(conjugate(q[parent, 3:]), q[body, 3:])


def add_coordinates(spec: Any, body: Any, world: World, number: int, j: int) -> None:
    """Give a body of a spec the coordinates of the joint that carries it."""
    kinds, joints = load_mujoco().mjtJoint, world.joints
    side = 0 if joints.body[j, 0] == number else 1
    sign = 1.0 if side == 0 else -1.0  # coordinates are of the first body against the second
    common = {"pos": joints.point[j, side], "axis": sign * joints.frame[j, side, 0]}
    if joints.kind[j] == JointKind.BALL:
        _plain(body.add_joint(name=joints.names[j], type=kinds.mjJNT_BALL, pos=common["pos"]))
    for name, column in coordinate_names(joints, j):
        kind = kinds.mjJNT_SLIDE if column == SLIDING else kinds.mjJNT_HINGE
        made = _plain(body.add_joint(name=name, type=kind, **common))
        made.frictionloss = float(joints.friction[j, column])
        stops = _stops(joints, j, column)
        if stops is not None:
            made.limited = True
            made.range = np.degrees(stops) if column == TURNING and spec.compiler.degree else stops


def coordinate_names(joints: Joints, j: int) -> list[tuple[str, int]]:
    """Names and columns of the coordinates of a joint."""
    kind, name = JointKind(int(joints.kind[j])), joints.names[j]
    if kind == JointKind.DISTANCE:
        return []
    return [(name if k == 0 else f"{name}/turn", column) for k, column in enumerate(COLUMNS.get(kind, ()))]


def _plain(made: Any) -> Any:
    """A joint or tendon without what the defaults of the robot's file would give it."""
    for name in ("stiffness", "damping"):
        setattr(made, name, np.zeros_like(getattr(made, name)))
    made.armature = made.frictionloss = made.margin = 0.0
    made.limited = made.actfrclimited = False
    return made


def _stops(joints: Joints, j: int, column: int) -> Array | None:
    """Lower and upper stop of a coordinate [m, rad], shape (2,); None without any."""
    stops = np.array([joints.lower[j, column], joints.upper[j, column]])
    return np.clip(stops, -FAR, FAR) if np.isfinite(stops).any() else None


def add_parts(spec: Any, bodies: list[Any], world: World, tree: Tree) -> None:
    """The other parts of bodies that are cut, on the joints that carry them.

    bodies: of the spec, which may carry others.
    """
    for body, on, j in tree.cuts:
        x, p = place_of(world, body, on)
        name = part_name(world, body, j)
        part = (spec.worldbody if on < 0 else bodies[on]).add_body(name=name, pos=x, quat=p)
        give_mass(part, world, body, int(tree.parts[body]))
        add_coordinates(spec, part, world, body, j)
        _add_weld(spec, name, world.names[body], name)


def part_name(world: World, body: int, j: int) -> str:
    """Of the part of a body that a joint carries."""
    return f"{world.names[body]}/{world.joints.names[j]}"


def add_carrier(spec: Any, world: World, body: int, like: int) -> Any:
    """A body that moves freely and is welded to a kinematic one, as heavy as what it carries."""
    x, p = place_of(world, body, GROUND)
    name = carrier_name(world, body)
    carrier = spec.worldbody.add_body(name=name, pos=x, quat=p)
    give_mass(carrier, world, like, 1)
    carrier.add_freejoint(name=name)
    _add_weld(spec, name, world.names[body], name)
    return carrier


def carrier_name(world: World, body: int) -> str:
    """Of the carrier of a kinematic body."""
    return f"{world.names[body]}/carrier"


def give_mass(body: Any, world: World, number: int, parts: int) -> None:
    """Give a body of a spec the mass of a body of the world, or of one of its parts."""
    body.ipos, body.iquat, body.explicitinertial = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], True
    body.mass, J = world.mass[number] / parts, world.inertia[number] / parts
    if np.array_equal(J, np.diag(np.diag(J))):
        body.inertia = np.diag(J)
    else:
        body.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]


def _add_weld(spec: Any, name: str, first: str, second: str, anchor: ArrayLike = (0.0, 0.0, 0.0)) -> None:
    """Hold two bodies in the relative pose of the start; anchor: a point of the second [m], shape (3,)."""
    mujoco, data = load_mujoco(), np.zeros(12)
    data[:3], data[10] = anchor, 1.0
    spec.add_equality(
        name=name, type=mujoco.mjtEq.mjEQ_WELD, data=data, name1=first, name2=second,
        objtype=mujoco.mjtObj.mjOBJ_BODY, active=True,
    )  # fmt: skip


def add_closings(spec: Any, bodies: list[Any], world: World, tree: Tree) -> None:
    """Equality constraints and tendons of joints that carry nothing.

    bodies: of the spec, carriers in the place of kinematic ones: what is tied to these twice is tied to one
    rigid motion.
    """
    mujoco, joints = load_mujoco(), world.joints
    for j in tree.closing:
        kind, name = JointKind(int(joints.kind[j])), joints.names[j]
        sides = [bodies[b].name if b >= 0 else "world" for b in joints.body[j]]
        if kind == JointKind.DISTANCE:
            stops = _stops(joints, j, SLIDING)
            tendon = _add_tendon(spec, bodies, name, joints.body[j], joints.point[j])
            if stops is None:
                spec.add_equality(
                    name=name, type=mujoco.mjtEq.mjEQ_TENDON, name1=name, objtype=mujoco.mjtObj.mjOBJ_TENDON,
                    data=np.zeros(12), active=True,
                )  # fmt: skip
            else:
                tendon.limited, tendon.range = True, np.maximum(stops, 0.0)
            continue
        if kind == JointKind.FIXED:
            _add_weld(spec, name, sides[0], sides[1], joints.point[j, 1])
            continue
        for k, along in enumerate(HELD[kind]):
            data = np.zeros(12)
            data[:3] = joints.point[j, 0] + along * joints.frame[j, 0, 0]
            spec.add_equality(
                name=name if k == 0 else f"{name}/axis", type=mujoco.mjtEq.mjEQ_CONNECT, data=data,
                name1=sides[0], name2=sides[1], objtype=mujoco.mjtObj.mjOBJ_BODY, active=True,
            )  # fmt: skip


def _add_tendon(spec: Any, bodies: list[Any], name: str, sides: IntArray, points: Array) -> Any:
    """A tendon from a point of one body to a point of another, or of the inertial frame."""
    tendon = _plain(spec.add_tendon(name=name))
    for k, (b, point) in enumerate(zip(sides.tolist(), points, strict=True)):
        owner, called = spec.worldbody if b < 0 else bodies[b], f"{name}/{k}"
        owner.add_site(name=called, pos=point)
        tendon.wrap_site(called)
    return tendon


def still_springs(world: World) -> IntArray:
    """Springs between bodies that are not kinematic: MuJoCo's tendons do not know how fast those move."""
    springs = world.forces.springs
    if springs is None:
        return np.zeros(0, np.int64)
    moved = (springs.body >= 0) & (world.kind[springs.body] == BodyKind.KINEMATIC)
    return np.flatnonzero(~moved.any(axis=1))


def chosen_springs(springs: Springs | None, kept: IntArray) -> Springs | None:
    """Return the springs with the numbers in `kept`; None for no springs."""
    if springs is None or not kept.size:
        return None
    return replace(
        springs, names=tuple(springs.names[k] for k in kept), body=springs.body[kept],
        point=springs.point[kept], stiffness=springs.stiffness[kept], length=springs.length[kept],
        damping=springs.damping[kept],
    )  # fmt: skip


def add_springs(spec: Any, bodies: list[Any], world: World) -> None:
    """Tendons of springs."""
    springs = world.forces.springs
    for s in still_springs(world).tolist():
        assert springs is not None
        tendon = _add_tendon(spec, bodies, springs.names[s], springs.body[s], springs.point[s])
        for name, value in (("stiffness", springs.stiffness[s]), ("damping", springs.damping[s])):
            given = np.zeros_like(getattr(tendon, name))
            given[0] = value
            setattr(tendon, name, given)
        tendon.springlength = [springs.length[s], springs.length[s]]


def _inputs(world: World) -> list[JointEffort]:
    """Actuators whose effort is an input."""
    return [one for one in world.forces.written if isinstance(one, JointEffort) and one.inputs]


def add_motors(spec: Any, world: World) -> None:
    """Motors of actuators whose effort is an input: it is a control of MuJoCo's."""
    kinds = load_mujoco().mjtTrn
    for one in _inputs(world):
        distance = world.joints.kind[one.joint] == JointKind.DISTANCE
        target = world.joints.names[one.joint]
        if not distance:
            target = next(n for n, c in coordinate_names(world.joints, one.joint) if c == one.column)
        motor = spec.add_actuator(
            name=one.name, trntype=kinds.mjTRN_TENDON if distance else kinds.mjTRN_JOINT, target=target
        )
        motor.set_to_motor()
        motor.gear = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        motor.ctrllimited = motor.forcelimited = motor.actlimited = False


def input_values(world: World) -> dict[str, float]:
    """What inputs are until they are set, by the names of their motors [N, N m]."""
    return {one.name: float(world.inputs[one.name].default) for one in _inputs(world)}


def limit_restitutions(world: World) -> dict[str, float]:
    """Of stops, by the names of their joints and tendons [-]."""
    joints = world.joints
    found: dict[str, float] = {}
    for j, name in enumerate(joints.names):
        named = (
            [name] if joints.kind[j] == JointKind.DISTANCE else [n for n, _ in coordinate_names(joints, j)]
        )
        found |= dict.fromkeys(named, float(joints.e[j]))
    return found


def start_velocity(model: Any, world: World) -> Array:
    """Of the bodies of the world as they were placed, 0 of all else [m/s, rad/s], shape (nv,). Bodies on
    joints have the momentum that they were given, as far as joints let them: q̇ = M⁻¹ Σ J' (m v, I ω), with
    the velocities of carriers as they are."""
    v, twists, mujoco = np.zeros(model.nv), world.start.v.reshape(-1, 6), load_mujoco()
    linked = np.zeros(len(world.names), bool)
    linked[world.joints.body[world.joints.body >= 0]] = True
    dynamic = world.kind == BodyKind.DYNAMIC
    if (linked & twists.any(axis=1)).any():
        tree, data, momentum = tree_of(world), mujoco.MjData(model), np.zeros(model.nv)
        mujoco.mj_forward(model, data)
        across, about = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        parts = [(world.names[i], i) for i in np.flatnonzero(linked & dynamic).tolist()]
        parts += [(part_name(world, body, j), body) for body, _, j in tree.cuts]
        for name, i in parts:
            R, share = matrices(world.start.q[7 * i + 3 : 7 * i + 7]), tree.parts[i]
            mujoco.mj_jacBodyCom(model, data, across, about, int(model.body(name).id))
            momentum += across.T @ (world.mass[i] / share * twists[i, :3])
            momentum += about.T @ (R @ world.inertia[i] / share @ twists[i, 3:])
        M, free = np.zeros((model.nv, model.nv)), np.ones(model.nv, bool)
        for column, unit in zip(M, np.eye(model.nv), strict=True):
            mujoco.mj_mulM(model, data, column, unit)
        for body, _ in tree.carried:
            at = int(model.joint(carrier_name(world, body)).dofadr[0])
            v[at : at + 6], free[at : at + 6] = twists[body], False
        v[free] = np.linalg.solve(M[np.ix_(free, free)], (momentum - M @ v)[free])
    for i in np.flatnonzero(dynamic & ~linked).tolist():
        at = int(model.joint(world.names[i]).dofadr[0])
        v[at : at + 6] = twists[i]
    return v
