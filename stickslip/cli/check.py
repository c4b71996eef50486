"""`stickslip check`: validate model files and list their errors."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, printable, usable
from stickslip.cli.parameters import Flag, Json
from stickslip.cli.tables import print_json

if TYPE_CHECKING:
    from stickslip.files.model_faults import Fault


def check(
    files: Annotated[list[Path] | None, Parameter(name="FILE...")] = None,
    /,
    *,
    schema: Flag = False,
    json: Json = False,
) -> int:
    """Check model files, and list all errors with their positions and lines.

    Prints a summary of each valid file. Exit status 2: a file has errors.

    For example:
      stickslip check model.toml
      stickslip check *.json --json
      stickslip check --schema > model-schema.json

    Parameters
    ----------
    files
        Model files, .toml or .json, in the format of ss.save; see docs/model-files.md.
    schema
        Print the JSON schema of model files, for editors and other programs.
    """
    if schema:
        from stickslip.files.models import schema as made

        print_json(made())
        return ExitCode.FINE
    if not files:
        raise InputError("FILE is missing; give the model files to check")
    reports: list[dict[str, Any]] = []
    for path in files:
        summary, faults = _checked(path)
        reports.append({"file": str(path), "fine": not faults, "faults": [asdict(item) for item in faults]})
        if not json:
            lines = [f"{path}: {fault}" for fault in faults] or [f"{path}: fine", *summary.split("\n")]
            print("\n".join(map(printable, lines)))
    if json:
        print_json(reports if len(reports) > 1 else reports[0])
    wrong = [report for report in reports if not report["fine"]]
    if wrong:
        count = sum(len(report["faults"]) for report in wrong)
        complain(f"{count} fault{'s' if count > 1 else ''} in {len(wrong)} of {len(reports)} files")
    return ExitCode.BAD_INPUT if wrong else ExitCode.FINE


def _checked(path: Path) -> tuple[str, tuple[Fault, ...]]:
    """Return a summary of a model file, and its faults."""
    from stickslip.files.errors import FormatError
    from stickslip.files.model_faults import Fault, ModelFileError
    from stickslip.files.models import read_model

    try:
        with usable(path, "model"):
            try:
                return str(read_model(path)), ()
            except ModelFileError as error:
                return "", error.faults
            except FormatError as error:
                return "", (Fault("", str(error).removeprefix(f"{path}: ")),)
    except InputError as error:
        return "", (Fault("", str(error).removeprefix(f"{path}: ")),)
