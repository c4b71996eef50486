"""Write a run to files in the format of the suffix."""

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
"""Functions that write tables, by suffix."""
ENDINGS = (*TABLES, ".vtkhdf", ".usda", ".usdc", ".usd", ".rrd")
"""Suffixes of all formats."""
Fill = Callable[[Path, IntArray, Report | None], None]
"""Function that writes records of a run to a file."""


@np.errstate(all="ignore")  # diverged runs are exported too
def write(
    run: Run, path: str | PathLike[str], *, table: str | None = None, start: float | None = None,
    until: float | None = None, every: int = 1, report: Report | None = None,
) -> tuple[Path, ...]:  # fmt: skip
    """Write a run for other programs, each file atomically, and return the files.

    The suffix of `path` selects the format: .csv and .parquet one `table`, or by default all tables of the
    run, one file each (`run-states.csv`); .vtkhdf bodies, and contacts in a second file
    (`run-contacts.vtkhdf`), for ParaView; .usda, .usdc and .usd an animation; .rrd a recording of Rerun.
    Every `every`-th record from `start` to `until` [s] is written. `report` receives the number of records
    done and the total number.
    """
    places = planned(run, Path(path), table)
    numbers = picked(run, start, until, every)
    for place, fill in places.items():
        with drafted(place) as draft:
            fill(draft, numbers, report)
    return tuple(places)


def planned(run: Run, path: Path, what: str | None) -> dict[Path, Fill]:
    """Files of an export, with the functions that write them; raise an ExportError if the suffix is unknown,
    or the run has no such table."""
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
    """File of a part of a run: `run-states.csv` for `run.csv` and `states`."""
    return path.with_name(f"{path.stem}-{name}{path.suffix}")


@contextmanager
def drafted(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` on success; links are kept."""
    link, path = path, path.resolve()
    if path.exists() and not path.is_file():
        raise ExportError(f"{link}: it exists and is not a file")
    draft = path.with_name(f".{path.stem}.{os.getpid()}.draft{path.suffix}")
    try:
        yield draft
        draft.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(link)) from None
    finally:
        draft.unlink(missing_ok=True)
