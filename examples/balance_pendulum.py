"""Balance a pole on a base with dry friction, by a feedback gain from the derivative of a step.

Purpose: show a use of smoothed derivatives. At rest, friction holds the base against small forces: the exact
derivative of a step by the force is zero, and no gain follows from it. The derivative smoothed by kappa is
not zero; a linear-quadratic regulator (LQR) computed from it balances the pole with exact friction.
"""

import math
import sys

import numpy as np
from scipy.linalg import solve_discrete_are

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

L, H, STEPS, KAPPA = 1.0, 0.02, 125, 1e-3  # m, s, -, -
FRICTION, LEAN = 0.3, 0.08  # N, rad
COST, PRICE = np.diag([1.0, 10.0, 0.1, 0.1]), np.array([[0.05]])  # weights Q and R of the regulator
INTO = np.zeros((12, 2))  # maps position s and angle to displacements of base and pole, 6 each
INTO[[0, 6, 6, 10], [0, 0, 1, 1]] = 1.0, 1.0, 0.5 * L, 1.0
OUT = np.eye(12)[[0, 10]]  # the inverse map


def pendulum(lean):
    """World with a pole at the angle `lean` [rad] on a base on a rail, and a motor that pushes the base."""
    b = ss.WorldBuilder()
    b.body("base", ss.Cuboid((0.3, 0.2, 0.1)), mass=1.0)
    centre, rotation = 0.5 * L * np.array([math.sin(lean), 0.0, math.cos(lean)]), ss.rotation((0, 1, 0), lean)
    b.body("pole", ss.Cuboid((0.04, 0.04, L)), position=centre, quaternion=rotation, mass=0.2)
    b.joint("rail", "slider", "base", None, point=(0, 0, 0), axis=(1, 0, 0), friction=FRICTION)
    b.joint("hinge", "hinge", "pole", "base", point=(0, 0, 0), axis=(0, 1, 0))
    b.force(ss.forces.Actuator("motor", "rail", 0.0))
    b.apart_groups("default", "default")
    return b.build()


def linear(kappa):
    """Matrices A, B of a step from upright rest, smoothed by kappa; the state is (s, angle, their rates)."""
    d = ss.differentiate(pendulum(0.0), h=H, kappa=kappa)
    A = np.block([[OUT @ d.jacobian(of, by) @ INTO for by in ("q", "v")] for of in ("q", "v")])
    return A, np.concatenate([OUT @ d.jacobian(of, "effort") for of in ("q", "v")])


def main():
    """States (s, angle, their rates) of the run, shape (STEPS + 1, 4), forces [N], and the exact B."""
    A, B = linear(KAPPA)
    X = solve_discrete_are(A, B, COST, PRICE)
    gain = np.linalg.solve(PRICE + B.T @ X @ B, B.T @ X @ A)[0]
    world, states, forces = pendulum(LEAN), [np.array([0.0, LEAN, 0.0, 0.0])], []
    state, memory, numbers = world.start, None, ss.mechanics.Parameters.of(world)
    for _ in range(STEPS):
        forces.append(float(-gain @ states[-1]))
        pushed_world = numbers.with_(effort=forces[-1:]).applied(world)
        step = ss.differentiate(pushed_world, state, h=H, memory=memory).step
        state, memory = step.state, step.memory
        lean = 2.0 * math.atan2(state.q[12], state.q[10])
        states.append(np.array([state.q[0], lean, *(OUT @ state.v)]))
    return np.array(states), np.array(forces), linear(0.0)[1]


def check(states, forces, exact):
    """The exact derivative by the motor is zero; the gain of the smoothed one balances the pole."""
    assert np.abs(exact).max() < 1e-9
    assert np.abs(states[:, 1]).max() < 2.0 * LEAN
    assert np.abs(states[-50:, 1]).max() < 0.2 * LEAN
    assert np.abs(forces).max() > FRICTION


if __name__ == "__main__":
    path, _, _ = result = main()
    check(*result)
    print(f"after {H * STEPS:g} s the pole leans {path[-1, 1]:.4f} rad, its base is at {path[-1, 0]:.4f} m")
    if len(sys.argv) > 1:
        t, angle = H * np.arange(STEPS + 1), np.degrees(path[:, 1])
        panels = [
            Panel("Pole", "t [s]", "lean [°]", [Curve("pole", t, angle)]),
            Panel("Base", "t [s]", "position [m]", [Curve("base", t, path[:, 0])]),
        ]
        draw(Figure("A pole on a base with dry friction", panels), f"{sys.argv[1]}/balance_pendulum.png")
