"""The style of the house: one look for every plot, the same bytes for the same data."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from stickslip.files.problems import replace_file

FORMATS = ("png", "svg")
"""Endings of file names that are understood."""

ZERO = 1e-20
"""Where an exact zero is drawn on a logarithmic axis [-]."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""Okabe and Ito's colours, told apart by colour-blind readers too."""

STYLE: Any = {
    "font.size": 8.0,
    "legend.fontsize": 7.0,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "axes.formatter.limits": (-3, 5),  # longer numbers would reach into the label of the axis
    "lines.linewidth": 1.2,
    "lines.markersize": 3.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "stickslip",  # otherwise the ids in an SVG are drawn at random
}


def save(compose: Callable[[], Figure], path: str | Path) -> None:
    """Draw what `compose` makes into `path`, a PNG or SVG file by its ending, in the style of the house."""
    path = Path(path)
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"{path}: a plot is a .png or an .svg file")
    with house_style(), io.BytesIO() as file:
        figure = compose()
        nothing = {"Date": None} if ending == "svg" else {"Software": None}
        figure.savefig(file, format=ending, dpi=200, metadata=nothing)
        replace_file(path, file.getvalue())


@contextmanager
def house_style() -> Iterator[None]:
    """Within it Matplotlib draws in the style of the house, whatever the user's settings are."""
    # The settings are restored on the way out; a letter without a glyph is drawn as a box, unsaid.
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield
