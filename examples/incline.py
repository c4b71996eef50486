"""A box on an incline sticks below the friction angle and slides above it.

Purpose: show the exact threshold of Coulomb's law. Below atan(mu) the box does not creep; above, it slides
with the acceleration g (sin a - mu cos a). The plane is horizontal, and gravity is rotated instead.
"""

import math

import stickslip as ss

G, MU, UNTIL = 9.81, 0.5, 0.5  # m/s², -, s
LIMIT = math.degrees(math.atan(MU))


def slide(degrees):
    """Displacement of the box down the incline [m] and its speed [m/s] at the time UNTIL."""
    a = math.radians(degrees)
    b = ss.WorldBuilder(gravity=(G * math.sin(a), 0.0, -G * math.cos(a)))
    b.material("wood", mu=MU)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    b.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0.0, 0.0, 0.05), material="wood")
    box = ss.simulate(b.build(), until=UNTIL, h=2e-3).body("box")
    return float(box.position[-1, 0]), float(box.velocity[-1, 0])


def main():
    """Displacement and speed by angle [deg]: 0.1° on either side of the limit, and far above it."""
    return {degrees: slide(degrees) for degrees in (LIMIT - 0.1, LIMIT + 0.1, 45.0)}


def check(slides):
    """The box rests below the limit; above, v = g (sin a - mu cos a) t and x = v t / 2."""
    for degrees, (distance, speed) in slides.items():
        a = math.radians(degrees)
        expected = max(0.0, G * (math.sin(a) - MU * math.cos(a))) * UNTIL
        assert abs(speed - expected) < 1e-7
        assert abs(distance - 0.5 * expected * UNTIL) < 1e-7


if __name__ == "__main__":
    slides = main()
    check(slides)
    for angle, (far, fast) in slides.items():
        print(f"{angle:6.2f}° (limit {LIMIT:.2f}°): {far:.6f} m, {fast:.6f} m/s after {UNTIL:g} s")
