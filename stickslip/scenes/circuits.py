"""Circuits with ideal diodes: a bridge rectifier, the same with a smoothing capacitor, RLC with one diode.

A diode is 0 <= y ⟂ lam >= 0 between its current and its reverse voltage. Capacitors hold voltages, inductors
currents; the state of each circuit is (v, i) in volt and ampere. Each run is compared with its closed form:
matrix exponentials between switches found by root finding, to rounding and independent of any time-stepping
scheme and of any complementarity problem.
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
from stickslip.scenes.measures import none
from stickslip.scenes.parameters import checked, number
from stickslip.scenes.scenario import SWITCHED, Fact, Scenario, against, scene
from stickslip.simulation.trajectory import Trajectory
from stickslip.systems.first_order import FirstOrderLinear
from stickslip.systems.first_order_relations import FirstOrderLinearRelation
from stickslip.systems.system import Interaction, NonsmoothSystem

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


MIDPOINT = {"theta": 0.5, "gamma": 0.5, "relation": "gamma"}
"""Second order, and stored energy never grows: the law holds where the energy balance takes the power."""
WHERE = {"a": "diode at the capacitor", "b": "at the resistor", "c": "all in series", "d": "at the inductor"}
"""Where the diode of each RLC circuit is."""


@checked
def diode_bridge(
    *, L: float = 1e-2, C: float = 1e-6, R: float = 1e3, v0: float = 10.0, h: float = 2e-6,
    until: float = 2e-3,
) -> Scenario:  # fmt: skip
    """An LC oscillator feeds a resistor through a bridge of four ideal diodes.

    L: inductance [H], > 0.
    C: capacitance [F], > 0.
    R: load [ohm], > 0.
    v0: voltage of the capacitor at the start [V].

    Acary & Brogliato 2008, chapter 1, with the numbers of the Siconos example. Whichever pair of diodes
    conducts, the load draws v / R from the oscillator: C v̇ = -i - v / R, L i̇ = v, and its voltage is |v|.
    """
    circuit = FirstOrderLinear("oscillator", A=[[0.0, -1.0 / C], [1.0 / L, 0.0]], x0=[v0, 0.0])
    # lam = (two reverse voltages, whose sum is the load's; currents of the other two diodes)
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
        """Instants at which the law holds, the load's voltage there, and what it should be."""
        t = _instants(trajectory)
        lam = trajectory.interaction("bridge").r[1:]
        return t, lam[:, 0] + lam[:, 1], np.abs(exact(np.concatenate([[0.0], t]))[1:, 0])

    def facts(trajectory: Trajectory) -> Iterator[Fact]:
        x = trajectory.system("oscillator").x
        _, voltage, expected = load(trajectory)
        stored = 0.5 * C * x[:, 0] ** 2 + 0.5 * L * x[:, 1] ** 2
        growth = max(0.0, float(np.diff(stored).max()))
        small = _error(trajectory, math.sqrt(L * C), 0.5) * abs(v0)
        yield none("largest error of the capacitor's voltage [V], against the matrix exponential",
                   x[:, 0] - exact(trajectory.t)[:, 0], small)  # fmt: skip
        yield none("largest error of the load's voltage |v| [V]", voltage - expected, small)
        yield none("largest growth of the stored energy in a step [J]", growth, 1e-12 * float(stored[0]))

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
    """The bridge with a capacitor beside the load: two circuits, tied by one interaction.

    L: inductance [H], > 0.
    C: capacitance of the oscillator [F], > 0.
    R: load [ohm], > 0.
    C_filter: capacitance beside the load [F], > 0.
    v0: voltage of both capacitors at the start [V], > 0.

    The diodes conduct while the load's voltage w is |v|; the two capacitors are then one. Where the current
    of the bridge reaches zero it lets go, and the load lives on its capacitor until |v| is w again.
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
        """w = sign v: one capacitor C + F; left when the current F ẇ + w / R into the load is zero."""
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
        seen = int((on[1:] != on[:-1]).sum())
        small = _error(trajectory, math.sqrt(L * C), 0.1) * v0
        for k, name, unit, scale in (
            (0, "oscillator's voltage", "V", 1.0),
            (1, "oscillator's current", "A", math.sqrt(C / L)),
            (2, "load's voltage", "V", 1.0),
        ):
            yield none(f"largest error of the {name} [{unit}], matrix exponentials between switches",
                       run[:, k] - states[:, k], scale * small)  # fmt: skip
        yield Fact("switches of the bridge", seen, len(switches), 0.0)

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
    v0: voltage of the capacitors at the start [V], > 0.

    Acary & Brogliato 2008, chapter 1: (a) the diode in series with the capacitor, beside R and L; (b) in
    series with R, beside L and C; (c) all in series; (d) in series with L, beside R and C. In (a) and (b)
    the relation has a D of its own (relative degree 0), in (c) and (d) not (relative degree 1).
    """
    circuits, modes = _rlc(L, C, R, R_series)
    systems, ties = [], []
    for name, (A, relation) in circuits.items():
        systems.append(FirstOrderLinear(name, A=A, x0=[v0, 0.0]))
        ties.append(Interaction(f"diode {name}", name, relation, Complementarity()))
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
        # in series the circuit rings for half a period and keeps its charge ever after
        alpha = R_series / (2.0 * L)
        period = math.pi / math.sqrt(omega**2 - alpha**2)
        small = _error(trajectory, 1.0 / omega, 0.1) * v0
        if trajectory.t[-1] > period + 2.0 * h and trajectory.scheme_options.get("gamma") == 1.0:
            last = trajectory.system("c").x[-1]
            kept = -v0 * math.exp(-alpha * period)
            yield Fact("(c): voltage kept, -v0 exp(-R/(2L) half period) [V]", last[0], kept, small)
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
                 NonsmoothSystem(systems, ties), until, h, facts, figure, SWITCHED,
                 {"theta": 0.5, "gamma": 1.0})  # fmt: skip


def _rlc(
    L: float, C: float, R: float, R_series: float
) -> tuple[dict[str, tuple[Any, FirstOrderLinearRelation]], dict[str, dict[str, Mode]]]:
    """The four circuits, and their modes with the diode on and off."""
    r = number("R_series", R_series, "ohm", above=0.0, below=2.0 * math.sqrt(L / C))
    free = [[0.0, -1.0 / C], [1.0 / L, 0.0]]
    beside = [[-1.0 / (R * C), 1.0 / C], [-1.0 / L, 0.0]]
    series = [[0.0, 1.0 / C], [-1.0 / L, -r / L]]
    tie = FirstOrderLinearRelation
    # A and relation; A and the row that ends the mode with the diode on; the same with it off
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
    """When the law of each recorded step holds [s], shape (n - 1,): at its end, or at k + gamma where the
    relation does."""
    options = trajectory.scheme_options
    after = 1.0 - options["gamma"] if options.get("relation") == "gamma" else 0.0
    return np.asarray(trajectory.t[1:] - after * trajectory.h[1:])


def _error(trajectory: Trajectory, time: float, switching: float) -> float:
    """What the error may be over the voltage at the start, with `time` = √(LC) [s].

    The trapezoidal rule turns the phase by (h / time)² / 12 per unit of time; Euler's rules damp or amplify
    by h / (2 time). Where gamma is not 1/2, the jumps and slopes of lam cost `switching` h / time more.
    Event-driven integration is right to its tolerances.
    """
    if trajectory.scheme == "event-driven":
        return 1e-9
    options, length = trajectory.scheme_options, float(trajectory.t[-1]) / time
    step = float(trajectory.h.max()) / time
    smooth = step**2 * length / 6.0 if options["theta"] == 0.5 else step * length
    return smooth if options["theta"] == options["gamma"] == 0.5 else smooth + switching * step


def _bridge_current(trajectory: Trajectory) -> tuple[Array, Array]:
    """Current into the load with the capacitor: that of the two diodes on its side [A]."""
    lam = trajectory.interaction("bridge").r[1:]
    return _instants(trajectory), lam[:, 2] + lam[:, 3]
