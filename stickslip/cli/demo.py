"""`stickslip demo`: a column of spheres collapses; what is certified about it, and a page that plays it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, os_sentence, printable
from stickslip.cli.progress import Time, watch, watch_time
from stickslip.cli.stops import stop_code, stop_word
from stickslip.cli.tables import duration, pairs

if TYPE_CHECKING:
    from stickslip.simulation.world_trajectory import WorldTrajectory

SOLVER, TOLERANCE = "nsgs", 1e-4
"""What solves every step, and to what [-]. Sweeps alone: they take the least to compile, and from the last
step's impulses they come to an end where much slides."""
STEP, UNTIL, RECORD = 1.0 / 240.0, 1.8, 8
"""Time step and end of the run [s], and how many steps there are for one that is kept."""
RADIUS = 0.1
"""Mean of the spheres' [m]."""
FEW, SHORT = 8, 0.3
"""Spheres and end [s] of the run that compiles everything before the one that is timed."""


def demo(
    *,
    out: Path = Path("out"),
    bodies: int = 1500,
    no_html: Annotated[bool, Parameter(show_default=False)] = False,
) -> int:
    """Simulate a column of spheres that collapses around boulders, and certify the run.

    Coulomb's exact law in every step, over thousands of contacts at the end. Prints
    what is certified: residuals, penetration, energy. Leaves demo.html, a page that
    plays the run in a browser, and demo.h5, the run itself, for `stickslip view`
    and `stickslip plot`. Exit status 1 says that a certificate was missed.

    For example:
      stickslip demo
      stickslip demo --bodies 300 --out collapse

    Parameters
    ----------
    out
        Directory for demo.html and demo.h5; made if it is not there.
    bodies
        How many spheres; time grows a little faster than their number.
    no_html
        Write no page.
    """
    from stickslip.cli.certificate_table import certificates, show_certificates, show_energy
    from stickslip.cli.places import FCLIB, check_writable, make_folder

    if bodies < 1:
        raise InputError(f"--bodies {bodies}: there must be at least 1")
    make_folder(out)
    file, page, title = out / "demo.h5", out / "demo.html", f"{bodies} spheres collapse around boulders"
    check_writable(file, FCLIB)
    if not no_html:
        check_writable(page, (".html",))
    with watch("compiling, once per installation"):
        first = _simulated(FEW, SHORT).seconds
    with watch_time(title) as progress:
        run = _simulated(bodies, UNTIL, progress)
    trajectory = run.trajectory
    _show_run(title, run, first)
    print()
    held = show_certificates(certificates(trajectory, 2.0 * RADIUS))
    print()
    show_energy(trajectory)
    print()
    _save(trajectory, file)
    if not no_html:
        _export(trajectory, page, title)
    if run.failure:
        complain(run.failure)
    return run.code if held else max(run.code, ExitCode.MISSED)


class _Run(NamedTuple):
    """A run as far as it went."""

    trajectory: WorldTrajectory
    seconds: float
    """How long it took [s]."""
    failure: str
    """Why it ended early, if it did."""
    code: ExitCode
    """What the process is to return then."""


def _simulated(bodies: int, until: float, progress: Time | None = None) -> _Run:
    from stickslip import simulate
    from stickslip.scenes.collapse import column_collapse
    from stickslip.simulation.failure import SimulationFailure

    world, failure, code = column_collapse(bodies=bodies, radius=RADIUS), "", ExitCode.FINE
    begun = time.perf_counter()
    try:
        trajectory = simulate(
            world, h=STEP, until=until, solver=SOLVER, tolerance=TOLERANCE, record=RECORD,
            on_failure="halve", progress=progress, forces="solver",
        )  # fmt: skip
    except SimulationFailure as missed:
        trajectory, failure = missed.trajectory, str(missed).partition("; on_failure=")[0]
        code = ExitCode.MISSED
    except KeyboardInterrupt as stop:
        done = getattr(stop, "trajectory", None)
        if done is None or bodies == FEW:  # nothing to show yet
            raise
        trajectory, code = done, stop_code(stop)
        failure = f"{stop_word(stop)} at t = {trajectory.t[-1]:.6g} s; what was done until then is kept"
    return _Run(trajectory, time.perf_counter() - begun, failure, code)


def _show_run(title: str, run: _Run, first: float) -> None:
    """What was simulated, and how long that took; `first`: what came before it [s]."""
    import numpy as np

    trajectory, seconds = run.trajectory, run.seconds
    contacts, steps = np.diff(trajectory.raw_contacts.offset), max(trajectory.steps, 1)
    pairs(
        title,
        [
            ("steps", f"{trajectory.steps} of {duration(STEP)}, {SOLVER} to {TOLERANCE:g}"),
            ("sweeps", f"{trajectory.iterations.sum() / steps:.0f} a step"),
            ("contacts", f"{contacts.max()} at most, {contacts[-1]} at the end"),
            ("time", f"{duration(seconds)}, {duration(seconds / steps)} a step"),
            ("before it", f"{duration(first)} to compile, or to load what was compiled"),
        ],
    )


def _save(trajectory: WorldTrajectory, file: Path) -> None:
    try:
        trajectory.save(file)
    except OSError as error:
        raise InputError(os_sentence(error, file)) from None
    name = printable(str(file))
    print(f"wrote {name}; stickslip view {name} shows it with all that can be clicked")


def _export(trajectory: WorldTrajectory, page: Path, title: str) -> None:
    """Write the page, or say what is missing: all else is done."""
    from stickslip.view.browser.export import export_html
    from stickslip.view.browser.server import ViewerError

    try:
        with watch("writing the page"):
            export_html(trajectory, page, title=title)
    except ViewerError as error:
        complain(f"{page} was not written: {error}")
    else:
        print(f"wrote {printable(str(page))}; open it in a browser")
