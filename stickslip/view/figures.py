"""Draw figures with Matplotlib: panels of curves and heat maps, as files or as inline SVG."""

import csv
import io
import math
import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import BoundaryNorm, ListedColormap, to_hex
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter, NullLocator

from stickslip.exhibits import GUIDE, Curve, Figure, HeatMap, Panel
from stickslip.files.problems import replace_file
from stickslip.view.pgf import figure_pgf
from stickslip.view.style import COLOURS, FORMATS, ZERO, house_style, save
from stickslip.view.text import line

WIDTH, HEIGHT = 3.4, 2.5
"""Size of one panel on paper [in]."""
FINE = 0.7
"""Width of thin lines: guides, and curves in panels with equal scales [pt]."""
INLINE_FONT = 8.5
"""Font size in a panel inside a page, where it may be scaled down [pt]."""
FEW = 200
"""Largest number of points of a panel that are drawn with larger markers."""
MANY = 4.0
"""Number of decades above which an axis has no minor ticks."""
LEGEND_ROW = 0.14
"""Height of one row of the legend [in]."""
TICKS = (1.0, 2.0, 2.5, 5.0, 10.0)
"""Allowed distances of ticks, times a power of ten."""
SHADES = 8
"""Approximate number of colours of a heat map."""
ACROSS = 5
"""Largest number of entries in a row of the legend."""
LETTER, KEY = 0.06, 0.38
"""Approximate widths of a letter and of the key of a legend entry [in]."""
NOTE_ROW, NOTE_LETTER, NOTE_FONT = 0.12, 0.05, 6.5
"""Height of a line of the note, approximate width of its letters [in], and its font size [pt]."""

PALETTE = (*COLOURS, "#882255", "#8c8c1e", "#7b52ab", "#8c5a2b", "#5f6b75")
"""The colours of Okabe and Ito, and additional ones for more than seven curves."""
GRID, FAINT, INK = "#e6e6e6", "#666666", "#000000"
"""Colours of the grid, of guides, and of axes and text."""

SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def draw(figure: Figure, path: str | Path, colours: Mapping[str, str] | None = None) -> None:
    """Write a figure to `path` in the format of its suffix; the same data give the same bytes.

    PNG, SVG and PDF files are pictures. A PGF file is drawn by pgfplots in a LaTeX document. A CSV file
    contains the points: panel, curve, x and y.

    `colours`: colours of curves by name, for example of `palette` for all figures of a page.
    """
    path, colours = Path(path), colours or palette([figure])[0]
    match path.suffix.lower():
        case ".pgf":
            replace_file(path, figure_pgf(figure, colours, shades).encode())
        case ".csv":
            replace_file(path, figure_csv(figure).encode())
        case ending if ending.removeprefix(".") in FORMATS:
            save(lambda: _compose(figure, colours), path)
        case _:
            kinds = ", ".join((*(f".{each}" for each in FORMATS), ".pgf", ".csv"))
            raise ValueError(f"{path}: a plot is a file of one of the kinds {kinds}")


def figure_csv(figure: Figure) -> str:
    """Convert a figure to CSV with a row for each point: panel, labels, curve, x and y, with all digits. Heat
    maps have a row for each cell: its centre, and its value in an additional column."""
    text = io.StringIO(newline="")
    rows = csv.writer(text)
    headings = ("panel", "x label", "y label", "curve", "x", "y")
    rows.writerow(
        (*headings, "value") if any(panel.heat is not None for panel in figure.panels) else headings
    )
    for panel in figure.panels:
        labels = panel.title, panel.x_label, panel.y_label
        for curve in panel.curves:
            for x, y in zip(np.asarray(curve.x).tolist(), np.asarray(curve.y).tolist(), strict=True):
                rows.writerow((*labels, curve.name, x, y))
        if panel.heat is not None:
            heat = panel.heat
            x, y = np.meshgrid(0.5 * (heat.x[1:] + heat.x[:-1]), 0.5 * (heat.y[1:] + heat.y[:-1]))
            for cell in zip(
                x.ravel().tolist(), y.ravel().tolist(), heat.values.ravel().tolist(), strict=True
            ):
                rows.writerow((*labels, heat.label, *cell))
    return text.getvalue()


def palette(figures: Sequence[Figure]) -> list[dict[str, str]]:
    """Choose for each figure the colours of its curves by name.

    A name that occurs in several figures has the same colour in all of them. A curve with a given colour
    keeps it. The other names take the remaining colours.
    """
    names = [_names(figure) for figure in figures]
    occurrences = Counter(name for figure_names in names for name in figure_names)
    colours = {name: colour for figure in figures for name, colour in _given_colours(figure).items()}
    shared = [name for name in occurrences if occurrences[name] > 1 and name not in colours]
    remaining = [colour for colour in PALETTE if colour not in colours.values()] or list(PALETTE)
    fixed = {name: remaining[k % len(remaining)] for k, name in enumerate(shared)} | colours
    palettes = []
    for figure_names in names:
        used = {fixed[name] for name in figure_names if name in fixed}
        free = [colour for colour in PALETTE if colour not in used] or list(PALETTE)
        others = [name for name in figure_names if name not in fixed]
        palettes.append(
            {name: fixed[name] for name in figure_names if name in fixed}
            | {name: free[k % len(free)] for k, name in enumerate(others)}
        )
    return palettes


def panel_svg(panel: Panel, colours: Mapping[str, str]) -> str:
    """Draw one panel without title and legend as SVG, with text as text elements."""
    with house_style(), io.StringIO() as file:
        matplotlib.rcParams.update({"svg.fonttype": "none", "font.size": INLINE_FONT})
        canvas = Canvas(figsize=(WIDTH, HEIGHT))
        FigureCanvasAgg(canvas)
        _plot(canvas.add_subplot(), panel, colours, {})
        left, bottom = 0.56 / WIDTH, 0.4 / HEIGHT
        right = 1.0 - (0.1 if panel.heat is None else 0.3) / WIDTH
        canvas.subplots_adjust(left=left, right=right, bottom=bottom, top=1.0 - 0.08 / HEIGHT)
        for patch in (canvas.patch, *(each.patch for each in canvas.axes)):
            patch.set_visible(False)
        canvas.savefig(file, format="svg", metadata={"Date": None})
        return file.getvalue()


def _names(figure: Figure) -> list[str]:
    """Names of the curves of a figure, without repetitions."""
    return list(dict.fromkeys(curve.name for panel in figure.panels for curve in panel.curves))


def _given_colours(figure: Figure) -> dict[str, str]:
    """Colours of the curves that have a given colour."""
    curves = [curve for panel in figure.panels for curve in panel.curves]
    return {
        curve.name: FAINT if curve.colour == GUIDE else PALETTE[curve.colour % len(PALETTE)]
        for curve in curves
        if curve.colour is not None
    }


def _columns(entries: Sequence[str], wide: float) -> int:
    """Number of columns of the legend, filled column by column, that fit into `wide` [in]."""
    lengths = np.array([KEY + LETTER * len(entry) for entry in entries])
    for columns in range(min(len(entries), ACROSS), 1, -1):
        if sum(column.max() for column in np.array_split(lengths, columns)) <= wide:
            return columns
    return 1


def _entry(name: str) -> str:
    """Name in a legend: shortened if long, and without a leading _, which Matplotlib would hide."""
    name = line(name)
    name = name if len(name) <= 40 else f"{name[:19]}…{name[-20:]}"
    return f" {name}" if name.startswith("_") else name


def _compose(figure: Figure, colours: Mapping[str, str]) -> Canvas:
    """Draw a figure with all panels, legend, titles and note."""
    across = min(figure.across, len(figure.panels)) or 1
    down = max(1, math.ceil(len(figure.panels) / across))
    wide = WIDTH * across
    columns = _columns([_entry(name) for name in _names(figure)], wide)
    note = textwrap.wrap(line(figure.note), int((wide - 0.2) / NOTE_LETTER))
    below = NOTE_ROW * len(note) + 0.05 * bool(note)
    more = LEGEND_ROW * max(0, math.ceil(len(_names(figure)) / columns) - 2) + below
    high = HEIGHT * down + 0.6 + more
    canvas = Canvas(figsize=(wide, high))
    FigureCanvasAgg(canvas)
    handles: dict[str, Any] = {}
    for k, panel in enumerate(figure.panels):
        axes = canvas.add_subplot(down, across, k + 1)
        _plot(axes, panel, colours, handles)
        axes.set_title(line(panel.title), fontsize=8.0, parse_math=False)
    canvas.suptitle(line(figure.title), fontsize=9.0, y=1.0 - 0.1 / high, va="top", parse_math=False)
    shown = [_entry(name) for name in handles]
    legend = canvas.legend(
        handles.values(), shown, loc="lower center", ncols=columns, frameon=False,
        bbox_to_anchor=(0.5, below / high),
    )  # fmt: skip
    for text in legend.get_texts():
        text.set_parse_math(False)
    if note:
        canvas.text(
            0.1 / wide, 0.06 / high, "\n".join(note), fontsize=NOTE_FONT, color=FAINT, va="bottom",
            parse_math=False,
        )  # fmt: skip
    top = 0.55 if any(panel.title for panel in figure.panels) else 0.4
    # Margins in inches; Matplotlib's automatic layouts take about a second per figure.
    canvas.subplots_adjust(
        left=0.68 / wide, right=1.0 - 0.15 / wide, bottom=(0.78 + more) / high, top=1.0 - top / high,
        wspace=0.68 / (WIDTH - 0.68), hspace=0.72 / (HEIGHT - 0.72),
    )  # fmt: skip
    return canvas


def _plot(axes: Any, panel: Panel, colours: Mapping[str, str], handles: dict[str, Any]) -> None:
    """Draw the curves and axes of a panel; `handles` collects the first line of each name."""
    if panel.heat is not None:
        _heat(axes, panel.heat, "" if panel.heat.label == panel.title else panel.heat.label)
    for curve in panel.curves:
        drawn = _line(axes, panel, curve, colours[curve.name])
        handles.setdefault(curve.name, drawn)
    _dress(axes, panel)


def shades(heat: HeatMap) -> tuple[list[float], list[str]]:
    """Return the levels between the colours of a heat map, and the colours, one fewer."""
    values = np.asarray(heat.values, float)
    values = values[np.isfinite(values)]
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 1.0)
    ticks = MaxNLocator(nbins=SHADES, steps=TICKS).tick_values(low, high if high > low else low + 1.0)
    levels = np.asarray(ticks, float)
    colours = matplotlib.colormaps["viridis"]
    middles = BoundaryNorm(levels, colours.N)(0.5 * (levels[1:] + levels[:-1]))
    return levels.tolist(), [to_hex(tuple(colour)) for colour in np.asarray(colours(middles))]


def _heat(axes: Any, heat: HeatMap, label: str) -> None:
    """Draw the cells in few colours, and the scale; as vectors, so that a page contains no image."""
    values = np.ma.masked_invalid(np.asarray(heat.values, float))
    levels, hexes = shades(heat)
    colours, norm = ListedColormap(hexes), BoundaryNorm(levels, len(hexes))
    cells = axes.pcolormesh(heat.x, heat.y, values, cmap=colours, norm=norm, edgecolors="face", linewidth=0.2)
    scale = axes.figure.colorbar(cells, ax=axes, fraction=0.08, pad=0.03)
    scale.outline.set_visible(False)
    scale.ax.tick_params(labelsize=6.5, length=2.0)
    scale.set_label(line(label), fontsize=6.5, parse_math=False)


def _line(axes: Any, panel: Panel, curve: Curve, colour: str) -> Any:
    """Draw a curve and return its line."""
    x, y, style = np.asarray(curve.x, float), np.asarray(curve.y, float), curve.style
    if panel.log_y:
        y = np.where(np.isfinite(y), np.maximum(y, ZERO), np.nan)
    if style == "o":
        dots = sum(len(each.x) for each in panel.curves if each.style == "o")
        return axes.plot(x, y, "o", color=colour, markersize=3.0 if dots <= FEW else 2.0)[0]
    if style == "x":
        return axes.plot(x, y, "x", color=colour, markersize=4.0, zorder=3.0)[0]
    if curve.colour == GUIDE:
        return axes.plot(x, y, style, color=colour, linewidth=FINE, zorder=1.8)[0]
    few = len(x) <= 60 and not panel.steps and not panel.equal and style in ("-", "--", "-.", ":")
    mark: dict[str, Any] = {"marker": "."} if few else {}
    if not few and (alone := _alone(x, y)).size:
        mark = {"marker": ".", "markevery": alone.tolist()}
    if panel.equal:
        mark["linewidth"] = FINE
    drawn = "steps-post" if panel.steps else "default"
    return axes.plot(x, y, style, color=colour, drawstyle=drawn, **mark)[0]


def _alone(x: Any, y: Any) -> Any:
    """Indices of points between two gaps, which a line without markers does not show."""
    seen = np.concatenate([[False], np.isfinite(x) & np.isfinite(y), [False]])
    return np.flatnonzero(seen[1:-1] & ~seen[:-2] & ~seen[2:])


def _dress(axes: Any, panel: Panel) -> None:
    """Set scales, ticks, labels and grid of the axes of a panel."""
    if panel.level is not None:
        axes.axhline(panel.level, color=FAINT, linestyle=":", linewidth=0.9)
    seen = _seen(panel)  # a logarithmic axis requires at least one point
    log_x, log_y = panel.log_x and seen, panel.log_y and seen
    axes.set_xscale("log" if log_x else "linear")
    axes.set_yscale("log" if log_y else "linear")
    if not log_x:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=4, steps=TICKS))
    if panel.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    for axis, logarithmic in ((axes.xaxis, log_x), (axes.yaxis, log_y)):
        if logarithmic:
            _decades(axis)
    axes.set_xlabel(line(panel.x_label), parse_math=False)
    axes.set_ylabel(line(panel.y_label), parse_math=False)
    if panel.heat is None:  # grid lines would cover the cells
        axes.grid(True, color=GRID, linewidth=0.5)


def _seen(panel: Panel) -> bool:
    """Whether at least one point can be shown."""
    if panel.heat is not None:
        return True
    points = ((np.asarray(curve.x, float), np.asarray(curve.y, float)) for curve in panel.curves)
    return any(
        bool((np.isfinite(x) & np.isfinite(y) & ((x > 0.0) | (not panel.log_x))).any()) for x, y in points
    )


def _decades(axis: Any) -> None:
    """Set the ticks of a logarithmic axis: powers of ten, within two decades also 2 and 5 times those."""
    low, high = axis.get_view_interval()
    decades = math.log10(high / low) if 0.0 < low < high else math.inf
    if decades < 2.0:
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    if decades > MANY:
        axis.set_minor_locator(NullLocator())
    plain = low > 1e-3 and high < 5e4
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.6g}" if plain else _power(value)))
    axis.set_minor_formatter(NullFormatter())  # within a decade their labels would overlap


def _power(value: float) -> str:
    """Label of a tick of a logarithmic axis: 10⁻⁸, 2·10⁶."""
    if not value > 0.0:
        return ""
    exponent = math.floor(math.log10(value) + 1e-9)
    factor = f"{value / 10.0**exponent:.3g}"
    ten = f"10{str(exponent).translate(SUPERSCRIPTS)}"
    return ten if factor == "1" else f"{factor}·{ten}"
