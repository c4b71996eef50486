"""Viewer of runs in the browser: a server of the page, and `view`, which opens it."""

import sys
import threading
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from stickslip.mechanics.world import World
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.browser.export import BODY, FEWEST, page_of_reels, reels_of
from stickslip.view.browser.server import HTML, NOTHING, Answer, Served, ViewerError

__all__ = ["Viewer", "ViewerError", "view"]

MOST_FRAMES = 2000
"""Default largest number of frames, evenly spaced in time."""
MEGABYTES = 60.0
"""Approximate size limit of the page [MB]."""


class Viewer(Served):
    """A server that shows a run, or a world at its start, in browsers; use it in a `with` statement.

    with Viewer(trajectory) as viewer:
        print(viewer.url)
        viewer.wait()
    """

    def __init__(
        self, source: Trajectory | World, other: Trajectory | World | None = None, *,
        host: str = "127.0.0.1", port: int = 8080, frames: int | None = None, title: str | None = None,
        names: Sequence[str] = (),
    ):  # fmt: skip
        """other: a second run, shown beside the first; frames: largest number of frames; title, names: see
        `page_of`."""
        self._page: bytes = b""
        self._ready = threading.Event()
        super().__init__(host, port)
        try:
            self.reels = reels_of(
                source, other, frames=frames or _most(source, other), contacts=True, megabytes=MEGABYTES
            )
            """Data shown of each run."""
            page = page_of_reels(
                self.reels, forces=True, speed=1.0, title=title, megabytes=MEGABYTES, names=names
            )
            self._page = page.encode()
            self._ready.set()
        except BaseException:  # without this nothing would end the server
            self._ready.set()
            self.close()
            raise

    def answer(self, path: str, query: dict[str, str]) -> Answer:
        """Answer a request for the page, once it is complete, or for its kind."""
        self._ready.wait()
        if path == "/kind":
            return Answer(b"run")
        return Answer(self._page, HTML) if path in ("/", "/index.html") else NOTHING


def view(source: Trajectory | World, other: Trajectory | World | None = None, **options: Any) -> Any:
    """Show a run, or a world at its start, in the browser; with a second run, both side by side.

    In a notebook the run is shown in the notebook. Otherwise a browser is opened, and the call returns after
    Ctrl+C.

    options     of `Viewer`: host, port, frames, title, names
    """
    if "ipykernel" in sys.modules and not options:
        from stickslip.view.notebook import Scene

        return Scene(source, other)
    with Viewer(source, other, **({"port": 0} | options)) as viewer:
        print(f"showing {viewer.url} (Ctrl+C ends)", file=sys.stderr, flush=True)
        webbrowser.open(viewer.url)
        with suppress(KeyboardInterrupt):
            viewer.wait()
    return None


def _most(*sources: Any) -> int:
    """Default largest number of frames; smaller for very many bodies, to limit the size of the page."""
    runs = [one for one in sources if isinstance(one, Trajectory)]
    bodies = max((len(one.model) if one.of_world else 1 for one in runs), default=1)
    return max(FEWEST, min(MOST_FRAMES, int(1e6 * MEGABYTES / (BODY * bodies))))
