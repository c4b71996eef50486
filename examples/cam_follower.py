"""A cam follower keeps contact up to a critical speed of the cam, and takes off above it.

Purpose: write a moving constraint as an equation, and find when a contact opens. The follower is a mass m on
a spring and follows c(t) = -a cos(w t). The contact force is P + (m w² - k) a cos(w t) with the preload P:
contact persists if w² <= k / m + P / (m a). Above, the follower takes off where this force is zero, and flies
until it lands.
"""

import math

import numpy as np

import stickslip as ss

M, K, P, A = 1.2, 1400.0, 300.0, 0.1  # kg, N/m, N, m
CRITICAL = math.sqrt(K / M + P / (M * A))  # rad/s


def ride(w, scheme, h):
    """Simulate one turn of the cam at the speed w [rad/s], from the lowest position of the cam."""
    follower = ss.LagrangianLinear("follower", M=M, K=K, F_ext=-P, q0=-A)
    above = ss.systems.Rheonomous(
        lambda t, q: q + A * math.cos(w * t), dy_dq=[[1.0]], dy_dt=lambda t: -A * w * math.sin(w * t)
    )
    cam = ss.Interaction("cam", "follower", above, ss.NewtonImpact(e=0.0))
    return ss.simulate(ss.NonsmoothSystem([follower], [cam]), until=2.0 * math.pi / w, h=h, scheme=scheme)


def main():
    """A run just below the critical speed by time-stepping, and an event-driven run above it."""
    return ride(0.98 * CRITICAL, "moreau-jean", 1e-4), ride(1.2 * CRITICAL, "event-driven", 1e-3)


def flight(t, start, w):
    """Position at time t of a follower that left the cam at the time `start` [m]."""
    n = math.sqrt(K / M)
    q, v = -A * math.cos(w * start), A * w * math.sin(w * start)
    s = n * (t - start)
    return -P / K + (q + P / K) * math.cos(s) + v / n * math.sin(s)


def check(slow, fast):
    """The contact force below the critical speed; the times of take-off and landing above it."""
    w = 0.98 * CRITICAL
    force = slow.interaction("cam").r[1:, 0] / np.diff(slow.t)
    middle = 0.5 * (slow.t[1:] + slow.t[:-1])
    expected = P + (M * w * w - K) * A * np.cos(w * middle)
    np.testing.assert_allclose(force[1:], expected[1:], atol=0.01 * P)
    assert force[1:].min() > 0.0

    w = 1.2 * CRITICAL
    take_off = next(event.t for event in fast.events if event.kind == "take-off")
    landing = next(event.t for event in fast.events if event.kind == "impact" and event.t > take_off)
    assert abs(take_off - math.acos(-P / (A * (M * w * w - K))) / w) < 1e-8
    assert abs(flight(landing, take_off, w) + A * math.cos(w * landing)) < 1e-8


if __name__ == "__main__":
    below, above = main()
    check(below, above)
    print(f"critical speed {CRITICAL:.3f} rad/s; at 1.2 times that:")
    print(", ".join(f"{event.kind} at {event.t:.6f} s" for event in above.events))
