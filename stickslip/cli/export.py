"""`stickslip export`: a recorded run for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, refused, usable, wrote
from stickslip.cli.places import check_not_itself, check_writable, load_run
from stickslip.cli.progress import watch_parts

Table = Literal["states", "contacts", "interactions", "sensors", "inputs", "energies", "joints"]
"""Tables of runs (`stickslip.export.tables.MAKERS`, written out to keep `--help` light)."""

ENDINGS = (".csv", ".parquet", ".vtkhdf", ".usda", ".usdc", ".usd", ".rrd")
"""Endings of what can be written (`stickslip.export.writer.ENDINGS`)."""


def export(
    file: Annotated[Path, Parameter(name="FILE")],
    out: Annotated[Path, Parameter(name="OUT")],
    /,
    *,
    table: Table | None = None,
    start: Annotated[float | None, Parameter(name="--from")] = None,
    until: float | None = None,
    every: int = 1,
) -> int:
    """Write a recorded run as tables, as a scene or as a stream, by the ending of OUT.

    .csv, .parquet   tables: the one of --table, or every one of the run, each in
                     a file with its name (OUT-states.csv, OUT-contacts.csv, ...)
    .vtkhdf          bodies for ParaView, and contacts beside it (OUT-contacts.vtkhdf)
    .usda .usdc .usd an animation for programs that read USD
    .rrd             a recording for Rerun's viewer

    For example:
      stickslip export stack.h5 stack.csv
      stickslip export stack.h5 forces.parquet --table contacts --from 0.5
      stickslip export stack.h5 stack.vtkhdf --every 10
      stickslip export stack.h5 stack.usdc
      stickslip export ball.h5 ball.rrd

    Parameters
    ----------
    file
        A trajectory, as `stickslip run ... --out FILE` writes it.
    out
        File to write; one that is there is replaced.
    table
        Which table is written; all by default.
    start
        Leave what comes before this time [s] out.
    until
        Leave what comes after this time [s] out.
    every
        Write every so many records.
    """
    check_writable(out, ENDINGS)
    run = load_run(file)
    from stickslip.export.records import ExportError
    from stickslip.export.writer import planned, write

    with refused(ExportError, before=f"{file}: "):
        for place in planned(run, out, table):
            check_writable(place, ENDINGS)
            check_not_itself(file, place)
        with usable(out), watch_parts(f"{file} to {out}") as parts:
            report = None if parts is None else lambda done, total: parts("records", done, total)
            places = write(run, out, table=table, start=start, until=until, every=every, report=report)
    for place in places:
        wrote(place, f" ({place.stat().st_size / 1e6:.1f} MB)")
    return ExitCode.FINE
