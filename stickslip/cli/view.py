"""`stickslip view`: a recorded run in the browser, or as a page that plays it."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, os_sentence, printable
from stickslip.cli.stops import Terminated

if TYPE_CHECKING:
    from stickslip.simulation.world_trajectory import WorldTrajectory


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
    return _serve(trajectory, host, port, frames, browser=not no_browser)


def _read(file: Path) -> WorldTrajectory:
    from stickslip.files import FormatError
    from stickslip.files.trajectories import read_trajectory
    from stickslip.simulation.world_trajectory import WorldTrajectory

    try:
        trajectory = read_trajectory(file)
    except FormatError as error:
        raise InputError(str(error)) from None
    except FileNotFoundError:
        raise InputError(f"{file}: no such file") from None
    if not isinstance(trajectory, WorldTrajectory):
        raise InputError(
            f"{file}: a run of written equations, which have no shapes to show; try stickslip plot {file}"
        )
    if not trajectory.model.shapes:
        raise InputError(f"{file}: the bodies of this run have no shapes to show")
    return trajectory


def _serve(trajectory: WorldTrajectory, host: str, port: int, frames: int | None, *, browser: bool) -> int:
    from stickslip.view.browser.server import is_local
    from stickslip.view.browser.viewer import MOST_FRAMES, Viewer, ViewerError

    try:
        with Viewer(trajectory, host, port, frames=frames or MOST_FRAMES) as viewer:
            if not is_local(host):
                complain(f"warning: serving at {host}, so whoever reaches this machine there can look")
            _say_what_is_left_out(len(viewer.frames), len(trajectory), viewer.stage.unknown)
            print(f"showing {len(viewer.frames)} records at {viewer.url} (Ctrl+C ends)", flush=True)
            if browser and not webbrowser.open(viewer.url):
                complain(f"no browser could be opened; point one to {viewer.url}")
            viewer.wait()
    except ViewerError as error:
        raise InputError(str(error)) from None
    except Terminated:
        raise
    except KeyboardInterrupt:
        print("ended")
    return ExitCode.FINE


def _say_what_is_left_out(shown: int, recorded: int, unknown: tuple[str, ...]) -> None:
    if shown < recorded:
        print(f"{shown} of {recorded} records are played, evenly chosen; --frames N plays more or fewer")
    if unknown:
        names = ", ".join(printable(name[:40]) for name in unknown[:5])
        print(f"shapes that cannot be drawn are only marked: {names}{', ...' if len(unknown) > 5 else ''}")


def _draw(trajectory: WorldTrajectory, out: Path, at: float | None) -> None:
    from stickslip.cli.places import PLOTS, check_writable
    from stickslip.view.still import draw_world

    check_writable(out, PLOTS)
    try:
        draw_world(trajectory, out, at=at, contacts=True)
    except ValueError as error:
        raise InputError(f"--still: {error}") from None
    except OSError as error:
        raise InputError(os_sentence(error, error.filename or out)) from None
    print(f"wrote {printable(str(out))}")


def _export(trajectory: WorldTrajectory, out: Path, frames: int | None, title: str) -> None:
    from stickslip.cli.places import check_writable
    from stickslip.view.browser.viewer import ViewerError

    check_writable(out, (".html", ".htm"))
    try:
        from stickslip.view.browser.export import export_html

        export_html(trajectory, out, frames=frames, title=f"{title}: {len(trajectory.model)} bodies")
    except (ViewerError, ValueError) as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(os_sentence(error, error.filename or out)) from None
    print(f"wrote {printable(str(out))} ({out.stat().st_size / 1e6:.1f} MB)")
