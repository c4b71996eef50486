"""A box on an incline sticks up to the angle of friction and slides beyond it.

Purpose: Coulomb's law with its threshold, exactly. Below atan(mu) the box does not creep; above it slides
with the acceleration g (sin a - mu cos a). The plane stays level and gravity is turned instead.
"""

import math

import stickslip as ss

G, MU, UNTIL = 9.81, 0.5, 0.5  # m/s², -, s
LIMIT = math.degrees(math.atan(MU))


def slide(degrees):
    """Way of the box down the incline after the time UNTIL, and its speed then [m], [m/s]."""
    a = math.radians(degrees)
    b = ss.WorldBuilder(gravity=(G * math.sin(a), 0.0, -G * math.cos(a)))
    b.material("wood", mu=MU)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0.0, 0.0, 0.05), material="wood")
    box = ss.simulate(b.build(), until=UNTIL, h=2e-3).body("box")
    return float(box.position[-1, 0]), float(box.velocity[-1, 0])


def main():
    """Way and speed by angle [deg]: a tenth of a degree to either side of the limit, and far beyond it."""
    return {degrees: slide(degrees) for degrees in (LIMIT - 0.1, LIMIT + 0.1, 45.0)}


def check(found):
    """Rest below the limit, and v = g (sin a - mu cos a) t, x = v t / 2 above it."""
    for degrees, (way, speed) in found.items():
        a = math.radians(degrees)
        expected = max(0.0, G * (math.sin(a) - MU * math.cos(a))) * UNTIL
        assert abs(speed - expected) < 1e-7
        assert abs(way - 0.5 * expected * UNTIL) < 1e-7


if __name__ == "__main__":
    slides = main()
    check(slides)
    for angle, (far, fast) in slides.items():
        print(f"{angle:6.2f}° (limit {LIMIT:.2f}°): {far:.6f} m, {fast:.6f} m/s after {UNTIL:g} s")
