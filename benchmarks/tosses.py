"""Which impact law predicts real cube tosses better, Newton's or Poisson's?

    python benchmarks/tosses.py --train 16 --test 48

Data: ../shared/data/cube_tosses.npz (ContactNets, DAIR Lab, as redistributed with Dojo.jl), 148 frames per
second; lengths in nominal half-widths (0.0524 m), the tracked half-width being 0.978, gravity 183.25
units/s². The cube is a thin shell whose centre of mass lies 0.1 from its centre. Each toss starts at its last
frame before contact, with positions and velocities from a ballistic fit to the frames up to there, and is
carried to its end by Moreau-Jean with eight corner contacts. mu and e are fitted on the training tosses for
each law on its own, by the mean error over the first 20 frames; the held-out tosses decide.
"""

import argparse
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from stickslip import rotations
from stickslip.laws import NewtonImpact, PoissonImpact
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.schemes.step import first_state
from stickslip.solvers import registry
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.system import Interaction, NonsmoothSystem

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "cube_tosses.npz"
RATE, GRAVITY, HALF = 148.0, 183.25, 0.978
"""Frames per second [1/s], gravity [units/s²] and tracked half-width of the cube [units]."""
CENTRE_OF_MASS = np.array([0.0, 0.012, 0.100])
"""Centre of mass relative to the centre of the cube [units], shape (3,)."""
INERTIA = 1.7 * (2.0 / 3.0) * HALF**2
"""Moment of inertia over mass: 1.7 times that of a solid cube."""
CORNERS = HALF * np.array(list(itertools.product((-1.0, 1.0), repeat=3))) - CENTRE_OF_MASS
"""Corners relative to the centre of mass [units], shape (8, 3)."""
CLEAR = 0.03
"""Height of the lowest corner above which a frame counts as free flight [units]."""
LAWS = {"newton": NewtonImpact, "poisson": PoissonImpact}
SHORT = 20
"""Number of frames after the start on which the laws are fitted."""


@dataclass
class Toss:
    """One toss from its last free frame on."""

    q: np.ndarray
    """Pose of the centre of mass at each frame, shape (frames, 7)."""
    v: np.ndarray
    """Fitted velocity at the first frame, shape (6,)."""


def turn(p, q):
    """Return rotation vectors from the unit quaternions p to q in the frame of p, shape (..., 3)."""
    w = np.einsum("...i,...i", p, q)
    x = p[..., :1] * q[..., 1:] - q[..., :1] * p[..., 1:] - np.cross(p[..., 1:], q[..., 1:])
    x, w = x * np.sign(w)[..., None], np.abs(w)
    s = np.linalg.norm(x, axis=-1)
    scale = np.where(s > 1e-12, 2.0 * np.arctan2(s, w) / np.maximum(s, 1e-12), 2.0)
    return scale[..., None] * x


def read(path=DATA):
    """Read the tosses with at least five frames of free flight and 30 frames after them."""
    data = np.load(path)
    start, tosses = data["start"], []
    for first, last in itertools.pairwise(start):
        rows = data["rows"][first:last]
        p = rows[:, 3:7] / np.linalg.norm(rows[:, 3:7], axis=1, keepdims=True)
        R = np.array([rotations.matrices(quaternion) for quaternion in p])
        x = rows[:, :3] + R @ CENTRE_OF_MASS
        low = (x[:, None, 2] + np.einsum("fj,cj->fc", R[:, 2], CORNERS)).min(axis=1)
        contact = int(np.argmax(low < CLEAR)) if (low < CLEAR).any() else len(low)
        if contact < 5 or len(low) - contact < 30:
            continue
        tosses.append(_fitted(x, p, contact))
    return tosses


def _fitted(x, p, contact):
    """Return the toss from the last frame before contact, with the state of a ballistic fit of the frames up
    to there."""
    k = contact - 1
    t = (np.arange(contact) - k) / RATE
    line = np.stack([np.ones(contact), t], axis=1)
    flown = x[:contact] + np.outer(0.5 * GRAVITY * t**2, [0.0, 0.0, 1.0])
    place, velocity = np.linalg.lstsq(line, flown, rcond=None)[0]
    turned = turn(np.broadcast_to(p[k], (contact, 4)), p[:contact])
    offset, spin = np.linalg.lstsq(line, turned, rcond=None)[0]
    angle = np.linalg.norm(offset)
    small = np.concatenate([[np.cos(angle / 2.0)], np.sinc(angle / (2.0 * np.pi)) * offset / 2.0])
    q = np.concatenate([x[k:], p[k:]], axis=1)
    q[0] = np.concatenate([place, rotations.product(p[k], small)])
    return Toss(q, np.concatenate([velocity, spin]))


def gaps(q):
    """Return the heights of the corners, shape (8,)."""
    return q[2] + CORNERS @ rotations.matrices(q[3:])[2]


def rows(q):
    """Return the derivatives of the positions of the corners by q, in the order z, x, y, shape (24, 7)."""
    turned = np.array([rotations.turned_dp(q[3:], axis) for axis in np.eye(3)])
    J = np.zeros((8, 3, 7))
    J[:, :, :3] = np.eye(3)
    J[:, :, 3:] = np.einsum("cj,jik->cik", CORNERS, turned)
    return J[:, [2, 0, 1]].reshape(24, 7)


def predicted(toss, law, mu, e, substeps, frames):
    """Simulate the poses at the frames after the first, shape (frames, 7)."""
    cube = NewtonEuler(
        "cube", mass=1.0, inertia=INERTIA * np.eye(3), q0=toss.q[0], v0=toss.v, force=[0.0, 0.0, -GRAVITY]
    )
    table = Interaction("table", "cube", Scleronomous(gaps, rows), LAWS[law](e=e, mu=mu, contacts=8))
    system, scheme, solver = (
        NonsmoothSystem([cube], [table]),
        MoreauJean(),
        registry.make("auto", tolerance=1e-8),
    )
    h = 1.0 / (RATE * substeps)
    state = first_state(system)
    prepared = PreparedSystem(system)
    memory = scheme.begin(prepared, state, h)
    out = []
    for _ in range(frames):
        for _ in range(substeps):
            step = scheme.step(prepared, state, memory, h, solver)
            state, memory = step.state, step.memory
        out.append(state.q)
    return np.array(out)


def errors(toss, law, mu, e, substeps=4, frames=None):
    """Return the mean distance [half-widths] and mean angle [rad] between prediction and measurement."""
    frames = len(toss.q) - 1 if frames is None else min(frames, len(toss.q) - 1)
    simulated, measured = predicted(toss, law, mu, e, substeps, frames), toss.q[1 : frames + 1]
    distance = np.linalg.norm(simulated[:, :3] - measured[:, :3], axis=1).mean()
    angle = np.linalg.norm(turn(simulated[:, 3:], measured[:, 3:]), axis=1).mean()
    return np.array([distance, angle])


def score(tosses, law, mu, e, **options):
    """Return the errors of every toss, shape (tosses, 2)."""
    return np.array([errors(toss, law, mu, e, **options) for toss in tosses])


def fit(tosses, law, mus, es):
    """Return mu and e with the smallest mean error (distance + angle) of the first frames, and all errors."""
    table = {(mu, e): score(tosses, law, mu, e, frames=SHORT).sum(axis=1).mean() for mu in mus for e in es}
    best = min(table, key=table.get)
    return best, table


def main():
    """Fit both laws on the training tosses, and print their errors on the others."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", type=int, default=16)
    parser.add_argument("--test", type=int, default=48)
    parser.add_argument(
        "--skip", type=int, default=0, help="number of tosses to skip after the training tosses"
    )
    arguments = parser.parse_args()
    tosses = read()
    order = np.random.default_rng(0).permutation(len(tosses))
    train = [tosses[i] for i in order[: arguments.train]]
    first = arguments.train + arguments.skip
    test = [tosses[i] for i in order[first : first + arguments.test]]
    print(f"{len(tosses)} tosses; {len(train)} to fit on, {len(test)} held out")
    results = {}
    for law in LAWS:
        (mu, e), table = fit(train, law, (0.14, 0.18, 0.22), (0.1, 0.15, 0.2, 0.25, 0.3))
        print(
            f"{law}: mu = {mu}, e = {e}, error (distance + angle) on the training tosses {table[mu, e]:.4f}"
        )
        for name, frames in (("first 20 frames", SHORT), ("whole toss", None)):
            results[law, name] = score(test, law, mu, e, frames=frames)
            mean, median = results[law, name].mean(axis=0), np.median(results[law, name], axis=0)
            print(
                f"  {name}: distance mean {mean[0]:.4f} median {median[0]:.4f} half-widths,"
                f" angle mean {mean[1]:.4f} median {median[1]:.4f} rad"
            )
    for name in ("first 20 frames", "whole toss"):
        better = results["poisson", name] < results["newton", name]
        print(
            f"{name}: Poisson is nearer in {better[:, 0].sum()} of {len(test)} tosses by distance,"
            f" in {better[:, 1].sum()} by angle"
        )


if __name__ == "__main__":
    main()
