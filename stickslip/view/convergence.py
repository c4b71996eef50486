"""How the residuals fell: natural and natural_scaled against iterations, one colour per answer."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

if TYPE_CHECKING:
    from stickslip.problem.solution import Solution

FORMATS = ("png", "svg")
"""Endings of file names that are understood."""

WIDTH, HEIGHT = 5.0, 3.2
"""Size on paper: a column and a half of a journal page [in]."""

WIDE = 20.0
"""Ratio of iterations above which their axis is logarithmic [-]."""

ZERO = 1e-20
"""Where an exact zero is drawn on the logarithmic axis [-]."""

NAMED = 12
"""Most answers that the legend names."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's colours, told apart by colour-blind readers too."""

STYLE: Any = {
    "font.size": 8.0,
    "legend.fontsize": 7.0,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "stickslip",  # otherwise the ids in an SVG are drawn at random
}


def plot_convergence(solutions: Sequence[tuple[str, Solution]], path: str | Path) -> None:
    """Draw the convergence of named solutions into `path`, a PNG or SVG file by its ending.

    Solid lines are natural, dashed ones natural_scaled, dotted horizontal ones the tolerances. The
    same solutions give the same bytes, whatever the user's Matplotlib settings are.
    """
    save(lambda: _draw(solutions), path)


def save(compose: Callable[[], Figure], path: str | Path) -> None:
    """Draw what `compose` makes into `path`, a PNG or SVG file by its ending, in the style of the house."""
    path = Path(path)
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"{path}: a plot is a .png or an .svg file")
    with house_style():
        figure = compose()
        nothing = {"Date": None} if ending == "svg" else {"Software": None}
        figure.savefig(path, format=ending, dpi=200, metadata=nothing)


@contextmanager
def house_style() -> Iterator[None]:
    """Within it Matplotlib draws in the style of the house, whatever the user's settings are."""
    # The settings are restored on the way out; a letter without a glyph is drawn as a box, unsaid.
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield


def _draw(solutions: Sequence[tuple[str, Solution]]) -> Figure:
    figure = Figure(figsize=(WIDTH, HEIGHT), layout="constrained")
    FigureCanvasAgg(figure)  # a canvas of its own: pyplot and the chosen backend are not involved
    axes = figure.add_subplot()
    for k, (name, solution) in enumerate(solutions):
        colour = COLOURS[k % len(COLOURS)]
        history = np.asarray(solution.history, float).reshape(-1, 3)
        label = _shown(name) if k < NAMED else None
        axes.plot(*_curve(history, 1), "-", color=colour, marker=_marker(history), label=label)
        axes.plot(*_curve(history, 2), "--", color=colour, marker=_marker(history))
    for tolerance in sorted({solution.tolerance for _, solution in solutions}):
        axes.axhline(tolerance, color="0.4", linestyle=":", linewidth=0.9)
    axes.set_yscale("log")
    axes.set_xlabel("iterations")
    if _wide([solution for _, solution in solutions]):
        axes.set_xscale("symlog", linthresh=1.0)  # a logarithm that shows iteration 0 too
        axes.set_xlim(left=0.0)
    else:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlim(0.0, max(1.0, axes.get_xlim()[1]))
    axes.set_ylabel("residual [-]")
    axes.grid(True, color="0.9", linewidth=0.5)
    _legend(axes, len(solutions) - NAMED)
    return figure


def _curve(history: Any, column: int) -> tuple[Any, Any]:
    """Iterations and one residual; NaN and inf leave a gap, an exact zero stands at `ZERO`."""
    value = history[:, column]
    return history[:, 0], np.where(np.isfinite(value), np.maximum(value, ZERO), np.nan)


def _wide(solutions: Sequence[Solution]) -> bool:
    """Whether some answers took so many more iterations that the others would be a vertical line."""
    last = [float(solution.history[-1, 0]) for solution in solutions if len(solution.history)]
    return bool(last) and max(last) > WIDE * max(min(last), 1.0) and len(last) > 1


def _marker(history: Any) -> str:
    """Few checks are shown as points too: one check alone would draw no line."""
    return "o" if history.shape[0] <= 12 else ""


def _shown(name: str) -> str:
    """A name as Matplotlib must take it: $ would start mathematics, _ would hide the entry."""
    name = name.encode("utf-8", "backslashreplace").decode()
    name = "".join(c if c.isprintable() else "?" for c in name)
    name = name if len(name) <= 40 else f"{name[:19]}…{name[-20:]}"
    name = name.replace("$", r"\$")
    return f" {name}" if name.startswith("_") else name


def _legend(axes: Any, unnamed: int) -> None:
    if unnamed > 0:
        axes.plot([], [], " ", label=f"and {unnamed} more")
    grey = {"color": "0.3", "linewidth": 1.0}
    axes.plot([], [], "-", label="natural", **grey)
    axes.plot([], [], "--", label="natural_scaled", **grey)
    axes.plot([], [], ":", label="tolerance", **grey)
    if len(axes.get_legend_handles_labels()[0]) > 8:
        axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    else:
        axes.legend(frameon=False)
