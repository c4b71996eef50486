"""Derivative of a step of Moreau-Jean for worlds.

The contact problem of the step is differentiated by the implicit function theorem at its solution
(`solution_linear.py`). Motion and assembly are differentiated exactly (`moreau_jean_equations.py`), for the
set
of active contacts and stops. Users' functions (forces, efforts, motions) are differentiated by central
differences of the function alone.

The position correction is not differentiated, because its sweeps stop at a tolerance. If it moved bodies, the
derivative is that of the step without correction, and a note says so; use `correction=False`. Derivatives by
coefficients of absent parts of the law are 0: by mu_roll and mu_spin where they are 0, and with Poisson's
impact by e where it is 0.

A contact or stop is active if its gap, forecast to the end of the step, is not positive, or if it touches to
the threshold of the step (`kernels/activation.py`); the step is discontinuous there. Restitution acts at
negative approach velocity; a loaded contact with approach velocity 0 has a kink. The contact laws have
further
kinks, which their linearisation reports.
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
"""Gap that counts as zero, relative to the size of bodies [-]; heuristic."""


@single_threaded
def moreau_jean_derivative(
    scheme: SemiExplicitMoreauJean, world: World | PreparedWorld, state: State, memory: Memory, h: float,
    solver: Solver, *, kappa: float = 0.0,
) -> "MoreauJeanDerivative":  # fmt: skip
    """Make a step of length h [s] and differentiate it; kappa: smoothing of the laws [J], 0 for none."""
    # 1. The step.
    if scheme.stabilisation:
        raise ModelError("steps with stabilisation are not differentiated: give stabilisation=False")
    prepared = PreparedWorld.of(world)
    step = scheme.step(prepared, state, memory, h, solver)
    joints = JointBlocks.of(step.memory["joint_id"], step.memory["joint_size"])
    # 2. Its equations, and the linearised contact problems of its phases.
    equations = MoreauJeanEquations(scheme, prepared, state, h, step.contacts, _bearing(step), joints)
    response: Response
    if not step.solves:
        response = Untouched(equations)
    elif len(step.solves) == 1 or equations.newton:
        response = Chained(step, kappa)
    else:
        response = TwoPhases(equations, step, kappa)
    # 3. Derivatives of the equations at the solution, and kinks.
    equations.solved(response.phases, response.v)
    notes = kinks_of(scheme, step, equations, response)
    return MoreauJeanDerivative(equations, step, response, kappa, notes)


class MoreauJeanDerivative(WorldDerivative):
    """Derivative of a step of `SemiExplicitMoreauJean`."""

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
        """Return the share of these changes that no change of impulses can follow, 0 to 1.

        It is 0 if impulses are unique. Otherwise contacts and joints are redundant: a change that would open
        one of them has no derivative, and `jvp` returns the nearest change that keeps all closed.
        """
        changes = {name: flat_change("by", self.by, name, value) for name, value in tangents.items()}
        changed, _, _ = self._changed(self._posed.along(changes))
        return float(self._response.mismatch(changed).max(initial=0.0))

    def _changed(self, effects: Array) -> tuple[Changed, Array, Array]:
        """Split the changes of all lines into those of the problems, and of q and v at the end."""
        *phases, coefficient, bound, e, q, v = (effects[where] for where in self._posed.lines)
        return Changed(tuple(phases[::2]), tuple(phases[1::2]), coefficient, bound, e), q, v

    def _answered(self, effects: Array) -> dict[str, Array]:
        changed, q, v = self._changed(effects)
        dv, dr = self._response.forward(changed)
        k, posed, bodies = effects.shape[1], self._posed, self._posed.bodies
        twists, q, v = dv.reshape(bodies.dynamic.size, 6, k), q.copy(), v.copy()
        for out, block in zip((q, v), posed.arrival_by_v, strict=True):
            out.reshape(bodies.count, 6, k)[bodies.dynamic] += np.matmul(block, twists)
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
        weights = self._response.backward(np.asarray(on_v).reshape(6 * dynamic.size, k), on_r)
        phases = [x for pair in zip(weights.momentum, weights.velocity, strict=True) for x in pair]
        out = np.zeros((posed.size, k))
        for where, part in zip(posed.lines, (*phases, *weights[2:], q, v), strict=True):
            if len(part):
                out[where] = part
        return out


def _bearing(step: Step) -> BoolArray:
    """Contacts that are loaded, or may be loaded with other impulses or after small changes, shape (nc,).

    These are all contacts except those that open in every problem of the step, with velocities above their
    error.
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
    """Return sentences about the kinks of the step, except those of the contact laws."""
    start = Start.of(scheme.theta, equations.prepared, equations.state, equations.h)
    contacts = equations.prepared.detector.find(start.q_m.reshape(-1), start.margin)
    notes = _forecasts(start, scheme.theta, contacts) + _stops(start, scheme.theta)
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


def _forecasts(start: Start, theta: float, contacts: ContactSet) -> list[str]:
    """Return sentences about contacts whose forecast gap is 0."""
    bodies, world = start.bodies, start.world
    if not len(contacts):
        return []
    closing, fast = _closing(set_rows(contacts, start.q_m)[:, 0], contacts.body, start)
    forecast = contacts.gap + theta * start.h * closing
    answers = (bodies.row[contacts.body] >= 0).any(axis=1)
    size = NEAR * bodies.size + DOUBT * start.h * fast
    touches = (forecast > 0.0) & (np.maximum(contacts.gap, forecast) <= start.slack + size)
    near = answers & (touches | (np.abs(forecast) <= size))
    return [
        f"bodies {world.names[a]!r} and {world.names[b]!r}: a contact is about to take part in the step, or"
        " to leave it: its forecast gap is 0"
        for a, b in contacts.body[near].tolist()
    ]


def _stops(start: Start, theta: float) -> list[str]:
    """Return sentences about stops of joints whose forecast gap is 0."""
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
    """Return lower bounds of the velocities of rows, and the sizes of their terms, each of shape (m,).

    Each side may move with its velocity at the start or with its free velocity; the smaller one is taken.
    """
    velocities = np.stack([start.v_start[sides], start.v_free[sides]])
    parts = np.where((sides >= 0)[:, :, None], rows * velocities, 0.0)
    fast: Array = np.abs(parts).max(axis=0).sum(axis=(1, 2))
    closing: Array = parts.sum(axis=3).min(axis=0).sum(axis=1)
    return closing, fast


def _borders(equations: MoreauJeanEquations) -> list[str]:
    """Return sentences about loaded contacts on the border of a feature, or off their smooth gap."""
    names, body = equations.world.names, equations.contacts.body
    remarks = (
        (equations.border, "touch where other faces or edges take over"),
        (equations.off & ~equations.border, "touch beside where detection found them: their gap is another"),
    )
    return [
        f"bodies {names[a]!r} and {names[b]!r} {remark}"
        for mine, remark in remarks
        for a, b in body[mine].tolist()
    ]


def _unapproached(equations: MoreauJeanEquations, response: Response) -> list[str]:
    """Return sentences about loaded contacts and stops with restitution and approach velocity 0."""
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
