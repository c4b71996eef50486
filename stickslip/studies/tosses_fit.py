"""Numbers of a model from tosses, by Gauss-Newton through every impact, and predictions with them.

The loss of a toss is the mean over its frames of distance and angle, each over what is aimed at; not their
squares, so that the few tosses that end on another face do not rule. Its minimum is sought by least squares
with weights 1 / |r|, over few frames first, in which nothing is chaotic yet, then over more.
"""

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from scipy.optimize import minimize

from stickslip.rotations import between
from stickslip.state import Array
from stickslip.studies.tosses_models import Model, Ride, column
from stickslip.studies.tosses_records import HALF, Site, Toss, errors

AIM = (8.0, 6.5)
"""What a distance [% of the width] and an angle [degrees] are weighed by."""
CHAOTIC = 50.0
"""Change of the loss with a number, by its scale, from which on frames say nothing of it."""
Task = tuple[type[Model], Site, Array, Toss]
"""A model, where it is, its numbers, and what it rides."""
Tell = Callable[[str], None]
"""Called before each part of the work."""
_T = TypeVar("_T")


class Workers:
    """Processes that share the tosses; in this process alone where one is asked for.

    They are started afresh, so a script that asks for several works under `if __name__ == "__main__"`.
    """

    def __init__(self, processes: int = 1) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(processes, mp_context=spawn) if processes > 1 else None

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *failure: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, function: Callable[[Any], _T], given: Iterable[Any]) -> list[_T]:
        """The function of all that is given, in order."""
        if self._pool is None:
            return list(map(function, given))
        return list(self._pool.map(function, given, chunksize=2))


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
    workers: Workers, kind: type[Model], site: Site, tosses: Sequence[Toss], stages: Sequence[Stage],
    theta: Array, tell: Tell = lambda _: None,
) -> Array:  # fmt: skip
    """The numbers with which a model predicts tosses best, from a guess, in their units, shape (k,)."""
    for stage in stages:
        problem = _Problem(workers, kind, site, tosses[: stage.tosses], stage.frames, stage.names)
        theta = problem.descend(theta, stage.iterations, tell)
        if kind.rough and stage.evaluations:
            tell(f"{kind.title}: {stage.frames or 'all'} frames, without derivatives")
            theta = problem.searched(theta, stage.evaluations)
    return theta


def predict(
    workers: Workers, kind: type[Model], site: Site, theta: Array, tosses: Sequence[Toss]
) -> list[tuple[Array, float]]:
    """For each toss: distances [% of the width] and angles [degrees], shape (frames, 2), and the deepest
    overlap [m]."""
    return workers.map(_judged, [(kind, site, theta, toss) for toss in tosses])


@dataclass(frozen=True, eq=False)
class _Problem:
    """The loss of some tosses over some frames by some numbers."""

    workers: Workers
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
        tasks = [(self.kind, self.site, theta, toss, self.frames) for toss in self.tosses]
        return float(np.mean(self.workers.map(_loss, tasks)))

    def equations(self, theta: Array) -> tuple[float, Array, Array]:
        """The loss, and the normal equations of a step in the scales of the numbers."""
        tasks = [(self.kind, self.site, theta, toss, self.frames) for toss in self.tosses]
        losses, As, bs = zip(*self.workers.map(_equations, tasks), strict=True)
        A, b = np.mean(As, axis=0), np.mean(bs, axis=0)
        return float(np.mean(losses)), A[np.ix_(self.free, self.free)], b[self.free]


@lru_cache(maxsize=1)
def _made(
    kind: type[Model],
    gravity: tuple[float, ...],
    tilt: tuple[float, ...],
    theta: tuple[float, ...],
    fine: bool,
) -> Model:
    """A cube, kept for the tosses that come next."""
    return kind(Site(np.array(gravity), np.array(tilt)), np.array(theta), fine)


def _cube(kind: type[Model], site: Site, theta: Array, fine: bool = False) -> Model:
    return _made(kind, tuple(site.gravity.tolist()), tuple(site.tilt.tolist()), tuple(theta.tolist()), fine)


def _weighed(toss: Toss, ride: Ride) -> Array:
    """Distances and angles over what is aimed at [-], shape (frames, 2, 3)."""
    n = len(ride.place)
    width, degrees = 100.0 / (2.0 * HALF * AIM[0]), np.degrees(1.0) / AIM[1]
    turned = between(toss.turn[:n], ride.turn)
    return np.stack([width * (ride.place - toss.place[:n]), degrees * turned], axis=1)


def _loss(given: tuple[type[Model], Site, Array, Toss, int | None]) -> float:
    kind, site, theta, toss, frames = given
    ride = _cube(kind, site, theta).ride(toss, frames)
    return float(np.linalg.norm(_weighed(toss, ride), axis=2).mean())


def _equations(given: tuple[type[Model], Site, Array, Toss, int | None]) -> tuple[float, Array, Array]:
    kind, site, theta, toss, frames = given
    ride = _cube(kind, site, theta).ride(toss, frames, sensitive=True)
    assert ride.by is not None
    r, scale = _weighed(toss, ride), column(kind.numbers, "scale")
    width, degrees = 100.0 / (2.0 * HALF * AIM[0]), np.degrees(1.0) / AIM[1]
    J = np.stack([width * ride.by[:, :3], degrees * ride.by[:, 3:]], axis=1) * scale
    size = np.linalg.norm(r, axis=2)
    w = 1.0 / np.maximum(size, 0.05) / size.size  # least squares of these weights: the mean of |r|
    late = np.linalg.norm(J, axis=(2, 3)) > CHAOTIC
    w[np.logical_or.accumulate(late.any(axis=1))] = 0.0
    return float(size.mean()), np.einsum("fs,fsik,fsil->kl", w, J, J), np.einsum("fs,fsik,fsi->k", w, J, r)


def _judged(given: Task) -> tuple[Array, float]:
    kind, site, theta, toss = given
    ride = _cube(kind, site, theta, fine=True).ride(toss)
    return errors(toss, ride.place, ride.turn), ride.penetration
