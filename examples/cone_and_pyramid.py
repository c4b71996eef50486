"""A block slides at 30° to the axes of friction: straight with a friction cone, on a curve with a pyramid.

Purpose: select contact models by name. Coulomb friction opposes the motion, so a block slides straight and
stops after v² / (2 mu g). With a pyramid of four facets all friction opposes the faster component of the
velocity until both components are equal, and then the block slides along the diagonal. Without friction
(`impact`) it does not stop. The last two are relaxed models, and their runs report this.
"""

import math
import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

MU, G, SPEED, H, UNTIL = 0.3, 9.81, 1.0, 5e-3, 0.5  # -, m/s², m/s, s, s
ANGLE = math.radians(30.0)
V = SPEED * np.array([math.cos(ANGLE), math.sin(ANGLE)])
STOP = SPEED / (2.0 * MU * G) * V  # m, with the cone


def main():
    """Runs by contact model; the coordinates are x, y and the height."""
    block = ss.Lagrangian("block", M=1.0, q0=np.zeros(3), v0=[*V, 0.0], F_ext=[0.0, 0.0, -G])
    rows = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]  # normal, and the axes of the tangents
    floor = ss.Interaction("floor", "block", ss.Scleronomous(lambda q: q[2:], rows), ss.NewtonImpact(mu=MU))
    system = ss.NonsmoothSystem([block], [floor])
    return {
        model: ss.simulate(system, until=UNTIL, h=H, scheme=ss.schemes.Variational(contact=model))
        for model in ("cone", "pyramid", "impact")
    }


def pyramid_path():
    """Closed form of the pyramid's path: the point where it becomes diagonal [m], and its end [m]."""
    (fast, slow), brake, turn = V, MU * G, (V[0] - V[1]) / (MU * G)
    corner = np.array([fast * turn - 0.5 * brake * turn**2, slow * turn])
    return corner, corner + slow**2 / brake  # from here on, each component decelerates by half of the brake


def check(runs):
    """The paths agree with the closed forms, the verdicts with the models, and nothing penetrates."""
    paths = {model: run.system("block").q for model, run in runs.items()}
    x, y, _ = paths["cone"].T
    assert np.abs(y * V[0] - x * V[1]).max() < 1e-9  # straight
    np.testing.assert_allclose(paths["cone"][-1, :2], STOP, atol=1e-4)
    corner, end = pyramid_path()
    np.testing.assert_allclose(paths["pyramid"][-1, :2], end, atol=2e-3)
    assert np.linalg.norm(paths["pyramid"][:, :2] - corner, axis=1).min() < 4e-3
    np.testing.assert_allclose(paths["impact"][-1, :2], UNTIL * V, atol=1e-9)
    assert [run.verdict for run in runs.values()] == ["certified", "relaxed", "relaxed"]
    for run in runs.values():
        assert run.missed == 0
        assert run.penetration.max() < 1e-8


def picture(runs, path):
    """Draw the paths, seen from above, and the direction of motion."""
    paths = {name: run.system("block").q for name, run in runs.items() if name != "impact"}
    curves = [Curve(name, q[:, 0], q[:, 1]) for name, q in paths.items()]
    curves.append(Curve("stops", *np.array([STOP, pyramid_path()[1]]).T, "o"))
    panels = [Panel("Seen from above", "x [m]", "y [m]", curves, equal=True)]
    t = H * np.arange(60)  # until both have stopped
    turned = [
        Curve(name, t[1:], np.degrees(np.arctan2(*np.diff(q[:60, 1::-1], axis=0).T)))
        for name, q in paths.items()
    ]
    panels.append(Panel("Direction of motion", "t [s]", "from x [°]", turned))
    draw(Figure("A block thrown at 30° to the axes of the pyramid", panels), path)


if __name__ == "__main__":
    runs = main()
    check(runs)
    for name, run in runs.items():
        x, y, _ = run.system("block").q[-1]
        print(f"{name}: ends at ({x:.4f}, {y:.4f}) m, {math.degrees(math.atan2(y, x)):.1f}° from x")
    if len(sys.argv) > 1:
        picture(runs, f"{sys.argv[1]}/cone_and_pyramid.png")
