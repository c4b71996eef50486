"""Equations of a step of the variational scheme on systems (`schemes/variational_written.py`).

    R(v⁺) - H(q_k) r = 0,    gaps and joints of q_{k+1} over h, less the bounce, and H_T(q_k)' v⁺

Exact derivatives have the active blocks of the step; all others must be open. Smoothed derivatives have all
blocks, because with kappa > 0 contacts have impulses at positive gaps.
"""

from functools import cached_property

import numpy as np

from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.system_equations import NEAR, Inputs, StepEquations, Written
from stickslip.kernels import cones
from stickslip.problem.checks import IntArray
from stickslip.problem.sets import ProductSet
from stickslip.schemes.variational_written import Known, Variational
from stickslip.schemes.variational_written_ties import Output, Tie
from stickslip.state import Array, BoolArray, ModelError


class VariationalEquations(StepEquations):
    """Equations of one variational step; `every`: with all blocks, not only the active ones."""

    def __init__(self, scheme: Variational, made: Written, every: bool = False):
        self._every = every
        super().__init__(made)
        self.scheme = scheme
        if scheme.contact == "pyramid":
            raise ModelError(
                "steps of systems with the pyramid have no derivative; take contact='cone', or a world"
            )
        self._bare = scheme.contact == "impact"

    @cached_property
    def on(self) -> IntArray:
        return np.arange(self.system.blocks) if self._every else np.flatnonzero(self.made.step.active)

    @cached_property
    def keep(self) -> IntArray:
        if not self._bare:
            return super().keep
        K = self.whole
        ends = [K.offset[i] + 1 if K.kind[i] == cones.FRICTION else K.offset[i + 1] for i in self.on]
        parts = [np.arange(K.offset[i], end) for i, end in zip(self.on, ends, strict=True)]
        return np.concatenate([np.arange(0), *parts])

    def bounds(self, x: Inputs) -> ProductSet:
        K = super().bounds(x)
        return _without_friction(K) if self._bare else K

    def weight(self, x: Inputs) -> float:
        return 0.5 * float(x["h"][0] + x["h_before"][0])

    def remembered(self) -> dict[str, Array]:
        memory = self.made.memory
        return {"h_before": np.array(memory["h"]), "approach": np.array(memory["approach"])}

    def outputs(self, x: Inputs, v: Array, r: Array) -> dict[str, Array]:
        prepared, t = self.system_at(x), self.made.state.t
        system, known = prepared.system, prepared.part(Known.of, self.scheme.form)
        h, before = float(x["h"][0]), float(x["h_before"][0])
        q, v_start = x["q"], x["v"]
        z = system.update(t, q, v_start, x.get("z", self.made.state.z))
        balance, end = -self.weight(x) * x["force"], q.copy()
        for body, place, kind, follows in known.bodies:
            node = kind(body, place, t, q, v_start, z, h, before, follows)
            velocity = v[place.v]
            balance[place.v] += node.residual(velocity)
            end[place.q] = node.end(velocity)
        impulses, law = self.all_components(r), np.zeros(system.size)
        approach = np.zeros(system.blocks)
        outputs = {output.bound.name: output for output in known.outputs}
        for mine in self.taking_part():
            output = outputs[mine.name]
            one, came = output.bound, x["approach"][output.bound.blocks]
            tie = Tie(output, t, h, q, v_start, z, came)
            tie.bounce = self._bounce(output, x, came, h)
            balance[one.v] -= tie.rows.T @ impulses[one.components]
            law[one.components] = tie.law_variable(end, v)
            speed = np.zeros(len(one.law.K))
            speed[output.unilateral] = -tie.u_before[output.normals]
            approach[one.blocks] = np.where(self._closed[one.blocks], speed, 0.0)
        return {"balance": balance, "law": law[self.keep], "q": end, "z": z, "approach": approach}

    def _bounce(self, output: Output, x: Inputs, came: Array, h: float) -> Array:
        """Return the gaps that restitution prescribes at the end [m], shape (m,)."""
        before = np.zeros(output.law.size)
        before[output.normals] = -came[output.unilateral]
        bounce = np.zeros(output.law.size)
        bias = self.bounced(output.bound, x, before, np.ones(output.normals.size, bool))
        bounce[output.normals] = -h * bias[output.normals]
        return bounce

    @cached_property
    def _closed(self) -> BoolArray:
        """Blocks that closed in the step and store an approach speed, shape (blocks,), bool."""
        return self.made.step.memory["approach"] > self._slow

    @property
    def _slow(self) -> float:
        """Approach speed that counts as 0: resting contacts have a speed of rounding [m/s]."""
        return NEAR * max(1.0, float(np.abs(self.made.state.v).max(initial=0.0)))

    def kinks(self, presses: BoolArray, near: Array) -> list[str]:
        step, notes = self.made.step, []
        first = self.whole.offset[:-1]
        largest = max(1.0, float(np.abs(step.y).max(initial=0.0)))
        size = NEAR * largest + DOUBT * step.h * np.abs(step.u[first])
        unilateral = np.isin(self.whole.kind, (cones.NONNEGATIVE, cones.FRICTION))
        for k in np.flatnonzero(unilateral & ~step.active & (step.y[first] <= size)).tolist():
            notes.append(f"{self.name_of(k)} touches without pressing: no derivative there")
        e = np.concatenate([np.zeros(0), *(one.law.restitution for one in self.system.interactions)])
        bears = presses[first] & (self.made.memory["approach"] <= self._slow)
        still = step.memory["approach"] <= np.maximum(self._slow, near[first])
        for k in np.flatnonzero(unilateral & bears & still & (e > 0.0)).tolist():
            notes.append(
                f"{self.name_of(k)} has restitution and bears without being approached (taken: it does not"
                " bounce)"
            )
        return notes


def _without_friction(K: ProductSet) -> ProductSet:
    """Return K with friction cones replaced by their normal components."""
    rubs = K.kind == cones.FRICTION
    sizes = np.where(rubs, 1, np.diff(K.offset))
    none = np.zeros(0, np.int64)
    return ProductSet(
        np.where(rubs, cones.NONNEGATIVE, K.kind), np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        K.lower, K.upper, np.zeros(len(K) + 1, np.int64), none, np.zeros(0),
    )  # fmt: skip
