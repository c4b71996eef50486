"""Friction brings a block on a spring to rest: phase portrait, energies, and reactions in the friction cone.

Purpose: draw plots of a run, one call each, .svg or .png by the file name. Dry friction mu m g shifts the
centre of every half swing by d = mu m g / k against the motion, so the amplitude decreases by 2 d each time:
x0, -(x0 - 2 d), x0 - 4 d, ..., in half periods of pi sqrt(m / k), until a turning point lies within d, where
the block sticks. The dissipated energy is mu m g times the path length. With a folder as argument, the
figures are written to it.
"""

import math
import sys

import numpy as np

import stickslip as ss
from stickslip.view import plot_cones, plot_energy, plot_phase

M, K, MU, G, X0 = 1.0, 100.0, 0.1, 9.81, 0.1  # kg, N/m, -, m/s², m
D = MU * M * G / K  # m
HALF = math.pi * math.sqrt(M / K)  # s
SWINGS = math.ceil((X0 - D) / (2.0 * D))


def main():
    """The run; the coordinates are along the spring and normal to the floor."""
    block = ss.LagrangianLinear(
        "block", M=M * np.eye(2), K=np.diag([K, 0.0]), F_ext=[0.0, -M * G], q0=[X0, 0.0], v0=[0.0, 0.0]
    )
    touch = ss.Scleronomous(lambda q: q[1:], dy_dq=[[0.0, 1.0], [1.0, 0.0]])
    floor = ss.Interaction("floor", "block", touch, ss.NewtonImpact(mu=MU, dimension=2))
    return ss.simulate(ss.NonsmoothSystem([block], [floor]), until=2.0, h=1e-3)


def pictures(run, folder=None):
    """The three figures, written to a folder if one is given."""
    path = (lambda name: f"{folder}/plot_it_{name}.png") if folder else (lambda name: None)
    return [
        plot_phase(run, path("phase"), coordinate=0),
        plot_energy(run, path("energy")),
        plot_cones(run, path("cones")),
    ]


def check(run):
    """Turning points, position of rest, dissipated energy, and states of the contact."""
    x = run.system("block").q[:, 0]
    turning = [(-1.0) ** n * (X0 - 2.0 * n * D) for n in range(SWINGS + 1)]
    np.testing.assert_allclose(np.interp(HALF * np.arange(SWINGS + 1), run.t, x), turning, atol=1e-4)
    assert abs(x[-1]) <= D
    length = np.abs(np.diff(turning)).sum()
    assert abs(run.energy[0] - run.energy[-1] - MU * M * G * length) < 1e-4
    assert [str(s) for s in run.interaction("floor").states[[100, -1]].ravel()] == ["slipping", "sticking"]
    assert all(panel.curves for figure in pictures(run) for panel in figure.panels)


if __name__ == "__main__":
    swings = main()
    check(swings)
    print(f"{SWINGS} half swings, at rest at {swings.system('block').q[-1, 0]:.5f} m; d = {D:.5f} m")
    if len(sys.argv) > 1:
        pictures(swings, sys.argv[1])
