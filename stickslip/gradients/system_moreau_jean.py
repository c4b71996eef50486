"""Equations of a step of Moreau-Jean on systems of equations (`schemes/moreau_jean.py`).

    M (v⁺ - v) - h F_θ - H(q̄) r = 0,    the law on C(q̄) v⁺ + e u⁻ (on y of the end for compliant relations)

The active contacts are those of the step. There is a kink where a contact is about to become active or
inactive. Projections and Poisson's two phases have no derivative here. The rate that the law receives for a
gap
of the size of rounding (`kernels/activation.py`) is constant: such a contact is differentiated as touching.
"""

from functools import cached_property

import numpy as np

from stickslip.gradients.system_equations import NEAR, Inputs, StepEquations, Written
from stickslip.kernels.activation import gap_rate
from stickslip.problem.checks import IntArray
from stickslip.schemes.moreau_jean import Known, MoreauJean
from stickslip.schemes.moreau_jean_contacts import Tie
from stickslip.schemes.moreau_jean_newton import Flat
from stickslip.state import Array, BoolArray, ModelError


class MoreauJeanEquations(StepEquations):
    """Equations of one step of Moreau-Jean."""

    def __init__(self, scheme: MoreauJean, made: Written):
        super().__init__(made)
        self.scheme = scheme
        self.delta = scheme.delta if scheme.activation == "distance" else None
        if scheme.projection != "none":
            raise ModelError(
                "a step with a projection has no derivative, because the projection stops at a"
                " tolerance; differentiate"
                ' with projection="none"'
            )
        for one in self.system.interactions:
            if one.law.impact == "poisson":
                raise ModelError(
                    f"interaction {one.name!r}: Poisson's impact has no derivative in systems written as"
                    " equations; take NewtonImpact, or a world with impact='poisson'"
                )

    @cached_property
    def on(self) -> IntArray:
        return np.flatnonzero(self.made.step.active)

    def weight(self, x: Inputs) -> float:
        return float(x["h"][0])

    def remembered(self) -> dict[str, Array]:
        return {}

    @cached_property
    def _cases(self) -> dict[str, tuple[BoolArray, BoolArray, Array, Array]]:
        """Cases of the normals of each interaction, four arrays of shape (normals,).

        They are: whether the normal was approached; whether its bias is restitution rather than gap / h; the
        velocity before the step [m/s]; and gap / h of those with a forecast gap between 0 and the threshold,
        otherwise 0 [m/s].
        """
        state, h = self.made.state, self.made.h
        z = self.system.update(state.t, state.q, state.v, state.z)
        cases = {}
        for output in self.made.prepared.part(Known).outputs:
            tie = Tie(output, state.t, state.q, state.v, z, None)
            before = tie.u_before[output.normals]
            bias = output.law.bias(tie.u_before)[output.normals]
            takes: BoolArray = np.ones(before.size, bool)
            if self.delta is not None:
                rate = tie.y[output.normals] / h
                takes = (bias < 0.0) & (rate + before <= 0.0) & (bias <= rate)
            rates = np.zeros(before.size)
            if self.delta is None and output.waits:
                one = output.bound
                forecast = np.where(self.made.step.active, self.made.step.forecast, 0.0)[one.blocks]
                returns = output.law.restitution > 0.0
                for k, b in enumerate(np.flatnonzero(output.unilateral)):
                    rates[k] = gap_rate(forecast[b], before[k], bool(returns[b]), h)
            cases[output.bound.name] = before < 0.0, takes, before, rates
        return cases

    def _prescribed(self, tie: Tie, x: Inputs) -> Array:
        """Return the bias as in `Tie.prescribe`, with the case that each normal had in the step."""
        output, h = tie.output, float(x["h"][0])
        came, takes, _, rates = self._cases[output.bound.name]
        law = output.law
        known = came if output.normals.size == law.normals.size else np.zeros(law.normals.size, bool)
        bias = self.bounced(output.bound, x, tie.u_before, known)
        if self.delta is not None and not output.compliant:
            bias[output.free] += tie.y[output.free] / h
            normals = output.normals
            bias[normals] = np.where(takes, bias[normals], tie.y[normals] / h)
        if rates.any():
            bias[output.normals] = np.where(rates > 0.0, rates, bias[output.normals])
        return bias

    def outputs(self, x: Inputs, v: Array, r: Array) -> dict[str, Array]:
        prepared, t, h = self.system_at(x), self.made.state.t, float(x["h"][0])
        system = prepared.system
        q, v_start = x["q"], x["v"]
        z = system.update(t, q, v_start, x.get("z", self.made.state.z))
        flat = Flat(t + h, q, q.copy(), v.copy(), z)
        balance = -h * x["force"]
        known = prepared.part(Known)
        for motion in self.scheme.motions(known, t, h, q, v_start, z):
            motion.move(v[motion.place.v])
            flat.take(motion)
            balance[motion.place.v] += motion.residual
        impulses, law = self.all_components(r), np.zeros(system.size)
        outputs = {output.bound.name: output for output in known.outputs}
        for mine in self.taking_part():
            output = outputs[mine.name]
            one, tie = output.bound, Tie(output, t, q, v_start, z, None)
            moves = self.scheme.moving or output.compliant or output.has_input
            P = impulses[one.components]
            theta = self.scheme.weight(system.systems[one.systems[0]].name)
            tie.linearise(flat.t, h, theta, flat.q if moves else q, flat.v, z, P, self._prescribed(tie, x))
            law[one.components] = tie.law_variable(flat.v[one.v], P)
            balance[one.v] -= tie.pushed(P)
        return {"balance": balance, "law": law[self.keep], "q": flat.q, "z": z}

    def kinks(self, presses: BoolArray, near: Array) -> list[str]:
        step, notes = self.made.step, []
        forecast = step.forecast
        size = NEAR * max(1.0, float(np.abs(step.y).max(initial=0.0)))
        touches = step.active & (forecast > 0.0)
        for k in np.flatnonzero(touches | (np.abs(forecast) <= size)).tolist():
            term = "gap" if self.delta is None else "gap less delta"
            notes.append(
                f"{self.name_of(k)} is about to take part in the step, or to leave it: its forecast {term}"
                " is 0"
            )
        for one in self.system.interactions:
            _, takes, before, _ = self._cases[one.name]
            e = one.law.restitution[one.law.unilateral]
            if one.law.impact != "newton" or e.size != before.size:
                continue
            normals = one.components.start + one.law.normals
            fast = max(1.0, float(np.abs(self.made.state.v).max(initial=0.0)))
            still = np.abs(before) <= np.maximum(NEAR * fast, near[normals])
            blocks = one.blocks.start + np.flatnonzero(one.law.unilateral)
            for k in blocks[presses[normals] & takes & (e > 0.0) & still].tolist():
                notes.append(
                    f"{self.name_of(k)} has restitution and bears without being approached (taken: it does"
                    " not bounce)"
                )
        return notes
