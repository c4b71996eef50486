"""Joints, springs and inputs of a world around a robot, as MuJoCo has them.

A joint becomes coordinates of the body that it carries, wherever joints make a tree: the body then has no
free joint. Joints that close a loop, or hold a body to a kinematic one, are equality constraints. Distances
and springs are tendons.
"""

from typing import Any, NamedTuple

import numpy as np

from stickslip.detection.mujoco_library import load_mujoco
from stickslip.mechanics.joints import COLUMNS, SLIDING, TURNING, JointKind, Joints
from stickslip.mechanics.world import BodyKind, World
from stickslip.mechanics.written_forces import JointEffort
from stickslip.rotations import conjugate, matrices, product
from stickslip.state import Array, IntArray, ModelError

FAR = 1e9
"""In the place of a stop that there is none of [m, rad]."""
FREE, GROUND = -1, -1
"""No joint carries the body; the inertial frame carries it."""


class Tree(NamedTuple):
    """Which body of a world is carried by which."""

    parent: IntArray
    """The body that carries each, -1 for the inertial frame [-], shape (n,)."""
    joint: IntArray
    """By which joint, -1 for none: it flies, or does not move by itself [-], shape (n,)."""
    order: tuple[int, ...]
    """All bodies, each after the one that carries it."""
    closing: tuple[int, ...]
    """Joints that carry no body."""


def tree_of(world: World) -> Tree:
    """A tree of the joints. Those that only a coordinate can stand for come first: sliders, and joints with
    stops, dry friction or an input."""
    joints, n = world.joints, len(world.names)
    dynamic = world.kind == BodyKind.DYNAMIC
    driven = {one.joint for one in _inputs(world)}
    rank = [_rank(joints, j, j in driven) for j in range(len(joints))]
    # 1. Parts that joints tie together; all that stands still is one of them, number n.
    part = np.where(world.kind == BodyKind.FIXED, n, np.arange(n))
    chosen = []
    for j in sorted(range(len(joints)), key=lambda j: (rank[j], j)):
        sides = joints.body[j]
        kinds = {int(world.kind[b]) for b in sides if b >= 0}
        if joints.kind[j] == JointKind.DISTANCE or int(BodyKind.KINEMATIC) in kinds:
            continue
        a, b = (n if side < 0 else int(part[side]) for side in sides)
        if a != b:
            part[part == min(a, b)] = max(a, b)
            chosen.append(j)
    # 2. Each part hangs on what stands still, or on its first body, which flies.
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
    rest = set(range(len(joints))) - set(chosen)
    return Tree(parent, joint, tuple(order), tuple(sorted(rest)))


def _rank(joints: Joints, j: int, driven: bool) -> int:
    """The smaller, the more a joint needs a coordinate."""
    stops = np.isfinite(joints.lower[j]).any() or np.isfinite(joints.upper[j]).any()
    if joints.kind[j] in (JointKind.SLIDER, JointKind.CYLINDRICAL):
        return 0
    return 1 if stops or joints.friction[j].any() or driven else 2


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


def add_closings(spec: Any, bodies: list[Any], world: World, tree: Tree) -> None:
    """Equality constraints and tendons of joints that carry no body."""
    mujoco, joints = load_mujoco(), world.joints
    for j in tree.closing:
        kind, name = JointKind(int(joints.kind[j])), joints.names[j]
        sides = [world.names[b] if b >= 0 else "world" for b in joints.body[j]]
        kinematic = any(b >= 0 and world.kind[b] == BodyKind.KINEMATIC for b in joints.body[j])
        why = "holds a kinematic body" if kinematic else "closes a loop"
        if kind == JointKind.DISTANCE:
            stops = _stops(joints, j, SLIDING)
            if stops is not None and kinematic:
                raise ModelError(
                    f"joint {name!r} of the world {why}: a distance with stops cannot do so around a robot;"
                    " hold the distance, or write it in the robot's file"
                )
            tendon = _add_tendon(spec, bodies, name, joints.body[j], joints.point[j])
            if stops is None:
                spec.add_equality(
                    name=name, type=mujoco.mjtEq.mjEQ_TENDON, name1=name, objtype=mujoco.mjtObj.mjOBJ_TENDON,
                    data=np.zeros(12), active=True,
                )  # fmt: skip
            else:
                tendon.limited, tendon.range = True, np.maximum(stops, 0.0)
            continue
        if _rank(joints, j, False) < 2:
            raise ModelError(
                f"joint {name!r} of the world {why}: around a robot a fixed, ball or hinge joint without"
                " stops and dry friction can do so; write this one in the robot's file"
            )
        common = {
            "name1": sides[0],
            "name2": sides[1],
            "objtype": mujoco.mjtObj.mjOBJ_BODY,
            "active": True,
        }
        if kind == JointKind.FIXED:
            # The anchor is a point of the second body; the relative pose is that of the start.
            data = np.zeros(12)
            data[:3], data[10] = joints.point[j, 1], 1.0
            spec.add_equality(name=name, type=mujoco.mjtEq.mjEQ_WELD, data=data, **common)
            continue
        # A hinge holds two points of its axis, a length apart that measures angles as lengths.
        ends = [0.0] if kind == JointKind.BALL else [0.0, 1.0]
        for k, along in enumerate(ends):
            data = np.zeros(12)
            data[:3] = joints.point[j, 0] + along * joints.frame[j, 0, 0]
            called = name if k == 0 else f"{name}/axis"
            spec.add_equality(name=called, type=mujoco.mjtEq.mjEQ_CONNECT, data=data, **common)


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


def add_motors(spec: Any, world: World, tree: Tree) -> None:
    """Motors of actuators whose effort is an input: it is a control of MuJoCo's."""
    kinds = load_mujoco().mjtTrn
    carrying = set(tree.joint.tolist())
    for one in _inputs(world):
        distance = world.joints.kind[one.joint] == JointKind.DISTANCE
        target = world.joints.names[one.joint]
        if not distance:
            if one.joint not in carrying:
                raise ModelError(
                    f"actuator {one.name!r} of the world: joint {target!r} closes a loop or holds a kinematic"
                    " body, and takes no input around a robot; give it a number or a function"
                )
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
    joints have the momentum that they were given, as far as joints let them: q̇ = M⁻¹ Σ J' (m v, I ω)."""
    v, twists, mujoco = np.zeros(model.nv), world.start.v.reshape(-1, 6), load_mujoco()
    linked = np.zeros(len(world.names), bool)
    linked[world.joints.body[world.joints.body >= 0]] = True
    dynamic = world.kind == BodyKind.DYNAMIC
    if (linked & dynamic & twists.any(axis=1)).any():
        data, momentum = mujoco.MjData(model), np.zeros(model.nv)
        mujoco.mj_forward(model, data)
        across, about = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        for i in np.flatnonzero(linked & dynamic).tolist():
            body = int(model.body(world.names[i]).id)
            R = matrices(world.start.q[7 * i + 3 : 7 * i + 7])
            mujoco.mj_jacBodyCom(model, data, across, about, body)
            momentum += across.T @ (world.mass[i] * twists[i, :3])
            momentum += about.T @ (R @ world.inertia[i] @ twists[i, 3:])
        row = np.zeros((1, model.nv))
        mujoco.mj_solveM(model, data, row, momentum.reshape(1, -1))
        v += row[0]
    for i in np.flatnonzero(dynamic & ~linked).tolist():
        at = int(model.joint(world.names[i]).dofadr[0])
        v[at : at + 6] = twists[i]
    return v
