"""Random worlds as plain numbers: bodies, a ground, joints, and the scheme of their run.

Every body has explicit mass and inertia, so that the formulas of `motions.py` need no other data. Most have
isotropic inertia, so that contact velocities follow from the recorded states alone.
"""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from benchmarks.attack.blocks import Random, spread

BALL, CUBOID, CAPSULE, HULL, CYLINDER = "ball", "cuboid", "capsule", "hull", "cylinder"
GRAVITY = 9.81
REDUCED = "moreau-jean-reduced"
"""The scheme of robots."""


@dataclass(frozen=True)
class Body:
    """One body."""

    shape: str
    """ball, cuboid, capsule, hull or cylinder."""
    size: tuple[float, ...]
    """Dimensions [m] in the order of the shapes: radius; edges; radius and length; edges of the hull's box;
    radius and height."""
    mass: float
    """Mass [kg]."""
    inertia: tuple[float, float, float]
    """Principal moments [kg m²]."""
    position: tuple[float, ...]
    """Position of the centre [m]."""
    quaternion: tuple[float, ...]
    """Orientation, scalar first [-]."""
    velocity: tuple[float, ...]
    """Velocity of the centre [m/s]."""
    spin: tuple[float, ...]
    """Angular velocity in the inertial frame [rad/s]."""

    @property
    def reach(self) -> float:
        """Radius of the bounding sphere about the centre [m]."""
        s = self.size
        if self.shape == BALL:
            return s[0]
        if self.shape in (CUBOID, HULL):
            return 0.5 * float(np.linalg.norm(s))
        return 0.5 * s[1] + s[0] if self.shape == CAPSULE else float(np.hypot(s[0], 0.5 * s[1]))

    @property
    def points(self) -> np.ndarray:
        """Points whose hull, inflated by `radius`, is the shape [m], shape (k, 3); none for cylinders."""
        s = np.array(self.size)
        if self.shape == BALL:
            return np.zeros((1, 3))
        if self.shape == CAPSULE:
            return np.array([[0.0, 0.0, 0.5 * s[1]], [0.0, 0.0, -0.5 * s[1]]])
        if self.shape == CUBOID:
            signs = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, -1).T
            return signs * s
        if self.shape == HULL:
            return hull_points(s)
        return np.zeros((0, 3))

    @property
    def radius(self) -> float:
        """Radius by which the hull of the points is inflated [m]."""
        return self.size[0] if self.shape in (BALL, CAPSULE) else 0.0


def hull_points(size: np.ndarray) -> np.ndarray:
    """Vertices of a truncated octahedron with centre 0 [m], shape (24, 3)."""
    base = np.array([[1.0, 0.4, 0.2], [0.2, 1.0, 0.4], [0.4, 0.2, 1.0]])
    signs = np.array(np.meshgrid([-0.5, 0.5], [-0.5, 0.5], [-0.5, 0.5])).reshape(3, -1).T
    return (base[:, None, :] * signs[None]).reshape(-1, 3) * size


@dataclass(frozen=True)
class Plan:
    """A world and the settings of its run."""

    family: str
    bodies: tuple[Body, ...]
    ground: str
    """plane, terrain or none."""
    gravity: float
    """Gravity, downwards [m/s²]."""
    mu: float
    mu_roll: float
    e: float
    joints: tuple[tuple[str, int, int, tuple[float, ...]], ...]
    """Kind, first body, second body (-1: the inertial frame) and the point [m]."""
    h: float
    """Step [s]."""
    steps: int
    scheme: str
    """moreau-jean-semi-explicit, variational-bodies, or moreau-jean-reduced (around a robot)."""
    options: dict[str, Any] = field(default_factory=dict)
    """Options of the scheme."""
    solver: str = "auto"
    tolerance: float = 1e-8
    forces: str = "least"
    """Recorded impulses: `least` or `solver`."""

    @property
    def isotropic(self) -> bool:
        """Whether every body has isotropic inertia."""
        return all(len(set(body.inertia)) == 1 for body in self.bodies)

    @property
    def exact(self) -> bool:
        """Whether the scheme solves Coulomb's law; other models of friction do if there is no friction."""
        alone = self.ground == "none" and len(self.bodies) < 2
        return self.options.get("contact", "cone") == "cone" or self.mu == 0.0 or alone


def turned(rng: Random) -> tuple[float, ...]:
    """Return a random orientation."""
    p = rng.normal(size=4)
    return tuple(p / np.linalg.norm(p))


def body(rng: Random, shapes: tuple[str, ...], ball_like: bool, decades: float = 1.0) -> Body:
    """Return a random body at the origin, at rest."""
    shape = str(rng.choice(shapes))
    s = 0.1 * rng.uniform(0.5, 1.5, size=3)
    size = {BALL: s[:1], CUBOID: 2.0 * s, CAPSULE: s[:2], HULL: 2.0 * s, CYLINDER: s[:2]}[shape]
    m = spread(rng, decades)
    a = 0.4 * m * float(s.mean()) ** 2
    inertia = (a, a, a) if ball_like or shape == BALL else (a, 1.3 * a, 1.7 * a)
    return Body(shape, tuple(map(float, size)), m, inertia, (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0),
                (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))  # fmt: skip


def _changed(one: Body, **changes: Any) -> Body:
    """Return the body with changed vectors."""
    plain = {name: tuple(map(float, value)) for name, value in changes.items()}
    return replace(one, **plain)


def plan(rng: Random) -> Plan:
    """Return a random world with a scheme."""
    variational = rng.random() < 0.3
    family = str(
        rng.choice(
            ["fall", "stack", "cloud", "terrain", "jointed", "slide"], p=[0.3, 0.2, 0.15, 0.1, 0.15, 0.1]
        )
    )
    shapes = (BALL, CUBOID, CAPSULE) if variational else (BALL, CUBOID, CAPSULE, HULL, CYLINDER)
    if variational and family == "terrain":
        family = "fall"
    ball_like = rng.random() < 0.7
    mu = float(rng.choice([0.0, rng.uniform(0.05, 1.2)], p=[0.2, 0.8]))
    e = float(rng.choice([0.0, rng.uniform(0.1, 1.0), 1.0], p=[0.5, 0.4, 0.1]))
    bodies, joints = FAMILIES[family](rng, shapes, ball_like)
    if variational:  # of the pairs of shapes, only balls have closed forms
        balls = [one for one in bodies if one.shape == BALL]
        bodies = bodies[:1] if not balls or (family != "cloud" and rng.random() < 0.5) else balls
        joints = [j for j in joints if j[1] < len(bodies) and j[2] < len(bodies)]
    gravity = 0.0 if family == "cloud" else GRAVITY
    ground = {"cloud": "none", "jointed": "none", "terrain": "terrain"}.get(family, "plane")
    h = float(rng.choice([1e-3, 5e-3, 1e-2]))
    mu_roll = float(rng.choice([0.0, 1e-3], p=[0.9, 0.1]))
    options: dict[str, Any] = {}
    if variational:
        options = {"contact": str(rng.choice(["cone", "pyramid", "impact"], p=[0.8, 0.1, 0.1]))}
    elif rng.random() < 0.3:
        options = {"impact": "poisson"} if rng.random() < 0.5 else {"correction": False}
    return Plan(
        family, tuple(bodies), ground, gravity, mu, mu_roll, e, tuple(joints), h, int(rng.integers(5, 25)),
        "variational-bodies" if variational else "moreau-jean-semi-explicit", options,
        "auto" if variational else str(rng.choice(["auto", "nsgs", "anderson"], p=[0.8, 0.1, 0.1])),
        forces=str(rng.choice(["least", "solver"])),
    )  # fmt: skip


def around_robot(one: Plan) -> Plan:
    """Return the plan with the scheme of robots; the bodies are then far from a robot."""
    return replace(one, scheme=REDUCED, options={}, solver="auto", forces="solver")


Model = tuple[list[Body], list[tuple[str, int, int, tuple[float, ...]]]]
"""Bodies and joints of a world."""


def fall(rng: Random, shapes: tuple[str, ...], ball_like: bool) -> Model:
    """Rotated bodies thrown above the ground."""
    out = []
    for k in range(int(rng.integers(1, 5))):
        one = body(rng, shapes, ball_like)
        gap = float(rng.choice([0.0, rng.uniform(0.0, 0.05)], p=[0.2, 0.8]))
        place = (0.6 * (k % 2), 0.6 * (k // 2), one.reach + gap)
        out.append(_changed(one, position=place, quaternion=turned(rng), velocity=rng.normal(size=3),
                       spin=3.0 * rng.normal(size=3)))  # fmt: skip
    return out, []


def terrain(rng: Random, shapes: tuple[str, ...], ball_like: bool) -> Model:
    """Bodies of `fall` above hills of 0.05 m."""
    out, joints = fall(rng, shapes, ball_like)
    return [_changed(one, position=np.add(one.position, (0.0, 0.0, 0.06))) for one in out], joints


def stack(rng: Random, shapes: tuple[str, ...], ball_like: bool) -> Model:
    """A stack of cuboids with mass ratios up to 1e4, possibly pushed at the bottom."""
    out, top = [], 0.0
    for k in range(int(rng.integers(1, 5))):
        one = body(rng, (CUBOID,), ball_like, float(rng.choice([0.0, 4.0])))
        push = (rng.normal(size=3) * [0.3, 0.3, 0.0]) if k == 0 and rng.random() < 0.5 else np.zeros(3)
        out.append(_changed(one, position=(0.0, 0.0, top + 0.5 * one.size[2]), velocity=push))
        top += one.size[2]
    return out, []


def slide(rng: Random, shapes: tuple[str, ...], ball_like: bool) -> Model:
    """A cuboid or a ball that slides on the plane or is at rest."""
    one = body(rng, (CUBOID, BALL), ball_like)
    height = 0.5 * one.size[2] if one.shape == CUBOID else one.size[0]
    speed = float(rng.choice([0.0, 1e-9, 1e-3, 1.0])) * rng.normal(size=2)
    return [_changed(one, position=(0.0, 0.0, height), velocity=(*speed, 0.0))], []


def cloud(rng: Random, shapes: tuple[str, ...], ball_like: bool) -> Model:
    """Bodies that fly towards each other without gravity."""
    out = []
    for k in range(int(rng.integers(2, 6))):
        one = body(rng, (BALL, *shapes), ball_like, 4.0)
        place = np.array([0.5 * (k % 2), 0.5 * (k // 2 % 2), 0.5 * (k // 4)])
        inwards = 4.0 * (0.25 - place) + rng.normal(size=3)
        spin = rng.normal(size=3)
        out.append(_changed(one, position=place, quaternion=turned(rng), velocity=inwards, spin=spin))
    return out, []


def jointed(rng: Random, shapes: tuple[str, ...], ball_like: bool) -> Model:
    """A chain that swings from a fixed point."""
    out: list[Body] = []
    joints: list[tuple[str, int, int, tuple[float, ...]]] = []
    kind = str(rng.choice(["ball", "distance", "hinge", "fixed"], p=[0.4, 0.3, 0.2, 0.1]))
    for k in range(int(rng.integers(1, 4))):
        one = body(rng, (BALL, CUBOID), ball_like)
        out.append(_changed(one, position=(0.4 * k + 0.2, 0.0, 0.0)))
        joints.append((kind, k, k - 1, (0.4 * k, 0.0, 0.0)))
    return out, joints


FAMILIES = {
    "fall": fall,
    "terrain": terrain,
    "stack": stack,
    "slide": slide,
    "cloud": cloud,
    "jointed": jointed,
}
"""Generators of bodies and joints by name."""
