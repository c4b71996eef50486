"""The three families of contact simulation on the same models; only the argument `scheme` changes.

Smooth (compliant springs), event-driven, and time-stepping: on velocities (Moreau-Jean), with the cone and
with pyramids by LCP, and on positions (Schatzman-Paoli). The study compares penetration, energy, cost over
the number of contacts, simultaneous impacts, and convergence for h → 0 and stiffness → ∞.
"""

import math

import numpy as np
from threadpoolctl import threadpool_limits

from stickslip.exhibits import Cell, Column, Curve, Figure, Panel, Table
from stickslip.studies import families_runs as runs
from stickslip.studies.families_runs import FAMILIES, GRAVITY, Run
from stickslip.studies.study import Parts, Progress, Study

NAME = "families"
SUMMARY = "smooth, event-driven and time-stepping on the same models: penetration, energy, cost, impacts"

E = 0.5
"""Restitution of the ball [-]."""
UNTIL = 0.8
"""End of the runs of the ball [s]: after its first impact, before its second."""
SLOPE, MU, SPEED = 0.3, 0.5, 1.0
"""The block: slope [rad], friction [-], initial speed downhill [m/s]."""
SOFT = 1e5
"""Stiffness of the springs of a quick run [N/m]."""
PUCK_WAY = SPEED**2 / (2.0 * MU * GRAVITY)
"""Distance that the puck slides with Coulomb's law [m]."""
AIM = 0.4
"""Initial direction of the puck, from the first tangent [rad]."""
LCP = (4, 5)
"""Facets of the pyramids in the comparison of the families: an even and an odd number."""
SECOND = 0.7
"""End of the runs of block and puck [s]: after the block has stopped, at 0.56 s."""


def run(quick: bool = False, progress: Progress | None = None) -> Study:
    """Run every family on every model; `quick` takes coarser steps and fewer contacts.

    Times are processor times on one thread, and are reported as ratios.
    """
    with threadpool_limits(limits=1):
        return _run(quick, Parts(progress, 6))


def _run(quick: bool, report: Parts) -> Study:
    """Return the study; `report` reports progress."""
    # 1. Kernels are compiled before any run is timed.
    h, k = (4e-3, SOFT) if quick else (1e-3, runs.STIFFNESS)
    for name in FAMILIES:
        runs.run(runs.column(2, 0.0), name, until=0.1, h=5e-3)
    # 2. Single contacts against closed forms.
    report("the ball, the block and the puck")
    models = (
        (runs.balls([1.0], E), UNTIL),
        (runs.block(SLOPE, MU, SPEED), SECOND),
        (runs.puck(AIM, MU, SPEED), SECOND),
    )
    single = [
        tuple(runs.run(model, name, until=end, h=h, stiffness=k, facets=facets) for model, end in models)
        for name, facets in (*((name, 0) for name in FAMILIES), *(("moreau-jean", m) for m in LCP))
    ]
    # 3. Cost over the number of contacts, independent and coupled.
    report("number of contacts")
    counts = (1, 4) if quick else (1, 4, 16)
    heights = {n: [0.5 + 0.5 * (k + 1) / n for k in range(n)] for n in counts}  # balls land one by one
    separate = {
        (n, name): runs.run(runs.balls(heights[n], E), name, until=0.6, h=h, stiffness=k)
        for n in counts
        for name in FAMILIES
    }
    report("coupled contacts")
    tall = (1, 2) if quick else (1, 2, 4, 8)
    stacked = {
        (n, name): runs.run(runs.column(n, 0.0), name, until=0.4, h=h, stiffness=k)
        for n in tall
        for name in FAMILIES
    }
    # 4. Simultaneous impacts, pyramids, and convergence.
    report("simultaneous impacts")
    impacts = _impacts(2e-3 if quick else 5e-4, k)
    report("pyramids")
    pyramids = _pyramids((0, 3, 4, 5) if quick else (0, 3, 4, 5, 6, 7, 8, 16), h)
    report("convergence")
    steps = (8e-3, 4e-3) if quick else (8e-3, 4e-3, 2e-3, 1e-3, 5e-4)
    stiffness = (1e4, 1e5) if quick else (1e4, 1e5, 1e6, 1e7)
    converging = _convergence(steps, stiffness)
    return Study(
        NAME,
        [
            _single_table(single, h, k),
            _cost_table("balls beside each other", separate, h),
            _cost_table("balls in a column", stacked, h),
            impacts,
            pyramids,
            *(_convergence_table(*each) for each in converging),
        ],
        {
            "cost": _cost_figure(separate, stacked),
            "convergence": _convergence_figure(converging),
        },
        {
            "ended early": [
                {"model": model, "n": n, "scheme": name, "reason": each.reason}
                for model, table in (("beside", separate), ("column", stacked))
                for (n, name), each in table.items()
                if each.reason
            ]
        },
    )


def ball_position(t: float) -> float:
    """Return the height of a ball dropped from 1 m, between its first and second impacts [m]."""
    first = math.sqrt(2.0 / GRAVITY)
    return E * GRAVITY * first * (t - first) - 0.5 * GRAVITY * (t - first) ** 2


def block_way() -> float:
    """Return the distance that the block slides until it stops [m]."""
    return SPEED**2 / (2.0 * GRAVITY * (MU * math.cos(SLOPE) - math.sin(SLOPE)))


def _single_table(single: list[tuple[Run, ...]], h: float, k: float) -> Table:
    """Return the table of errors of ball, block and puck by each contact model."""
    return Table.of(
        f"The ball (e = {E:g}), the block and the puck (mu = {MU:g}) by every contact model, h = {h:g} s",
        single,
        ("scheme", lambda ball, *_: ball.scheme),
        ("family", lambda ball, *_: FAMILIES[ball.scheme]),
        ("friction", lambda ball, *_: _friction(ball)),
        ("verdict", lambda *models: max((m.path.verdict for m in models), key=lambda each: each.code).value),
        ("ball: error of q [m]", ".2e", lambda ball, *_: abs(ball.path.q[-1, 0] - ball_position(UNTIL))),
        ("ball: penetration [m]", ".2e", lambda ball, *_: ball.totals["penetration"]),
        ("ball: error of energy [J]", ".2e", lambda ball, *_: abs(ball.energy[-1] - GRAVITY * E**2)),
        ("ball: largest rise of energy [J]", ".2e", lambda ball, *_: max(0.0, np.diff(ball.energy).max())),
        ("block: error of way [m]", ".2e", lambda _, block, __: abs(block.path.q[-1, 0] - block_way())),
        ("block: creep [m/s]", ".2e", lambda _, block, __: abs(block.path.v[-1, 0])),
        ("block: penetration [m]", ".2e", lambda _, block, __: block.totals["penetration"]),
        ("puck: way / Coulomb's", ".4f", lambda *models: math.hypot(*models[2].path.q[-1, 1:]) / PUCK_WAY),
        (
            "puck: error of place [m]", ".2e",
            lambda *models: math.dist(models[2].path.q[-1, 1:], puck_place(AIM, 0)),
        ),
        note=f"Ball of 1 kg from 1 m, at {UNTIL:g} s; block on a slope of {SLOPE:g} rad that has stopped, at"
        f" {SECOND:g} s; puck on level ground. Springs of {k:g} N/m; energies include theirs. The velocity of"
        " Schatzman-Paoli is a mean over the two steps of an impact, where the energy dips and recovers."
        " Rows by LCP have pyramids instead of cones, solved by Lemke's pivots: without friction (ball) and"
        " in a plane (block) they equal the cone. All errors are against Coulomb's law.",
    )  # fmt: skip


def _friction(run: Run) -> str:
    """Return the friction model of a run: the cone, or a pyramid by LCP."""
    if run.facets:
        return f"LCP, {run.facets} facets"
    return "regularised" if run.scheme == "compliant" else "cone"


def _cost_table(title: str, results: dict[tuple[int, str], Run], h: float) -> Table:
    """Return the table of costs by number of contacts and scheme."""
    least = min(n for n, _ in results)
    return Table.of(
        f"Cost against the number of contacts: {title}, h = {h:g} s",
        [(n, name, each) for (n, name), each in results.items()],
        ("contacts", lambda n, name, each: n),
        ("scheme", lambda n, name, each: name),
        ("steps", lambda n, name, each: None if each.trajectory is None else each.trajectory.steps),
        ("calls of forces per ball", ".0f", lambda n, name, each: each.calls / n),
        ("solver iterations", lambda n, name, each: int(each.totals.get("iterations", 0))),
        ("Newton iterations", lambda n, name, each: int(each.totals.get("newton", 0))),
        ("events", lambda n, name, each: int(each.totals.get("events", 0))),
        ("penetration [m]", ".1e", lambda n, name, each: each.totals.get("penetration")),
        ("time / moreau-jean", ".2g", lambda n, name, each: each.seconds / results[n, "moreau-jean"].seconds),
        (f"time / {least} contact", ".3g", lambda n, name, each: each.seconds / results[least, name].seconds),
        ("to the end", lambda n, name, each: _end(each)),
        note="Steps of the event-driven scheme are samples. Times are processor times; forces are Python"
        " functions.",
    )


def _impacts(h: float, k: float) -> Table:
    """Return the table of Newton's cradle without and with gaps, and of the rocking block."""
    rows: list[list[Cell]] = []
    for model, gap in (("cradle, touching", 0.0), ("cradle, 1 cm apart", 1e-2)):
        for name in FAMILIES:
            each = runs.run(runs.cradle(gap), name, until=0.1, h=h, stiffness=k)
            v = each.path.v[-1]
            words = ", ".join(f"{x:.3f}" for x in (v + 0.0).round(6))
            rows.append([model, name, words, float(v.sum()), float(0.5 * v @ v), _end(each)])
    for name in FAMILIES:
        each = runs.run(runs.rocking(), name, until=0.75, h=h, stiffness=k)
        angle = each.path.q[:, 1]
        first = int(np.argmax(angle < 0.0)) if (angle < 0.0).any() else angle.size - 1
        cell = f"{-angle[first:].min() / angle[0]:.3f}"
        rows.append(["rocking block", name, cell, math.nan, float(each.energy[-1]), _end(each)])
    return Table(
        "Simultaneous impacts",
        (
            "model", "scheme", "after", Column("momentum [N s]", ".6f"), Column("energy [J]", ".6f"),
            "to the end",
        ),
        rows,
        "Cradle: three balls of 1 kg, e = 1, the first arriving at 1 m/s; velocities after [m/s]. Newton's"
        " law for simultaneous impacts gives -1/3, 2/3, 2/3; successive impacts give 0, 0, 1, as in"
        " experiments. Rocking: e = 0, tilt on the other foot over the initial tilt; 1/9 in closed form.",
    )  # fmt: skip


def _end(each: Run) -> str:
    """Return the entry of the column "to the end"."""
    return "ended early" if each.reason else "yes"


def _pyramids(facets: tuple[int, ...], h: float) -> Table:
    """Return the table of the puck by Moreau-Jean, with the cone (0 facets) and with pyramids."""
    rows = []
    for m in facets:
        result = runs.run(runs.puck(AIM, MU, SPEED), "moreau-jean", until=SECOND, h=h, facets=m)
        rows.append((m, result, result.path.q[-1, 1:], puck_place(AIM, m)))
    return Table.of(
        f"The cone and its pyramids: a puck by moreau-jean, h = {h:g} s",
        rows,
        ("friction", lambda m, run, place, exact: _friction(run)),
        ("solver", lambda m, run, place, exact: "lemke" if m else "auto"),
        ("verdict", lambda m, run, place, exact: run.path.verdict.value),
        ("way [m]", ".5f", lambda m, run, place, exact: math.hypot(*place)),
        ("way / Coulomb's", ".4f", lambda m, run, place, exact: math.hypot(*place) / PUCK_WAY),
        ("turned by [deg]", ".2f", lambda m, run, place, exact: math.degrees(math.atan2(*place[::-1]) - AIM)),
        ("error of place [m]", ".1e", lambda m, run, place, exact: math.dist(place, exact)),
        ("largest creep [m/s]", ".1e", lambda m, run, place, exact: np.abs(run.path.v[-1]).max()),
        ("pivots or iterations", lambda m, run, place, exact: int(run.totals["iterations"])),
        note=f"Initial velocity {SPEED:g} m/s, {AIM:g} rad from a tangent, mu = {MU:g}; at rest after"
        f" {SECOND:g} s. Errors are against the closed form for the same pyramid: the friction force is at a"
        " corner until the motion is opposite to the middle of a side, and then keeps that direction. Odd"
        " pyramids differ between a direction and its opposite.",
    )


def puck_place(angle: float, facets: int) -> tuple[float, float]:
    """Return the final position of the puck with a pyramid of so many facets; with 0 that of the cone [m]."""
    if not facets:
        return PUCK_WAY * math.cos(angle), PUCK_WAY * math.sin(angle)
    # 1. The corner of the friction force: the one nearest to the direction opposite to the motion.
    side = 2.0 * math.pi / facets
    corner = side * round((angle + math.pi) / side) - math.pi
    along, across = SPEED * math.cos(angle - corner), SPEED * math.sin(angle - corner)
    # 2. Friction reduces `along` alone until two corners are equally near, at the speed `final`.
    final = abs(across) / math.tan(0.5 * side)
    t = (along - final) / (MU * GRAVITY)
    # 3. Then the motion is straight, with cos(pi/m) of the cone's friction, for the time 2 `rest`.
    rest = math.hypot(final, across) / (2.0 * MU * GRAVITY * math.cos(0.5 * side))
    x, y = 0.5 * (along + final) * t + final * rest, across * (t + rest)
    c, s = math.cos(corner), math.sin(corner)
    return c * x - s * y, s * x + c * y


Converging = tuple[str, str, dict[str, list[tuple[float, float]]]]
"""Title, unit of the abscissa, and by scheme the points (h or stiffness, error)."""


def _convergence(steps: tuple[float, ...], stiffness: tuple[float, ...]) -> list[Converging]:
    """Return the errors of ball and block over the step h, and over the stiffness of springs."""
    models: list[tuple[str, runs.Model, float, float]] = [
        ("ball", runs.balls([1.0], E), UNTIL, ball_position(UNTIL)),
        ("block", runs.block(SLOPE, MU, SPEED), SECOND, block_way()),
    ]
    results: list[Converging] = []
    for title, model, until, exact in models:
        by_h: dict[str, list[tuple[float, float]]] = {}
        for name in FAMILIES:
            if name != "compliant":
                by_h[name] = [
                    (h, abs(float(runs.run(model, name, until=until, h=h).path.q[-1, 0]) - exact))
                    for h in steps
                ]
        results.append((title, "h [s]", by_h))
        springs = []
        for k in stiffness:
            each = runs.run(model, "compliant", until=until, h=steps[-1], stiffness=k)
            springs.append((k, abs(float(each.path.q[-1, 0]) - exact)))
        results.append((title, "stiffness [N/m]", {"compliant": springs}))
    return results


def _convergence_table(title: str, along: str, errors: dict[str, list[tuple[float, float]]]) -> Table:
    """Return the table of errors over the abscissa `along`, by scheme."""
    rows = [[points[0][0], *(error for _, error in points)] for points in zip(*errors.values(), strict=True)]
    return Table(
        f"Convergence of the {title} with {along}: error of the position [m]",
        (Column(along, "g"), *(Column(name, ".2e") for name in errors)),
        rows,
        "Against the closed form; for the event-driven scheme h is only the interval of samples.",
    )


def _cost_figure(separate: dict[tuple[int, str], Run], stacked: dict[tuple[int, str], Run]) -> Figure:
    """Return the figure of times over the number of contacts."""
    panels = []
    for title, results in (("beside each other", separate), ("in a column", stacked)):
        curves = []
        for name in FAMILIES:
            n = sorted({n for n, other in results if other == name})
            seconds = np.array([results[k, name].seconds for k in n])
            curves.append(Curve(name, np.array(n, float), seconds, "o-"))
        panels.append(Panel(f"balls {title}", "contacts", "time [s]", curves, log_x=True, log_y=True))
    return Figure("Cost against the number of contacts", panels)


def _convergence_figure(converging: list[Converging]) -> Figure:
    """Return the figure of errors over h and over the stiffness."""
    panels = []
    for title, along, errors in converging:
        curves = [
            Curve(name, np.array([x for x, _ in points]), np.array([max(y, 1e-17) for _, y in points]), "o-")
            for name, points in errors.items()
        ]
        panels.append(
            Panel(f"the {title}", along, "error of the position [m]", curves, log_x=True, log_y=True)
        )
    return Figure("Convergence of the families to each other", panels)
