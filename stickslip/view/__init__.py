"""What the house computes, to look at: plots, pages that play, a viewer. All of it is imported on use.

plot_energy(trajectory, "energy.svg")
export_html(trajectory, "run.html")
with Viewer(trajectory) as viewer:
    viewer.wait()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {
    "LiveView": "browser.live",
    "Viewer": "browser.viewer",
    "ViewerError": "browser.server",
    "draw": "figures",
    "draw_world": "still",
    "export_html": "browser.export",
    "plot_cones": "plots.cones",
    "plot_energy": "plots.energy",
    "plot_gaps": "plots.gaps",
    "plot_impulses": "plots.impulses",
    "plot_phase": "plots.phase",
    "plot_poincare": "plots.poincare",
    "plot_residuals": "plots.residuals",
}

__all__ = sorted(_WHERE)

if TYPE_CHECKING:
    from stickslip.view.browser.export import export_html
    from stickslip.view.browser.server import ViewerError
    from stickslip.view.browser.viewer import Viewer
    from stickslip.view.figures import draw
    from stickslip.view.plots.cones import plot_cones
    from stickslip.view.plots.energy import plot_energy
    from stickslip.view.plots.gaps import plot_gaps
    from stickslip.view.plots.impulses import plot_impulses
    from stickslip.view.plots.phase import plot_phase
    from stickslip.view.plots.poincare import plot_poincare
    from stickslip.view.plots.residuals import plot_residuals


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"stickslip.view.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'stickslip.view' has no attribute {name!r}")
