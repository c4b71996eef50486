"""Compliant contact: springs, dampers and regularised friction in place of the laws. A RELAXED MODEL.

The scheme solves no contact problem, and its steps are not certified: contacts penetrate (by about m g / k at
rest and v √(m / k) in an impact), friction creeps instead of sticking, joints stretch. It tends to
time-stepping and event-driven simulation as stiffness → ∞, slip_velocity → 0 and h → 0 together.
`compliant_forces` has the forces of springs, dampers and friction.

The motion M v̇ = F + H f, q̇ = T v is integrated implicitly, by one of two rules. The midpoint rule, with the
mean forces of the springs, conserves energy if forces and gaps are linear in q. Backward Euler is stiffly
stable and loses energy with h √(k / m). Friction is evaluated at the end of each substep, because it would
oscillate with the midpoint rule. Newton's loop has a line search; if it fails, the substep is halved, up to
eight times, and then the step fails.
"""

from dataclasses import dataclass

import numpy as np

from stickslip.kernels import cones
from stickslip.options import iterations_option, option
from stickslip.problem.checks import Array
from stickslip.problem.contact import Level
from stickslip.problem.step_problem import SPRINGS
from stickslip.schemes.compliant_forces import Stiffness, forces, ratio_of, stored
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import InteractionPart, Memory, Solver, Step, arrays, frozen_state
from stickslip.schemes.system_scheme import SystemScheme, require_second_order
from stickslip.state import ModelError, State
from stickslip.systems.dynamics import SecondOrderDynamics
from stickslip.systems.system import Bound, NonsmoothSystem, Place

HALVINGS = 8
"""Largest number of halvings of a substep (heuristic)."""
BACKTRACKS = 6
"""Largest number of halvings of a Newton correction (heuristic)."""
MOST_SUBSTEPS = 100_000
"""Largest number of substeps that is chosen automatically."""
ROUNDING = 32.0 * float(np.finfo(float).eps)
"""Relative error of coordinates that counts as rounding [-]: 32 times the machine precision."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliant(SystemScheme):
    """Spring-damper contact with regularised friction, integrated implicitly; a relaxed model of the laws."""

    level = Level.POSITION

    stiffness: float = option(1e6, "stiffness of contacts and joints", unit="N/m", low=0.0, open_low=True)
    damping: str = option(
        "restitution",
        "what damping follows from: the law's restitution where it has one (else damping_ratio),"
        " damping_ratio, or damping_coefficient",
        choices=("restitution", "ratio", "coefficient"),
    )
    damping_ratio: float = option(1.0, "ratio to the critical damping √(4 k m)", low=0.0)
    damping_coefficient: float = option(0.0, "damping of every component", unit="N s/m", low=0.0)
    slip_velocity: float = option(
        1e-4, "sliding velocity below which friction is viscous", unit="m/s", low=0.0, open_low=True
    )
    roll_velocity: float = option(
        1e-3, "rolling velocity below which rolling friction is viscous", unit="rad/s", low=0.0, open_low=True
    )
    integrator: str = option("midpoint", "implicit rule", choices=("midpoint", "backward-euler"))
    substeps: int = option(
        0, "substeps of a step; 0: one in flight, and `points` per half period of a closed contact", low=0
    )
    points: int = option(20, "substeps in half a period of a contact's spring, where chosen", low=2)
    newton_tolerance: float = option(
        1e-10, "largest Newton correction, relative to the velocities", low=0.0, high=1.0, open_low=True
    )
    max_newton: int = iterations_option(30, "Newton iterations in a substep")

    def _begin(self, prepared: PreparedSystem, state: State, h: float) -> Memory:
        system = prepared.system
        require_second_order(system, "compliant contact")
        for one in system.interactions:
            if one.mechanical.compliant:
                raise ModelError(
                    f"interaction {one.name!r} has a compliance of its own (y depends on lam); springs in its"
                    " place would replace it (see moreau-jean)"
                )
            if one.law.has_own_bias and self.damping == "restitution":
                raise ModelError(
                    f"interaction {one.name!r}: {type(one.law).__name__} says itself what an impact owes to"
                    " the velocity before; no damping follows: take damping='ratio' or 'coefficient'"
                )
            K = one.law.K
            dry = K.kind == cones.INTERVAL
            if not (np.isfinite(K.lower[dry]).all() and np.isfinite(K.upper[dry]).all()):
                raise ModelError(
                    f"interaction {one.name!r}: a bound is infinite; regularised friction needs finite ones"
                )
        return {}

    def _step(self, prepared: PreparedSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        system = prepared.system
        z = system.update(state.t, state.q, state.v, state.z)
        run = _Run(self, system, state, z)
        with np.errstate(all="ignore"):  # non-finite values raise errors that name them
            for numbers in system.parts:
                _Part(run, numbers).make_step(h)
        end = frozen_state(state.t + h, run.q, run.v, z)
        y = np.empty(system.size)
        energy = 0.0
        for one in system.interactions:
            y[one.components] = one.y(end.t, end.q, z)
            energy += stored(one.law, self.stiffness, y[one.components])
        always = np.concatenate([~one.law.unilateral for one in system.interactions] or [np.zeros(0, bool)])
        run.forecast[always] = -np.inf
        return Step(
            end, h, run.r, y.copy(), arrays(),
            InteractionPart(y, run.forecast, run.forecast <= 0.0, self.levels(prepared)),
            newton=run.newton, reason=run.reason,
            measures={
                "penetration [m]": max(0.0, -float(run.forecast[~always].min(initial=0.0))),
                "contact work [J]": run.work, "spring energy [J]": energy,
                "substeps [-]": float(run.substeps),
            },
            relaxation=SPRINGS if system.interactions else "",
        )  # fmt: skip


class _Run:
    """Current state of a step, and sums over its substeps."""

    def __init__(self, scheme: Compliant, system: NonsmoothSystem, state: State, z: Array):
        self.scheme, self.system, self.state, self.z = scheme, system, state, z
        self.q, self.v = np.array(state.q), np.array(state.v)
        self.r = np.zeros(system.size)
        self.forecast = np.full(system.blocks, np.inf)
        """Smallest gap in the step [m], shape (blocks,)."""
        self.newton = self.substeps = 0
        self.work, self.reason = 0.0, ""


class _Part:
    """Coupled systems in one step."""

    def __init__(self, run: _Run, numbers: tuple[int, ...]):
        system = run.system
        self.run, self.scheme, self.z = run, run.scheme, run.z
        places = {number: system.places[number] for number in numbers}
        self.bodies: list[tuple[SecondOrderDynamics, Place]] = [
            (body, place) for body, place in system.mechanical if place in places.values()
        ]
        self.interactions = [one for one in system.interactions if one.systems[0] in places]
        self.index = np.concatenate([np.arange(p.v.start, p.v.stop) for p in places.values()])
        self.stiffness: list[Stiffness] = []
        self.frequency, self.near = 0.0, False
        self.damping = 0.0
        """Largest rate c / m of a damper in an impact [1/s]; substeps longer than m / c overshoot."""

    def make_step(self, h: float) -> None:
        """Make the step, in substeps that resolve the motion of the springs."""
        self._springs(h)
        count = self.scheme.substeps
        if count == 0:
            needed = max(self.scheme.points * h * self.frequency / np.pi, h * self.damping, 1.0)
            count = int(min(np.ceil(needed), MOST_SUBSTEPS)) if self.near else 1
        t = self.run.state.t
        for k in range(count):
            self._substep(t + k * (h / count), h / count, 0)

    def _springs(self, h: float) -> None:
        """Set stiffness and damping at the start of the step, the largest frequency, and whether a spring may
        act."""
        # 1. Accelerations without contact.
        scheme, run = self.scheme, self.run
        t, q, v = run.state.t, run.q, run.v
        inverse = {}
        fall = np.zeros(v.shape[0])
        for body, place in self.bodies:
            M = body.mass(t, q[place.q], self.z[place.z])
            try:
                inverse[place.v.start] = place.v, np.linalg.inv(M)
            except np.linalg.LinAlgError:
                body.explain(t, q[place.q], v[place.v], self.z[place.z])
                raise ModelError(f"system {body.name!r}: at t = {t:.9g} s, M is singular") from None
            fall[place.v] = inverse[place.v.start][1] @ body.force(t, q[place.q], v[place.v], self.z[place.z])
        # 2. Effective masses of the components, and the rates of springs that may act.
        for one in self.interactions:
            law = one.law
            rows = np.zeros((law.size, v.shape[0]))
            rows[:, one.v] = J = one.rows(t, q, self.z)
            W = sum(
                np.einsum("ij,jk,ik->i", rows[:, to], inverse_M, rows[:, to])
                for to, inverse_M in inverse.values()
            )
            mass = np.divide(1.0, W, out=np.zeros(law.size), where=np.asarray(W) > 0.0)
            self.stiffness.append(self._stiffness(one, mass))
            y, u = one.y(t, q, self.z), one.rate(t, q, v, self.z, J)
            reach = y + 2.0 * h * np.minimum(u, 0.0) - h * h * np.abs(rows @ fall)
            acts = law.K.bilateral.copy()
            acts[law.normals] = reach[law.normals] <= 0.0
            run.forecast[one.blocks] = y[law.K.offset[:-1]]
            if acts.any():
                self.near = True
                fastest = float(np.sqrt(scheme.stiffness * np.asarray(W)[acts].max()))
                self.frequency = max(self.frequency, fastest)
                struck = acts & (u < -2.0 * h * np.abs(rows @ fall))
                rates = self.stiffness[-1].c * np.asarray(W)
                self.damping = max(self.damping, float(rates[struck].max(initial=0.0)))

    def _stiffness(self, one: Bound, mass: Array) -> Stiffness:
        """Return the springs and dampers of an interaction; mass: effective masses 1 / W_ii [kg], shape
        (m,)."""
        scheme, law = self.scheme, one.law
        ratio = np.full(law.size, scheme.damping_ratio)
        if scheme.damping == "restitution" and law.impact:
            e = law.K.spread(law.restitution)
            ratio = np.array([ratio_of(float(each)) for each in e])
        c = 2.0 * ratio * np.sqrt(scheme.stiffness * mass)
        if scheme.damping == "coefficient":
            c = np.full(law.size, scheme.damping_coefficient)
        return Stiffness(
            scheme.stiffness, c, scheme.slip_velocity, scheme.roll_velocity, scheme.integrator == "midpoint"
        )

    def _substep(self, t: float, h: float, halved: int) -> None:
        """Make an implicit substep, or two of half its length if Newton's loop fails."""
        run = self.run
        equations = _Equations(self, t, h)
        good = equations.solve()
        run.newton += equations.newton
        if not good and halved < HALVINGS:
            self._substep(t, 0.5 * h, halved + 1)
            self._substep(t + 0.5 * h, 0.5 * h, halved + 1)
            return
        if not good:
            run.reason = (
                f"Newton's loop of the springs failed at t = {t:.9g} s down to substeps of {h:.2e} s;"
                " use a smaller step or softer springs"
            )
        run.substeps += 1
        run.q, run.v = equations.q, equations.v
        run.work += h * float(equations.push @ equations.v_mean[self.index])
        for one, f, y in zip(self.interactions, equations.f, equations.y, strict=True):
            run.r[one.components] += h * f
            first = y[one.law.K.offset[:-1]]
            run.forecast[one.blocks] = np.minimum(run.forecast[one.blocks], first)


class _Equations:
    """Equations R(v⁺) = M (v⁺ - v) - h (F + H f) of one substep, at an iterate v⁺."""

    def __init__(self, part: _Part, t: float, h: float):
        self.part, self.t, self.h = part, t, h
        self.alpha = 0.5 if part.scheme.integrator == "midpoint" else 1.0
        self.q0, self.v0 = part.run.q, part.run.v
        self.y0 = [one.y(t, self.q0, part.z) for one in part.interactions]
        self.newton = 0
        self.v = self.v0
        self._evaluate(self.v0)

    def _evaluate(self, v: Array) -> None:
        """Evaluate coordinates, forces, the residual and its derivative at v⁺."""
        # 1. Systems.
        alpha, h, part = self.alpha, self.h, self.part
        t, z, n = self.t + alpha * h, part.z, part.run.v.shape[0]
        self.v = v
        self.v_mean = (1.0 - alpha) * self.v0 + alpha * v
        self.q = np.array(self.q0)
        q = np.array(self.q0)
        R, J, load = np.zeros(n), np.zeros((n, n)), np.zeros(n)
        self.scale = np.ones(n)
        for body, place in part.bodies:
            start, rate = self.q0[place.q], self.v_mean[place.v]
            T = body.kinematics(start)
            if T is None:
                self.q[place.q] = start + h * rate
            else:
                middle = body.kinematics(body.normalized(start + (0.5 * h) * (T @ rate)))
                T = T if middle is None else middle
                self.q[place.q] = body.normalized(start + h * (T @ rate))
            q[place.q] = body.normalized((1.0 - alpha) * start + alpha * self.q[place.q])
            of, to = (q[place.q], rate, z[place.z]), place.v
            M = body.mass(t, q[place.q], z[place.z])
            load[to] = h * body.force(t, *of)
            R[to] = M @ (v[to] - self.v0[to]) - load[to]
            J[to, to] = M
            by_v, by_q = body.force_dv(t, *of), body.force_dq(t, *of)
            if by_v is not None:
                J[to, to] -= (h * alpha) * by_v
            if by_q is not None:
                J[to, to] -= (h * alpha) ** 2 * (by_q if T is None else by_q @ T)
            self.scale[to] = 1.0 / np.sqrt(np.diagonal(M))
        # 2. Interactions.
        push = np.zeros(n)
        self.f, self.y = [], []
        for one, stiffness, y0 in zip(part.interactions, part.stiffness, self.y0, strict=True):
            y, rows = one.y(self.t + h, self.q, z), one.rows(t, q, z)
            u = one.rate(t, q, v, z, rows)
            spring = forces(one.law, stiffness, y0, y, u, h)
            self.f.append(spring.f)
            self.y.append(y)
            push[one.v] += rows.T @ spring.f
            slope = rows.T @ (((h * alpha) * spring.by_y + spring.by_u) @ rows)
            index = np.arange(n)[one.v]
            J[np.ix_(index, index)] -= h * slope
        # 3. Residual and derivative of these systems.
        index = part.index
        self.push = push[index]
        self.load = float(np.linalg.norm((np.abs(load) + h * np.abs(push))[index] * self.scale[index]))
        self.R, self.J = (R - h * push)[index], J[np.ix_(index, index)]

    @property
    def merit(self) -> float:
        """|M^-1/2 R|, the square root of an energy [√J]; infinite if not finite."""
        size = float(np.linalg.norm(self.R * self.scale[self.part.index]))
        return size if np.isfinite(size) else np.inf

    def solve(self) -> bool:
        """Run Newton's loop with a line search; return whether it converged."""
        # 1. Tolerance on the residual, with rounding of forces.
        scheme, index = self.part.scheme, self.part.index
        first, scale = self.merit, self.scale[index]
        if not np.isfinite(first):
            self._explain()
        size = max(first, float(np.linalg.norm(self.v0[index] / scale)))
        stiff = max((one.k * self.h + float(one.c.max()) for one in self.part.stiffness), default=0.0)
        noise = ROUNDING * stiff * float(np.abs(self.q0).max() * scale.max())
        enough = scheme.newton_tolerance * size + noise
        while self.merit > enough + ROUNDING * self.load:
            if self.newton == scheme.max_newton:
                return False
            try:
                correction = -np.linalg.solve(self.J, self.R)
            except np.linalg.LinAlgError:
                return False
            self.newton += 1
            # 2. Line search along the Newton correction.
            start, v, length = self.merit, self.v, 1.0
            for _ in range(BACKTRACKS):
                moved = np.array(v)
                moved[index] += length * correction
                self._evaluate(moved)
                if self.merit <= (1.0 - 1e-4 * length) * start:
                    break
                length *= 0.5
            if not np.isfinite(self.merit):
                return False
        return True

    def _explain(self) -> None:
        """Raise ModelError that names the non-finite quantity."""
        system, run = self.part.run.system, self.part.run
        system.explain(self.t, self.q0, self.v0, run.z)
        system.explain(self.t + self.alpha * self.h, self.q0, self.v0, run.z)
        system.explain(self.t + self.alpha * self.h, self.q, self.v, run.z)
        raise ModelError(f"at t = {self.t:.9g} s, the forces of a substep of {self.h:.3g} s are not finite")
