"""stickslip's model of a cube on a table: rounded corners, Moreau-Jean steps and their exact derivatives.

The cube is eight spheres in its corners. Impacts are divided into parts, between which friction follows the
slip (`SemiExplicitMoreauJean.parts`). Friction has two values, as fits find about 0.16 for impacts of corners
and 0.2 for sliding. The approach velocity of the fastest corner selects the value in each step, by the choice
between two worlds that differ in friction alone.

The model also generates synthetic tosses with known numbers, in the format of files.
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
"""Approach velocity above which friction is that of impacts [m/s]; heuristic."""
FITTED, PREDICTED = (4, 8), (8, 12)
"""Steps per frame and parts of an impact, in fits and in predictions."""
MU, HIT, E, J, CENTRE, RADIUS, TILT = 0, 1, 2, slice(3, 6), slice(6, 9), 9, slice(10, 12)
"""Indices of the numbers: friction, friction of impacts, restitution, moments of inertia over mass, centre of
mass, radius of the corners, additional tilt of the table."""
KNOWN = np.array([0.2, 0.16, 0.26, 1.5 * SOLID, 1.46 * SOLID, 1.4 * SOLID, 0.0, 0.3e-3, 5.6e-3, 3.8e-3, 0, 0])
"""Numbers of `Cube` for synthetic tosses, in their units, shape (12,)."""
SITE = Site(np.array([-0.07, 0.13, -GRAVITY]), np.array([8e-3, -4e-3]))
"""Site of synthetic tosses, with gravity and tilt similar to those of the measured ones."""
NOISE = 3e-5, 7e-4
"""Standard deviation of positions [m] and rotations [rad] of synthetic tosses, similar to the tracker's."""


class Cube:
    """stickslip's cube on a table; a `Model`."""

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
        self.worlds = [PreparedWorld(each) for each in (world, struck)]  # sliding, impacts
        self.steps, parts = PREDICTED if fine else FITTED
        self.scheme = SemiExplicitMoreauJean(parts=parts, correction=False)
        self.solver = registry.make("auto", tolerance=1e-9)
        self.normal = matrices(site.turn(theta[TILT]))[:, 2]
        self.tilting = exponential_slope(np.array([*(site.tilt + theta[TILT]), 0.0]))[:, :2]
        self.columns = _columns(world, MU), _columns(world, HIT)

    def _built(self, site: Site) -> World:
        """Return the world of table and cube, with the friction of sliding."""
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
        """Return the prediction of a toss, see `Model.ride`."""
        (place, velocity), k = toss.start(self.centre, self.gravity), len(self.theta)
        changes = {"q": np.zeros((12, k)), "v": np.zeros((12, k))}
        changes["q"][3:6, TILT] = self.tilting  # the table is the first body
        changes["q"][6:9, CENTRE], changes["v"][6:9, CENTRE] = toss.by_centre
        start = self.state(place, toss.start_turn, velocity, toss.spin)
        return self.carried(
            start, min(frames or len(toss.place), len(toss.place)), changes if sensitive else None
        )

    def state(self, place: Array, turn: Array, velocity: Array, spin: Array) -> State:
        """Return the state with the centre of mass at `place` [m], `velocity` [m/s], the orientation `turn`
        (a quaternion) and the angular velocity `spin` [rad/s] in the cube's frame."""
        q, v = self.worlds[0].world.start.q.copy(), np.zeros(12)
        q[7:10], q[10:], v[6:9], v[9:] = place, turn, velocity, spin
        return State(0.0, q, v)

    def carried(self, state: State, frames: int, changes: dict[str, Array] | None = None) -> Ride:
        """Return the frames after a state.

        `changes` holds the derivatives of q and v of the state with respect to the numbers, shape (12, k)
        each; if it is given, the result has derivatives.
        """
        h = 1.0 / (self.steps * RATE)
        memory, deepest = self.scheme.begin(self.worlds[0], state, h), 0.0
        options: dict[str, Any] = {"h": h, "solver": self.solver, "scheme": self.scheme}
        place, turn, by = np.empty((frames, 3)), np.empty((frames, 4)), []
        for k in range(self.steps * frames):
            # 1. Friction of impacts or of sliding.
            hit = self._strikes(state, h)
            world = self.worlds[hit]
            # 2. One step, with the derivatives of its end.
            if changes is None:
                step = self.scheme.step(world, state, memory, h, self.solver)
            else:
                derivative = step_derivative(world, state, memory=memory, **options)
                step, forward = derivative.step, derivative.forward(changes | self.columns[hit])
                changes = {"q": forward["q"], "v": forward["v"]}
            state, memory, deepest = step.state, step.memory, max(deepest, step.penetration)
            # 3. A frame.
            if (k + 1) % self.steps == 0:
                frame = k // self.steps
                turn[frame] = state.q[10:]
                place[frame] = state.q[7:10] - matrices(turn[frame]) @ self.centre
                if changes is not None:
                    by.append(self._moved(turn[frame], changes["q"]))
        return Ride(place, turn, deepest, np.array(by) if changes is not None else None)

    def _strikes(self, state: State, h: float) -> bool:
        """Return whether a corner reaches the table in this step with a velocity above `STRIKES`."""
        R = matrices(state.q[10:])
        low = (state.q[7:10] + self.reach @ R.T) @ self.normal - self.radius
        speed = (state.v[6:9] + np.cross(state.v[9:], self.reach) @ R.T) @ self.normal
        return bool(((low + h * speed <= 0.0) & (speed < -STRIKES)).any())

    def _moved(self, turn: Array, dq: Array) -> Array:
        """Return the derivatives of the cube's centre and orientation [m, rad over units], shape (6, k), for
        those of q; the centre of the cube is not the centre of mass."""
        R, c = matrices(turn), self.centre
        by = dq[6:].copy()
        by[:3] += R @ np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]]) @ dq[9:]
        by[:3, CENTRE] -= R
        return by


def _columns(world: World, friction: int) -> dict[str, Array]:
    """Return the derivatives of the world's parameters with respect to the numbers of `Cube` [-], shape
    (parameters, k) each; friction: index of the active friction."""
    sizes, k = Parameters.of(world).sizes, len(Cube.numbers)
    columns = {name: np.zeros((sizes[name], k)) for name in ("mu", "e", "inertia", "size", "place")}
    columns["mu"][-1, friction] = columns["e"][-1, E] = 1.0  # the pair plastic on plastic
    columns["inertia"][6:9, J] = np.eye(3)
    columns["size"][:, RADIUS] = 1.0
    place = columns["place"].reshape(-1, 3, k)[1:]  # the table is first
    place[:, :, CENTRE], place[:, :, RADIUS] = -np.eye(3), -CORNERS
    return columns


def made(count: int, frames: int, seed: int = 1) -> tuple[Array, IntArray]:
    """Return synthetic tosses as the arrays of files: `rows`, shape (count frames, 13), and `start`, shape
    (count + 1,)."""
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
