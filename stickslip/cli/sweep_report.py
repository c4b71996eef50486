"""`stickslip sweep-report`: what a sweep found, as a page, as text, or as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, refused, usable, wrote
from stickslip.cli.places import check_not_itself, check_writable
from stickslip.cli.progress import watch
from stickslip.cli.settings import names_in

ENDINGS = (".html", ".md", ".csv")


def sweep_report(
    file: Annotated[Path, Parameter(name="FILE")],
    /,
    *,
    out: Path,
    measures: str | None = None,
) -> int:
    """Report the results of a sweep: response curves, heat maps, histograms, tables.

    The page is one file that needs no network. A running or interrupted sweep is
    reported with the runs that it has.

    For example:
      stickslip sweep-report sweep.h5 --out report.html
      stickslip sweep-report sweep.h5 --out report.html --measures runout,energy
      stickslip sweep-report sweep.h5 --out runs.csv

    Parameters
    ----------
    file
        File of a sweep.
    out
        Page (.html), text with tables (.md), or one line for each run (.csv).
    measures
        Quantities to draw, by name or first letters, separated by commas; all by default.
    """
    from stickslip.files.problems import holds_sweep, replace_file
    from stickslip.sweeps.page import report
    from stickslip.sweeps.result import csv_content, read_sweep
    from stickslip.view.markdown import markdown
    from stickslip.view.page import page_html

    check_writable(out, ENDINGS)
    check_not_itself(file, out)
    if file.exists() and not holds_sweep(file):
        raise InputError(f"{file}: this is not the file of a sweep, which `stickslip sweep` writes")
    with watch("reading the sweep"), usable(file, "sweep"):
        result = read_sweep(file)
    with watch("drawing figures"), refused(KeyError):
        if out.suffix.lower() == ".csv":
            content = csv_content(result.table())
        else:
            page = report(result, names_in(measures))
            content = (page_html(page) if out.suffix.lower() == ".html" else markdown(page)).encode()
    with usable(out):
        replace_file(out, content)
    wrote(out)
    return ExitCode.FINE
