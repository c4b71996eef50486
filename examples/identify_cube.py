"""Identify friction, restitution, inertia and centre of mass of a cube from tosses, by gradients.

Purpose: derivatives of all states of a run with respect to parameters of the world, through impacts.
Gauss-Newton iterations fit predicted tosses to simulated ones; `identify_tosses.py` uses measured tosses.
"""

import numpy as np

import stickslip as ss

SIZE, RATE, FRAMES, STEPS = (0.1024,) * 3, 148.0, 12, 2  # m, frames per second, frames, steps in a frame
TRUE = np.array([0.18, 0.3, 2.6e-3, 2.8e-3, 2.4e-3, 0.0, 1e-3, 5e-3])  # mu, e, J/m [m²], centre of mass [m]
GUESS = np.array([0.25, 0.2, 2.2e-3, 2.2e-3, 2.2e-3, 0.0, 0.0, 0.0])
UNIT = np.array([0.1, 0.1, 1e-3, 1e-3, 1e-3, 1e-2, 1e-2, 1e-2])


def predicted(numbers, toss):
    """Centres, orientations, and their derivatives with respect to all parameters, shape (FRAMES, 6, 8)."""
    (place, p, velocity, spin), c = toss, numbers[5:]
    b = ss.WorldBuilder()
    b.material("default", mu=numbers[0], e=numbers[1])
    b.body("table", ss.Plane(), fixed=True)
    b.body("cube", ss.Cuboid(SIZE), position=(0, 0, 1), mass=1.0, inertia=numbers[2:5], centre=c)
    world, R = b.build(), ss.rotations.matrices(p)
    sizes = {"q": 12, "v": 12, **ss.mechanics.Parameters.of(world).sizes}
    by = {name: np.zeros((size, 8)) for name, size in sizes.items() if size}
    by["mu"][-1, 0] = by["e"][-1, 1] = 1.0  # the only pair of materials; the cube is the second body
    by["inertia"][6:9, 2:5], by["place"][3:6, 5:] = np.eye(3), -np.eye(3)
    by["q"][6:9, 5:], by["v"][6:9, 5:] = R, R @ np.cross(np.eye(3), spin)
    q, v = np.concatenate([world.start.q[:7], place + R @ c, p]), np.zeros(12)
    v[6:9], v[9:] = velocity + R @ np.cross(spin, c), spin
    run = {"until": FRAMES / RATE, "h": 1.0 / (STEPS * RATE), "record": STEPS, "start": ss.State(0.0, q, v)}
    scheme = ss.schemes.SemiExplicitMoreauJean(parts=4, correction=False)
    s = ss.sensitivity(world, by=by, scheme=scheme, **run)
    turns, moved = ss.rotations.matrices(s.q[1:, 10:]), s.dq[1:, 6:]
    moved[:, :3] += turns @ np.cross(np.eye(3), c) @ moved[:, 3:]
    moved[:, :3, 5:] -= turns
    return s.q[1:, 7:10] - turns @ c, turns, moved


def residuals(numbers, toss, measured):
    """Residuals (distances over the width, angles), and their derivatives by parameters over UNIT."""
    centres, turns, moved = predicted(numbers, toss)
    relative = np.swapaxes(measured[1], 1, 2) @ turns
    angles = 0.5 * (relative - np.swapaxes(relative, 1, 2))[:, (2, 0, 1), (1, 2, 0)]
    moved[:, :3] /= SIZE[0]
    return np.hstack([(centres - measured[0]) / SIZE[0], angles]).reshape(-1), moved.reshape(
        6 * FRAMES, 8
    ) * UNIT


def main():
    """Parameters of all iterations, shape (k, 8), and the mean residual of each but the last."""
    rng = np.random.default_rng(2)
    turns, spins = rng.normal(size=(3, 4)), 8.0 * rng.normal(size=(3, 3))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    tosses = [(np.array([0, 0, 0.095]), turns[k], np.array([1.0, 0.1, -0.5]), spins[k]) for k in range(3)]
    measured = [predicted(TRUE, toss)[:2] for toss in tosses]
    tried, misses = [GUESS], []
    while len(misses) < 5:
        blocks = [
            residuals(tried[-1], toss, observed) for toss, observed in zip(tosses, measured, strict=True)
        ]
        r, J = (np.concatenate(column) for column in zip(*blocks, strict=True))
        misses.append(np.abs(r).mean())
        tried.append(tried[-1] + UNIT * np.linalg.solve(J.T @ J + 1e-2 * (r @ r) * np.eye(8), -J.T @ r))
    return np.array(tried), np.array(misses)


def check(tried, misses):
    """Every parameter is identified, and the convergence is superlinear."""
    np.testing.assert_allclose(tried[-1], TRUE, rtol=1e-8, atol=1e-10)
    assert misses[-1] < misses[-2] ** 1.5 < 1e-3 < misses[0]  # superlinear


if __name__ == "__main__":
    tried, misses = main()
    check(tried, misses)
    print(f"identified {tried[-1].round(5)} in {len(misses)} iterations; mean residuals {misses}")
