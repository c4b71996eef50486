"""What the house computes, to look at: plots, pages that play, a viewer. All of it is imported on use.

plot_energy(trajectory, "energy.svg")
export_html(trajectory, "run.html")
with Viewer(trajectory) as viewer:
    viewer.wait()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Curve": "stickslip.exhibits",
    "Figure": "stickslip.exhibits",
    "LiveView": "stickslip.view.browser.live",
    "Panel": "stickslip.exhibits",
    "RunStopped": "stickslip.view.browser.live",
    "Viewer": "stickslip.view.browser.viewer",
    "ViewerError": "stickslip.view.browser.server",
    "draw": "stickslip.view.figures",
    "draw_world": "stickslip.view.still",
    "export_html": "stickslip.view.browser.export",
    "plot_cones": "stickslip.view.plots.cones",
    "plot_energy": "stickslip.view.plots.histories",
    "plot_gaps": "stickslip.view.plots.histories",
    "plot_impulses": "stickslip.view.plots.histories",
    "plot_phase": "stickslip.view.plots.portraits",
    "plot_poincare": "stickslip.view.plots.portraits",
    "plot_residuals": "stickslip.view.plots.histories",
}

__all__ = [
    "Curve", "Figure", "LiveView", "Panel", "RunStopped", "Viewer", "ViewerError", "draw", "draw_world",
    "export_html", "plot_cones", "plot_energy", "plot_gaps", "plot_impulses", "plot_phase", "plot_poincare",
    "plot_residuals",
]  # fmt: skip

if TYPE_CHECKING:
    from stickslip.exhibits import Curve, Figure, Panel
    from stickslip.view.browser.export import export_html
    from stickslip.view.browser.live import LiveView, RunStopped
    from stickslip.view.browser.server import ViewerError
    from stickslip.view.browser.viewer import Viewer
    from stickslip.view.figures import draw
    from stickslip.view.plots.cones import plot_cones
    from stickslip.view.plots.histories import plot_energy, plot_gaps, plot_impulses, plot_residuals
    from stickslip.view.plots.portraits import plot_phase, plot_poincare
    from stickslip.view.still import draw_world


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'stickslip.view' has no attribute {name!r}")
