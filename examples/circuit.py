"""An LC oscillator feeds a resistor through a bridge of four ideal diodes.

Purpose: write a circuit as equations. A diode is 0 <= y ⟂ lam >= 0 for its current and its reverse voltage;
no threshold or exponential law is needed. Whichever pair of diodes conducts, the load draws |v| / R, so that
v'' + v' / (R C) + v / (L C) = 0, and the voltage of the load is |v| (Acary & Brogliato 2008, chapter 1).
"""

import numpy as np

import stickslip as ss

L, C, R, V0, H = 1e-2, 1e-6, 1e3, 10.0, 2e-6  # H, F, ohm, V, s


def main():
    """Times [s], the capacitor's voltage [V], and the load's voltage in the middle of each step [V]."""
    # State (v, i). lam: reverse voltages of two diodes (their sum is the load's); currents of the others.
    oscillator = ss.FirstOrderLinear("oscillator", A=[[0.0, -1.0 / C], [1.0 / L, 0.0]], x0=[V0, 0.0])
    bridge = ss.systems.FirstOrderLinearRelation(
        C=[[0.0, 0.0], [0.0, 0.0], [-1.0, 0.0], [1.0, 0.0]],
        D=[[1 / R, 1 / R, -1.0, 0.0], [1 / R, 1 / R, 0.0, -1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]],
        B=[[0.0, 0.0, -1.0 / C, 1.0 / C], [0.0, 0.0, 0.0, 0.0]],
    )
    diodes = ss.Interaction("bridge", "oscillator", bridge, ss.laws.Complementarity(4))
    midpoint = ss.schemes.EulerMoreau(theta=0.5, gamma=0.5, relation="gamma")
    run = ss.simulate(ss.NonsmoothSystem([oscillator], [diodes]), until=1e-3, h=H, scheme=midpoint)
    return run.t, run.system("oscillator").x[:, 0], run.interaction("bridge").r[1:, :2].sum(axis=1)


def exact(t):
    """Closed form of the capacitor's voltage [V]."""
    a = 0.5 / (R * C)
    w = np.sqrt(1.0 / (L * C) - a * a)
    return V0 * np.exp(-a * t) * (np.cos(w * t) - a / w * np.sin(w * t))


def check(t, v, load):
    """The voltages agree with the closed form to second order in h, and the load's is never negative."""
    assert np.abs(v - exact(t)).max() < 5e-3
    assert np.abs(load - np.abs(exact(0.5 * (t[1:] + t[:-1])))).max() < 1e-2
    assert load.min() > -1e-12


if __name__ == "__main__":
    time, voltage, rectified = main()
    check(time, voltage, rectified)
    error = np.abs(voltage - exact(time)).max()
    print(f"largest error {error:.1e} V of {V0:g} V; lowest voltage of the load {rectified.min():.1e} V")
