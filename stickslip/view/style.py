"""Common style of all plots; the same data give the same bytes."""

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from stickslip.files.problems import replace_file

FORMATS = ("png", "svg", "pdf")
"""File formats of pictures."""

NO_DATE: dict[str, dict[str, Any]] = {
    "png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None},
}  # fmt: skip
"""Metadata that Matplotlib omits, so that the same data give the same bytes."""

ZERO = 1e-20
"""Value at which an exact zero is drawn on a logarithmic axis [-]."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000")
"""The colours of Okabe and Ito, which colour-blind readers can distinguish."""

STYLE: Any = {
    "font.size": 8.0,
    "legend.fontsize": 7.0,
    "legend.handlelength": 1.6,
    "legend.columnspacing": 1.2,
    "axes.formatter.limits": (-3, 5),  # longer numbers would overlap the label of the axis
    "lines.linewidth": 1.2,
    "lines.markersize": 3.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "pdf.fonttype": 42,  # journals reject the default, Type 3
    "svg.hashsalt": "stickslip",  # otherwise the ids in an SVG are random
}


def save(compose: Callable[[], Figure], path: str | Path, dpi: float = 200.0) -> None:
    """Write the figure of `compose` to `path`, in the format of its suffix and in the common style."""
    path = Path(path)
    ending = path.suffix.lower().removeprefix(".")
    if ending not in FORMATS:
        raise ValueError(f"{path}: a plot is a file of one of the kinds .{', .'.join(FORMATS)}")
    with house_style(), io.BytesIO() as file:
        figure = compose()
        figure.savefig(file, format=ending, dpi=dpi, metadata=NO_DATE[ending])
        replace_file(path, file.getvalue())


@contextmanager
def house_style() -> Iterator[None]:
    """Make Matplotlib draw in the common style, independently of the user's settings."""
    # The settings are restored on exit; missing glyphs are drawn as boxes without a warning.
    with matplotlib.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        yield
