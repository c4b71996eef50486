"""A cam lifts its follower up to a critical speed, and throws it off above that.

Purpose: a moving constraint as an equation, and when a contact opens. The follower is a mass m on a spring
and rides on c(t) = -a cos(w t). The cam pushes with P + (m w² - k) a cos(w t), P the preload: contact lasts
if w² <= k / m + P / (m a). Faster, it takes off where that force is zero and flies freely until it lands.
"""

import math

import numpy as np

import stickslip as ss

M, K, P, A = 1.2, 1400.0, 300.0, 0.1  # kg, N/m, N, m
CRITICAL = math.sqrt(K / M + P / (M * A))  # rad/s


def ride(w, scheme, h):
    """The run over one turn of the cam at the speed w [rad/s]; it begins where the cam is lowest."""
    follower = ss.LagrangianLinear("follower", M=M, K=K, F_ext=-P, q0=-A)
    above = ss.systems.Rheonomous(
        lambda t, q: q + A * math.cos(w * t), dy_dq=[[1.0]], dy_dt=lambda t: -A * w * math.sin(w * t)
    )
    cam = ss.Interaction("cam", "follower", above, ss.NewtonImpact(e=0.0))
    return ss.simulate(ss.NonsmoothSystem([follower], [cam]), until=2.0 * math.pi / w, h=h, scheme=scheme)


def main():
    """A run just below the critical speed by time-stepping, and one above it by events."""
    return ride(0.98 * CRITICAL, "moreau-jean", 1e-4), ride(1.2 * CRITICAL, "event-driven", 1e-3)


def flight(t, start, w):
    """Height of the follower that left the cam at the time `start` [m]."""
    n = math.sqrt(K / M)
    q, v = -A * math.cos(w * start), A * w * math.sin(w * start)
    s = n * (t - start)
    return -P / K + (q + P / K) * math.cos(s) + v / n * math.sin(s)


def check(slow, fast):
    """The force below the critical speed; take-off and landing above it."""
    w = 0.98 * CRITICAL
    force = slow.interaction("cam").r[1:, 0] / np.diff(slow.t)
    middle = 0.5 * (slow.t[1:] + slow.t[:-1])
    expected = P + (M * w * w - K) * A * np.cos(w * middle)
    np.testing.assert_allclose(force[1:], expected[1:], atol=0.01 * P)
    assert force[1:].min() > 0.0

    w = 1.2 * CRITICAL
    leaves = next(event.t for event in fast.events if event.kind == "take-off")
    lands = next(event.t for event in fast.events if event.kind == "impact" and event.t > leaves)
    assert abs(leaves - math.acos(-P / (A * (M * w * w - K))) / w) < 1e-8
    assert abs(flight(lands, leaves, w) + A * math.cos(w * lands)) < 1e-8


if __name__ == "__main__":
    below, above = main()
    check(below, above)
    print(f"critical speed {CRITICAL:.3f} rad/s; at 1.2 times that:")
    print(", ".join(f"{event.kind} at {event.t:.6f} s" for event in above.events))
