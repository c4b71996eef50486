"""A run in the browser while it goes on."""

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
"""Least time between two pictures [s]."""
SHARE = 8.0
"""A picture comes so many times as long after the one before as it took to make, so that a run loses no more
than one part in so many."""
NAP = 0.05
"""How long a run that is held waits before it looks whether it still is [s]."""
PATIENCE = 10.0
"""How long a page waits for an instant before it asks anew [s]."""
SEEN = 2.0
"""How long after a page has asked somebody is taken to look [s]."""
SERIES = (("energy", "kinetic + potential", "J"), ("dissipated", "dissipated", "J"))
"""Numbers of records that pages plot, how they are called, and their units."""


class RunStopped(Exception):  # noqa: N818
    """The run was stopped by the button of a `LiveView`; `.trajectory` is what was done until then."""


class LiveView(Served):
    """A server that shows a world to browsers while `simulate` carries it on: it is a `watch`.

    with LiveView(world) as view:
        print(view.url)
        trajectory = simulate(world, until=1.0, h=1e-3, watch=view)

    Its buttons hold the run, let it go no faster than time does, and stop it, which `simulate` raises as a
    RunStopped. Records that come faster than pictures are passed over; without a browser none is made.
    """

    def __init__(
        self, world: World | Trajectory, host: str = "127.0.0.1", port: int = 8080, *,
        until: float | None = None, title: str | None = None,
    ):  # fmt: skip
        """world: what is shown; of a run that is written by another process, that run so far."""
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
        """What is shown."""
        self._scene = reel.scene
        content, numbers = contents_of([reel], [""], 1.0, forces=True, live=True)
        bodies = f"{len(self.stage.model)} bodies"
        self._page = framed(f"{line(title or bodies)}, live", content, numbers).encode()
        super().__init__(host, port)

    def close(self) -> None:
        """End the server; once is enough."""
        super().close()
        with self._news:
            self._news.notify_all()

    def answer(self, path: str, query: dict[str, str]) -> Answer:
        """The page, and each next instant when it is there."""
        if path == "/kind":
            return Answer(b"live")
        if path == "/next":
            return self._after(query.get("after", ""))
        return Answer(self._page, HTML) if path in ("/", "/index.html") else NOTHING

    def order(self, name: str) -> None:
        """What a button asks for."""
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
        """The instant after one that a page has; nothing when the run is over."""
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
        """Show a record if it is time to, and hold the run while that is wished."""
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
        """How much earlier than in the world the record has come [s]; 0 where that does not matter."""
        return self._pace.ahead(record.t, time.monotonic()) if self._slow.is_set() else 0.0

    def _show(self) -> None:
        """Make the last record the next instant; threads of the server come here, too."""
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
        """An instant as the page reads it: the length of a text, the text, the numbers."""
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
    """A number of a record; None where it has none."""
    try:
        found = float(getattr(record, key))
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return found if np.isfinite(found) else None


class _Pace:
    """How fast a run goes, from the last second or so."""

    LONG = 1.0
    """Time over which speeds are taken [s]."""

    def __init__(self) -> None:
        self.steps_per_second = self.speed = 0.0
        self._t: float | None = None
        self._began: tuple[float, float] | None = None
        self._mark: tuple[float, float] | None = None
        self._steps = 0

    def step(self, record: Record, now: float) -> None:
        """Take in a record that came at `now` [s]."""
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
        """Count from the next record on: the time while a run was held is nobody's."""
        self._began = self._mark = None

    def ahead(self, t: float, now: float) -> float:
        """How much earlier than in the world a record of time t comes [s]."""
        began = self._began  # the button may take it away meanwhile
        return 0.0 if began is None else max(0.0, (t - began[0]) - (now - began[1]))


def progress(t: float, until: float | None, pace: _Pace) -> str:
    """How far the run is and how fast it goes, as a sentence."""
    end = "" if until is None else f" of {until:.4g} s"
    if pace.steps_per_second <= 0.0:
        return f"running, t = {t:.4g} s{end}"
    return (
        f"t = {t:.4g} s{end}; {pace.steps_per_second:.3g} steps per second, {pace.speed:.3g} times real time"
    )
