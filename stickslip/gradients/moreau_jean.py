"""The derivative of a step of Moreau-Jean for worlds.

The problem of the step is differentiated by the implicit function theorem at its solution
(`solution_linear.py`), the motion and the assembly around it exactly (`moreau_jean_assembly.py`), for the
contacts and stops that are active. Users' functions (forces, efforts, motions) are differentiated by central
differences of the function alone.

The position correction is not differentiated: it is swept until it is good enough, which is no function of
its own. Where it moved bodies the map is that of the step without it, and says so: differentiate with
`correction=False`. Parts of the law that are not there have derivatives of 0: by mu_roll and mu_spin where
they are 0, and with Poisson's impact by e where it is 0.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np

from stickslip.gradients.derivative import flat_change
from stickslip.gradients.moreau_jean_assembly import Assembly, Changed
from stickslip.gradients.moreau_jean_columns import BODYWISE, BodyColumns
from stickslip.gradients.moreau_jean_joints import JointBlocks
from stickslip.gradients.moreau_jean_kinks import kinks_of
from stickslip.gradients.moreau_jean_parts import Parts
from stickslip.gradients.moreau_jean_poisson import TwoPhases
from stickslip.gradients.moreau_jean_response import Response, Solved, Untouched
from stickslip.gradients.step import StepDerivative
from stickslip.linalg.threads import single_threaded
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.states import SEPARATING
from stickslip.schemes.bodies import Finder, MoreauJeanBodies
from stickslip.schemes.body_step import BodyStep
from stickslip.schemes.step import Memory, Solver
from stickslip.state import Array, BoolArray, ModelError, State

ENTRIES = 2_000_000
"""Numbers of rows that are held at once: as many directions are taken together as fit."""
MANY = 8
"""Bodies from which on matrices by what belongs to bodies are made row by row."""


@single_threaded
def moreau_jean_derivative(
    scheme: MoreauJeanBodies, world: World, state: State, memory: Memory, h: float, solver: Solver,
    detector: Finder, *, kappa: float = 0.0,
) -> "MoreauJeanDerivative":  # fmt: skip
    """Make a step of length h [s] and differentiate it; kappa: smoothing of the laws [J], 0 for none.

    A ModelError where a contact bears whose shapes have no gap in closed form: spheres, capsules and
    cuboids on planes and pairs of spheres have one.
    """
    step = scheme.step(world, state, memory, h, solver, detector)
    joints = JointBlocks.of(step.memory["joint_id"], step.memory["joint_size"])
    assembly = Assembly(
        world, state, h, scheme.theta, scheme.impact == "newton", step.contacts, _bearing(step), joints
    )
    response = _answer(assembly, step, kappa)
    return MoreauJeanDerivative(scheme, step, assembly, response, detector, kappa)


class MoreauJeanDerivative(StepDerivative):
    """The derivative of a step of `MoreauJeanBodies`."""

    def __init__(
        self, scheme: MoreauJeanBodies, step: BodyStep, assembly: Assembly, response: Response,
        detector: Finder, kappa: float,
    ):  # fmt: skip
        self.step, self.kappa = step, kappa
        self._assembly, self._response = assembly, response
        n, given = assembly.bodies.count, assembly.given
        parameters = {name: getattr(given, name).shape for name in Parameters.names()}
        self.by = {"q": (6 * n,), "v": (6 * n,), "h": (1,), **parameters}
        self.of = {"q": (6 * n,), "v": (6 * n,), "r": step.r.shape}
        notes = kinks_of(scheme, step, assembly, response, detector)
        self.exists = response.exists and not notes
        self.unique = response.unique
        self.notes = (*response.notes, *notes)

    @single_threaded
    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Changes of q, v and r, each of shape (size, k)."""
        self._check(tangents, self.by)
        k = next((x.shape[1] for x in tangents.values()), 0)
        parts = [self._forward({name: x[:, part] for name, x in tangents.items()}) for part in self._parts(k)]
        if not parts:
            return {name: np.zeros((int(np.prod(shape)), 0)) for name, shape in self.of.items()}
        return {name: np.concatenate([part[name] for part in parts], axis=1) for name in self.of}

    @single_threaded
    def backward(self, cotangents: Mapping[str, Array], by: Iterable[str]) -> dict[str, Array]:
        """Weights of `by`, each of shape (size, k)."""
        wanted = tuple(by)
        self._check(cotangents, self.of)
        self._check(dict.fromkeys(wanted), self.by)
        k = next((x.shape[1] for x in cotangents.values()), 0)
        nv, nc = 6 * self._assembly.bodies.count, len(self._assembly.contacts)
        on_q, on_v = (cotangents.get(name, np.zeros((nv, k))) for name in ("q", "v"))
        on_r = np.zeros((self._response.r.size, k))
        if "r" in cotangents:
            slot = self._assembly.slot
            on_r[: slot.size] = cotangents["r"].reshape(6 * nc, k)[slot]
        causes = self._response.backward(self._on_middle(on_q, on_v), on_r)
        own = tuple(name for name in wanted if name in BODYWISE)
        others = tuple(name for name in wanted if name not in own)
        found = self._backward(others, on_q, on_v, causes) if others else {}
        if own:
            most = max(1, self._most // max(k, 1))
            found |= self._columns.gradients(own, on_q, on_v, self._response, causes, most)
        return found

    def jacobian(self, of: str, by: str) -> Array:
        """The whole matrix, shape (size of `of`, size of `by`), both flat."""
        if of not in self.of or by not in BODYWISE or self._assembly.bodies.count < MANY:
            return super().jacobian(of, by)
        rows = int(np.prod(self.of[of], dtype=int))
        return self.backward({of: np.eye(rows)}, (by,))[by].T.copy()

    def mismatch(self, **tangents: Any) -> float:
        """How much of these changes no change of impulses can follow, 0 to 1.

        0 wherever impulses are unique. Where they are not, contacts and joints hold each other: a change that
        would make one of them open has no derivative, and `jvp` is the nearest one that keeps all closed.
        """
        given = {name: flat_change("by", self.by, name, value) for name, value in tangents.items()}
        at = self._assembly.middle(self._assembly.inputs(given))
        return float(self._response.mismatch(self._response.changed(at, 1)).max(initial=0.0))

    def _forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        assembly, response = self._assembly, self._response
        k = next(x.shape[1] for x in tangents.values())
        at = assembly.middle(assembly.inputs(tangents))
        dv, dr = response.forward(response.changed(at, k))
        q, v = assembly.arrival(at, response.v, k, dv)
        r = np.zeros((self.step.r.size, k))
        r[assembly.slot] = dr[: assembly.slot.size]
        return {"q": q, "v": v, "r": r}

    def _on_middle(self, on_q: Array, on_v: Array) -> Array:
        """Weights of the velocities of the dynamic bodies after the impulses, shape (6 nd, k)."""
        dynamic, k = self._assembly.bodies.dynamic, on_q.shape[1]
        by_q, by_v = self._assembly.arrival_by_v(self._response.v)
        q, v = (x.reshape(-1, 6, k)[dynamic] for x in (on_q, on_v))
        both = np.einsum("nij,nik->njk", by_q, q) + np.einsum("nij,nik->njk", by_v, v)
        return both.reshape(-1, k)

    def _backward(
        self, wanted: tuple[str, ...], on_q: Array, on_v: Array, causes: tuple[Changed, ...]
    ) -> dict[str, Array]:
        """Weights of all that is wanted, from those of what it changes in the problem and on the way to the
        end: directions are taken together, one number after the other."""
        assembly, response = self._assembly, self._response
        sizes = [int(np.prod(self.by[name], dtype=int)) for name in wanted]
        ends = np.cumsum([0, *sizes])
        out = np.zeros((int(ends[-1]), on_q.shape[1]))
        for part in self._parts(int(ends[-1])):
            k, tangents = part.stop - part.start, {}
            for name, first, size in zip(wanted, ends[:-1].tolist(), sizes, strict=True):
                own = np.eye(size, k, first - part.start)
                if own.any():
                    tangents[name] = own
            at = assembly.middle(assembly.inputs(tangents))
            q, v = assembly.arrival(at, response.v, k)
            found = q.T @ on_q + v.T @ on_v
            for change, weight in zip(response.changed(at, k), causes, strict=True):
                found = found + change.dotted(weight)
            out[part] = found
        return dict(zip(wanted, np.split(out, ends[1:-1]), strict=True))

    @cached_property
    def _columns(self) -> BodyColumns:
        return BodyColumns(self._assembly)

    @property
    def _most(self) -> int:
        """Directions that fit into memory together."""
        rows = 12 * self._response.r.size + 100 * self._assembly.bodies.count
        return max(1, ENTRIES // max(rows, 1))

    def _parts(self, k: int) -> Iterator[slice]:
        """All columns in parts that fit into memory."""
        return (slice(at, min(at + self._most, k)) for at in range(0, k, self._most))

    @staticmethod
    def _check(given: Mapping[str, object], known: Mapping[str, object]) -> None:
        for name in given:
            if name not in known:
                raise ModelError(f"no derivative with {name!r}; {alternatives(name, known)}")


def _answer(assembly: Assembly, step: BodyStep, kappa: float) -> Response:
    """What bodies answer in a step, whatever it rests on."""
    if not step.solves:
        return Untouched(assembly)
    if len(step.solves) == 1:
        return Solved(assembly, step, kappa)
    return Parts(assembly, step, kappa) if assembly.newton else TwoPhases(assembly, step, kappa)


def _bearing(step: BodyStep) -> BoolArray:
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
