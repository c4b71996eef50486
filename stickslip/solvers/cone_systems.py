"""Newton matrix of the split problem, factored once per iteration: L D L', L U, or M + H D^-1 H'.

For bodies the scaling gives roots D = R' R (`kernels.roots`), and the matrix is [M B; B' -I] with B = H R^-1.
It does not contain D, and so avoids the square of the condition of R.
"""

import time

import numpy as np

from stickslip.kernels import cone_point as kernels
from stickslip.linalg.bodies import SaddlePattern, body_pattern
from stickslip.linalg.factor import CholeskyFactor, FactorFailure, QuasiDefiniteFactor, Regularisation
from stickslip.linalg.symbolic import analyse
from stickslip.problem.checks import Array, ProblemError, frozen
from stickslip.problem.jacobian import ContactBlocks
from stickslip.solvers.cone_motion import BodyMotion, Motion, SparseMotion

FACTORS = ("ldl", "lu", "cholesky")
STATIC = 1e-13
"""Relative regularisation of pivots; FREE_STATIC with free blocks, whose D is zero."""
FREE_STATIC = 1e-10
ROUNDED = 1e-14
"""Backward error up to which one step of iterative refinement is sufficient."""
REFINEMENTS = 5
"""Largest number of refinement steps of a solve."""
GOOD = 1e-14
"""Relative residual of a solve at which refinement stops."""


class System:
    """Factors and solves the Newton systems of one form."""

    def __init__(self, form: Motion, kind: str, fallback: bool = True):
        """`fallback`: whether SuperLU, up to a hundred times slower, replaces a failed `BlockLU`."""
        if kind == "cholesky" and not isinstance(form, BodyMotion):
            raise ProblemError("ipm: factor='cholesky' needs H as contact blocks and M as body blocks")
        free = bool((np.diff(form.split.cone_start) == 0).any())
        if kind == "cholesky" and free:
            kind = "ldl"  # free blocks have D = 0, which has no inverse
        self.form, self.kind = form, kind
        self.rooted = isinstance(form, BodyMotion) and kind != "lu" and not free
        """Whether `factor` takes the roots R of D instead of D."""
        self.seconds = 0.0
        """Time spent in factorisations and solves [s]."""
        self.operations = 0.0
        """Approximate number of multiplications of all factorisations."""
        self._nv = form.f.size
        self._order = form.order if isinstance(form, SparseMotion) else None
        if kind == "lu":
            self._values, self._lu = form.rows(fallback)
        elif kind == "ldl":
            places = form.positions if isinstance(form, BodyMotion) else None
            pattern, minus = form.matrix.pattern, None
            if form.saddle:
                minus = np.arange(pattern.widths.size) >= pattern.widths.size - form.split.block.size
            self._symbolic = analyse(pattern, negative=minus, positions=places)
            self._rule = Regularisation(static=FREE_STATIC if free else STATIC, least=1e-16)
            if self.rooted:
                self._rule = Regularisation(static=0.0, least=0.0)  # -I, then a positive definite rest
            self._ldl: QuasiDefiniteFactor | None = None
        else:
            assert isinstance(form, BodyMotion)
            self._bodies = body_pattern(form.H.bodies, form.M.shape[0], form.M.shape[1])
            self._symbolic = analyse(self._bodies, positions=form.positions)
            self._cholesky: CholeskyFactor | None = None

    def factor(self, D: Array) -> str:
        """Factor with the blocks D, or their roots if `rooted`; return the reason of a failure, or ""."""
        start = time.perf_counter()
        try:
            if self.rooted:
                self._divide(D)
            return getattr(self, "_factor_" + self.kind)(D)  # type: ignore[no-any-return]
        except FactorFailure as failure:
            return f"the Newton matrix cannot be factored: {failure}"
        finally:
            self.seconds += time.perf_counter() - start

    def sign(self) -> float:
        """Return the sign of the determinant of the factored matrix: 1 or -1; 0 if unknown (all but L U)."""
        return self._lu.sign() if self.kind == "lu" else 0.0

    def solve(self, b_v: Array, b_r: Array) -> tuple[Array, Array]:
        """Return dv and dr; NaN if the system has no solution."""
        start = time.perf_counter()
        if self.rooted:
            b_r = self._divided(b_r, True)
        if self.kind == "cholesky":
            dv, x = self._refined(b_v, b_r)
        else:
            b = np.concatenate([b_v, b_r]) if self._nv else b_r
            if self._order is not None:
                b = b[self._order]
            if self.kind == "lu":
                x_lu = self._lu.solve(b)
                solved = np.full(b.size, np.nan) if x_lu is None else x_lu
            else:
                assert self._ldl is not None
                solved = self._ldl.solve(b, refinements=1)
                if self._ldl.backward_error > ROUNDED:  # late iterations
                    solved = self._ldl.solve(b, refinements=REFINEMENTS)
            if self._order is not None:
                back = np.empty_like(solved)
                back[self._order] = solved
                solved = back
            dv, x = solved[: self._nv], solved[self._nv :]
        if self.rooted:
            x = self._divided(x, False)
        self.seconds += time.perf_counter() - start
        return dv, -x if self.form.saddle else x

    def _divide(self, R: Array) -> None:
        """Compute B = H R^-1."""
        form = self.form
        assert isinstance(form, BodyMotion)
        self._R = R
        rows = self._divided(form.H.rows, True)
        self._B = ContactBlocks(form.H.bodies, frozen(rows), form.H.offset)

    def _divided(self, x: Array, transposed: bool) -> Array:
        """Return R^-T x if transposed, otherwise R^-1 x; x are vectors (n,) or rows (n, 2, k)."""
        out, n = np.empty_like(x), x.shape[0]
        width = x.size // max(n, 1)
        kernels.divide_roots(
            self.form.split.offset, self._R, x.reshape(n, width), transposed, out.reshape(n, width)
        )
        return out

    def _factor_lu(self, D: Array) -> str:
        if not self._lu.refactor(self._values(D)):
            return "the Newton matrix is singular"
        self.operations += self._lu.operations
        return ""

    def _factor_ldl(self, D: Array) -> str:
        form = self.form
        if self.rooted:
            assert isinstance(form, BodyMotion)
            assert isinstance(form.matrix.pattern, SaddlePattern)
            values = form.matrix.pattern.values(form.M, self._B, 1.0)
        else:
            values = form.values(D)
        if self._ldl is None:
            self._ldl = self._symbolic.quasi_definite(values, regularisation=self._rule)
        else:
            self._ldl.refactor(values)
        self.operations += self._symbolic.flops
        if self._ldl.replaced:
            wrong, nv, n = self._ldl.replaced, self._nv, self.form.split.kept.size
            return (
                f"wrong inertia: {wrong} pivots have not the sign of the {nv} positive and {n} negative ones"
            )
        return ""

    def _factor_cholesky(self, D: Array) -> str:
        form = self.form
        assert isinstance(form, BodyMotion)
        values = self._bodies.values(form.M, self._B, 1.0)
        if self._cholesky is None:
            self._cholesky = self._symbolic.cholesky(values, singular=0.0)
        else:
            self._cholesky.refactor(values)
        self.operations += self._symbolic.flops
        return ""

    def _refined(self, b_v: Array, b_r: Array) -> tuple[Array, Array]:
        """Return dv and x of [M B; B' -I], with iterative refinement on that matrix."""
        dv, x = self._eliminated(b_v, b_r)
        rest_v, rest_r, error = self._rest(b_v, b_r, dv, x)
        for _ in range(REFINEMENTS):
            if not error > GOOD:
                break
            delta_v, delta = self._eliminated(rest_v, rest_r)
            trial = self._rest(b_v, b_r, dv + delta_v, x + delta)
            if not trial[2] < error:
                break
            dv, x, (rest_v, rest_r, error) = dv + delta_v, x + delta, trial
        return dv, x

    def _eliminated(self, b_v: Array, b_r: Array) -> tuple[Array, Array]:
        """Solve by eliminating x = B' dv - b_r: (M + B B') dv = b_v + B b_r."""
        form = self.form
        assert isinstance(form, BodyMotion)
        assert self._cholesky is not None
        count, k, _ = form.M.shape
        dv = self._cholesky.solve(b_v + self._B.impulses(b_r, count).reshape(-1))
        return dv, self._B.velocities(dv.reshape(count, k), -b_r)

    def _rest(self, b_v: Array, b_r: Array, dv: Array, x: Array) -> tuple[Array, Array, float]:
        form = self.form
        assert isinstance(form, BodyMotion)
        count, k, _ = form.M.shape
        momentum, speed = form.mass(dv), self._B.velocities(dv.reshape(count, k), np.zeros_like(b_r))
        rest_v = b_v - momentum - self._B.impulses(x, count).reshape(-1)
        rest_r = b_r - speed + x
        sizes = _norm(b_v) + _norm(momentum), _norm(b_r) + _norm(speed) + _norm(x)
        error = max(_norm(rest_v) / max(sizes[0], 1e-300), _norm(rest_r) / max(sizes[1], 1e-300))
        return rest_v, rest_r, error if np.isfinite(error) else np.inf


def _norm(x: Array) -> float:
    return float(np.abs(x).max(initial=0.0))
