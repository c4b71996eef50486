"""Bodies of a world around a robot, as bodies of MuJoCo's: one model of both.

Dynamic bodies get a free joint, of their name, or the joint of the world that carries them (`linkage.py`);
kinematic ones are mocap bodies, which `schemes/robot_drive.py` moves. Their frames stand in their centres of
mass, as in the world. Hulls and height fields become meshes and height fields of MuJoCo's. The laws of pairs
of the world's materials are kept as they are; a contact of a body of the world with the robot has MuJoCo's
mixture of both.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from stickslip.detection.general import ITERATIONS, TOLERANCE, collision_patterns, geom_of
from stickslip.detection.mujoco_library import load_mujoco
from stickslip.mechanics.world import BodyKind, World
from stickslip.robots.linkage import (
    Tree,
    add_carrier,
    add_closings,
    add_coordinates,
    add_motors,
    add_parts,
    add_springs,
    give_mass,
    place_of,
    tree_of,
)
from stickslip.rotations import matrices
from stickslip.state import IntArray, ModelError

if TYPE_CHECKING:
    from stickslip.robots.robot import Robot

BITS = 31
"""Of the filters of geoms."""
SHARED = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "actuation",
)  # fmt: skip
"""Flags of MuJoCo's without which bodies of a world are not what they are alone."""
SAME = 1e-12
"""To which masses and inertias are those that were given, relative [-]."""


def check_world(robot: "Robot", world: Any) -> None:
    """A ModelError that names what of a world cannot stand around a robot."""
    if not isinstance(world, World):
        hint = "; call .build()" if hasattr(world, "build") else ""
        raise ModelError(f"with_world needs a World, not {type(world).__name__}{hint}")
    if robot.world is not None:
        raise ModelError("the robot has a world already; place all bodies with one WorldBuilder")
    if robot.source is None:
        raise ModelError("a robot loaded from an MjModel cannot have a world; load its file, text or MjSpec")
    off, bits = int(robot.model.opt.disableflags), load_mujoco().mjtDisableBit
    for flag in SHARED:
        if off & int(getattr(bits, f"mjDSBL_{flag.upper()}")):
            raise ModelError(
                f"the flag {flag} is disabled in the robot's file, and would be for the bodies of the world,"
                f' too; remove {flag}="disable"'
            )
    own = np.array(robot.model.opt.gravity) * (0.0 if off & int(bits.mjDSBL_GRAVITY) else 1.0)
    if not np.array_equal(own, world.gravity):
        raise ModelError(
            f"gravity is {own.tolist()} in the robot's file and {world.gravity.tolist()} in the world; make"
            " them the same"
        )
    for what, kinds, names in (
        ("body", ("body", "joint", "geom"), world.names),
        ("joint", ("joint", "tendon", "equality"), world.joints.names),
        ("force", ("tendon", "actuator"), tuple(force_names(world))),
        ("sensor", ("sensor",), tuple(one.name for one in world.sensors)),
    ):
        for kind in kinds:
            known = set(robot.names(kind))
            for name in names:
                if name in known:
                    raise ModelError(
                        f"{what} {name!r} of the world: the robot has a {kind} with this name; rename it"
                    )


def add_world(spec: Any, world: World) -> None:
    """Add the bodies of a world to a spec that was compiled once."""
    _keep_inertias(spec)
    spec.option.ccd_tolerance = min(spec.option.ccd_tolerance, TOLERANCE)
    spec.option.ccd_iterations = max(spec.option.ccd_iterations, ITERATIONS)
    contype, conaffinity = _filters(spec, world)
    tree = tree_of(world)
    bodies: list[Any] = [None] * len(world.names)
    carrying, parts, carriers = list(bodies), tree.parts.tolist(), dict(tree.carried)
    for i in tree.order:
        parent, j = int(tree.parent[i]), int(tree.joint[i])
        x, p = place_of(world, i, parent)
        body = (spec.worldbody if parent < 0 else carrying[parent]).add_body(
            name=world.names[i], pos=x, quat=p, mocap=bool(world.kind[i] == BodyKind.KINEMATIC)
        )
        give_mass(body, world, i, parts[i])
        if world.kind[i] == BodyKind.DYNAMIC and j < 0:
            body.add_freejoint(name=world.names[i])
        elif world.kind[i] == BodyKind.DYNAMIC:
            add_coordinates(spec, body, world, i, j)
        bodies[i] = carrying[i] = body
        if i in carriers:
            carrying[i] = add_carrier(spec, world, i, carriers[i])
    shapes, law = world.shapes, world.materials.law
    for s, name in enumerate(geom_names(world)):
        shape, material = shapes.shape[s], shapes.material[s]
        geom = geom_of(spec, f"{name} shape {s}", shape, 1.0)
        if geom is None:
            raise ModelError(f"shape {name!r}: MuJoCo knows no shape {type(shape).__name__}")
        mu, roll, spin, _ = law[material, material]
        bodies[shapes.body[s]].add_geom(
            name=name, pos=shapes.position[s] + matrices(shapes.quaternion[s]) @ geom.shift,
            quat=shapes.quaternion[s], contype=contype[s], conaffinity=conaffinity[s],
            friction=[mu, spin, roll], condim=6 if roll > 0.0 else 4 if spin > 0.0 else 3,
            rgba=[0.6, 0.6, 0.65, 1.0], margin=0.0, gap=0.0, priority=0, **geom.arguments,
        )  # fmt: skip
    add_parts(spec, carrying, world, tree)
    add_closings(spec, carrying, world, tree)
    add_springs(spec, bodies, world)
    add_motors(spec, world)
    _let_carried_touch(spec, world, tree)
    for b, c in world.filters.apart:
        spec.add_exclude(bodyname1=world.names[b], bodyname2=world.names[c])


def geom_names(world: World) -> list[str]:
    """Of the geoms of its shapes: the name of the body, with a number where it has several."""
    count = np.bincount(world.shapes.body, minlength=len(world.names))
    seen: dict[int, int] = {}
    names = []
    for b in world.shapes.body.tolist():
        k = seen[b] = seen.get(b, -1) + 1
        names.append(world.names[b] if count[b] == 1 else f"{world.names[b]}/{k}")
    return names


def shape_order(model: Any, world: World) -> IntArray:
    """Which shape of the world each geom of a model is, those of the robot left out [-], shape (ns,)."""
    at = np.array([int(model.geom(name).id) for name in geom_names(world)], np.int64)
    return np.argsort(at)


def _let_carried_touch(spec: Any, world: World, tree: Tree) -> None:
    """Pairs of geoms of bodies on one joint that may touch, which MuJoCo would leave out."""
    apart, names, shapes = set(map(tuple, world.filters.apart.tolist())), geom_names(world), world.shapes
    for body, parent in enumerate(tree.parent.tolist()):
        pair = min(body, parent), max(body, parent)
        if parent < 0 or world.kind[parent] == BodyKind.KINEMATIC or pair in apart:
            continue
        for s in np.flatnonzero(shapes.body == body).tolist():
            for c in np.flatnonzero(shapes.body == parent).tolist():
                if world.filters.collide[shapes.group[s], shapes.group[c]]:
                    spec.add_pair(geomname1=names[s], geomname2=names[c], margin=0.0, gap=0.0)


def check_joined(robot: Any, model: Any, world: World) -> None:
    """A ModelError where the robot, or a body of the world, is not what it was."""
    own = robot.model
    for name in ("body_mass", "body_inertia", "body_pos", "geom_size", "geom_pos", "jnt_range", "qpos0"):
        before = getattr(own, name)
        if not np.array_equal(getattr(model, name)[: len(before)], before):
            raise ModelError(
                f"{robot.name}: with bodies around it {name} of the robot changes; is the compiler told a"
                " settotalmass?"
            )
    parts = tree_of(world).parts.tolist()
    for i in np.flatnonzero(world.kind == BodyKind.DYNAMIC).tolist():
        body = model.body(world.names[i])
        R = matrices(body.iquat)
        J = parts[i] * R @ np.diag(body.inertia) @ R.T
        if (
            abs(parts[i] * body.mass[0] - world.mass[i]) > SAME * world.mass[i]
            or np.abs(J - world.inertia[i]).max() > SAME * np.abs(world.inertia[i]).max()
        ):
            raise ModelError(
                f"body {world.names[i]!r} of the world: MuJoCo makes its mass {body.mass[0]:.9g} kg and its"
                f" moments of inertia {body.inertia}; remove boundmass, boundinertia and balanceinertia from"
                " the compiler's options of the robot"
            )


def _keep_inertias(spec: Any) -> None:
    """Masses of the robot's bodies as they were, those of more bodies as they are given."""
    kinds = load_mujoco().mjtInertiaFromGeom
    spec.compiler.fusestatic = False
    if spec.compiler.inertiafromgeom == kinds.mjINERTIAFROMGEOM_TRUE:
        for body in spec.bodies:
            body.explicitinertial = False
        spec.compiler.inertiafromgeom = kinds.mjINERTIAFROMGEOM_AUTO


def _filters(spec: Any, world: World) -> tuple[IntArray, IntArray]:
    """contype and conaffinity of the world's shapes, shape (ns,). A geom of the robot that may touch anything
    may touch all of them: it gets a bit that no geom of the robot looks for."""
    geoms = list(spec.geoms)
    used = 0
    for geom in geoms:
        used |= int(geom.contype) | int(geom.conaffinity)
    free = [1 << k for k in range(BITS) if not used & (1 << k)]
    pattern, touches = collision_patterns(world)
    if len(free) <= len(touches):
        raise ModelError(
            f"the world's groups need {len(touches) + 1} bits of contype, and the robot leaves {len(free)};"
            " use fewer groups"
        )
    for geom in geoms:
        if geom.contype or geom.conaffinity:
            geom.contype = int(geom.contype) | free[0]
    own = free[1:]
    seen = [free[0] | sum(own[k] for k in np.flatnonzero(row)) for row in touches]
    kind = np.array([own[k] for k in pattern], np.int64), np.array([seen[k] for k in pattern], np.int64)
    return kind


def force_names(world: World) -> list[str]:
    """Of all its forces."""
    forces = world.forces
    names = [name for part in (forces.springs, forces.dampers) if part is not None for name in part.names]
    return names + [one.name for one in forces.written]
