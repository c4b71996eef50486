"""Show a run in the browser while it is simulated."""

import json
import math
import struct
import threading
import time
from typing import Any

import numpy as np

from stickslip.mechanics.world import World
from stickslip.simulation.record import Record
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.browser.export import Reel, contents_of, framed
from stickslip.view.browser.packing import Pack
from stickslip.view.browser.server import BYTES, HTML, NOTHING, Answer, Served
from stickslip.view.browser.stage import Stage
from stickslip.view.text import line

OFTEN = 1.0 / 30.0
"""Shortest time between two frames [s]."""
SHARE = 8.0
"""Smallest ratio of the time between two frames to the time that a frame takes to prepare [-]; it bounds the
share of a run that is spent on frames."""
NAP = 0.05
"""Time between two checks whether a paused run continues [s]."""
PATIENCE = 10.0
"""Time after which an unanswered request for a frame is repeated [s]."""
SEEN = 2.0
"""Time after `PATIENCE` without a request at which frames are no longer prepared [s]."""
SERIES = (("energy", "kinetic + potential", "J"), ("dissipated", "dissipated", "J"))
"""Plotted quantities of records: attribute, name, unit."""


class RunStopped(Exception):  # noqa: N818
    """The run was stopped by the button of a `LiveView`; `.trajectory` contains the steps until then."""


class LiveView(Served):
    """A server that shows a world in browsers while `simulate` runs; pass it as the argument `watch`.

    with LiveView(world) as view:
        print(view.url)
        trajectory = simulate(world, until=1.0, h=1e-3, watch=view)

    Its buttons pause the run, limit it to real time, and stop it; `simulate` then raises RunStopped. Records
    that follow each other faster than frames are skipped; without a browser no frames are prepared.
    """

    def __init__(
        self, world: World | Trajectory, host: str = "127.0.0.1", port: int = 8080, *,
        until: float | None = None, title: str | None = None,
    ):  # fmt: skip
        """world: the world to show, or a run so far that is written by another process."""
        self._until = until
        self._news = threading.Condition()
        self._held, self._stopped, self._slow = threading.Event(), threading.Event(), threading.Event()
        self._pace = _Pace()
        self._record: Record | None = None
        self._next, self._asked = -math.inf, -math.inf
        self._number, self._message = 0, b""
        source = world if isinstance(world, World) else world[-1:]
        reel = Reel(source, None, 1.0, contacts=True)
        assert reel.scene is not None
        self.stage: Stage = reel.scene.stage
        """The stage that is shown."""
        self._scene = reel.scene
        content, numbers = contents_of([reel], [""], 1.0, forces=True, live=True)
        bodies = f"{len(self.stage.model)} bodies"
        self._page = framed(f"{line(title or bodies)}, live", content, numbers).encode()
        super().__init__(host, port)

    def close(self) -> None:
        """End the server; repeated calls have no effect."""
        super().close()
        with self._news:
            self._news.notify_all()

    def answer(self, path: str, query: dict[str, str]) -> Answer:
        """Answer a request for the page, or for the next frame."""
        if path == "/kind":
            return Answer(b"live")
        if path == "/next":
            return self._after(query.get("after", ""))
        return Answer(self._page, HTML) if path in ("/", "/index.html") else NOTHING

    def order(self, name: str) -> None:
        """Execute the order of a button."""
        if name == "hold":
            if self._held.is_set():
                self._held.clear()
                self._pace.begin_again()
            else:
                self._held.set()
            self._show()
        elif name == "stop":
            self._stopped.set()
        elif name in ("slow", "fast"):
            self._slow.set() if name == "slow" else self._slow.clear()
            self._pace.begin_again()

    def _after(self, text: str) -> Answer:
        """The frame after the one that a page has; empty when the run is over."""
        number = int(text) if text.lstrip("-").isdecimal() else -1
        self._asked = time.monotonic()
        if self._record is not None and not self._number:
            self._show()
        with self._news:
            until = time.monotonic() + PATIENCE
            while self._number <= max(number, 0) and not self._ended.is_set():
                if not self._news.wait(max(0.0, until - time.monotonic())):
                    break
                self._asked = time.monotonic()
            if self._ended.is_set():
                return Answer(b"", BYTES)
            if self._number <= max(number, 0):
                return Answer(b"", status=204)
            return Answer(self._message, BYTES)

    def __call__(self, record: Record) -> None:
        """Show a record if a frame is due, and wait while the run is paused or ahead of real time."""
        now = time.monotonic()
        self._pace.step(record, now)
        self._record = record
        last = self._until is not None and record.t >= self._until
        if (now >= self._next or last) and now - self._asked < PATIENCE + SEEN:
            self._show()
        while not self._stopped.is_set() and (self._held.is_set() or self._ahead(record)):
            self._stopped.wait(NAP if self._held.is_set() else min(NAP, self._ahead(record)))
        if self._stopped.is_set():
            raise RunStopped(f"the run was stopped at t = {record.t:.6g} s")

    def _ahead(self, record: Record) -> float:
        """Time by which a record is ahead of real time [s]; 0 if the run is not limited to real time."""
        return self._pace.ahead(record.t, time.monotonic()) if self._slow.is_set() else 0.0

    def _show(self) -> None:
        """Prepare the frame of the last record; also called by threads of the server."""
        record = self._record
        if record is None or self._ended.is_set():
            return
        began = time.monotonic()
        with self._news:
            self._message = self._packed(record, self._number + 1)
            self._number += 1
            self._news.notify_all()
        self._next = time.monotonic() + max(OFTEN, SHARE * (time.monotonic() - began))

    def _packed(self, record: Record, number: int) -> bytes:
        """Encode a frame for the page: length of the JSON text, JSON text, compressed arrays."""
        frame, pack = self.stage.frame_of(record), Pack()
        info: dict[str, Any] = {
            "number": number, "held": self._held.is_set(),
            "progress": progress(record.t, self._until, self._pace),
            "instant": self._scene.moving(pack, [frame], [frame.readout]),
            "series": [[name, unit, _value(record, key)] for key, name, unit in SERIES],
        }  # fmt: skip
        text = json.dumps(info, separators=(",", ":"), allow_nan=False).encode()
        return struct.pack("<I", len(text)) + text + pack.compressed(1)


def _value(record: Record, key: str) -> float | None:
    """An attribute of a record as a number; None if it does not exist or is not finite."""
    try:
        number = float(getattr(record, key))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return number if np.isfinite(number) else None


class _Pace:
    """Speed of a run, averaged over about the last second."""

    LONG = 1.0
    """Averaging time of speeds [s]."""

    def __init__(self) -> None:
        self.steps_per_second = self.speed = 0.0
        self._t: float | None = None
        self._began: tuple[float, float] | None = None
        self._mark: tuple[float, float] | None = None
        self._steps = 0

    def step(self, record: Record, now: float) -> None:
        """Register a record received at the time `now` [s]."""
        if self._t is not None and record.h > 0.0:
            self._steps += max(1, round((record.t - self._t) / record.h))
        self._t = record.t
        if self._began is None:
            self._began = record.t, now
        mark = self._mark
        past = 0.0 if mark is None else now - mark[1]
        if mark is None or past >= self.LONG:
            if mark is not None:
                self.steps_per_second, self.speed = self._steps / past, (record.t - mark[0]) / past
            self._mark, self._steps = (record.t, now), 0

    def begin_again(self) -> None:
        """Restart at the next record, so that pauses do not count."""
        self._began = self._mark = None

    def ahead(self, t: float, now: float) -> float:
        """Time by which a record of time t is ahead of real time [s]."""
        began = self._began  # another thread may reset it meanwhile
        return 0.0 if began is None else max(0.0, (t - began[0]) - (now - began[1]))


def progress(t: float, until: float | None, pace: _Pace) -> str:
    """Progress and speed of a run as a sentence."""
    end = "" if until is None else f" of {until:.4g} s"
    if pace.steps_per_second <= 0.0:
        return f"running, t = {t:.4g} s{end}"
    return (
        f"t = {t:.4g} s{end}; {pace.steps_per_second:.3g} steps per second, {pace.speed:.3g} times real time"
    )
