"""`stickslip demo`: simulate a collapsing column of spheres, certify the run, and write a page of it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from stickslip.cli.errors import ExitCode, InputError, complain, printable, usable, wrote
from stickslip.cli.parameters import Flag
from stickslip.cli.places import FCLIB, check_writable, make_folder
from stickslip.cli.progress import Time, watch, watch_time
from stickslip.cli.run import simulated
from stickslip.cli.tables import duration, pairs, table

if TYPE_CHECKING:
    from stickslip.simulation.trajectory import Trajectory

SOLVER, TOLERANCE = "nsgs", 1e-4
"""Solver of every step, and its tolerance [-]. Gauss-Seidel sweeps compile fastest, and with warm starts they
converge even where many contacts slide."""
STEP, UNTIL, RECORD = 1.0 / 240.0, 1.8, 8
"""Time step and end time of the run [s], and the number of steps per record."""
RADIUS = 0.1
"""Mean radius of the spheres [m]."""
FEW, SHORT = 8, 0.3
"""Number of spheres and end time [s] of the run that compiles all kernels before the timed run."""
ROUNDING = 1e-12
"""Allowed rounding error of the energy balance in a thousand steps [of the largest energy]; heuristic."""


def demo(
    *,
    out: Path = Path("out"),
    bodies: int = 1500,
    no_html: Flag = False,
) -> int:
    """Simulate a column of spheres that collapses around boulders, and certify the run.

    Every step solves Coulomb's exact law, for thousands of contacts at the end. Prints
    the certificates: residuals, penetration, energy balance. Writes demo.html, a page
    that plays the run in a browser, and demo.h5, the run for `stickslip view` and
    `stickslip plot`. Exit status 1: a certificate was missed.

    For example:
      stickslip demo
      stickslip demo --bodies 300 --out collapse

    Parameters
    ----------
    out
        Directory for demo.html and demo.h5; created if it does not exist.
    bodies
        Number of spheres; the computing time grows slightly faster than this number.
    no_html
        Do not write the page.
    """
    import numpy as np

    if bodies < 1:
        raise InputError(f"--bodies must be at least 1, got {bodies}")
    make_folder(out)
    file, page, title = out / "demo.h5", out / "demo.html", f"{bodies} spheres collapse around boulders"
    check_writable(file, FCLIB)
    if not no_html:
        check_writable(page, (".html",))
    with watch("compiling, once per installation"):
        _, failure, code, warm_up = _collapse(FEW, SHORT)
    if code in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        complain(failure.split()[0])  # nothing to show yet
        return code
    with watch_time(title) as progress:
        trajectory, failure, code, seconds = _collapse(bodies, UNTIL, progress)
    contacts, steps = np.diff(trajectory.raw_contacts.offset), max(trajectory.steps, 1)
    pairs(
        title,
        [
            ("steps", f"{trajectory.steps} of {duration(STEP)}, {SOLVER} to {TOLERANCE:g}"),
            ("sweeps", f"{trajectory.iterations.sum() / steps:.0f} a step"),
            ("contacts", f"{contacts.max()} at most, {contacts[-1]} at the end"),
            ("time", f"{duration(seconds)}, {duration(seconds / steps)} a step"),
            ("warm-up", f"{duration(warm_up)} to compile the kernels, or to load compiled ones"),
        ],
    )
    print()
    bounds = certificates(trajectory, 2.0 * RADIUS)
    rows = [(*bound.row, "yes" if bound.ok else "NO", bound.note) for bound in bounds]
    table(("certificate", "measured", "allowed", "ok", ""), rows, numbers=("measured", "allowed"))
    print()
    show_energy(trajectory)
    print()
    with usable(file):
        trajectory.save(file)
    wrote(file, f"; stickslip view {printable(str(file))} shows it in the full viewer")
    if not no_html:
        from stickslip.view.browser.export import export_html
        from stickslip.view.browser.server import ViewerError

        try:
            with watch("writing the page"):
                export_html(trajectory, page, title=title)
            wrote(page, "; open it in a browser")
        except ViewerError as error:  # the run is saved already
            complain(f"{page} was not written: {error}")
    if failure:
        complain(failure)
    return code if all(bound.ok for bound in bounds) else max(code, ExitCode.MISSED)


def _collapse(bodies: int, until: float, progress: Time | None = None) -> tuple[Any, str, ExitCode, float]:
    """Simulate a collapse; return the trajectory, the reason of an early end, exit code and time [s]."""
    from stickslip.scenes.grains import column_collapse

    world, start = column_collapse(bodies=bodies, radius=RADIUS), time.perf_counter()
    result = simulated(
        world, h=STEP, until=until, solver=SOLVER, tolerance=TOLERANCE, record=RECORD, on_failure="halve",
        progress=progress, forces="solver",
    )  # fmt: skip
    return *result, time.perf_counter() - start


class Bound(NamedTuple):
    """A certificate: a measured number and its upper bound."""

    claim: str
    """Name of the measured quantity."""
    measured: float
    """The measured number."""
    allowed: float
    """Upper bound of the measured number."""
    unit: str = ""
    """Unit of both numbers."""
    note: str = ""
    """Explanation of the number or of the bound."""

    @property
    def ok(self) -> bool:
        """Whether the bound holds; False for NaN."""
        return self.measured <= self.allowed

    @property
    def row(self) -> tuple[str, str, str]:
        """The claim and both numbers as text."""
        measured, allowed = (
            f"{x:.0f} {self.unit}" if float(x).is_integer() and abs(x) < 1e6 else f"{x:.1e} {self.unit}"
            for x in (self.measured, self.allowed)
        )
        return self.claim, measured.rstrip(), allowed.rstrip()


def certificates(trajectory: Trajectory, size: float) -> list[Bound]:
    """Certificates of a run with bodies of diameter `size` [m]; all steps count, recorded or not."""
    import numpy as np

    run, depth = trajectory, float(trajectory.penetration.max())
    speed = np.linalg.norm(run.v.reshape(len(run), -1, 6)[:, :, :3], axis=2).max()
    largest = float(run.kinetic.max() + np.abs(run.potential).max() + np.abs(run.work).max())
    balance = float(np.abs(run.balance).max()) / (largest or 1.0)
    return [
        Bound("steps above the tolerance", float(run.missed), 0.0, note=f"of {run.steps}"),
        Bound("natural residual, worst step", float(run.natural.max()), run.tolerance),
        Bound(
            "scaled natural residual, worst step", float(run.natural_scaled.max()), run.tolerance,
        ),
        Bound(
            "deepest penetration", depth, 2.0 * float(speed * run.h.max()), "m",
            f"{depth / size:.3f} diameters; allowed: approach of two bodies at top speed in one step",
        ),
        Bound(
            "error of the energy balance", balance, ROUNDING * max(1.0, run.steps / 1000.0),
            note="of the largest energy; allowed: rounding",
        ),
    ]  # fmt: skip


def show_energy(trajectory: Trajectory) -> None:
    """Print the energies at the start and at the end, and the terms of the energy balance."""
    run = trajectory
    rows = [
        (f"{name}, at the {when}", float(values[k]))
        for when, k in (("start", 0), ("end", -1))
        for name, values in (("kinetic", run.kinetic), ("potential", run.potential))
    ]
    rows += [
        ("dissipated by contacts", float(run.dissipated[-1])),
        ("work of moving bodies and of forces", float(run.work[-1])),
        ("added by the correction of overlaps", float(run.lifted[-1])),
        ("error of the balance", float(run.balance[-1])),
    ]
    table(("energy", "J"), [(name, f"{value:.6g}") for name, value in rows if value], numbers=("J",))
