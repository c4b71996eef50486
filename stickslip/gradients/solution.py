"""Derivatives of the solution of a contact problem, by the implicit function theorem.

    derivative = solution_derivative(solution)
    derivative.jacobian("r", "u_free")          dr / du_free, a matrix
    derivative.jvp(mu=dmu)["v"]                 how v changes when mu changes by dmu
    derivative.vjp(u=weights)["W"]              gradient of weights·u by W

With kappa = 0 the derivative is exact: the cases open, sticking and slipping are determined from the
solution.
With kappa > 0 [J, an impulse times a velocity] it is the derivative of the smoothed solution, the point of
the
central path at that kappa (`solution_smooth.py`); `r`, `u` (and `v`, `lam`) of the derivative are then that
point. It tends to the exact derivative as kappa decreases.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.gradients.derivative import Derivative, flat_change
from stickslip.gradients.solution_factor import DENSE
from stickslip.gradients.solution_linear import GlobalLinearisation, ReducedLinearisation
from stickslip.gradients.solution_rows import Causes, Reduced
from stickslip.kernels import cones
from stickslip.problem.box import BoxProblem
from stickslip.problem.checks import flat
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.operator import DenseDelassus
from stickslip.problem.sets import ProductSet, interval
from stickslip.problem.solution import Solution
from stickslip.state import Array, ModelError
from stickslip.threads import single_threaded

GROUP_NAMES: dict[tuple[int, ...], tuple[str, ...]] = {
    (1,): ("mu",),
    (2,): ("mu",),
    (2, 2): ("mu", "mu_roll"),
    (2, 1): ("mu", "mu_spin"),
    (2, 2, 1): ("mu", "mu_roll", "mu_spin"),
}
"""Names of the coefficients of a friction cone, by the sizes of its groups. For other sizes the first is mu;
`coefficient` contains all coefficients in any case."""


class SolutionDerivative(Derivative):
    """Derivative of the solution of a problem with respect to its data.

    Inputs `by`:

    - of a ContactProblem: W (n, n), u_free (n,);
    - of a GlobalProblem: M as stored, (nv, nv) or (bodies, k, k), f (nv,), H (nv, n), u_bias (n,), G (nv, p),
      g_bias (p,);
    - of a BoxProblem: A, b;
    - of all: `coefficient` (ng,), one for each friction group, and the same coefficients by block as mu,
      mu_roll, mu_spin (nb,), where such groups exist; lower and upper (nb,) where intervals have finite
      bounds; e (nb,) where `u_before` was given.

    Outputs `of`: r (n,), u (n,), of a GlobalProblem also v (nv,) and lam (p,); of a BoxProblem z and w.
    """

    solution: Solution
    """The differentiated solution."""
    r: Array
    """Impulses at which the derivative is taken: the solution refined to rounding, or the smoothed solution
    [N s], shape (n,)."""
    u: Array
    """Contact velocities at these impulses [m/s], shape (n,)."""

    def __init__(self, solution: Solution, K: ProductSet, kappa: float, u_before: Array | None):
        self.solution, self.kappa, self._K = solution, kappa, K
        self._groups = named_groups(K)
        limited = K.kind == cones.INTERVAL
        self._bounded = {
            name: (limited & np.isfinite(bound))[:, None]
            for name, bound in (("lower", K.lower), ("upper", K.upper))
        }
        self._approach = None if u_before is None else _approach(K, u_before)

    def mismatch(self, **tangents: Any) -> float:
        """Return the share of these changes that no change of impulses can follow, 0 to 1.

        It is 0 if impulses are unique. Otherwise contacts are redundant: a change that would open one of them
        has no derivative, `jvp` returns the nearest change that keeps all closed, and the share is not 0.
        """
        changes = {name: flat_change("by", self.by, name, value) for name, value in tangents.items()}
        return float(self._mismatch(changes).max(initial=0.0))

    @abstractmethod
    def _mismatch(self, tangents: Mapping[str, Array]) -> Array: ...

    def _law_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the inputs that belong to laws."""
        K = self._K
        shapes: dict[str, tuple[int, ...]] = {name: (len(K),) for name in self._groups}
        if K.coefficient.size:
            shapes["coefficient"] = K.coefficient.shape
        shapes |= {name: (len(K),) for name, has in self._bounded.items() if has.any()}
        if self._approach is not None:
            shapes["e"] = (len(K),)
        return shapes

    def _law_changes(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Return the changes of coefficients and bounds, as fields of `Causes`."""
        changes = {name: tangents[name] * has for name, has in self._bounded.items() if name in tangents}
        named = [name for name in self._groups if name in tangents]
        if named or "coefficient" in tangents:
            change = np.zeros((self._K.coefficient.size, _columns(tangents)))
            change += tangents.get("coefficient", 0.0)
            for name in named:
                block, group = self._groups[name]
                change[group] += tangents[name][block]
            changes["coefficient"] = change
        return changes

    def _bounce(self, e: Array) -> Array:
        """Return the changes of the prescribed part of u for changes of e, shape (n, k)."""
        assert self._approach is not None
        out = np.zeros((self._K.size, e.shape[1]))
        out[self._K.offset[:-1]] = self._approach[:, None] * e
        return out

    def _law_weights(self, names: Iterable[str], causes: Causes) -> dict[str, Array]:
        """Return the weights of the inputs that belong to laws."""
        out: dict[str, Array] = {}
        for name in names:
            if name == "coefficient":
                out[name] = causes.coefficient
            elif name in self._groups:
                block, group = self._groups[name]
                out[name] = np.zeros((len(self._K), causes.coefficient.shape[1]))
                out[name][block] = causes.coefficient[group]
            elif name == "e":
                assert self._approach is not None
                out[name] = self._approach[:, None] * causes.velocity[self._K.offset[:-1]]
            elif name in self._bounded:
                out[name] = getattr(causes, name) * self._bounded[name]
        return out


class ContactSolutionDerivative(SolutionDerivative):
    """Derivative of the solution of u = W r + u_free, or of a box problem with its own names."""

    def __init__(
        self, solution: Solution, problem: Reduced, names: tuple[str, str, str, str], kappa: float,
        tolerance: float, u_before: Array | None,
    ):  # fmt: skip
        """names: names of the matrix, the constant term, and both outputs."""
        super().__init__(solution, problem.K, kappa, u_before)
        self._names, n = names, problem.K.size
        core = self._core = ReducedLinearisation(problem, solution.r, tolerance, kappa)
        self.r, self.u = core.r, core.u
        self.exists, self.unique, self.notes = core.exists, core.unique, core.notes
        self.by = {names[0]: (n, n), names[1]: (n,), **self._law_shapes()}
        self.of = {names[2]: (n,), names[3]: (n,)}

    @single_threaded
    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Return the changes of r and u, each (n, k), for changes of the data."""
        velocity = self._velocity(tangents)
        dr = self._core.forward(Causes(velocity=velocity, **self._law_changes(tangents)))
        return {self._names[2]: dr, self._names[3]: self._core.W @ dr + velocity}

    def _mismatch(self, tangents: Mapping[str, Array]) -> Array:
        return self._core.mismatch(Causes(velocity=self._velocity(tangents), **self._law_changes(tangents)))

    def _velocity(self, tangents: Mapping[str, Array]) -> Array:
        """Return the change of u at constant r, shape (n, k)."""
        matrix, constant = self._names[:2]
        velocity = np.zeros((self._K.size, _columns(tangents)))
        if constant in tangents:
            velocity += tangents[constant]
        if matrix in tangents:
            velocity += _times(tangents[matrix], self.r)
        if "e" in tangents:
            velocity += self._bounce(tangents["e"])
        return velocity

    @single_threaded
    def backward(self, cotangents: Mapping[str, Array], by: Iterable[str]) -> dict[str, Array]:
        """Return the weights of the data, each (size, k), for weights of r and u."""
        matrix, constant, impulse, result = self._names
        inputs = tuple(by)
        zero = np.zeros((self._K.size, _columns(cotangents)))
        on_r, on_u = cotangents.get(impulse, zero), cotangents.get(result, zero)
        causes = self._core.backward(on_r + self._core.W.T @ on_u)
        causes = causes._replace(velocity=causes.velocity + on_u)
        out = self._law_weights(inputs, causes)
        if constant in inputs:
            out[constant] = causes.velocity
        if matrix in inputs:
            out[matrix] = _outer(causes.velocity, self.r)
        return out


class GlobalSolutionDerivative(SolutionDerivative):
    """Derivative of the solution of M v = f + H r + G lam, u = H'v + u_bias, G'v + g_bias = 0."""

    def __init__(self, solution: Solution, kappa: float, tolerance: float, u_before: Array | None):
        problem = solution.problem
        assert isinstance(problem, GlobalProblem)
        super().__init__(solution, problem.K, kappa, u_before)
        self.linearisation = line = GlobalLinearisation(problem, solution.r, solution.lam, tolerance, kappa)
        self.r, self.u, self.v, self.lam = line.r, line.u, line.v, line.lam
        self.exists, self.unique, self.notes = line.exists, line.unique, line.notes
        self._blocks = problem.M.matrix.shape if problem.M.is_body_blocks else None
        nv, n, p = problem.M.size, problem.size, problem.g_bias.size
        joints = {"G": (nv, p), "g_bias": (p,)} if p else {}
        data = {"M": self._blocks or (nv, nv), "f": (nv,), "H": (nv, n), "u_bias": (n,)}
        self.by = {**data, **joints, **self._law_shapes()}
        self.of = {"r": (n,), "u": (n,), "v": (nv,), **({"lam": (p,)} if p else {})}

    @single_threaded
    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Return the changes of r, u, v and lam, each (size, k), for changes of the data."""
        change = self.linearisation.forward(self._causes(tangents))
        out = {"r": change.r, "u": change.u, "v": change.v, "lam": change.lam}
        return {name: out[name] for name in self.of}

    def _mismatch(self, tangents: Mapping[str, Array]) -> Array:
        return self.linearisation.mismatch(self._causes(tangents))

    def _causes(self, tangents: Mapping[str, Array]) -> Causes:
        """Return the changes of the residuals at the solution, for changes of the data."""
        k = _columns(tangents)
        momentum, velocity = np.zeros((self.v.size, k)), np.zeros((self.r.size, k))
        joint = np.zeros((self.lam.size, k))
        if "f" in tangents:
            momentum += tangents["f"]
        if "M" in tangents:
            momentum -= self._mass_times(tangents["M"])
        if "H" in tangents:
            momentum += _times(tangents["H"], self.r)
            velocity += _times_transposed(tangents["H"], self.v)
        if "G" in tangents:
            momentum += _times(tangents["G"], self.lam)
            joint += _times_transposed(tangents["G"], self.v)
        if "u_bias" in tangents:
            velocity += tangents["u_bias"]
        if "g_bias" in tangents:
            joint += tangents["g_bias"]
        if "e" in tangents:
            velocity += self._bounce(tangents["e"])
        return Causes(momentum, velocity, joint, **self._law_changes(tangents))

    @single_threaded
    def backward(self, cotangents: Mapping[str, Array], by: Iterable[str]) -> dict[str, Array]:
        """Return the weights of the data, each (size, k), for weights of r, u, v and lam."""
        inputs = tuple(by)
        cause = self.linearisation.backward(**cotangents)
        weights: dict[str, Callable[[], Array]] = {
            "f": lambda: cause.momentum,
            "M": lambda: self._mass_weights(cause.momentum),
            "H": lambda: _outer(cause.momentum, self.r) + _outer_first(self.v, cause.velocity),
            "G": lambda: _outer(cause.momentum, self.lam) + _outer_first(self.v, cause.joint),
            "u_bias": lambda: cause.velocity,
            "g_bias": lambda: cause.joint,
        }
        return {name: make() for name, make in weights.items() if name in inputs} | self._law_weights(
            inputs, cause
        )

    def _mass_times(self, change: Array) -> Array:
        """dM v, shape (nv, k)."""
        if self._blocks is None:
            return _times(change, self.v)
        bodies, m, _ = self._blocks
        blocks = change.reshape(bodies, m, m, -1)
        return np.einsum("bijk,bj->bik", blocks, self.v.reshape(bodies, m)).reshape(self.v.size, -1)

    def _mass_weights(self, momentum: Array) -> Array:
        if self._blocks is None:
            return -_outer(momentum, self.v)
        bodies, m, _ = self._blocks
        pushed = momentum.reshape(bodies, m, -1)
        out = -np.einsum("bik,bj->bijk", pushed, self.v.reshape(bodies, m))
        return out.reshape(bodies * m * m, -1)


@single_threaded
def solution_derivative(
    solution: Solution, *, kappa: float = 0.0, tolerance: float | None = None,
    u_before: ArrayLike | None = None,
) -> SolutionDerivative:  # fmt: skip
    """Return the derivative of a certified solution, exact (kappa = 0) or smoothed at `kappa` [J].

    tolerance   accuracy of the solution, by default the tolerance of the solver; cases that are closer than
                ten times this value count as kinks
    u_before    normal velocities before the impact [m/s], shape (nb,), for derivatives by the restitution e
    of
                each block; u_free or u_bias must contain e min(u_before, 0), Newton's law
    """
    problem = solution.problem
    if not isinstance(problem, ContactProblem | GlobalProblem | BoxProblem):
        raise ModelError(
            f"no derivative of the solution of a {type(problem).__name__}; it exists for ContactProblem,"
            " GlobalProblem and BoxProblem"
        )
    if not solution.ok:
        raise ModelError(
            f"the solution has status {solution.status.name} ({solution.reason or solution.status.value});"
            " only a certified one can be differentiated: solve it with another solver or a larger tolerance"
        )
    kappa = float(kappa)
    if not (0.0 <= kappa < np.inf):
        raise ModelError(f"kappa is {kappa}; give 0 for the exact derivative, or a positive energy [J]")
    accuracy = solution.tolerance if tolerance is None else float(tolerance)
    if not 0.0 < accuracy < 1.0:
        raise ModelError(f"tolerance is {accuracy}; it must lie between 0 and 1")
    if isinstance(problem, BoxProblem):
        if u_before is not None:
            raise ModelError("u_before needs contacts, and a BoxProblem has none")
        A = problem.A if isinstance(problem.A, np.ndarray) or problem.size > DENSE else problem.A.toarray()
        K = interval(problem.lower, problem.upper)
        reduced, names = Reduced(K, A, problem.b), ("A", "b", "z", "w")
        return ContactSolutionDerivative(solution, reduced, names, kappa, accuracy, None)
    before = None if u_before is None else _velocities_before(problem.K, u_before)
    if isinstance(problem, GlobalProblem):
        return GlobalSolutionDerivative(solution, kappa, accuracy, before)
    dense = isinstance(problem.W, DenseDelassus) or problem.size <= DENSE
    W = problem.W.dense() if dense else problem.W.blocks(problem.K).sparse()
    reduced, names = Reduced(problem.K, W, problem.u_free), ("W", "u_free", "r", "u")
    return ContactSolutionDerivative(solution, reduced, names, kappa, accuracy, before)


def _velocities_before(K: ProductSet, given: ArrayLike) -> Array:
    value = flat("u_before", given, len(K), "the normal velocity of each block")
    if not np.isfinite(value).all():
        raise ModelError("u_before is not finite")
    return value


def _approach(K: ProductSet, before: Array) -> Array:
    """Derivative of the prescribed u_N by e of each block: min(u_before, 0) for contacts [m/s], shape
    (nb,)."""
    contact = (K.kind == cones.FRICTION) | (K.kind == cones.NONNEGATIVE)
    return np.where(contact, np.minimum(before, 0.0), 0.0)


def named_groups(K: ProductSet) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Return, for each name of a coefficient, the blocks that have it and the corresponding groups."""
    members: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
    for groups, blocks in K.families().items():
        for place, name in enumerate(GROUP_NAMES.get(groups, ("mu",)) if groups else ()):
            members.setdefault(name, []).append((blocks, K.group_offset[blocks] + place))
    return {
        name: (np.concatenate([b for b, _ in parts]), np.concatenate([g for _, g in parts]))
        for name, parts in members.items()
    }


def _columns(given: Mapping[str, Array]) -> int:
    return next((x.shape[1] for x in given.values()), 1)


def _times(change: Array, x: Array) -> Array:
    """Return dA x, shape (rows, k), for changes of A, flat, shape (rows * x.size, k)."""
    return np.einsum("ijk,j->ik", change.reshape(_rows(change, x), x.size, change.shape[1]), x)


def _rows(change: Array, x: Array) -> int:
    return change.shape[0] // x.size if x.size else 0


def _times_transposed(change: Array, x: Array) -> Array:
    """Return dA'x, shape (columns, k), for changes of A, flat, shape (x.size * columns, k)."""
    return np.einsum("ijk,i->jk", change.reshape(x.size, _rows(change, x), change.shape[1]), x)


def _outer(a: Array, x: Array) -> Array:
    """Return a x', flat, for each column of a, shape (rows * x.size, k)."""
    return (a[:, None, :] * x[:, None]).reshape(a.shape[0] * x.size, a.shape[1])


def _outer_first(x: Array, a: Array) -> Array:
    """Return x a', flat, for each column of a, shape (x.size * rows, k)."""
    return (x[:, None, None] * a).reshape(x.size * a.shape[0], a.shape[1])
