"""What a simulation leaves: every recorded step as arrays, by system and by interaction."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from typing import Any

import numpy as np

from stickslip.problem.checks import Array, IntArray
from stickslip.problem.contact import Level
from stickslip.schemes.step import Event
from stickslip.schemes.work import contact_work
from stickslip.simulation import energy
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.clock import Clock
from stickslip.simulation.model import Model
from stickslip.simulation.states import state_names
from stickslip.simulation.verdicts import RunVerdict
from stickslip.state import BoolArray, State
from stickslip.systems.system import NonsmoothSystem


@dataclass(frozen=True, eq=False)
class SystemView:
    """One system of a trajectory."""

    name: str
    q: Array
    """Coordinates, or states x in first order [m, rad, or any], shape (n, nq)."""
    v: Array
    """Velocities [m/s, rad/s], shape (n, nv)."""
    z: Array
    """Discrete parameters [any], shape (n, nz)."""

    @property
    def x(self) -> Array:
        """States of a first-order system [any], shape (n, nx)."""
        return self.q


@dataclass(frozen=True, eq=False)
class InteractionView:
    """One interaction of a trajectory."""

    name: str
    u: Array
    """What the law constrained: ẏ [m/s], or y [m] at position level, shape (n, m)."""
    y: Array
    """Outputs: gaps [m] come first in a contact, shape (n, m)."""
    active: BoolArray
    """Blocks that entered the problem [-], shape (n, blocks), bool."""
    states: np.ndarray
    """What each block does, by name [-], shape (n, blocks), text."""
    tell: Callable[[], tuple[Array, IntArray]] = field(repr=False)
    """Gives `r` and how it was chosen, when they are asked for."""

    @property
    def r(self) -> Array:
        """Impulses since the record before [N s], or values lam in first order, shape (n, m); of many with
        the same motion those of least norm."""
        return self.tell()[0]

    @property
    def unique(self) -> BoolArray:
        """Whether the impulse of a block is known to be the same in every certified answer [-], shape
        (n, blocks), bool."""
        return np.asarray(self.tell()[1] == 1)


@dataclass(frozen=True, eq=False)
class Trajectory(RunVerdict):
    """The recorded instants of a run, row 0 being the start. All arrays are over the n instants."""

    model: Model
    """Systems and interactions: names, sizes, laws."""
    t: Array
    """Times [s], shape (n,)."""
    h: Array
    """Length of the step that ended there [s], shape (n,); 0 at the start."""
    q: Array
    """Coordinates of all systems, states x of first-order ones [m, rad, or any], shape (n, nq)."""
    v: Array
    """Velocities of all systems [m/s, rad/s], shape (n, nv)."""
    z: Array
    """Discrete parameters of all systems [any], shape (n, nz)."""
    solver_r: Array
    """Impulses since the record before as the solver found them [N s]; values lam at the end of the step in
    first order, shape (n, size). `r` has those that are told."""
    u: Array
    """What the laws constrained: ẏ [m/s], or y [m] at position level, shape (n, size)."""
    y: Array
    """Outputs at the instants [m, rad, or any], shape (n, size)."""
    active: BoolArray
    """Blocks that entered a problem since the record before [-], shape (n, blocks), bool."""
    forecast: Array
    """Forecast gaps that decided it in the last step [m], shape (n, blocks); -inf: always active."""
    verdicts: IntArray
    """The worst of the steps since the record before, by `Verdict.code`: 0 certified, 1 relaxed, 2 missed
    [-], shape (n,)."""
    natural: Array
    """Largest natural residual since the record before [-], shape (n,)."""
    natural_scaled: Array
    """Largest unit-free natural residual since the record before [-], shape (n,)."""
    iterations: IntArray
    """Iterations of the solver since the record before [-], shape (n,)."""
    newton: IntArray
    """Newton iterations of the scheme since the record before [-], shape (n,)."""
    index: IntArray
    """Steps since the clock's origin [-], shape (n,); -1 at the end of a shortened step."""
    memory: dict[str, Array]
    """The scheme's memory by name [any], shape (n, ...) each."""
    measures: dict[str, Array]
    """What else the scheme measured, by name with its unit [see the name], shape (n,) each; the largest since
    the record before (contact work: the sum), NaN where it was not measured."""
    events: tuple[Event, ...]
    """What happened, in order."""
    scheme: str
    """Name of the scheme."""
    scheme_options: dict[str, Any]
    """Its options."""
    solver: str
    """Name of the solver."""
    tolerance: float
    """Its tolerance [-]."""
    clock: Clock
    """Where counting began, and the length of a full step."""
    steps: int
    """Steps taken, recorded or not."""
    missed: int
    """How many of them missed their tolerance."""
    relaxation: str
    """What stood in the place of the exact law; empty where nothing did."""
    forces: str
    """Which of many impulses are told: those of `least` norm, or the `solver`'s."""
    derive: "Callable[[str, Trajectory], Array]" = field(repr=False)
    """Gives kinetic, potential and contact_work when they are first asked for [J], shape (n,) each."""
    choose: "Callable[[Trajectory], tuple[Array, IntArray]] | None" = field(default=None, repr=False)
    """Gives `r` and `choice` when they are first asked for; None: the solver's."""

    def __len__(self) -> int:
        return self.t.size

    @cached_property
    def _told(self) -> tuple[Array, IntArray]:
        """Impulses, and how they were chosen."""
        if self.choose is None:
            return self.solver_r, np.zeros(self.active.shape, np.int64)
        return self.choose(self)

    @property
    def r(self) -> Array:
        """Impulses since the record before [N s]; values lam at the end of the step in first order, shape
        (n, size). Where others are certified with the same motion they are those of least norm, unless
        `forces` is `solver`; they are chosen when first asked for."""
        return self._told[0]

    @property
    def choice(self) -> IntArray:
        """How the impulses of each block were chosen [-], shape (n, blocks): 0 the solver's, and whether
        there are others is not known; 1 the same in every certified answer; 2 of many, those of least norm.
        """
        return self._told[1]

    @cached_property
    def kinetic(self) -> Array:
        """Kinetic energy [J], shape (n,)."""
        return self.derive("kinetic", self)

    @cached_property
    def potential(self) -> Array:
        """Potential energy, of those systems that know it [J], shape (n,)."""
        return self.derive("potential", self)

    @cached_property
    def contact_work(self) -> Array:
        """Work Σ r·(u⁻ + u⁺)/2 of the contact impulses since the start of the first run [J], shape (n,).

        u = H'v + ∂y/∂t with H at the beginning of each step. Between bodies it is what the contacts take
        out. It grows for a moment where forces turn a contact's velocity round within a step, and where
        Newton's restitution meets friction at coupled contacts, which can give energy (Kane and Levinson
        1985). A moving wall is taken to be at rest. A scheme that resolves what happens within a step tells
        its work itself, or it is NaN: not known.
        """
        return self.derive("contact_work", self)

    @property
    def relaxed(self) -> bool:
        """Whether another law stood in the place of the exact one, so that residuals certify nothing."""
        return bool(self.relaxation)

    @property
    def energy(self) -> Array:
        """Kinetic and potential energy [J], shape (n,)."""
        return self.kinetic + self.potential

    def system(self, name: str) -> SystemView:
        """One system by name: .q, .v, .z, or .x in first order."""
        _, q, v, z = self.model.system(name)
        return SystemView(name, self.q[:, q], self.v[:, v], self.z[:, z])

    def interaction(self, name: str) -> InteractionView:
        """One interaction by name: .r, .u, .y, .active, .states, .unique."""
        part, components, blocks = self.model.interaction(name)
        u = self.u[:, components]
        single = self.index[1:] - self.index[:-1] == 1
        span = np.concatenate([[0.0], np.where(single, self.h[1:], np.diff(self.t))])
        names = state_names(part, span, self.solver_r[:, components], u)
        return InteractionView(
            name, u, self.y[:, components], self.active[:, blocks], names,
            lambda: (self.r[:, components], self.choice[:, blocks]),
        )  # fmt: skip

    def checkpoint(self, k: int = -1) -> Checkpoint:
        """What `simulate(..., start=...)` takes to go on from record k, bit for bit."""
        n = len(self)
        if not -n <= k < n:
            raise IndexError(f"record {k} of a trajectory of {n} records")
        k %= n
        t, index = float(self.t[k]), int(self.index[k])
        clock = Clock(self.clock.origin, self.clock.h, index) if index >= 0 else Clock(t, self.clock.h)
        return Checkpoint(
            State(t, *(np.asarray(_read_only(a[k])) for a in (self.q, self.v, self.z))),
            {name: np.array(rows[k]) for name, rows in self.memory.items()},
            clock, float(self.contact_work[k]), self.model,
            self.scheme, self.scheme_options, self.solver, self.tolerance,
        )  # fmt: skip

    @property
    def penetration(self) -> float:
        """Deepest penetration of any unilateral contact of mechanics [m]; 0 where there was none."""
        from stickslip.simulation.summary import penetration

        return penetration(self)

    @property
    def opening(self) -> float:
        """Largest |y| of any bilateral constraint of mechanics [m, rad]; 0 where there was none."""
        from stickslip.simulation.summary import opening

        return opening(self)

    def save(self, path: str | PathLike[str]) -> None:
        """Write it to an HDF5 file, which `read_trajectory` reads back bit for bit."""
        from importlib import import_module

        # Files look at trajectories, and a trajectory at files only when it is asked to.
        import_module("stickslip.files.trajectories").write_trajectory(path, self)

    def _repr_html_(self) -> str:
        """How notebooks show it."""
        from importlib import import_module

        # The room that draws is above this one, and is looked at only when there is something to be seen.
        return str(import_module("stickslip.view.notebook").curves_html(self))

    def __str__(self) -> str:
        from stickslip.simulation.summary import summary

        return summary(self)


def derived(system: NonsmoothSystem, work: Array, before: float) -> Callable[[str, Trajectory], Array]:
    """Energies of a trajectory of `system`: `work` [J] holds NaN for steps whose work is to be computed."""

    def derive(name: str, of: Trajectory) -> Array:
        if name == "kinetic":
            return energy.kinetic(system, of.t, of.q, of.v, of.z)
        if name == "potential":
            return energy.potential(system, of.t, of.q, of.z)
        steps = np.array(work[1:])
        missing = np.isnan(steps)
        inside = any(part.level is Level.ACCELERATION for part in of.model.interactions)
        if missing.any() and inside:
            # Impacts lie within the steps, at velocities that their ends do not show.
            steps[missing] = np.where(of.solver_r[1:].any(axis=1), np.nan, 0.0)[missing]
        elif missing.any():
            impulses = np.where(missing[:, None], of.solver_r[1:], 0.0)
            found = contact_work(system, of.t, of.h[1:], of.q, of.v, of.z, impulses)
            steps[missing] = found[missing]
        return np.cumsum(np.concatenate([[before], steps]))

    return derive


def _read_only(array: Array) -> Array:
    copy = np.array(array)
    copy.flags.writeable = False
    return copy
