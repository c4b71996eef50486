"""Convert figures to PGF, which pgfplots draws in LaTeX with the fonts of the document."""

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from stickslip.exhibits import GUIDE, Curve, Figure, HeatMap, Panel
from stickslip.problem.checks import Array
from stickslip.view.latex_text import latex_text
from stickslip.view.style import ZERO

PREAMBLE = (r"\usepackage{pgfplots}", r"\usepgfplotslibrary{groupplots}", r"\pgfplotsset{compat=1.16}")
"""Preamble of documents that include such a figure."""
WIDTH, HEIGHT = 6.2, 4.4
"""Size of the axes of one panel [cm]."""
LINES = {
    "-": "solid", "--": "dashed", "-.": "dash dot", ":": "dotted", "o": "only marks, mark=*, mark size=0.8pt",
    "x": "only marks, mark=x",
}  # fmt: skip
"""Styles of pgfplots by style of Matplotlib."""
LEGEND_COLUMNS = 3
"""Number of columns of the legend."""


Shades = Callable[[HeatMap], tuple[Sequence[float], Sequence[str]]]
"""Function that returns the levels between the colours of a heat map, and the colours, one fewer."""


def figure_pgf(figure: Figure, colours: Mapping[str, str], shades: Shades) -> str:
    """Convert a figure to a `tikzpicture`, for `\\input` in a document with `PREAMBLE`.

    colours: colours of the curves by name, see `view.figures.palette`; shades: see `view.figures.shades`.
    """
    return "\n".join(_figure(figure, colours, shades)) + "\n"


def _figure(figure: Figure, colours: Mapping[str, str], shades: Shades) -> Iterator[str]:
    panels = figure.panels
    across = max(1, min(figure.across, len(panels)))
    down = math.ceil(len(panels) / across)
    yield f"% {latex_text(figure.title)}"
    yield "% It needs: " + " ".join(PREAMBLE)
    yield r"\begin{tikzpicture}[font=\footnotesize]"
    yield (
        rf"\begin{{groupplot}}[group style={{group size={across} by {down}, horizontal sep=1.8cm,"
        rf" vertical sep=1.9cm}}, width={WIDTH}cm, height={HEIGHT}cm, scale only axis, grid=major,"
        r" grid style={gray!20}, unbounded coords=jump, tick label style={font=\scriptsize},"
        r" title style={font=\footnotesize}, every axis plot/.append style={line width=0.6pt}]"
    )
    # The common legend belongs to the first panel of the last row, as there is room below it.
    last = across * (down - 1)
    for k, panel in enumerate(panels):
        yield from _panel(panel, colours, shades, _legend(figure, colours) if k == last else ())
    yield r"\end{groupplot}"
    yield r"\end{tikzpicture}"


def _panel(panel: Panel, colours: Mapping[str, str], shades: Shades, legend: Sequence[str]) -> Iterator[str]:
    options = [
        f"title={{{latex_text(panel.title)}}}", f"xlabel={{{latex_text(panel.x_label)}}}",
        f"ylabel={{{latex_text(panel.y_label)}}}",
    ]  # fmt: skip
    options += ["xmode=log"] if panel.log_x else []
    options += ["ymode=log"] if panel.log_y else []
    options += ["axis equal"] if panel.equal else []
    if panel.y_range is not None:
        options += [f"ymin={panel.y_range[0]:.9g}", f"ymax={panel.y_range[1]:.9g}"]
    if panel.heat is not None:
        options += [f"{name}={edges[k]:.9g}" for name, edges, k in _ends(panel.heat)]
        options += ["grid=none", "clip=false"]
    if legend:
        options.append(
            f"legend columns={LEGEND_COLUMNS}, legend cell align=left, legend style={{draw=none, fill=none,"
            r" font=\scriptsize, at={(0,-0.3)}, anchor=north west}"
        )
    yield rf"\nextgroupplot[{', '.join(options)}]"
    if panel.heat is not None:
        yield from _heat(panel.heat, *shades(panel.heat))
    for curve in panel.curves:
        yield from _curve(panel, curve, colours[curve.name])
    if panel.level is not None:
        place = f"axis cs:{1 if panel.log_x else 0},{panel.level:.9g}"
        ends = [f"({{rel axis cs:{end},0}} |- {{{place}}})" for end in (0, 1)]
        yield rf"\draw[gray, dotted] {ends[0]} -- {ends[1]};"
    yield from legend


def _ends(heat: HeatMap) -> list[tuple[str, Array, int]]:
    """Bounds of the axes of a heat map: name of the option, edges, and index of the edge."""
    return [("xmin", heat.x, 0), ("xmax", heat.x, -1), ("ymin", heat.y, 0), ("ymax", heat.y, -1)]


def _heat(heat: HeatMap, levels: Sequence[float], colours: Sequence[str]) -> Iterator[str]:
    """Yield a rectangle for each cell, and the scale: a rectangle for each colour, and the levels."""
    x, y, values = (np.asarray(part, float).tolist() for part in (heat.x, heat.y, heat.values))
    for j, row in enumerate(values):
        for i, value in enumerate(row):
            if math.isfinite(value):
                k = min(max(bisect_right(levels, value) - 1, 0), len(colours) - 1)
                corners = (f"(axis cs:{x[i + e]:.9g},{y[j + e]:.9g})" for e in (0, 1))
                yield rf"\fill[fill={_rgb(colours[k])}] {' rectangle '.join(corners)};"
    for k, colour in enumerate(colours):
        low, high = k / len(colours), (k + 1) / len(colours)
        corners = (f"(rel axis cs:{across},{up:.9g})" for across, up in ((1.04, low), (1.08, high)))
        yield rf"\fill[fill={_rgb(colour)}] {' rectangle '.join(corners)};"
    for k, level in enumerate(levels):
        place = f"(rel axis cs:1.08,{k / len(colours):.9g})"
        yield rf"\node[right, font=\tiny] at {place} {{{level:.6g}}};"
    yield rf"\node[above, font=\tiny] at (rel axis cs:1.06,1) {{{latex_text(heat.label)}}};"


def _curve(panel: Panel, curve: Curve, colour: str) -> Iterator[str]:
    x, y = np.asarray(curve.x, float), np.asarray(curve.y, float)
    if panel.log_y:
        y = np.where(np.isfinite(y), np.maximum(y, ZERO), np.nan)
    if panel.log_x:
        x = np.where(x > 0.0, x, np.nan)
    style = _style(curve.style, colour, thin=curve.colour == GUIDE)
    step = ", const plot" if panel.steps else ""
    yield rf"\addplot[{style}{step}, forget plot] table[row sep=\\, x index=0, y index=1] {{"
    yield r"x y \\"
    for at, value in zip(x.tolist(), y.tolist(), strict=True):
        yield rf"{_number(at)} {_number(value)} \\"
    yield "};"


def _legend(figure: Figure, colours: Mapping[str, str]) -> list[str]:
    """Legend entries of all names of curves, each in the style of the first curve of this name."""
    first: dict[str, Curve] = {}
    for panel in figure.panels:
        for curve in panel.curves:
            first.setdefault(curve.name, curve)
    return [
        rf"\addlegendimage{{{_style(curve.style, colours[name], thin=curve.colour == GUIDE)}}}"
        rf" \addlegendentry{{{latex_text(name)}}}"
        for name, curve in first.items()
    ]


def _style(style: str, colour: str, *, thin: bool) -> str:
    width = ", line width=0.4pt" if thin else ""
    return f"color={_rgb(colour)}, {LINES.get(style, 'solid')}{width}"


def _rgb(colour: str) -> str:
    """Convert a colour such as #0072b2 to the syntax of xcolor."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"{{rgb,255:red,{red};green,{green};blue,{blue}}}"


def _number(value: float) -> str:
    """Format a number for pgfplots; non-finite values are gaps."""
    return f"{value:.9g}" if math.isfinite(value) else "nan"
