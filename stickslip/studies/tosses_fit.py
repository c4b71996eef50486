"""Numbers of a model from tosses, by Gauss-Newton through every impact, and predictions with them.

The loss of a toss is the mean over its frames of distance and angle, each over what is aimed at; not their
squares, so that the few tosses that end on another face do not rule. Its minimum is sought by least squares
with weights 1 / |r|, over few frames first, in which nothing is chaotic yet, then over more.
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
"""What a distance [% of the width] and an angle [degrees] are weighed by."""
WEIGHTS = 100.0 / (2.0 * HALF * AIM[0]), np.degrees(1.0) / AIM[1]
"""The same for metres and radian [1/m, 1/rad]."""
CHAOTIC = 50.0
"""Change of the loss with a number, by its scale, from which on frames say nothing of it."""
Task = tuple[type[Model], Site, Array, Toss, int | None]
"""A model, where it is, its numbers, what it rides, and over how many frames; all for None."""
Numbers = tuple[float, ...]
Tell = Callable[[str], None]
"""Called before each part of the work."""
Share = Callable[[Callable[[Any], Any], Iterable[Any]], list[Any]]
"""The function of all that is given, in order."""


@contextmanager
def workers(processes: int = 1) -> Iterator[Share]:
    """Processes that share the tosses; this one alone where one is asked for.

    They are started afresh, so a script that asks for several works under `if __name__ == "__main__"`.
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
    """A part of a fit."""

    frames: int | None
    """How many frames of each toss count; all if None."""
    iterations: int
    """Most steps of Gauss-Newton."""
    tosses: int
    """On how many tosses."""
    names: tuple[str, ...]
    """Numbers that are fitted."""
    evaluations: int
    """Of the loss, most that a search without derivatives makes, for models that need one."""


def fit(
    share: Share, kind: type[Model], site: Site, tosses: Sequence[Toss], stages: Sequence[Stage],
    theta: Array, tell: Tell = lambda _: None,
) -> Array:  # fmt: skip
    """The numbers with which a model predicts tosses best, from a guess, in their units, shape (k,)."""
    for stage in stages:
        problem = _Problem(share, kind, site, tosses[: stage.tosses], stage.frames, stage.names)
        theta = problem.descend(theta, stage.iterations, tell)
        if kind.rough and stage.evaluations:
            tell(f"{kind.title}: {stage.frames or 'all'} frames, without derivatives")
            theta = problem.searched(theta, stage.evaluations)
    return theta


def predict(
    share: Share, kind: type[Model], site: Site, theta: Array, tosses: Sequence[Toss]
) -> list[tuple[Array, float]]:
    """For each toss: distances [% of the width] and angles [degrees], shape (frames, 2), and the deepest
    overlap [m]."""
    return share(_judged, [(kind, site, theta, toss, None) for toss in tosses])


@dataclass(frozen=True, eq=False)
class _Problem:
    """The loss of some tosses over some frames by some numbers."""

    share: Share
    kind: type[Model]
    site: Site
    tosses: Sequence[Toss]
    frames: int | None
    names: tuple[str, ...]

    def descend(self, theta: Array, iterations: int, tell: Tell) -> Array:
        damping = 0.01
        for k in range(iterations):
            tell(f"{self.kind.title}: {self.frames or 'all'} frames, step {k + 1}")
            loss, A, b = self.equations(theta)
            for _ in range(4):
                left = A + damping * np.trace(A) / len(b) * np.eye(len(b))
                step = -np.linalg.solve(left, b)
                found = self.loss(self.moved(theta, step))
                if found < loss:
                    break
                damping *= 4.0
            else:
                return theta
            # Weights 1 / |r| make steps short where most errors are large: go on as long as it pays.
            for _ in range(3):
                farther = self.loss(self.moved(theta, 2.0 * step))
                if farther >= found:
                    break
                step, found = 2.0 * step, farther
            theta, damping = self.moved(theta, step), max(damping / 4.0, 1e-4)
            if loss - found < 3e-3 * loss:
                return theta
        return theta

    def searched(self, theta: Array, evaluations: int) -> Array:
        """Nelder and Mead from there, where differences through stiff contacts lead no further."""
        free = self.free
        simplex = np.vstack([np.zeros(free.sum()), np.eye(free.sum())])

        def loss(x: Array) -> float:
            outside = np.abs(theta[free] + self.scale * x - self.moved(theta, x)[free]) / self.scale
            return self.loss(self.moved(theta, x)) + float(outside.sum())

        how = {"maxfev": evaluations, "adaptive": True, "initial_simplex": simplex}
        return self.moved(theta, minimize(loss, simplex[0], method="Nelder-Mead", options=how).x)

    @property
    def free(self) -> Array:
        return np.array([number.name in self.names for number in self.kind.numbers])

    @property
    def scale(self) -> Array:
        return column(self.kind.numbers, "scale")[self.free]

    def moved(self, theta: Array, step: Array) -> Array:
        """The numbers after a step in their scales, within their bounds."""
        tried = theta.copy()
        tried[self.free] += self.scale * step
        return np.clip(tried, column(self.kind.numbers, "lower"), column(self.kind.numbers, "upper"))

    def loss(self, theta: Array) -> float:
        return float(np.mean(self.share(_loss, self.tasks(theta))))

    def tasks(self, theta: Array) -> list[Task]:
        return [(self.kind, self.site, theta, toss, self.frames) for toss in self.tosses]

    def equations(self, theta: Array) -> tuple[float, Array, Array]:
        """The loss, and the normal equations of a step in the scales of the numbers."""
        losses, As, bs = zip(*self.share(_equations, self.tasks(theta)), strict=True)
        A, b = np.mean(As, axis=0), np.mean(bs, axis=0)
        return float(np.mean(losses)), A[np.ix_(self.free, self.free)], b[self.free]


def _cube(kind: type[Model], site: Site, theta: Array, fine: bool = False) -> Model:
    """A cube, kept for the tosses that come next."""
    numbers = (site.gravity, site.tilt, theta)
    return _made(kind, *(tuple(each.tolist()) for each in numbers), fine)


@lru_cache(maxsize=1)
def _made(kind: type[Model], gravity: Numbers, tilt: Numbers, theta: Numbers, fine: bool) -> Model:
    return kind(Site(np.array(gravity), np.array(tilt)), np.array(theta), fine)


def _weighed(toss: Toss, ride: Ride) -> Array:
    """Distances and angles over what is aimed at [-], shape (frames, 2, 3)."""
    n = len(ride.place)
    turned = between(toss.turn[:n], ride.turn)
    return np.stack([WEIGHTS[0] * (ride.place - toss.place[:n]), WEIGHTS[1] * turned], axis=1)


def _loss(given: Task) -> float:
    kind, site, theta, toss, frames = given
    ride = _cube(kind, site, theta).ride(toss, frames)
    return float(np.linalg.norm(_weighed(toss, ride), axis=2).mean())


def _equations(given: Task) -> tuple[float, Array, Array]:
    kind, site, theta, toss, frames = given
    ride = _cube(kind, site, theta).ride(toss, frames, sensitive=True)
    assert ride.by is not None
    r, scale = _weighed(toss, ride), column(kind.numbers, "scale")
    J = np.stack([WEIGHTS[0] * ride.by[:, :3], WEIGHTS[1] * ride.by[:, 3:]], axis=1) * scale
    size = np.linalg.norm(r, axis=2)
    w = 1.0 / np.maximum(size, 0.05) / size.size  # least squares of these weights: the mean of |r|
    late = np.linalg.norm(J, axis=(2, 3)) > CHAOTIC
    w[np.logical_or.accumulate(late.any(axis=1))] = 0.0
    return float(size.mean()), np.einsum("fs,fsik,fsil->kl", w, J, J), np.einsum("fs,fsik,fsi->k", w, J, r)


def _judged(given: Task) -> tuple[Array, float]:
    kind, site, theta, toss, _ = given
    ride = _cube(kind, site, theta, fine=True).ride(toss)
    return errors(toss, ride.place, ride.turn), ride.penetration
