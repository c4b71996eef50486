"""Convert a page to one self-contained HTML file: no network, fonts or third-party scripts. Figures are
inline SVG of Matplotlib, reduced in size, with unique ids and the colours of the page."""

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from xml.etree import ElementTree

from stickslip.exhibits import NOT_RUN, Figure, Page, Section, Table
from stickslip.files.problems import replace_file
from stickslip.view.figures import FAINT, GRID, INK, PALETTE, palette, panel_svg
from stickslip.view.text import clean, line, right_aligned

LINK = "{http://www.w3.org/1999/xlink}href"
NUMBER = re.compile(r"-?\d+\.\d+")
REFERENCE = re.compile(r"url\(#([^)]+)\)")


def inline_svg(text: str, name: str, label: str, colours: Mapping[str, str]) -> str:
    """Convert the SVG file `text` to an element of a page with the accessible name `label`.

    Every id begins with `name`, so that ids of several drawings do not collide; unreferenced ids and fonts
    are removed. colours: replacements of Matplotlib's colours (`#0072b2`) by those of the page, such as
    `var(--c0)`, for light and dark mode. Coordinates are rounded to hundredths of a point.
    """
    root = ElementTree.fromstring(text)
    new = {old: f"{name}-{k}" for k, old in enumerate(sorted(_referenced(root)))}
    (drawn,) = _tidied(root, new, colours)
    drawn.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-label": label}
    return ElementTree.tostring(drawn, encoding="unicode")


def _tidied(
    element: ElementTree.Element, new: Mapping[str, str], colours: Mapping[str, str]
) -> list[ElementTree.Element]:
    """Reduce an element: remove metadata and fonts, and replace groups without attributes by their parts."""
    tag = element.tag.rpartition("}")[2]
    if tag in ("metadata", "style"):
        return []
    parts = [part for child in element for part in _tidied(child, new, colours)]
    attributes = _attributes(element, new, colours)
    if tag == "g" and not attributes:
        return parts
    tidied = ElementTree.Element(tag, attributes)
    tidied.text = element.text if tag in ("text", "tspan") else None
    tidied.extend(parts)
    return [tidied]


def _referenced(root: ElementTree.Element) -> set[str]:
    """Ids to which elements refer."""
    ids = set()
    for element in root.iter():
        for key, value in element.attrib.items():
            if key == LINK:
                ids.add(value.removeprefix("#"))
            ids.update(REFERENCE.findall(value))
    return ids


def _attributes(
    element: ElementTree.Element, new: Mapping[str, str], colours: Mapping[str, str]
) -> dict[str, str]:
    attributes = {}
    for key, value in element.attrib.items():
        if key == "id":
            if value in new:
                attributes["id"] = new[value]
        elif key == LINK:
            attributes["href"] = f"#{new[value.removeprefix('#')]}"
        elif key == "style":
            attributes["style"] = _restyled(value, colours)
        elif key == "transform" and value.startswith("rotate(-0 "):
            continue
        elif key in ("d", "x", "y", "transform", "points"):
            attributes[key] = " ".join(NUMBER.sub(_rounded, value).split())
        else:
            attributes[key] = REFERENCE.sub(lambda match: f"url(#{new[match[1]]})", value)
    return attributes


def _restyled(text: str, colours: Mapping[str, str]) -> str:
    """A style without the font family, and with the colours of the page."""
    parts = []
    for part in text.split(";"):
        key, _, value = (half.strip() for half in part.partition(":"))
        if key and key != "font-family":
            parts.append(f"{key}:{colours.get(value, value)}")
    return ";".join(parts)


def _rounded(match: re.Match[str]) -> str:
    return f"{float(match[0]):.2f}".rstrip("0").rstrip(".")


LONG = 15
"""Number of rows above which a table has a filter."""
WRAPPED = 80
"""Number of characters above which the text of a cell may be wrapped."""
GAPS = (NOT_RUN, "–", "")
"""Texts of empty cells, which are sorted last."""

STROKES = {"--": "dashed", "-.": "dashed", ":": "dotted", "o": "dots", "x": "dots"}
"""Class of a legend entry by the style of its curve."""


def write_page(page: Page, path: str | Path) -> None:
    """Write `page` as one HTML file; the same page gives the same bytes."""
    replace_file(Path(path), page_html(page).encode())


def page_html(page: Page) -> str:
    """Convert `page` to HTML, which is also well-formed XML except for its first line and its script.

    All text is escaped. Tables can be sorted and filtered if the browser runs scripts; the content security
    policy allows only the script of this page.
    """
    return "\n".join(_Writer(page).lines()) + "\n"


class _Writer:
    """State of the conversion of one page: numbers of tables and figures, and colours."""

    def __init__(self, page: Page) -> None:
        self.page = page
        figures = [figure for section in page.sections for figure in section.figures]
        self.colours = dict(zip(map(id, figures), palette(figures), strict=True))
        self.classes = {colour: f"c{k}" for k, colour in enumerate(PALETTE)} | {FAINT: "guide"}
        # Names of curves, such as solvers, have a mark of their colour in tables.
        self.chips = {name: self.classes[c] for each in self.colours.values() for name, c in each.items()}
        self.tables = self.figures = 0

    def lines(self) -> Iterator[str]:
        yield from _head(self.page)
        yield from self._contents()
        yield "<main>"
        for number, section in enumerate(self.page.sections, 1):
            yield from self._section(number, section)
        yield "</main>"
        yield f"<script>{_beside('page.js')}</script>"
        yield "</body>\n</html>"

    def _contents(self) -> Iterator[str]:
        yield '<nav aria-labelledby="contents">\n<h2 id="contents">Contents</h2>\n<ol>'
        for number, section in enumerate(self.page.sections, 1):
            yield f'<li><a href="#s{number}">{_text(section.title)}</a></li>'
        yield "</ol>\n</nav>"

    def _section(self, number: int, section: Section) -> Iterator[str]:
        heading = f'<h2 id="s{number}-title">{_text(section.title)}</h2>'
        yield f'<section id="s{number}" aria-labelledby="s{number}-title">'
        yield f"<details>\n<summary>{heading}</summary>" if section.folded else heading
        for paragraph in section.text:
            yield f"<p>{_text(paragraph)}</p>"
        for table in section.tables:
            yield from self._table(table)
        for figure in section.figures:
            yield from self._figure(figure)
        if section.code:
            yield f'<pre tabindex="0"><code>{escape(clean(section.code))}</code></pre>'
        yield "</details>\n</section>" if section.folded else "</section>"

    def _table(self, table: Table) -> Iterator[str]:
        self.tables += 1
        name, numbers = f"t{self.tables}", right_aligned(table)
        long = " long" if len(table.rows) > LONG else ""
        aligned = "".join(f" n{k}" for k, right in enumerate(numbers, 1) if right)
        yield f'<figure class="table{long}">\n<figcaption id="{name}">{_text(table.title)}</figcaption>'
        if not table.rows:
            yield f'<p class="note">{_text(table.note) or "No rows."}</p>\n</figure>'
            return
        yield f'<div class="box" tabindex="0" role="region" aria-labelledby="{name}">'
        yield f'<table class="sortable{aligned}" aria-labelledby="{name}">'
        heads = "".join(f'<th scope="col">{_text(each)}</th>' for each in table.headings)
        yield f"<thead><tr>{heads}</tr></thead>\n<tbody>"
        for row in table.text():
            yield f"<tr>{''.join(map(self._cell, row))}</tr>"
        yield "</tbody>\n</table>\n</div>"
        if table.note:
            yield f'<p class="note">{_text(table.note)}</p>'
        yield "</figure>"

    def _cell(self, text: str) -> str:
        if text in GAPS:
            return f'<td class="gap">{text}</td>'
        chip = f'<i class="chip {self.chips[text]}"></i>' if text in self.chips else ""
        wide = ' class="wide"' if len(text) > WRAPPED else ""
        return f"<td{wide}>{chip}{_text(text)}</td>"

    def _figure(self, figure: Figure) -> Iterator[str]:
        self.figures += 1
        name, colours = f"f{self.figures}", self.colours[id(figure)]
        yield f'<figure class="plots">\n<figcaption>{_text(figure.title)}</figcaption>'
        yield f'<div class="panels" style="--across:{max(1, min(figure.across, len(figure.panels)))}">'
        for k, panel in enumerate(figure.panels, 1):
            description = f"{panel.title or figure.title}: {panel.y_label} against {panel.x_label}"
            drawn = inline_svg(panel_svg(panel, colours), f"{name}-{k}", line(description), _variables())
            title = f"<h3>{_text(panel.title)}</h3>" if panel.title else ""
            yield f'<div class="panel">{title}{drawn}</div>'
        yield '</div>\n<ul class="legend">'
        for entry, stroke in _legend(figure).items():
            yield f'<li><i class="key {stroke} {self.classes[colours[entry]]}"></i>{_text(entry)}</li>'
        yield "</ul>"
        if figure.note:
            yield f'<p class="note">{_text(figure.note)}</p>'
        yield "</figure>"


def _head(page: Page) -> Iterator[str]:
    digest = b64encode(hashlib.sha256(_beside("page.js").encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    columns = max((len(table.columns) for each in page.sections for table in each.tables), default=0)
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8"/>'
    yield f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}"/>'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
    yield f"<title>{_text(page.title)}</title>"
    yield f"<style>\n{_beside('page.css')}{_alignment(columns)}</style>\n</head>\n<body>"
    yield f"<header>\n<h1>{_text(page.title)}</h1>"
    if page.summary:
        items = "\n".join(f"<li>{_text(sentence)}</li>" for sentence in page.summary)
        yield f"<ul>\n{items}\n</ul>"
    yield "</header>"


def _text(text: str) -> str:
    return escape(line(text))


def _legend(figure: Figure) -> dict[str, str]:
    """Classes of the legend entries by name of the curves; lines take precedence over dots."""
    strokes: dict[str, str] = {}
    for panel in figure.panels:
        for curve in panel.curves:
            stroke = STROKES.get(curve.style, "solid")
            if strokes.get(curve.name, "dots") == "dots":
                strokes[curve.name] = stroke
    return strokes


def _variables() -> Mapping[str, str]:
    """CSS variables for the colours of drawings."""
    named = {GRID: "var(--grid)", FAINT: "var(--faint)"}
    return {colour: f"var(--c{k})" for k, colour in enumerate(PALETTE)} | named | {INK: "currentColor"}


def _alignment(columns: int) -> str:
    """CSS rules for right-aligned columns, as classes of tables, which is shorter than a class per cell."""
    if not columns:
        return ""
    both, cells = (
        ",".join(f".n{k} {which}:nth-child({k})" for k in range(1, columns + 1))
        for which in (":is(th,td)", "td")
    )
    return f"{both}{{text-align:right;font-variant-numeric:tabular-nums}}\n{cells}{{white-space:nowrap}}\n"


def _beside(name: str) -> str:
    """Text of a file in the folder of this module."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
