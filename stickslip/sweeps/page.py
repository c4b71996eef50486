"""The report of a sweep: outcomes, tables, response curves, heat maps, histograms and exceedance curves."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from stickslip.bench.analysis.costs import count, listed
from stickslip.bench.records import Outcome
from stickslip.exhibits import Cell, Column, Curve, Figure, HeatMap, Page, Panel, Section, Table
from stickslip.state import Array, BoolArray, IntArray
from stickslip.sweeps.designs import SEED
from stickslip.sweeps.result import SweepResult

MEASURES = 12
"""Largest number of drawn measures."""
SAME = 1e-6
"""Relative difference below which numbers are treated as equal up to rounding [-]."""
PAIRS = 6
"""Largest number of pairs of parameters with heat maps."""
BINS, CELLS = 12, 10
"""Number of bins of a sampled parameter in response curves, and in each direction of a heat map."""
POINTS = 400
"""Largest number of runs that a response curve shows as points."""
ROWS = 2000
"""Largest number of rows of the table of all runs."""
REASONS = 100
"""Largest number of listed reasons."""
SHARES = (0.05, 0.5, 0.95)
"""Listed quantiles [-]."""
SPLIT = 6
"""Largest number of values of a grid parameter by which exceedance curves are split."""


def report(result: SweepResult, measures: Sequence[str] = (), notes: Sequence[str] = ()) -> Page:
    """Make the report of a sweep.

    measures: drawn measures, by names or beginnings of names; by default all whose numbers differ. notes:
    sentences below the summary.
    """
    drawn = _chosen(result, measures)
    varied = [
        name for name, column in result.parameters.items() if name != SEED and column.dtype.kind in "fib"
    ]
    varied = [name for name in varied if len(np.unique(result.parameters[name])) > 1]
    sections = [
        Section("Outcomes", [], _outcomes(result)),
        Section("Measures", _left_out(result, drawn), [_measures(result)]),
        _section("Response curves", RESPONSE, _responses(result, varied, drawn)),
        _section("Heat maps", HEAT, _heats(result, varied, drawn)),
        _section("Histograms", HISTOGRAM, _histograms(result, drawn)),
        _section("Exceedance curves", EXCEEDANCE, _exceedances(result, varied, drawn)),
        *_by_text(result, drawn),
        _design(result),
        _environment(result),
        Section("All runs", _cut(result), [_all(result)], folded=True),
    ]
    title = f"Sweep of {result.head.sweep.name}: {count(len(result), 'run')}"
    return Page(title, [*_summary(result), *notes], [one for one in sections if one is not None])


RESPONSE = (
    "Each dot is a run. The line is the median of the runs with that value, or in that bin, of the parameter;"
    " dashed lines are the quantiles of 5 % and 95 %. All other parameters vary as the design says."
)
HEAT = "Mean of the runs in each cell; cells without a run are empty."
HISTOGRAM = "Number of solved runs in bins of equal width."
EXCEEDANCE = "Share of the solved runs in which the number is larger than the one on the axis."


def _summary(result: SweepResult) -> Iterator[str]:
    sweep = result.head.sweep
    varied = listed([one.name for one in sweep.design.varied]) or "nothing"
    yield f"{count(len(result), 'run')} of {result.planned} planned: {sweep.name}, with {varied} varied."
    counts = Counter(result.outcomes)
    failed = [f"{number} {one.value}" for one, number in counts.items() if one is not Outcome.SOLVED]
    ends = f"Not solved: {listed(failed)}." if failed else "None failed."
    yield f"Solved: {counts[Outcome.SOLVED]}. {ends}"
    if result.solved.any():
        worst = float(np.max(result.residual[result.solved]))
        yield f"The largest residual of any step of a solved run is {worst:.1e}."
    left = result.planned - len(result)
    if left:
        yield f"Not made yet: {count(left, 'run')}. They are missing, not failed."


def _chosen(result: SweepResult, names: Sequence[str]) -> list[str]:
    """Select the drawn measures."""
    if names:
        columns = [result.column(name) for name in names]
        return [name for name, column in result.measures.items() if any(column is each for each in columns)]
    numbers = {name: _finite(column) for name, column in result.measures.items()}
    differ = [name for name, x in numbers.items() if x.size and np.ptp(x) > SAME * np.abs(x).max()]
    return differ[:MEASURES]


def _left_out(result: SweepResult, drawn: Sequence[str]) -> list[str]:
    others = [name for name in result.measures if name not in drawn]
    if not others:
        return []
    return [f"Not drawn, since they do not differ or others were chosen: {listed(others)}."]


def _finite(column: Array) -> Array:
    return column[np.isfinite(column)]


def _outcomes(result: SweepResult) -> list[Table]:
    counts = Counter(result.outcomes)
    table = Table.of(
        "What became of the runs", counts.items(), ("outcome", lambda outcome, _: outcome.value),
        ("runs", lambda _, number: number),
        ("share", ".3g", lambda _, number: number / max(len(result), 1)),
    )  # fmt: skip
    why = Counter(reason for reason in result.reasons if reason)
    first = {reason: int(k) for k, reason in zip(result.number[::-1], result.reasons[::-1], strict=True)}
    reasons = Table.of(
        "Reasons", why.most_common(REASONS), ("reason", lambda reason, _: reason),
        ("runs", lambda _, number: number), ("first run", lambda reason, _: first[reason]),
        note=f"{len(why) - REASONS} more are in the file." if len(why) > REASONS else "",
    )  # fmt: skip
    return [table, reasons] if why else [table]


def _measures(result: SweepResult) -> Table:
    rows: list[list[Cell]] = []
    for name, column in result.measures.items():
        values = _finite(column)
        if values.size:
            low, middle, high = np.quantile(values, SHARES)
            numbers = values.min(), low, middle, values.mean(), high, values.max(), values.std()
            rows.append([name, int(values.size), *map(float, numbers)])
    columns = ["measure", "runs", "least", "5 %", "median", "mean", "95 %", "largest", "deviation"]
    return Table("Numbers that were measured", [Column(name, ".5g") for name in columns], rows)


def _section(title: str, text: str, panels: list[Panel]) -> Section | None:
    """Make a section of panels; None if there are none."""
    return Section(title, [text], [], [Figure(title, panels, 3)]) if panels else None


def _groups(column: np.ndarray, bins: int) -> list[tuple[float, BoolArray]]:
    """Masks of the runs for each value of a parameter, or for each bin of equal numbers of runs, with the
    values or the centres of the bins."""
    values = np.unique(column.astype(float))
    if len(values) <= 2 * bins:
        return [(float(value), column == value) for value in values]
    edges = np.quantile(column, np.linspace(0.0, 1.0, bins + 1))
    place = np.clip(np.searchsorted(edges, column, side="right") - 1, 0, bins - 1)
    masks = [(place == k) for k in range(bins)]
    return [(float(np.median(column[each])), each) for each in masks if each.any()]


def _responses(result: SweepResult, varied: Sequence[str], drawn: Sequence[str]) -> list[Panel]:
    panels = []
    for measure in drawn:
        y = result.measures[measure]
        for name in varied:
            x = result.parameters[name].astype(float)
            some = np.flatnonzero(np.isfinite(y))
            some = some[np.unique(np.linspace(0, len(some) - 1, min(POINTS, len(some))).astype(int))]
            groups = [(middle, _finite(y[where])) for middle, where in _groups(x, BINS)]
            groups = [(middle, values) for middle, values in groups if values.size]
            if not groups:
                continue
            at = np.array([middle for middle, _ in groups])
            low, median, high = np.array([np.quantile(values, SHARES) for _, values in groups]).T
            curves = [Curve("runs", x[some], y[some], "o", 5), Curve("median", at, median, "-", 0)]
            curves += [Curve("5 % and 95 %", at, each, "--", 1) for each in (low, high)]
            panels.append(Panel("", name, measure, curves, log_x=_logarithmic(result, name)))
    return panels


def _logarithmic(result: SweepResult, name: str) -> bool:
    """Whether a parameter is sampled logarithmically."""
    return any(one.name == name and one.how == "log-uniform" for one in result.head.sweep.design.sampled)


def _heats(result: SweepResult, varied: Sequence[str], drawn: Sequence[str]) -> list[Panel]:
    panels = []
    for measure in drawn:
        for across, up in list(combinations(varied, 2))[:PAIRS]:
            z = result.measures[measure]
            x, x_edges = _cells(result, across)
            y, y_edges = _cells(result, up)
            seen = np.isfinite(z)
            shape = len(y_edges) - 1, len(x_edges) - 1
            number, total = np.zeros(shape), np.zeros(shape)
            np.add.at(number, (y[seen], x[seen]), 1.0)
            np.add.at(total, (y[seen], x[seen]), z[seen])
            values = np.where(number > 0.0, total / np.maximum(number, 1.0), np.nan)
            panels.append(
                Panel(
                    measure, across, up, [], _logarithmic(result, across), _logarithmic(result, up),
                    heat=HeatMap(x_edges, y_edges, values, measure),
                )
            )  # fmt: skip
    return panels


def _cells(result: SweepResult, name: str) -> tuple[IntArray, Array]:
    """Cell of a heat map of each run, and the edges of the cells."""
    column = result.parameters[name].astype(float)
    values = np.unique(column)
    logarithmic = _logarithmic(result, name)
    if len(values) <= 2 * CELLS:
        middles = 0.5 * (values[1:] + values[:-1])
        ends = values[0] - (middles[0] - values[0]), values[-1] + (values[-1] - middles[-1])
        edges = np.concatenate([[ends[0]], middles, [ends[1]]])
        if logarithmic:
            edges = np.maximum(edges, 0.5 * values[0])
    else:
        between = np.geomspace if logarithmic else np.linspace
        edges = np.asarray(between(values[0], values[-1], CELLS + 1))
    return np.clip(np.searchsorted(edges, column, side="right") - 1, 0, len(edges) - 2), edges


def _histograms(result: SweepResult, drawn: Sequence[str]) -> list[Panel]:
    panels = []
    for measure in drawn:
        values = _finite(result.measures[measure][result.solved])
        if values.size:
            number, edges = np.histogram(values, bins=min(40, max(5, round(2.0 * values.size ** (1 / 3)))))
            heights = np.concatenate([[0.0], number, [0.0]]).astype(float)
            curve = Curve("number of runs", np.concatenate([edges[:1], edges]), heights, "-", 0)
            panels.append(Panel("", measure, "runs", [curve], steps=True))
    return panels


def _exceedances(result: SweepResult, varied: Sequence[str], drawn: Sequence[str]) -> list[Panel]:
    """Panels with one curve for all runs, or for each value of the first grid parameter with few values."""
    few = [name for name in varied if len(np.unique(result.parameters[name])) <= SPLIT]
    column = result.parameters[few[0]] if few else np.zeros(len(result))
    panels = []
    for measure in drawn:
        curves = []
        for value in np.unique(column):
            values = np.sort(_finite(result.measures[measure][result.solved & (column == value)]))
            if values.size:
                share = 1.0 - np.arange(values.size + 1) / values.size
                name = f"{few[0]} = {float(value):g}" if few else "all runs"
                curves.append(Curve(name, np.concatenate([values[:1], values]), share))
        if curves:
            panels.append(Panel("", measure, "share above", curves, steps=True, y_range=(0.0, 1.03)))
    return panels


def _by_text(result: SweepResult, drawn: Sequence[str]) -> Iterator[Section]:
    """Yield sections with means for each value of text parameters."""
    for name, column in result.parameters.items():
        if column.dtype.kind != "O":
            continue
        rows: list[list[Cell]] = []
        for value in dict.fromkeys(column.tolist()):
            here = column == value
            means = [_finite(result.measures[each][here]) for each in drawn]
            rows.append(
                [value, int(here.sum()), int((here & result.solved).sum())]
                + [float(values.mean()) if values.size else None for values in means]
            )
        table = Table(f"Means by {name}", [name, "runs", "solved", *drawn], rows)
        yield Section(f"By {name}", [], [table])


def _design(result: SweepResult) -> Section:
    sweep = result.head.sweep
    design = sweep.design
    rows: list[list[Cell]] = [[one.name, one.how, str(one).partition("=")[2]] for one in design.parameters]
    if design.seeded:
        rows.append([SEED, "drawn for each run", f"from {design.seed} and the number of the run"])
    drawn = f"{design.samples}, {design.method}, seed {design.seed}" if design.samples else "none"
    about: list[list[Cell]] = [
        ["model", sweep.make], ["measures", ", ".join(sweep.measure)], ["runs planned", design.size],
        ["repetitions", design.repeat], ["samples", drawn], ["time limit of a run [s]", sweep.timeout],
        ["memory limit of a run [MiB]", sweep.memory],
    ]  # fmt: skip
    about += [[name, str(value)] for name, value in sweep.how.items()]
    tables = [
        Table("Parameters", ["parameter", "from", "values"], rows),
        Table("Sweep", ["what", "value"], about),
    ]
    return Section("What was run", [], tables, code=result.head.command)


def _environment(result: SweepResult) -> Section:
    place = result.head.environment
    rows: list[list[Cell]] = [
        ["stickslip", f"{place.stickslip}, code {place.code}"],
        ["python", place.python],
    ]
    rows += [[name, number or "none"] for name, number in place.packages]
    rows += [["system", place.system], ["processor", place.processor]]
    rows += [["wall time of all runs together [s]", float(np.nansum(result.seconds))]]
    return Section("Environment", [], [Table("Where it was run", ["what", "value"], rows)])


def _cut(result: SweepResult) -> list[str]:
    if len(result) <= ROWS:
        return []
    return [f"The first {ROWS} of {len(result)} runs; the file and its CSV have all."]


def _all(result: SweepResult) -> Table:
    whole = result.table()
    columns = [Column(each.name, ".6g") for each in whole.columns if isinstance(each, Column)]
    return Table(whole.title, columns, whole.rows[:ROWS])
