"""`stickslip view`: show a run in the browser, or export it as a page, an animation or a picture."""

from __future__ import annotations

import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, Terminated, complain, printable, refused, usable, wrote
from stickslip.cli.models import MODELS, ROBOTS, load_model, load_robot, standing
from stickslip.cli.parameters import Flag, Host, NoBrowser, Port
from stickslip.cli.places import PICTURES, check_writable, followed, load_run
from stickslip.cli.progress import watch_parts

if TYPE_CHECKING:
    from stickslip.mechanics.world import World
    from stickslip.scenes.scenario import Scenario
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.view.browser.export import Reel
    from stickslip.view.browser.live import LiveView

PAGES = (".html", ".htm")
"""Suffixes of pages with the viewer."""
ANIMATIONS = (".gif", ".webp", ".mp4", ".png")
"""Suffixes of animations (`stickslip.view.encoding.WRITERS`, repeated to keep `--help` fast)."""


def view(
    file: Annotated[Path, Parameter(name="FILE")],
    other: Annotated[Path | None, Parameter(name="OTHER")] = None,
    /,
    *,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    no_browser: NoBrowser = False,
    export: Path | None = None,
    frames: int | None = None,
    still: Path | None = None,
    at: float | None = None,
    fps: float | None = None,
    speed: float | None = None,
    pixels: str | None = None,
    azimuth: float | None = None,
    elevation: float | None = None,
    contacts: Flag = False,
    forces: Flag = False,
    colour: Literal["body", "speed", "force", "state"] | None = None,
    follow: Flag = False,
) -> int:
    """Show a recorded run, a world or a robot in the browser, until Ctrl+C.

    The viewer plays bodies at any speed, with contacts, forces, force chains, joints,
    sensors and trajectories, plots of any quantity, and energy and residual under the
    time. Runs of equations are shown as plots. Two files are shown side by side. With
    --export nothing is served: the command writes one HTML file that plays without a
    server, or an animation drawn without a display.

    For example:
      stickslip view stack.h5
      stickslip view stack.h5 --port 0 --no-browser
      stickslip view stack.h5 --export stack.html
      stickslip view stack.h5 --export stack.gif --fps 20 --speed 0.5
      stickslip view stack.h5 --export stack.mp4 --pixels 1280x720 --forces
      stickslip view stack.h5 --still stack.png --at 0.5
      stickslip view rough.h5 smooth.h5
      stickslip view stack.h5 --follow
      stickslip view model.toml
      stickslip view robot.xml

    Parameters
    ----------
    file
        A trajectory, as `stickslip run ... --out FILE` writes it; or a model, .toml or .json;
        or a robot, MJCF or URDF (.xml, .mjcf, .urdf).
    other
        A second file, shown beside the first in the browser or in an .html file.
    export
        Write the run to this file and serve nothing: .html; .gif, .webp or .mp4; or .png for numbered
        pictures, NAME-0000.png and so on.
    frames
        Largest number of records shown, evenly spaced; for the browser and .html.
    still
        Draw a still picture of one time to this file, .png, .svg or .pdf, and serve nothing.
    at
        Time of the still picture [s]; the end by default.
    fps
        Pictures per second of an animation; 25 by default.
    speed
        Seconds of the run in a second of an animation or page; 1 by default.
    pixels
        Width and height of a picture, such as 640x480; 560x400 by default, and 1120x800 of a still.
    azimuth
        Direction of the viewer about the vertical, from the x axis [°]; -60 by default.
    elevation
        Height of the viewer above the horizon [°]; 18 by default.
    contacts
        Mark contact points in a still or an animation, coloured by state.
    forces
        Draw contact forces in a still or an animation as arrows.
    colour
        Colour bodies of a still or an animation by speed, by contact force, or by the state of their
        contacts; by default each body has its own colour.
    follow
        Show the last record of a run while another process writes it, and play the run when it is over.
    """
    if at is not None and still is None:
        raise InputError("--at is the time of a still picture: add --still FILE")
    if frames is not None and frames < 2:
        raise InputError(f"--frames {frames}: at least 2, the start and the end")
    if follow and (still is not None or export is not None):
        raise InputError("--follow shows a run while it is written; --still and --export take what is there")
    look = _look(
        pixels=pixels,
        azimuth=azimuth,
        elevation=elevation,
        contacts=contacts or None,
        forces=forces or None,
        colour=colour,
    )
    pace = {name: value for name, value in (("fps", fps), ("speed", speed)) if value is not None}
    _check_options(export, still, look, pace, frames)
    pages = still is None and (export is None or export.suffix.lower() in PAGES)
    if other is not None and (follow or not pages):
        raise InputError(f"{other}: two runs are shown in the browser and in .html files")
    if file.suffix.lower() in (*MODELS, *ROBOTS) and (follow or at is not None):
        raise InputError(f"{file}: a model stands still; --follow and --at are for runs")
    source = _source(file, pages and not follow)
    second = None if other is None else _source(other, pages)
    if follow:
        source = _follow(file, source, host, port, browser=not no_browser)
        no_browser = True
    if still is not None:
        from stickslip.view.still import draw_world

        check_writable(still, PICTURES)
        with usable(still), refused(ValueError, before="--still: "):
            draw_world(source, still, at=at, **look)
        wrote(still)
    if export is not None:
        check_writable(export, (*PAGES, *ANIMATIONS))
        if export.suffix.lower() in PAGES:
            _export_page(source, file, export, frames, pace.get("speed", 1.0), second, _names(file, other))
        else:
            _export_animation(source, export, pace | look)
    if still is None and export is None:
        serve(source, host, port, frames, browser=not no_browser, other=second, names=_names(file, other))
    return ExitCode.FINE


def _look(pixels: str | None, **given: Any) -> dict[str, Any]:
    """Options of `view.Look` that are not None; pixels: width and height as text."""
    look = {name: value for name, value in given.items() if value is not None}
    if pixels is not None:
        width, cross, height = pixels.partition("x")
        if not (cross and width.isdecimal() and height.isdecimal()):
            raise InputError(f"--pixels {pixels}: width x height, such as 640x480")
        from stickslip.view.look import Look

        look |= Look.in_pixels(int(width), int(height))
    return look


def _check_options(
    export: Path | None, still: Path | None, look: dict[str, Any], pace: dict[str, float], frames: int | None
) -> None:
    """Raise an error for options that would have no effect, such as options of pictures without a picture."""
    page = export is not None and export.suffix.lower() in PAGES
    drawn = still is not None or (export is not None and not page)
    if look and not drawn:
        option = "pixels" if "size" in look else next(iter(look))
        raise InputError(
            f"--{option} is for pictures: add --still FILE.png, or --export with {', '.join(ANIMATIONS)}"
        )
    if pace and export is None:
        raise InputError(f"--{next(iter(pace))} is for --export")
    if page and "fps" in pace:
        raise InputError("--fps is for animations; --frames N bounds the records of a page")
    if drawn and frames is not None:
        raise InputError("--frames is for the browser and for .html; --fps and --speed are for animations")


def _source(file: Path, page: bool) -> Trajectory | World:
    """Read what a file shows: a world or a robot in its start position, or a run."""
    if file.suffix.lower() in MODELS:
        return _world(file)
    return standing(load_robot(file)) if file.suffix.lower() in ROBOTS else _read(file, page)


def _names(file: Path, other: Path | None) -> tuple[str, ...]:
    """Names of two runs: those of their files, with folders if the names are equal."""
    if other is None:
        return ()
    stems = (file.stem, other.stem)
    return stems if stems[0] != stems[1] else (str(file), str(other))


def _title(source: Trajectory | World, names: tuple[str, ...], file: Path) -> str:
    """Title of a page: the names of two runs, or the file and the number of bodies."""
    from stickslip.mechanics.world import World

    if len(names) > 1:
        return " and ".join(names)
    if not isinstance(source, World) and not source.of_world:
        return file.stem
    count = len(source.names if isinstance(source, World) else source.model.names)
    return f"{file.stem}: {count} bodies"


def _export_page(
    source: Trajectory | World, file: Path, export: Path, frames: int | None, speed: float,
    other: Trajectory | World | None, names: tuple[str, ...],
) -> None:  # fmt: skip
    from stickslip.view.browser.export import export_html
    from stickslip.view.browser.viewer import ViewerError

    title = _title(source, names, file)
    with usable(export), refused(ViewerError, ValueError):
        export_html(source, export, other, frames=frames, title=title, speed=speed, names=names)
    wrote(export, f" ({export.stat().st_size / 1e6:.1f} MB)")


def _export_animation(source: Trajectory | World, export: Path, options: dict[str, Any]) -> None:
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.view.animation import export_animation

    if not isinstance(source, Trajectory):
        raise InputError(f"{export}: a model stands still; an animation is of a run, --still FILE of a model")
    with watch_parts("drawing") as report, usable(export), refused(ValueError, before="--export: "):
        show = None if report is None else lambda done, total: report("pictures", done, total)
        places = export_animation(source, export, progress=show, **options)
    size = sum(place.stat().st_size for place in places) / 1e6
    if len(places) > 1:
        wrote(places[0], f" to {places[-1].name} ({len(places)} pictures, {size:.1f} MB)")
    else:
        wrote(places[0], f" ({size:.1f} MB)")


def _world(file: Path) -> World:
    from stickslip.mechanics.world import World

    model = load_model(file)
    if not isinstance(model, World):
        raise InputError(f"{file}: a model of written equations, which have no shapes to show")
    return model


def _read(file: Path, page: bool) -> Trajectory:
    """Read a run; page: whether a page shows it, which can plot runs of equations."""
    trajectory = load_run(file)
    if not trajectory.of_world:
        if page:
            return trajectory
        raise InputError(
            f"{file}: a run of written equations, which have no shapes to draw; try stickslip plot {file}"
        )
    if not trajectory.model.shapes:
        raise InputError(f"{file}: the bodies of this run have no shapes to show")
    return trajectory


def _follow(
    file: Path, trajectory: Trajectory | World, host: str, port: int, *, browser: bool
) -> Trajectory | World:
    """Show the last record of a run while it is written; return the run when its writer has ended."""
    from stickslip.view.browser.live import LiveView, RunStopped
    from stickslip.view.browser.server import ViewerError

    with refused(ViewerError):
        opened = LiveView(trajectory, host, port)
    with opened as view:
        _warn(host)
        print(f"following {file} at {view.url} (Ctrl+C ends)", flush=True)
        _browse(view.url, browser)
        with suppress(RunStopped):
            for run in followed(file):
                view(run.at(-1))
                trajectory = run
    return trajectory


@contextmanager
def live_view(
    scene: Scenario, until: float, host: str, port: int, start: Any = None, *, browser: bool
) -> Iterator[LiveView]:
    """Serve the view of a running simulation; print its address, and open a browser if requested.

    start: initial state of a robot.
    """
    from stickslip.mechanics.world import World
    from stickslip.robots.robot import Robot

    model: Any = scene.system
    if isinstance(model, Robot):
        model = standing(model, start)
    elif not isinstance(model, World):
        raise InputError(
            f"--view: {scene.name} is written as equations, which have no bodies to show; take --plot FILE"
        )
    from stickslip.view.browser.live import LiveView
    from stickslip.view.browser.server import ViewerError

    with refused(ViewerError):
        opened = LiveView(model, host, port, until=until)
    with opened as view:
        _warn(host)
        print(f"showing the run at {view.url} (Ctrl+C ends it)", flush=True)
        _browse(view.url, browser)
        yield view


def serve(
    source: Trajectory | World, host: str, port: int, frames: int | None = None,
    browser: bool | None = None, other: Trajectory | World | None = None, names: tuple[str, ...] = (),
) -> None:  # fmt: skip
    """Serve the viewer of a run until Ctrl+C.

    browser: whether to open a browser; None if a page is open already. other: a second run beside the
    first. names: names of both.
    """
    from stickslip.view.browser.viewer import Viewer, ViewerError

    title = " and ".join(names) or None
    try:
        with (
            refused(ViewerError),
            Viewer(source, other, host=host, port=port, frames=frames, title=title, names=names) as viewer,
        ):
            if browser is not None:
                _warn(host)
                for reel in viewer.reels:
                    _tell(reel)
            shown = " and ".join(str(reel.rows.size) for reel in viewer.reels)
            print(f"showing {shown} records at {viewer.url} (Ctrl+C ends)", flush=True)
            _browse(viewer.url, browser is True)
            viewer.wait()
    except Terminated:
        raise
    except KeyboardInterrupt:
        print("ended")


def _tell(reel: Reel) -> None:
    """Print the number of records and the shapes that are not shown."""
    shown, unknown = reel.rows.size, () if reel.stage is None else reel.stage.unknown
    if shown < reel.length:
        print(f"{shown} of {reel.length} records are played, evenly chosen; --frames N plays more or fewer")
    if unknown:
        names = ", ".join(printable(name[:40]) for name in unknown[:5])
        more = ", ..." if len(unknown) > 5 else ""
        print(f"shapes that cannot be drawn are only marked: {names}{more}")


def _warn(host: str) -> None:
    """Print a warning if the address can be reached from other machines."""
    from stickslip.view.browser.server import is_local

    if not is_local(host):
        complain(f"warning: serving at {host}, so other machines may open the viewer")


def _browse(url: str, requested: bool) -> None:
    """Open a browser if requested; print the address if that fails."""
    if requested and not webbrowser.open(url):
        complain(f"no browser could be opened; point one to {url}")
