"""Responses of a step of Moreau-Jean to changes of its contact problems: changes of velocities and
impulses."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from stickslip.gradients.moreau_jean_equations import MoreauJeanEquations, Phase
from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.solution_linear import GlobalLinearisation, ReducedLinearisation
from stickslip.gradients.solution_rows import NONE, Causes, Reduced
from stickslip.kernels import cones
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.sets import ProductSet
from stickslip.problem.solution import Solution
from stickslip.schemes.poisson_expansion import split_set
from stickslip.schemes.step import Step
from stickslip.state import Array, BoolArray, IntArray, ModelError

KICKED = "restitution acts on impulses of the compression that are not unique: velocities depend on them"
SAME = 1e-6
"""Relative difference up to which the radius of a disc is taken to be equal to the kick [-]; heuristic."""


class Changed(NamedTuple):
    """Changes of the residuals of the problems of a step at constant v and r, or weights of such changes."""

    momentum: tuple[Array, ...]
    """Changes of f - M v + H r of each problem [N s, N m s], shape (6 nd, k)."""
    velocity: tuple[Array, ...]
    """Changes of H' v + u_bias of each problem [m/s, rad/s], shape (p, k)."""
    coefficient: Array
    """Changes of the coefficients of friction groups [-, m], shape (ng, k)."""
    bound: Array
    """Changes of the bounds of dry friction, by blocks [N s, N m s], shape (nb, k)."""
    e: Array
    """Changes of the restitution of contacts [-], shape (nc, k)."""


class Response(ABC):
    """Linearised response of a step."""

    v: Array
    """Velocities of the dynamic bodies after the impulses [m/s, rad/s], shape (6 nd,)."""
    r: Array
    """Impulses of the step, contacts first [N s, N m s], shape (p,)."""
    presses: BoolArray
    """Components of all contacts, stops and joints except those that open, away from the border, in every
    problem of the step [-], shape (p,)."""
    exists: bool = True
    unique: bool = True
    notes: tuple[str, ...] = ()
    phases: tuple[Phase, ...]
    """Contact problems of the step, at their solutions."""

    @abstractmethod
    def forward(self, changed: Changed) -> tuple[Array, Array]:
        """Return the changes of v and r, each (size, k)."""

    @abstractmethod
    def backward(self, on_v: Array, on_r: Array) -> Changed:
        """Transpose of `forward`: return weights of the changes of the problems."""

    def mismatch(self, changed: Changed) -> Array:
        """Share of these changes that no impulses can follow, 0 to 1, shape (k,)."""
        return np.zeros(changed.momentum[0].shape[1])


class Untouched(Response):
    """Response of a step without contacts and joints: M v = f."""

    def __init__(self, equations: MoreauJeanEquations):
        self._M, dynamic = equations.bodies.M, equations.bodies.dynamic
        self.v, self.r = equations.middle_base.v_free[0, dynamic].real.reshape(-1), np.zeros(0)
        self.presses, self.phases = np.zeros(0, bool), (Phase(True, self.v, self.r),)

    def forward(self, changed: Changed) -> tuple[Array, Array]:
        """Return the changes of v and r."""
        momentum = changed.momentum[0]
        return (self._M.solve(momentum) if momentum.size else momentum), np.zeros((0, momentum.shape[1]))

    def backward(self, on_v: Array, on_r: Array) -> Changed:
        """Return weights of the changes of the problem."""
        none = np.zeros((0, on_v.shape[1]))
        return Changed((self._M.solve(on_v) if on_v.size else on_v,), (none,), none, none, none)


class Chained(Response):
    """Response of a step with one contact problem, or with an impact in parts (`schemes/body_impacts.py`).

    The impulses of each part change the initial momenta of the following parts; the transpose traverses the
    parts in reverse order. Forces, and bounds of dry friction, act in the last part.
    """

    def __init__(self, step: Step, kappa: float):
        self._linear = [_linearised(solution, kappa) for solution in step.solves]
        last, parts = self._linear[-1], len(self._linear)
        sums = np.cumsum([one.r for one in self._linear], axis=0)
        self._H = last.problem.H_sparse() if parts > 1 else None
        self.v, self.r = last.v, sums[-1]
        self.phases = (
            *(Phase(False, one.v, r, 1.0 - j / parts)
              for j, (one, r) in enumerate(zip(self._linear[:-1], sums[:-1], strict=True), start=1)),
            Phase(True, self.v, self.r),
        )  # fmt: skip
        self.presses = np.any([one.presses for one in self._linear], axis=0)
        self.exists = all(one.exists for one in self._linear)
        self.unique = all(one.unique for one in self._linear)
        self.notes = tuple(
            note if parts == 1 else f"in part {j} of the impact: {note}"
            for j, one in enumerate(self._linear, start=1)
            for note in one.notes
        )

    def forward(self, changed: Changed) -> tuple[Array, Array]:
        """Return the changes of v and r."""
        dr = np.zeros((self.r.size, changed.coefficient.shape[1]))
        for linear, momentum, velocity in zip(self._linear, changed.momentum, changed.velocity, strict=True):
            bound = changed.bound if linear is self._linear[-1] else NONE
            pushed = momentum if self._H is None else momentum + self._H @ dr
            response = linear.forward(Causes(pushed, velocity, NONE, changed.coefficient, -bound, bound))
            dr = dr + response.r
        return response.v, dr

    def mismatch(self, changed: Changed) -> Array:
        """Share of these changes that no impulses can follow, shape (k,); 0 for an impact in parts, where it
        is not computed."""
        if len(self._linear) > 1:
            return super().mismatch(changed)
        bound, (momentum,), (velocity,) = changed.bound, changed.momentum, changed.velocity
        return self._linear[0].mismatch(Causes(momentum, velocity, NONE, changed.coefficient, -bound, bound))

    def backward(self, on_v: Array, on_r: Array) -> Changed:
        """Return weights of the changes of the problems."""
        momentum: list[Array] = []
        velocity: list[Array] = []
        weights: Array | None = on_v
        for linear in reversed(self._linear):
            causes = linear.backward(v=weights, r=on_r)
            if weights is not None:
                bound, coefficient = causes.upper - causes.lower, np.zeros_like(causes.coefficient)
            momentum.insert(0, causes.momentum)
            velocity.insert(0, causes.velocity)
            coefficient, weights = coefficient + causes.coefficient, None
            on_r = on_r if self._H is None else on_r + self._H.T @ causes.momentum
        return Changed(tuple(momentum), tuple(velocity), coefficient, bound, np.zeros((0, on_v.shape[1])))


def _linearised(solution: Solution, kappa: float) -> GlobalLinearisation:
    problem = solution.problem
    assert isinstance(problem, GlobalProblem)
    return GlobalLinearisation(problem, solution.r, tolerance=solution.tolerance, kappa=kappa, share=DOUBT)


class TwoPhases(Response):
    """Response of a step with Poisson's impact: both phases of `schemes/body_impacts.py`.

    The compression gives r^c, and the kicks e r_N^c. The expansion is linearised in the form in which it was
    solved: impulses r = base + x with base = r^c, plus the kick for separating contacts, whose friction is a
    disc of known radius; W and the law of x are those of the last pass.
    """

    def __init__(self, equations: MoreauJeanEquations, step: Step, kappa: float):
        if kappa > 0.0:
            raise ModelError(
                f"kappa is {kappa:g}: Poisson's impact has no smoothed derivative; take kappa = 0, or"
                ' impact="newton"'
            )
        compression, expansion = step.solves
        first, second = compression.problem, expansion.problem
        assert isinstance(first, GlobalProblem)
        assert isinstance(second, GlobalProblem | ContactProblem)
        self._M, nc = first.M, len(equations.contacts)
        self._normals = first.K.offset[:nc]
        self._e = equations.contacts.law[:, 3]
        # 1. Compression. The kicks e r_N depend on the computed impulses, unique or not.
        fixed = bool((self._e > 0.0).any())
        self._compression = GlobalLinearisation(
            first, compression.r, tolerance=compression.tolerance, found=fixed, share=DOUBT
        )
        self._pressed = np.maximum(self._compression.r[self._normals], 0.0)
        self._H = first.H_sparse().toarray()
        self._W = self._H.T @ self._M.solve(self._H)
        # 2. Expansion.
        self._lay_out(first.K, second.K, nc)
        f = equations.middle_base.f[0].real.reshape(-1)
        self._expand(second, expansion.r, expansion.tolerance, f, first.u_bias)
        self.phases = (Phase(False, self._compression.v, self._compression.r), Phase(True, self.v, self.r))
        one, other = self._compression, self._expansion
        kicked = one.varying[self._normals][self._e > 0.0].any()
        self.exists = one.exists and other.exists and not kicked
        self.unique = one.unique and other.unique
        self.notes = (
            *(f"in the compression: {note}" for note in one.notes),
            *(f"in the expansion: {note}" for note in other.notes),
            *((KICKED,) if kicked else ()),
        )

    def _lay_out(self, K: ProductSet, wide: ProductSet, nc: int) -> None:
        """Set the positions of the blocks and components of K in the set of the expansion, and its discs."""
        cone, apart = np.flatnonzero(wide.kind == cones.FRICTION)[:nc], np.zeros(len(K), bool)
        apart[:nc] = (cone > 0) & (wide.kind[cone - 1] == cones.NONNEGATIVE)
        _, self._at, self._extra = split_set(K, apart)
        self._block: IntArray = np.arange(len(K)) + np.cumsum(apart) - apart
        self._split: IntArray = np.flatnonzero(apart)

    def _expand(
        self, second: GlobalProblem | ContactProblem, x: Array, tolerance: float, f: Array, bias: Array
    ) -> None:
        at, extra, split, kick = self._at, self._extra, self._split, self._e * self._pressed
        base = self._compression.r.copy()
        base[self._normals[split]] += kick[split]
        W, u_free = np.zeros((x.size, x.size)), np.zeros(x.size)
        W[np.ix_(at, at)] = self._W
        u_free[at] = self._H.T @ self._M.solve(f + self._H @ base) + bias
        self._stiff = np.zeros(0)
        if isinstance(second, ContactProblem) and extra.size:
            self._stiff = second.W.diagonal()[extra]
            W[extra, extra] = self._stiff
            radius = -second.u_free[extra] / self._stiff
            # the disc of a contact that separated after staying grows with its impulse beyond the kick
            grows = np.abs(radius - kick[split]) > SAME * kick.max()
            W[extra[grows], at[self._normals[split[grows]]]] = -self._stiff[grows]
            u_free[extra] = -self._stiff * kick[split]
        self._expansion = ReducedLinearisation(Reduced(second.K, W, u_free), x, tolerance, share=DOUBT)
        self.presses = self._compression.presses | self._expansion.presses[at]
        self.r = base + self._expansion.r[at]
        self.v = self._M.solve(f + self._H @ self.r)

    def forward(self, changed: Changed) -> tuple[Array, Array]:
        """Return the changes of v and r."""
        (first, momentum), (compressed, velocity) = changed.momentum, changed.velocity
        k, normals, split = first.shape[1], self._normals, self._split
        base = self._compression.forward(Causes(first, compressed, coefficient=changed.coefficient)).r.copy()
        kick = self._pressed[:, None] * changed.e + self._e[:, None] * base[normals]
        kick[self._pressed <= 0.0] = 0.0
        base[normals[split]] += kick[split]
        free = self._M.solve(momentum)
        wide = np.zeros((self._expansion.K.size, k))
        wide[self._at] = self._H.T @ free + velocity + self._W @ base
        wide[self._extra] = -self._stiff[:, None] * kick[split]
        bound = np.zeros((len(self._expansion.K), k))
        bound[self._block] = changed.bound
        causes = Causes(velocity=wide, coefficient=changed.coefficient, lower=-bound, upper=bound)
        dr = base + self._expansion.forward(causes)[self._at]
        return free + self._M.solve(self._H @ dr), dr

    def mismatch(self, changed: Changed) -> Array:
        """Share of these changes that no impulses of the compression can follow, 0 to 1, shape (k,)."""
        return self._compression.mismatch(
            Causes(changed.momentum[0], changed.velocity[0], coefficient=changed.coefficient)
        )

    def backward(self, on_v: Array, on_r: Array) -> Changed:
        """Return weights of the changes of both phases and of restitution."""
        k, normals, split = on_v.shape[1], self._normals, self._split
        momentum = self._M.solve(on_v)
        on_base = on_r + self._H.T @ momentum
        on_x = np.zeros((self._expansion.K.size, k))
        on_x[self._at] = on_base
        expanded = self._expansion.backward(on_x)
        wide, pulled = expanded.velocity, expanded.velocity[self._at]
        momentum = momentum + self._M.solve(self._H @ pulled)
        on_base = on_base + self._W @ pulled
        on_kick = np.zeros((normals.size, k))
        on_kick[split] = on_base[normals[split]] - self._stiff[:, None] * wide[self._extra]
        on_kick[self._pressed <= 0.0] = 0.0
        on_base[normals] += self._e[:, None] * on_kick
        causes = self._compression.backward(r=on_base)
        return Changed(
            (causes.momentum, momentum), (causes.velocity, pulled), causes.coefficient + expanded.coefficient,
            (expanded.upper - expanded.lower)[self._block], self._pressed[:, None] * on_kick,
        )  # fmt: skip
