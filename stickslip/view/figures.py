"""Figures of the studies: panels of curves, in the style of the convergence plot."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Canvas
from matplotlib.ticker import MaxNLocator, NullFormatter

from stickslip.exhibits import Figure, Panel
from stickslip.view.convergence import COLOURS, ZERO, save

WIDTH, HEIGHT = 3.4, 2.5
"""Size of one panel on paper [in]."""
FINE = 0.7
"""Width of the lines of bodies [pt]."""


def draw(figure: Figure, path: str | Path) -> None:
    """Draw a figure into `path`, a PNG or SVG file by its ending; the same data, the same bytes."""
    save(lambda: _compose(figure), path)


def _compose(figure: Figure) -> Canvas:
    across = min(figure.across, len(figure.panels)) or 1
    down = max(1, math.ceil(len(figure.panels) / across))
    wide, high = WIDTH * across, HEIGHT * down + 0.6
    canvas = Canvas(figsize=(wide, high))
    FigureCanvasAgg(canvas)
    names = list(dict.fromkeys(curve.name for panel in figure.panels for curve in panel.curves))
    colours = {name: COLOURS[k % len(COLOURS)] for k, name in enumerate(names)}
    handles: dict[str, Any] = {}
    for k, panel in enumerate(figure.panels):
        axes = canvas.add_subplot(down, across, k + 1)
        for curve in panel.curves:
            line = _line(axes, panel, curve.x, curve.y, curve.style, colours[curve.name])
            handles.setdefault(curve.name, line)
        _dress(axes, panel)
    canvas.suptitle(figure.title, fontsize=9.0, y=1.0 - 0.1 / high, va="top")
    columns = min(len(handles), 5) or 1
    canvas.legend(handles.values(), handles.keys(), loc="lower center", ncols=columns, frameon=False)
    # Margins in inches; a layout that Matplotlib finds by itself takes a second for every figure.
    canvas.subplots_adjust(
        left=0.68 / wide, right=1.0 - 0.15 / wide, bottom=0.78 / high, top=1.0 - 0.55 / high,
        wspace=0.68 / (WIDTH - 0.68), hspace=0.72 / (HEIGHT - 0.72),
    )  # fmt: skip
    return canvas


def _line(axes: Any, panel: Panel, x: Any, y: Any, style: str, colour: str) -> Any:
    x, y = np.asarray(x, float), np.asarray(y, float)
    if panel.log_y:
        y = np.where(np.isfinite(y), np.maximum(y, ZERO), np.nan)
    if style == "o":
        return axes.plot(x, y, "o", color=colour, markersize=2.0)[0]
    few = len(x) <= 60 and not panel.steps and not panel.equal and style in ("-", "--", "-.", ":")
    mark: dict[str, Any] = {"marker": "."} if few else {}
    if panel.equal:
        mark["linewidth"] = FINE
    drawn = "steps-post" if panel.steps else "default"
    return axes.plot(x, y, style, color=colour, drawstyle=drawn, **mark)[0]


def _dress(axes: Any, panel: Panel) -> None:
    if panel.level is not None:
        axes.axhline(panel.level, color="0.4", linestyle=":", linewidth=0.9)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    for axis, logarithmic in ((axes.xaxis, panel.log_x), (axes.yaxis, panel.log_y)):
        if logarithmic:
            axis.set_minor_formatter(NullFormatter())  # within a decade their labels would overlap
    if not panel.log_x:
        axes.xaxis.set_major_locator(MaxNLocator(nbins=6, integer=True, min_n_ticks=4))
    if panel.equal:
        axes.set_aspect("equal", adjustable="datalim")
    if panel.y_range is not None:
        axes.set_ylim(*panel.y_range)
    axes.set_title(panel.title, fontsize=8.0)
    axes.set_xlabel(panel.x_label)
    axes.set_ylabel(panel.y_label)
    axes.grid(True, color="0.9", linewidth=0.5)
