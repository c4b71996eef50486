"""What real tosses tell of a cube: friction, restitution, inertia and centre of mass, beside MuJoCo.

A model is fitted on some tosses and predicts all others over their whole length, each from a ballistic fit of
its frames before contact (docs/tosses.md). Ours follows the gradient of the error through every impact;
MuJoCo's is fitted by the same loop with central differences, from the shape that ours found, and further by
Nelder and Mead's search. Without a file it runs on tosses that it makes itself, whose numbers are known.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np

from stickslip.exhibits import Cell, Curve, Figure, Panel, Table
from stickslip.state import Array
from stickslip.studies.study import Parts, Progress, Study, StudyInputError
from stickslip.studies.tosses_cube import KNOWN, SITE, Cube, made
from stickslip.studies.tosses_fit import Share, Stage, Tell, fit, predict, workers
from stickslip.studies.tosses_models import SHAPE, TILT, Model, SoftCube, column
from stickslip.studies.tosses_records import FORMAT, LEAST, RATE, Site, Toss, read, tosses_of, without_copies

NAME = "tosses"
SUMMARY = (
    "A cube's friction, restitution, inertia and centre of mass from tosses, by gradients, beside MuJoCo."
)

MODELS: tuple[type[Model], ...] = (Cube, SoftCube)
"""Who is fitted."""


@dataclass(frozen=True)
class Plan:
    """How much of everything."""

    train: int = 64
    """Tosses to fit on."""
    made: int = 24
    """Tosses that are made where no file is given; two thirds of them are fitted on."""
    frames: int = 80
    """Of each of these."""
    short: tuple[int, int] = (10, 25)
    """Frames of the first and of the second part of a fit."""
    iterations: tuple[int, int, int] = (4, 5, 3)
    """Steps of Gauss-Newton in each of its three parts; the third is over all frames."""
    evaluations: int = 400
    """Of the loss, most in each part that a search without derivatives makes."""


QUICK = Plan(made=6, frames=36, short=(6, 10), iterations=(3, 1, 0), evaluations=12)
"""A small part, in seconds."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """How a model predicts the tosses that it was not fitted on."""

    model: type[Model]
    fitted: bool
    """Or as it comes, with nominal numbers."""
    theta: Array
    """Its numbers, in their units [-], shape (k,)."""
    errors: list[Array]
    """Of each toss, distances and angles [% of the width, degrees], shape (frames, 2) each."""
    overlap: Array
    """Deepest of each toss [m], shape (tosses,)."""

    @property
    def means(self) -> Array:
        """Mean distance and angle of each toss [% of the width, degrees], shape (tosses, 2)."""
        return np.array([each.mean(axis=0) for each in self.errors])

    @property
    def title(self) -> str:
        """What figures call it."""
        return f"{self.model.title}, {'fitted' if self.fitted else 'not fitted'}"


def run(
    quick: bool = False, progress: Progress | None = None, *, data: str | PathLike[str] | None = None,
    train: int | None = None, seed: int = 0, predict: str | PathLike[str] | None = None,
    processes: int | None = None,
) -> Study:  # fmt: skip
    """Fit on `train` tosses of the file `data` and predict all others of it, or all of the file `predict`.

    seed draws the tosses that are fitted on; processes share the work, as many as there are processors unless
    given. `quick` fits little.
    """
    plan = QUICK if quick else Plan()
    chosen, asked, about = tosses_to_use(plan, data, train, seed, predict)
    count = processes if processes is not None else 1 if quick else os.cpu_count() or 1
    if count < 1:
        raise StudyInputError(f"processes is {count}; at least one must work")
    with workers(count) as share:
        site, found = compare(share, plan, chosen, asked, progress)
    tables = [results(found, about), _numbers(found, site, known=data is None)]
    means = {one.title: one.means.round(4).tolist() for one in found}
    more = {"mean distance [%] and angle [deg] of tosses": means}
    return Study(NAME, tables, {"errors": _figure(found)}, more)


def tosses_to_use(
    plan: Plan, data: str | PathLike[str] | None, train: int | None, seed: int,
    other: str | PathLike[str] | None,
) -> tuple[list[Toss], list[Toss], str]:  # fmt: skip
    """The tosses to fit on, those to predict, and a sentence about them; no toss is among both."""
    if seed < 0:
        raise StudyInputError(f"seed is {seed}; it counts from 0")
    if data is None:
        if other is not None:
            raise StudyInputError(f"to predict tosses of a file needs data to fit on: {FORMAT}")
        every, about = tosses_of(*made(plan.made, plan.frames)), "Made with known numbers"
        train = 2 * plan.made // 3 if train is None else train
    else:
        every, about = read(data), "Measured"
        train = plan.train if train is None else train
    if train < 2:
        raise StudyInputError(f"train is {train}; a fit needs at least two tosses")
    order = np.random.default_rng(seed).permutation(len(every))
    held = [] if other is None else read(other)
    every = without_copies([every[i] for i in order], but=held)
    if len(every) < train + (other is None) or (other is not None and not held):
        there = f"{len(every)} different tosses to fit on" + (f" and {len(held)} to predict" if other else "")
        raise StudyInputError(
            f"{there}, each with {LEAST} frames before contact; {train} are to be fitted on, others predicted"
        )
    return every[:train], held or every[train:], about


def compare(
    share: Share, plan: Plan, chosen: Sequence[Toss], asked: Sequence[Toss],
    progress: Progress | None = None,
) -> tuple[Site, list[Predicted]]:  # fmt: skip
    """Fit every model and let it predict, fitted and not."""
    each = sum(plan.iterations) + 3 + 2  # steps, searches, predictions, of which some may not be needed
    tell = Parts(progress, len(MODELS) * each)
    site, shape, found = Site.of(chosen), column(SHAPE, "guess"), []
    for k, kind in enumerate(MODELS):
        theta = fitted(share, kind, plan, site, chosen, shape, tell)
        shape, tell.done = theta[-len(SHAPE) :], (k + 1) * each - 2
        for where, numbers in ((site, theta), (Site.nominal(), column(kind.numbers, "nominal"))):
            tell(f"{kind.title}: predictions")
            told = predict(share, kind, where, numbers, asked)
            overlap = np.array([deep for _, deep in told])
            found.append(Predicted(kind, where is site, numbers, [each for each, _ in told], overlap))
    tell.end()
    return site, found


def fitted(
    share: Share, kind: type[Model], plan: Plan, site: Site, chosen: Sequence[Toss], shape: Array, tell: Tell
) -> Array:
    """The numbers of a model by all parts of a fit, in their units, shape (k,); shape: where those of `SHAPE`
    begin."""
    every, n = tuple(number.name for number in kind.numbers), len(chosen)
    theta = column(kind.numbers, "guess")
    theta[-len(SHAPE) :] = shape
    few, more, rest = plan.iterations
    first = tuple(name for name in every if not name.startswith(TILT))  # few frames tell little of it
    stages = [
        Stage(plan.short[0], few, n, first, plan.evaluations),
        Stage(plan.short[1], more, n, every, plan.evaluations),
        Stage(None, rest, max(2, n // 2), kind.late, plan.evaluations if rest else 0),
    ]
    return fit(share, kind, site, chosen, stages, theta, tell)


def results(found: Sequence[Predicted], about: str = "") -> Table:
    """How well everyone predicts."""
    return Table.of(
        f"{len(found[0].errors)} tosses, predicted over their whole length",
        found,
        ("model", lambda one: one.model.title),
        ("fitted", lambda one: one.fitted),
        ("distance [% of width]", ".2f", lambda one: one.means[:, 0].mean()),
        ("angle [deg]", ".2f", lambda one: one.means[:, 1].mean()),
        ("median distance", ".2f", lambda one: np.median(one.means[:, 0])),
        ("median angle", ".2f", lambda one: np.median(one.means[:, 1])),
        ("overlap [mm]", ".3f", lambda one: 1e3 * one.overlap.mean()),
        ("largest [mm]", ".3f", lambda one: 1e3 * one.overlap.max()),
        note=f"{about}. Each starts from a ballistic fit of its frames before contact. Mean over the frames"
        " of each toss, then over tosses.",
    )


def _numbers(found: Sequence[Predicted], site: Site, known: bool) -> Table:
    rows: list[list[Cell]] = []
    fits = [one for one in found if one.fitted]
    told = [(one.model.numbers, one.theta) for one in fits] + ([(Cube.numbers, KNOWN)] if known else [])
    shown = [
        {n.name: n.shown(value) for n, value in zip(numbers, theta, strict=True)} for numbers, theta in told
    ]
    for number in {n.name: n for one in found for n in one.model.numbers}.values():
        if not number.name.startswith(TILT):
            rows.append([number.name, number.unit, *(each.get(number.name) for each in shown)])
    for k, axis in enumerate("xyz"):
        same = [float(site.gravity[k])] * len(fits)
        rows.append([f"gravity, {axis}", "m/s²", *same, *([float(SITE.gravity[k])] if known else [])])
    for k, axis in enumerate("xy"):
        own = [float(np.degrees(site.tilt[k] + one.theta[k - 2])) for one in fits]
        true = [float(np.degrees(SITE.tilt[k]))] if known else []
        rows.append([f"tilt of the table about {axis}", "deg", *own, *true])
    titles = [one.model.title for one in fits]
    return Table(
        "Numbers that were found",
        ["number", "unit", *titles, *(["known"] if known else [])],
        rows,
        "Gravity is that of the flights; the tilt is fitted, beginning with that of cubes at rest.",
    )


def _figure(found: Sequence[Predicted]) -> Figure:
    """Mean errors over time, and all tosses by their error."""
    panels = []
    for k, what in enumerate(("distance [% of width]", "angle [deg]")):
        curves, sorted_ = [], []
        for one in found:
            longest = int(np.median([len(each) for each in one.errors]))
            t = np.arange(1, longest + 1) / RATE
            mean = [np.mean([each[min(f, len(each) - 1), k] for each in one.errors]) for f in range(longest)]
            curves.append(Curve(one.title, t, np.array(mean)))
            share = np.arange(1, len(one.errors) + 1) / len(one.errors)
            sorted_.append(Curve(one.title, np.sort(one.means[:, k]), share))
        panels.append(Panel(f"Mean {what}", "time from the last free frame [s]", what, curves, log_y=True))
        panels.append(Panel(f"Tosses by mean {what}", what, "share of tosses", sorted_, log_x=True))
    return Figure("Errors of predicted tosses", panels, across=2)
