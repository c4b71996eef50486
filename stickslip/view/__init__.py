"""Visualisation: plots, HTML pages, animations and the viewer in the browser. Modules are imported on use.

plot_energy(trajectory, "energy.svg")
stickslip.view(trajectory)  # the module itself shows a run, or two side by side, in the browser
export_html(trajectory, "run.html")
with Viewer(trajectory) as viewer:
    viewer.wait()
"""

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.exhibits import Curve as Curve
    from stickslip.exhibits import Figure as Figure
    from stickslip.exhibits import Panel as Panel
    from stickslip.view.animation import export_animation as export_animation
    from stickslip.view.browser.export import export_html as export_html
    from stickslip.view.browser.live import LiveView as LiveView
    from stickslip.view.browser.live import RunStopped as RunStopped
    from stickslip.view.browser.server import ViewerError as ViewerError
    from stickslip.view.browser.viewer import Viewer as Viewer
    from stickslip.view.browser.viewer import view as view
    from stickslip.view.figures import draw as draw
    from stickslip.view.look import Look as Look
    from stickslip.view.plots.cones import plot_cones as plot_cones
    from stickslip.view.plots.histories import plot_energy as plot_energy
    from stickslip.view.plots.histories import plot_gaps as plot_gaps
    from stickslip.view.plots.histories import plot_impulses as plot_impulses
    from stickslip.view.plots.histories import plot_residuals as plot_residuals
    from stickslip.view.plots.portraits import plot_phase as plot_phase
    from stickslip.view.plots.portraits import plot_poincare as plot_poincare
    from stickslip.view.still import draw_world as draw_world
else:
    __getattr__, __dir__ = door(__name__)


class _Room(ModuleType):
    """Type of this module: calling the module opens the viewer."""

    def __call__(self, source: Any, other: Any = None, **options: Any) -> Any:
        """See `stickslip.view.browser.viewer.view`."""
        from stickslip.view.browser.viewer import view

        return view(source, other, **options)


sys.modules[__name__].__class__ = _Room
