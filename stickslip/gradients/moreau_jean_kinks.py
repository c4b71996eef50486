"""Where a step of Moreau-Jean has no derivative: contacts and stops about to switch, and corrections.

Contacts and stops take part in a step if their gap, forecast to its end, is not positive, or if they touch to
the threshold of the step (`kernels/activation.py`): there the step jumps. Restitution acts on what
approaches: where nothing approaches and the contact does not open there is a kink. The laws of contact have
kinks of their own, which their linearisation tells.
"""

import numpy as np

from stickslip.gradients.moreau_jean_assembly import Assembly
from stickslip.gradients.moreau_jean_contacts import contact_rows
from stickslip.gradients.moreau_jean_joints import JointBlocks, joints_along
from stickslip.gradients.moreau_jean_response import Response
from stickslip.gradients.solution_exact import DOUBT
from stickslip.kernels.bodies.joint_geometry import DRY, LOWER, UPPER, within_turn
from stickslip.rotations import matrices
from stickslip.schemes.bodies import Finder, MoreauJeanBodies
from stickslip.schemes.body_joints import PARTS, joint_coordinates
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_step import BodyStep
from stickslip.state import Array, IntArray

NEAR = 1e-9
"""Share of the size of things below which a gap is on the border."""


def kinks_of(
    scheme: MoreauJeanBodies, step: BodyStep, assembly: Assembly, response: Response, detector: Finder
) -> tuple[str, ...]:
    """A sentence for each thing that has no derivative, beside what the laws of contact say."""
    start = Start.of(scheme.theta, assembly.world, assembly.state, assembly.h)
    notes = _forecasts(start, scheme.theta, detector) + _stops(start, scheme.theta)
    notes += _unapproached(assembly, response)
    if step.correction > 0.0:
        notes.append(
            f"the position correction moved bodies by {step.correction:.2g} m, which is not differentiated:"
            " differentiate with correction=False"
        )
    elif scheme.correction and (len(assembly.world.joints) or len(step.contacts)):
        notes.append(
            "the position correction would answer displacements that open joints or close contacts, which is"
            " not differentiated: differentiate with correction=False"
        )
    if step.reason or not all(solution.ok for solution in step.solves):
        why = step.reason or next(s.reason or s.status.value for s in step.solves if not s.ok)
        notes.append(f"the step itself is not good: {why}")
    return tuple(dict.fromkeys(notes))


def _forecasts(start: Start, theta: float, detector: Finder) -> list[str]:
    """Contacts whose forecast gap is 0."""
    found, bodies, world = detector.find(start.q_m.reshape(-1), start.margin), start.bodies, start.world
    if not len(found):
        return []
    x, R = start.q_m[None, :, :3].astype(complex), matrices(start.q_m[None, :, 3:])
    rows = contact_rows(found, found.point[None].astype(complex), found.frame[None].astype(complex), x, R)
    closing, fast = _closing(rows[0, :, 0].real, found.body, start)
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
    joints, world = start.world.joints, start.world
    bounds = np.stack([joints.lower, joints.upper], axis=-1).reshape(
        -1, 4
    )  # by joint: slide, slide, angle, angle
    joint, which = np.nonzero(np.isfinite(bounds))
    if not joint.size:
        return []
    part = np.array([LOWER, UPPER, LOWER + DRY, UPPER + DRY])[which]
    blocks = JointBlocks(joint, part, np.arange(joint.size + 1))
    q, v = (x[None].astype(complex) for x in (start.q_m, start.v_start))
    rows = joints_along(joints, blocks, q, v, v, np.zeros(1, complex), theta).rows[0].real
    slide, angle, _ = joint_coordinates(world, start.q_m.reshape(-1), start.v_start.reshape(-1))
    notes = []
    rates, speeds = _closing(rows, joints.body[joint], start)
    slack = start.stop_slack
    for j, p, bound, rate, fast in zip(joint, part, bounds[joint, which], rates, speeds, strict=True):
        turning = p > DRY
        size = NEAR * (1.0 if turning else start.bodies.size) + DOUBT * start.h * fast
        y = float(within_turn(angle[j], *joints.lower[j, 1:], *joints.upper[j, 1:])) if turning else slide[j]
        gap = bound - y if p % 3 == UPPER else y - bound
        forecast = gap + theta * start.h * rate
        touches = forecast > 0.0 and max(gap, forecast) <= slack[j, int(turning)] + size
        if touches or abs(forecast) <= size:
            name = f"joint {joints.names[j]!r}: its {PARTS[p]}"
            notes.append(f"{name} is about to take part in the step, or to leave it: its forecast gap is 0")
    return notes


def _closing(rows: Array, sides: IntArray, start: Start) -> tuple[Array, Array]:
    """Least velocities of rows if either side moves freely or is held from that, and the sizes of what goes
    into them, each of shape (m,)."""
    velocities = np.stack([start.v_start[sides], start.v_free[sides]])
    parts = np.where((sides >= 0)[:, :, None], rows * velocities, 0.0)
    fast: Array = np.abs(parts).max(axis=0).sum(axis=(1, 2))
    closing: Array = parts.sum(axis=3).min(axis=0).sum(axis=1)
    return closing, fast


def _unapproached(assembly: Assembly, response: Response) -> list[str]:
    """Contacts and stops with restitution that may bear and are not approached."""
    if not response.r.size:
        return []
    notes, contacts, world = [], assembly.slot.size, assembly.world
    for p in np.flatnonzero(response.presses & assembly.grazes).tolist():
        if p < contacts:
            a, b = (world.names[side] for side in assembly.sides[p])
            name = f"a contact of bodies {a!r} and {b!r}"
        else:
            block = int(np.searchsorted(assembly.joints.start, p - contacts, side="right")) - 1
            whose = world.joints.names[assembly.joints.joint[block]]
            name = f"the {PARTS[assembly.joints.part[block]]} of joint {whose!r}"
        notes.append(f"{name} has restitution and bears without being approached (taken: it does not bounce)")
    return notes
