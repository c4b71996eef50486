"""The derivative of a step of Moreau-Jean for worlds.

The problem of the step is differentiated by the implicit function theorem at its solution
(`solution_linear.py`), the motion and the assembly around it exactly (`moreau_jean_equations.py`), for the
contacts and stops that are active. Users' functions (forces, efforts, motions) are differentiated by central
differences of the function alone.

The position correction is not differentiated: it is swept until it is good enough, which is no function of
its own. Where it moved bodies the map is that of the step without it, and says so: differentiate with
`correction=False`. Parts of the law that are not there have derivatives of 0: by mu_roll and mu_spin where
they are 0, and with Poisson's impact by e where it is 0.

Contacts and stops take part in a step if their gap, forecast to its end, is not positive, or if they touch to
the threshold of the step (`kernels/activation.py`): there the step jumps. Restitution acts on what
approaches: where nothing approaches and the contact does not open there is a kink. The laws of contact have
kinks of their own, which their linearisation tells.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from stickslip.detection.contacts import ContactSet
from stickslip.gradients.along_rows import JointBlocks, set_rows
from stickslip.gradients.derivative import flat_change
from stickslip.gradients.moreau_jean_equations import MoreauJeanEquations
from stickslip.gradients.moreau_jean_response import Chained, Changed, Response, TwoPhases, Untouched
from stickslip.gradients.solution_exact import DOUBT
from stickslip.gradients.world_step import WorldDerivative
from stickslip.kernels.bodies.joint_geometry import DRY, LOWER, UPPER
from stickslip.mechanics.world import World
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.states import SEPARATING
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_joints import PARTS
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Solver, Step
from stickslip.state import Array, BoolArray, IntArray, ModelError, State
from stickslip.threads import single_threaded

NEAR = 1e-9
"""Share of the size of things below which a gap is on the border."""


@single_threaded
def moreau_jean_derivative(
    scheme: SemiExplicitMoreauJean, world: World | PreparedWorld, state: State, memory: Memory, h: float,
    solver: Solver, *, kappa: float = 0.0,
) -> "MoreauJeanDerivative":  # fmt: skip
    """Make a step of length h [s] and differentiate it; kappa: smoothing of the laws [J], 0 for none."""
    if scheme.stabilisation:
        raise ModelError("steps with stabilisation are not differentiated: give stabilisation=False")
    prepared = PreparedWorld.of(world)
    step = scheme.step(prepared, state, memory, h, solver)
    joints = JointBlocks.of(step.memory["joint_id"], step.memory["joint_size"])
    equations = MoreauJeanEquations(scheme, prepared, state, h, step.contacts, _bearing(step), joints)
    response: Response
    if not step.solves:
        response = Untouched(equations)
    elif len(step.solves) == 1 or equations.newton:
        response = Chained(step, kappa)
    else:
        response = TwoPhases(equations, step, kappa)
    equations.solved(response.phases, response.v)
    notes = kinks_of(scheme, step, equations, response)
    return MoreauJeanDerivative(equations, step, response, kappa, notes)


class MoreauJeanDerivative(WorldDerivative):
    """The derivative of a step of `SemiExplicitMoreauJean`."""

    def __init__(
        self, equations: MoreauJeanEquations, step: Step, response: Response, kappa: float,
        notes: tuple[str, ...],
    ):  # fmt: skip
        super().__init__(equations)
        self.step, self.kappa, self._response, self._posed = step, kappa, response, equations
        n = equations.bodies.count
        self.of = {"q": (6 * n,), "v": (6 * n,), "r": step.r.shape}
        self.exists = response.exists and not notes
        self.unique = response.unique
        self.notes = (*response.notes, *notes)

    def mismatch(self, **tangents: Any) -> float:
        """How much of these changes no change of impulses can follow, 0 to 1.

        0 wherever impulses are unique. Where they are not, contacts and joints hold each other: a change that
        would make one of them open has no derivative, and `jvp` is the nearest one that keeps all closed.
        """
        given = {name: flat_change("by", self.by, name, value) for name, value in tangents.items()}
        changed, _, _ = self._changed(self._posed.along(given))
        return float(self._response.mismatch(changed).max(initial=0.0))

    def _changed(self, effects: Array) -> tuple[Changed, Array, Array]:
        """Changes of the problems, and of q and v at the end, from those of all lines."""
        *phases, coefficient, bound, e, q, v = (effects[where] for where in self._posed.lines)
        return Changed(tuple(phases[::2]), tuple(phases[1::2]), coefficient, bound, e), q, v

    def _answered(self, effects: Array) -> dict[str, Array]:
        changed, q, v = self._changed(effects)
        dv, dr = self._response.forward(changed)
        k, posed, bodies = effects.shape[1], self._posed, self._posed.bodies
        own, q, v = dv.reshape(bodies.dynamic.size, 6, k), q.copy(), v.copy()
        for out, block in zip((q, v), posed.arrival_by_v, strict=True):
            out.reshape(bodies.count, 6, k)[bodies.dynamic] += np.matmul(block, own)
        r = np.zeros((self.step.r.size, k))
        r[posed.slot] = dr[: posed.slot.size]
        return {"q": q, "v": v, "r": r}

    def _weighed(self, cotangents: Mapping[str, Array], k: int) -> Array:
        posed, n, dynamic = self._posed, self._posed.bodies.count, self._posed.bodies.dynamic
        q, v = cotangents["q"], cotangents["v"]
        on_v = sum(
            np.matmul(block.transpose(0, 2, 1), weight.reshape(n, 6, k)[dynamic])
            for block, weight in zip(posed.arrival_by_v, (q, v), strict=True)
        )
        on_r = np.zeros((self._response.r.size, k))
        on_r[: posed.slot.size] = cotangents["r"][posed.slot]
        found = self._response.backward(np.asarray(on_v).reshape(6 * dynamic.size, k), on_r)
        phases = [x for pair in zip(found.momentum, found.velocity, strict=True) for x in pair]
        out = np.zeros((posed.size, k))
        for where, part in zip(posed.lines, (*phases, *found[2:], q, v), strict=True):
            if len(part):
                out[where] = part
        return out


def _bearing(step: Step) -> BoolArray:
    """Contacts that bear, or may bear in other impulses or if anything changed, shape (nc,).

    All but those that open in every problem of the step, faster than the error of their velocities.
    """
    nc, size = len(step.contacts), float(np.abs(step.r).max(initial=0.0))
    small = 1e-9 * size if step.solves else 0.0
    free = (np.abs(step.r).max(axis=1, initial=0.0) <= small) & (step.u[:, 0] > 0.0)
    for solution in step.solves:
        if isinstance(solution.problem, GlobalProblem):  # others have other blocks
            states = solution.states
            free &= states.strict[:nc] & (np.array(states.name[:nc], object) == SEPARATING)
    return np.logical_not(free)


def kinks_of(
    scheme: SemiExplicitMoreauJean, step: Step, equations: MoreauJeanEquations, response: Response
) -> tuple[str, ...]:
    """A sentence for each thing that has no derivative, beside what the laws of contact say."""
    start = Start.of(scheme.theta, equations.prepared, equations.state, equations.h)
    found = equations.prepared.detector.find(start.q_m.reshape(-1), start.margin)
    notes = _forecasts(start, scheme.theta, found) + _stops(start, scheme.theta)
    notes += _unapproached(equations, response) + _borders(equations)
    if step.correction > 0.0:
        notes.append(
            f"the position correction moved bodies by {step.correction:.2g} m, which is not differentiated:"
            " differentiate with correction=False"
        )
    elif scheme.correction and (len(equations.world.joints) or len(step.contacts)):
        notes.append(
            "the position correction would answer displacements that open joints or close contacts, which is"
            " not differentiated: differentiate with correction=False"
        )
    if step.fault:
        notes.append(f"the step itself failed: {step.fault}")
    return tuple(dict.fromkeys(notes))


def _forecasts(start: Start, theta: float, found: ContactSet) -> list[str]:
    """Contacts whose forecast gap is 0."""
    bodies, world = start.bodies, start.world
    if not len(found):
        return []
    closing, fast = _closing(set_rows(found, start.q_m)[:, 0], found.body, start)
    forecast = found.gap + theta * start.h * closing
    answers = (bodies.row[found.body] >= 0).any(axis=1)
    size = NEAR * bodies.size + DOUBT * start.h * fast
    touches = (forecast > 0.0) & (np.maximum(found.gap, forecast) <= start.slack + size)
    near = answers & (touches | (np.abs(forecast) <= size))
    return [
        f"bodies {world.names[a]!r} and {world.names[b]!r}: a contact is about to take part in the step, or"
        " to leave it: its forecast gap is 0"
        for a, b in found.body[near].tolist()
    ]


def _stops(start: Start, theta: float) -> list[str]:
    """Stops of joints whose forecast gap is 0."""
    joints = start.world.joints
    bounds = np.stack([joints.lower, joints.upper], axis=-1).reshape(-1, 4)
    joint, which = np.nonzero(np.isfinite(bounds))
    if not joint.size:
        return []
    # by joint: lower and upper stop of s, then of the angle
    part = np.array([LOWER, UPPER, LOWER + DRY, UPPER + DRY])[which]
    blocks = JointBlocks(joint, part, np.arange(joint.size + 1))
    rows, gap = (x[0].real for x in blocks.along(joints, start.q_m[None].astype(complex)))
    closing, fast = _closing(rows, joints.body[joint], start)
    turning = (part > DRY).astype(int)
    size = NEAR * np.where(turning, 1.0, start.bodies.size) + DOUBT * start.h * fast
    forecast = gap + theta * start.h * closing
    touches = (forecast > 0.0) & (np.maximum(gap, forecast) <= start.stop_slack[joint, turning] + size)
    return [
        f"joint {joints.names[joint[k]]!r}: its {PARTS[part[k]]} is about to take part in the step, or to"
        " leave it: its forecast gap is 0"
        for k in np.flatnonzero(touches | (np.abs(forecast) <= size)).tolist()
    ]


def _closing(rows: Array, sides: IntArray, start: Start) -> tuple[Array, Array]:
    """Least velocities of rows if either side moves freely or is held from that, and the sizes of what goes
    into them, each of shape (m,)."""
    velocities = np.stack([start.v_start[sides], start.v_free[sides]])
    parts = np.where((sides >= 0)[:, :, None], rows * velocities, 0.0)
    fast: Array = np.abs(parts).max(axis=0).sum(axis=(1, 2))
    closing: Array = parts.sum(axis=3).min(axis=0).sum(axis=1)
    return closing, fast


def _borders(equations: MoreauJeanEquations) -> list[str]:
    """Contacts that bear where other features take over, or beside where they are."""
    names, body = equations.world.names, equations.contacts.body
    said = (
        (equations.border, "touch where other faces or edges take over"),
        (equations.off & ~equations.border, "touch beside where detection found them: their gap is another"),
    )
    return [
        f"bodies {names[a]!r} and {names[b]!r} {what}" for mine, what in said for a, b in body[mine].tolist()
    ]


def _unapproached(equations: MoreauJeanEquations, response: Response) -> list[str]:
    """Contacts and stops with restitution that may bear and are not approached."""
    if not response.r.size:
        return []
    notes, contacts, world = [], equations.slot.size, equations.world
    for p in np.flatnonzero(response.presses & equations.grazes).tolist():
        if p < contacts:
            a, b = (world.names[side] for side in equations.sides[p])
            name = f"a contact of bodies {a!r} and {b!r}"
        else:
            block = int(np.searchsorted(equations.joints.start, p - contacts, side="right")) - 1
            whose = world.joints.names[equations.joints.joint[block]]
            name = f"the {PARTS[equations.joints.part[block]]} of joint {whose!r}"
        notes.append(f"{name} has restitution and bears without being approached (taken: it does not bounce)")
    return notes
