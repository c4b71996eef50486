"""A box on a fixed inclined plane: four corner contacts, known in closed form."""

import math

import numpy as np

from stickslip.problem.contact import GlobalProblem
from stickslip.scenes.parameters import checked, lengths
from stickslip.scenes.rigid import box_inertia, one_step


@checked
def incline(
    *,
    angle: float = 25.0,
    mu: float = 0.5,
    mass: float = 1.0,
    h: float = 1e-3,
    size: tuple[float, float, float] = (0.2, 0.1, 0.1),
) -> GlobalProblem:
    """A box at rest on a fixed plane that falls towards +x; t1 points down the slope, t2 is y.

    angle: of the plane to the horizontal [deg], in [0, 90).
    mu: friction coefficient [-], >= 0.
    mass: of the box, homogeneous [kg], > 0.
    h: time step [s], > 0.
    size: length along the slope, width and height of the box [m], > 0.

    The box is body 0, the plane is fixed. With N = m g h cos and T = m g h sin, the exact law gives
    sum r_N = N, and sum r_T1 = -min(T, mu N), sum r_T2 = 0: it sticks if tan(angle) <= mu and otherwise
    slides at v = g h (sin - mu cos) with u_N = 0. The four impulses are not unique, their sums are.

    The friction min(tan, mu) N acts half a height under the centre, so the normal resultant stands
    min(tan, mu) height / 2 down the slope of it: the box tips unless min(tan, mu) height <= length, and
    such a box is refused.
    """
    length, width, height = lengths("size", size, ("length", "width", "height"))
    sine, cosine = math.sin(math.radians(angle)), math.cos(math.radians(angle))
    grip = min(sine / cosine, mu)
    if grip * height > (1.0 + 1e-12) * length:  # the verge itself is fine, whatever rounding says
        raise ValueError(
            f"size is {size!r}: the box tips, as min(tan(angle), mu) height = {grip * height:.6g} m is more"
            f" than its length {length:g} m; give it a length >= {grip * height:.6g} m or a smaller height"
        )
    normal, down, across = [sine, 0.0, cosine], [cosine, 0.0, -sine], [0.0, 1.0, 0.0]
    axes = np.array([down, across, normal])  # rows: the axes of the box in the world frame
    corners = 0.5 * np.array([[x * length, y * width, -height] for x in (-1, 1) for y in (-1, 1)])
    arms = np.zeros((4, 2, 3))
    arms[:, 0] = corners @ axes
    masses = np.array([mass])
    return one_step(
        mass=masses, inertia=axes.T @ box_inertia(masses, np.array([[length, width, height]])) @ axes,
        velocity=np.zeros((1, 6)), bodies=np.array([[0, -1]] * 4), arms=arms,
        frames=np.tile(np.array([normal, down, across]), (4, 1, 1)), mu=mu, mu_roll=None, h=h,
    )  # fmt: skip
