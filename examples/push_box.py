"""A box pushed against friction: how far it goes in a step, and how that changes with the push.

Purpose: exact and smoothed derivatives of a step. Up to mu m g the box stays and the exact derivative of its
displacement by the push is zero; beyond, it slides and the derivative is h² / (2 m). Smoothed by kappa the
derivative passes gradually from one to the other, so that a descent feels the motion behind the friction.
"""

import sys

import numpy as np

import stickslip as ss
from stickslip.view import Curve, Figure, Panel, draw

M, MU, G, H = 1.0, 0.5, 9.81, 0.1  # kg, -, m/s², s
LIMIT, SLOPE = MU * M * G, H**2 / (2.0 * M)  # N, m/N
PUSHES = np.linspace(0.0, 2.0 * LIMIT, 42)  # none of them the limit itself
KAPPAS = (0.0, 1e-5, 1e-4, 1e-3)


def main():
    """Displacements by push [m], shape (pushes,), and by kappa their derivatives [m/N], and what was said."""
    b = ss.WorldBuilder()
    b.material("wood", mu=MU)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0.0, 0.0, 0.05), mass=M, material="wood")
    world = b.build()
    numbers, way, slopes, exist = ss.mechanics.Parameters.of(world), [], {kappa: [] for kappa in KAPPAS}, []
    for push in PUSHES:
        wrench = np.zeros((2, 6))
        wrench[1, 0] = push
        pushed = numbers.with_(wrench=wrench).applied(world)
        for kappa in KAPPAS:
            d = ss.differentiate(pushed, h=H, scheme="variational", solver="ipm-step", kappa=kappa)
            slopes[kappa].append(d.jacobian("q", "wrench")[6, 6])
            if kappa == 0.0:
                way.append(d.step.state.q[7])
                exist.append(d.exists)
    return np.array(way), {kappa: np.array(found) for kappa, found in slopes.items()}, exist


def check(way, slopes, exist):
    """Closed forms; smoothed derivatives grow with the push and tend to the exact one as kappa falls."""
    slides = PUSHES > LIMIT
    np.testing.assert_allclose(way, np.where(slides, SLOPE * (PUSHES - LIMIT), 0.0), atol=1e-9)
    np.testing.assert_allclose(slopes[0.0], np.where(slides, SLOPE, 0.0), atol=1e-8)
    assert all(exist)
    off = [np.abs(slopes[kappa] - slopes[0.0]).mean() for kappa in KAPPAS]
    assert off == sorted(off)
    for kappa in KAPPAS[1:]:
        assert (np.diff(slopes[kappa]) > 0.0).all()
        assert (slopes[kappa] > 0.0).all()
        assert (slopes[kappa] < SLOPE).all()


def picture(way, slopes, path):
    """The displacement and its derivatives against the push."""
    moved = [Curve("displacement", PUSHES, 1e3 * way)]
    names = {kappa: f"kappa {kappa:g}" if kappa else "exact" for kappa in KAPPAS}
    curves = [Curve(names[kappa], PUSHES, 1e3 * found) for kappa, found in slopes.items()]
    panels = [
        Panel(f"Displacement in a step of {H:g} s", "push [N]", "[mm]", moved),
        Panel("Its derivative by the push", "push [N]", "[mm/N]", curves),
    ]
    draw(Figure(f"A box of {M:g} kg pushed against friction, mu = {MU:g}", panels), path)


if __name__ == "__main__":
    moves, derivatives, exists = main()
    check(moves, derivatives, exists)
    for size, found in derivatives.items():
        print(f"kappa {size:g}: derivative {found[0]:.2e} at rest, {found[-1]:.2e} m/N at twice the limit")
    if len(sys.argv) > 1:
        picture(moves, derivatives, f"{sys.argv[1]}/push_box.png")
