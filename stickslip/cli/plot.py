"""`stickslip plot`: draw plots of a run, or of a stored solution."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, refused, usable, wrote
from stickslip.cli.parameters import Flag
from stickslip.cli.places import PLOTS, check_writable, followed, load, load_run
from stickslip.cli.tables import table
from stickslip.names import LISTED, listing

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.simulation.trajectory import Trajectory

    Source = Trajectory | ProblemRecord

What = Literal["energy", "gaps", "impulses", "cones", "phase", "poincare", "residuals"]
"""Kinds of plots; `view.plot_energy` and so on draw them."""

TAKES = {
    "energy": (),
    "gaps": ("interaction", "body", "log"),
    "impulses": ("interaction", "body", "forces"),
    "cones": ("interaction", "body", "at"),
    "phase": ("system", "body", "coordinate", "after", "until"),
    "poincare": ("system", "body", "coordinate", "period", "after"),
    "residuals": (),
}
"""Options of each plot."""
NAMING = ("system", "interaction", "body")
"""Options that name a part of the model; each applies to one kind of run."""


def plot(
    file: Annotated[Path, Parameter(name="FILE")],
    what: Annotated[What | None, Parameter(name="WHAT")] = None,
    /,
    *,
    out: Path | None = None,
    system: str | None = None,
    interaction: str | None = None,
    body: str | None = None,
    coordinate: list[str] | None = None,
    at: float | None = None,
    period: float | None = None,
    after: float | None = None,
    until: float | None = None,
    log: Flag = False,
    forces: Flag = False,
    follow: Flag = False,
) -> int:
    """Draw plots of a run, or of a problem with its solution.

    WHAT is one of energy, gaps, impulses, cones, phase, poincare, residuals.
    Without WHAT, the plots that the file supports are listed.

    For example:
      stickslip plot ball.h5
      stickslip plot ball.h5 energy --out energy.svg
      stickslip plot ball.h5 energy --follow
      stickslip plot ball.h5 phase --system ball --out phase.png
      stickslip plot pile.h5 cones --at 0.5 --out cones.svg
      stickslip plot pile.h5 gaps --body box --log --out gaps.svg
      stickslip plot forced.h5 poincare --period 0.5 --after 10 --out section.svg
      stickslip plot solved.hdf5 cones --out cones.svg

    Parameters
    ----------
    file
        A trajectory, .h5 or .hdf5, or a problem file with a solution in it.
    what
        Kind of plot.
    out
        File to write: .svg, .png, .pdf, .pgf (for LaTeX) or .csv (the data); WHAT.svg by default.
    system
        Written equations only: system to draw.
    interaction
        Written equations only: interaction to draw.
    body
        Worlds only: body whose contacts or motion are drawn.
    coordinate
        Number of a coordinate, or x, y, z of a body; i,j for first-order systems; may be repeated.
    at
        Time of the cones [s]; by default all records, or the last one of a world.
    period
        Period of a Poincaré section [s].
    after
        Start time of a portrait or section [s].
    until
        End time of a portrait [s].
    log
        Use a logarithmic axis for penetrations.
    forces
        Draw mean forces instead of impulses.
    follow
        Redraw every second while another process writes the run, until its end or Ctrl+C.
    """
    from stickslip.files import ProblemRecord

    options_given: dict[str, Any] = {
        "system": system, "interaction": interaction, "body": body, "coordinate": coordinate, "at": at,
        "period": period, "after": after, "until": until, "log": log, "forces": forces,
    }  # fmt: skip
    options_given = {
        name: value for name, value in options_given.items() if value is not None and value is not False
    }
    if what is None:
        if options_given or out is not None:
            raise InputError(f"WHAT is missing: one of {', '.join(get_args(What))}")
        return _list(file)
    for name in options_given:
        if name not in TAKES[what]:
            takers = ", ".join(each for each, options in TAKES.items() if name in options)
            raise InputError(f"--{name} does not apply to {what}; it applies to {takers}")
    place = Path(f"{what}.svg") if out is None else out
    check_writable(place, PLOTS)
    source = _source(file)
    if isinstance(source, ProblemRecord) and what != "cones":
        if what == "residuals":
            advice = f"`stickslip solve {file} --plot {place}` draws the residuals of a solve"
            raise InputError(f"{file}: a problem contains no history; {advice}")
        raise InputError(f"{file}: {what} needs a run; only cones can be drawn for a problem")
    if coordinate is not None:
        if what == "poincare" and len(coordinate) > 1:
            raise InputError("--coordinate: a section shows one coordinate; phase accepts several")
        options_given["coordinate"] = coordinate if len(coordinate) > 1 else coordinate[0]
    draws = getattr(import_module("stickslip.view"), f"plot_{what}")
    with usable(place), refused(ValueError, before=f"{file}: "):
        draws(source, place, **options_given)
        wrote(place)
        with suppress(KeyboardInterrupt):
            for run in followed(file) if follow else ():
                draws(run, place, **options_given)
    return ExitCode.FINE


def _source(path: Path) -> Source:
    """Read the trajectory, or the problem with the data stored with it, in a file."""
    from stickslip.files.runs import is_trajectory

    return load_run(path) if is_trajectory(path) else load(path)


def _list(path: Path) -> int:
    """Print a table of the plots that a file supports, with their options and names."""
    from stickslip.files import ProblemRecord

    source = _source(path)
    if isinstance(source, ProblemRecord):
        stored = "its stored solution" if source.solution is not None else "none: the file has no solution"
        rows = [("cones", "", stored)]
    else:
        if not source.of_world:
            systems = (part.name for part in source.model.systems)
            laws = (part.name for part in source.model.interactions)
            names = {
                "system": f"systems: {listing(systems, LISTED)}",
                "interaction": f"interactions: {listing(laws, LISTED)}",
            }
        else:
            names = {"body": f"bodies: {listing(source.model.names, LISTED)}"}
        rows = [
            (
                drawing,
                " ".join(f"--{option}" for option in options if option in names or option not in NAMING),
                "; ".join(text for option, text in names.items() if option in options),
            )
            for drawing, options in TAKES.items()
        ]
    table(("plot", "options", "of"), rows, folds=("of",))
    return ExitCode.FINE
