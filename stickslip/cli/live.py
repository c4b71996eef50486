"""What `stickslip run --view` shows: the run while it goes on, and then the whole of it."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from stickslip.cli.errors import InputError, complain
from stickslip.cli.stops import Terminated

if TYPE_CHECKING:
    from stickslip.scenes.scenario import Scenario
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.simulation.world_trajectory import WorldTrajectory
    from stickslip.view.browser.live import LiveView


@contextmanager
def live_view(scene: Scenario, until: float, host: str, port: int, *, browser: bool) -> Iterator[LiveView]:
    """A server that watches a run of a scene; its address is printed, and a browser opened if asked."""
    from stickslip.mechanics.world import World

    if not isinstance(scene.system, World):
        raise InputError(
            f"--view: {scene.name} is written as equations, which have no bodies to show; take --plot FILE"
        )
    from stickslip.view.browser.live import LiveView
    from stickslip.view.browser.server import ViewerError, is_local

    try:
        opened = LiveView(scene.system, host, port, until=until)
    except ViewerError as error:
        raise InputError(str(error)) from None
    with opened as view:
        if not is_local(host):
            complain(f"warning: serving at {host}, so whoever reaches this machine there can look")
        print(f"showing the run at {view.url} (Ctrl+C ends it)", flush=True)
        if browser and not webbrowser.open(view.url):
            complain(f"no browser could be opened; point one to {view.url}")
        yield view


def show_run(trajectory: Trajectory | WorldTrajectory, host: str, port: int) -> None:
    """Play a run at the same address, for browsers that are there already, until Ctrl+C."""
    from stickslip.simulation.world_trajectory import WorldTrajectory
    from stickslip.view.browser.viewer import Viewer, ViewerError

    assert isinstance(trajectory, WorldTrajectory)
    try:
        with Viewer(trajectory, host, port) as viewer:
            print(f"showing {len(viewer.frames)} records at {viewer.url} (Ctrl+C ends)", flush=True)
            viewer.wait()
    except ViewerError as error:
        raise InputError(str(error)) from None
    except Terminated:
        raise
    except KeyboardInterrupt:
        print("ended")
