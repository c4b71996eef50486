"""Convert models to trees of numbers, texts, lists and keys, the content of model files and of files of runs.

The tree of a world contains the calls of its builder, the tree of a system the arguments of its parts,
without default values. A ModelError names objects that files cannot represent: functions, and users' own
classes.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from inspect import signature
from typing import Any

import numpy as np

from stickslip import laws
from stickslip.files.model_functions import NONE, FunctionNode, Functions, named
from stickslip.mechanics import forces, sensors, shapes, step_sensors
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.given import Given
from stickslip.mechanics.height_fields import HeightField
from stickslip.mechanics.hulls import ConvexHull
from stickslip.mechanics.inputs import Input
from stickslip.mechanics.joint_start import kind_and_places
from stickslip.mechanics.materials import law_coefficients
from stickslip.mechanics.placement import UPRIGHT
from stickslip.mechanics.world import World
from stickslip.state import ModelError
from stickslip.systems import (
    first_order_relations,
    lagrangian_relations,
    newton_euler_joints,
    newton_euler_relations,
)
from stickslip.systems.dynamics import Written
from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.system import NonsmoothSystem

SIMPLE = (
    shapes.Sphere, shapes.Plane, shapes.Cuboid, shapes.Capsule, shapes.Cylinder, shapes.Ellipsoid,
    HeightField,
)  # fmt: skip
SHAPES = (*SIMPLE, ConvexHull, Compound)
INLINE = 100
"""Largest number of points of a hull that is written within its body."""
FORCES = (forces.Spring, forces.Damper, forces.Actuator, forces.BodyForce)
SENSORS = (
    sensors.PositionSensor, sensors.VelocitySensor, sensors.JointSensor, sensors.DistanceSensor,
    step_sensors.ForceSensor, step_sensors.TorqueSensor, step_sensors.ContactSensor,
    step_sensors.Accelerometer, step_sensors.Gyroscope,
)  # fmt: skip
DYNAMICS = (Lagrangian, LagrangianLinear, NewtonEuler, FirstOrder, FirstOrderLinear)
RELATIONS = (
    lagrangian_relations.Scleronomous, lagrangian_relations.Rheonomous,
    lagrangian_relations.LagrangianLinearRelation, lagrangian_relations.CompliantRelation,
    lagrangian_relations.LagrangianNonlinear, newton_euler_relations.BodyContact,
    newton_euler_relations.PointOnPlane, newton_euler_relations.SpherePlane,
    newton_euler_relations.SphereSphere, newton_euler_joints.BallJoint, newton_euler_joints.FixedJoint,
    newton_euler_joints.HingeJoint, newton_euler_joints.SliderJoint, newton_euler_joints.DistanceJoint,
    first_order_relations.FirstOrderLinearRelation, first_order_relations.FirstOrderRelation,
    first_order_relations.FirstOrderType1, first_order_relations.FirstOrderType2,
)  # fmt: skip
LAWS = (
    laws.NewtonImpact, laws.PoissonImpact, laws.Complementarity, laws.Equality, laws.Mixed, laws.Box,
    laws.Relay,
)  # fmt: skip
OWN = ("given", "number")
"""Fields of a world that follow from its other fields."""
INFINITE = {"inf": math.inf, "-inf": -math.inf}
"""Texts of infinite bounds, as JSON has no infinite numbers."""


def kind_of(cls: type) -> str:
    """Name of a class in files: `convex-hull`."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", cls.__name__).lower()


def described(
    thing: Any, classes: Iterable[type], owner: str, values: Mapping[str, Any] | None = None
) -> Any:
    """Convert an object of one of these classes to a tree, without default values.

    values: arguments of its constructor, by default its fields. A ModelError names `owner` and the object
    that files cannot represent: a function, or a user's own class.
    """
    cls = type(thing)
    known = tuple(classes)
    if cls not in known:
        kinds = ", ".join(one.__name__ for one in known)
        raise ModelError(f"{owner}: {cls.__name__} cannot be written to a model file: {kinds}")
    if values is None:
        values = {spec.name: getattr(thing, spec.name) for spec in fields(thing)}
    return {"kind": kind_of(cls)} | arguments(cls, values, owner)


def arguments(makes: Callable[..., Any], values: Mapping[str, Any], owner: str) -> dict[str, Any]:
    """Convert arguments of a class or builder method to a tree, without default values."""
    trees = {}
    for name, default in parameters(makes).items():
        value = values.get(name)
        if value is not None and (tree := plain(value, owner, name)) != default:
            trees[name] = tree
    return trees


@cache
def parameters(makes: Callable[..., Any]) -> dict[str, Any]:
    """Names and default values of the arguments of a class or builder method, as trees."""
    usual = (str, bool, int, float, tuple)
    return {
        one.name: plain(one.default, makes.__name__, one.name) if isinstance(one.default, usual) else None
        for one in signature(makes).parameters.values()
    }


def plain(value: Any, owner: str, field: str) -> Any:
    """Convert a value to numbers, texts and lists; a ModelError names owner and field of other values."""
    if isinstance(value, str | bool | np.bool_):
        return value if isinstance(value, str) else bool(value)
    if type(value) is tuple and all(type(x) is float and math.isfinite(x) for x in value):
        return list(value)
    if isinstance(value, Input):
        return {"input": 0.0 if value.default is None else plain(value.default, owner, field)}
    if callable(value):
        return FunctionNode(value, owner, field)
    if isinstance(value, int) and not isinstance(value, np.generic):
        return value
    array_ = np.asarray(value)
    if array_.dtype == object and array_.ndim == 1:  # (None, 2.0): no bound below
        return [one if one is None else plain(one, owner, field) for one in value]
    if array_.dtype.kind not in "iuf" or np.isnan(array_).any():
        raise ModelError(f"{owner}: {field} is {value!r}, which is not a number; it cannot be written")
    return _listed_floats(array_.astype(float).tolist())


def _listed_floats(value: Any) -> Any:
    if isinstance(value, list):
        return [_listed_floats(one) for one in value]
    return value if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def as_built(model: World | NonsmoothSystem) -> bool:
    """Whether a model is unchanged since it was built, which systems always are."""
    source = model.given if isinstance(model, World) else None
    return source is None or all(
        getattr(model, name) is value for name, value in source.built.items() if name not in OWN
    )


def world_tree(world: World, functions: Functions = NONE) -> dict[str, Any]:
    """Convert a world as it was built to a tree of the calls of its builder."""
    return named(_world_tree(world), functions)  # type: ignore[no-any-return]


def _world_tree(world: World) -> dict[str, Any]:
    recorded = world.given
    if recorded is None:
        raise ModelError("this world was not made by a WorldBuilder, so that a file cannot describe it")
    tree: dict[str, Any] = {"version": 1, "model": "world"}
    lists: dict[str, list[Any]] = {
        key: [] for key in ("pairs", "bodies", "joints", "forces", "sensors", "apart", "apart_groups")
    }
    materials: dict[str, Any] = {}
    shapes_ = NamedShapes(recorded)
    for verb, by_place, by_name in recorded.calls:
        if verb == "gravity":
            tree["gravity"] = plain(by_place[0], "the world", "gravity")
            continue
        makes = getattr(WorldBuilder, verb)
        entries = dict(zip(list(parameters(makes))[1:], by_place, strict=False)) | by_name
        owner = f"{verb} {entries.get('name', '')!r}"
        match verb:
            case "material":
                materials[entries["name"]] = _without(arguments(makes, entries, owner), "name")
            case "pair":
                if entries.get("law") is not None:
                    entries |= law_coefficients("pair", entries["law"]) | {"law": None}
                lists["pairs"].append(arguments(makes, entries, "pair"))
            case "body":
                lists["bodies"].append(_body(entries, owner, shapes_))
            case "joint":
                lists["joints"].append(_joint(entries, owner))
            case "force":
                lists["forces"].append(_force(world, entries["force"]))
            case "sensor":
                sensor = entries["sensor"]
                lists["sensors"].append(described(sensor, SENSORS, f"sensor {sensor.name!r}"))
            case _:
                lists[verb].append([entries["first"], entries["second"]])
    named = {"materials": materials, "shapes": shapes_.named}
    order = ("materials", "pairs", "shapes", "bodies", "joints", "forces", "sensors", "apart", "apart_groups")
    return tree | {key: parts for key in order if (parts := (named | lists)[key])}


def _without(tree: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in tree.items() if key not in keys}


def _body(given: dict[str, Any], owner: str, shapes_: "NamedShapes") -> dict[str, Any]:
    motion, shape = given.get("motion"), given.get("shape")
    tree = arguments(WorldBuilder.body, given | {"shape": None, "motion": None}, owner)
    name = tree.pop("name")
    entries = {"name": name} if shape is None else {"name": name, "shape": shapes_.of(shape, owner)}
    if isinstance(motion, Input):
        tree["motion"] = plain(_filled(motion, 6), owner, "motion")
    elif motion is not None:
        pair = motion if callable(motion) else dict(zip(("velocity", "spin"), motion, strict=True))
        tree["motion"] = (
            plain(pair, owner, "motion")
            if callable(pair)
            else {key: plain(value, owner, "motion") for key, value in pair.items()}
        )
    return entries | tree


def _joint(given: dict[str, Any], owner: str) -> dict[str, Any]:
    keys = ("point", "axis", "second_point")
    kind, places = kind_and_places(owner, given["kind"], {key: given.get(key) for key in keys})
    for key in ("limits", "turn_limits"):
        if given.get(key) is not None:
            ends = zip(given[key], (-np.inf, np.inf), strict=True)
            given[key] = [none if stop is None else stop for stop, none in ends]
    return arguments(WorldBuilder.joint, given | places | {"kind": kind}, owner)


def _force(world: World, force: forces.Force) -> dict[str, Any]:
    owner = f"{kind_of(type(force))} {force.name!r}"
    if isinstance(force, forces.BodyForce):
        owner += f" on body {force.body!r}"
        held = {key: _filled(getattr(force, key), 3) for key in ("force", "moment")}
        force = replace(force, **held)
    if isinstance(force, forces.Actuator):
        sides = world.joints.body[world.joints.names.index(force.joint)].tolist()
        owner += f" on body {', '.join(repr(world.names[side]) for side in sides if side >= 0)}"
    return described(force, FORCES, owner)  # type: ignore[no-any-return]


def _filled(given: Any, size: int) -> Any:
    """Replace an input without a default by one with zeros of this size; other values are unchanged."""
    return Input(np.zeros(size)) if isinstance(given, Input) and given.default is None else given


class NamedShapes:
    """The shapes of a world; shapes that bodies share, and large ones, get names."""

    def __init__(self, made: Given):
        self.named: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        placed = [(by_place, by_name) for verb, by_place, by_name in made.calls if verb == "body"]
        all_shapes = [
            by_place[1] if len(by_place) > 1 else by_name.get("shape") for by_place, by_name in placed
        ]
        self._uses = Counter(id(shape) for shape in all_shapes if shape is not None)

    def of(self, shape: Any, owner: str) -> Any:
        """Tree of a shape, or its name."""
        if id(shape) in self._names:
            return self._names[id(shape)]
        tree = _shape(shape, owner)
        if (self._uses[id(shape)] == 1 or len(tree) == 1) and len(tree.get("points", ())) <= INLINE:
            return tree
        name = f"{tree['kind']}-{sum(one['kind'] == tree['kind'] for one in self.named.values()) + 1}"
        self._names[id(shape)], self.named[name] = name, tree
        return name


def _shape(shape: Any, owner: str) -> dict[str, Any]:
    if isinstance(shape, ConvexHull):
        return described(shape, SHAPES, owner, {"points": shape.given})  # type: ignore[no-any-return]
    if isinstance(shape, Compound):
        return {"kind": kind_of(Compound), "parts": [_part(part, owner) for part in shape.parts]}
    return described(shape, SHAPES, owner)  # type: ignore[no-any-return]


def _part(part: Any, owner: str) -> dict[str, Any]:
    tree = {"shape": _shape(part.shape, owner), "position": plain(part.position, owner, "position")}
    quaternion = plain(part.quaternion, owner, "quaternion")
    return tree if quaternion == list(UPRIGHT) else tree | {"quaternion": quaternion}


def dynamics_tree(one: Any) -> Any:
    """Convert one system of equations to a tree."""
    keys = one.given if isinstance(one, Written) else {}
    return described(one, DYNAMICS, f"system {one.name!r}", {"name": one.name, **keys})


def interaction_tree(name: str, systems: Iterable[str], relation: Any, law: Any) -> dict[str, Any]:
    """Convert an interaction to a tree."""
    owner = f"interaction {name!r}"
    return {
        "name": name, "systems": list(systems), "relation": described(relation, RELATIONS, owner),
        "law": described(law, LAWS, owner),
    }  # fmt: skip


def system_tree(system: NonsmoothSystem, functions: Functions = NONE) -> dict[str, Any]:
    """Convert a system to a tree; a ModelError names objects that files cannot represent."""
    if system.guards:
        raise ModelError(f"guard {system.guards[0].name!r}: model files cannot contain guards")
    tree: dict[str, Any] = {"version": 1, "model": "system"}
    tree["systems"] = [dynamics_tree(one) for one in system.systems]
    tree["interactions"] = [
        interaction_tree(one.name, [system.systems[k].name for k in one.systems], one.relation, one.law)
        for one in system.interactions
    ]
    if system.edges is not None:
        tree["edges"] = plain(system.edges.given, "the system", "edges")
    return named(tree, functions)  # type: ignore[no-any-return]
