"""Joints, springs and inputs of a world around a robot, as elements of MuJoCo's model.

Where joints form a tree, a joint becomes coordinates of the body that it carries, which then has no free
joint. Joints that close a loop become equality constraints. Distance joints and springs become tendons.

Sliders, stops, dry friction and inputs need a coordinate, also in a loop: a body is divided into parts of
equal mass, which are welded together and are each carried by one joint. Since MuJoCo has no velocities of
mocap bodies, joints of a kinematic body act on its carrier, a free body that is welded to it.
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
"""Limit of a coordinate in a direction without a stop [m, rad]."""
FREE, GROUND = -1, -1
"""Number of the joint of a body that no joint carries; number of the inertial frame as a parent."""
EQUALITY = 2
"""Rank of joints that an equality constraint can represent."""
CONNECTED = {JointKind.BALL: (0.0,), JointKind.HINGE: (-0.5, 0.5)}
"""Places on the axis, relative to the point of the joint, of the connect constraints that represent a joint
[m]. The two of a hinge are 1 m apart, so that angles are measured as lengths, and lie symmetrically, so that
the halves of a force have no moment."""


class Tree(NamedTuple):
    """Kinematic tree of the bodies of a world."""

    parent: IntArray
    """Body that carries each body, -1 for the inertial frame [-], shape (n,)."""
    joint: IntArray
    """Joint that carries each body, -1 for free, fixed and kinematic bodies [-], shape (n,)."""
    order: tuple[int, ...]
    """All bodies, each after its parent."""
    closing: tuple[int, ...]
    """Joints that close loops and are not coordinates."""
    cuts: tuple[tuple[int, int, int], ...]
    """Additional parts of divided bodies: body, parent of the part, and joint that carries it."""
    carried: tuple[tuple[int, int], ...]
    """Kinematic bodies with a carrier, and the body whose mass the carrier has."""

    @property
    def parts(self) -> IntArray:
        """Number of parts of each body [-], shape (n,)."""
        cut = np.array([body for body, _, _ in self.cuts], np.int64)
        return 1 + np.bincount(cut, minlength=self.parent.size)

    @property
    def coordinates(self) -> set[int]:
        """Numbers of the joints that are coordinates."""
        return {int(j) for j in self.joint if j >= 0} | {j for _, _, j in self.cuts}


def tree_of(world: World) -> Tree:
    """Return a spanning tree of the bodies. Joints that only a coordinate can represent are preferred:
    sliders, and joints with stops, dry friction or an input."""
    joints, n = world.joints, len(world.names)
    dynamic, kinematic = world.kind == BodyKind.DYNAMIC, world.kind == BodyKind.KINEMATIC
    driven = {actuator.joint for actuator in _inputs(world)}
    rank = [_rank(joints, j, j in driven) for j in range(len(joints))]
    distance = joints.kind == JointKind.DISTANCE
    # 1. Spanning tree by Kruskal's algorithm. `part` is the component of each body; fixed and kinematic
    # bodies are together in component n.
    part = np.where(dynamic, np.arange(n), n)
    chosen = []
    for j in sorted(range(len(joints)), key=lambda j: (rank[j], j)):
        if distance[j]:
            continue
        a, b = (n if side < 0 else int(part[side]) for side in joints.body[j])
        if a != b:
            part[part == min(a, b)] = max(a, b)
            chosen.append(j)
    # 2. Parents. The root of a component is the inertial frame, a fixed or kinematic body, or its first body,
    # which is then free.
    parent, joint = np.full(n, GROUND), np.full(n, FREE)
    reached = {GROUND, *np.flatnonzero(~dynamic).tolist()}
    waiting = np.flatnonzero(dynamic).tolist()
    while waiting:
        link = _next_link(joints, chosen, reached)
        if link is None:
            grounded = part == n
            link = next(b for b in waiting if not grounded[b]), GROUND, FREE
        body, parent[link[0]], joint[link[0]] = link
        reached.add(body)
        waiting.remove(body)
    # 3. Order: that of the world, but each body after its ancestors.
    order: dict[int, None] = {}
    for body in range(n):
        line = [body]
        while parent[line[-1]] >= 0:
            line.append(int(parent[line[-1]]))
        order |= dict.fromkeys(reversed(line))
    # 4. The other joints close loops; where one needs a coordinate, its dynamic body is divided.
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
    for j in np.flatnonzero(~distance | has_stops(joints)).tolist():
        links += [(a, b) for a, b in (joints.body[j], joints.body[j, ::-1]) if b >= 0]
    for body, other in links:
        if other >= 0 and kinematic[other]:
            carriers.setdefault(other, body)
    return Tree(parent, joint, tuple(order), tuple(closing), tuple(cuts), tuple(carriers.items()))


def has_stops(joints: Joints) -> BoolArray:
    """Whether each joint has stops, shape (nj,)."""
    return np.asarray((np.isfinite(joints.lower) | np.isfinite(joints.upper)).any(axis=1))


def _rank(joints: Joints, j: int, driven: bool) -> int:
    """Return the rank of a joint: 0 and 1 need a coordinate and come first in the tree, EQUALITY does not."""
    if joints.kind[j] in (JointKind.SLIDER, JointKind.CYLINDRICAL):
        return 0
    return 1 if has_stops(joints)[j] or joints.friction[j].any() or driven else EQUALITY


def _next_link(joints: Joints, chosen: list[int], reached: set[int]) -> tuple[int, int, int] | None:
    """Return a body that one of the chosen joints connects to a reached one, that one, and the joint."""
    for j in chosen:
        first, second = joints.body[j].tolist()
        if (first in reached) != (second in reached):
            return (second, first, j) if first in reached else (first, second, j)
    return None


def place_of(world: World, body: int, parent: int) -> tuple[Array, Array]:
    """Return the initial position [m] and quaternion of a body in the frame of its parent."""
    q = world.start.q.reshape(-1, 7)
    if parent < 0:
        return q[body, :3], q[body, 3:]
    shift = matrices(q[parent, 3:]).T @ (q[body, :3] - q[parent, :3])
    return shift, product(conjugate(q[parent, 3:]), q[body, 3:])


def add_coordinates(spec: Any, body: Any, world: World, number: int, j: int) -> None:
    """Add the coordinates of joint j to the body of a spec that it carries; number: that of the body."""
    kinds, joints = load_mujoco().mjtJoint, world.joints
    side = 0 if joints.body[j, 0] == number else 1
    sign = 1.0 if side == 0 else -1.0  # coordinates measure the first body relative to the second
    common = {"pos": joints.point[j, side], "axis": sign * joints.frame[j, side, 0]}
    if joints.kind[j] == JointKind.BALL:
        _without_defaults(body.add_joint(name=joints.names[j], type=kinds.mjJNT_BALL, pos=common["pos"]))
    for name, column in coordinate_names(joints, j):
        kind = kinds.mjJNT_SLIDE if column == SLIDING else kinds.mjJNT_HINGE
        joint = _without_defaults(body.add_joint(name=name, type=kind, **common))
        joint.frictionloss = float(joints.friction[j, column])
        stops = _stops(joints, j, column)
        if stops is not None:
            joint.limited = True
            joint.range = np.degrees(stops) if column == TURNING and spec.compiler.degree else stops


def coordinate_names(joints: Joints, j: int) -> list[tuple[str, int]]:
    """Return the names and columns of the coordinates of a joint."""
    kind, name = JointKind(int(joints.kind[j])), joints.names[j]
    if kind == JointKind.DISTANCE:
        return []
    return [(name if k == 0 else f"{name}/turn", column) for k, column in enumerate(COLUMNS.get(kind, ()))]


def _without_defaults(element: Any) -> Any:
    """Reset the values of a joint or tendon that the defaults of the robot's file set; return it."""
    for name in ("stiffness", "damping"):
        setattr(element, name, np.zeros_like(getattr(element, name)))
    element.armature = element.frictionloss = element.margin = 0.0
    element.limited = element.actfrclimited = False
    return element


def _stops(joints: Joints, j: int, column: int) -> Array | None:
    """Return the lower and upper stop of a coordinate [m, rad], shape (2,); None without stops."""
    stops = np.array([joints.lower[j, column], joints.upper[j, column]])
    return np.clip(stops, -FAR, FAR) if np.isfinite(stops).any() else None


def add_parts(spec: Any, bodies: list[Any], world: World, tree: Tree) -> None:
    """Add the additional parts of divided bodies, on the joints that carry them.

    bodies: bodies of the spec; carriers in the place of kinematic bodies.
    """
    for body, parent, j in tree.cuts:
        x, p = place_of(world, body, parent)
        name = part_name(world, body, j)
        part = (spec.worldbody if parent < 0 else bodies[parent]).add_body(name=name, pos=x, quat=p)
        set_mass(part, world, body, int(tree.parts[body]))
        add_coordinates(spec, part, world, body, j)
        _add_weld(spec, name, world.names[body], name)


def part_name(world: World, body: int, j: int) -> str:
    """Return the name of the part of a body that joint j carries."""
    return f"{world.names[body]}/{world.joints.names[j]}"


def add_carrier(spec: Any, world: World, body: int, like: int) -> Any:
    """Add and return the carrier of a kinematic body, with the mass of the body `like`."""
    x, p = place_of(world, body, GROUND)
    name = carrier_name(world, body)
    carrier = spec.worldbody.add_body(name=name, pos=x, quat=p)
    set_mass(carrier, world, like, 1)
    carrier.add_freejoint(name=name)
    _add_weld(spec, name, world.names[body], name)
    return carrier


def carrier_name(world: World, body: int) -> str:
    """Return the name of the carrier of a kinematic body."""
    return f"{world.names[body]}/carrier"


def set_mass(body: Any, world: World, number: int, parts: int) -> None:
    """Set mass and inertia of a body of a spec to 1 / parts of those of a body of the world."""
    body.ipos, body.iquat, body.explicitinertial = [0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], True
    body.mass, J = world.mass[number] / parts, world.inertia[number] / parts
    if np.array_equal(J, np.diag(np.diag(J))):
        body.inertia = np.diag(J)
    else:
        body.fullinertia = [J[0, 0], J[1, 1], J[2, 2], J[0, 1], J[0, 2], J[1, 2]]


def _add_weld(spec: Any, name: str, first: str, second: str, anchor: ArrayLike = (0.0, 0.0, 0.0)) -> None:
    """Add a weld that keeps the initial relative pose of two bodies; anchor: a point of the second [m], shape
    (3,)."""
    mujoco, data = load_mujoco(), np.zeros(12)
    data[:3], data[10] = anchor, 1.0
    spec.add_equality(
        name=name, type=mujoco.mjtEq.mjEQ_WELD, data=data, name1=first, name2=second,
        objtype=mujoco.mjtObj.mjOBJ_BODY, active=True,
    )  # fmt: skip


def add_closings(spec: Any, bodies: list[Any], world: World, tree: Tree) -> None:
    """Add the equality constraints and tendons of joints that close loops.

    bodies: bodies of the spec; carriers in the place of kinematic bodies, so that all joints of a kinematic
    body act on one rigid body.
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
        for k, along in enumerate(CONNECTED[kind]):
            data = np.zeros(12)
            data[:3] = joints.point[j, 0] + along * joints.frame[j, 0, 0]
            spec.add_equality(
                name=name if k == 0 else f"{name}/axis", type=mujoco.mjtEq.mjEQ_CONNECT, data=data,
                name1=sides[0], name2=sides[1], objtype=mujoco.mjtObj.mjOBJ_BODY, active=True,
            )  # fmt: skip


def _add_tendon(spec: Any, bodies: list[Any], name: str, sides: IntArray, points: Array) -> Any:
    """Add and return a tendon between points of two bodies, or of one body and the inertial frame."""
    tendon = _without_defaults(spec.add_tendon(name=name))
    for k, (b, point) in enumerate(zip(sides.tolist(), points, strict=True)):
        body, site = spec.worldbody if b < 0 else bodies[b], f"{name}/{k}"
        body.add_site(name=site, pos=point)
        tendon.wrap_site(site)
    return tendon


def tendon_springs(world: World) -> IntArray:
    """Return the numbers of the springs that are tendons: those without kinematic bodies, whose velocities
    MuJoCo's tendons do not include."""
    springs = world.forces.springs
    if springs is None:
        return np.zeros(0, np.int64)
    on_kinematic = (springs.body >= 0) & (world.kind[springs.body] == BodyKind.KINEMATIC)
    return np.flatnonzero(~on_kinematic.any(axis=1))


def select_springs(springs: Springs | None, numbers: IntArray) -> Springs | None:
    """Return the springs with these numbers; None for no springs."""
    if springs is None or not numbers.size:
        return None
    return replace(
        springs, names=tuple(springs.names[k] for k in numbers), body=springs.body[numbers],
        point=springs.point[numbers], stiffness=springs.stiffness[numbers],
        length=springs.length[numbers], damping=springs.damping[numbers],
    )  # fmt: skip


def add_springs(spec: Any, bodies: list[Any], world: World) -> None:
    """Add the springs that are tendons; bodies: bodies of the spec."""
    springs = world.forces.springs
    for s in tendon_springs(world).tolist():
        assert springs is not None
        tendon = _add_tendon(spec, bodies, springs.names[s], springs.body[s], springs.point[s])
        for name, value in (("stiffness", springs.stiffness[s]), ("damping", springs.damping[s])):
            coefficients = np.zeros_like(getattr(tendon, name))
            coefficients[0] = value
            setattr(tendon, name, coefficients)
        tendon.springlength = [springs.length[s], springs.length[s]]


def _inputs(world: World) -> list[JointEffort]:
    """Return the actuators whose effort is an input."""
    return [force for force in world.forces.written if isinstance(force, JointEffort) and force.inputs]


def add_motors(spec: Any, world: World) -> None:
    """Add motors for the actuators whose effort is an input; the efforts are controls of MuJoCo's model."""
    kinds = load_mujoco().mjtTrn
    for actuator in _inputs(world):
        j = actuator.joint
        distance, target = world.joints.kind[j] == JointKind.DISTANCE, world.joints.names[j]
        if not distance:
            target = next(n for n, c in coordinate_names(world.joints, j) if c == actuator.column)
        motor = spec.add_actuator(
            name=actuator.name, trntype=kinds.mjTRN_TENDON if distance else kinds.mjTRN_JOINT, target=target
        )
        motor.set_to_motor()
        motor.gear = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        motor.ctrllimited = motor.forcelimited = motor.actlimited = False


def input_values(world: World) -> dict[str, float]:
    """Return the default efforts of actuators that are inputs, by name [N, N m]."""
    names = [actuator.name for actuator in _inputs(world)]
    return {name: float(world.inputs[name].default) for name in names}


def limit_restitutions(world: World) -> dict[str, float]:
    """Return the restitution of stops, by the names of MuJoCo's joints and tendons [-]."""
    joints = world.joints
    restitutions: dict[str, float] = {}
    for j, name in enumerate(joints.names):
        names = (
            [name] if joints.kind[j] == JointKind.DISTANCE else [n for n, _ in coordinate_names(joints, j)]
        )
        restitutions |= dict.fromkeys(names, float(joints.e[j]))
    return restitutions


def start_velocity(model: Any, world: World) -> Array:
    """Return the initial velocities of the model [m/s, rad/s], shape (nv,): those of the world's bodies, and
    0 for the robot.

    The velocities of bodies on joints are projected onto their coordinates in the metric of the kinetic
    energy, q̇ = M⁻¹ Σ J' (m v, I ω), for given velocities of the carriers of kinematic bodies.
    """
    v, twists, mujoco = np.zeros(model.nv), world.start.v.reshape(-1, 6), load_mujoco()
    linked = np.zeros(len(world.names), bool)
    linked[world.joints.body[world.joints.body >= 0]] = True
    dynamic = world.kind == BodyKind.DYNAMIC
    if (linked & twists.any(axis=1)).any():
        # 1. Σ J' (m v, I ω) over the bodies on joints and their parts.
        tree, data, momentum = tree_of(world), mujoco.MjData(model), np.zeros(model.nv)
        mujoco.mj_forward(model, data)
        J_v, J_w = np.zeros((3, model.nv)), np.zeros((3, model.nv))
        parts = [(world.names[i], i) for i in np.flatnonzero(linked & dynamic).tolist()]
        parts += [(part_name(world, body, j), body) for body, _, j in tree.cuts]
        for name, i in parts:
            R, share = matrices(world.start.q[7 * i + 3 : 7 * i + 7]), tree.parts[i]
            mujoco.mj_jacBodyCom(model, data, J_v, J_w, int(model.body(name).id))
            momentum += J_v.T @ (world.mass[i] / share * twists[i, :3])
            momentum += J_w.T @ (R @ world.inertia[i] / share @ twists[i, 3:])
        # 2. Solution for the velocities other than those of the carriers.
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
