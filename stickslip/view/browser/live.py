"""A run in the browser while it goes on."""

import math
import threading
import time

from stickslip.mechanics.world import World
from stickslip.simulation.record import Record
from stickslip.simulation.trajectory import Trajectory
from stickslip.view.browser.painter import Painter
from stickslip.view.browser.panel import readout_html, shown_time
from stickslip.view.browser.server import Served, close_server
from stickslip.view.browser.stage import Stage

OFTEN = 1.0 / 30.0
"""Least time between two pictures [s]."""
SHARE = 8.0
"""A picture comes so many times as long after the one before as it took to make, so that a run loses no more
than one part in so many."""
NAP = 0.05
"""How long a run that is held waits before it looks whether it still is [s]."""


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
        until: float | None = None,
    ):  # fmt: skip
        """world: what is shown; of a run that is written by another process, that run so far."""
        self.stage = Stage.of(world)
        """What is shown."""
        self._until = until
        self._lock = threading.Lock()
        self._held, self._stopped = threading.Event(), threading.Event()
        self._closed = False
        self._pace = _Pace()
        self._record: Record | None = None
        self._next = -math.inf
        super().__init__(host, port)

    def _open(self) -> None:
        """Build the scene and the panel."""
        self._painter = Painter(self._server.scene, self.stage)
        self._painter.look(self._server.initial_camera)
        self._build_panel()

    def close(self) -> None:
        """End the server; once is enough."""
        if not self._closed:
            self._closed = True
            close_server(self._server)

    def __call__(self, record: Record) -> None:
        """Show a record if it is time to, and hold the run while that is wished."""
        now = time.monotonic()
        self._pace.step(record, now)
        self._record = record
        last = self._until is not None and record.t >= self._until
        if (now >= self._next or last) and self._server.get_clients():
            self._show()
        while not self._stopped.is_set() and (self._held.is_set() or self._ahead(record)):
            self._stopped.wait(NAP if self._held.is_set() else min(NAP, self._ahead(record)))
        if self._stopped.is_set():
            raise RunStopped(f"the run was stopped at t = {record.t:.6g} s")

    def _ahead(self, record: Record) -> float:
        """How much earlier than in the world the record has come [s]; 0 where that does not matter."""
        return self._pace.ahead(record.t, time.monotonic()) if self._slow.value else 0.0

    def _show(self) -> None:
        """Paint the last record; callbacks of viser come here from threads of their own."""
        record = self._record
        if record is None or self._closed:
            return
        with self._lock:
            began = time.monotonic()
            frame = self.stage.frame_of(record)
            with self._server.atomic():
                self._painter.show(frame, contacts=self._contacts.value, forces=self._forces.value)
                self._readout.content = readout_html(frame.readout)
                self._progress.content = _progress_html(record.t, self._until, self._pace)
            self._next = time.monotonic() + max(OFTEN, SHARE * (time.monotonic() - began))

    def _build_panel(self) -> None:
        gui = self._server.gui
        self._progress = gui.add_html(_progress_html(float(self.stage.times[0]), self._until, self._pace))
        self._readout = gui.add_html(readout_html(self.stage.frame(0).readout))
        self._hold = gui.add_button("Pause", icon="player-pause")
        self._slow = gui.add_checkbox("no faster than real time", False)
        self._stop = gui.add_button("Stop the run", icon="player-stop")
        with gui.add_folder("show"):
            self._contacts = gui.add_checkbox("contacts", True)
            self._forces = gui.add_checkbox("forces", True)
        self._hold.on_click(lambda _: self._toggle())
        self._stop.on_click(lambda _: self._stopped.set())
        self._slow.on_update(lambda _: self._pace.begin_again())
        for control in (self._contacts, self._forces):
            control.on_update(lambda _: self._show())
        self._server.on_client_connect(lambda _: self._show())

    def _toggle(self) -> None:
        if self._held.is_set():
            self._held.clear()
            self._pace.begin_again()
            self._hold.label, self._hold.icon = "Pause", "player-pause"
        else:
            self._held.set()
            self._hold.label, self._hold.icon = "Go on", "player-play"
            self._show()


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


def _progress_html(t: float, until: float | None, pace: _Pace) -> str:
    """How far the run is and how fast it goes, as a bar and a line."""
    share = 0.0 if until is None or until <= 0.0 else min(1.0, max(0.0, t / until))
    end = "" if until is None else f" of {until:.4g} s"
    fast = (
        f"{pace.steps_per_second:.3g} steps per second, {pace.speed:.3g} times real time"
        if pace.steps_per_second > 0.0
        else "running"
    )
    return (
        '<div style="font-size:0.8em;line-height:1.5;padding:0.4em 0.8em 0">'
        f"<div>t = {shown_time(t)}{end}</div>"
        '<div style="height:0.4em;background:#ddd">'
        f'<div style="height:100%;background:#0072b2;width:{100.0 * share:.1f}%"></div></div>'
        f"<div>{fast}</div></div>"
    )
