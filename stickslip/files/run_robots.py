"""Robots in files of runs: the data to read a run, and the model to continue it.

In addition to the data of a world, `about` has the names of joints, sensors and inputs, and the arrays
robot/coordinate_kind, coordinate_place, sensor_place and input_place are those of `RobotModel`. The text
`model` is JSON: the XML with its included files, assets in base64, restitution, laws of pairs and cone, and
the tree of the world around the robot.
"""

import base64
import binascii
import json
from dataclasses import fields
from typing import Any

import numpy as np

from stickslip.files import run_parts as parts
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import put_array
from stickslip.files.run_parts import About, Field
from stickslip.mechanics.world import World
from stickslip.robots import reading
from stickslip.robots.laws import PairLaws
from stickslip.robots.robot import Robot
from stickslip.simulation.robot_model import KINDS, RobotModel
from stickslip.simulation.world_model import WorldModel
from stickslip.state import ModelError

FORMAT = "stickslip robot"
MOST_ASSETS = 2**25
"""Largest total size of meshes and other assets in the file of a run [bytes]."""


def put_robot(group: Any, model: RobotModel) -> dict[str, Any]:
    """Write the arrays of a robot; return its part of `about`."""
    place = group.create_group("robot")
    names = {name: list(getattr(model, name)) for name in ("coordinates", "sensor_names", "input_names")}
    parts.put_fields(place, _arrays(*map(len, names.values())), model, put_array)
    return {**names, "sizes": list(model.sizes)}


def read_robot(source: Source, group: Any, about: About, world: WorldModel) -> RobotModel:
    """Read the robot in a group of a file; world: its bodies."""
    joints, sensors = about.get("coordinates", "texts"), about.get("sensor_names", "texts")
    inputs = about.get("input_names", "texts") if "input_names" in about.top else ()
    sizes = about.get("sizes", "counts")
    place = source.group(group, "robot")
    arrays = parts.read_fields(source, place, _arrays(len(joints), len(sensors), len(inputs)))
    values = {spec.name: getattr(world, spec.name) for spec in fields(WorldModel)}
    names = {"coordinates": joints, "sensor_names": sensors, "input_names": inputs}
    if (arrays["input_place"].sum(axis=1) > sizes[2]).any():
        source.fail(f"{place.name}/input_place", f"places in {sizes[2]} numbers", "others")
    return RobotModel(**values, **names, sizes=sizes, **arrays)


def column_fields(model: RobotModel, n: int) -> list[Field]:
    """Columns of states of n records."""
    nq, nv, nz = model.sizes
    widths = {"q": nq, "v": nv, "z": nz, "poses": 7 * len(model), "twists": 6 * len(model)}
    return [Field(name, n, (width,)) for name, width in widths.items()]


def robot_text(robot: Robot, world: dict[str, Any] | None = None) -> str:
    """Convert a robot, with the tree of the world around it, to JSON, or raise a ModelError."""
    source = robot.source
    if source is None:
        raise ModelError("the robot was loaded from an MjModel; load its file, text or MjSpec")
    size = sum(map(len, source.assets.values()))
    if size > MOST_ASSETS:
        raise ModelError(
            f"a robot with {size:,} bytes of meshes; files of runs contain at most {MOST_ASSETS:,}"
        )
    return json.dumps({
        "format": FORMAT, "version": 1, "name": source.name, "kind": source.kind, "xml": source.text,
        "includes": {name: content.decode() for name, content in source.includes.items()},
        "assets": {name: base64.b64encode(content).decode() for name, content in source.assets.items()},
        "restitution": robot.restitution.tolist(), "limit_restitution": robot.limit_restitution.tolist(),
        "cone": robot.cone, "world": world,
        "laws": {
            "kind": robot.laws.kind.tolist(),
            "law": np.where(np.isnan(robot.laws.law), np.array(None), robot.laws.law).tolist(),
        } if robot.laws.given else None,
    }, allow_nan=False)  # fmt: skip


def is_robot(text: str) -> bool:
    """Whether the text of a model is that of a robot."""
    return text.startswith('{"format": "' + FORMAT)


def robot_in(text: str, path: Any) -> Robot:
    """Make the robot of a text; a ModelError names the file and the error."""
    try:
        data = json.loads(text)
        assets = {str(k): base64.b64decode(v, validate=True) for k, v in data["assets"].items()}
        includes = {str(k): str(v).encode() for k, v in data["includes"].items()}
        for text_ in (data["xml"], *map(bytes.decode, includes.values())):
            reading.check_text(str(text_), f"{path}")
        source = reading.Source(str(data["name"]), str(data["xml"]), str(data["kind"]), includes, assets)
        world, laws = data.get("world"), data.get("laws")
        return Robot.of_source(
            source, np.array(data["restitution"], float), np.array(data["limit_restitution"], float),
            str(data["cone"]), None if laws is None else PairLaws.read(laws["kind"], laws["law"]),
            None if world is None else _world(world, path),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error, RecursionError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{path}: its robot cannot be read ({type(error).__name__}: {error})") from None


def _world(tree: Any, path: Any) -> World:
    from stickslip.files.models import model_of

    model = model_of(tree, path)
    if not isinstance(model, World):
        raise ModelError(f"{path}: the surroundings of the robot are not a world")
    return model


def _arrays(joints: int, sensors: int, inputs: int) -> list[Field]:
    return [
        Field("coordinate_kind", joints, None, np.int64, (0, len(KINDS) - 1)),
        Field("coordinate_place", joints, (2,), np.int64, (0, 2**31)),
        Field("sensor_place", sensors, (2,), np.int64, (0, 2**31)),
        Field("input_place", inputs, (2,), np.int64, (0, 2**31), optional=True),
    ]
