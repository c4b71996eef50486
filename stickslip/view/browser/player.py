"""Which frame is shown when: playing at a speed, whatever the times between frames."""

from __future__ import annotations

import numpy as np

from stickslip.state import Array

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
        elif not self.loop:
            self.playing = False
            self.index = last
        else:
            self.index = last

    def _begin(self, now: float) -> None:
        self._start = (float(self.times[self.index]), now)
