"""`stickslip sweep-report`: the results of a sweep as a page, as text or as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, refused, usable
from stickslip.cli.pages import DATA, PAGE_ENDINGS, PAPER, put, write_figures, write_page
from stickslip.cli.places import check_not_itself, check_writable
from stickslip.cli.progress import watch
from stickslip.cli.settings import names_in

ENDINGS = (*PAGE_ENDINGS, ".csv")
"""Suffixes of the formats."""


def sweep_report(
    file: Annotated[Path, Parameter(name="FILE")],
    /,
    *,
    out: Path,
    measures: str | None = None,
    data: Path | None = None,
    figures: Path | None = None,
) -> int:
    """Report the results of a sweep: response curves, heat maps, histograms, tables.

    The page is one file that needs no network. A running or interrupted sweep is
    reported with the runs that it has.

    For example:
      stickslip sweep-report sweep.h5 --out report.html
      stickslip sweep-report sweep.h5 --out report.html --measures runout,energy
      stickslip sweep-report sweep.h5 --out report.tex
      stickslip sweep-report sweep.h5 --out report.html --data data --figures figures
      stickslip sweep-report sweep.h5 --out runs.csv

    Parameters
    ----------
    file
        File of a sweep.
    out
        Page (.html), text with tables (.md, .tex; its figures go into a folder beside it), PDF (needs
        TeX on this machine), or one line for each run (.csv).
    measures
        Quantities to draw, by name or first letters, separated by commas; all by default.
    data
        Folder for the data of the figures, one CSV file each.
    figures
        Folder for the figures as PDF and as PGF (for LaTeX).
    """
    from stickslip.files.problems import holds_sweep
    from stickslip.sweeps.page import report
    from stickslip.sweeps.result import csv_content, read_sweep

    check_writable(out, ENDINGS)
    check_not_itself(file, out)
    if file.exists() and not holds_sweep(file):
        raise InputError(f"{file}: this is not the file of a sweep, which `stickslip sweep` writes")
    with watch("reading the sweep"), usable(file, "sweep"):
        result = read_sweep(file)
    with watch("drawing figures"), refused(KeyError):
        page = report(result, names_in(measures))
        write_figures(page, data, DATA)
        write_figures(page, figures, PAPER)
        if out.suffix.lower() == ".csv":
            put(csv_content(result.table()).decode(), out)
        else:
            write_page(page, PAGE_ENDINGS[out.suffix.lower()], out)
    return ExitCode.FINE
