"""A box pushed against friction: its displacement in a step, and the derivative by the force.

Purpose: exact and smoothed derivatives of a step. Up to mu m g the box sticks, and the exact derivative of
its displacement is zero; above, it slides and the derivative is h² / (2 m). The derivative smoothed by kappa
changes gradually between the two values, so that gradient descent is informed of sliding while the box
sticks.
"""

import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

M, MU, G, H = 1.0, 0.5, 9.81, 0.1  # kg, -, m/s², s
LIMIT, SLOPE = MU * M * G, H**2 / (2.0 * M)  # N, m/N
PUSHES = np.linspace(0.0, 2.0 * LIMIT, 42)  # the limit itself is not among them
KAPPAS = (0.0, 1e-5, 1e-4, 1e-3)


def main():
    """Displacements [m], shape (pushes,), their derivatives by kappa [m/N], and whether they exist."""
    b = ss.WorldBuilder()
    b.material("wood", mu=MU)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0.0, 0.0, 0.05), mass=M, material="wood")
    world = b.build()
    numbers, displacements, slopes, exist = (
        ss.mechanics.Parameters.of(world),
        [],
        {kappa: [] for kappa in KAPPAS},
        [],
    )
    for push in PUSHES:
        wrench = np.zeros((2, 6))
        wrench[1, 0] = push
        pushed = numbers.with_(wrench=wrench).applied(world)
        for kappa in KAPPAS:
            d = ss.differentiate(pushed, h=H, scheme="variational", solver="ipm-step", kappa=kappa)
            slopes[kappa].append(d.jacobian("q", "wrench")[6, 6])
            if kappa == 0.0:
                displacements.append(d.step.state.q[7])
                exist.append(d.exists)
    return np.array(displacements), {kappa: np.array(found) for kappa, found in slopes.items()}, exist


def check(displacements, slopes, exist):
    """Closed forms; smoothed derivatives grow with the force and approach the exact one as kappa falls."""
    slides = PUSHES > LIMIT
    np.testing.assert_allclose(displacements, np.where(slides, SLOPE * (PUSHES - LIMIT), 0.0), atol=1e-9)
    np.testing.assert_allclose(slopes[0.0], np.where(slides, SLOPE, 0.0), atol=1e-8)
    assert all(exist)
    off = [np.abs(slopes[kappa] - slopes[0.0]).mean() for kappa in KAPPAS]
    assert off == sorted(off)
    for kappa in KAPPAS[1:]:
        assert (np.diff(slopes[kappa]) > 0.0).all()
        assert (slopes[kappa] > 0.0).all()
        assert (slopes[kappa] < SLOPE).all()


def picture(displacements, slopes, path):
    """Draw the displacement and its derivatives over the force."""
    moved = [Curve("displacement", PUSHES, 1e3 * displacements)]
    names = {kappa: f"kappa {kappa:g}" if kappa else "exact" for kappa in KAPPAS}
    curves = [Curve(names[kappa], PUSHES, 1e3 * slope) for kappa, slope in slopes.items()]
    panels = [
        Panel(f"Displacement in a step of {H:g} s", "push [N]", "[mm]", moved),
        Panel("Its derivative by the push", "push [N]", "[mm/N]", curves),
    ]
    draw(Figure(f"A box of {M:g} kg pushed against friction, mu = {MU:g}", panels), path)


if __name__ == "__main__":
    moves, derivatives, exists = main()
    check(moves, derivatives, exists)
    for kappa, slope in derivatives.items():
        print(f"kappa {kappa:g}: derivative {slope[0]:.2e} at rest, {slope[-1]:.2e} m/N at twice the limit")
    if len(sys.argv) > 1:
        picture(moves, derivatives, f"{sys.argv[1]}/push_box.png")
