"""`stickslip scenes`: list the scenes, both problems and runs, and their parameters."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, refused
from stickslip.cli.parameters import Json
from stickslip.cli.tables import pairs, print_json, table


def scenes(name: Annotated[str | None, Parameter(name="NAME")] = None, /, *, json: Json = False) -> int:
    """List the scenes, or describe one scene with all its parameters.

    `stickslip run NAME` simulates a scene of kind run. A scene of kind problem is a single contact
    problem. `stickslip bench record NAME` writes the problems of either kind to files.

    For example:
      stickslip scenes
      stickslip scenes wall-problem
      stickslip scenes bouncing-ball --json

    Parameters
    ----------
    name
        Scene to describe; without it, the scenes are listed.
    """
    from stickslip import scenes as known

    with refused(KeyError):
        names = known.names() if name is None else [known.current_name(name)]
    facts = [{"name": each, "kind": known.kind_of(each), "summary": known.summary(each)} for each in names]
    if json:
        data = [scene | {"parameters": _parameters(scene["name"])} for scene in facts]
        print_json(data[0] if name else data)
    elif name is None:
        table(("scene", "kind", "summary"), [tuple(scene.values()) for scene in facts], folds=("summary",))
    else:
        (scene,) = facts
        pairs(scene["name"], [("kind", scene["kind"]), ("summary", scene["summary"])])
        print()
        show_parameters(scene["name"])
    return ExitCode.FINE


def show_parameters(name: str) -> None:
    """Print a table of the parameters of a scene."""
    rows = [
        (f"--{parameter['name'].replace('_', '-')}", _shown(parameter["default"]), parameter["meaning"])
        for parameter in _parameters(name)
    ]
    table(("parameter", "default", "meaning"), rows, folds=("meaning",))


def _parameters(name: str) -> list[dict[str, Any]]:
    """Names, defaults and meanings of the parameters of a scene."""
    from stickslip import scenes as known

    meanings = known.meanings(name)
    return [
        {"name": key, "default": value, "meaning": meanings.get(key, "")}
        for key, value in known.parameters(name).items()
    ]


def _shown(value: Any) -> str:
    """Format a default value as it is typed on the command line."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, tuple | list):
        return ",".join(map(_shown, value))
    return f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)
