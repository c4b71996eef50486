"""A ball bounces ever faster and comes to rest: infinitely many impacts in finite time.

Purpose: compare event-driven integration and time-stepping. Event-driven integration locates every impact;
time-stepping (Moreau-Jean) does not locate impacts and passes the accumulation point. The ball is dropped
from height q0 and each impact keeps a fraction e of the speed, so it rests at T = sqrt(2 q0 / g) (1 + e) / (1
- e).
"""

import math

import numpy as np

import stickslip as ss

Q0, G, E, H = 1.0, 9.81, 0.8, 1e-3  # m, m/s², -, s
REST = math.sqrt(2.0 * Q0 / G) * (1.0 + E) / (1.0 - E)  # s


def main():
    """Time of rest [s] by scheme, and the run with time-stepping."""
    ball = ss.Lagrangian("ball", M=1.0, q0=Q0, F_ext=-G)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=E))
    system = ss.NonsmoothSystem([ball], [floor])
    stepped = ss.simulate(system, until=5.0, h=H)
    located = ss.simulate(system, until=5.0, h=0.05, scheme="event-driven")

    moving = abs(stepped.system("ball").v[:, 0]) > G * H
    end = {"moreau-jean": float(stepped.t[moving][-1])}
    end["event-driven"] = next(event.t for event in located.events if event.kind == "zeno")
    return end, stepped


def check(end, stepped):
    """Event-driven times are exact, time-stepping is off by some steps; contact work balances energy."""
    assert abs(end["event-driven"] - REST) < 1e-8
    assert abs(end["moreau-jean"] - REST) < 50.0 * H
    assert np.ptp(stepped.energy - stepped.contact_work) < 1e-12 * stepped.energy[0]
    assert stepped.ok.all()


if __name__ == "__main__":
    rest, run = main()
    check(rest, run)
    print(f"at rest after {REST:.9f} s; " + ", ".join(f"{name} {t:.9f} s" for name, t in rest.items()))
