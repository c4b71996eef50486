"""`stickslip bench record`: write the contact problems of a simulated scene to files."""

from __future__ import annotations

import os
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, refused, usable
from stickslip.cli.parameters import Scene, SolverOptions, Step, Until
from stickslip.cli.progress import watch_time
from stickslip.cli.settings import check_known, chosen, read_settings, solver_options, with_options
from stickslip.cli.tables import table

if TYPE_CHECKING:
    from stickslip.bench.collections.recorded import Recorded


def record(
    scene: Annotated[str, Parameter(name="SCENE")],
    /,
    *,
    every: int | None = None,
    out: Path | None = None,
    start: Annotated[float, Parameter(name="--from")] = 0.0,
    until: Until = None,
    h: Step = None,
    most: int | None = None,
    solver: str = "auto",
    solver_option: SolverOptions = None,
    settings: Scene = None,
    **given: Annotated[str, Parameter(show=False)],
) -> int:
    """Simulate a scene, and write its contact problems to files.

    Each problem becomes an HDF5 file, in FCLIB's layout where possible. The file
    contains the problem, its origin (scene, parameters, step, time, contacts, mass
    ratio, rank, conditioning, and this command), the solution, and the initial
    guess of the solver. The same command writes the same bytes.

    Parameters of the scene are options of this command, as for `stickslip run`.
    Scenes that are single problems (chute, incline, packing, wall) can be recorded too.
    In place of a scene, file.py:function names your own function that returns a World,
    a NonsmoothSystem (with --until and --h), a Scenario or a problem; its keyword
    parameters are options.

    For example:
      stickslip bench record stack --every 100 --bodies 20 --out stacks
      stickslip bench record soup --every 50 --from 0.5 --most 5
      stickslip bench record wall-problem --rows 12
      stickslip bench record cart.py:model --every 10 --until 1 --h 1e-3

    Parameters
    ----------
    scene
        Scene (`stickslip run` lists them), or file.py:function.
    every
        Record every N-th step that has contacts.
    out
        Folder for the files, created if it does not exist; by default named after the scene.
    start
        Time of the first recorded step [s].
    most
        Largest number of files.
    solver
        Solver of the contact problems; `stickslip solvers` lists them.
    """
    from stickslip.bench.collections import models, recording
    from stickslip.simulation.failure import SimulationFailure
    from stickslip.state import ModelError

    folder, failure = Path(scene.rpartition(":")[2]) if out is None else out, ""
    rows: list[tuple[str, ...]] = []
    with refused(KeyError, TypeError, ValueError), usable(folder):
        known, single = models.parameters_of(scene), models.is_problem(scene)
        options = solver_options(solver, solver_option)
        texts = with_options(read_settings(settings or []), given)
        check_known(f"{scene} has no such parameter", texts, tuple(known), signature(record).parameters)
        parameters = ({"h": h} if single and h is not None else {}) | chosen(known, texts)
        if not start >= 0.0:
            raise InputError(f"--from is {start:g}; it must be a time of at least 0 s")
        if single and (until is not None or start):
            raise InputError(f"{scene} is a single problem; --from and --until do not apply")
        if every is None and not single:
            raise InputError(
                f"--every is missing; give the number of steps of {scene} between two recorded ones"
            )
        _check_folder(folder)
        with watch_time(f"record {scene}") as progress:
            try:
                recording.record(
                    scene, parameters, folder, every=1 if every is None else every, start=start, until=until,
                    h=None if single else h, most=most, solver=solver, solver_options=options,
                    progress=progress, report=lambda path, one: rows.append(_row(path, one)),
                )  # fmt: skip
            except SimulationFailure as error:
                failure = str(error).partition("; on_failure=")[0]
            except ModelError as error:
                if getattr(error, "trajectory", None) is None:  # raised before the first step
                    raise
                failure = str(error)
    if rows:
        headings = ("file", "t [s]", "contacts", "mass ratio", "rank", "conditioning")
        table(headings, rows, numbers=headings[1:])
        print(f"\nwrote {len(rows)} file{'' if len(rows) == 1 else 's'} into {folder}")
    if failure:
        note = f"; the {len(rows)} problems before that are kept" if rows else ""
        complain(f"{scene}: {failure}{note}")
        return ExitCode.MISSED
    if not rows:
        span = (f" from {start:g} s" if start else "") + ("" if until is None else f" until {until:g} s")
        complain(f"{scene}: no step{span} had a contact, so nothing was written")
        return ExitCode.MISSED
    return ExitCode.FINE


def _check_folder(folder: Path) -> None:
    """Raise an error if `folder` cannot be created or written to."""
    above = folder
    while not above.exists() and above != above.parent:
        above = above.parent
    if not above.is_dir():
        raise InputError(f"{above}: this is a file; --out takes the name of a folder")
    if not os.access(above, os.W_OK | os.X_OK):
        raise InputError(f"{above}: permission denied")


def _row(path: Path, recorded: Recorded) -> tuple[str, ...]:
    """One row of the table of recorded problems; `~` marks estimates."""
    features = recorded.features
    sign = "~" if features.estimated else ""
    ratio = "" if features.mass_ratio is None else f"{features.mass_ratio:.4g}"
    condition = f"{sign}{features.conditioning:.4g}" if features.conditioning else ""
    return (
        path.name,
        f"{recorded.time:.6g}",
        f"{features.contacts}",
        ratio,
        f"{sign}{features.rank}",
        condition,
    )
