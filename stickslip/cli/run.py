"""`stickslip run`: simulate a ready scene, and check what is known about it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, os_sentence, printable
from stickslip.cli.progress import watch_time
from stickslip.cli.settings import parsed, read_settings
from stickslip.cli.tables import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from stickslip.scenes.scenario import Fact, Scenario
    from stickslip.schemes.step import Scheme
    from stickslip.simulation.checkpoint import Checkpoint
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.systems.system import NonsmoothSystem


def run(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *,
    scheme: str | None = None,
    solver: str | None = None,
    h: Annotated[float | None, Parameter(name="--h")] = None,
    until: float | None = None,
    settings: Annotated[list[str] | None, Parameter(name="--set")] = None,
    record: int = 1,
    on_failure: Literal["raise", "accept", "halve"] = "raise",
    out: Path | None = None,
    plot: Path | None = None,
    resume: Path | None = None,
) -> int:
    """List the scenes, or simulate one of them and check what is known about it.

    Prints what was simulated and how well, and a table of facts: what closed
    forms and conservation laws say, and what was found. Exit status 1 says that
    a fact was not found, or that a step missed its tolerance.

    For example:
      stickslip run
      stickslip run bouncing-ball
      stickslip run bouncing-ball --set e=0.5 --h 1e-4 --plot ball.png
      stickslip run bouncing-ball --scheme event-driven --out ball.h5
      stickslip run bouncing-ball --resume ball.h5 --until 10

    Parameters
    ----------
    name
        Simulate this scene; without it, one line per scene.
    scheme
        Time scheme; that of the scene by default.
    solver
        Solver of the contact problems, as `stickslip solvers` lists them; auto by default.
    h
        Time step [s]; that of the scene by default.
    until
        End [s]; that of the scene by default.
    settings
        Parameters of the scene and options of the scheme as name=value, one per --set.
    record
        Keep every so many steps.
    on_failure
        What to do about a step that misses its tolerance: raise stops there, accept
        counts it, halve tries shorter steps.
    out
        Write the trajectory to this file, .h5 or .hdf5.
    plot
        Draw the figure of the scene into this file, .png or .svg.
    resume
        Go on from the end of this trajectory of the same scene.
    """
    from stickslip.scenes import runs

    if name is None:
        rows = [(each, runs.make(each).summary) for each in runs.names()]
        table(("scene", "summary"), rows, folds=("summary",))
        return ExitCode.FINE
    _check_places(out, plot, resume)
    try:
        scene, chosen = _scene(name, scheme, settings or [])
        start = None if resume is None else _start(resume)
        same = start is not None and scheme is None and not settings
        if h is None and start is None:
            h = scene.h
        with watch_time(name) as progress:
            trajectory, failure = _simulated(
                scene.system, scheme=None if same else chosen, h=h, solver=solver,
                until=scene.until if until is None else until, record=record,
                on_failure=on_failure, start=start, progress=progress,
            )  # fmt: skip
    except (KeyError, TypeError, ValueError) as error:
        # The message of a KeyError is quoted when it is shown as text.
        raise InputError(str(error.args[0]) if error.args else str(error)) from None
    written = _write(scene, trajectory, out, plot)
    print(f"{name}: {printable(scene.summary)}\n\n{printable_lines(str(trajectory))}")
    held = _show_facts(scene, trajectory) if start is None and not failure else True
    for place in written:
        print(f"wrote {printable(str(place))}")
    if failure:
        complain(failure)
    return ExitCode.FINE if held and not failure and not trajectory.missed else ExitCode.MISSED


def printable_lines(text: str) -> str:
    """Several lines, each without control characters."""
    return "\n".join(map(printable, text.split("\n")))


def _check_places(out: Path | None, plot: Path | None, resume: Path | None) -> None:
    from stickslip.cli.places import FCLIB, PLOTS, check_not_itself, check_writable

    if out is not None:
        check_writable(out, FCLIB)
        if resume is not None:
            check_not_itself(resume, out)
    if plot is not None:
        check_writable(plot, PLOTS)


def _scene(name: str, scheme: str | None, settings: Sequence[str]) -> tuple[Scenario, Scheme]:
    """The scene with its parameters set, and the scheme with its options."""
    from stickslip.scenes import runs
    from stickslip.schemes import registry

    given = read_settings(settings)
    known = runs.parameters(name)
    scene = runs.make(name, **{key: parsed(key, given.pop(key), known[key]) for key in known if key in given})
    chosen = scene.scheme if scheme is None else scheme
    entry = registry.entry(chosen)
    if scene.schemes and chosen not in scene.schemes:
        raise InputError(f"{name} cannot be run by {chosen}; it can by {', '.join(scene.schemes)}")
    defaults = {spec.name: spec.default for spec in entry.options}
    for key in given:
        if key not in defaults:
            raise InputError(
                f"--set {key}: {name} has no such parameter and {chosen} no such option; there are:"
                f" {', '.join((*known, *defaults))}"
            )
    options = dict(scene.options) if chosen == scene.scheme else {}
    options |= {key: parsed(key, text, defaults[key]) for key, text in given.items()}
    return scene, registry.make(chosen, **options)


def _start(path: Path) -> Checkpoint:
    from stickslip.files import FormatError
    from stickslip.files.trajectories import read_trajectory

    try:
        return read_trajectory(path).checkpoint()
    except FormatError as error:
        raise InputError(str(error)) from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None


def _simulated(system: NonsmoothSystem, **how: Any) -> tuple[Trajectory, str]:
    """The trajectory, and why it ends early where it does."""
    from stickslip import simulate
    from stickslip.simulation.failure import SimulationFailure

    try:
        return simulate(system, **how), ""
    except SimulationFailure as failure:
        return failure.trajectory, str(failure).partition("; on_failure=")[0]


def _write(scene: Scenario, trajectory: Trajectory, out: Path | None, plot: Path | None) -> list[Path]:
    from stickslip.files import FormatError

    try:
        if out is not None:
            trajectory.save(out)
        if plot is not None:
            from stickslip.view.figures import draw

            draw(scene.figure(trajectory), plot)
    except OSError as error:
        raise InputError(os_sentence(error, error.filename or out or plot)) from None
    except FormatError as error:
        raise InputError(str(error)) from None
    return [place for place in (out, plot) if place is not None]


def _show_facts(scene: Scenario, trajectory: Trajectory) -> bool:
    """Print the facts; whether all of them were found."""
    try:
        facts = scene.facts(trajectory)
    except (IndexError, ValueError) as error:  # a run that is too short to show them
        complain(f"the facts of {scene.name} cannot be measured on this run: {error}")
        return False
    if facts:
        print()
        headings = ("fact", "measured", "expected", "tolerance", "ok")
        table(headings, [_row(fact) for fact in facts], numbers=headings[1:4], folds=("fact",))
        print()
    return all(fact.ok for fact in facts)


def _row(fact: Fact) -> tuple[str, ...]:
    numbers = (f"{fact.measured:.9g}", f"{fact.expected:.9g}", f"{fact.tolerance:.2g}")
    return (fact.claim, *numbers, "yes" if fact.ok else "NO")
