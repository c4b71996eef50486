"""Equations of a step to first order in its velocities and impulses, and the derivative that follows.

    A dv - B dr = m,    du = C dv + D dr + w,    and the law between u and r to first order,

with m and w what the inputs change by themselves. With dv eliminated that is a contact problem to first
order, W = C A⁻¹ B + D, and `solution_linear.py` knows what follows.
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
"""What of the set of the impulses changes with inputs."""


@dataclass(frozen=True, eq=False)
class Tangent:
    """The equations of a step to first order in v⁺ and r."""

    v: Array
    """Velocities at the end [m/s, rad/s], shape (nv,)."""
    r: Array
    """Impulses of the blocks that take part [N s, N m s], shape (n,)."""
    A: Array
    """[kg, kg m²], shape (nv, nv)."""
    B: Array
    """[-, m], shape (nv, n)."""
    C: Array
    """[-, m], shape (n, nv)."""
    end: Array
    """How q⁺ changes with v⁺ [s], shape (nq, nv)."""
    core: ReducedLinearisation | None
    """None where no block takes part."""
    rows: dict[str, slice]
    """Where the parts of the equations stand among their rows."""
    missed: str = ""

    @property
    def size(self) -> int:
        """Number of rows."""
        return max(where.stop for where in self.rows.values())

    def answered(self, given: Causes) -> tuple[Array, Array]:
        """dr and dv."""
        start = np.asarray(np.linalg.solve(self.A, given.momentum), float)
        if self.core is None:
            return np.zeros((0, start.shape[1])), start
        dr = self.core.forward(given._replace(velocity=self.C @ start + given.velocity))
        return dr, np.asarray(start + np.linalg.solve(self.A, self.B @ dr), float)

    def weighed(self, on_v: Array, on_r: Array) -> Causes:
        """The transpose: weights of what changes."""
        direct = np.asarray(np.linalg.solve(self.A.T, on_v), float)
        if self.core is None:
            return Causes(direct)
        found = self.core.backward(on_r + self.B.T @ direct)
        more = np.linalg.solve(self.A.T, self.C.T @ found.velocity)
        return found._replace(momentum=np.asarray(direct + more, float))


class TangentDerivative(EffectsDerivative):
    """The derivative of a step whose equations are known to first order."""

    step: Step
    """The step itself."""
    _tangent: Tangent
    _keep: IntArray
    """Where the impulses that take part stand among all of `r` [-], shape (n,)."""
    _carried: tuple[str, ...]
    """What is carried to the next step beside q and v."""

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
        found = tangent.weighed(on_v, cotangents["r"][self._keep])
        weights = np.zeros((tangent.size, k))
        weights[tangent.rows["balance"]] = -found.momentum
        if tangent.core is not None:
            weights[tangent.rows["law"]] = found.velocity
            for name in SETS:
                weights[tangent.rows[name]] = getattr(found, name)
        for name in ("q", *self._carried):
            weights[tangent.rows[name]] += cotangents[name]
        return weights

    def mismatch(self, **tangents: Any) -> float:
        """How much of these changes no change of impulses can follow, 0 to 1; 0 where impulses are unique."""
        tangent = self._tangent
        if tangent.core is None or tangent.core.unique:
            return 0.0
        given = {name: flat_change("by", self.by, name, value) for name, value in tangents.items()}
        made = self._effects(given)
        part = self._parts(np.asarray(sum(made[name] @ change for name, change in given.items())))
        pulled = part["law"] - tangent.C @ np.linalg.solve(tangent.A, part["balance"])
        changed = Causes(velocity=pulled, **{name: part[name] for name in SETS})
        return float(tangent.core.mismatch(changed).max(initial=0.0))
