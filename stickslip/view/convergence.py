"""How the residuals fell, of several named answers at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.view.plots.residuals import plot_residuals
from stickslip.view.style import COLOURS, FORMATS, ZERO, house_style, save

if TYPE_CHECKING:
    from stickslip.problem.solution import Solution

__all__ = ["COLOURS", "FORMATS", "ZERO", "house_style", "plot_convergence", "save"]


def plot_convergence(solutions: Sequence[tuple[str, Solution]], path: str | Path) -> None:
    """Draw the convergence of named solutions into `path`; see `plot_residuals`."""
    plot_residuals(solutions, path)
