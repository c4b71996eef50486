"""What bodies answer to changes of the problem of a step: velocities after the impulses, and impulses."""

from abc import ABC, abstractmethod

import numpy as np

from stickslip.gradients.moreau_jean_assembly import Assembly, Changed, Middle
from stickslip.gradients.moreau_jean_inputs import Complex
from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.solution_linear import GlobalLinearisation
from stickslip.problem.contact import GlobalProblem
from stickslip.schemes.body_step import BodyStep
from stickslip.state import Array, BoolArray

Phase = tuple[Complex, Array, Array, float]
"""A problem: momenta f, shape (k, nd, 6), velocities, impulses so far, and what is left of an impact."""


class Response(ABC):
    """The answer of a step to first order."""

    v: Array
    """Velocities of the dynamic bodies after the impulses [m/s, rad/s], shape (6 nd,)."""
    r: Array
    """Impulses of the step, contacts first [N s, N m s], shape (p,)."""
    presses: BoolArray
    """Components of all contacts, stops and joints but those that open, away from the border, in every
    problem of the step [-], shape (p,)."""
    exists: bool = True
    unique: bool = True
    notes: tuple[str, ...] = ()

    _assembly: Assembly

    def phases(self, at: Middle) -> tuple[Phase, ...]:
        """The problems that it rests on."""
        return ((at.f, self.v, self.r, 0.0),)

    def changed(self, at: Middle, k: int) -> tuple[Changed, ...]:
        """How its problems change along k directions."""
        return tuple(self._assembly.changed(at, *phase, k) for phase in self.phases(at))

    @abstractmethod
    def forward(self, changed: tuple[Changed, ...]) -> tuple[Array, Array]:
        """Changes of v and r, each (size, k)."""

    @abstractmethod
    def backward(self, on_v: Array, on_r: Array) -> tuple[Changed, ...]:
        """The transpose: weights of the changes of the problems."""

    def mismatch(self, changed: tuple[Changed, ...]) -> Array:
        """How much of these changes no impulses can follow, 0 to 1, shape (k,)."""
        return np.zeros(changed[0].momentum.shape[1])


class Untouched(Response):
    """A step in which nothing acts but forces: M v = f."""

    def __init__(self, assembly: Assembly):
        self._assembly, self._M = assembly, assembly.bodies.M
        self.v, self.r = assembly.base.v_free[0, assembly.bodies.dynamic].real.reshape(-1), np.zeros(0)
        self.presses = np.zeros(0, bool)

    def forward(self, changed: tuple[Changed, ...]) -> tuple[Array, Array]:
        """Changes of v and r."""
        momentum = changed[0].momentum
        return (self._M.solve(momentum) if momentum.size else momentum), np.zeros((0, momentum.shape[1]))

    def backward(self, on_v: Array, on_r: Array) -> tuple[Changed, ...]:
        """Weights of the changes of the problem."""
        none = np.zeros((0, on_v.shape[1]))
        return (Changed(self._M.solve(on_v) if on_v.size else on_v, none, none, none, none),)


class Solved(Response):
    """A step with one problem."""

    def __init__(self, assembly: Assembly, step: BodyStep, kappa: float):
        (solution,) = step.solves
        problem = solution.problem
        assert isinstance(problem, GlobalProblem)
        self._assembly = assembly
        self._linear = GlobalLinearisation.of(
            problem, solution.v, None, solution.r, solution.u, solution.tolerance, kappa, DOUBT
        )
        self.v, self.r, self.presses = self._linear.v, self._linear.r, self._linear.presses
        self.exists, self.unique = self._linear.exists, self._linear.unique
        self.notes = self._linear.notes

    def forward(self, changed: tuple[Changed, ...]) -> tuple[Array, Array]:
        """Changes of v and r."""
        (one,) = changed
        found = self._linear.forward(
            momentum=one.momentum, velocity=one.velocity, coefficient=one.coefficient, lower=one.lower,
            upper=one.upper,
        )  # fmt: skip
        return found.v, found.r

    def mismatch(self, changed: tuple[Changed, ...]) -> Array:
        """Where impulses are not unique, what they cannot follow."""
        (one,) = changed
        return self._linear.mismatch(
            momentum=one.momentum, velocity=one.velocity, coefficient=one.coefficient, lower=one.lower,
            upper=one.upper,
        )  # fmt: skip

    def backward(self, on_v: Array, on_r: Array) -> tuple[Changed, ...]:
        """Weights of the changes of the problem."""
        found = self._linear.backward(v=on_v, r=on_r)
        return (Changed(found.momentum, found.velocity, found.coefficient, found.lower, found.upper),)
