"""The answer of a step with Poisson's impact: both phases of `schemes/body_poisson.py`, to first order.

Compression gives r^c, and with it the kicks e r_N^c. The expansion is taken in the form it was solved in:
impulses r = base + x with base = r^c, and the kick of those contacts that leave, whose friction is a disc of
known radius; W and the law of x are those of its last pass.
"""

import numpy as np

from stickslip.gradients.moreau_jean_assembly import Assembly, Changed, Middle
from stickslip.gradients.moreau_jean_inputs import changes
from stickslip.gradients.moreau_jean_response import Phase, Response
from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.solution_linear import GlobalLinearisation, ReducedLinearisation
from stickslip.kernels import cones
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.sets import ProductSet
from stickslip.schemes.body_step import BodyStep
from stickslip.state import Array, IntArray, ModelError

KICKED = "restitution acts on impulses of the compression that are not unique: velocities depend on them"
SAME = 1e-6
"""Share of a kick up to which the radius of a disc is that kick."""


class TwoPhases(Response):
    """A step with a compression and an expansion."""

    def __init__(self, assembly: Assembly, step: BodyStep, kappa: float):
        if kappa > 0.0:
            raise ModelError(
                f"kappa is {kappa:g}: Poisson's impact has no smoothed derivative; take kappa = 0, or"
                ' impact="newton"'
            )
        compression, expansion = step.solves
        first, second = compression.problem, expansion.problem
        assert isinstance(first, GlobalProblem)
        assert isinstance(second, GlobalProblem | ContactProblem)
        self._assembly, self._M, self._first = assembly, first.M, first
        nc = len(assembly.contacts)
        self._normals = first.K.offset[:nc]
        self._e = assembly.contacts.law[:, 3]
        # The kicks e r_N are those of the impulses that were found, unique or not.
        found = bool((self._e > 0.0).any())
        self._compression = GlobalLinearisation(
            first, compression.r, np.zeros(0), compression.tolerance, found=found, share=DOUBT
        )
        self._pressed = np.maximum(self._compression.r[self._normals], 0.0)
        self._H = first.H_sparse().toarray()
        self._W = self._H.T @ self._M.solve(self._H)
        self._lay_out(first.K, second.K, nc)
        self._expand(second, expansion.r, expansion.tolerance)
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
        """Where blocks and components of K are in the set of the expansion, and the normals of its discs."""
        number, at = 0, []
        self._block: IntArray = np.zeros(len(K), np.int64)
        split, extra = [], []
        for i in range(len(K)):
            size = int(K.offset[i + 1] - K.offset[i])
            self._block[i] = number
            first = int(wide.offset[number])
            if i < nc and wide.kind[number] == cones.NONNEGATIVE:
                split.append(i)
                extra.append(first + 1)
                at += [first, *range(first + 2, first + 1 + size)]
                number += 2
            else:
                at += range(first, first + size)
                number += 1
        self._at: IntArray = np.array(at, np.int64)
        self._split: IntArray = np.array(split, np.int64)
        self._extra: IntArray = np.array(extra, np.int64)

    def _expand(self, second: GlobalProblem | ContactProblem, x: Array, tolerance: float) -> None:
        assembly, at, extra, split = self._assembly, self._at, self._extra, self._split
        kick = self._e * self._pressed
        f, bias = assembly.base.f[0].real.reshape(-1), self._first.u_bias
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
            # one that left after it had stayed has a disc that grows with what it presses beyond its kick
            grows = np.abs(radius - kick[split]) > SAME * kick.max()
            W[extra[grows], at[self._normals[split[grows]]]] = -self._stiff[grows]
            u_free[extra] = -self._stiff * kick[split]
        self._expansion = ReducedLinearisation(second.K, W, u_free, x, tolerance, share=DOUBT)
        self.presses = self._compression.presses | self._expansion.presses[at]
        self.r = base + self._expansion.r[at]
        self.v = self._M.solve(f + self._H @ self.r)

    def phases(self, at: Middle) -> tuple[Phase, ...]:
        """Compression, whose momenta are those before the forces, and the whole step."""
        f = self._assembly.momenta_before(at)
        return (f, self._compression.v, self._compression.r, 0.0), (at.f, self.v, self.r, 0.0)

    def changed(self, at: Middle, k: int) -> tuple[Changed, ...]:
        """How compression and whole step change, and restitution, as coefficients of a third."""
        e = changes(at.given.law[:, self._assembly.features.pair, 3], k).T
        none = np.zeros((0, k))
        return *super().changed(at, k), Changed(none, none, e, none, none)

    def forward(self, changed: tuple[Changed, ...]) -> tuple[Array, Array]:
        """Changes of v and r."""
        first, whole, restitution = changed
        k, normals, split = first.momentum.shape[1], self._normals, self._split
        base = self._compression.forward(
            momentum=first.momentum, velocity=first.velocity, coefficient=first.coefficient
        ).r
        kick = self._pressed[:, None] * restitution.coefficient + self._e[:, None] * base[normals]
        kick[self._pressed <= 0.0] = 0.0
        base = base.copy()
        base[normals[split]] += kick[split]
        free = self._M.solve(whole.momentum)
        velocity = np.zeros((self._expansion.K.size, k))
        velocity[self._at] = self._H.T @ free + whole.velocity + self._W @ base
        velocity[self._extra] = -self._stiff[:, None] * kick[split]
        lower, upper = (self._wide_bounds(x) for x in (whole.lower, whole.upper))
        dr = base + self._expansion.forward(velocity, whole.coefficient, lower, upper)[self._at]
        return free + self._M.solve(self._H @ dr), dr

    def mismatch(self, changed: tuple[Changed, ...]) -> Array:
        """Of the compression, whose impulses the expansion takes over."""
        first = changed[0]
        return self._compression.mismatch(
            momentum=first.momentum, velocity=first.velocity, coefficient=first.coefficient
        )

    def backward(self, on_v: Array, on_r: Array) -> tuple[Changed, ...]:
        """Weights of the changes of both phases and of restitution."""
        k, normals, split = on_v.shape[1], self._normals, self._split
        momentum = self._M.solve(on_v)
        on_base = on_r + self._H.T @ momentum
        on_x = np.zeros((self._expansion.K.size, k))
        on_x[self._at] = on_base
        wide, coefficient, lower, upper = self._expansion.backward(on_x)
        pulled = wide[self._at]
        momentum = momentum + self._M.solve(self._H @ pulled)
        on_base = on_base + self._W @ pulled
        on_kick = np.zeros((normals.size, k))
        on_kick[split] = on_base[normals[split]] - self._stiff[:, None] * wide[self._extra]
        on_kick[self._pressed <= 0.0] = 0.0
        on_base[normals] += self._e[:, None] * on_kick
        found = self._compression.backward(r=on_base)
        still = np.zeros_like(found.lower)
        none = np.zeros((0, k))
        return (
            Changed(found.momentum, found.velocity, found.coefficient, still, still),
            Changed(momentum, pulled, coefficient, lower[self._block], upper[self._block]),
            Changed(none, none, self._pressed[:, None] * on_kick, none, none),
        )

    def _wide_bounds(self, bound: Array) -> Array:
        wide = np.zeros((len(self._expansion.K), bound.shape[1]))
        wide[self._block] = bound
        return wide
