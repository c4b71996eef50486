"""A smooth scheme without contacts, with a memory of changing length, and its derivative, for tests."""

from dataclasses import dataclass

import numpy as np

import stickslip as ss
from stickslip.detection.contacts import ContactSet
from stickslip.gradients.charts import to_displacements
from stickslip.gradients.step import StepDerivative
from stickslip.mechanics.parameters import Parameters
from stickslip.options import Options, option
from stickslip.schemes.body_step import BodyPart, EnergyTerms
from stickslip.schemes.step import Step
from stickslip.state import State

NO_CONTACTS = ContactSet(
    np.zeros(0, int), np.zeros((0, 2), int), np.zeros((0, 2), int), np.zeros((0, 3)), np.zeros((0, 3, 3)),
    np.zeros(0), np.zeros((0, 4)),
)  # fmt: skip
EPS = 1e-3


def cart(effort=0.3):
    """Return a cart on a rail with a motor, and a free spinning ball."""
    builder = ss.WorldBuilder()
    builder.body("cart", ss.Cuboid((0.4, 0.2, 0.1)), position=(0, 0, 1), mass=1.5, velocity=(0.2, 0, 0))
    builder.body(
        "ball",
        ss.Sphere(0.1),
        position=(0.3, 2, 1),
        mass=0.5,
        velocity=(0.5, 0.1, 0.2),
        spin=(0.4, -0.7, 0.3),
    )
    builder.joint("rail", "slider", "cart", None, point=(0, 0, 1), axis=(1, 0, 0))
    builder.apart("cart", "ball")
    builder.force(ss.forces.Actuator("motor", "rail", effort))
    return builder.build()


@dataclass(frozen=True, slots=True, kw_only=True)
class Smooth(Options):
    """Scheme for bodies in a force field that decreases with the velocities in the memory."""

    bad: int = option(-1, "the step that is not good")

    def begin(self, prepared, state, h):
        return {"approach": np.zeros(0), "h": np.zeros(1), "count": np.zeros(1)}

    def step(self, prepared, state, memory, h, solver):
        count = int(memory["count"][0])
        q, v, approach = step_map(
            parameters_of(prepared.world), state.q, state.v, memory["approach"], h, memory["h"][0], count
        )
        memory = {"approach": approach, "h": np.array([h]), "count": np.array([count + 1.0])}
        zero = EnergyTerms(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        return Step(
            State(state.t + h, q, v), h, np.zeros((0, 6)), np.zeros((0, 6)), memory,
            bodies=BodyPart(NO_CONTACTS, np.zeros(0), zero, 0.0, 0.0, 0.0),
            reason="deliberate failure" if count == self.bad else "",
        )  # fmt: skip


def parameters_of(world):
    """Return the parameters of a world on which the map of a step depends."""
    parameters = Parameters.of(world)
    return {name: getattr(parameters, name) for name in ("gravity", "mass", "effort", "wrench")}


def step_map(parameters, q, v, approach, h, before, count):
    """Return q, v and the approach velocities after a step; `count` determines the number of the latter."""
    gravity, mass, effort, wrench = parameters.values()
    q, v = q.reshape(-1, 7).copy(), v.reshape(-1, 6).copy()
    weak = 1.0 / (1.0 + (approach**2).sum())
    F = 0.5 * (h + before) * wrench
    F[0, 0] += 0.5 * (h + before) * effort[0]
    v[:, :3] += (F[:, :3] / mass[:, None]) + h * weak * (gravity - np.sin(3 * q[:, :3]))
    v[:, 3:] += F[:, 3:] + h * weak * np.cos(q[:, 4:])
    q[:, :3] += h * v[:, :3]
    half = 0.5 * h * v[:, 3:]
    w, x = q[:, 3:4].copy(), q[:, 4:].copy()
    q[:, 3:4] = w - (x * half).sum(axis=1, keepdims=True)
    q[:, 4:] = x + w * half + np.cross(x, half)
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    return q.reshape(-1), v.reshape(-1), v.reshape(-1)[: count % 3] * gravity[2]


class SmoothDerivative(StepDerivative):
    """Derivative of a step by differences of fourth order."""

    def __init__(self, scheme, prepared, state, memory, h, solver, *, kappa=0.0):
        self.step, world = scheme.step(prepared, state, memory, h, solver), prepared.world
        count, parameters = int(memory["count"][0]), parameters_of(world)
        end, n = self.step.state, len(world.names)
        self.by = {
            "q": (6 * n,),
            "v": (6 * n,),
            "h": (1,),
            "h_before": (1,),
            "approach": memory["approach"].shape,
        }
        self.by |= {name: value.shape for name, value in parameters.items()}
        self.of = {"q": (6 * n,), "v": (6 * n,), "r": (0, 6), "approach": self.step.memory["approach"].shape}
        if count == 4:
            self.exists, self.notes = False, ("a kink by order",)
        if count in (2, 6):
            self.unique, self.notes = False, ("two answers by order",)

        def outcome(by, change):
            start = {"q": state.q, "v": state.v, "h": np.array([h]), "h_before": memory["h"]}
            start["approach"] = memory["approach"]
            values = dict(parameters)
            if by in values:
                values[by] = values[by] + change.reshape(values[by].shape)
            else:
                start[by] = moved(state.q, change) if by == "q" else start[by] + change
            q, v, approach = step_map(
                values, start["q"], start["v"], start["approach"], start["h"][0], start["h_before"][0], count
            )
            displacement = to_displacements(end.q, (q - end.q)[:, None])[:, 0]
            return {"q": displacement, "v": v, "r": np.zeros(0), "approach": approach}

        self.outcome, self.matrices = outcome, {}

    def matrix(self, of, by):
        """Return the derivative of a result by an input, computed at the first call."""
        if by not in self.matrices:
            size = int(np.prod(self.by[by]))
            columns = {name: np.zeros((int(np.prod(s)), size)) for name, s in self.of.items()}
            for i in range(size):
                e = EPS * np.eye(size)[i]
                outs = [self.outcome(by, s * e) for s in (1, -1, 2, -2)]
                for name in self.of:
                    a, b, c, d = (out[name] for out in outs)
                    columns[name][:, i] = (8 * (a - b) - (c - d)) / (12 * EPS)
            self.matrices[by] = columns
        return self.matrices[by][of]

    def forward(self, tangents):
        k = next(iter(tangents.values())).shape[1]
        return {
            of: sum(
                (self.matrix(of, by) @ t for by, t in tangents.items()), np.zeros((int(np.prod(shape)), k))
            )
            for of, shape in self.of.items()
        }

    def backward(self, cotangents, by):
        k = next(iter(cotangents.values())).shape[1]
        return {
            name: sum(
                (self.matrix(of, name).T @ w for of, w in cotangents.items()),
                np.zeros((int(np.prod(self.by[name])), k)),
            )
            for name in by
        }


def moved(q, displacement):
    """Return q with all bodies displaced, without linearisation."""
    q, d = q.reshape(-1, 7).copy(), displacement.reshape(-1, 6)
    q[:, :3] += d[:, :3]
    w, x, half = q[:, 3:4].copy(), q[:, 4:].copy(), 0.5 * d[:, 3:]
    q[:, 3:4] = w - (x * half).sum(axis=1, keepdims=True)
    q[:, 4:] = x + w * half + np.cross(x, half)
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1, keepdims=True)
    return q.reshape(-1)
