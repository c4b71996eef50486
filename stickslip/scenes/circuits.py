"""Circuits with ideal diodes: a bridge rectifier without and with a smoothing capacitor, and RLC circuits
with one diode.

A diode is 0 <= y ⟂ lam >= 0 between its current and its reverse voltage. The state of each circuit is the
voltage v of the capacitor and the current i of the inductor [V, A]. Each run is compared with its closed
form: matrix exponentials between switches, which root finding locates. It is exact to rounding and uses
neither a time-stepping scheme nor a complementarity problem.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import expm
from scipy.optimize import brentq

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.laws import Complementarity
from stickslip.problem.checks import Array
from stickslip.scenes.measures import zero
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.scenario import SWITCHED, Fact, Scenario, against, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.first_order import FirstOrderLinear
from stickslip.systems.first_order_relations import FirstOrderLinearRelation
from stickslip.systems.system import Interaction, NonsmoothSystem

SWITCHES = 100
"""Largest number of switches between two samples; more mean that the modes contradict each other."""


@dataclass(frozen=True, eq=False)
class Mode:
    """A mode of a switched system: ẋ = A x while row · x >= 0 for every guard."""

    A: Sequence[Sequence[float]]
    """Matrix of the mode [any], shape (nx, nx)."""
    exits: tuple[tuple[Sequence[float], str], ...] = ()
    """Guards: a row of shape (nx,), and the next mode once row · x falls below zero."""

    def after(self, time: float) -> Array:
        """Return exp(A time) [any], shape (nx, nx)."""
        return np.asarray(expm(np.asarray(self.A, float) * time))


def piecewise(
    modes: Mapping[str, Mode], mode: str, x0: ArrayLike, times: Array
) -> tuple[Array, list[str], list[tuple[float, str]]]:
    """Return the solution of a switched linear system at `times` [s], whose first entry is the initial time.

    A switch is found if its guard is negative at the next time. Returns the states, shape (n, nx); the mode
    at each time; and the switches, each as its time [s] and the new mode.
    """
    x = np.array(x0, float)
    states, names, switches = [x], [mode], []
    maps: dict[tuple[str, str], Array] = {}
    for t, following in pairwise(times.tolist()):
        now = t
        for _ in range(SWITCHES):
            # 1. Step to the next time in the present mode.
            remaining = following - now
            key = (mode, f"{remaining:.12g}")
            if key not in maps:
                maps[key] = modes[mode].after(remaining)
            after = maps[key] @ x
            # 2. If guards are negative there, step to the first of their roots, and switch.
            crossed = [(np.array(row), new) for row, new in modes[mode].exits if np.dot(row, after) < 0.0]
            if not crossed:
                break
            wait, new = min((_root(modes[mode], row, x, remaining), new) for row, new in crossed)
            x, now, mode = modes[mode].after(wait) @ x, now + wait, new
            switches.append((now, mode))
        else:
            raise ValueError(f"more than {SWITCHES} switches between {t:.9g} s and {following:.9g} s")
        x = after
        states.append(x)
        names.append(mode)
    return np.array(states), names, switches


def _root(mode: Mode, row: Array, x: Array, end: float) -> float:
    """Return the time in [0, end] after which row · x falls below zero [s]."""
    if row @ x <= 0.0:
        return 0.0
    return float(brentq(lambda wait: row @ (mode.after(wait) @ x), 0.0, end, xtol=1e-15 * end, rtol=1e-15))


MIDPOINT = {"theta": 0.5, "gamma": 0.5, "relation": "gamma"}
"""Options of Euler-Moreau for second order without growth of the stored energy: the law holds at the instant
whose power is in the energy balance."""
WHERE = {"a": "diode at the capacitor", "b": "at the resistor", "c": "all in series", "d": "at the inductor"}
"""Position of the diode in each RLC circuit."""


@checked
def diode_bridge(
    *, L: float = 1e-2, C: float = 1e-6, R: float = 1e3, v0: float = 10.0, h: float = 2e-6,
    until: float = 2e-3,
) -> Scenario:  # fmt: skip
    """An LC oscillator feeds a resistor through a bridge of four ideal diodes.

    L: inductance [H], > 0.
    C: capacitance [F], > 0.
    R: resistance of the load [ohm], > 0.
    v0: initial voltage of the capacitor [V].

    Acary & Brogliato 2008, chapter 1, with the numbers of the Siconos example. With either pair of diodes
    conducting, the load draws v / R from the oscillator: C v̇ = -i - v / R, L i̇ = v, and its voltage is |v|.
    """
    circuit = FirstOrderLinear("oscillator", A=[[0.0, -1.0 / C], [1.0 / L, 0.0]], x0=[v0, 0.0])
    # lam = (two reverse voltages, whose sum is the voltage of the load; currents of the other two diodes)
    relation = FirstOrderLinearRelation(
        C=[[0.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [1.0, 0.0]],
        D=[[1 / R, 1 / R, -1.0, 0.0], [1 / R, 1 / R, 0.0, -1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]],
        B=[[0.0, 0.0, -1.0 / C, 1.0 / C], [0.0, 0.0, 0.0, 0.0]],
    )
    system = NonsmoothSystem([circuit], [Interaction("bridge", "oscillator", relation, Complementarity(4))])
    damped = {"": Mode([[-1.0 / (R * C), -1.0 / C], [1.0 / L, 0.0]])}

    def exact(t: Array) -> Array:
        return piecewise(damped, "", [v0, 0.0], t)[0]

    def load(trajectory: Trajectory) -> tuple[Array, Array, Array]:
        """Return the instants at which the law holds, the load's voltage there, and its closed form."""
        t = _instants(trajectory)
        lam = trajectory.interaction("bridge").r[1:]
        return t, lam[:, 0] + lam[:, 1], np.abs(exact(np.concatenate([[0.0], t]))[1:, 0])

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        x = trajectory.system("oscillator").x
        _, voltage, expected = load(trajectory)
        stored = 0.5 * C * x[:, 0] ** 2 + 0.5 * L * x[:, 1] ** 2
        growth = max(0.0, float(np.diff(stored).max()))
        small = _error(trajectory, math.sqrt(L * C), 0.5) * abs(v0)
        yield zero("largest error of the capacitor's voltage [V], against the matrix exponential",
                   x[:, 0] - exact(trajectory.t)[:, 0], small)  # fmt: skip
        yield zero("largest error of the load's voltage |v| [V]", voltage - expected, small)
        yield zero("largest growth of the stored energy in a step [J]", growth, 1e-12 * float(stored[0]))

    def figure(trajectory: Trajectory) -> Figure:
        t, voltage, expected = load(trajectory)
        ms, x, lam = 1e3 * t, trajectory.system("oscillator").x, trajectory.interaction("bridge").r
        all_ms, v = 1e3 * trajectory.t, exact(trajectory.t)[:, 0]
        return Figure("Diode bridge: the oscillator's voltage, rectified", [
            against("Oscillator", "t [ms]", "v [V]", all_ms, {"run": x[:, 0], "exact": (v, "--")}),
            against("Load", "t [ms]", "v [V]", ms, {"run": voltage, "exact": (expected, "--")}),
            against("Diodes", "t [ms]", "current [mA]", ms,
                    {"first pair": 1e3 * lam[1:, 2], "second pair": 1e3 * lam[1:, 3]}),
            Panel("Error", "t [ms]", "v - exact [V]",
                  [Curve("oscillator", all_ms, x[:, 0] - v), Curve("load", ms, voltage - expected)]),
        ])  # fmt: skip

    return scene("diode-bridge", "An LC oscillator feeds a resistor through a bridge of four ideal diodes.",
                 system, until, h, facts, figure, SWITCHED, MIDPOINT)  # fmt: skip


@checked
def bridge_filter(
    *, L: float = 1e-2, C: float = 1e-6, R: float = 1e3, C_filter: float = 3e-7, v0: float = 10.0,
    h: float = 2e-6, until: float = 2e-3,
) -> Scenario:  # fmt: skip
    """The bridge with a capacitor parallel to the load: two circuits that one interaction couples.

    L: inductance [H], > 0.
    C: capacitance of the oscillator [F], > 0.
    R: resistance of the load [ohm], > 0.
    C_filter: capacitance parallel to the load [F], > 0.
    v0: initial voltage of both capacitors [V], > 0.

    While the bridge conducts, the load's voltage w is |v| and the two capacitors act as one. Once the current
    of the bridge reaches zero it blocks, and the load's capacitor discharges until |v| = w again.
    """
    F = C_filter
    source = FirstOrderLinear("oscillator", A=[[0.0, -1.0 / C], [1.0 / L, 0.0]], x0=[v0, 0.0])
    load = FirstOrderLinear("load", A=[[-1.0 / (R * F)]], x0=[v0])
    # lam = (reverse voltage of one diode; currents of the other three), states (v, i, w)
    relation = FirstOrderLinearRelation(
        C=[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 0.0, 1.0]],
        D=[[0.0, -1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 0.0]],
        B=[[0.0, 1.0 / C, 0.0, -1.0 / C], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0 / F, 1.0 / F]],
    )
    bridge = Interaction("bridge", ("oscillator", "load"), relation, Complementarity(4))
    together = 1.0 / (C + F)

    def conducting(sign: float) -> Mode:
        """Return the mode w = sign v, one capacitor C + F; it ends when the current F ẇ + w / R into the load
        is zero."""
        v = [-together / R, -together, 0.0]
        current = [sign * (1.0 / R - F * together / R), -sign * F * together, 0.0]
        return Mode([v, [1.0 / L, 0.0, 0.0], [sign * x for x in v]], ((current, "blocked"),))

    modes = {
        "forward": conducting(1.0),
        "backward": conducting(-1.0),
        "blocked": Mode(
            [[0.0, -1.0 / C, 0.0], [1.0 / L, 0.0, 0.0], [0.0, 0.0, -1.0 / (R * F)]],
            (([-1.0, 0.0, 1.0], "forward"), ([1.0, 0.0, 1.0], "backward")),
        ),
    }

    def exact(trajectory: Trajectory) -> tuple[Array, list[tuple[float, str]]]:
        states, _, switches = piecewise(modes, "forward", [v0, 0.0, v0], trajectory.t)
        return states, switches

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        states, switches = exact(trajectory)
        run = np.hstack([trajectory.system("oscillator").x, trajectory.system("load").x])
        _, current = _bridge_current(trajectory)
        on = current > 1e-6 * v0 / R
        count = int((on[1:] != on[:-1]).sum())
        small = _error(trajectory, math.sqrt(L * C), 0.1) * v0
        for k, name, unit, scale in (
            (0, "oscillator's voltage", "V", 1.0),
            (1, "oscillator's current", "A", math.sqrt(C / L)),
            (2, "load's voltage", "V", 1.0),
        ):
            yield zero(f"largest error of the {name} [{unit}], matrix exponentials between switches",
                       run[:, k] - states[:, k], scale * small)  # fmt: skip
        yield Fact("switches of the bridge", count, len(switches), 0.0)

    def figure(trajectory: Trajectory) -> Figure:
        ms, (states, _) = 1e3 * trajectory.t, exact(trajectory)
        v, w = trajectory.system("oscillator").x[:, 0], trajectory.system("load").x[:, 0]
        t, current = _bridge_current(trajectory)
        return Figure("Bridge and smoothing capacitor: two circuits, one interaction", [
            against("Voltages", "t [ms]", "v [V]", ms,
                    {"|oscillator|": np.abs(v), "load": w, "load, exact": (states[:, 2], "--")}),
            Panel("Current of the bridge", "t [ms]", "i [mA]", [Curve("bridge", 1e3 * t, 1e3 * current)]),
        ])  # fmt: skip

    return scene("bridge-filter",
                 "A diode bridge between an oscillator and a load with a smoothing capacitor.",
                 NonsmoothSystem([source, load], [bridge]), until, h, facts, figure,
                 ("euler-moreau", "event-driven"), {"theta": 0.5, "gamma": 1.0})  # fmt: skip


@checked
def rlc_diode(
    *, L: float = 1e-2, C: float = 1e-6, R: float = 200.0, R_series: float = 20.0, v0: float = 10.0,
    h: float = 4e-6, until: float = 2e-3,
) -> Scenario:  # fmt: skip
    """Four circuits of a resistor, an inductor, a capacitor and one ideal diode, side by side.

    L: inductance [H], > 0.
    C: capacitance [F], > 0.
    R: resistance of the circuits (a), (b) and (d) [ohm], > 0.
    R_series: resistance of the circuit (c) [ohm], > 0, < 2 sqrt(L / C).
    v0: initial voltage of the capacitors [V], > 0.

    Acary & Brogliato 2008, chapter 1: (a) the diode in series with the capacitor, parallel to R and L; (b) in
    series with R, parallel to L and C; (c) all in series; (d) in series with L, parallel to R and C. The
    relation has D ≠ 0 in (a) and (b) (relative degree 0), D = 0 in (c) and (d) (relative degree 1).
    """
    circuits, modes = _rlc(L, C, R, R_series)
    systems, interactions = [], []
    for name, (A, relation) in circuits.items():
        systems.append(FirstOrderLinear(name, A=A, x0=[v0, 0.0]))
        interactions.append(Interaction(f"diode {name}", name, relation, Complementarity()))
    omega = 1.0 / math.sqrt(L * C)

    def exact(name: str, trajectory: Trajectory) -> tuple[Array, list[tuple[float, str]]]:
        states, _, switches = piecewise(modes[name], "on" if name != "b" else "off", [v0, 0.0], trajectory.t)
        return states, switches

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        for name in circuits:
            states, _ = exact(name, trajectory)
            error = np.abs(trajectory.system(name).x - states) * [1.0, math.sqrt(L / C)]
            yield Fact(f"({name}): largest error of v and of i √(L/C) [V],"
                       " matrix exponentials between switches",
                       error.max(), 0.0, _error(trajectory, 1.0 / omega, 0.5) * v0)  # fmt: skip
        # Circuit (c) oscillates for half a period and then keeps its charge.
        alpha = R_series / (2.0 * L)
        period = math.pi / math.sqrt(omega**2 - alpha**2)
        small = _error(trajectory, 1.0 / omega, 0.1) * v0
        if trajectory.t[-1] > period + 2.0 * h and trajectory.scheme_options.get("gamma") == 1.0:
            last = trajectory.system("c").x[-1]
            final = -v0 * math.exp(-alpha * period)
            yield Fact("(c): final voltage, -v0 exp(-R/(2L) half period) [V]", last[0], final, small)
            yield Fact("(c): current after the half period [A]", last[1], 0.0, 1e-12 * v0 / R_series)

    def figure(trajectory: Trajectory) -> Figure:
        ms = 1e3 * trajectory.t
        panels = []
        for name in circuits:
            x, (states, _) = trajectory.system(name).x, exact(name, trajectory)
            panels.append(
                against(f"({name}) {WHERE[name]}", "t [ms]", "v, i √(L/C) [V]", ms,
                        {"v": x[:, 0], "v, exact": (states[:, 0], "--"),
                         "i √(L/C)": math.sqrt(L / C) * x[:, 1],
                         "i √(L/C), exact": (math.sqrt(L / C) * states[:, 1], "--")})
            )  # fmt: skip
        return Figure("RLC circuits with one diode, against their closed forms", panels)

    return scene("rlc-diode", "Four RLC circuits with one ideal diode each, side by side.",
                 NonsmoothSystem(systems, interactions), until, h, facts, figure, SWITCHED,
                 {"theta": 0.5, "gamma": 1.0})  # fmt: skip


def _rlc(
    L: float, C: float, R: float, R_series: float
) -> tuple[dict[str, tuple[Any, FirstOrderLinearRelation]], dict[str, dict[str, Mode]]]:
    """Return matrix and relation of the four circuits, and their modes with the diode on and off."""
    r = number("R_series", R_series, "ohm", above=0.0, below=2.0 * math.sqrt(L / C))
    free = [[0.0, -1.0 / C], [1.0 / L, 0.0]]
    beside = [[-1.0 / (R * C), 1.0 / C], [-1.0 / L, 0.0]]
    series = [[0.0, 1.0 / C], [-1.0 / L, -r / L]]
    tie = FirstOrderLinearRelation
    # For each circuit: A and relation; A and guard with the diode on; A and guard with it off.
    rows: dict[str, tuple[Any, FirstOrderLinearRelation, Any, Any, Any, Any]] = {
        "a": (beside, tie(C=[[1 / R, -1.0]], D=[[1 / R]], B=[[-1.0 / (R * C)], [-1.0 / L]]),
              beside, [1 / R, -1.0], [[0.0, 0.0], [0.0, -R / L]], [-1.0, R]),
        "b": (free, tie(C=[[1.0, 0.0]], D=[[R]], B=[[1.0 / C], [0.0]]),
              [[-1.0 / (R * C), -1.0 / C], [1.0 / L, 0.0]], [-1.0, 0.0], free, [1.0, 0.0]),
        "c": (series, tie(C=[[0.0, -1.0]], B=[[0.0], [-1.0 / L]]),
              series, [0.0, -1.0], [[0.0, 0.0], [0.0, 0.0]], [-1.0, 0.0]),
        "d": (beside, tie(C=[[0.0, -1.0]], B=[[0.0], [-1.0 / L]]),
              beside, [0.0, -1.0], [[-1.0 / (R * C), 0.0], [0.0, 0.0]], [-1.0, 0.0]),
    }  # fmt: skip
    modes = {
        name: {"on": Mode(on, ((leaves, "off"),)), "off": Mode(off, ((returns, "on"),))}
        for name, (_, _, on, leaves, off, returns) in rows.items()
    }
    return {name: row[:2] for name, row in rows.items()}, modes


def _instants(trajectory: Trajectory) -> Array:
    """Return the instant at which the law of each recorded step holds [s], shape (n - 1,): the end of the
    step, or k + gamma with the option `relation="gamma"`."""
    options = trajectory.scheme_options
    after = 1.0 - options["gamma"] if options.get("relation") == "gamma" else 0.0
    return np.asarray(trajectory.t[1:] - after * trajectory.h[1:])


def _error(trajectory: Trajectory, time: float, switching: float) -> float:
    """Return a bound of the error relative to the initial voltage, with `time` = √(LC) [s].

    The trapezoidal rule has a phase error of (h / time)² / 12 per unit of time; Euler's rules damp or amplify
    by h / (2 time). With gamma ≠ 1/2 jumps of lam and of its slope add `switching` h / time. Event-driven
    integration is accurate to its tolerances.
    """
    if trajectory.scheme == "event-driven":
        return 1e-9
    options, length = trajectory.scheme_options, float(trajectory.t[-1]) / time
    step = float(trajectory.h.max()) / time
    smooth = step**2 * length / 6.0 if options["theta"] == 0.5 else step * length
    return smooth if options["theta"] == options["gamma"] == 0.5 else smooth + switching * step


def _bridge_current(trajectory: Trajectory) -> tuple[Array, Array]:
    """Return the instants and the current into load and capacitor, through the two diodes on their side
    [A]."""
    lam = trajectory.interaction("bridge").r[1:]
    return _instants(trajectory), lam[:, 2] + lam[:, 3]
