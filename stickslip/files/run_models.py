"""Models in files of runs: names and numbers of systems and interactions, or of bodies, shapes and joints.

Texts are in `about`. Arrays are in laws/k, the product set of interaction k (`own`), or in world/kind, mass,
inertia, ..., with one row per body, shape or joint, and in points/k for shape kind k. These suffice to read
and draw a run of any model. The model itself, with which a run is continued, is the text `model`, JSON as in
model files (`models`). For models with users' functions, `about` contains the reason as `unwritten` instead.
"""

import json
from contextlib import suppress
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from stickslip.files import run_parts as parts
from stickslip.files import run_robots
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import put_array, put_text
from stickslip.files.model_trees import as_built, system_tree, world_tree
from stickslip.files.own import read_set, write_set
from stickslip.files.run_parts import About, Field
from stickslip.mechanics.joints import JointKind
from stickslip.mechanics.world import BodyKind, World
from stickslip.problem.contact import Level
from stickslip.robots.robot import Robot
from stickslip.schemes.body_forces import CHOICES
from stickslip.schemes.body_joints import PARTS
from stickslip.simulation.contacts import CONTACT_WIDTHS, WHOLE
from stickslip.simulation.model import InteractionPart, Model, SystemPart
from stickslip.simulation.robot_model import RobotModel
from stickslip.simulation.world_model import ShapeRecord, WorldModel
from stickslip.state import ModelError
from stickslip.systems.system import NonsmoothSystem

CHOSEN = (0, len(CHOICES) - 1)
"""Range of the codes of the choice of impulses."""
REALS = ("t", "h", "natural", "natural_scaled", "kinetic", "potential")
SYSTEM_REALS = (*REALS, "contact_work")
WORLD_REALS = (*REALS, "penetration", "opening", "correction", "dissipated", "work", "lifted", "balance")
"""Columns of one real number per record."""
MOST_INDEX = 2**53
"""Largest number of steps; beyond, the times of steps are not distinct."""


def put_model(group: Any, model: Model | WorldModel) -> dict[str, Any]:
    """Write the arrays of a model; return its part of `about`."""
    facts = _put_systems(group, model) if isinstance(model, Model) else _put_world(group, model)
    if isinstance(model, RobotModel):
        facts |= run_robots.put_robot(group, model)
    stored = StoredModel.of(model.source)
    if stored.text:
        put_text(group, "model", stored.text)
    return facts | ({"unwritten": stored.reason} if stored.reason else {})


def read_model(source: Source, group: Any, about: About) -> Model | WorldModel:
    """Read the model in a group of a file."""
    read = _read_world if "bodies" in about.top else _read_systems
    model: Model | WorldModel = read(source, group, about)
    if isinstance(model, WorldModel) and "coordinates" in about.top:
        model = run_robots.read_robot(source, group, about, model)
    text = source.text(group, "model") if source.has(group, "model") else ""
    reason = about.get("unwritten", "text") if "unwritten" in about.top else ""
    return replace(model, source=StoredModel(text, reason, source.path)) if text or reason else model


class StoredModel:
    """A model in the file of a run, made when it is called."""

    def __init__(self, text: str = "", reason: str = "", path: Path | None = None):
        """text: JSON of the model; reason: reason for its absence; path: the file."""
        self.text, self.reason, self._path = text, reason, path

    def __eq__(self, other: object) -> bool:
        """Whether text and reason are equal."""
        return isinstance(other, StoredModel) and (self.text, self.reason) == (other.text, other.reason)

    def __hash__(self) -> int:
        return hash((self.text, self.reason))

    @classmethod
    def of(cls, source: Any) -> Self:
        """Convert a World, a NonsmoothSystem or a Robot; a StoredModel is returned unchanged."""
        if source is None or isinstance(source, cls):
            return cls() if source is None else source
        try:
            if isinstance(source, Robot):
                world = None if source.world is None else _tree(source.world)
                return cls(run_robots.robot_text(source, world))
            return cls(json.dumps(_tree(source), allow_nan=False))
        except ModelError as error:
            return cls(reason=str(error))

    def __call__(self) -> Any:
        """Make the World, NonsmoothSystem or Robot; a ModelError gives the reason of its absence."""
        if not self.text:
            raise ModelError(f"{self._path} does not contain its model: {self.reason}")
        if run_robots.is_robot(self.text):
            return run_robots.robot_in(self.text, self._path)
        from stickslip.files.models import model_in

        return model_in(self.text, Path(f"{self._path}"))


def _tree(model: World | NonsmoothSystem) -> dict[str, Any]:
    """Tree of a model; models that were changed since they were built are compared, which takes longer."""
    if as_built(model):
        with suppress(ModelError):
            return world_tree(model) if isinstance(model, World) else system_tree(model)
    from stickslip.files.models import describe  # imports Pydantic, which is slow

    return describe(model)


def column_fields(model: Model | WorldModel, n: int) -> list[Field]:
    """Numeric columns of n records, without those named by the user."""
    if isinstance(model, WorldModel):
        vectors = [Field("q", n, (7 * len(model),)), Field("v", n, (6 * len(model),))]
        if isinstance(model, RobotModel):
            vectors = run_robots.column_fields(model, n)
        integers = [Field("iterations", n, None, np.int64)]
        return [*(Field(name, n) for name in WORLD_REALS), *vectors, *integers]
    nq, nv, nz, size, blocks = model.sizes
    widths = {"q": nq, "v": nv, "z": nz, "r": size, "u": size, "y": size, "forecast": blocks}
    vectors = [Field(name, n, (width,)) for name, width in widths.items()]
    integers = [Field(name, n, None, np.int64) for name in ("iterations", "newton")]
    active = Field("active", n, (blocks,), bool, (0, 1))
    return [*(Field(name, n) for name in SYSTEM_REALS), *vectors, *integers, active]


def contact_fields(count: int | None, bodies: int) -> list[Field]:
    """Columns of a table of contacts; count: number of rows, None for any."""
    bounds = {"body": (0, bodies - 1), "choice": CHOSEN}
    return [
        Field(x, count, width, np.int64 if x in WHOLE else np.float64, bounds.get(x), x == "choice")
        for x, width in CONTACT_WIDTHS.items()
    ]


def joint_fields(model: WorldModel) -> list[Field]:
    """Columns of a table of impulses of joints; id: 7 times the number of the joint plus its part; for robots
    the identity of a block."""
    bounds = None if isinstance(model, RobotModel) else (-1, len(PARTS) * len(model.joints) - 1)
    return [Field("r"), Field("id", None, None, np.int64, bounds)]


def _put_systems(group: Any, model: Model) -> dict[str, Any]:
    laws = group.create_group("laws")
    for k, part in enumerate(model.interactions):
        write_set(laws.create_group(f"{k}"), part.K)
    interactions = [
        {
            "name": part.name, "systems": list(part.systems), "law": part.law,
            "first_order": part.first_order, "level": part.level.value, "components": part.K.size,
        }
        for part in model.interactions
    ]  # fmt: skip
    return {"systems": [asdict(part) for part in model.systems], "interactions": interactions}


def _read_systems(source: Source, group: Any, about: About) -> Model:
    for key in ("systems", "interactions"):
        about.names(key, [about.get("name", "text", one) for one in about.get(key, "objects")])
    kinds = {str: "text", bool: "flag", int: "count"}
    systems = tuple(
        SystemPart(**{spec.name: about.get(spec.name, kinds[spec.type], one) for spec in fields(SystemPart)})  # type: ignore[index, arg-type]
        for one in about.get("systems", "objects")
    )
    laws, levels = source.group(group, "laws"), [level.value for level in Level]
    interactions = tuple(
        InteractionPart(
            about.get("name", "text", one), about.get("systems", "texts", one), about.get("law", "text", one),
            read_set(source, source.group(laws, f"{k}"), about.get("components", "count", one)),
            about.get("first_order", "flag", one), Level(about.one_of("level", levels, one)),
        )
        for k, one in enumerate(about.get("interactions", "objects"))
    )  # fmt: skip
    return Model(systems, interactions)


def _put_world(group: Any, model: WorldModel) -> dict[str, Any]:
    shapes, number = _distinct(model.shapes)
    world, points = group.create_group("world"), group.create_group("points")
    put_array(world, "shape", number, np.int64)
    parts.put_fields(world, _world_fields(len(model), len(number), len(model.joints)), model, put_array)
    for k, shape in enumerate(shapes):
        put_array(points, f"{k}", shape.points, np.float64)
    return {
        "bodies": list(model.names), "joints": list(model.joints),
        "shapes": [{"kind": one.kind, "numbers": list(one.numbers)} for one in shapes],
    }  # fmt: skip


def _read_world(source: Source, group: Any, about: About) -> WorldModel:
    names, joints = about.get("bodies", "texts"), about.get("joints", "texts")
    for key, items in (("bodies", names), ("joints", joints)):
        about.names(key, items)
    world, nb = source.group(group, "world"), len(names)
    points = source.group(group, "points")
    kinds = [
        ShapeRecord(
            about.get("kind", "text", one),
            tuple(map(float, about.get("numbers", "numbers", one))),
            source.reals(points, f"{k}", 2),
        )
        for k, one in enumerate(about.get("shapes", "objects"))
    ]
    number = Field("shape", None, None, np.int64, (0, len(kinds) - 1)).read(source, world)
    arrays = parts.read_fields(source, world, _world_fields(nb, number.size, len(joints)))
    for one in kinds:
        one.points.flags.writeable = False
    return WorldModel(names=names, joints=joints, shapes=tuple(kinds[k] for k in number.tolist()), **arrays)


def _world_fields(nb: int, ns: int, nj: int) -> list[Field]:
    """Arrays of a model with nb bodies, ns shapes and nj joints."""
    return [
        Field("kind", nb, None, np.int64, (0, len(BodyKind) - 1)), Field("gravity", 3), Field("mass", nb, ()),
        Field("inertia", nb, (3, 3)), Field("origin", nb, (3,)), Field("shape_position", ns, (3,)),
        Field("shape_quaternion", ns, (4,)), Field("shape_body", ns, None, np.int64, (0, nb - 1)),
        Field("joint_kind", nj, None, np.int64, (0, len(JointKind) - 1)),
        Field("joint_body", nj, (2,), np.int64, (-1, nb - 1)), Field("joint_point", nj, (2, 3)),
        Field("joint_frame", nj, (2, 3, 3), optional=True), Field("joint_length", nj, optional=True),
        Field("joint_lower", nj, (2,), optional=True), Field("joint_upper", nj, (2,), optional=True),
    ]  # fmt: skip


def _distinct(shapes: tuple[ShapeRecord, ...]) -> tuple[list[ShapeRecord], list[int]]:
    """Return the distinct shapes, and for every shape the index of its equal."""
    numbers: dict[Any, int] = {}
    kinds: list[ShapeRecord] = []
    keys = {id(one): (one.kind, one.numbers, one.points.shape, one.points.tobytes()) for one in shapes}
    for one in shapes:
        if keys[id(one)] not in numbers:
            numbers[keys[id(one)]] = len(kinds)
            kinds.append(one)
    return kinds, [numbers[keys[id(one)]] for one in shapes]
