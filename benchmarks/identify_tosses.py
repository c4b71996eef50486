"""What real tosses tell of a cube: friction, restitution, inertia, centre of mass, size, corners and table.

    python benchmarks/identify_tosses.py [--train 64] [--seed 0] [--data cube_tosses.npz] [--only ours]

A model is fitted on some tosses and predicts all others over their whole length, each from a ballistic fit of
its frames before contact. Ours is a cube with rounded corners (spheres) on a plane, Moreau-Jean with impacts
made in parts; its numbers follow the gradient of the error through every impact (Gauss-Newton on the steps'
derivatives, by the implicit function theorem). MuJoCo's is the same cube with its soft contacts, a time
constant and a damping ratio in the place of restitution, fitted by the same loop with central differences and
further by Nelder and Mead's search. Both have one friction for impacts and one for all else.
`toss_records.py` has the data.
"""

import argparse
import multiprocessing
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import toss_records as records
from scipy.optimize import minimize
from toss_mujoco import SoftCube

import stickslip as ss
from stickslip.detection.detector import Detector
from stickslip.gradients.step import step_derivative
from stickslip.solvers import registry

AIM = np.array([8.0, 6.5])
"""What a distance [% of the width] and an angle [degrees] are weighed by."""
STRIKES = 3.0 * records.UNIT
"""Speed of approach from which on friction is that of impacts [m/s]."""
EVALUATIONS = 600
"""Of the loss, most that a search without derivatives makes."""
FITTED, PREDICTED = (4, 8), (8, 12)
"""Steps in a frame, and parts of an impact, where numbers are fitted and where tosses are predicted."""
NUMBERS = (
    ("mu", 0.5, 0.2, 0.02, 0.01, 1.0),
    ("mu_hit", 0.5, 0.2, 0.01, 0.01, 1.0),
    ("e", 0.0, 0.3, 0.05, 0.0, 0.9),
    *records.SHAPE,
)
"""Friction, that of impacts, restitution, and what the cube is like."""


@dataclass(frozen=True, eq=False)
class Ride:
    """A predicted toss."""

    place: np.ndarray
    """Of the cube's centre at each frame [m], shape (frames, 3)."""
    turn: np.ndarray
    """Quaternions, shape (frames, 4)."""
    penetration: float
    """Deepest overlap with the table [m]."""
    by: np.ndarray | None = None
    """Changes of place and turn (in the cube's frame) with each number, shape (frames, 6, k)."""


class Cube:
    """Our cube on a table."""

    names, nominal, guess, scale, lower, upper = records.table(NUMBERS)
    rough, late = False, ("mu",)
    """Whether derivatives are differences; what is fitted over the whole length."""

    def __init__(self, gravity, theta, fine=False):
        self.theta, self.gravity = theta, gravity
        mu, hit, e, *J = theta[:6]
        self.centre, half, radius = theta[6:9], theta[9], theta[10]
        self.reach = records.CORNERS * (half - radius) - self.centre
        b = ss.WorldBuilder(gravity=gravity)
        b.material("plastic", mu=mu, e=e)
        tilt = records.exponential(np.array([*theta[11:], 0.0]))
        b.body("table", ss.Plane(), fixed=True, material="plastic", quaternion=tilt)
        places = (records.CORNERS * (half - radius)).tolist()
        corners = ss.Compound(*((ss.Sphere(radius), place, (1, 0, 0, 0)) for place in places))
        given = {"mass": 1.0, "inertia": J, "centre": self.centre, "material": "plastic"}
        b.body("cube", corners, position=(0, 0, 1), **given)
        world = b.build()
        pair = ss.Parameters.of(world).mu
        struck = ss.Parameters.of(world).with_(mu=np.where(pair == mu, hit, pair)).applied(world)
        self.worlds = [(one, Detector(one)) for one in (world, struck)]
        self.steps, parts = PREDICTED if fine else FITTED
        self.scheme = ss.MoreauJeanBodies(parts=parts, correction=False)
        self.solver = registry.make("auto", tolerance=1e-9)
        self.normal = records.rotation(tilt)[:, 2]
        self.radius = radius
        self.columns = _columns(world), _columns(world, struck=True)

    def ride(self, toss, frames=None, sensitive=False):
        """A toss, predicted."""
        frames, h = min(frames or len(toss.place), len(toss.place)), 1.0 / (self.steps * records.RATE)
        state, changes = self._start(toss)
        memory, rows = self.scheme.begin(self.worlds[0][0], state, h), []
        how = {"h": h, "solver": self.solver, "scheme": self.scheme}
        deepest = 0.0
        for k in range(self.steps * frames):
            hit = self._strikes(state, h)
            world, detector = self.worlds[hit]
            if sensitive:
                derivative = step_derivative(world, state, memory=memory, detector=detector, **how)
                step, found = derivative.step, derivative.forward(changes | self.columns[hit])
                changes = {"q": found["q"], "v": found["v"]}
            else:
                step = self.scheme.step(world, state, memory, h, self.solver, detector)
            state, memory, deepest = step.state, step.memory, max(deepest, step.penetration)
            if (k + 1) % self.steps == 0:
                rows.append(self._seen(state, changes["q"]))
        place, turn, by = (np.array(part) for part in zip(*rows, strict=True))
        return Ride(place, turn, deepest, by if sensitive else None)

    def _start(self, toss):
        """The state at the start, and how it changes with the numbers."""
        world = self.worlds[0][0]
        (place, velocity), k = toss.start(self.centre, self.gravity), len(self.theta)
        q, v = world.start.q.copy(), np.zeros(12)
        q[7:10], q[10:] = place, toss.start_turn
        v[6:9], v[9:] = velocity, toss.spin
        dq, dv = np.zeros((12, k)), np.zeros((12, k))
        dq[3:5, 11:13] = np.eye(2)
        dq[6:9, 6:9], dv[6:9, 6:9] = toss.by_centre
        return ss.State(0.0, q, v), {"q": dq, "v": dv}

    def _strikes(self, state, h):
        """Whether a corner meets the table in this step, and fast."""
        R = records.rotation(state.q[10:])
        low = (state.q[7:10] + self.reach @ R.T) @ self.normal - self.radius
        speed = (state.v[6:9] + np.cross(state.v[9:], self.reach) @ R.T) @ self.normal
        return bool(((low + h * speed <= 0.0) & (speed < -STRIKES)).any())

    def _seen(self, state, dq):
        """The cube's centre and orientation, and how they change, shape (6, k)."""
        R, c = records.rotation(state.q[10:]), self.centre
        cross = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
        by = dq[6:].copy()
        by[:3] += R @ cross @ dq[9:]
        by[:3, 6:9] -= R
        return state.q[7:10] - R @ c, state.q[10:].copy(), by


def _columns(world, struck=False):
    """How the world's numbers change with ours, shape (numbers, k) of each."""
    given, k = ss.Parameters.of(world), len(NUMBERS)
    columns = {name: np.zeros((given.sizes[name], k)) for name in ("mu", "e", "inertia", "size", "place")}
    columns["mu"][-1, int(struck)] = columns["e"][-1, 2] = 1.0  # of plastic on plastic
    columns["inertia"][6:9, 3:6] = np.eye(3)
    columns["size"][:, 10] = 1.0
    place = columns["place"].reshape(-1, 3, k)[1:]  # after that of the table
    place[:, :, 6:9] = -np.eye(3)
    place[:, :, 9], place[:, :, 10] = records.CORNERS, -records.CORNERS
    return columns


def weighed(toss, ride):
    """Distances and angles over what is aimed at, shape (frames, 2, 3), and their derivatives."""
    n = len(ride.place)
    width, degrees = 100.0 / (2.0 * records.HALF * AIM[0]), np.degrees(1.0) / AIM[1]
    turned = records.logarithm(records.product(records.conjugate(toss.turn[:n]), ride.turn))
    r = np.stack([width * (ride.place - toss.place[:n]), degrees * turned], axis=1)
    if ride.by is None:
        return r, None
    return r, np.stack([width * ride.by[:, :3], degrees * ride.by[:, 3:]], axis=1)


@lru_cache(maxsize=1)
def made(kind, gravity, theta, fine=False):
    """A cube, kept for the tosses that come next."""
    return kind(np.array(gravity), np.array(theta), fine)


def task(given):
    """What a worker does: the loss of a toss, and its normal equations where asked."""
    kind, gravity, theta, toss, frames, sensitive = given
    r, J = weighed(toss, made(kind, tuple(gravity), tuple(theta)).ride(toss, frames, sensitive))
    size = np.linalg.norm(r, axis=2)
    if J is None:
        return size.mean(), None, None
    w = 1.0 / np.maximum(size, 0.05) / size.size  # least squares of these weights: the mean of |r|
    late = np.linalg.norm(J * kind.scale, axis=(2, 3)) > 50.0  # what is chaotic by then says nothing
    w[np.logical_or.accumulate(late.any(axis=1))] = 0.0
    return size.mean(), np.einsum("fs,fsik,fsil->kl", w, J, J), np.einsum("fs,fsik,fsi->k", w, J, r)


def total(pool, kind, gravity, theta, tosses, frames, sensitive=False):
    """Mean loss over tosses, and normal equations."""
    parts = pool.map(task, [(kind, gravity, theta, toss, frames, sensitive) for toss in tosses], chunksize=2)
    loss = float(np.mean([part[0] for part in parts]))
    if not sensitive:
        return loss, None, None
    return loss, sum(part[1] for part in parts) / len(parts), sum(part[2] for part in parts) / len(parts)


def fit(pool, kind, gravity, tosses, stages, say):
    """Gauss-Newton over growing lengths; stages: (frames, iterations, tosses, names)."""
    theta, every = kind.guess.copy(), tosses
    for frames, iterations, count, names in stages:
        tosses, damping = every[:count], 0.01
        free = np.array([name in names for name in kind.names])
        for _ in range(iterations):
            loss, A, b = total(pool, kind, gravity, theta, tosses, frames, True)
            s = kind.scale[free]
            for _ in range(4):
                left = A[np.ix_(free, free)] * np.outer(s, s)
                left += damping * np.trace(left) / s.size * np.eye(s.size)
                tried = theta.copy()
                tried[free] -= s * np.linalg.solve(left, s * b[free])
                tried = np.clip(tried, kind.lower, kind.upper)
                found, _, _ = total(pool, kind, gravity, tried, tosses, frames)
                if found < loss:
                    break
                damping *= 4.0
            better = found < loss
            say(f"  {frames or 'all'} frames: {loss:.4f} -> {found:.4f}, {_shown(kind, tried)}")
            if not better:
                break
            theta, damping = tried, max(damping / 4.0, 1e-4)
            if loss - found < 3e-3 * loss:
                break
        if kind.rough:
            theta = polish(pool, kind, gravity, theta, tosses, frames, names, say)
    return theta


def polish(pool, kind, gravity, theta, tosses, frames, names, say):
    """Nelder and Mead from there, where differences through stiff contacts lead no further."""
    free = np.array([name in names for name in kind.names])

    def loss(x):
        tried = theta.copy()
        tried[free] += kind.scale[free] * x
        inside = np.clip(tried, kind.lower, kind.upper)
        return total(pool, kind, gravity, inside, tosses, frames)[0] + np.abs(tried - inside).sum()

    simplex = np.vstack([np.zeros(free.sum()), np.eye(free.sum())])
    how = {"maxfev": EVALUATIONS, "adaptive": True, "initial_simplex": simplex}
    found = minimize(loss, simplex[0], method="Nelder-Mead", options=how)
    theta = theta.copy()
    theta[free] += kind.scale[free] * found.x
    theta = np.clip(theta, kind.lower, kind.upper)
    say(f"  {frames or 'all'} frames, without derivatives: {found.fun:.4f}, {_shown(kind, theta)}")
    return theta


def _shown(kind, theta):
    """The numbers, lengths in mm and moments of inertia as parts of the solid cube's."""
    solid = 2.0 / 3.0 * records.HALF**2
    units = {"J": solid, "c": 1e-3, "h": 1e-3, "r": 1e-3}
    over = [units.get(name[0], 1.0) for name in kind.names]
    return ", ".join(f"{name} {value:.4g}" for name, value in zip(kind.names, theta / over, strict=True))


def judged(given):
    kind, gravity, theta, toss = given
    ride = made(kind, tuple(gravity), tuple(theta), fine=True).ride(toss)
    return *records.errors(toss, ride.place, ride.turn).mean(axis=0), ride.penetration


def judge(pool, kind, gravity, theta, tosses):
    """Mean distance [%], mean angle [degrees] and deepest overlap [m] of each toss, shape (tosses, 3)."""
    return np.array(pool.map(judged, [(kind, gravity, theta, toss) for toss in tosses], chunksize=4))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=64, help="tosses to fit on")
    parser.add_argument("--test", type=int, default=0, help="others to predict; 0 for all")
    parser.add_argument("--seed", type=int, default=0, help="which tosses are drawn")
    parser.add_argument("--data", type=Path, default=records.DATA)
    parser.add_argument("--only", choices=("ours", "mujoco"), help="one of the two models")
    parser.add_argument("--processes", type=int, default=2)
    given = parser.parse_args()
    tosses, flights = records.read(given.data)
    order = np.random.default_rng(given.seed).permutation(len(tosses))
    train, rest = order[: given.train], order[given.train :]
    test = rest[: given.test] if given.test else rest
    print(f"{len(tosses)} tosses; {len(train)} to fit on, {len(test)} to predict")
    began = time.perf_counter()

    def say(line):
        print(f"[{time.perf_counter() - began:6.0f} s] {line}", flush=True)

    rows = []
    kinds = [kind for kind, name in ((Cube, "ours"), (SoftCube, "mujoco")) if given.only in (None, name)]
    with multiprocessing.Pool(given.processes) as pool:
        for kind in kinds:
            down = np.array([0.0, 0.0, -records.GRAVITY])
            chosen = [tosses[i] for i in train]
            _, gravity = records.flown([flights[i] for i in train])
            say(f"{kind.__name__}: gravity {gravity} m/s², of the flights")
            n = given.train
            every = tuple(name for name in kind.names if name != "half")  # which cubes at rest tell
            some = tuple(name for name in every if not name.startswith("tilt"))
            stages = ((10, 3, n, some), (25, 4, n, every), (None, 3, n // 3, kind.late))
            theta = fit(pool, kind, gravity, chosen, stages, say)
            say(f"{kind.__name__}: {_shown(kind, theta)}")
            asked = [tosses[i] for i in test]
            rows.append((f"{kind.__name__}, fitted", judge(pool, kind, gravity, theta, asked)))
            say(_row(*rows[-1]))
            rows.append((f"{kind.__name__}, not fitted", judge(pool, kind, down, kind.nominal, asked)))
            say(_row(*rows[-1]))
    print()
    for row in rows:
        print(_row(*row))


def _row(name, found):
    (place, angle, _), (half, turn, _) = found.mean(axis=0), np.median(found, axis=0)
    deep = 1e3 * found[:, 2]
    return (
        f"{name:22s} {place:6.2f} % {angle:6.2f}°   median {half:6.2f} % {turn:6.2f}°"
        f"   overlap {deep.mean():.3f} mm, at most {deep.max():.3f} mm"
    )


if __name__ == "__main__":
    main()
