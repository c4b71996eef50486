"""Steps of the Moreau-Jean scheme for worlds of bodies in one compiled call, as in `schemes/bodies.py`.

A compiled step calls the same kernels in the same order as the step in Python, so that results are equal bit
by bit (a test checks this). A step that sweeps and Newton's method do not solve to tolerance, or that needs a
decision in Python, is not made: the call returns before it with an exit code, and the scheme makes this step
in Python, with the solver `auto`.
"""

from typing import NamedTuple

import numpy as np

from stickslip.kernels import body_problems, cones, residuals, schedule
from stickslip.kernels.activation import threshold
from stickslip.kernels.bodies import assembly, correction, impacts, joint_blocks, joints, motion, springs
from stickslip.kernels.bodies.layout import (
    Blocks,
    Budget,
    Carried,
    FreeMotion,
    LastContacts,
    LastJoints,
    Span,
)
from stickslip.kernels.domains import LARGE
from stickslip.kernels.jit import jit, jit_without_lock
from stickslip.kernels.steps.detection import SLOTS, find
from stickslip.kernels.steps.tables import ContactTable, JointTable
from stickslip.state import Array, IntArray

DONE, NO_ROOM, LEFT = range(3)
"""Exit codes of `march`: all steps are done; the buffers are full; the next step must be made in Python."""
(
    NATURAL, NATURAL_SCALED, ITERATIONS, PENETRATION, CORRECTION, KINETIC, POTENTIAL, DISSIPATED, WORK,
    LIFTED, BALANCE, RESERVE, OPENING,
) = range(13)  # fmt: skip
"""Columns of `Room.numbers`, one row per step: residuals of the judge [-], sweeps, deepest overlap and
largest correction [m], terms of the energy balance as in `EnergyTerms`, energy that later corrections may add
[J], largest error of a joint [m, rad]."""
NUMBERS = 13
"""Number of these columns."""


class Settings(NamedTuple):
    """Settings that all steps of a run share."""

    h: float
    """Time step [s]."""
    theta: float
    """Weight θ of the end of the step [-]."""
    tolerance: float
    """Tolerance of the judge's residuals [-]."""
    newton: bool
    """Whether restitution follows Newton's law."""
    parts: int
    """Number of parts of an impact."""
    touch: float
    """Smallest margin of contact detection [m]."""
    size: float
    """Radius of the smallest shape [m]."""
    least_weight: float
    """Smallest weight of a dynamic body [N]."""
    sweeps: int
    """Largest number of sweeps of a position correction; 0 for no correction."""
    stabilised: bool
    """Whether the contact law contains the gap (Anitescu & Hart 2004)."""
    spring_rate: float
    """Largest k/m of a spring [1/s²]."""
    damper_rate: float
    """Largest c/m of a damper [1/s]."""


class Drives(NamedTuple):
    """Kinematic bodies and their motion."""

    body: IntArray
    """Numbers of the kinematic bodies [-], shape (nm,)."""
    given: Array
    """Velocities at the end of each step; spins in the inertial frame [m/s, rad/s], shape (steps, nm, 6)."""


class Room(NamedTuple):
    """Output buffers of a march: states by row; contacts and joints of recorded steps."""

    q: Array
    """Poses of bodies; row 0 is the initial state [m, -], shape (steps + 1, n, 7)."""
    v: Array
    """Velocities of bodies [m/s, rad/s], shape (steps + 1, n, 6)."""
    numbers: Array
    """Residuals, sweeps, gaps and energies, see KINETIC, ... [-, m, rad, J], shape (steps, NUMBERS)."""
    contacts: ContactTable
    local: Array
    """Points of contacts in the frames of their two bodies [m], shape (most, 2, 3)."""
    joints: JointTable


@jit
def summary(result):
    """Return (r, measures of the judge, sweeps, solved) from the result of a solver of `body_problems`."""
    r, _, _, measures, control, _ = result
    return r, measures, control[schedule.SWEEPS], control[schedule.STATE] == schedule.SOLVED


@jit
def solve_coulomb(acting, bodies, f, tolerance):
    """Solve a problem of 3D Coulomb contacts only; return its `summary`.

    acting: `Acting`; f (nd, 6). Problems of LARGE or more contacts are left to Python, which sweeps domains.
    """
    if acting.K.kind.shape[0] >= LARGE:
        return np.zeros(acting.u_bias.shape[0]), np.zeros(residuals.MEASURES + 1), 0.0, False
    return summary(
        body_problems.solve_coulomb3(
            acting.K, acting.rows_of_M, acting.rows, bodies.M, bodies.root, f, acting.u_bias, tolerance,
            acting.guess,
        )
    )  # fmt: skip


@jit
def solve_blocks(acting, bodies, f, tolerance):
    """Solve a problem of blocks of any kind; return its `summary`."""
    return summary(
        body_problems.solve_blocks(
            acting.K, acting.rows_of_M, acting.rows, bodies.M, bodies.root, f, acting.u_bias, tolerance,
            acting.guess,
        )
    )  # fmt: skip


@jit
def solve_any(acting, bodies, f, tolerance):
    """Solve a problem of contacts, with or without rolling and torsional friction; return its `summary`."""
    if acting.u_bias.shape[0] == 3 * acting.K.kind.shape[0]:
        return solve_coulomb(acting, bodies, f, tolerance)
    return solve_blocks(acting, bodies, f, tolerance)


@jit
def solve_linked(acting, bodies, f, tolerance):
    """Solve a problem of contacts and joints; return its `summary`."""
    K, only_contacts = acting.K, True
    for kind in K.kind:
        only_contacts = only_contacts and kind == cones.FRICTION
    if only_contacts:
        return solve_any(acting, bodies, f, tolerance)
    if not body_problems.is_jointed(K.kind):
        return solve_blocks(acting, bodies, f, tolerance)
    return summary(
        body_problems.solve_jointed(
            K, acting.rows_of_M, acting.rows, bodies.M, bodies.root, f, acting.u_bias, tolerance, acting.guess
        )
    )


@jit
def make_step(
    finder, solver, shapes, spheres, bodies, forces, linkage, drives, settings, carried, room, step
):
    """Make a step from row `step` of the room to the next row. Return (success, active, r, u, joints).

    success: False if Python must make the step; active: `Active`; r, u (nc, 6): impulses and velocities by
    contact; joints: `LastJoints`.

    finder, shapes, spheres: see `steps/detection.py`; solver: one of the functions above; forces:
    `ForceArrays` or None; linkage: `Linkage` or None; drives: `Drives` or None; carried: `Carried`.
    """
    q, v, q_end, v_end = room.q[step], room.v[step], room.q[step + 1], room.v[step + 1]
    numbers = room.numbers[step]
    n, h, theta = q.shape[0], settings.h, settings.theta
    reach = theta * h
    # 1. Free motion: q_m = q ∘ (1 - θ) h v, and the velocity v_free at q_m after all forces of the step.
    q_m, v_start, v_free = np.empty((n, 7)), np.empty((n, 6)), v.copy()
    F, finite, stored_before = np.zeros((3, 0, 6)), True, 0.0
    motion.move_half(bodies.row, bodies.J, bodies.J_inverse, q, v, (1.0 - theta) * h, q_m, v_start)
    if forces is not None:
        F = np.zeros((3, n, 6))
        finite = springs.add_forces(forces, linkage, q_m.reshape(-1), v_start.reshape(-1), F)
        stored_before = springs.spring_potential(forces.springs, q.reshape(-1))
    if drives is not None:
        motion.move_along(q_m, v, reach, q_end)
        motion.prescribe(drives.body, drives.given[step], q_end.reshape(-1), v_free.reshape(-1))
    f, (bad, fastest, second) = motion.push_freely(bodies, q_m, v_start, F, h, v_free)
    free, span, slack = FreeMotion(q, v, q_m, v_start, v_free, F), Span(h, reach), threshold(h, fastest)
    # 2. Contact detection at q_m, and the contact problem of the active contacts, joints and stops.
    finite = finite and bad < 0
    horizon = h if settings.stabilised else reach
    margin = horizon * (fastest + second) + settings.touch if finite else 0.0
    detected, contacts = find(finder, shapes, spheres, q_m, margin)
    active = assembly.assemble(
        contacts, carried.contacts, SLOTS, bodies.row, free, span, slack, settings.newton, settings.stabilised
    )
    acting = joint_blocks.contacts_alone(active)
    if linkage is not None:
        v_ahead = np.empty((n, 6))
        motion.move_half(bodies.row, bodies.J, bodies.J_inverse, q_m, v_start, reach, q_end, v_ahead)
        bad, links = joint_blocks.joint_blocks(
            linkage.joints, q_m, v_start, v_free, v_ahead, span,
            joint_blocks.stop_slack(slack, linkage.length), settings.stabilised,
        )  # fmt: skip
        finite = finite and bad < 0
        if finite:
            acting = joint_blocks.with_joints(linkage, acting, links, bodies.row, v_free, carried.joints)
    blocks = Blocks(acting.sides, acting.K.offset, acting.rows)
    # 3. Impulses, and their residuals by the judge. Impacts that take several problems are left to Python.
    r, solved = np.zeros(acting.u_bias.shape[0]), True
    if not settings.newton:
        solved = not impacts.compresses(active.approach, active.contacts.law)
    elif settings.parts > 1:
        solved = not impacts.strikes(active.approach, blocks, v_start, v_free)
    numbers[NATURAL] = numbers[NATURAL_SCALED] = numbers[ITERATIONS] = numbers[OPENING] = 0.0
    if r.shape[0] > 0 and finite and detected and solved:
        r, measures, sweeps, solved = solver(acting, bodies, f, settings.tolerance)
        solved = solved and residuals.is_solved(measures, settings.tolerance)
        solved = solved and measures[residuals.MEASURES] <= settings.tolerance
        numbers[NATURAL], numbers[NATURAL_SCALED] = measures[residuals.NATURAL], measures[residuals.SCALED]
        numbers[ITERATIONS] = sweeps
    # 4. Velocity v⁺ = v_free + M⁻¹ H r and the pose at the end of the step.
    u, energy = motion.arrive(bodies, blocks, r, free, span, q_end, v_end)
    impulses, velocities, overlaps = assembly.tell(
        active.contacts.law, active.contacts.gap, blocks.offset, reach, r, u
    )
    clear_tiny(impulses.reshape(-1))
    # 5. Position correction, which may add as much energy as contacts and joints have dissipated.
    reserve, stored_after = carried.reserve + energy.lost, 0.0
    if forces is not None:
        stored_after = springs.spring_potential(forces.springs, q_end.reshape(-1))
    budget = Budget(max(reserve, 0.0), settings.sweeps, settings.size, settings.least_weight)
    if linkage is None:
        lifted, penetration, moved = correction.correct(
            bodies, forces, stored_after, blocks, overlaps, budget, q_end
        )
        last = LastJoints(np.empty(0), np.empty(0), np.empty(0))
    else:
        bad, lifted, penetration, moved = correction.correct_jointed(
            bodies, forces, linkage, stored_after, blocks, overlaps, budget, v_end, q_end
        )
        opening = np.empty((linkage.length.shape[0], 2))
        joints.joint_openings(linkage.joints, q_end.reshape(-1), opening)
        numbers[OPENING] = opening.max()
        finite = finite and bad < 0 and joints.nearly_closed(opening, linkage.reach)
        last = joint_blocks.last_joints(links, acting.unit, r[r.shape[0] - acting.unit.shape[0] :])
    # 6. Energy balance.
    numbers[PENETRATION], numbers[CORRECTION], numbers[LIFTED] = penetration, moved, lifted
    numbers[KINETIC], numbers[POTENTIAL] = energy.kinetic, energy.weight + stored_after + lifted
    change = energy.kinetic - energy.kinetic_before + numbers[POTENTIAL]
    change = change - energy.weight_before - stored_before
    numbers[DISSIPATED] = energy.lost + energy.damped
    numbers[WORK] = energy.driven + energy.worked
    numbers[BALANCE] = change + numbers[DISSIPATED] - numbers[WORK] - lifted
    numbers[RESERVE] = reserve - lifted
    if forces is not None and theta == 0.5:
        spring_rate, damper_rate, balance = settings.spring_rate, settings.damper_rate, numbers[BALANCE]
        if springs.too_stiff(h, spring_rate, damper_rate, energy, stored_before + stored_after, balance) != 0:
            solved = False
    # 7. Check that all results are finite.
    total = overlaps.deepest + overlaps.largest
    for part in energy:
        total += part
    for i in range(n):
        for k in range(7):
            total += q_end[i, k]
        for k in range(6):
            total += v_end[i, k]
    success = finite and detected and solved and abs(total) < np.inf
    return success, active, impulses, velocities, last


@jit
def clear_tiny(r):
    """r (n,) <- r with 0 for values whose squares underflow."""
    for k in range(r.shape[0]):
        if abs(r[k]) < motion.NOTHING:
            r[k] = 0.0


@jit
def write_joints(joints, at, last):
    """joints, `JointTable` <- impulses of the joints of a step, from row `at` on.   last: `LastJoints`."""
    k = 0
    for i in range(last.id.shape[0]):
        for _ in range(int(last.size[i])):
            joints.id[at + k], joints.r[at + k] = int(last.id[i]), last.r[k]
            k += 1


@jit
def write_contacts(room, at, active, r, u):
    """The contact table of the room <- contacts of a step, from row `at` on.   r, u (nc, 6)."""
    contacts, table = active.contacts, room.contacts
    for i in range(r.shape[0]):
        table.id[at + i], table.gap[at + i] = contacts.id[i], contacts.gap[i]
        for k in range(2):
            table.body[at + i, k] = contacts.body[i, k]
        for k in range(3):
            table.point[at + i, k] = contacts.point[i, k]
            for d in range(3):
                table.frame[at + i, k, d] = contacts.frame[i, k, d]
            for side in range(2):
                room.local[at + i, side, k] = active.local[i, side, k]
        for k in range(4):
            table.law[at + i, k] = contacts.law[i, k]
        for k in range(6):
            table.r[at + i, k], table.u[at + i, k] = r[i, k], u[i, k]


@jit_without_lock
def march(
    finder,
    solver,
    shapes,
    spheres,
    bodies,
    forces,
    linkage,
    drives,
    settings,
    index,
    every,
    end,
    carried,
    room,
    first,
    most,
):
    """Make at most `most` steps from row `first` of the room.

    Return (number of steps made, exit code, `Carried`). index: index of the clock at the start. Contacts and
    joints of a step are written if the index at its end is a multiple of `every`, or equals `end`. The other
    arguments are those of `make_step`.
    """
    for steps_done in range(most):
        step = first + steps_done
        solved, active, r, u, linked = make_step(
            finder, solver, shapes, spheres, bodies, forces, linkage, drives, settings, carried, room, step
        )
        if not solved:
            return steps_done, LEFT, carried
        index += 1
        contacts, joints = room.contacts, room.joints
        at, joint_at = contacts.offset[step], joints.offset[step]
        contacts.offset[step + 1], joints.offset[step + 1] = at, joint_at
        if index % every == 0 or index == end:
            if at + r.shape[0] > contacts.gap.shape[0]:
                return steps_done, NO_ROOM, carried
            write_contacts(room, at, active, r, u)
            write_joints(joints, joint_at, linked)
            contacts.offset[step + 1] = at + r.shape[0]
            joints.offset[step + 1] = joint_at + linked.r.shape[0]
        last = LastContacts(active.contacts.id.astype(np.float64), active.local, active.contacts.frame, r)
        carried = Carried(last, linked, room.numbers[step, RESERVE])
    return most, DONE, carried
