"""What facts read from runs, and facts that scenes share.

Of written equations: impacts, turning points, energies, whichever scheme made the run. Of bodies: those that
rest on fixed ones, many that move (momentum, energy, Coulomb's law, small overlaps), and poured ones.
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
    """Largest time between two records [s]: what a time read from them is uncertain by."""
    return float(np.diff(trajectory.t).max(initial=0.0))


def impacts(trajectory: Trajectory, interaction: str, component: int = 0) -> Array:
    """Times at which a contact closes [s]: of events where the scheme finds them, otherwise the first
    record of every stretch with an impulse."""
    found = [e.t for e in trajectory.events if e.kind == "impact" and e.interaction == interaction]
    if trajectory.scheme == "event-driven":
        return np.array(found)
    pushes = trajectory.interaction(interaction).r[:, component] > 0.0
    return np.asarray(trajectory.t[1:][pushes[1:] & ~pushes[:-1]])


def energy(trajectory: Trajectory) -> Array:
    """Kinetic and potential energy [J], shape (n,)."""
    return np.asarray(trajectory.kinetic + trajectory.potential)


def turning_points(t: Array, x: Array, v: Array) -> tuple[Array, Array]:
    """Times and places at which v changes sign, by linear interpolation [s], [unit of x]."""
    k = np.flatnonzero((v[1:] * v[:-1] < 0.0) | ((v[1:] == 0.0) & (v[:-1] != 0.0)))
    part = v[k] / (v[k] - v[k + 1])
    return t[k] + part * (t[k + 1] - t[k]), x[k] + part * (x[k + 1] - x[k])


def turn(angle: float, axis: int = 1) -> tuple[Array, Array]:
    """A turn by `angle` [rad] about a coordinate axis: its matrix, shape (3, 3), and unit quaternion."""
    p = rotation(np.eye(3)[axis], angle)
    return matrices(p), p


def none(claim: str, values: Array | float, tolerance: float) -> Fact:
    """What is zero, up to the tolerance: the largest size of the values counts."""
    return Fact(claim, np.max(np.abs(values), initial=0.0), 0.0, tolerance)


def penetration_fact(run: Trajectory, names: Iterable[str], tolerance: float, way: str = "") -> Fact:
    """Contacts of written equations do not go deeper than `way` says."""
    least = min(float(run.interaction(name).y[:, 0].min()) for name in names)
    claim = f"deepest penetration [m], {way or 'a step of the fastest approach'}"
    return none(claim, min(0.0, least), tolerance)


def carried_forces(trajectory: Trajectory, levels: Sequence[Sequence[str]]) -> Array:
    """Vertical force that each level of bodies, from below, gets from what is under it, over time [N], shape
    (n, levels): what acts on the bodies of a level and of all above it."""
    on = [np.sum([trajectory.forces_on(name)[:, 2] for name in level], axis=0) for level in levels]
    return np.asarray(np.cumsum(on[::-1], axis=0)[::-1].T)


def drift(trajectory: Trajectory) -> Array:
    """Farthest that the centre of any body is from its start, over time [m], shape (n,)."""
    x = trajectory.q.reshape(len(trajectory), -1, 7)[:, :, :3]
    return np.asarray(np.linalg.norm(x - x[0], axis=2).max(axis=1))


def speed(trajectory: Trajectory) -> Array:
    """Speed of the fastest centre of a body, over time [m/s], shape (n,)."""
    v = trajectory.v.reshape(len(trajectory), -1, 6)[:, :, :3]
    return np.asarray(np.linalg.norm(v, axis=2).max(axis=1))


def weight(trajectory: Trajectory) -> float:
    """Of all bodies together [N]."""
    return GRAVITY * float(trajectory.model.mass.sum())


def balance_fact(trajectory: Trajectory, scale: float, unit: str = "") -> Fact:
    """Energy of that scale [J] is accounted for to rounding, which adds up over the steps; in joules, or as a
    share of the scale where that is what `unit` says."""
    size = 1e-14 * max(trajectory.steps, 100)
    shares, rounding = (trajectory.balance / scale, size) if unit else (trajectory.balance, size * scale)
    return none(f"largest error of the balance of energy [{unit or 'J'}], rounding", shares, rounding)


def overlap_fact(trajectory: Trajectory, size: float) -> Fact:
    """Nothing sinks into anything."""
    claim = "deepest overlap of two bodies [m], 1e-5 of their size at most"
    return none(claim, trajectory.penetration, 1e-5 * size)


def stillness(trajectory: Trajectory) -> float:
    """Speed that a solved step may leave to a body at rest [m/s]: the solver's tolerance is of all impulses
    together, those of the whole weight over a step, and the lightest body may have the error; 30 times that.
    """
    masses = trajectory.model.mass[trajectory.model.kind == BodyKind.DYNAMIC]
    fall = GRAVITY * float(trajectory.h.max())
    return float(30.0 * trajectory.tolerance * fall * masses.sum() / masses.min())


def rest_facts(trajectory: Trajectory, size: float) -> Iterator[Fact]:
    """Bodies of this size [m] that stand: where they were, still, carried by what is fixed."""
    held = reactions(trajectory)[1:] - np.array([0.0, 0.0, weight(trajectory)])
    slow = stillness(trajectory)
    yield none("largest way of a body from its place [m], 1e-6 of the size at most", drift(trajectory),
               1e-6 * size)  # fmt: skip
    yield none("speed of the fastest body at the end [m/s], what the solver's tolerance leaves",
               speed(trajectory)[-1], slow)  # fmt: skip
    yield none("reactions less the weight [of the weight], in every step, what such speeds make of it",
               held / weight(trajectory), 2.0 * slow / (GRAVITY * float(trajectory.h.max())))  # fmt: skip
    yield overlap_fact(trajectory, size)
    yield balance_fact(trajectory, weight(trajectory) * size)


SETTLED = 3.0
"""Times of free fall from the top after which bodies that do not bounce have settled [-]."""
CALM = 0.02
"""Kinetic energy that they may have then: single ones still roll or rock [of its largest]."""


def supports(trajectory: Trajectory, contacts: WorldContacts | None = None) -> Array:
    """Sum of contact forces of all that is fixed or moves as prescribed on the bodies that do not, over the
    last step of each record [N], shape (n, 3): of the solver's impulses, which moved the bodies, or those of
    `contacts`."""
    contacts = trajectory.raw_contacts if contacts is None else contacts
    total = np.zeros((len(trajectory), 3))
    free = trajectory.model.kind[contacts.body] == BodyKind.DYNAMIC
    sign = free[:, 0].astype(float) - free[:, 1]  # forces are on the first body; those between two cancel
    np.add.at(total, contacts.record, sign[:, None] * contacts.force(trajectory.h)[0])
    return total


def reactions(trajectory: Trajectory) -> Array:
    """What supports do over time [N], shape (n, 3): of the impulses that are told."""
    return supports(trajectory, trajectory.contacts)


def momentum(trajectory: Trajectory) -> Array:
    """Of all bodies together [N s], shape (n, 3)."""
    v = trajectory.v.reshape(len(trajectory), -1, 6)[:, :, :3]
    return np.einsum("b,nbi->ni", trajectory.model.mass, v)


def pull(trajectory: Trajectory) -> Array:
    """Of all bodies together [N], shape (3,)."""
    return np.asarray(trajectory.model.mass.sum() * trajectory.model.gravity)


def centre(trajectory: Trajectory) -> Array:
    """Centre of mass of all bodies [m], shape (n, 3)."""
    x = trajectory.q.reshape(len(trajectory), -1, 7)[:, :, :3]
    mass = trajectory.model.mass
    return np.einsum("b,nbi->ni", mass / mass.sum(), x)


def every_step(trajectory: Trajectory) -> bool:
    """Whether the records are one step apart, so that forces of all steps are known."""
    return len(trajectory) - 1 == trajectory.steps


def law_facts(trajectory: Trajectory) -> Iterator[Fact]:
    """What contacts may do: Newton's second law for all bodies together, and Coulomb's law for each."""
    W, total = pull(trajectory), supports(trajectory)
    if every_step(trajectory):
        change = np.diff(momentum(trajectory), axis=0) / trajectory.h[1:, None]
        off = np.abs(change - total[1:] - W).max()
        largest = float(np.linalg.norm(W) + np.abs(total).max())
        claim = "momentum: its rate less the weight and the supports' forces, in every step [of the largest]"
        yield Fact(claim, off / largest, 0.0, 1e-9)
    contacts = trajectory.raw_contacts
    beyond = np.linalg.norm(contacts.r[:, 1:3], axis=1) - contacts.law[:, 0] * contacts.r[:, 0]
    pressing = float(contacts.r[:, 0].max(initial=0.0))
    yield Fact("friction beyond mu times normal force, at any contact [of the largest normal force]",
               max(0.0, float(beyond.max(initial=0.0))) / (pressing or 1.0), 0.0, 1e-6)  # fmt: skip


def account_fact(trajectory: Trajectory) -> Fact:
    """The account of energy closes, whatever contacts took."""
    scale = float(trajectory.kinetic.max() + np.abs(trajectory.potential).max() + trajectory.work[-1])
    return none("error of the balance of energy [of the largest energy], rounding",
                trajectory.balance / scale, 1e-12 * max(1.0, trajectory.steps / 1000))  # fmt: skip


def dissipation_fact(trajectory: Trajectory) -> Fact:
    """Contacts take energy, and do not give it; but a contact whose rows turn in a step may push along the
    velocity g h that gravity gives in it."""
    step = float(np.linalg.norm(trajectory.model.gravity)) * float(trajectory.h.max())
    scale = float(trajectory.kinetic.max())
    gained = np.maximum(-np.diff(trajectory.dissipated), 0.0)
    return none("energy that contacts gave in any step [of the largest kinetic], up to m (g h)²",
                gained / scale, float(trajectory.model.mass.sum()) * step**2 / scale)  # fmt: skip


def overlap_facts(trajectory: Trajectory, size: float, what: str) -> Iterator[Fact]:
    """Bodies that meet are first seen to touch at the middle of a step, when each may have gone half a step
    too far: so deep they may overlap, and no deeper. In most steps none do."""
    v = np.linalg.norm(trajectory.v.reshape(len(trajectory), -1, 6)[:, :, :3], axis=2)
    reach = float(trajectory.h.max()) * float(v.max())
    depth = trajectory.penetration / size
    yield Fact(f"deepest overlap at the end of any step [of {what}], up to the fastest body's way in a step",
               depth.max(), 0.0, reach / size)  # fmt: skip
    yield Fact(f"median over the steps of the deepest overlap [of {what}]", np.median(depth), 0.0, 1e-2)


def settled_facts(trajectory: Trajectory, e: float) -> Iterator[Fact]:
    """Bodies that were poured end carried by the supports, all but still: over the last tenth of the run."""
    tail = trajectory.t >= 0.9 * trajectory.t[-1]
    if not every_step(trajectory) or tail.sum() < 2:
        return
    size, T = float(np.linalg.norm(pull(trajectory))), float(np.ptp(trajectory.t[tail]))
    force = supports(trajectory)[tail][1:].mean(axis=0)
    # The mean of the forces is the weight and the change of momentum over the time.
    moving = 2.0 * float(np.linalg.norm(momentum(trajectory)[tail], axis=1).max()) / T
    yield none("supports less weight, mean over the last tenth [of the weight]; what still moves may differ",
               float(np.linalg.norm(force + pull(trajectory))) / size, moving / size + 1e-8)  # fmt: skip
    if trajectory.t[-1] >= SETTLED * fall_time(trajectory) * (1.0 + e) / max(1.0 - e, 1e-9):
        yield Fact(f"kinetic energy at the end, {SETTLED:g} fall times after the start [of its largest]",
                   trajectory.kinetic[tail].mean() / trajectory.kinetic.max(), 0.0, CALM)  # fmt: skip


def shaken_facts(trajectory: Trajectory) -> Iterator[Fact]:
    """What holds of bodies that were pushed, wherever they slide or fall."""
    yield from law_facts(trajectory)
    yield account_fact(trajectory)
    yield dissipation_fact(trajectory)


def fall_time(trajectory: Trajectory) -> float:
    """Time in which the highest body at the start would fall to z = 0 [s]."""
    height = float(trajectory.q[0].reshape(-1, 7)[:, 2].max())
    return float(np.sqrt(2.0 * max(height, 0.0) / np.linalg.norm(trajectory.model.gravity)))
