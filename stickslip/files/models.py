"""Model files in TOML or JSON: a world, a system, the equations of a world, or a scene by name.

Files of runs (`run_models`) contain the same tree as JSON, so that a run can be continued without a script.
"""

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from pydantic import ValidationError
from pydantic.json_schema import models_json_schema

from stickslip.files.errors import FormatError, shown
from stickslip.files.meshes import obj_content
from stickslip.files.model_equations import EquationsKeys, describe_equations, make_equations
from stickslip.files.model_faults import Fault, Faults, ModelFileError, shown_place
from stickslip.files.model_functions import NONE, Functions, resolved
from stickslip.files.model_lines import Lines
from stickslip.files.model_parts import Keys
from stickslip.files.model_scenes import SceneKeys, make_scene, scene_tree
from stickslip.files.model_systems import SystemKeys, describe_system, make_system
from stickslip.files.model_trees import INLINE
from stickslip.files.model_worlds import WorldKeys, describe_world, make_world
from stickslip.files.problems import file_content, replace_file
from stickslip.mechanics.world import World
from stickslip.state import ModelError
from stickslip.systems.system import NonsmoothSystem

ENDINGS = (".toml", ".json")
"""Suffixes of model files."""
LARGEST = {".toml": 8 * 1024 * 1024, ".json": 256 * 1024 * 1024}
"""Largest size of files [bytes]; parsing TOML is slow."""
KEYS: dict[str, type[Keys]] = {
    "world": WorldKeys, "system": SystemKeys, "equations": EquationsKeys, "scene": SceneKeys,
}  # fmt: skip
Model = World | NonsmoothSystem


def write_model(place: Path, model: Model, functions: Functions = NONE) -> None:
    """Write a model and its meshes, each file atomically."""
    ending = _ending(place)
    tree = describe(model, functions)
    for name, shape in (tree.get("world") or tree).get("shapes", {}).items():
        if len(shape.get("points", ())) > INLINE:
            shape["mesh"] = f"{place.stem}-{name}.obj"
            points = shape.pop("points")
            replace_file(place.with_name(shape["mesh"]), obj_content(points))
    replace_file(place, _text(tree, ending).encode())


def read_model(place: Path, functions: Functions = NONE) -> Model:
    """Read the model in a file; a ModelFileError lists all its errors."""
    ending = _ending(place)
    if place.is_file() and place.stat().st_size > LARGEST[ending]:
        hint = "; write it as .json" if ending == ".toml" else ""
        most = f"at most {LARGEST[ending]} bytes{hint}"
        raise FormatError.at(place, "the file", most, f"{place.stat().st_size}")
    text = _decoded(place, file_content(place))
    return model_of(_parsed(place, text, ending), place, text, place.parent, functions)


def describe(model: Model, functions: Functions = NONE) -> dict[str, Any]:
    """Convert a model to the tree of a file: numbers, texts, lists and keys."""
    if not isinstance(model, World | NonsmoothSystem):
        raise ModelError(f"model is {type(model).__name__}, expected a World or a NonsmoothSystem")
    try:
        if isinstance(model, World):
            return describe_world(model, functions)
        return describe_equations(model, functions) or describe_system(model, functions)
    except ModelError:
        tree = scene_tree(model)
        if tree is None:
            raise
        return tree


def model_of(
    tree: Any, path: Path, text: str = "", folder: Path | None = None, functions: Functions = NONE
) -> Model:
    """Make the model of a tree; text: its source, for line numbers; functions: functions by name."""
    faults = Faults()
    model_kind = tree.get("model") if isinstance(tree, dict) else None
    if not isinstance(model_kind, str) or model_kind not in KEYS:
        fault = f"is {shown(str(model_kind))}" if model_kind is not None else "is missing"
        known = " or ".join(f'model = "{one}"' for one in KEYS)
        faults.add(("model",), f"{fault}; a file of a model says {known}")
        _refuse(path, faults, text)
    try:
        tree = resolved(tree, functions, faults)
        if faults:
            _refuse(path, faults, text)
        keys = KEYS[model_kind].model_validate(tree, context={"folder": folder})
        if isinstance(keys, WorldKeys):
            model: Model | None = make_world(keys, faults)
        elif isinstance(keys, SceneKeys):
            model = make_scene(keys, faults)
        elif isinstance(keys, EquationsKeys):
            model = make_equations(keys, faults)
        else:
            assert isinstance(keys, SystemKeys)
            model = make_system(keys, faults)
    except ValidationError as error:
        faults.add_invalid(tree, error)
        model = None
    except MemoryError:
        faults.add((), "does not fit into memory")
        model = None
    if model is None:
        _refuse(path, faults, text)
    return model


def model_in(text: str, path: Path) -> Model:
    """Read a model from the JSON text in the file of a run."""
    return model_of(_parsed(path, text, ".json"), path)


def schema() -> dict[str, Any]:
    """JSON schema of model files."""
    schemas, definitions = models_json_schema([(keys, "validation") for keys in KEYS.values()])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A model of stickslip, version 1",
        "oneOf": list(schemas.values()),
        **definitions,
    }


def _ending(place: Path) -> str:
    ending = place.suffix.lower()
    if ending not in ENDINGS:
        expectation = "one that ends in " + ", ".join(ENDINGS)
        raise FormatError.at(place, "the name of the file", expectation, shown(place.name))
    return ending


def _refuse(path: Path, faults: Faults, text: str) -> NoReturn:
    lines = Lines(text, path.suffix.lower())
    problems = [Fault(shown_place(place), sentence, lines.of(place)) for place, sentence in faults.found]
    raise ModelFileError(path, problems)


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        fault = Fault("", f"must be text in UTF-8, has byte 0x{content[error.start]:02x}", line)
        raise ModelFileError(path, [fault]) from None


def _parsed(path: Path, text: str, ending: str) -> Any:
    """Parse a text into a tree; errors of syntax are reported with their line."""
    try:
        if ending == ".toml":
            return tomllib.loads(text)
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        fault = Fault("", "is nested too deeply")
    except json.JSONDecodeError as error:
        fault = Fault("", f"is not valid JSON: {error.msg}", error.lineno)
    except tomllib.TOMLDecodeError as error:
        message, _, where = str(error).partition(" (at ")
        line = where.removeprefix("line ").partition(",")[0]
        last = len(text.splitlines())  # if tomllib reports "at end of document"
        fault = Fault("", f"is no TOML: {message}", int(line) if line.isdigit() else last)
    except ValueError as error:  # a number with thousands of digits, or a repeated key
        fault = Fault("", str(error)[:200])
    raise ModelFileError(path, [fault])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shown(twice)} is given twice")
    return entries


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; numbers of a model must be finite")


def _text(tree: dict[str, Any], ending: str) -> str:
    if ending == ".json":
        return "".join(_json_lines(tree))
    import tomlkit

    return tomlkit.dumps(tree)


def _json_lines(tree: dict[str, Any]) -> Iterator[str]:
    """Yield JSON with a line for every key, and for every body, joint and so on."""
    yield "{\n"
    for k, (key, value) in enumerate(tree.items()):
        yield (",\n" if k else "") + f"  {json.dumps(key)}: "
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield "[\n    " + ",\n    ".join(json.dumps(one, allow_nan=False) for one in value) + "\n  ]"
        else:
            yield json.dumps(value, allow_nan=False)
    yield "\n}\n"
