"""Mixed complementarity: contact, motion and friction as one nonlinear problem, by semismooth Newton.

A contact or global problem is converted to its equations of motion (`problem/convert/motion.py`); a
BoxProblem or a NonlinearProblem is solved as it is. Three methods are tried in turn until the judge accepts a
solution of the original problem:

- Newton's iteration from the guess, without smoothing;
- the path of smoothed problems phi(a, b; kappa) = 0 from inside the box, with kappa reduced from `smoothing`
  to 0 as fast as Newton converges, with the friction law in the form "direction";
- along the path, once kappa is small, Newton's iteration on the face of the box that the iterate identifies:
  active components are fixed, inactive ones lose their bounds, which removes degenerate rows.

The steps are in `mcp_newton.py`. Smoothing paths: Kanzow 1996; Chen, Qi & Sun 1998. Identification of faces:
Facchinei, Fischer & Kanzow 1998.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike

from stickslip.options import Options, iterations_option, option, tolerance_option
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import Answer
from stickslip.problem.convert.motion import LAWS, motion_mcp
from stickslip.problem.nonlinear import NonlinearProblem, box_as_nonlinear
from stickslip.problem.solution import AnyProblem, Solution, Status
from stickslip.solvers.certify import Attempt, certified_as_given
from stickslip.solvers.mcp_newton import MAPS, Newton, balance, face, interior
from stickslip.solvers.registry import Progress
from stickslip.solvers.watch import Watch

STILL = 15
"""Number of Newton steps without reducing the best merit by a tenth after which a phase ends."""
FASTEST, SLOWEST = 0.03, 0.9
"""Range of the factor on kappa from one smoothed problem to the next."""
FOLLOWED = 0.01
"""A smoothed problem counts as solved if |Phi|_inf is at most this fraction of √kappa."""
QUICK, LOST = 3, 20
"""Newton steps on a smoothed problem: up to QUICK, kappa is reduced faster; at LOST, the path is lost."""
SHORT = 2.0**-5
"""Step length below which the path counts as lost."""
RAISED, ROUGHEST = 10.0, 1e4
"""Factor on the first kappa if its problem is not solved, and its largest value."""
POLISHED, LAST = 1e-4, 1e-24
"""kappa below which faces are tried, and at which the path ends."""
POLISH = 8
"""Number of Newton steps on one face."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MixedComplementarity(Options):
    """The equations of motion as a nonlinear complementarity problem, by semismooth Newton."""

    tolerance: float = tolerance_option()
    max_iterations: int = iterations_option(2000, "Newton steps")
    law: str = option("exact", "Coulomb's law, or its convex relaxation", choices=LAWS)
    map: str = option("fischer-burmeister", "complementarity function", choices=tuple(MAPS))
    smoothing: float = option(
        1.0, "kappa at the start of the path of smoothed problems, in the units of the problem; 0"
            " for no path",
        low=0.0, high=1e6,
    )  # fmt: skip

    def solve(
        self, problem: AnyProblem, *, guess: ArrayLike | None = None, progress: Progress | None = None
    ) -> Solution:
        """Solve `problem`, also a NonlinearProblem, from `guess` (its reference or zero if None)."""

        def method(any_problem: AnyProblem, start: Array | None, tolerance: float) -> tuple[Attempt, Answer]:
            relaxed = self.law == "relaxed" and isinstance(any_problem, ContactProblem | GlobalProblem)
            with Watch(any_problem, tolerance, self.max_iterations, progress, relaxed=relaxed) as watch:
                form_of = cache(partial(_form, any_problem, self.law))
                _Search(watch, self.map, self.smoothing).run(form_of, _forms(any_problem), start)
            return watch.attempt(), Answer(watch.best, watch.best_v, watch.best_lam)

        return certified_as_given("mcp", method, problem, guess, self.tolerance)


@dataclass(frozen=True)
class _Form:
    """Form of the problem as a nonlinear one, with the conversions of solutions and guesses."""

    problem: NonlinearProblem
    recover: Callable[[Array], Answer]
    guess: Callable[[Array], Array]
    leader: IntArray
    weight: Array | float = 1.0


def _forms(problem: AnyProblem) -> tuple[str, ...]:
    """Return the names of the forms of the friction law; with friction there are two."""
    has_friction = isinstance(problem, ContactProblem | GlobalProblem) and problem.K.group_size.size
    return ("product", "direction") if has_friction else ("product",)


def _form(problem: AnyProblem, law: str, form: str) -> _Form:
    if isinstance(problem, ContactProblem | GlobalProblem):
        motion = motion_mcp(problem, law, 0.0, form)
        return _Form(motion.problem, motion.recover, motion.guess, motion.leader)
    plain = box_as_nonlinear(problem) if isinstance(problem, BoxProblem) else problem
    weight = balance(plain, plain.nearest(plain.reference))
    return _Form(plain, lambda z: Answer(plain.nearest(z)), lambda z: z, np.zeros(0, np.int64), weight)


class _Search:
    """The phases of the solver, in turn."""

    def __init__(self, watch: Watch, map_name: str, smoothing: float):
        self.watch, self.map, self.smoothing = watch, map_name, smoothing

    def run(self, form_of: Callable[[str], _Form], names: tuple[str, ...], start: Array | None) -> None:
        """Run the phases until the watch stops."""
        # 1. Newton from the guess, without smoothing.
        first = form_of(names[0])
        z = first.guess(self._zero(first) if start is None else start)
        self._look(first, z, 0)
        self._plain(first, z)
        # 2. The path of smoothed problems.
        if self.smoothing > 0.0:
            for name in names[::-1]:
                if self.watch.goes_on:
                    form = form_of(name)
                    self._path(form, interior(form.problem, form.guess(self._zero(form))))
        # 3. Newton from the best iterate.
        for name in names[::-1]:
            if self.watch.goes_on:
                form = form_of(name)
                self._plain(form, form.guess(self.watch.best))
        if self.watch.goes_on:
            self.watch.stop(Status.STALLED, "every phase of Newton's iteration stalled without a solution")

    def _zero(self, form: _Form) -> Array:
        problem = self.watch.problem
        return np.zeros(problem.size) if problem.size != form.problem.size else form.problem.reference

    def _look(self, form: _Form, z: Array, iterations: int = 1) -> None:
        answer = form.recover(z)
        self.watch.look(answer.r, iterations, answer.v, answer.lam)

    def _plain(self, form: _Form, z: Array) -> None:
        """Run Newton's iteration from z, and then on the face at its end."""
        newton = Newton(form.problem, self.map, form.weight)
        newton.begin(z, 0.0)
        best, since = np.inf, 0
        while self.watch.goes_on and not newton.still and since < STILL:
            self._look(form, newton.step())
            since = since + 1 if newton.merit > 0.9 * best else 0
            best = min(best, newton.merit)
        self.watch.operations += newton.operations
        self._polish(form, newton.z, np.sqrt(2.0 * best))

    def _path(self, form: _Form, z: Array) -> None:
        """Follow the solutions of the smoothed problems from kappa = smoothing, at z, to kappa = 0."""
        newton = Newton(form.problem, self.map, form.weight)
        kappa, ratio, followed = self.smoothing, 0.1, False
        while self.watch.goes_on and kappa > LAST and ratio < SLOWEST:
            steps = self._follow(form, newton, z, kappa)
            if steps < 0 and not followed:  # more smoothing gives an easier first problem
                kappa *= RAISED
                if kappa > ROUGHEST:
                    break
                continue
            if steps < 0:  # return to the last solved problem and reduce kappa less
                kappa, ratio = kappa / ratio, np.sqrt(ratio)
            else:
                z, followed = newton.z, True
                if kappa <= POLISHED:
                    self._polish(form, z, 3.0 * np.sqrt(kappa))
                ratio = max(ratio * ratio, FASTEST) if steps <= QUICK else ratio
            kappa *= ratio
        self.watch.operations += newton.operations

    def _follow(self, form: _Form, newton: Newton, z: Array, kappa: float) -> int:
        """Make Newton steps from z to the solution for this kappa; return their number, -1 if they fail."""
        newton.begin(z, kappa)
        for k in range(1, LOST + 1):
            if not self.watch.goes_on:
                return k
            self._look(form, newton.step())
            if newton.error <= FOLLOWED * np.sqrt(kappa):
                return k
            if newton.still or newton.length < SHORT:
                break
        return -1

    def _polish(self, form: _Form, z: Array, cut: float) -> None:
        """Make Newton steps on the face of the box that z identifies."""
        if not (self.watch.goes_on and np.isfinite(z).all()):
            return
        bounds = face(form.problem, z, cut, form.leader, form.weight)
        newton = Newton(form.problem, self.map, form.weight)
        newton.begin(np.clip(z, *bounds), 0.0, bounds)
        for _ in range(POLISH):
            if not self.watch.goes_on or newton.still:
                break
            self._look(form, newton.step())
        self.watch.operations += newton.operations
