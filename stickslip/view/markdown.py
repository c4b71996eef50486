"""Convert a page to GitHub-flavoured Markdown, with figures in separate files."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from stickslip.exhibits import Figure, Page, Section, Table
from stickslip.view.figures import draw, palette
from stickslip.view.text import clean, line, right_aligned

ROWS = 60
"""Largest number of rows of a table by default."""
SPECIAL = re.compile(r"[\\`*_<>|~$&]|\](?=[(\[:])")
"""Characters with a meaning in Markdown at any position of a line."""
FIRST = re.compile(r"^(\d*)([.)#+=-])(?=\s|[#=-]|$)")
"""Text that would begin a list, a heading or a rule at the start of a line."""


def markdown(
    page: Page,
    figures: str | Path | None = None,
    link: str = "",
    rows: int | None = ROWS,
    folded: bool = False,
) -> str:
    """Convert `page` to Markdown; the same page gives the same text.

    figures     folder for the figures as SVG files, `figure-1.svg` and so on, created if it does not exist.
                Without it a line stands in place of each figure
    link        prefix of links to figures, such as the folder relative to the text
    rows        largest number of rows of a table, None for all; a line below it counts the omitted rows
    folded      whether to include folded sections, as `<details>`; otherwise a line describes what is omitted
    """
    return "\n".join(_page(page, None if figures is None else Path(figures), link, rows, folded)) + "\n"


def _page(page: Page, folder: Path | None, link: str, rows: int | None, folded: bool) -> Iterator[str]:
    drawn = [
        figure for section in page.sections for figure in section.figures if folded or not section.folded
    ]
    places = {id(figure): f"figure-{k}.svg" for k, figure in enumerate(drawn, 1)}
    if folder is not None and drawn:
        folder.mkdir(parents=True, exist_ok=True)
        for figure, colours in zip(drawn, palette(drawn), strict=True):
            draw(figure, folder / places[id(figure)], colours)
    yield f"# {_text(page.title)}"
    if page.summary:
        yield ""
        yield from (f"- {_text(sentence)}" for sentence in page.summary)
    for section in page.sections:
        yield ""
        yield f"## {_text(section.title)}"
        if section.folded and not folded:
            yield ""
            yield f"*{_left_out(section)}*"
            continue
        if section.folded:
            yield "\n<details><summary>Show</summary>"
        for paragraph in section.text:
            yield f"\n{_text(paragraph)}"
        for table in section.tables:
            yield from _table(table, rows)
        for figure in section.figures:
            yield from _figure(figure, None if folder is None else f"{link}{places[id(figure)]}")
        if section.code:
            yield from _code(section.code)
        if section.folded:
            yield "\n</details>"


def _table(table: Table, rows: int | None) -> Iterator[str]:
    text = table.text()
    shown = text if rows is None else text[:rows]
    yield f"\n**{_text(table.title)}**\n"
    if not text:
        yield _text(table.note) or "No rows."
        return
    yield _row(table.headings)
    yield f"|{'|'.join('---:' if right else ':---' for right in right_aligned(table))}|"
    yield from map(_row, shown)
    if len(shown) < len(text):
        left = f"{len(text) - len(shown)} of {len(text)} rows are left out here"
        yield f"\n*{left}; the HTML and CSV reports have all.*"
    if table.note:
        yield f"\n{_text(table.note)}"


def _row(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(_text(cell) for cell in cells)} |"


def _figure(figure: Figure, place: str | None) -> Iterator[str]:
    title = _text(figure.title)
    yield f"\n*Figure left out here: {title}*" if place is None else f"\n![{title}]({quote(place)})"
    if figure.note and place is None:
        yield f"\n{_text(figure.note)}"


def _code(code: str) -> Iterator[str]:
    fence = "```"
    while fence in code:
        fence += "`"
    yield f"\n{fence}text\n{clean(code).rstrip()}\n{fence}"


def _left_out(section: Section) -> str:
    rows = sum(len(table.rows) for table in section.tables)
    parts = [f"{rows} rows"] if rows else []
    if section.figures:
        parts.append(f"{len(section.figures)} figures")
    return f"Left out here ({', '.join(parts) or 'text'}); the HTML report has it."


def _text(text: str) -> str:
    return FIRST.sub(r"\1\\\2", SPECIAL.sub(r"\\\g<0>", line(text)))
