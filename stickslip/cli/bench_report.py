"""`stickslip bench report`: the results of campaigns as a page, as text or as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from stickslip import DEFAULT_SOLVER
from stickslip.cli.errors import ExitCode, InputError, printable, refused, usable
from stickslip.cli.pages import DATA, PAGE_ENDINGS, PAPER, PageFormat, put, write_figures, write_page
from stickslip.cli.parameters import Flag
from stickslip.cli.places import check_not_itself, check_writable
from stickslip.cli.progress import watch
from stickslip.cli.settings import names_in
from stickslip.cli.tables import csv_text, finite, json_text
from stickslip.names import alternatives

if TYPE_CHECKING:
    from stickslip.bench.results import Results

Format = PageFormat | Literal["csv", "json"]
"""Formats of a report: a page, a table with one line per run, or the findings as JSON."""

Names = Annotated[str, Parameter(show_default=False)]
"""Names separated by commas; empty by default."""

ENDINGS: dict[str, Format] = {**PAGE_ENDINGS, ".csv": "csv", ".json": "json"}
"""Format of a report by the suffix of its file."""


def report(
    files: Annotated[list[Path], Parameter(name="FILE...")],
    /,
    *,
    out: Path | None = None,
    format: Format | None = None,
    data: Path | None = None,
    figures: Path | None = None,
    time: Literal["wall", "cpu"] = "wall",
    ours: Names = "",
    allow: Names = "",
    versions: Flag = False,
    solvers: Names = "",
    families: Names = "",
) -> int:
    """Report the results of campaigns: tables, profiles, scaling, environment, commands.

    The page is one file that contains all its figures and needs no network. Several
    results files are combined if they were made under the same conditions. Otherwise
    the difference is an error, which --allow turns into a note.

    For example:
      stickslip bench report results.h5 --out report.html
      stickslip bench report results.h5 --out report.md
      stickslip bench report results.h5 --out report.tex
      stickslip bench report results.h5 --out report.html --data data --figures figures
      stickslip bench report results.h5 --format csv > runs.csv
      stickslip bench report here.h5 there.h5 --allow machine --out both.html
      stickslip bench report old.h5 new.h5 --versions --out versions.html
      stickslip bench report results.h5 --solvers nsgs,prox --families chute --out two.html

    Parameters
    ----------
    files
        Results files of `stickslip bench run`.
    out
        File to write; the figures of .md and .tex go into a folder beside it. A .pdf needs TeX on
        this machine. By default md, tex, csv and json go to standard output (md and tex without
        figures).
    format
        Format: html, md, tex, pdf, csv (one line per run) or json; by default the suffix of --out.
    data
        Folder for the data of the figures, one CSV file each; created if it does not exist.
    figures
        Folder for the figures as PDF and as PGF (for LaTeX).
    time
        Time to compare: wall time or processor time.
    ours
        Solvers whose losses are listed one by one, separated by commas; by default the solvers of
        --own, or auto if there are none.
    allow
        Differences between files to accept, separated by commas.
    versions
        Compare each solver of the first file with the same solver of the other files, for example of
        two releases. Separate tables compare them; elsewhere they are named after the files, such as
        nsgs@old and nsgs@new.
    solvers
        Solvers to show, by label or name, separated by commas; all by default.
    families
        Families of problems to show, separated by commas; all by default.
    """
    from stickslip.bench.reports.data import findings, runs_table
    from stickslip.bench.reports.report import report as compose
    from stickslip.bench.reports.versions import versions_section

    chosen = _format(out, format)
    if out is not None:  # check the paths before the work begins
        check_writable(out, list(ENDINGS) if format is None else [out.suffix.lower()])
        for path in files:
            check_not_itself(path, out)
    notes: list[str] = []
    with watch("reading results"):
        tags = _versions(files) if versions else []
        gathered = _gathered(files, names_in(allow), notes, tags)
        results = _chosen(gathered, names_in(solvers), names_in(families), notes)
    ours_shown = _told(results, ours)
    if chosen == "csv":
        listing = runs_table(results)
        cells = ([finite(cell) for cell in row] for row in listing.rows)  # missing values are empty
        fields = ([str(x).lower() if isinstance(x, bool) else x for x in row] for row in cells)
        put(csv_text(listing.headings, fields), out)
    elif chosen == "json":
        put(json_text({"notes": notes} | findings(results, time, ours_shown)) + "\n", out)
    else:
        with watch("drawing figures"):
            page = compose(results, time, notes=notes, ours=ours_shown)
            if versions:
                page = replace(page, sections=[versions_section(results, tags, time), *page.sections])
            write_figures(page, data, DATA)
            write_figures(page, figures, PAPER)
            write_page(page, chosen, out)
        if out is not None:
            for sentence in page.summary:
                print(printable(" ".join(sentence.split())))
    return ExitCode.FINE


def _format(out: Path | None, requested: Format | None) -> Format:
    """Format of the report: the one requested, else by the suffix of `out`."""
    if out == Path():
        raise InputError("--out is empty; give the name of a file")
    if out is None and requested in (None, "html", "pdf"):
        kind = requested or "html"
        raise InputError(f"a report in the format {kind} needs --out, for example --out report.{kind}")
    if requested is not None:
        return requested
    assert out is not None
    if out.suffix.lower() not in ENDINGS:
        raise InputError(f"--out {out}: the suffix must be one of {', '.join(ENDINGS)}, or give --format")
    return ENDINGS[out.suffix.lower()]


def _versions(files: Sequence[Path]) -> list[str]:
    """Names of the versions: the names of the files without suffixes."""
    tags = [path.stem for path in files]
    if len(files) < 2 or len(set(tags)) < len(tags):
        raise InputError("--versions compares results files with different names; give at least two")
    return tags


def _gathered(
    files: Sequence[Path], allow: Sequence[str], notes: list[str], tags: Sequence[str] = ()
) -> Results:
    """Combine all files into one table of results; accepted differences become notes."""
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.bench.reports.versions import tagged
    from stickslip.bench.results import DIFFERENCES, Mixed, combine

    _check_known("--allow", "no such difference", allow, DIFFERENCES, "there are")
    tables = []
    for path in files:
        if path.is_dir():
            raise InputError(f"{path}: this is a directory, not a results file")
        with refused(Mixed), usable(path):
            tables.append(read_results(path))
    if tags:
        tables = [tagged(table, tag) for table, tag in zip(tables, tags, strict=True)]
        allow = [*allow, *(kind for kind in ("versions", "code") if kind not in allow)]
    with refused(Mixed):
        results = combine(tables, allow, names=[str(path) for path in files], report=notes.append)
    if allow and len(files) > 1:
        notes.append(f"Differences between the files in {', '.join(allow)} were accepted.")
    if not results.runs:
        raise InputError(
            f"{', '.join(map(str, files))}: the files contain no runs; `stickslip bench run` makes runs"
        )
    return results


def _check_known(
    option: str, wrong: str, names: Sequence[str], known: Sequence[str], before: str = "there are runs of"
) -> None:
    """Raise an error if a name matches none of the known labels."""
    for name in names:
        if not any(_means(name, label) for label in known):
            raise InputError(f"{option} {name}: {wrong}; {alternatives(name, known, before)}")


def _chosen(results: Results, solvers: Sequence[str], families: Sequence[str], notes: list[str]) -> Results:
    """Select the runs of some solvers on problems of some families; a name selects all its variants."""
    known, problems, runs = results.solvers, results.problems, results.runs
    if solvers:
        _check_known("--solvers", "no run of it", solvers, known)
        labels = [label for label in known if any(_means(name, label) for name in solvers)]
        notes.append(
            f"Only some solvers are compared here: {', '.join(labels)} of {len(known)} in the results."
        )
        runs = tuple(run for run in runs if run.solver in labels)
    if families:
        _check_known("--families", "no problem of it", families, results.families, "there are")
        notes.append(f"Only some families are in here: {', '.join(families)} of {len(results.families)}.")
        problems = tuple(entry for entry in problems if entry.family in families)
        hashes = {entry.hash for entry in problems}
        runs = tuple(run for run in runs if run.problem in hashes)
    return replace(results, problems=problems, runs=runs)


def _told(results: Results, ours: str) -> list[str]:
    """Solvers whose losses are listed: those named, else the user's own solvers, else the default solver."""
    from stickslip.bench.reports.subject import base, is_peer
    from stickslip.solvers import registry

    names = names_in(ours)
    if not names:
        user_solvers = [label for label in results.solvers if base(label) not in registry.names()]
        return [label for label in user_solvers if not is_peer(label)] or [DEFAULT_SOLVER]
    _check_known("--ours", "no run of it", names, results.solvers)
    return names


def _means(name: str, label: str) -> bool:
    """Whether a name selects a label `solver@version:options`, with or without its options and version."""
    solver = label.partition(":")[0]
    return name in (label, solver, solver.partition("@")[0])
