"""`stickslip view`: a recorded run in the browser, or as a page that plays it."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, printable, refused, usable, wrote
from stickslip.cli.load import load_run
from stickslip.cli.places import PLOTS, check_writable
from stickslip.cli.stops import Terminated

if TYPE_CHECKING:
    from stickslip.scenes.scenario import Scenario
    from stickslip.simulation.world_trajectory import WorldTrajectory
    from stickslip.view.browser.live import LiveView


def view(
    file: Annotated[Path, Parameter(name="FILE")],
    /,
    *,
    host: str = "127.0.0.1",
    port: int = 8080,
    no_browser: Annotated[bool, Parameter(show_default=False)] = False,
    export: Path | None = None,
    frames: int | None = None,
    still: Path | None = None,
    at: float | None = None,
) -> int:
    """Show a recorded run of bodies in the browser, until Ctrl+C.

    All shapes, played at any speed; contact points in the colour of what they do,
    forces as arrows, residual and penetration beside the time. Click a body for
    its state. With --export nothing is served: one HTML file is written that
    plays by itself.

    For example:
      stickslip view stack.h5
      stickslip view stack.h5 --port 0 --no-browser
      stickslip view stack.h5 --export stack.html
      stickslip view stack.h5 --still stack.png --at 0.5

    Parameters
    ----------
    file
        A trajectory, as `stickslip run ... --out FILE` writes it.
    host
        Address of this machine to serve at; only this machine reaches the default.
    port
        Port to serve at; 0 takes any that is free.
    no_browser
        Print the address and open no browser.
    export
        Write the run to this file, .html, and serve nothing.
    frames
        Show at most so many records, evenly chosen.
    still
        Draw one instant into this file, .png or .svg, and serve nothing.
    at
        Time of that instant [s]; the end by default.
    """
    if at is not None and still is None:
        raise InputError("--at is the time of a still picture: add --still FILE")
    if frames is not None and frames < 2:
        raise InputError(f"--frames {frames}: at least 2, the start and the end")
    trajectory = _read(file)
    if still is not None:
        _draw(trajectory, still, at)
    if export is not None:
        _export(trajectory, export, frames, file.stem)
    if still is not None or export is not None:
        return ExitCode.FINE
    serve(trajectory, host, port, frames, browser=not no_browser)
    return ExitCode.FINE


def _read(file: Path) -> WorldTrajectory:
    from stickslip.simulation.world_trajectory import WorldTrajectory

    trajectory = load_run(file)
    if not isinstance(trajectory, WorldTrajectory):
        raise InputError(
            f"{file}: a run of written equations, which have no shapes to show; try stickslip plot {file}"
        )
    if not trajectory.model.shapes:
        raise InputError(f"{file}: the bodies of this run have no shapes to show")
    return trajectory


@contextmanager
def live_view(scene: Scenario, until: float, host: str, port: int, *, browser: bool) -> Iterator[LiveView]:
    """A server that watches a run of a scene; its address is printed, and a browser opened if asked."""
    from stickslip.mechanics.world import World

    if not isinstance(scene.system, World):
        raise InputError(
            f"--view: {scene.name} is written as equations, which have no bodies to show; take --plot FILE"
        )
    from stickslip.view.browser.live import LiveView
    from stickslip.view.browser.server import ViewerError

    with refused(ViewerError):
        opened = LiveView(scene.system, host, port, until=until)
    with opened as view:
        _warn(host)
        print(f"showing the run at {view.url} (Ctrl+C ends it)", flush=True)
        _browse(view.url, browser)
        yield view


def serve(
    trajectory: WorldTrajectory, host: str, port: int, frames: int | None = None, browser: bool | None = None
) -> None:
    """Play a run until Ctrl+C; browser: whether to open one, None where one is there already."""
    from stickslip.view.browser.viewer import MOST_FRAMES, Viewer, ViewerError

    try:
        with refused(ViewerError), Viewer(trajectory, host, port, frames=frames or MOST_FRAMES) as viewer:
            if browser is not None:
                _warn(host)
                _say_what_is_left_out(len(viewer.frames), len(trajectory), viewer.stage.unknown)
            print(f"showing {len(viewer.frames)} records at {viewer.url} (Ctrl+C ends)", flush=True)
            _browse(viewer.url, browser is True)
            viewer.wait()
    except Terminated:
        raise
    except KeyboardInterrupt:
        print("ended")


def _warn(host: str) -> None:
    from stickslip.view.browser.server import is_local

    if not is_local(host):
        complain(f"warning: serving at {host}, so whoever reaches this machine there can look")


def _browse(url: str, asked: bool) -> None:
    if asked and not webbrowser.open(url):
        complain(f"no browser could be opened; point one to {url}")


def _say_what_is_left_out(shown: int, recorded: int, unknown: tuple[str, ...]) -> None:
    if shown < recorded:
        print(f"{shown} of {recorded} records are played, evenly chosen; --frames N plays more or fewer")
    if unknown:
        names = ", ".join(printable(name[:40]) for name in unknown[:5])
        print(f"shapes that cannot be drawn are only marked: {names}{', ...' if len(unknown) > 5 else ''}")


def _draw(trajectory: WorldTrajectory, out: Path, at: float | None) -> None:
    from stickslip.view.still import draw_world

    check_writable(out, PLOTS)
    with usable(out), refused(ValueError, before="--still: "):
        draw_world(trajectory, out, at=at, contacts=True)
    wrote(out)


def _export(trajectory: WorldTrajectory, out: Path, frames: int | None, title: str) -> None:
    from stickslip.view.browser.viewer import ViewerError

    check_writable(out, (".html", ".htm"))
    with usable(out), refused(ViewerError, ValueError):
        from stickslip.view.browser.export import export_html

        export_html(trajectory, out, frames=frames, title=f"{title}: {len(trajectory.model)} bodies")
    wrote(out, f" ({out.stat().st_size / 1e6:.1f} MB)")
