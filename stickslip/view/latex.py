"""Convert a page to LaTeX, with booktabs tables that may break over pages and pgfplots figures in separate
files; or to PDF, if TeX is installed."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from stickslip.exhibits import Figure, Page, Section, Table
from stickslip.view.figures import draw, palette
from stickslip.view.latex_text import latex_text
from stickslip.view.pgf import PREAMBLE
from stickslip.view.text import clean, right_aligned

ROWS = 60
"""Most rows of a table; the CSV of all runs has them all."""
UNBROKEN = 30
"""Largest number of rows of a table that is kept on one page."""
ENGINES = ("pdflatex", "lualatex", "xelatex")
"""Programs that make a PDF of LaTeX, the usual one first."""
PASSES = 2
"""Number of TeX runs; the widths of long tables are known after the first."""
TOO_LONG = 300.0
"""Time limit of a TeX run [s]."""
HEAD = (
    r"\documentclass[a4paper,10pt]{article}",
    r"\usepackage[T1]{fontenc}",
    r"\usepackage[utf8]{inputenc}",
    r"\usepackage[margin=2cm]{geometry}",
    r"\usepackage{textcomp,booktabs,longtable,adjustbox}",
    *PREAMBLE,
    r"\setlength{\parindent}{0pt}\setlength{\parskip}{0.5em}",
    r"\begin{document}",
)
"""Beginning of a document."""


class TeXError(RuntimeError):
    """A report cannot be converted to PDF; the message names the reason and a remedy."""


def latex(page: Page, figures: str | Path | None = None, link: str = "") -> str:
    """Convert a page to a LaTeX document, without folded sections; the same page gives the same text.

    figures     folder for the figures, created if it does not exist: `figure-1.pgf`, which the document
    reads,
                and its data, `figure-1.csv`. Without it a line stands in place of each figure
    link        prefix of the names of figures in the document, such as the name of the folder
    """
    return "\n".join(_page(page, None if figures is None else Path(figures), link)) + "\n"


def write_pdf(page: Page, path: str | Path) -> None:
    """Write a page as PDF with an installed TeX; raise a TeXError if there is none or if it fails."""
    from stickslip.files.problems import replace_file

    path = Path(path)
    engine = next((place for name in ENGINES if (place := shutil.which(name))), None)
    if engine is None:
        raise TeXError(
            f"{path}: a PDF of a report needs one of {', '.join(ENGINES)}, and none is installed; write"
            f" {path.with_suffix('.tex').name} and give it to a TeX, or write .html and print it"
        )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "report.tex").write_text(latex(page, folder / "figures", "figures/"), encoding="utf-8")
        command = [engine, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "report.tex"]
        for _ in range(PASSES):
            _run(command, folder, path)
        replace_file(path, (folder / "report.pdf").read_bytes())


def _run(command: Sequence[str], folder: Path, path: Path) -> None:
    # With a fixed date the same report gives the same bytes.
    env = os.environ | {"SOURCE_DATE_EPOCH": "0", "FORCE_SOURCE_DATE": "1"}
    try:
        process = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, errors="replace", timeout=TOO_LONG
        )
    except subprocess.TimeoutExpired:
        raise TeXError(f"{path}: {command[0]} did not end within {TOO_LONG:g} s") from None
    if process.returncode or not (folder / "report.pdf").exists():
        errors = [line for line in process.stdout.splitlines() if line.startswith("!")] or ["no reason given"]
        raise TeXError(f"{path}: {command[0]} failed: {errors[0]}; write .tex to see what it was given")


def _page(page: Page, folder: Path | None, link: str) -> Iterator[str]:
    sections = [section for section in page.sections if not section.folded]
    drawn = [figure for section in sections for figure in section.figures]
    names = {id(figure): f"figure-{k}" for k, figure in enumerate(drawn, 1)}
    if folder is not None and drawn:
        folder.mkdir(parents=True, exist_ok=True)
        for figure, colours in zip(drawn, palette(drawn), strict=True):
            for ending in (".pgf", ".csv"):
                draw(figure, folder / f"{names[id(figure)]}{ending}", colours)
    yield from HEAD
    yield rf"\title{{{latex_text(page.title)}}}\date{{}}\author{{}}\maketitle"
    if page.summary:
        yield r"\begin{itemize}"
        yield from (rf"\item {latex_text(sentence)}" for sentence in page.summary)
        yield r"\end{itemize}"
    for section in sections:
        yield from _section(section, None if folder is None else link, names)
    yield r"\end{document}"


def _section(section: Section, link: str | None, names: dict[int, str]) -> Iterator[str]:
    yield ""
    yield rf"\section{{{latex_text(section.title)}}}"
    for paragraph in section.text:
        yield f"{latex_text(paragraph)}\n"
    for table in section.tables:
        yield from _table(table)
    for figure in section.figures:
        yield from _figure(figure, None if link is None else f"{link}{names[id(figure)]}.pgf")
    for row in clean(section.code).splitlines():
        yield rf"\texttt{{\small {latex_text(row) or '~'}}}\\"


def _table(table: Table) -> Iterator[str]:
    text = table.text()
    if not text:
        yield rf"\par\medskip\textbf{{{latex_text(table.title)}}}\par"
        yield rf"{latex_text(table.note) or 'No rows.'}"
        return
    columns = "".join("r" if right else "l" for right in right_aligned(table))
    heading = f"{_row(table.headings)} \\midrule"
    if len(text) <= UNBROKEN:
        # A short table stays on one page with its title, and is made to fit the width of the page.
        yield r"\par\medskip\noindent\begin{minipage}{\textwidth}"
        yield rf"\textbf{{{latex_text(table.title)}}}\par\smallskip"
        yield r"\footnotesize\setlength{\tabcolsep}{3pt}"
        yield rf"\adjustbox{{max width=\textwidth}}{{\begin{{tabular}}{{{columns}}}"
        yield from (r"\toprule", heading, *map(_row, text), r"\bottomrule")
        yield r"\end{tabular}}\end{minipage}\par\smallskip"
    else:
        yield r"\begingroup\footnotesize\setlength{\tabcolsep}{3pt}\setlength{\LTleft}{0pt}"
        yield rf"\begin{{longtable}}{{{columns}}}"
        yield rf"\multicolumn{{{len(columns)}}}{{l}}{{\normalsize\textbf{{{latex_text(table.title)}}}}} \\"
        yield from (r"\toprule", rf"{heading}\endfirsthead", r"\toprule", rf"{heading}\endhead")
        yield r"\bottomrule\endfoot"
        yield from map(_row, text[:ROWS])
        yield r"\end{longtable}\endgroup"
    if len(text) > ROWS:
        yield f"{len(text) - ROWS} of {len(text)} rows are left out; the CSV report has all.\n"
    if table.note:
        yield f"{latex_text(table.note)}\n"


def _row(cells: Sequence[str]) -> str:
    return " & ".join(map(latex_text, cells)) + r" \\"


def _figure(figure: Figure, place: str | None) -> Iterator[str]:
    if place is None:
        yield rf"\par\textit{{Figure left out here: {latex_text(figure.title)}}}"
        return
    yield r"\par\medskip\noindent\begin{minipage}{\textwidth}\centering"
    yield rf"\textbf{{{latex_text(figure.title)}}}\par\smallskip"
    # Figures with many panels are scaled to the width of the page.
    yield rf"\adjustbox{{max width=\textwidth, max totalheight=0.85\textheight}}{{\input{{{place}}}}}"
    if figure.note:
        yield rf"\par\footnotesize {latex_text(figure.note)}"
    yield r"\end{minipage}\par"
