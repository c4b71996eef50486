"""Bodies of a world around a robot, as parts of MuJoCo's model of both.

A dynamic body has a free joint with its name, or the coordinates of the joint that carries it (`linkage.py`).
Kinematic bodies are mocap bodies, which `schemes/robot_drive.py` moves. Frames of bodies are at their centres
of mass, as in the world. Hulls and height fields become MuJoCo's meshes and height fields. Contacts between
bodies of the world have the laws of its materials; contacts with the robot combine the coefficients of both
geoms as MuJoCo does.
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
    place_of,
    set_mass,
    tree_of,
)
from stickslip.rotations import matrices
from stickslip.state import IntArray, ModelError

if TYPE_CHECKING:
    from stickslip.robots.robot import Robot

BITS = 31
"""Number of usable bits of contype and conaffinity."""
SHARED = (
    "constraint", "equality", "frictionloss", "limit", "contact", "spring", "damper", "actuation",
)  # fmt: skip
"""Flags of MuJoCo that the bodies of a world require."""
SAME = 1e-12
"""Largest relative error of masses and inertias in the compiled model [-] (rounding)."""


def check_world(robot: "Robot", world: Any) -> None:
    """Raise a ModelError that names the first part of a world that cannot be added to the robot."""
    if not isinstance(world, World):
        hint = "; call .build()" if hasattr(world, "build") else ""
        raise ModelError(f"with_world needs a World, not {type(world).__name__}{hint}")
    if robot.world is not None:
        raise ModelError("the robot has a world already; place all bodies with one WorldBuilder")
    if robot.source is None:
        raise ModelError("a robot loaded from an MjModel cannot have a world; load its file, text or MjSpec")
    disabled, bits = int(robot.model.opt.disableflags), load_mujoco().mjtDisableBit
    for flag in SHARED:
        if disabled & int(getattr(bits, f"mjDSBL_{flag.upper()}")):
            raise ModelError(
                f"the flag {flag} is disabled in the robot's file, and would be for the bodies of the world,"
                f' too; remove {flag}="disable"'
            )
    g = np.array(robot.model.opt.gravity) * (0.0 if disabled & int(bits.mjDSBL_GRAVITY) else 1.0)
    if not np.array_equal(g, world.gravity):
        raise ModelError(
            f"gravity is {g.tolist()} in the robot's file and {world.gravity.tolist()} in the world; make"
            " them the same"
        )
    for noun, kinds, names in (
        ("body", ("body", "joint", "geom"), world.names),
        ("joint", ("joint", "tendon", "equality"), world.joints.names),
        ("force", ("tendon", "actuator"), tuple(force_names(world))),
        ("sensor", ("sensor",), tuple(sensor.name for sensor in world.sensors)),
    ):
        for kind in kinds:
            known = set(robot.names(kind))
            for name in names:
                if name in known:
                    raise ModelError(
                        f"{noun} {name!r} of the world: the robot has a {kind} with this name; rename it"
                    )


def add_world(spec: Any, world: World) -> None:
    """Add the bodies of a world to a spec that has been compiled."""
    _keep_inertias(spec)
    spec.option.ccd_tolerance = min(spec.option.ccd_tolerance, TOLERANCE)
    spec.option.ccd_iterations = max(spec.option.ccd_iterations, ITERATIONS)
    contype, conaffinity = _filters(spec, world)
    # 1. Bodies with their masses and coordinates, parents first.
    tree = tree_of(world)
    bodies: list[Any] = [None] * len(world.names)
    carrying, parts, carriers = list(bodies), tree.parts.tolist(), dict(tree.carried)
    for i in tree.order:
        parent, j = int(tree.parent[i]), int(tree.joint[i])
        x, p = place_of(world, i, parent)
        body = (spec.worldbody if parent < 0 else carrying[parent]).add_body(
            name=world.names[i], pos=x, quat=p, mocap=bool(world.kind[i] == BodyKind.KINEMATIC)
        )
        set_mass(body, world, i, parts[i])
        if world.kind[i] == BodyKind.DYNAMIC and j < 0:
            body.add_freejoint(name=world.names[i])
        elif world.kind[i] == BodyKind.DYNAMIC:
            add_coordinates(spec, body, world, i, j)
        bodies[i] = carrying[i] = body
        if i in carriers:
            carrying[i] = add_carrier(spec, world, i, carriers[i])
    # 2. Geoms.
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
    # 3. Parts of divided bodies, constraints, springs, motors, and filters of pairs.
    add_parts(spec, carrying, world, tree)
    add_closings(spec, carrying, world, tree)
    add_springs(spec, bodies, world)
    add_motors(spec, world)
    _add_adjacent_pairs(spec, world, tree)
    for b, c in world.filters.apart:
        spec.add_exclude(bodyname1=world.names[b], bodyname2=world.names[c])


def geom_names(world: World) -> list[str]:
    """Return the names of the geoms: that of the body, with a number where the body has several shapes."""
    count = np.bincount(world.shapes.body, minlength=len(world.names))
    seen: dict[int, int] = {}
    names = []
    for b in world.shapes.body.tolist():
        k = seen[b] = seen.get(b, -1) + 1
        names.append(world.names[b] if count[b] == 1 else f"{world.names[b]}/{k}")
    return names


def shape_order(model: Any, world: World) -> IntArray:
    """Return the shapes of the world in the order of their geoms in the model [-], shape (ns,)."""
    geoms = np.array([int(model.geom(name).id) for name in geom_names(world)], np.int64)
    return np.argsort(geoms)


def _add_adjacent_pairs(spec: Any, world: World, tree: Tree) -> None:
    """Add the pairs of geoms of a body and its parent that may touch, which MuJoCo excludes by default."""
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
    """Raise a ModelError if the joined model changes the robot, or masses and inertias of the world."""
    for name in ("body_mass", "body_inertia", "body_pos", "geom_size", "geom_pos", "jnt_range", "qpos0"):
        before = getattr(robot.model, name)
        if not np.array_equal(getattr(model, name)[: len(before)], before):
            raise ModelError(
                f"{robot.name}: with bodies around it {name} of the robot changes; remove settotalmass from"
                " the compiler's options of the robot"
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
    """Let the compiler use the given masses of added bodies, and infer those of the robot as before."""
    kinds = load_mujoco().mjtInertiaFromGeom
    spec.compiler.fusestatic = False
    if spec.compiler.inertiafromgeom == kinds.mjINERTIAFROMGEOM_TRUE:
        for body in spec.bodies:
            body.explicitinertial = False
        spec.compiler.inertiafromgeom = kinds.mjINERTIAFROMGEOM_AUTO


def _filters(spec: Any, world: World) -> tuple[IntArray, IntArray]:
    """Return contype and conaffinity of the world's shapes, shape (ns,).

    Geoms of the robot that can touch anything can touch all of them: these geoms get a bit of contype that no
    conaffinity of the robot contains.
    """
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
    bits = free[1:]
    masks = [free[0] | sum(bits[k] for k in np.flatnonzero(row)) for row in touches]
    return np.array([bits[k] for k in pattern], np.int64), np.array([masks[k] for k in pattern], np.int64)


def force_names(world: World) -> list[str]:
    """Return the names of all forces of a world."""
    forces = world.forces
    names = [name for part in (forces.springs, forces.dampers) if part is not None for name in part.names]
    return names + [force.name for force in forces.written]
