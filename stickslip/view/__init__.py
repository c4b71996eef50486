"""What the house computes, to look at: plots, pages that play, a viewer. All of it is imported on use.

plot_energy(trajectory, "energy.svg")
export_html(trajectory, "run.html")
with Viewer(trajectory) as viewer:
    viewer.wait()
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "stickslip.exhibits": ("Curve", "Figure", "Panel"),
    "stickslip.view.browser.export": ("export_html",),
    "stickslip.view.browser.live": ("LiveView", "RunStopped"),
    "stickslip.view.browser.server": ("ViewerError",),
    "stickslip.view.browser.viewer": ("Viewer",),
    "stickslip.view.figures": ("draw",),
    "stickslip.view.plots.cones": ("plot_cones",),
    "stickslip.view.plots.histories": ("plot_energy", "plot_gaps", "plot_impulses", "plot_residuals"),
    "stickslip.view.plots.portraits": ("plot_phase", "plot_poincare"),
    "stickslip.view.still": ("draw_world",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

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
