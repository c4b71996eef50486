"""Quantities that facts read from trajectories, and facts that several scenes share.

For systems of equations: times of impacts, turning points and energies, for any scheme. For worlds of bodies:
structures at rest, moving bodies (momentum, energy, Coulomb's law, overlaps), and poured bodies.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from stickslip.mechanics.given import rotation
from stickslip.mechanics.world import BodyKind
from stickslip.rotations import matrices
from stickslip.scenes.scenario import GRAVITY, Fact
from stickslip.simulation.contacts import WorldContacts
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array


def spacing(trajectory: Trajectory) -> float:
    """Return the largest time between two records, the uncertainty of a time read from them [s]."""
    return float(np.diff(trajectory.t).max(initial=0.0))


def impacts(trajectory: Trajectory, interaction: str, component: int = 0) -> Array:
    """Return the times at which a contact closes [s]: those of the events of the event-driven scheme, or the
    first record of each interval with impulses."""
    events = [e.t for e in trajectory.events if e.kind == "impact" and e.interaction == interaction]
    if trajectory.scheme == "event-driven":
        return np.array(events)
    pushes = trajectory.interaction(interaction).r[:, component] > 0.0
    return np.asarray(trajectory.t[1:][pushes[1:] & ~pushes[:-1]])


def energy(trajectory: Trajectory) -> Array:
    """Return the sum of kinetic and potential energy [J], shape (n,)."""
    return np.asarray(trajectory.kinetic + trajectory.potential)


def turning_points(t: Array, x: Array, v: Array) -> tuple[Array, Array]:
    """Return times and values of x where v changes sign, by linear interpolation [s], [unit of x]."""
    k = np.flatnonzero((v[1:] * v[:-1] < 0.0) | ((v[1:] == 0.0) & (v[:-1] != 0.0)))
    part = v[k] / (v[k] - v[k + 1])
    return t[k] + part * (t[k + 1] - t[k]), x[k] + part * (x[k + 1] - x[k])


def turn(angle: float, axis: int = 1) -> tuple[Array, Array]:
    """Return the rotation by `angle` [rad] about a coordinate axis: matrix, shape (3, 3), and quaternion."""
    p = rotation(np.eye(3)[axis], angle)
    return matrices(p), p


def zero(claim: str, values: Array | float, tolerance: float) -> Fact:
    """Return the fact that all values are zero within the tolerance; `measured` is the largest magnitude."""
    return Fact(claim, np.max(np.abs(values), initial=0.0), 0.0, tolerance)


def penetration_fact(run: Trajectory, names: Iterable[str], tolerance: float, bound: str = "") -> Fact:
    """Return the fact that the interactions `names` penetrate by at most `tolerance` [m]; `bound`: where the
    tolerance comes from."""
    least = min(float(run.interaction(name).y[:, 0].min()) for name in names)
    claim = f"deepest penetration [m], at most {bound or 'one step of the fastest approach'}"
    return zero(claim, min(0.0, least), tolerance)


def carried_forces(trajectory: Trajectory, levels: Sequence[Sequence[str]]) -> Array:
    """Return the vertical force with which each level of bodies, from below, is supported by the level under
    it [N], shape (n, levels): the sum of the forces on its bodies and on all above."""
    on = [np.sum([trajectory.forces_on(name)[:, 2] for name in level], axis=0) for level in levels]
    return np.asarray(np.cumsum(on[::-1], axis=0)[::-1].T)


def drift(trajectory: Trajectory) -> Array:
    """Return the largest distance of a body's centre from its initial position over time [m], shape (n,)."""
    x = trajectory.q.reshape(len(trajectory), -1, 7)[:, :, :3]
    return np.asarray(np.linalg.norm(x - x[0], axis=2).max(axis=1))


def speed(trajectory: Trajectory) -> Array:
    """Return the largest speed of a body's centre over time [m/s], shape (n,)."""
    v = trajectory.v.reshape(len(trajectory), -1, 6)[:, :, :3]
    return np.asarray(np.linalg.norm(v, axis=2).max(axis=1))


def weight(trajectory: Trajectory) -> float:
    """Return the total weight of the bodies [N]."""
    return GRAVITY * float(trajectory.model.mass.sum())


def balance_fact(trajectory: Trajectory, scale: float, unit: str = "") -> Fact:
    """Return the fact that the energy balance closes to rounding, which accumulates over the steps.

    `scale` is the size of the energies [J]. Errors are in joules, or relative to the scale if `unit` names
    it.
    """
    size = 1e-14 * max(trajectory.steps, 100)
    errors, rounding = (trajectory.balance / scale, size) if unit else (trajectory.balance, size * scale)
    return zero(f"largest error of the energy balance [{unit or 'J'}], rounding", errors, rounding)


def overlap_fact(trajectory: Trajectory, size: float) -> Fact:
    """Return the fact that bodies of this size [m] overlap by at most 1e-5 of it."""
    claim = "deepest overlap of two bodies [m], at most 1e-5 of their size"
    return zero(claim, trajectory.penetration, 1e-5 * size)


def stillness(trajectory: Trajectory) -> float:
    """Return the largest speed that the solver's tolerance allows to a body at rest [m/s].

    The tolerance is relative to the impulses of the total weight over a step, and the error may act on the
    lightest body alone. The factor 30 is a heuristic margin.
    """
    masses = trajectory.model.mass[trajectory.model.kind == BodyKind.DYNAMIC]
    fall = GRAVITY * float(trajectory.h.max())
    return float(30.0 * trajectory.tolerance * fall * masses.sum() / masses.min())


def rest_facts(trajectory: Trajectory, size: float) -> Iterator[Fact]:
    """Yield the facts that bodies of this size [m] stay at rest and that fixed bodies carry their weight."""
    excess = reactions(trajectory)[1:] - np.array([0.0, 0.0, weight(trajectory)])
    slow = stillness(trajectory)
    yield zero("largest displacement of a body [m], at most 1e-6 of its size", drift(trajectory),
               1e-6 * size)  # fmt: skip
    yield zero("speed of the fastest body at the end [m/s], within the solver's tolerance",
               speed(trajectory)[-1], slow)  # fmt: skip
    yield zero("reactions minus weight [of the weight], in every step, within the solver's tolerance",
               excess / weight(trajectory), 2.0 * slow / (GRAVITY * float(trajectory.h.max())))  # fmt: skip
    yield overlap_fact(trajectory, size)
    yield balance_fact(trajectory, weight(trajectory) * size)


SETTLED = 3.0
"""Time after which poured bodies with e = 0 have settled, over the time of free fall from the top [-];
heuristic."""
CALM = 0.02
"""Largest kinetic energy of settled bodies, over its maximum in the run [-]; heuristic: single bodies still
roll or rock."""


def supports(trajectory: Trajectory, contacts: WorldContacts | None = None) -> Array:
    """Return the total contact force of fixed and prescribed bodies on dynamic bodies, over the last step of
    each record [N], shape (n, 3).

    `contacts` holds the impulses; the default is the solver's own impulses, which moved the bodies.
    """
    contacts = trajectory.raw_contacts if contacts is None else contacts
    total = np.zeros((len(trajectory), 3))
    free = trajectory.model.kind[contacts.body] == BodyKind.DYNAMIC
    # Forces act on the first body; those between two dynamic bodies cancel.
    sign = free[:, 0].astype(float) - free[:, 1]
    np.add.at(total, contacts.record, sign[:, None] * contacts.force(trajectory.h)[0])
    return total


def reactions(trajectory: Trajectory) -> Array:
    """Return the force of the supports over time, from the impulses that the run reports [N], shape (n,
    3)."""
    return supports(trajectory, trajectory.contacts)


def momentum(trajectory: Trajectory) -> Array:
    """Return the total linear momentum of the bodies [N s], shape (n, 3)."""
    v = trajectory.v.reshape(len(trajectory), -1, 6)[:, :, :3]
    return np.einsum("b,nbi->ni", trajectory.model.mass, v)


def pull(trajectory: Trajectory) -> Array:
    """Return the force of gravity on all bodies [N], shape (3,)."""
    return np.asarray(trajectory.model.mass.sum() * trajectory.model.gravity)


def centre(trajectory: Trajectory) -> Array:
    """Return the centre of mass of all bodies [m], shape (n, 3)."""
    x = trajectory.q.reshape(len(trajectory), -1, 7)[:, :, :3]
    mass = trajectory.model.mass
    return np.einsum("b,nbi->ni", mass / mass.sum(), x)


def every_step(trajectory: Trajectory) -> bool:
    """Return whether every step is recorded, so that the forces of all steps are known."""
    return len(trajectory) - 1 == trajectory.steps


def law_facts(trajectory: Trajectory) -> Iterator[Fact]:
    """Yield the facts of Newton's second law for all bodies together and Coulomb's law for each contact."""
    # 1. Rate of the total momentum = weight + forces of the supports.
    W, total = pull(trajectory), supports(trajectory)
    if every_step(trajectory):
        change = np.diff(momentum(trajectory), axis=0) / trajectory.h[1:, None]
        error = np.abs(change - total[1:] - W).max()
        largest = float(np.linalg.norm(W) + np.abs(total).max())
        claim = "rate of momentum minus weight and supports' forces, in every step [of the largest force]"
        yield Fact(claim, error / largest, 0.0, 1e-9)
    # 2. |r_T| <= mu r_N.
    contacts = trajectory.raw_contacts
    excess = np.linalg.norm(contacts.r[:, 1:3], axis=1) - contacts.law[:, 0] * contacts.r[:, 0]
    largest_normal = float(contacts.r[:, 0].max(initial=0.0))
    yield Fact("largest excess of friction over mu times normal force [of the largest normal force]",
               max(0.0, float(excess.max(initial=0.0))) / (largest_normal or 1.0), 0.0, 1e-6)  # fmt: skip


def account_fact(trajectory: Trajectory) -> Fact:
    """Return the fact that the energy balance closes, including the energy that contacts dissipate."""
    scale = float(trajectory.kinetic.max() + np.abs(trajectory.potential).max() + trajectory.work[-1])
    return zero("error of the energy balance [of the largest energy], rounding",
                trajectory.balance / scale, 1e-12 * max(1.0, trajectory.steps / 1000))  # fmt: skip


def dissipation_fact(trajectory: Trajectory) -> Fact:
    """Return the fact that contacts do not create energy, within m (g h)².

    A contact whose frame rotates in a step may push along the velocity g h that gravity adds in it.
    """
    step = float(np.linalg.norm(trajectory.model.gravity)) * float(trajectory.h.max())
    scale = float(trajectory.kinetic.max())
    gained = np.maximum(-np.diff(trajectory.dissipated), 0.0)
    return zero("energy that contacts create in any step [of the largest kinetic], at most m (g h)²",
                gained / scale, float(trajectory.model.mass.sum()) * step**2 / scale)  # fmt: skip


def overlap_facts(trajectory: Trajectory, size: float, size_name: str) -> Iterator[Fact]:
    """Yield the facts that overlaps stay below the path of the fastest body in a step, and are 0 in most
    steps.

    Contacts are detected at the middle of a step, when each of two approaching bodies may have moved half a
    step too far. Overlaps are relative to `size` [m], whose name is `size_name`.
    """
    v = np.linalg.norm(trajectory.v.reshape(len(trajectory), -1, 6)[:, :, :3], axis=2)
    reach = float(trajectory.h.max()) * float(v.max())
    depth = trajectory.penetration / size
    yield Fact(f"deepest overlap in any step [of {size_name}], at most the fastest body's path in a step",
               depth.max(), 0.0, reach / size)  # fmt: skip
    yield Fact(f"median over the steps of the deepest overlap [of {size_name}]", np.median(depth), 0.0, 1e-2)


def settled_facts(trajectory: Trajectory, e: float) -> Iterator[Fact]:
    """Yield the facts that poured bodies are carried and nearly at rest in the last tenth of the run."""
    tail = trajectory.t >= 0.9 * trajectory.t[-1]
    if not every_step(trajectory) or tail.sum() < 2:
        return
    size, T = float(np.linalg.norm(pull(trajectory))), float(np.ptp(trajectory.t[tail]))
    force = supports(trajectory)[tail][1:].mean(axis=0)
    # The mean force is the weight plus the change of momentum over T.
    moving = 2.0 * float(np.linalg.norm(momentum(trajectory)[tail], axis=1).max()) / T
    yield zero("supports minus weight, mean over the last tenth [of the weight], up to remaining momentum",
               float(np.linalg.norm(force + pull(trajectory))) / size, moving / size + 1e-8)  # fmt: skip
    if trajectory.t[-1] >= SETTLED * fall_time(trajectory) * (1.0 + e) / max(1.0 - e, 1e-9):
        yield Fact(f"kinetic energy at the end, {SETTLED:g} fall times after the start [of its maximum]",
                   trajectory.kinetic[tail].mean() / trajectory.kinetic.max(), 0.0, CALM)  # fmt: skip


def shaken_facts(trajectory: Trajectory) -> Iterator[Fact]:
    """Yield the facts of pushed bodies that hold whether they slide or fall."""
    yield from law_facts(trajectory)
    yield account_fact(trajectory)
    yield dissipation_fact(trajectory)


def fall_time(trajectory: Trajectory) -> float:
    """Return the time in which the initially highest body would fall freely to z = 0 [s]."""
    height = float(trajectory.q[0].reshape(-1, 7)[:, 2].max())
    return float(np.sqrt(2.0 * max(height, 0.0) / np.linalg.norm(trajectory.model.gravity)))
