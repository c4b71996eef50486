"""Piecewise linear systems to rounding: matrix exponentials between switches found by root finding.

The reference of the circuit scenes, independent of any time-stepping scheme and of any complementarity
problem: whoever writes it down says which modes there are and when each is left.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.optimize import brentq

from stickslip.problem.checks import Array

SWITCHES = 100
"""Most switches between two samples; more means that the modes contradict each other."""


@dataclass(frozen=True, eq=False)
class Mode:
    """ẋ = A x, as long as every guard row · x is not negative."""

    A: Sequence[Sequence[float]]
    """Matrix of the mode [any], shape (nx, nx)."""
    exits: tuple[tuple[Sequence[float], str], ...] = ()
    """Guards: a row of shape (nx,), and the mode that follows when row · x falls below zero."""

    def after(self, time: float) -> Array:
        """exp(A time) [any], shape (nx, nx)."""
        return np.asarray(expm(np.asarray(self.A, float) * time))


def piecewise(
    modes: Mapping[str, Mode], mode: str, x0: ArrayLike, times: Array
) -> tuple[Array, list[str], list[tuple[float, str]]]:
    """The solution at `times` [s], which begin at the start and are closer than the switches.

    States, shape (n, nx); the mode at each time; the switches, each as its time [s] and the new mode.
    """
    x = np.array(x0, float)
    states, names, switches = [x], [mode], []
    maps: dict[tuple[str, str], Array] = {}
    for t, following in pairwise(times.tolist()):
        now = t
        for _ in range(SWITCHES):
            left = following - now
            key = (mode, f"{left:.12g}")
            if key not in maps:
                maps[key] = modes[mode].after(left)
            after = maps[key] @ x
            crossed = [(np.array(row), new) for row, new in modes[mode].exits if np.dot(row, after) < 0.0]
            if not crossed:
                break
            wait, new = min((_root(modes[mode], row, x, left), new) for row, new in crossed)
            x, now, mode = modes[mode].after(wait) @ x, now + wait, new
            switches.append((now, mode))
        else:
            raise ValueError(f"more than {SWITCHES} switches between {t:.9g} s and {following:.9g} s")
        x = after
        states.append(x)
        names.append(mode)
    return np.array(states), names, switches


def _root(mode: Mode, row: Array, x: Array, left: float) -> float:
    """When row · x falls below zero [s]."""
    if row @ x <= 0.0:
        return 0.0
    return float(brentq(lambda wait: row @ (mode.after(wait) @ x), 0.0, left, xtol=1e-15 * left, rtol=1e-15))
