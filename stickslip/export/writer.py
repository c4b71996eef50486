"""A run as a file, in the format that the ending of its name says."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from os import PathLike
from pathlib import Path

import numpy as np

from stickslip.export.records import ExportError, Report, Run, picked
from stickslip.export.rerun_stream import write_rerun
from stickslip.export.scene import with_shapes
from stickslip.export.table_files import write_csv, write_parquet
from stickslip.export.tables import Columns, maker, table, tables
from stickslip.export.usd import write_usd
from stickslip.export.vtkhdf import write_bodies, write_contacts
from stickslip.state import IntArray

TABLES = {".csv": write_csv, ".parquet": write_parquet}
"""Endings of tables."""
ENDINGS = (*TABLES, ".vtkhdf", ".usda", ".usdc", ".usd", ".rrd")
"""Endings of all that can be written."""
Fill = Callable[[Path, IntArray, Report | None], None]
"""Writes records of a run to a file."""


@np.errstate(all="ignore")  # a run that blew up is exported all the same
def write(
    run: Run, path: str | PathLike[str], *, table: str | None = None, start: float | None = None,
    until: float | None = None, every: int = 1, report: Report | None = None,
) -> tuple[Path, ...]:  # fmt: skip
    """Write a run for other programs, and say which files there are; each appears whole or not at all.

    The ending of `path` says what: .csv and .parquet one `table`, or without it every table of the run, each
    in a file with its name (`run-states.csv`); .vtkhdf bodies, and beside them contacts
    (`run-contacts.vtkhdf`), for ParaView; .usda, .usdc and .usd an animation; .rrd a recording of
    Rerun. Only records from `start` to `until` [s] are written, and every so many of them. `report` is told
    how many are done, and of how many.
    """
    places = planned(run, Path(path), table)
    numbers = picked(run, start, until, every)
    for place, fill in places.items():
        with drafted(place) as draft:
            fill(draft, numbers, report)
    return tuple(places)


def planned(run: Run, path: Path, what: str | None) -> dict[Path, Fill]:
    """The files that a run is written to, and what writes each; an ExportError where the ending or the table
    is not known or not of this run."""
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        raise ExportError(f"{path}: the name must end in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}")
    if what is not None and ending not in TABLES:
        raise ExportError(f"{path}: a table is written to {' or '.join(TABLES)}")
    if ending in TABLES:
        if what is not None:
            maker(run, what)
            return {path: partial(_write_table, TABLES[ending], run, what)}
        return {beside(path, name): partial(_write_table, TABLES[ending], run, name) for name in tables(run)}
    if ending == ".rrd":
        return {path: lambda draft, numbers, report: write_rerun(draft, run, numbers, report)}
    world = with_shapes(run, path)
    if ending == ".vtkhdf":
        return {
            path: lambda draft, numbers, report: write_bodies(draft, world, numbers, report),
            beside(path, "contacts"): lambda draft, numbers, report: write_contacts(
                draft, world, numbers, report
            ),
        }
    return {path: lambda draft, numbers, report: write_usd(draft, world, numbers, report)}


def _write_table(
    writes: Callable[[Path, Iterable[Columns]], int], run: Run, what: str, draft: Path, numbers: IntArray,
    report: Report | None,
) -> None:  # fmt: skip
    writes(draft, table(run, what, numbers, report))


def beside(path: Path, name: str) -> Path:
    """The file of a part of a run: `run.csv` and `states` make `run-states.csv`."""
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """A file to write to, which takes the place of `path` when all went well; a link stays a link."""
    given, path = path, path.resolve()
    if path.exists() and not path.is_file():
        raise ExportError(f"{given}: it exists and is not a file")
    draft = path.with_name(f".{path.stem}.{os.getpid()}.draft{path.suffix}")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(given)) from None
    finally:
        draft.unlink(missing_ok=True)
