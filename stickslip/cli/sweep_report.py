"""`stickslip sweep-report`: what a sweep found, as a page, as text, or as a table."""

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


def sweep_report(
    file: Annotated[Path, Parameter(name="FILE")],
    /,
    *,
    out: Path,
    measures: str | None = None,
    data: Path | None = None,
    figures: Path | None = None,
) -> int:
    """Show what a sweep found: response curves, heat maps, histograms, tables.

    The page is one file that needs no network. A sweep that still runs, or was
    interrupted, is shown as far as it is.

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
        A page (.html), text with tables (.md, .tex) and its figures in a folder beside it, a
        PDF by the TeX of this machine, or a line for each run (.csv).
    measures
        Only these are drawn, by their names or beginnings of them, commas between.
    data
        Also write the points of every figure into this folder, a CSV file each.
    figures
        Also write every figure into this folder, as PDF and as PGF (for LaTeX).
    """
    from stickslip.files.problems import holds_sweep
    from stickslip.sweeps.page import report
    from stickslip.sweeps.result import csv_content, read_sweep

    check_writable(out, ENDINGS)
    check_not_itself(file, out)
    if file.exists() and not holds_sweep(file):
        raise InputError(f"{file}: is no file of a sweep; `stickslip sweep` writes such")
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
