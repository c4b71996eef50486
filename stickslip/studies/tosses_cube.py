"""Our cube on a table: rounded corners, Moreau-Jean in steps with their exact derivatives.

The cube is eight spheres in its corners. Impacts are made in parts, between which friction follows the slip
(`SemiExplicitMoreauJean.parts`). Friction has two values, for fits find about 0.16 where corners strike and
0.2 where the cube slides. Which of the two holds is decided step by step, by how fast the fastest corner
strikes: two worlds that differ in friction alone take turns.

With it tosses are made with known numbers, in the form of files, for those who have none to read.
"""

from typing import Any, ClassVar

import numpy as np

from stickslip.gradients.step import step_derivative
from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.compounds import Compound
from stickslip.mechanics.parameters import Parameters
from stickslip.mechanics.shapes import Plane, Sphere
from stickslip.mechanics.world import World
from stickslip.rotations import exponential_slope, matrices
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_world import PreparedWorld
from stickslip.solvers import registry
from stickslip.state import Array, IntArray, State
from stickslip.studies.tosses_models import SHAPE, SOLID, Number, Ride
from stickslip.studies.tosses_records import CORNERS, GRAVITY, HALF, RATE, UNIT, Site, Toss

STRIKES = 3.0 * UNIT
"""Speed of approach from which on friction is that of impacts [m/s]."""
FITTED, PREDICTED = (4, 8), (8, 12)
"""Steps in a frame, and parts of an impact, where numbers are fitted and where tosses are predicted."""
MU, HIT, E, J, CENTRE, RADIUS, TILT = 0, 1, 2, slice(3, 6), slice(6, 9), 9, slice(10, 12)
"""Places of the numbers."""
KNOWN = np.array([0.2, 0.16, 0.26, 1.5 * SOLID, 1.46 * SOLID, 1.4 * SOLID, 0.0, 0.3e-3, 5.6e-3, 3.8e-3, 0, 0])
"""What the tosses are made with: the numbers of `Cube`, in their units, shape (12,)."""
SITE = Site(np.array([-0.07, 0.13, -GRAVITY]), np.array([8e-3, -4e-3]))
"""Where they are made: as crooked as where the measured ones were."""
NOISE = 3e-5, 7e-4
"""Scatter of places [m] and turns [rad], as the tracker's is."""


class Cube:
    """Our cube on a table; a `Model`."""

    title: ClassVar[str] = "stickslip"
    numbers: ClassVar[tuple[Number, ...]] = (
        Number("friction", 0.5, 0.2, 0.02, 0.01, 1.0),
        Number("friction of impacts", 0.5, 0.2, 0.01, 0.01, 1.0),
        Number("restitution", 0.0, 0.3, 0.05, 0.0, 0.9),
        *SHAPE,
    )
    rough: ClassVar[bool] = False
    late: ClassVar[tuple[str, ...]] = ("friction",)

    def __init__(self, site: Site, theta: Array, fine: bool = False) -> None:
        self.theta, self.gravity = theta, site.gravity
        self.centre, self.radius = theta[CENTRE], float(theta[RADIUS])
        self.reach = CORNERS * (HALF - self.radius) - self.centre
        world = self._built(site)
        pair = Parameters.of(world).mu
        struck = Parameters.of(world).with_(mu=np.where(pair == theta[MU], theta[HIT], pair)).applied(world)
        self.worlds = [PreparedWorld(one) for one in (world, struck)]
        self.steps, parts = PREDICTED if fine else FITTED
        self.scheme = SemiExplicitMoreauJean(parts=parts, correction=False)
        self.solver = registry.make("auto", tolerance=1e-9)
        self.normal = matrices(site.turn(theta[TILT]))[:, 2]
        self.tilting = exponential_slope(np.array([*(site.tilt + theta[TILT]), 0.0]))[:, :2]
        self.columns = _columns(world, MU), _columns(world, HIT)

    def _built(self, site: Site) -> World:
        b, theta = WorldBuilder(gravity=self.gravity), self.theta
        b.material("plastic", mu=float(theta[MU]), e=float(theta[E]))
        b.body("table", Plane(), fixed=True, material="plastic", quaternion=site.turn(theta[TILT]))
        places = (CORNERS * (HALF - self.radius)).tolist()
        corners = Compound(*((Sphere(self.radius), place, (1, 0, 0, 0)) for place in places))
        b.body(
            "cube", corners, position=(0, 0, 1), mass=1.0, inertia=theta[J], centre=self.centre,
            material="plastic",
        )  # fmt: skip
        return b.build()

    def ride(self, toss: Toss, frames: int | None = None, sensitive: bool = False) -> Ride:
        """A toss, predicted."""
        (place, velocity), k = toss.start(self.centre, self.gravity), len(self.theta)
        changes = {"q": np.zeros((12, k)), "v": np.zeros((12, k))}
        changes["q"][3:6, TILT] = self.tilting  # of the table, the first body
        changes["q"][6:9, CENTRE], changes["v"][6:9, CENTRE] = toss.by_centre
        start = self.state(place, toss.start_turn, velocity, toss.spin)
        return self.carried(
            start, min(frames or len(toss.place), len(toss.place)), changes if sensitive else None
        )

    def state(self, place: Array, turn: Array, velocity: Array, spin: Array) -> State:
        """The state with the centre of mass at `place` [m] with `velocity` [m/s], turned by the quaternion
        `turn` and with `spin` [rad/s] in the cube's frame."""
        q, v = self.worlds[0].world.start.q.copy(), np.zeros(12)
        q[7:10], q[10:], v[6:9], v[9:] = place, turn, velocity, spin
        return State(0.0, q, v)

    def carried(self, state: State, frames: int, changes: dict[str, Array] | None = None) -> Ride:
        """The frames that follow a state; with derivatives where it is said how the state changes with the
        numbers, shape (12, k) for q and for v."""
        h = 1.0 / (self.steps * RATE)
        memory, deepest = self.scheme.begin(self.worlds[0], state, h), 0.0
        how: dict[str, Any] = {"h": h, "solver": self.solver, "scheme": self.scheme}
        place, turn, by = np.empty((frames, 3)), np.empty((frames, 4)), []
        for k in range(self.steps * frames):
            hit = self._strikes(state, h)
            world = self.worlds[hit]
            if changes is None:
                step = self.scheme.step(world, state, memory, h, self.solver)
            else:
                derivative = step_derivative(world, state, memory=memory, **how)
                step, found = derivative.step, derivative.forward(changes | self.columns[hit])
                changes = {"q": found["q"], "v": found["v"]}
            state, memory, deepest = step.state, step.memory, max(deepest, step.penetration)
            if (k + 1) % self.steps == 0:
                frame = k // self.steps
                turn[frame] = state.q[10:]
                place[frame] = state.q[7:10] - matrices(turn[frame]) @ self.centre
                if changes is not None:
                    by.append(self._moved(turn[frame], changes["q"]))
        return Ride(place, turn, deepest, np.array(by) if changes is not None else None)

    def _strikes(self, state: State, h: float) -> bool:
        """Whether a corner meets the table in this step, and fast."""
        R = matrices(state.q[10:])
        low = (state.q[7:10] + self.reach @ R.T) @ self.normal - self.radius
        speed = (state.v[6:9] + np.cross(state.v[9:], self.reach) @ R.T) @ self.normal
        return bool(((low + h * speed <= 0.0) & (speed < -STRIKES)).any())

    def _moved(self, turn: Array, dq: Array) -> Array:
        """How the cube's centre and orientation change [m, rad over units], shape (6, k), where bodies move
        by dq: the centre of the cube is not that of mass."""
        R, c = matrices(turn), self.centre
        by = dq[6:].copy()
        by[:3] += R @ np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]]) @ dq[9:]
        by[:3, CENTRE] -= R
        return by


def _columns(world: World, friction: int) -> dict[str, Array]:
    """How the world's numbers change with ours [-], shape (numbers, k) of each; friction: which one acts."""
    sizes, k = Parameters.of(world).sizes, len(Cube.numbers)
    columns = {name: np.zeros((sizes[name], k)) for name in ("mu", "e", "inertia", "size", "place")}
    columns["mu"][-1, friction] = columns["e"][-1, E] = 1.0  # of plastic on plastic
    columns["inertia"][6:9, J] = np.eye(3)
    columns["size"][:, RADIUS] = 1.0
    place = columns["place"].reshape(-1, 3, k)[1:]  # after that of the table
    place[:, :, CENTRE], place[:, :, RADIUS] = -np.eye(3), -CORNERS
    return columns


def made(count: int, frames: int, seed: int = 1) -> tuple[Array, IntArray]:
    """`rows`, in the units of files, shape (count frames, 13), and `start`, shape (count + 1,)."""
    rng, cube = np.random.default_rng(seed), Cube(SITE, KNOWN)
    rows = []
    for _ in range(count):
        turn = rng.normal(size=4)
        turn /= np.linalg.norm(turn)
        velocity = np.array([rng.uniform(0.7, 1.2), 0.0, rng.uniform(-0.5, 0.0)])
        place = np.array([-0.2, 0.0, 2.2 * HALF + rng.uniform(0.0, HALF)])
        ride = cube.carried(cube.state(place, turn, velocity, 4.0 * rng.normal(size=3)), frames)
        place = ride.place + NOISE[0] * rng.normal(size=ride.place.shape)
        turns = ride.turn + 0.5 * NOISE[1] * rng.normal(size=ride.turn.shape)
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        rates = np.gradient(place, 1.0 / RATE, axis=0)
        rows.append(np.hstack([place / UNIT, turns, rates / UNIT, np.zeros_like(place)]))
    return np.vstack(rows), np.arange(count + 1) * frames
