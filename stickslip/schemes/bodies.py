"""Semi-explicit Moreau-Jean scheme for worlds: contacts, rows and forces are those of the step's midpoint.

    q_m, v_m⁻ = free motion of (q_k, v_k) for (1-θ) h             contacts, H and F are taken here
    M v_m⁺ = M v_m⁻ + h F + H r                                   over contacts with forecast gaps <= 0
    K* ∋ û_m⁺ + e min(u_m⁻, 0) e_N ⟂ r ∈ K                        De Saxcé's form of Coulomb's law
    q_{k+1}, v_{k+1} = free motion of (q_m, v_m⁺) for θ h

Free motion translates a body uniformly and turns its orientation and Ω as those of a free body, by the
implicit midpoint rule and Cayley's map (`kernels/bodies/rotation.py`), which conserves energy and spatial
momentum to rounding. θ = 1/2 is Moreau's midpoint form (Moreau 1999, Numerical aspects of the sweeping
process, 5.2). It is symmetric, and of second order without impacts, whatever the inertia of spinning bodies.

With `stabilisation` contacts are stated on u_N⁺ + gap_m / h and joints on G'v⁺ + g_m / h (Anitescu & Hart
2004; `kernels/activation.py`). From midpoint to midpoint a step moves by h v⁺, so overlaps and joint errors
vanish within one step. With θ = 1 the midpoint is the start, and the scheme has its common printed form:
q⁺ = q + h v⁺ with Φ(q)/h and g(q)/h.

A contact is active if gap_m + θ h u_N <= 0, with the smallest u_N over both sides, each either free or held
against the forces of the step. Contacts that bear a stack are then active whatever the rounding of their
gaps. Contacts and stops that no force on their own bodies closes are active by the threshold of
`kernels/activation.py`.

Because M is constant, the kinetic energy changes exactly by h F + H r times (v_m⁻ + v_m⁺) / 2. With θ = 1/2
and constant forces the energy balance holds to rounding; springs leave O(h³) per step, other θ O(h²).
"""

import math
from dataclasses import dataclass

import numpy as np

from stickslip.detection.tracking import KEPT, NOTHING
from stickslip.kernels.bodies import assembly, motion
from stickslip.kernels.bodies.layout import Span
from stickslip.laws import IMPACTS
from stickslip.mechanics.world import World
from stickslip.options import Options, option
from stickslip.problem.checks import frozen
from stickslip.problem.solution import Solution
from stickslip.schemes import body_parts
from stickslip.schemes.body_blocks import Blocks, contact_blocks, with_joints
from stickslip.schemes.body_correction import corrected
from stickslip.schemes.body_impacts import compresses, in_parts, in_two_phases, strikes
from stickslip.schemes.body_joints import joint_rows
from stickslip.schemes.body_opening import opening_fault
from stickslip.schemes.body_redundancy import conflict_reason
from stickslip.schemes.body_start import Start, check_start
from stickslip.schemes.body_step import BodyPart, EnergyTerms
from stickslip.schemes.body_stiffness import too_stiff
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.step import Memory, Solver, Step, frozen_state
from stickslip.state import Array, State


@dataclass(frozen=True, slots=True, kw_only=True)
class SemiExplicitMoreauJean(Options):
    """Semi-explicit Moreau-Jean time-stepping for worlds of bodies."""

    theta: float = option(
        0.5,
        "weight of the end of the step; 0.5 conserves energy where nothing dissipates it",
        low=0.5,
        high=1.0,
    )
    impact: str = option(
        "newton", "impact law: on velocities (newton), or on impulses in two phases (poisson)",
        choices=tuple(IMPACTS),
    )  # fmt: skip
    parts: int = option(
        1, "parts that an impact is made in with Newton's law, between which friction follows the slip as it"
        " turns; a contact problem each", low=1, high=1000,
    )  # fmt: skip
    correction: bool = option(
        True, "separate bodies that overlap after a step, without adding more energy than contacts dissipated"
    )
    sweeps: int = option(
        50,
        "largest number of sweeps of a correction; the remaining overlap is reported, and"
        " corrected by later steps",
        low=1,
    )

    stabilisation: bool = option(
        False, "close overlaps and open joints within a step, by gaps and errors over h in the laws of"
        " velocities, in the place of the correction; it gives energy, and bodies may start in each other",
    )  # fmt: skip

    def __post_init__(self) -> None:
        super(SemiExplicitMoreauJean, self).__post_init__()
        if self.stabilisation and (self.impact != "newton" or self.parts > 1):
            raise ValueError(
                f"{type(self).__name__}: stabilisation goes with Newton's impact in one part,"
                f" not with impact={self.impact!r} and parts={self.parts}"
            )

    @property
    def correction_sweeps(self) -> int:
        """Largest number of sweeps of a position correction; 0 without correction."""
        return self.sweeps if self.correction and not self.stabilisation else 0

    def begin(self, world: World | PreparedWorld, state: State, h: float) -> Memory:
        """Return the memory for the first step; raise ModelError if a run cannot start at `state`."""
        check_start(PreparedWorld.of(world), state, closes=self.stabilisation)
        none, contacts = np.zeros(0), dict(zip(KEPT, NOTHING, strict=True))
        return {**contacts, "joint_id": none, "joint_size": none, "joint_r": none, "reserve": np.zeros(1)}

    def step(
        self, world: World | PreparedWorld, state: State, memory: Memory, h: float, solver: Solver
    ) -> Step:
        """Return the step of length h that begins at `state`."""
        prepared = PreparedWorld.of(world)
        stabilised = self.stabilisation
        # 1. Free motion to the midpoint, forces, and velocities without contact.
        start = Start.of(self.theta, prepared, state, h, look=h if stabilised else 0.0)
        q_m, theta = start.q_m.reshape(-1), self.theta
        # 2. Contacts at the midpoint, and the blocks of the active contacts and joints.
        newton, find = self.impact == "newton", prepared.detector.find
        blocks = contact_blocks(find(q_m, start.margin), start, theta, newton, memory, stabilised)
        if start.bodies.jointed:
            v, v_free = start.v_start.reshape(-1), start.v_free.reshape(-1)
            v_ahead = start.ahead(theta * h)
            t_m = state.t + (1.0 - theta) * h
            joints = joint_rows(
                start.world, t_m, q_m, v, h, theta, v_free, v_ahead, start.stop_slack, stabilised
            )
            assert joints is not None
            blocks = with_joints(blocks, joints, start.bodies, start.v_free, memory)
        # 3. Impulses: none, Poisson's law in two phases, Newton's law in parts, or one problem.
        if not blocks.K.size:
            return self._arrive(start, blocks, np.zeros(0), (), memory)
        if self.impact == "poisson" and compresses(blocks):
            r, solves, reason = in_two_phases(blocks, start, solver)
            return self._arrive(start, blocks, r, solves, memory, reason, summed=False)
        if self.impact == "newton" and self.parts > 1 and strikes(blocks, start):
            r, solves = in_parts(blocks, start, solver, self.parts)
            return self._arrive(start, blocks, r, solves, memory)
        problem = blocks.problem(start.bodies, start.f.reshape(-1))
        solution = solver.solve(problem, guess=blocks.guess)
        return self._arrive(start, blocks, solution.r, (solution,), memory)

    def _arrive(
        self, start: Start, blocks: Blocks, r: Array, solves: tuple[Solution, ...], memory: Memory,
        reason: str = "", summed: bool = True,
    ) -> Step:  # fmt: skip
        """Return the step whose impulses are r, shape (p,).

        reason: why the impulses are not valid, if they are not; summed: whether r is the sum of the impulses
        of `solves`. Without finite velocities the step is made again with r = 0, and fails.
        """
        # 1. Velocities after the impulses, free motion to the end, energies.
        world, bodies, state, h = start.world, start.bodies, start.state, start.h
        contacts, offset, reach = blocks.contacts, blocks.K.offset, self.theta * h
        v, q, t = np.empty((bodies.count, 6)), np.empty((bodies.count, 7)), state.t + h
        span, graph = Span(h, reach), blocks.parts(bodies)
        if graph is None:
            u, energy = motion.arrive(bodies.arrays, blocks.arrays, r, start.free, span, q, v)
        else:
            u, energy = body_parts.arrive(bodies.arrays, graph, blocks.arrays, r, start.free, span, q, v)
        impulses, velocities, overlaps = assembly.tell(contacts.law, contacts.gap, offset, reach, r, u)
        if not reason and not math.isfinite(sum(energy) + overlaps.deepest + overlaps.largest):
            lost = "the impulses of the solver are not finite; the step was made without impulses"
            return self._arrive(start, blocks, np.zeros(r.size), solves, memory, lost, summed)
        # 2. Position correction within the energy reserve.
        reserve = float(memory["reserve"][0]) + energy.lost
        springs = world.forces.potential(t, q.reshape(-1)) if start.forced else 0.0
        done = corrected(start, blocks, t, q, v, springs, overlaps, max(reserve, 0.0), self.correction_sweeps)
        # 3. Energy balance, and the checks of springs and joints.
        before = world.forces.potential(state.t, state.q) if start.forced else 0.0
        potential = energy.weight + springs + done.lifted
        terms = EnergyTerms.of(energy, potential, energy.weight_before, before, lifted=done.lifted)
        if start.forced and not reason and self.theta == 0.5:  # otherwise gravity has an error as well
            reason = too_stiff(h, bodies.rates, energy, before + springs, terms.balance)
        if bodies.jointed and not reason:
            drifts = self.correction_sweeps == 0
            reason = opening_fault(
                world, bodies, state, q.reshape(-1), v.reshape(-1), h, done.opening, drifts
            )
            if blocks.joints is not None and not all(solution.ok for solution in solves):
                linkage = blocks.joints, blocks.rows[blocks.joint_rows :], blocks.u_bias[blocks.joint_rows :]
                reason = conflict_reason(world, bodies, *linkage, blocks.unit) or reason
        # 4. The step as data, and the memory for the next one.
        joint_r = blocks.joint_impulses(r)
        joint_r = frozen(np.where(np.abs(joint_r) < motion.NOTHING, 0.0, joint_r))
        impulses[np.abs(impulses) < motion.NOTHING] = 0.0
        impulses.flags.writeable = velocities.flags.writeable = False
        joint_id, joint_size = blocks.joint_names
        after = {
            "id": frozen(contacts.id.astype(float)), "point": blocks.local, "frame": contacts.frame,
            "r": impulses, "joint_r": joint_r, "reserve": np.array([reserve - done.lifted]),
            "joint_id": joint_id, "joint_size": joint_size,
        }  # fmt: skip
        end = frozen_state(t, q.reshape(-1), v.reshape(-1), state.z)
        return Step(
            end, h, impulses, velocities, after, solves=solves,
            reason=f"at t = {state.t:.9g} s {reason}" if reason else "",
            bodies=BodyPart(
                contacts, joint_r, terms, done.penetration, float(done.opening.max(initial=0.0)), done.size,
                blocks.unit, summed, joint_id=blocks.joint_ids,
            ),
        )  # fmt: skip
