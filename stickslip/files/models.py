"""Files of models: a world, a system, the equations of a world, or a scene by name, as TOML or JSON.

A file of a run (`run_models`) holds the same tree as JSON, so that a run can go on without a script.
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
"""Endings of the names of files of models."""
LARGEST = {".toml": 8 * 1024 * 1024, ".json": 256 * 1024 * 1024}
"""Bytes of the largest file read; TOML is read slowly, and is for people."""
KEYS: dict[str, type[Keys]] = {
    "world": WorldKeys, "system": SystemKeys, "equations": EquationsKeys, "scene": SceneKeys,
}  # fmt: skip
Model = World | NonsmoothSystem


def write_model(place: Path, model: Model, functions: Functions = NONE) -> None:
    """Write a model and its meshes; each file appears whole or not at all."""
    ending = _ending(place)
    tree = describe(model, functions)
    for name, shape in (tree.get("world") or tree).get("shapes", {}).items():
        if len(shape.get("points", ())) > INLINE:
            shape["mesh"] = f"{place.stem}-{name}.obj"
            points = shape.pop("points")
            replace_file(place.with_name(shape["mesh"]), obj_content(points))
    replace_file(place, _text(tree, ending).encode())


def read_model(place: Path, functions: Functions = NONE) -> Model:
    """The model in a file; a ModelFileError tells all that is wrong with it."""
    ending = _ending(place)
    if place.is_file() and place.stat().st_size > LARGEST[ending]:
        hint = "; write it as .json" if ending == ".toml" else ""
        most = f"at most {LARGEST[ending]} bytes{hint}"
        raise FormatError.at(place, "the file", most, f"{place.stat().st_size}")
    text = _decoded(place, file_content(place))
    return model_of(_parsed(place, text, ending), place, text, place.parent, functions)


def describe(model: Model, functions: Functions = NONE) -> dict[str, Any]:
    """A model as files have it: a tree of numbers, texts, lists and keys."""
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
    """The model that a tree describes; text: where it is from, for numbers of lines; functions: those that it
    names."""
    faults = Faults()
    said = tree.get("model") if isinstance(tree, dict) else None
    if not isinstance(said, str) or said not in KEYS:
        found = f"is {shown(str(said))}" if said is not None else "is missing"
        known = " or ".join(f'model = "{one}"' for one in KEYS)
        faults.add(("model",), f"{found}; a file of a model says {known}")
        _refuse(path, faults, text)
    try:
        tree = resolved(tree, functions, faults)
        if faults:
            _refuse(path, faults, text)
        keys = KEYS[said].model_validate(tree, context={"folder": folder})
        if isinstance(keys, WorldKeys):
            made: Model | None = make_world(keys, faults)
        elif isinstance(keys, SceneKeys):
            made = make_scene(keys, faults)
        elif isinstance(keys, EquationsKeys):
            made = make_equations(keys, faults)
        else:
            assert isinstance(keys, SystemKeys)
            made = make_system(keys, faults)
    except ValidationError as error:
        faults.add_invalid(tree, error)
        made = None
    except MemoryError:
        faults.add((), "does not fit into memory")
        made = None
    if made is None:
        _refuse(path, faults, text)
    return made


def model_in(text: str, path: Path) -> Model:
    """The model in JSON that stands in the file of a run."""
    return model_of(_parsed(path, text, ".json"), path)


def schema() -> dict[str, Any]:
    """The JSON schema of files of models."""
    found, definitions = models_json_schema([(keys, "validation") for keys in KEYS.values()])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A model of stickslip, version 1",
        "oneOf": list(found.values()),
        **definitions,
    }


def _ending(place: Path) -> str:
    ending = place.suffix.lower()
    if ending not in ENDINGS:
        wanted = "one that ends in " + ", ".join(ENDINGS)
        raise FormatError.at(place, "the name of the file", wanted, shown(place.name))
    return ending


def _refuse(path: Path, faults: Faults, text: str) -> NoReturn:
    lines = Lines(text, path.suffix.lower())
    found = [Fault(shown_place(place), said, lines.of(place)) for place, said in faults.found]
    raise ModelFileError(path, found)


def _decoded(path: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        found = Fault("", f"must be text in UTF-8, has byte 0x{content[error.start]:02x}", line)
        raise ModelFileError(path, [found]) from None


def _parsed(path: Path, text: str, ending: str) -> Any:
    """The tree in a text; what is no TOML or JSON is told with its line."""
    try:
        if ending == ".toml":
            return tomllib.loads(text)
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        fault = Fault("", "is nested too deeply")
    except json.JSONDecodeError as error:
        fault = Fault("", f"is not valid JSON: {error.msg}", error.lineno)
    except tomllib.TOMLDecodeError as error:
        said, _, where = str(error).partition(" (at ")
        line = where.removeprefix("line ").partition(",")[0]
        last = len(text.splitlines())  # where tomllib says "at end of document"
        fault = Fault("", f"is no TOML: {said}", int(line) if line.isdigit() else last)
    except ValueError as error:  # a number of thousands of digits, a key twice
        fault = Fault("", str(error)[:200])
    raise ModelFileError(path, [fault])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {shown(twice)} is given twice")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number; numbers of a model must be finite")


def _text(tree: dict[str, Any], ending: str) -> str:
    if ending == ".json":
        return "".join(_json_lines(tree))
    import tomlkit

    return tomlkit.dumps(tree)


def _json_lines(tree: dict[str, Any]) -> Iterator[str]:
    """JSON with a line for every key, and for every body, joint and so on."""
    yield "{\n"
    for k, (key, value) in enumerate(tree.items()):
        yield (",\n" if k else "") + f"  {json.dumps(key)}: "
        if isinstance(value, list) and value and isinstance(value[0], dict):
            yield "[\n    " + ",\n    ".join(json.dumps(one, allow_nan=False) for one in value) + "\n  ]"
        else:
            yield json.dumps(value, allow_nan=False)
    yield "\n}\n"
