"""Write reports to files: HTML, Markdown, LaTeX or PDF, and the figures of a page one by one."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from stickslip.cli.errors import printable, refused, usable, wrote
from stickslip.cli.places import make_folder

if TYPE_CHECKING:
    from stickslip.exhibits import Page

PageFormat = Literal["html", "md", "tex", "pdf"]
"""Formats of a page: HTML, Markdown, LaTeX and PDF."""
PAGE_ENDINGS: dict[str, PageFormat] = {
    ".html": "html", ".htm": "html", ".md": "md", ".tex": "tex", ".pdf": "pdf",
}  # fmt: skip
"""Format of a page by the suffix of its file."""
DATA, PAPER = (".csv",), (".pdf", ".pgf")
"""Suffixes of the data of a figure, and of figures for papers."""


def write_page(page: Page, chosen: PageFormat, out: Path | None) -> None:
    """Write a page; without `out`, md and tex are written to standard output, without figures."""
    from stickslip.view.latex import TeXError, latex, write_pdf
    from stickslip.view.markdown import markdown
    from stickslip.view.page import page_html

    write = {"md": markdown, "tex": latex}
    if out is None:
        put(write[chosen](page), None)
        return
    with usable(out), refused(TeXError):
        if chosen == "pdf":
            write_pdf(page, out)
            wrote(out)
        elif chosen == "html":
            put(page_html(page), out)
        else:
            folder = out.with_name(f"{out.stem}-figures")
            put(write[chosen](page, folder, link=f"{folder.name}/"), out)


def write_figures(page: Page, folder: Path | None, endings: Sequence[str]) -> None:
    """Write all figures of a page, named by number and title, in the formats of these suffixes."""
    from stickslip.view.figures import draw, palette

    if folder is None:
        return
    make_folder(folder)
    figures = [figure for section in page.sections for figure in section.figures]
    for k, (figure, colours) in enumerate(zip(figures, palette(figures), strict=True), 1):
        title = re.sub(r"[^a-z0-9]+", "-", figure.title.lower()).strip("-")
        for ending in endings:
            with usable(folder):
                draw(figure, folder / f"{k:02}-{title[:60]}{ending}", colours)
    print(f"wrote {len(endings) * len(figures)} files into {printable(str(folder))}", file=sys.stderr)


def put(text: str, out: Path | None) -> None:
    """Write text to a file, a pipe or a device; to standard output if `out` is None."""
    from stickslip.files.problems import replace_file

    if out is None:
        sys.stdout.write(text)
        return
    content = text.encode("utf-8", errors="backslashreplace")
    with usable(out):
        if out.exists() and not out.is_file():  # a pipe or a device
            out.write_bytes(content)
        else:
            replace_file(out, content)
    wrote(out)
