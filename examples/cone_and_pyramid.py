"""A block slides at 30° to the axes of friction: straight under the cone, bent under a pyramid.

Purpose: contact models by name. Coulomb's law opposes the motion, so a block slides straight and stops after
v² / (2 mu g). A pyramid of four facets has friction along its axes alone: all of it opposes the faster
component until both are equal, and then the block slides on along the diagonal. Without friction
(`impact`) it goes on. The last two are relaxed models, and their runs say so.
"""

import math
import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

MU, G, SPEED, H, UNTIL = 0.3, 9.81, 1.0, 5e-3, 0.5  # -, m/s², m/s, s, s
ANGLE = math.radians(30.0)
V = SPEED * np.array([math.cos(ANGLE), math.sin(ANGLE)])
STOP = SPEED / (2.0 * MU * G) * V  # m, under the cone


def main():
    """The run under each contact model; coordinates are x and y along the floor and the height."""
    block = ss.Lagrangian("block", M=1.0, q0=np.zeros(3), v0=[*V, 0.0], F_ext=[0.0, 0.0, -G])
    rows = [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]  # normal, and the axes of the tangents
    floor = ss.Interaction("floor", "block", ss.Scleronomous(lambda q: q[2:], rows), ss.NewtonImpact(mu=MU))
    system = ss.NonsmoothSystem([block], [floor])
    return {
        model: ss.simulate(system, until=UNTIL, h=H, scheme=ss.schemes.Variational(contact=model))
        for model in ("cone", "pyramid", "impact")
    }


def bent():
    """Where the pyramid lets the block turn, and where it stops [m], [m]."""
    (fast, slow), brake, turn = V, MU * G, (V[0] - V[1]) / (MU * G)
    corner = np.array([fast * turn - 0.5 * brake * turn**2, slow * turn])
    return corner, corner + slow**2 / brake  # half of the brake for either component from there on


def check(runs):
    """Straight to the stop, bent to the corner of the pyramid's path, and on without end; never below."""
    place = {model: run.system("block").q for model, run in runs.items()}
    x, y, _ = place["cone"].T
    assert np.abs(y * V[0] - x * V[1]).max() < 1e-9  # straight
    np.testing.assert_allclose(place["cone"][-1, :2], STOP, atol=1e-4)
    corner, end = bent()
    np.testing.assert_allclose(place["pyramid"][-1, :2], end, atol=2e-3)
    assert np.linalg.norm(place["pyramid"][:, :2] - corner, axis=1).min() < 4e-3
    np.testing.assert_allclose(place["impact"][-1, :2], UNTIL * V, atol=1e-9)
    assert [run.verdict for run in runs.values()] == ["certified", "relaxed", "relaxed"]
    for run in runs.values():
        assert run.missed == 0
        assert run.penetration.max() < 1e-8


def picture(runs, path):
    """The paths, seen from above, and the direction of motion."""
    place = {name: run.system("block").q for name, run in runs.items() if name != "impact"}
    curves = [Curve(name, q[:, 0], q[:, 1]) for name, q in place.items()]
    curves.append(Curve("stops", *np.array([STOP, bent()[1]]).T, "o"))
    panels = [Panel("Seen from above", "x [m]", "y [m]", curves, equal=True)]
    t = H * np.arange(60)  # until both have stopped
    turned = [
        Curve(name, t[1:], np.degrees(np.arctan2(*np.diff(q[:60, 1::-1], axis=0).T)))
        for name, q in place.items()
    ]
    panels.append(Panel("Direction of motion", "t [s]", "from x [°]", turned))
    draw(Figure("A block thrown at 30° to the axes of the pyramid", panels), path)


if __name__ == "__main__":
    found = main()
    check(found)
    for name, run in found.items():
        x, y, _ = run.system("block").q[-1]
        print(f"{name}: ends at ({x:.4f}, {y:.4f}) m, {math.degrees(math.atan2(y, x)):.1f}° from x")
    if len(sys.argv) > 1:
        picture(found, f"{sys.argv[1]}/cone_and_pyramid.png")
