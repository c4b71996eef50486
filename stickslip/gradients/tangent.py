"""Linearised equations of a step in velocities and impulses, and the derivative that follows from them.

    A dv - B dr = m,    du = C dv + D dr + w,    and the law between u and r to first order,

where m and w are the changes of the residuals due to the inputs. Elimination of dv gives a linearised contact
problem with W = C A⁻¹ B + D, which `solution_linear.py` solves.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.gradients.derivative import EffectsDerivative, flat_change, size_of
from stickslip.gradients.solution_linear import ReducedLinearisation
from stickslip.gradients.solution_rows import Causes
from stickslip.schemes.step import Step
from stickslip.state import Array, IntArray

SETS = ("coefficient", "lower", "upper")
"""Data of the set of impulses that depend on inputs."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """Equations of a step, linearised in v⁺ and r."""

    v: Array
    """Velocities at the end [m/s, rad/s], shape (nv,)."""
    r: Array
    """Impulses of the active blocks [N s, N m s], shape (n,)."""
    A: Array
    """Derivative of the momentum balance by v⁺ [kg, kg m²], shape (nv, nv)."""
    B: Array
    """Derivative of the momentum by r [-, m], shape (nv, n)."""
    C: Array
    """Derivative of the law variable u by v⁺ [-, m], shape (n, nv)."""
    end: Array
    """Derivative of q⁺ by v⁺ [s], shape (nq, nv)."""
    core: ReducedLinearisation | None
    """Linearised contact problem; None without active blocks."""
    rows: dict[str, slice]
    """Rows of each part of the equations."""
    missed: str = ""
    """Why the smoothed step was not found; empty if it was found."""

    @property
    def size(self) -> int:
        """Number of rows."""
        return max(where.stop for where in self.rows.values())

    def answered(self, given: Causes) -> tuple[Array, Array]:
        """Return the changes dr and dv."""
        start = np.asarray(np.linalg.solve(self.A, given.momentum), float)
        if self.core is None:
            return np.zeros((0, start.shape[1])), start
        dr = self.core.forward(given._replace(velocity=self.C @ start + given.velocity))
        return dr, np.asarray(start + np.linalg.solve(self.A, self.B @ dr), float)

    def weighed(self, on_v: Array, on_r: Array) -> Causes:
        """Transpose of `answered`: return weights of the causes, for weights of dv and dr."""
        direct = np.asarray(np.linalg.solve(self.A.T, on_v), float)
        if self.core is None:
            return Causes(direct)
        weights = self.core.backward(on_r + self.B.T @ direct)
        indirect = np.linalg.solve(self.A.T, self.C.T @ weights.velocity)
        return weights._replace(momentum=np.asarray(direct + indirect, float))


class TangentDerivative(EffectsDerivative):
    """Derivative of a step by its `Tangent`."""

    step: Step
    """The differentiated step."""
    _tangent: Tangent
    _keep: IntArray
    """Positions of the active impulses in `r` [-], shape (n,)."""
    _carried: tuple[str, ...]
    """Names of the variables that the next step takes over, besides q and v."""

    def _answered(self, effects: Array) -> dict[str, Array]:
        tangent, part = self._tangent, self._parts(effects)
        dr, dv = tangent.answered(
            Causes(-part["balance"], part["law"], **{name: part[name] for name in SETS})
        )
        r = np.zeros((size_of(self.of["r"]), dv.shape[1]))
        r[self._keep] = dr
        out = {"q": part["q"] + tangent.end @ dv, "v": dv, "r": r}
        return out | {name: part[name] for name in self._carried}

    def _parts(self, effects: Array) -> dict[str, Array]:
        return {name: effects[where] for name, where in self._tangent.rows.items()}

    def _weighed(self, cotangents: Mapping[str, Array], k: int) -> Array:
        tangent = self._tangent
        on_v = cotangents["v"] + tangent.end.T @ cotangents["q"]
        causes = tangent.weighed(on_v, cotangents["r"][self._keep])
        weights = np.zeros((tangent.size, k))
        weights[tangent.rows["balance"]] = -causes.momentum
        if tangent.core is not None:
            weights[tangent.rows["law"]] = causes.velocity
            for name in SETS:
                weights[tangent.rows[name]] = getattr(causes, name)
        for name in ("q", *self._carried):
            weights[tangent.rows[name]] += cotangents[name]
        return weights

    def mismatch(self, **tangents: Any) -> float:
        """Share of these changes that no change of impulses can follow, 0 to 1; 0 if impulses are unique."""
        tangent = self._tangent
        if tangent.core is None or tangent.core.unique:
            return 0.0
        changes = {name: flat_change("by", self.by, name, value) for name, value in tangents.items()}
        effects = self._effects(changes)
        part = self._parts(np.asarray(sum(effects[name] @ change for name, change in changes.items())))
        pulled = part["law"] - tangent.C @ np.linalg.solve(tangent.A, part["balance"])
        changed = Causes(velocity=pulled, **{name: part[name] for name in SETS})
        return float(tangent.core.mismatch(changed).max(initial=0.0))
