"""Figures of the cam study: series, state space, attractors, and the diagram over the speed."""

from collections.abc import Mapping, Sequence

import numpy as np

from stickslip.exhibits import Curve, Figure, Panel
from stickslip.problem.checks import Array
from stickslip.studies.cam_runs import SPEEDS, Run

Runs = Mapping[tuple[float, str], Run]
"""By speed [1/min] and scheme."""
NAMES = {"moreau-jean": "time-stepping", "event-driven": "event-driven"}
SHOWN = 1.5
"""How much of the series is drawn [s]."""


def series(runs: Runs) -> Figure:
    """Both schemes over time at the three speeds, beside the cam (figure 14.2 of the notes)."""
    panels = []
    for rpm in SPEEDS:
        curves = []
        for scheme, style in (("moreau-jean", "-"), ("event-driven", "--")):
            one = runs[rpm, scheme]
            part = one.t <= SHOWN
            curves.append(Curve(NAMES[scheme], one.t[part], one.u[part], style))
        stepped = runs[rpm, "moreau-jean"]
        part = stepped.t <= SHOWN
        curves.append(Curve("cam", stepped.t[part], stepped.speed.place(stepped.t[part]), ":"))
        panels.append(Panel(f"{rpm:g} rpm", "t [s]", "u [m]", curves))
    return Figure("Cam follower: time-stepping and event-driven together", panels, across=3)


def states(runs: Runs) -> Figure:
    """State space at 358 and 700 rpm, event-driven and time-stepping apart (figure 14.3 of the notes)."""
    panels = []
    for rpm in (SPEEDS[0], SPEEDS[2]):
        for scheme in ("event-driven", "moreau-jean"):
            one = runs[rpm, scheme]
            panels.append(
                Panel(
                    f"{rpm:g} rpm, {NAMES[scheme]}", "u [m]", "v [m/s]", [Curve(NAMES[scheme], one.u, one.v)]
                )
            )
    return Figure("Cam follower: state space", panels)


def attractors(driven: Run, stepped: Run, skipped: int) -> Figure:
    """Impact map and stroboscopic map, event-driven and time-stepping (figure 14.4 of the notes)."""
    panels = []
    for one in (driven, stepped):
        times, angle, approach, _ = one.hits()
        late = times > skipped * one.speed.period
        panels.append(
            Panel(
                f"Impact map, {NAMES[one.scheme]}", "angle of the cam [rad]", "approach [m/s]",
                [Curve(NAMES[one.scheme], angle[late], approach[late], "o")],
            )
        )  # fmt: skip
    for one in (driven, stepped):
        u, v = one.sections()
        panels.append(
            Panel(
                f"Stroboscopic map, {NAMES[one.scheme]}", "u [m]", "v [m/s]",
                [Curve(NAMES[one.scheme], u[skipped:], v[skipped:], "o")],
            )
        )  # fmt: skip
    return Figure(f"Cam follower at {SPEEDS[1]:g} rpm: attractors", panels)


def diagram(found: Sequence[tuple[float, Array, Array]]) -> Figure:
    """Gaps at the beginnings of turns and approach velocities against the speed."""

    def points(values: Sequence[Array]) -> Curve:
        x = [np.full(one.size, row[0]) for one, row in zip(values, found, strict=True)]
        return Curve("time-stepping", np.concatenate(x), np.concatenate(values), "o")

    return Figure(
        "Cam follower: bifurcations over the speed",
        [
            Panel(
                "At the beginning of each turn",
                "speed [1/min]",
                "u - c [m]",
                [points([gaps for _, gaps, _ in found])],
            ),
            Panel(
                "Impacts", "speed [1/min]", "approach [m/s]", [points([approach for _, _, approach in found])]
            ),
        ],
    )
