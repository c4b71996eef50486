"""Identification of a cube from measured tosses: friction, restitution, inertia and centre of mass, compared
with MuJoCo.

A model is fitted on some tosses and predicts all others over their whole length, each from a ballistic fit of
its frames before contact (docs/tosses.md). The fit of stickslip's model follows the gradient of the error
through every impact. MuJoCo's model is fitted by the same loop with central differences, from the shape that
stickslip's fit found, and then by the search of Nelder and Mead. Without a file the study uses synthetic
tosses with known numbers.
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
from stickslip.studies.tosses_fit import Report, Share, Stage, fit, predict, workers
from stickslip.studies.tosses_models import SHAPE, TILT, Model, SoftCube, column
from stickslip.studies.tosses_records import FORMAT, LEAST, RATE, Site, Toss, read, tosses_of, without_copies

NAME = "tosses"
SUMMARY = (
    "A cube's friction, restitution, inertia and centre of mass from tosses, by gradients, beside MuJoCo."
)

MODELS: tuple[type[Model], ...] = (Cube, SoftCube)
"""Models that are fitted."""


@dataclass(frozen=True)
class Plan:
    """Numbers of tosses, frames and iterations."""

    train: int = 64
    """Number of tosses to fit on."""
    made: int = 24
    """Number of synthetic tosses, if no file is given; the fit uses two thirds of them."""
    frames: int = 80
    """Frames of each synthetic toss."""
    short: tuple[int, int] = (10, 25)
    """Frames in the first and in the second stage of a fit."""
    iterations: tuple[int, int, int] = (4, 5, 3)
    """Gauss-Newton steps in each of the three stages; the third uses all frames."""
    evaluations: int = 400
    """Largest number of evaluations of the loss by the search without derivatives, in each stage."""


QUICK = Plan(made=6, frames=36, short=(6, 10), iterations=(3, 1, 0), evaluations=12)
"""Plan of a small part that takes seconds."""


@dataclass(frozen=True, eq=False)
class Predicted:
    """Predictions of a model for the tosses that it was not fitted on."""

    model: type[Model]
    """Class of the model."""
    fitted: bool
    """Whether the numbers are fitted; otherwise they are nominal."""
    theta: Array
    """Numbers of the model, in their units [-], shape (k,)."""
    errors: list[Array]
    """Distances and angles of each toss [% of the width, degrees], shape (frames, 2) each."""
    overlap: Array
    """Deepest overlap of each toss [m], shape (tosses,)."""

    @property
    def means(self) -> Array:
        """Mean distance and angle of each toss [% of the width, degrees], shape (tosses, 2)."""
        return np.array([each.mean(axis=0) for each in self.errors])

    @property
    def title(self) -> str:
        """Name in figures."""
        return f"{self.model.title}, {'fitted' if self.fitted else 'not fitted'}"


def run(
    quick: bool = False, progress: Progress | None = None, *, data: str | PathLike[str] | None = None,
    train: int | None = None, seed: int = 0, predict: str | PathLike[str] | None = None,
    processes: int | None = None,
) -> Study:  # fmt: skip
    """Fit on `train` tosses of the file `data`, and predict all other tosses of it or all of the file
    `predict`.

    `seed` selects the tosses to fit on. `processes` is the number of processes, by default that of
    processors. `quick` takes a small plan.
    """
    plan = QUICK if quick else Plan()
    chosen, others, about = tosses_to_use(plan, data, train, seed, predict)
    count = processes if processes is not None else 1 if quick else os.cpu_count() or 1
    if count < 1:
        raise StudyInputError(f"processes is {count}; it must be at least 1")
    with workers(count) as share:
        site, predictions = compare(share, plan, chosen, others, progress)
    tables = [results(predictions, about), _numbers(predictions, site, known=data is None)]
    means = {each.title: each.means.round(4).tolist() for each in predictions}
    data_of_tosses = {"mean distance [%] and angle [deg] of tosses": means}
    return Study(NAME, tables, {"errors": _figure(predictions)}, data_of_tosses)


def tosses_to_use(
    plan: Plan, data: str | PathLike[str] | None, train: int | None, seed: int,
    other: str | PathLike[str] | None,
) -> tuple[list[Toss], list[Toss], str]:  # fmt: skip
    """Return the tosses to fit on, those to predict, and a note about their source; no toss is in both."""
    if seed < 0:
        raise StudyInputError(f"seed is {seed}; it must be >= 0")
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
    test = [] if other is None else read(other)
    every = without_copies([every[i] for i in order], but=test)
    if len(every) < train + (other is None) or (other is not None and not test):
        count = f"{len(every)} different tosses to fit on" + (f" and {len(test)} to predict" if other else "")
        raise StudyInputError(
            f"{count}, each with {LEAST} frames before contact; {train} are to be fitted on, others predicted"
        )
    return every[:train], test or every[train:], about


def compare(
    share: Share, plan: Plan, chosen: Sequence[Toss], others: Sequence[Toss],
    progress: Progress | None = None,
) -> tuple[Site, list[Predicted]]:  # fmt: skip
    """Fit every model on the chosen tosses, and predict the others with fitted and with nominal numbers."""
    parts = sum(plan.iterations) + 3 + 2  # steps, searches and predictions; some may not be needed
    report = Parts(progress, len(MODELS) * parts)
    site, shape, predictions = Site.of(chosen), column(SHAPE, "guess"), []
    for k, kind in enumerate(MODELS):
        # 1. Fit; the shape is the initial guess of the next model.
        theta = fitted(share, kind, plan, site, chosen, shape, report)
        shape, report.done = theta[-len(SHAPE) :], (k + 1) * parts - 2
        # 2. Predictions with fitted and with nominal numbers.
        for where, numbers in ((site, theta), (Site.nominal(), column(kind.numbers, "nominal"))):
            report(f"{kind.title}: predictions")
            pairs = predict(share, kind, where, numbers, others)
            overlap = np.array([deep for _, deep in pairs])
            predictions.append(Predicted(kind, where is site, numbers, [each for each, _ in pairs], overlap))
    report.end()
    return site, predictions


def fitted(
    share: Share, kind: type[Model], plan: Plan, site: Site, chosen: Sequence[Toss], shape: Array,
    report: Report,
) -> Array:  # fmt: skip
    """Return the numbers of a model after all stages of a fit, in their units, shape (k,); `shape` is the
    initial guess of the numbers of `SHAPE`."""
    every, n = tuple(number.name for number in kind.numbers), len(chosen)
    theta = column(kind.numbers, "guess")
    theta[-len(SHAPE) :] = shape
    few, more, rest = plan.iterations
    first = tuple(name for name in every if not name.startswith(TILT))  # few frames hardly depend on the tilt
    stages = [
        Stage(plan.short[0], few, n, first, plan.evaluations),
        Stage(plan.short[1], more, n, every, plan.evaluations),
        Stage(None, rest, max(2, n // 2), kind.late, plan.evaluations if rest else 0),
    ]
    return fit(share, kind, site, chosen, stages, theta, report)


def results(predictions: Sequence[Predicted], about: str = "") -> Table:
    """Return the table of prediction errors by model."""
    return Table.of(
        f"{len(predictions[0].errors)} tosses, predicted over their whole length",
        predictions,
        ("model", lambda each: each.model.title),
        ("fitted", lambda each: each.fitted),
        ("distance [% of width]", ".2f", lambda each: each.means[:, 0].mean()),
        ("angle [deg]", ".2f", lambda each: each.means[:, 1].mean()),
        ("median distance", ".2f", lambda each: np.median(each.means[:, 0])),
        ("median angle", ".2f", lambda each: np.median(each.means[:, 1])),
        ("overlap [mm]", ".3f", lambda each: 1e3 * each.overlap.mean()),
        ("largest [mm]", ".3f", lambda each: 1e3 * each.overlap.max()),
        note=f"{about}. Each prediction starts from a ballistic fit of the frames before contact. Means over"
        " the frames of each toss, then over tosses.",
    )


def _numbers(predictions: Sequence[Predicted], site: Site, known: bool) -> Table:
    """Return the table of fitted numbers, with the known ones of synthetic tosses."""
    rows: list[list[Cell]] = []
    fits = [each for each in predictions if each.fitted]
    pairs = [(each.model.numbers, each.theta) for each in fits] + ([(Cube.numbers, KNOWN)] if known else [])
    shown = [
        {n.name: n.shown(value) for n, value in zip(numbers, theta, strict=True)} for numbers, theta in pairs
    ]
    for number in {n.name: n for each in predictions for n in each.model.numbers}.values():
        if not number.name.startswith(TILT):
            rows.append([number.name, number.unit, *(each.get(number.name) for each in shown)])
    for k, axis in enumerate("xyz"):
        same = [float(site.gravity[k])] * len(fits)
        rows.append([f"gravity, {axis}", "m/s²", *same, *([float(SITE.gravity[k])] if known else [])])
    for k, axis in enumerate("xy"):
        fitted_tilt = [float(np.degrees(site.tilt[k] + each.theta[k - 2])) for each in fits]
        true = [float(np.degrees(SITE.tilt[k]))] if known else []
        rows.append([f"tilt of the table about {axis}", "deg", *fitted_tilt, *true])
    titles = [each.model.title for each in fits]
    return Table(
        "Fitted numbers",
        ["number", "unit", *titles, *(["known"] if known else [])],
        rows,
        "Gravity is computed from the flights; the fit of the tilt starts from that of cubes at rest.",
    )


def _figure(predictions: Sequence[Predicted]) -> Figure:
    """Return the figure of mean errors over time, and of the distribution of tosses by error."""
    panels = []
    for k, label in enumerate(("distance [% of width]", "angle [deg]")):
        curves, sorted_ = [], []
        for model in predictions:
            length = int(np.median([len(each) for each in model.errors]))
            t = np.arange(1, length + 1) / RATE
            mean = [np.mean([each[min(f, len(each) - 1), k] for each in model.errors]) for f in range(length)]
            curves.append(Curve(model.title, t, np.array(mean)))
            share = np.arange(1, len(model.errors) + 1) / len(model.errors)
            sorted_.append(Curve(model.title, np.sort(model.means[:, k]), share))
        panels.append(Panel(f"Mean {label}", "time from the last free frame [s]", label, curves, log_y=True))
        panels.append(Panel(f"Tosses by mean {label}", label, "share of tosses", sorted_, log_x=True))
    return Figure("Errors of predicted tosses", panels, across=2)
