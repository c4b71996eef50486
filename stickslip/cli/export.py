"""`stickslip export`: write a recorded run in formats of other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, refused, usable, wrote
from stickslip.cli.places import check_not_itself, check_writable, load_run
from stickslip.cli.progress import watch_parts

Table = Literal["states", "contacts", "interactions", "sensors", "inputs", "energies", "joints"]
"""Tables of runs (`stickslip.export.tables.MAKERS`, repeated to keep `--help` fast)."""

ENDINGS = (".csv", ".parquet", ".vtkhdf", ".usda", ".usdc", ".usd", ".rrd")
"""Suffixes of the formats (`stickslip.export.writer.ENDINGS`, repeated to keep `--help` fast)."""


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
    """Export a run as tables, as a scene or as a stream; the suffix of OUT selects the format.

    .csv, .parquet   the table of --table, or all tables of the run, one file each
                     (OUT-states.csv, OUT-contacts.csv, ...)
    .vtkhdf          bodies for ParaView, and contacts in OUT-contacts.vtkhdf
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
        File of a run, written by `stickslip run ... --out FILE`.
    out
        File to write; an existing file is replaced.
    table
        Table to write; all tables by default.
    start
        Start time of the export [s].
    until
        End time of the export [s].
    every
        Export every N-th record.
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
