"""Moreau-Jean: impulses and velocities over a step, gaps by forecast.

q⁺ = q + h T(q̄) v_θ,  M (v⁺ - v) = h F_θ + H r,  and for active contacts the law on u⁺ + e u⁻
"""

from dataclasses import dataclass

import numpy as np

from stickslip.options import Options, option
from stickslip.problem.contact import ContactProblem, Level
from stickslip.problem.sets import ProductSet
from stickslip.schemes.problems import coupled
from stickslip.schemes.step import Memory, Scheme, Solver, State, Step, arrays, frozen_state
from stickslip.systems.quantities import ModelError
from stickslip.systems.system import NonsmoothSystem


@dataclass(frozen=True, slots=True, kw_only=True)
class MoreauJean(Options, Scheme):
    """Moreau-Jean time-stepping for second-order systems."""

    theta: float = option(0.5, "weight of the end of the step", low=0.0, high=1.0)

    def levels(self, system: NonsmoothSystem) -> tuple[Level, ...]:
        return (Level.VELOCITY,) * len(system.interactions)

    def begin(self, system: NonsmoothSystem, state: State, h: float) -> Memory:
        for flow, _ in system.flows:
            raise ModelError(f"system {flow.name!r} is of first order; moreau-jean is for second order")
        return arrays(r=np.zeros(system.size))

    def step(self, system: NonsmoothSystem, state: State, memory: Memory, h: float, solver: Solver) -> Step:
        t, q, v, theta = state.t, state.q, state.v, self.theta
        z = system.update(t, q, v, state.z)
        v_free, inverse = np.empty_like(v), np.zeros((v.size, v.size))
        for body, place in system.mechanical:
            M = body.mass(t, q[place.q], z[place.z])
            F = body.force(t, q[place.q], v[place.v], z[place.z])
            inverse[place.v, place.v] = np.linalg.inv(M)
            v_free[place.v] = v[place.v] + h * np.linalg.solve(M, F)
        active, forecast = np.zeros(system.blocks, bool), np.full(system.blocks, -np.inf)
        r, u, rows, before = np.zeros(system.size), np.zeros(system.size), {}, {}
        for one in system.interactions:
            lam = np.zeros(one.law.size)
            rows[one.name] = one.mechanical.rows(t, q[one.q], lam, z[one.z])
            drift = one.mechanical.drift(t, q[one.q], lam, z[one.z])
            y = one.mechanical.y(t, q[one.q], lam, z[one.z])
            before[one.name] = rows[one.name] @ v[one.v] + (0.0 if drift is None else drift)
            guess = y + 0.5 * h * before[one.name]
            forecast[one.blocks][one.law.unilateral] = guess[one.law.normals]
            active[one.blocks] = forecast[one.blocks] <= 0.0
        solves = []
        for group in coupled([one for one in system.interactions if active[one.blocks].any()]):
            H = np.zeros((v.size, 0))
            u_free, sets, where = [], [], []
            K: ProductSet | None = None
            for one in group:
                on = np.flatnonzero(active[one.blocks])
                offset, law = one.law.K.offset, one.law
                keep = np.concatenate([np.arange(offset[i], offset[i + 1]) for i in on])
                part = np.zeros((v.size, keep.size))
                part[one.v] = rows[one.name][keep].T
                H = np.concatenate([H, part], axis=1)
                drift = one.mechanical.drift(t, q[one.q], np.zeros(law.size), z[one.z])
                bias = law.bias(before[one.name]) + (0.0 if drift is None else drift)
                u_free.append(part.T @ v_free + bias[keep])
                sets.append(bias[keep])
                where.append(keep + one.components.start)
                K = law.impulses(h) if K is None else K + law.impulses(h)
            index = np.concatenate(where)
            assert K is not None
            problem = ContactProblem(
                H.T @ inverse @ H,  # type: ignore[arg-type]
                np.concatenate(u_free),
                K,
            )
            solution = solver.solve(problem, guess=memory["r"][index])
            solves.append(solution)
            r[index], u[index] = solution.r, solution.u - np.concatenate(sets)
            v_free = v_free + inverse @ (H @ solution.r)
        v_new = v_free
        q_new = np.array(q)
        for body, place in system.mechanical:
            mean = (1.0 - theta) * v[place.v] + theta * v_new[place.v]
            T = body.kinematics(q[place.q])
            q_new[place.q] = body.normalized(q[place.q] + h * (mean if T is None else T @ mean))
        if not (np.isfinite(v_new).all() and np.isfinite(q_new).all()):
            system.explain(t, q, v, z)
        end = frozen_state(t + h, q_new, v_new, z)
        y = np.zeros(system.size)
        for one in system.interactions:
            y[one.components] = one.mechanical.y(end.t, q_new[one.q], r[one.components], z[one.z])
        return Step(end, h, r, u, y, forecast, active, self.levels(system), arrays(r=r), tuple(solves))
