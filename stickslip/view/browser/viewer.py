"""A run in the browser: play, pause, scrub, look at contacts and forces, click bodies."""

import threading
import time
from typing import Any

import numpy as np

from stickslip.mechanics.world import BodyKind, World
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, IntArray
from stickslip.view.browser.painter import Painter
from stickslip.view.browser.panel import body_html, no_body_html, readout_html, shown_name
from stickslip.view.browser.server import Served, ViewerError, close_server
from stickslip.view.browser.stage import Frame, Stage

SPEEDS = (0.01, 0.03, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Seconds of the run per second of the clock; 1 is real time."""
SHORTEST = 3.0
"""How long a run is played at least [s], if there is a speed slow enough."""


class Player:
    """A place in a run that moves with the clock; `now` is always the reading of the clock [s].

    The clock is not read here, so that the same readings show the same frames.
    """

    def __init__(self, times: Array):
        self.times = times
        """Of the frames, ascending [s], shape (n,), n >= 1."""
        self.index = 0
        """The frame that is shown."""
        self.playing = False
        self.loop = True
        """Whether playing begins anew at the end."""
        span = float(times[-1] - times[0])
        self.speed = max(
            [speed for speed in SPEEDS if speed <= 1.0 and span >= SHORTEST * speed], default=SPEEDS[0]
        )
        """One of `SPEEDS`."""
        self._start = (0.0, 0.0)  # time of the run and reading of the clock when playing began

    def play(self, now: float) -> None:
        """Go on from the frame that is shown; from the first if it is the last."""
        if self.index == len(self.times) - 1:
            self.index = 0
        self.playing = len(self.times) > 1
        self._begin(now)

    def pause(self) -> None:
        """Stay at the frame that is shown."""
        self.playing = False

    def seek(self, index: int, now: float) -> None:
        """Show a frame; a number out of bounds is the first or the last."""
        self.index = int(np.clip(index, 0, len(self.times) - 1))
        self._begin(now)

    def step(self, by: int, now: float) -> None:
        """Some frames on or back, and pause."""
        self.pause()
        self.seek(self.index + by, now)

    def set_speed(self, speed: float, now: float) -> None:
        """Play faster or slower from here."""
        self.speed = speed
        self._begin(now)

    def at(self, now: float) -> int:
        """The frame to show: the last that is not later than the clock says; those between are left out."""
        if self.playing:
            t = self._start[0] + self.speed * (now - self._start[1])
            if t > self.times[-1]:
                self._end(now)
            else:
                self.index = max(int(np.searchsorted(self.times, t, side="right")) - 1, 0)
        return self.index

    def _end(self, now: float) -> None:
        """The last frame; with `loop` it is shown once, and then the first again."""
        last = len(self.times) - 1
        if self.loop and self.index == last:
            self.index = 0
            self._begin(now)
        else:
            self.index, self.playing = last, self.loop

    def _begin(self, now: float) -> None:
        self._start = (float(self.times[self.index]), now)


MOST = 200
"""Bodies that get a label; those that move come first."""


class Labels:
    """Labels that come with the first frame that is to have them, and then move with the bodies."""

    def __init__(self, scene: Any, stage: Stage, painter: Painter):
        order = np.argsort(stage.model.kind == BodyKind.FIXED, kind="stable")
        self.bodies = order[:MOST].tolist()
        """Numbers of the bodies that have one."""
        self._scene, self._painter, self._stage = scene, painter, stage
        self._handles: list[Any] = []

    def show(self, frame: Frame, shown: bool) -> None:
        """Move the labels to their bodies, or hide them."""
        if shown and not self._handles:
            names = self._stage.model.names
            self._handles = [
                self._scene.add_label(f"/labels/{body}", shown_name(names[body], 24)) for body in self.bodies
            ]
        places = self._painter.drawn(frame.bodies)
        for body, handle in zip(self.bodies, self._handles, strict=False):
            handle.visible = shown
            if shown:
                handle.position = places[body]


__all__ = ["Viewer", "ViewerError"]

TICK = 1.0 / 30.0
"""Time between two looks at the clock [s]; frames that fall between are left out."""
ASIDE = 0.12
"""How far the scene stands to the left, because the panel is on the right, in widths of the picture."""
MOST_FRAMES = 20_000
"""Frames of a run that are played, evenly chosen, unless told otherwise."""


class Viewer(Served):
    """A server that shows a run, or a world where it starts, to browsers; use it in a `with` statement.

    with Viewer(trajectory) as viewer:
        print(viewer.url)
        viewer.wait()
    """

    def __init__(
        self, source: Trajectory | World, host: str = "127.0.0.1", port: int = 8080, *,
        frames: int = MOST_FRAMES,
    ):  # fmt: skip
        self.stage = Stage.of(source)
        """What is shown."""
        self.frames: IntArray = chosen_frames(len(self.stage), frames)
        """Numbers of the records that are played [-], shape (n,)."""
        super().__init__(host, port)

    def _open(self) -> None:
        """Build the scene and the panel, and begin to play."""
        self._player = Player(self.stage.times[self.frames])
        self._lock = threading.RLock()
        self._body: int | None = None
        self._wanted: int | None = None
        self._stale = True
        self._ended = threading.Event()
        self._painter = Painter(self._server.scene, self.stage)
        self._labels = Labels(self._server.scene, self.stage, self._painter)
        self._painter.look(self._server.initial_camera, ASIDE)
        self._build_panel()
        self._player.play(time.monotonic())
        self._show()
        self._thread = threading.Thread(target=self._run, daemon=True, name="stickslip viewer")
        self._thread.start()

    def wait(self) -> None:
        """Return when the viewer is closed, or raise when the user interrupts."""
        while not self._ended.wait(0.5):
            pass

    def close(self) -> None:
        """End the server; once is enough."""
        if not self._ended.is_set():
            self._ended.set()
            self._thread.join()
            close_server(self._server)

    def _run(self) -> None:
        """Follow the clock until the viewer is closed."""
        while not self._ended.wait(TICK):
            with self._lock:
                if not self._server.get_clients():
                    self._player.seek(self._player.index, time.monotonic())  # nobody looks: time stands
                    continue
                was, shown = self._player.playing, self._player.index
                wanted, self._wanted = self._wanted, None
                if wanted is not None:
                    self._player.pause()
                    self._player.seek(wanted, time.monotonic())
                index = self._player.at(time.monotonic())
                if was != self._player.playing:
                    self._label_play()
                if self._stale or index != shown:
                    self._show(slider=was and wanted is None)

    def _show(self, slider: bool = True) -> None:
        """Paint the frame at which the player stands; without `slider` that stays in the user's hand."""
        index = self._player.index
        frame = self.stage.frame(int(self.frames[index]))
        with self._server.atomic():
            self._painter.show(
                frame, contacts=self._contacts.value, forces=self._forces.value, stretch=self._stretch.value
            )
            self._labels.show(frame, self._names.value)
            self._readout.content = readout_html(frame.readout)
            self._state.content = (
                no_body_html() if self._body is None else body_html(self.stage, frame, self._body)
            )
            if slider:
                self._slider.value = index
        self._stale = False

    def _build_panel(self) -> None:
        gui, last = self._server.gui, len(self.frames) - 1
        self._readout = gui.add_html("")
        still = last == 0
        self._play = gui.add_button("Pause", icon="player-pause", disabled=still)
        self._slider = gui.add_slider("frame", 0, max(last, 1), 1, 0, disabled=still)
        self._steps = gui.add_button_group("step", ("|<", "<", ">", ">|"), disabled=still)
        names = [f"{speed:g}x" for speed in SPEEDS]
        self._speed = gui.add_dropdown(
            "speed", names, initial_value=f"{self._player.speed:g}x", disabled=still
        )
        self._loop = gui.add_checkbox("loop", True, disabled=still)
        with gui.add_folder("body"):
            self._state = gui.add_html(no_body_html())
        with gui.add_folder("show"):
            self._bodies = gui.add_checkbox("bodies", True)
            self._contacts = gui.add_checkbox("contacts", True)
            self._forces = gui.add_checkbox("forces", True)
            self._names = gui.add_checkbox("labels", False)
            self._stretch = gui.add_slider("arrows", 0.1, 5.0, 0.1, 1.0)
            self._opacity = gui.add_slider("opacity", 0.1, 1.0, 0.05, 1.0)
            self._reset = gui.add_button("Reset camera", icon="camera")
        self._connect()

    def _connect(self) -> None:
        """What the controls do. viser calls these from threads of its own."""
        self._play.on_click(lambda _: self._toggle())
        self._slider.on_update(self._scrub)
        self._steps.on_click(lambda event: self._step(event.target.value))
        for control in (self._speed, self._loop):
            control.on_update(lambda _: self._set_pace())
        for control in (self._contacts, self._forces, self._names, self._stretch):
            control.on_update(lambda _: self._repaint())
        self._bodies.on_update(lambda _: self._show_bodies())
        self._opacity.on_update(lambda _: self._show_bodies())
        self._reset.on_click(lambda event: self._look_again(event.client))
        for number, (_, handle) in enumerate(self._painter.bodies):
            handle.on_click(lambda event, number=number: self._choose(number, event.instance_index))

    def _toggle(self) -> None:
        with self._lock:
            if self._player.playing:
                self._player.pause()
            else:
                self._player.play(time.monotonic())
                self._show()  # from the first frame, if it stood at the last
            self._label_play()

    def _label_play(self) -> None:
        playing = self._player.playing
        self._play.label, self._play.icon = ("Pause", "player-pause") if playing else ("Play", "player-play")

    async def _scrub(self, event: Any) -> None:
        """The user's hand on the slider; the player's own has no client. Only noted here, at once, lest the
        player moves the slider before it is read."""
        if event.client is not None:
            self._wanted = int(event.target.value)

    def _step(self, name: str) -> None:
        last = len(self.frames) - 1
        with self._lock:
            self._player.step({"|<": -last, "<": -1, ">": 1, ">|": last}[name], time.monotonic())
            self._label_play()
            self._show()

    def _set_pace(self) -> None:
        with self._lock:
            self._player.set_speed(float(self._speed.value[:-1]), time.monotonic())
            self._player.loop = self._loop.value

    def _repaint(self) -> None:
        with self._lock:
            self._stale = True

    def _show_bodies(self) -> None:
        with self._lock:
            for group, handle in self._painter.bodies:
                handle.visible = self._bodies.value
                if not group.ground:
                    handle.opacity = None if self._opacity.value >= 1.0 else self._opacity.value

    def _look_again(self, client: Any) -> None:
        if client is not None:
            view = self._painter.camera(ASIDE)
            with client.atomic():
                client.camera.up_direction = view.up
                client.camera.fov = view.angle
                client.camera.position, client.camera.look_at = view.position, view.look_at

    def _choose(self, number: int, instance: int | None) -> None:
        """A body was clicked: show its state, and paint it in a colour of its own."""
        with self._lock:
            group = self.stage.instances[number]
            if instance is None or not 0 <= instance < len(group):
                return
            self._body = int(group.body[instance])
            self._painter.mark(self._body)
            self._stale = True


def chosen_frames(count: int, most: int) -> IntArray:
    """At most so many of `count` frames, evenly, with the first and the last [-], shape (n,)."""
    if most < 2:
        raise ValueError(f"frames is {most}; a run has at least 2")
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))
