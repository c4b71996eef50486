"""The cam follower of the Siconos Developer's Notes 2017, chapter 14: time-stepping beside event-driven.

The parameters are those of section 14.0.2; the cam's profile, which the notes leave out, is ours
(docs/cam.md), so that the figures are of the same kind as the printed ones, and not the same curves.
"""

import numpy as np

from stickslip.exhibits import Cell, Column, Table
from stickslip.scenes import cam
from stickslip.studies import cam_runs
from stickslip.studies.cam_runs import QUICK, SPEEDS, Plan, Run
from stickslip.studies.study import Parts, Progress, Study

NAME = "cam"
SUMMARY = "The cam follower: time-stepping beside event-driven, attractors, bifurcations."

NEAR = 0.01
"""Two runs are together while their places differ by less [m]."""
NUDGE = 1e-6
"""How far apart two starts are whose runs are compared [m]."""


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Everything; `quick` is shorter and coarser by far."""
    plan = QUICK if quick else Plan()
    tell = Parts(progress, 3 * len(SPEEDS) + 3 + len(plan.sweep))
    runs: dict[tuple[float, str], Run] = {}
    nudged: dict[float, Run] = {}
    for rpm in SPEEDS:
        tell(f"{rpm:g} rpm, time-stepping")
        runs[rpm, "moreau-jean"] = cam_runs.stepped(plan, rpm)
        tell(f"{rpm:g} rpm, event-driven")
        runs[rpm, "event-driven"] = cam_runs.driven(plan, rpm)
        tell(f"{rpm:g} rpm, event-driven, started {NUDGE:g} m higher")
        nudged[rpm] = cam_runs.driven(plan, rpm, gap0=cam.GAP + NUDGE)
    tell("translated form")
    forms = {
        scheme: make(plan, SPEEDS[0], min(plan.until, 1.0), form="translated")
        for scheme, make in (("moreau-jean", cam_runs.stepped), ("event-driven", cam_runs.driven))
    }
    length = (plan.turns + plan.skipped) * 60.0 / SPEEDS[1]
    tell(f"attractor at {SPEEDS[1]:g} rpm, event-driven")
    driven = cam_runs.driven(plan, SPEEDS[1], length)
    tell(f"attractor at {SPEEDS[1]:g} rpm, time-stepping")
    stepped = cam_runs.stepped(plan, SPEEDS[1], length)
    found = []
    for row in cam_runs.sweep(plan):
        tell(f"diagram, {row[0]:g} rpm")
        found.append(row)
    tell.end()
    return Study(
        NAME,
        [
            _agreement(runs, plan),
            _forms(runs, forms),
            _motions(runs, nudged, driven, stepped, plan),
        ],
        {
            "series": cam_runs.series(runs),
            "states": cam_runs.states(runs),
            "attractors": cam_runs.attractors(driven, stepped, plan.skipped),
            "bifurcations": cam_runs.diagram(found),
        },
        {"diagram": [[rpm, gaps.tolist(), approach.tolist()] for rpm, gaps, approach in found]},
    )


def _agreement(runs: cam_runs.Runs, plan: Plan) -> Table:
    rows: list[list[Cell]] = []
    for rpm in SPEEDS:
        a, b = runs[rpm, "moreau-jean"], runs[rpm, "event-driven"]
        exact = np.array(cam.exact_impacts(b.speed, cam.E, (cam.GAP, cam.RATE), 10, float(b.t[-1])))
        ta, tb = a.impacts, b.impacts
        n = min(exact.size, ta.size, tb.size)
        apart = np.abs(np.interp(b.t, a.t, a.u) - b.u)
        beyond = np.flatnonzero(apart > NEAR)
        part = float(b.t[beyond[0]]) if beyond.size else float(min(a.t[-1], b.t[-1]))
        rows.append(
            [
                rpm, n, float(np.abs(ta[:n] - exact[:n]).max(initial=0.0)),
                float(np.abs(tb[:n] - exact[:n]).max(initial=0.0)),
                float(apart[b.t < min(0.5, part)].max()), part, not beyond.size,
            ]
        )  # fmt: skip
    return Table(
        f"Time-stepping (h = {plan.h:g} s) beside event-driven",
        [
            "speed [1/min]", "impacts compared", Column("their times, time-stepping [s]", ".1e"),
            Column("event-driven [s]", ".1e"), Column("places apart, first 0.5 s [m]", ".1e"),
            f"together ({NEAR:g} m) until [s]", "to the end",
        ],
        rows,
        "Times: largest distance from those of the exact flow between impacts. Chaos takes two runs apart"
        " whatever their accuracy; what then agrees are the attractors.",
    )  # fmt: skip


def _forms(runs: cam_runs.Runs, forms: dict[str, Run]) -> Table:
    rows: list[list[Cell]] = []
    for scheme, translated in forms.items():
        own = runs[SPEEDS[0], scheme]
        n = min(own.t.size, translated.t.size)
        rows.append(
            [
                cam_runs.NAMES[scheme],
                float(own.t[n - 1]),
                float(np.abs(own.u[:n] - translated.u[:n]).max()),
            ]
        )
    return Table(
        f"Rheonomous, u >= c(t), beside translated, û = u - c(t) >= 0, at {SPEEDS[0]:g} rpm",
        ["scheme", "compared until [s]", Column("places apart, at most [m]", ".1e")],
        rows,
        "Time-stepping sees the cam at the ends of its steps in the one form and as a force in the other: the"
        " difference is of order h.",
    )


def _motions(runs: cam_runs.Runs, nudged: dict[float, Run], driven: Run, stepped: Run, plan: Plan) -> Table:
    rows: list[list[Cell]] = []
    for (rpm, scheme), one in runs.items():
        long = {"event-driven": driven, "moreau-jean": stepped}[scheme] if rpm == SPEEDS[1] else one
        skipped = plan.skipped if rpm == SPEEDS[1] else one.sections()[0].size // 2
        p = cam_runs.periodicity(long, skipped)
        times, _, _, left = long.hits()
        late = times > skipped * long.speed.period
        turns = (long.t[-1] / long.speed.period) - skipped
        apart: Cell = None
        if scheme == "event-driven":
            last = one.t > one.t[-1] - one.speed.period
            apart = float(np.abs(one.u - nudged[rpm].u)[last].max())
        rows.append(
            [
                rpm, cam_runs.NAMES[scheme], str(p) if p else "in none up to 8",
                float(late.sum() / turns), left,
                float(np.ptp(long.u[long.t > skipped * long.speed.period])), apart,
            ]
        )  # fmt: skip
    return Table(
        "Motions",
        [
            "speed [1/min]", "scheme", "repeats in turns", Column("impacts per turn", ".3g"),
            "impacts not counted", Column("range of u [m]", ".3g"),
            Column(f"apart at the end, started {NUDGE:g} m apart [m]", ".1e"),
        ],
        rows,
        "Repeats: sections that many turns apart differ by less than a hundredth of the range, over the"
        f" second half of {plan.until:g} s ({plan.turns} turns at {SPEEDS[1]:g} rpm). Not counted: those that"
        f" share a record, or approach slower than {cam_runs.SLOW:g} m/s.",
    )  # fmt: skip
