"""Worlds in model files: the arguments of the calls of a `WorldBuilder`, and later changes.

A world stores the calls of its builder. Files contain these calls, so that reading repeats them and gives the
same world bit for bit. Numbers that were set later (`with_inputs`, `Parameters`, another start) are in
`inputs`, `parameters` and `start`.
"""

from dataclasses import fields, is_dataclass, replace
from typing import Annotated, Any, Literal

from annotated_types import Len
from pydantic import AfterValidator, Field, ValidationError

from stickslip.files.model_difference import difference
from stickslip.files.model_faults import Faults, named_in, shown_place
from stickslip.files.model_functions import NONE, Functions, resolved
from stickslip.files.model_parts import (
    NAMED,
    AnyArray,
    As,
    Keys,
    Number,
    Text,
    array,
    bounds,
    choices,
    keys_of,
    one_of,
    or_function,
    or_input,
)
from stickslip.files.model_shapes import SHAPE_CHOICES, Quaternion, Vector, named_shape
from stickslip.files.model_trees import FORCES, SENSORS, plain, world_tree
from stickslip.mechanics import forces
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.inputs import Input, declared_inputs, with_inputs
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.placement import ORIGIN
from stickslip.mechanics.world import World
from stickslip.state import ModelError, State

MOST_BODIES = 1_000_000
MOST_MATERIALS = 1000
"""Largest number of materials, as every pair of them has a law."""
Pair = Annotated[list[Text], Len(2, 2)]


class MotionKeys(Keys):
    """A constant motion, or a motion that is set between steps."""

    velocity: Annotated[Any, As(Vector)] = ORIGIN
    """Velocity of the origin of the body's frame, inertial [m/s], shape (3,)."""
    spin: Annotated[Any, As(Vector)] = ORIGIN
    """Angular velocity, inertial [rad/s], shape (3,)."""
    input: Annotated[Any, As(array(6))] = None
    """In place of both: initial velocity and spin of an input [m/s, rad/s], shape (6,)."""


class StartKeys(Keys):
    """Initial state of all bodies, in place of their positions and velocities."""

    t: Annotated[Any, As(Number)] = 0.0
    """Time [s]."""
    q: Annotated[Any, As(array(None))]
    """Centre of mass and unit quaternion of each body [m, -], shape (7 n,)."""
    v: Annotated[Any, As(array(None))]
    """Velocity, inertial, and spin in the body's frame, of each body [m/s, rad/s], shape (6 n,)."""


def _motion(keys: MotionKeys) -> Any:
    if keys.input is None:
        return keys.velocity, keys.spin
    if len(keys.model_fields_set) > 1:
        raise ValueError("give velocity and spin, or input")
    return Input(keys.input)


_FORCES = choices(FORCES, {
    forces.Actuator: {"effort": or_input(Number)},
    forces.BodyForce: {"force": or_input(Vector), "moment": or_input(Vector)},
})  # fmt: skip
MaterialKeys = keys_of(WorldBuilder.material, own={"name": None})
PairKeys = keys_of(WorldBuilder.pair, own={"law": None})
BodyKeys = keys_of(WorldBuilder.body, own={
    "shape": one_of([*SHAPE_CHOICES, NAMED]), "position": Vector, "quaternion": Quaternion,
    "velocity": Vector, "spin": Vector, "centre": Vector,
    "motion": or_function(Annotated[MotionKeys, AfterValidator(_motion)]),
})  # fmt: skip
JointKeys = keys_of(WorldBuilder.joint, own={
    "kind": Literal[tuple(one.name.lower() for one in JointKind)], "point": Vector, "axis": Vector,
    "second_point": Vector, "limits": bounds(2), "turn_limits": bounds(2),
})  # fmt: skip


class WorldKeys(Keys):
    """A world of bodies. All values are in the inertial frame, at the start."""

    version: Literal[1]
    """Version of the format."""
    model: Literal["world"]
    gravity: Annotated[Any, As(Vector)] = (0.0, 0.0, -9.81)
    """Acceleration of gravity [m/s²], shape (3,)."""
    materials: Annotated[dict[Text, Annotated[Any, As(MaterialKeys)]], Len(0, MOST_MATERIALS)] = Field(
        default_factory=dict
    )
    """Materials by name; "default" exists, and may be redefined."""
    pairs: list[Annotated[Any, As(PairKeys)]] = Field(default_factory=list)
    """Laws of pairs of materials, in place of the mixing rule."""
    shapes: dict[Text, Annotated[Any, As(one_of(SHAPE_CHOICES))]] = Field(default_factory=dict)
    """Shapes by name, for bodies that share them."""
    bodies: Annotated[list[Annotated[Any, As(BodyKeys)]], Len(0, MOST_BODIES)] = Field(default_factory=list)
    joints: list[Annotated[Any, As(JointKeys)]] = Field(default_factory=list)
    forces: list[Annotated[Any, As(one_of(_FORCES))]] = Field(default_factory=list)
    sensors: list[Annotated[Any, As(one_of(choices(SENSORS)))]] = Field(default_factory=list)
    apart: list[Pair] = Field(default_factory=list)
    """Pairs of bodies that never touch each other."""
    apart_groups: list[Pair] = Field(default_factory=list)
    """Pairs of groups whose bodies never touch each other."""
    inputs: dict[Text, AnyArray] = Field(default_factory=dict)
    """Values of inputs, by the names of their forces and bodies."""
    parameters: Annotated[Any, As(keys_of(Parameters, needed=False))] = None
    """Numbers that replace those that follow from the other keys."""
    start: StartKeys | None = None
    """Initial state of all bodies, in place of their own."""


def make_world(keys: WorldKeys, faults: Faults) -> World | None:
    """Make the world of checked keys; return None and add to `faults` if there are errors."""
    builder = WorldBuilder(keys.gravity)
    for name, material in keys.materials.items():
        with faults.at("materials", name, keys=material.given()):
            builder.material(name, **material.given())
    for k, body in enumerate(keys.bodies):
        shape_of_body = body.given()
        with faults.at("bodies", k, keys=shape_of_body):
            if isinstance(shape_of_body.get("shape"), str):
                shape_of_body["shape"] = named_shape(keys.shapes, shape_of_body["shape"])
            builder.body(**shape_of_body)
    if faults:
        return None
    for k, pair in enumerate(keys.pairs):
        with faults.at("pairs", k, keys=pair.given()):
            builder.pair(**pair.given())
    for k, joint in enumerate(keys.joints):
        with faults.at("joints", k, keys=joint.given()):
            builder.joint(**joint.given())
    for verb in ("apart", "apart_groups"):
        for k, (first, second) in enumerate(getattr(keys, verb)):
            with faults.at(verb, k):
                getattr(builder, verb)(first, second)
    for verb, parts in (("force", keys.forces), ("sensor", keys.sensors)):
        for k, part in enumerate(parts):
            with faults.at(f"{verb}s", k, keys=("name",)):
                getattr(builder, verb)(part)
    return None if faults else _built(builder, keys, faults)


def _built(builder: WorldBuilder, keys: WorldKeys, faults: Faults) -> World | None:
    try:
        world = builder.build()
    except ModelError as error:
        name = named_in(str(error))
        places = [
            (kind, k)
            for kind in ("forces", "sensors", "bodies")
            for k, part in enumerate(getattr(keys, kind))
            if part.name == name
        ]
        with faults.at(*(places[0] if places else ()), keys=_keys(keys, places)):
            raise
        return None
    with faults.at("inputs"):
        world = with_inputs(world, keys.inputs)
    with faults.at("parameters"):
        if keys.parameters is not None:
            world = Parameters.of(world).with_(**keys.parameters.given()).applied(world)
    with faults.at("start"):
        if keys.start is not None:
            start = State(keys.start.t, keys.start.q, keys.start.v)
            world.check_state(start)
            world = replace(world, start=start)
    return None if faults else world


def _keys(keys: WorldKeys, places: list[tuple[str, int]]) -> list[str]:
    """Names of the fields of the part at the first place."""
    if not places:
        return []
    part = getattr(keys, places[0][0])[places[0][1]]
    return [spec.name for spec in fields(part)] if is_dataclass(part) else list(part.given())


def describe_world(world: World, functions: Functions = NONE) -> dict[str, Any]:
    """Convert a world to the tree of a file, including changes since it was built.

    The tree is read back and compared, so that the file is certain to give the same world.
    """
    tree = world_tree(world, functions)
    copy = _again(tree, functions)
    current = declared_inputs(world.forces, world.motions)
    values = {
        name: one.default
        for name, one in current.items()
        if one.default.tobytes() != copy.inputs[name].default.tobytes()
    }
    if values:
        tree["inputs"] = {name: plain(value, "input", name) for name, value in values.items()}
        copy = _again(tree, functions)
    ours, theirs = Parameters.of(copy), Parameters.of(world)
    different = [
        name
        for name in Parameters.names()
        if getattr(ours, name).tobytes() != getattr(theirs, name).tobytes()
    ]
    if different:
        tree["parameters"] = {name: plain(getattr(theirs, name), "parameter", name) for name in different}
    if difference(copy.start, world.start):
        start = {key: plain(getattr(world.start, key), "start", key) for key in ("t", "q", "v")}
        tree["start"] = start
    where = difference(_again(tree, functions) if different or "start" in tree else copy, world)
    if where:
        raise ModelError(
            f"{where} of this world was changed after it was built, which the file format cannot express"
        )
    return tree


def _again(tree: dict[str, Any], functions: Functions) -> World:
    """Make the world that a file with this tree gives."""
    faults = Faults()
    world = None
    try:
        world = make_world(WorldKeys.model_validate(resolved(tree, functions, faults)), faults)
    except ValidationError as error:
        faults.add_invalid(tree, error)
    if world is None:
        place, sentence = faults.found[0]
        raise ModelError(f"this world cannot be written: {shown_place(place)}: {sentence}")
    return world
