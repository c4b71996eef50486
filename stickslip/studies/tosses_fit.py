"""Fits of the numbers of a model to tosses by Gauss-Newton through every impact, and predictions.

The loss of a toss is the mean over its frames of distance and angle, each over its target accuracy. It does
not square them, so that the few tosses that end on another face do not dominate. Iteratively reweighted least
squares with weights 1 / |r| minimise it: first over few frames, which are not chaotic, then over more.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.optimize import minimize

from stickslip.rotations import between
from stickslip.state import Array
from stickslip.studies.tosses_models import Model, Ride, column
from stickslip.studies.tosses_records import HALF, Site, Toss, errors

AIM = (8.0, 6.5)
"""Target accuracy of distances [% of the width] and angles [degrees], which scales the loss; heuristic."""
WEIGHTS = 100.0 / (2.0 * HALF * AIM[0]), np.degrees(1.0) / AIM[1]
"""Inverse of the target accuracy in metres and radian [1/m, 1/rad]."""
CHAOTIC = 50.0
"""Derivative of the weighed errors by the scaled numbers above which a frame, and all later ones, are ignored
as chaotic [-]; heuristic."""
Task = tuple[type[Model], Site, Array, Toss, int | None]
"""Model, site, numbers, toss, and number of frames (None: all)."""
Numbers = tuple[float, ...]
"""Numbers as a hashable tuple."""
Report = Callable[[str], None]
"""Function called with its name before each part of the work."""
Share = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
"""Function that maps a function over items, possibly in several processes, in order."""


@contextmanager
def workers(processes: int = 1) -> Iterator[Share]:
    """Context of a `Share` over so many processes; with 1 it uses this process alone.

    Processes are spawned, so a script that uses several needs `if __name__ == "__main__"`.
    """
    if processes == 1:
        yield lambda function, given: list(map(function, given))
        return
    pool = ProcessPoolExecutor(processes, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield lambda function, given: list(pool.map(function, given, chunksize=2))
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass(frozen=True)
class Stage:
    """A stage of a fit."""

    frames: int | None
    """Number of frames of each toss in the loss; None: all."""
    iterations: int
    """Largest number of Gauss-Newton steps."""
    tosses: int
    """Number of tosses in the loss."""
    names: tuple[str, ...]
    """Names of the numbers that are fitted."""
    evaluations: int
    """Largest number of evaluations of the loss by the search without derivatives, for `Model.rough`."""


def fit(
    share: Share, kind: type[Model], site: Site, tosses: Sequence[Toss], stages: Sequence[Stage],
    theta: Array, report: Report = lambda _: None,
) -> Array:  # fmt: skip
    """Return the numbers that minimise the loss of a model, from the guess `theta`, in their units, shape
    (k,)."""
    for stage in stages:
        problem = _Problem(share, kind, site, tosses[: stage.tosses], stage.frames, stage.names)
        theta = problem.descend(theta, stage.iterations, report)
        if kind.rough and stage.evaluations:
            report(f"{kind.title}: {stage.frames or 'all'} frames, without derivatives")
            theta = problem.search(theta, stage.evaluations)
    return theta


def predict(
    share: Share, kind: type[Model], site: Site, theta: Array, tosses: Sequence[Toss]
) -> list[tuple[Array, float]]:
    """Return for each toss distances [% of the width] and angles [degrees], shape (frames, 2), and the
    deepest overlap [m]."""
    return share(_prediction_errors, [(kind, site, theta, toss, None) for toss in tosses])


@dataclass(frozen=True, eq=False)
class _Problem:
    """The loss of a stage: some tosses over some frames, as a function of some numbers."""

    share: Share
    """Map over tosses."""
    kind: type[Model]
    """Class of the model."""
    site: Site
    """Site of the tosses."""
    tosses: Sequence[Toss]
    """Tosses of the loss."""
    frames: int | None
    """Number of frames of each toss; None: all."""
    names: tuple[str, ...]
    """Names of the numbers that are fitted."""

    def descend(self, theta: Array, iterations: int, report: Report) -> Array:
        """Return the numbers after damped Gauss-Newton steps (Levenberg-Marquardt)."""
        damping = 0.01
        for k in range(iterations):
            report(f"{self.kind.title}: {self.frames or 'all'} frames, step {k + 1}")
            # 1. Normal equations of the reweighted least squares.
            loss, A, b = self.equations(theta)
            # 2. Step with increasing damping until the loss decreases.
            for _ in range(4):
                damped = A + damping * np.trace(A) / len(b) * np.eye(len(b))
                step = -np.linalg.solve(damped, b)
                new_loss = self.loss(self.moved(theta, step))
                if new_loss < loss:
                    break
                damping *= 4.0
            else:
                return theta
            # 3. Weights 1 / |r| make steps short if most errors are large: double the step while it helps.
            for _ in range(3):
                doubled = self.loss(self.moved(theta, 2.0 * step))
                if doubled >= new_loss:
                    break
                step, new_loss = 2.0 * step, doubled
            theta, damping = self.moved(theta, step), max(damping / 4.0, 1e-4)
            if loss - new_loss < 3e-3 * loss:
                return theta
        return theta

    def search(self, theta: Array, evaluations: int) -> Array:
        """Return the numbers after a search of Nelder and Mead from theta, for models with inexact
        derivatives."""
        free = self.free
        simplex = np.vstack([np.zeros(free.sum()), np.eye(free.sum())])

        def loss(x: Array) -> float:
            outside = np.abs(theta[free] + self.scale * x - self.moved(theta, x)[free]) / self.scale
            return self.loss(self.moved(theta, x)) + float(outside.sum())

        options = {"maxfev": evaluations, "adaptive": True, "initial_simplex": simplex}
        return self.moved(theta, minimize(loss, simplex[0], method="Nelder-Mead", options=options).x)

    @property
    def free(self) -> Array:
        """Whether each number is fitted."""
        return np.array([number.name in self.names for number in self.kind.numbers])

    @property
    def scale(self) -> Array:
        """Scales of the fitted numbers."""
        return column(self.kind.numbers, "scale")[self.free]

    def moved(self, theta: Array, step: Array) -> Array:
        """Return the numbers after a step in units of their scales, clipped to their bounds."""
        moved = theta.copy()
        moved[self.free] += self.scale * step
        return np.clip(moved, column(self.kind.numbers, "lower"), column(self.kind.numbers, "upper"))

    def loss(self, theta: Array) -> float:
        """Return the mean loss of the tosses."""
        return float(np.mean(self.share(_loss, self.tasks(theta))))

    def tasks(self, theta: Array) -> list[Task]:
        """Return the task of each toss."""
        return [(self.kind, self.site, theta, toss, self.frames) for toss in self.tosses]

    def equations(self, theta: Array) -> tuple[float, Array, Array]:
        """Return the loss, and the normal equations of a step in units of the scales of the numbers."""
        losses, As, bs = zip(*self.share(_equations, self.tasks(theta)), strict=True)
        A, b = np.mean(As, axis=0), np.mean(bs, axis=0)
        return float(np.mean(losses)), A[np.ix_(self.free, self.free)], b[self.free]


def _cube(kind: type[Model], site: Site, theta: Array, fine: bool = False) -> Model:
    """Return the model, which is cached for the following tosses."""
    numbers = (site.gravity, site.tilt, theta)
    return _cached_cube(kind, *(tuple(each.tolist()) for each in numbers), fine)


@lru_cache(maxsize=1)
def _cached_cube(kind: type[Model], gravity: Numbers, tilt: Numbers, theta: Numbers, fine: bool) -> Model:
    """Return the model for hashable numbers."""
    return kind(Site(np.array(gravity), np.array(tilt)), np.array(theta), fine)


def _weighed(toss: Toss, ride: Ride) -> Array:
    """Return distances and angles over their target accuracy [-], shape (frames, 2, 3)."""
    n = len(ride.place)
    turned = between(toss.turn[:n], ride.turn)
    return np.stack([WEIGHTS[0] * (ride.place - toss.place[:n]), WEIGHTS[1] * turned], axis=1)


def _loss(task: Task) -> float:
    """Return the loss of a toss."""
    kind, site, theta, toss, frames = task
    ride = _cube(kind, site, theta).ride(toss, frames)
    return float(np.linalg.norm(_weighed(toss, ride), axis=2).mean())


def _equations(task: Task) -> tuple[float, Array, Array]:
    """Return the loss of a toss and its weighted normal equations."""
    kind, site, theta, toss, frames = task
    ride = _cube(kind, site, theta).ride(toss, frames, sensitive=True)
    assert ride.by is not None
    r, scale = _weighed(toss, ride), column(kind.numbers, "scale")
    J = np.stack([WEIGHTS[0] * ride.by[:, :3], WEIGHTS[1] * ride.by[:, 3:]], axis=1) * scale
    size = np.linalg.norm(r, axis=2)
    w = 1.0 / np.maximum(size, 0.05) / size.size  # with these weights r'r is the mean of |r|
    chaotic = np.linalg.norm(J, axis=(2, 3)) > CHAOTIC
    w[np.logical_or.accumulate(chaotic.any(axis=1))] = 0.0
    return float(size.mean()), np.einsum("fs,fsik,fsil->kl", w, J, J), np.einsum("fs,fsik,fsi->k", w, J, r)


def _prediction_errors(task: Task) -> tuple[Array, float]:
    """Return the errors of the prediction of a toss over its whole length, and the deepest overlap [m]."""
    kind, site, theta, toss, _ = task
    ride = _cube(kind, site, theta, fine=True).ride(toss)
    return errors(toss, ride.place, ride.turn), ride.penetration
