"""Newton-Euler bodies through time: closed forms of rolling, and joints that hold."""

import numpy as np
import pytest

import stickslip
from stickslip.laws import Equality, NewtonImpact
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_joints import BallJoint
from stickslip.systems.newton_euler_relations import SpherePlane
from stickslip.systems.system import Interaction, NonsmoothSystem

G = 9.81


def sphere(**options):
    m, R = 2.0, 0.1
    inertia = [0.4 * m * R * R] * 3
    return NewtonEuler("ball", mass=m, inertia=inertia, force=[0.0, 0.0, -m * G], q0=[0.0, 0.0, R], **options)


def run(law, until, h=2e-3, **options):
    system = NonsmoothSystem([sphere(**options)], [Interaction("floor", "ball", SpherePlane(0.1), law)])
    trajectory = stickslip.simulate(system, until=until, h=h)
    assert trajectory.ok.all()
    return trajectory


def test_a_ball_that_slides_ends_rolling_at_five_sevenths():
    """From v0 without spin, sliding stops after 2 v0 / (7 mu g), and it rolls at 5/7 v0 (Coulomb)."""
    v0, mu = 0.5, 0.3
    trajectory = run(NewtonImpact(mu=mu), 0.08, v0=[v0, 0.0, 0.0])
    stop = 2.0 * v0 / (7.0 * mu * G)
    sliding = trajectory.t < stop - 2e-3
    assert trajectory.v[sliding, 0] == pytest.approx(v0 - mu * G * trajectory.t[sliding], abs=1e-9)
    assert trajectory.v[-1] == pytest.approx([5.0 / 7.0 * v0, 0.0, 0.0, 0.0, 50.0 / 7.0 * v0, 0.0], abs=1e-8)


def test_rolling_friction_stops_a_rolling_ball():
    """A ball that rolls has 7/5 m R v̇ = -mu_roll m g, the moment about its contact (mu_roll in m)."""
    v0, mu_roll, R = 0.5, 0.002, 0.1
    law = NewtonImpact(mu=0.5, mu_roll=mu_roll)
    trajectory = run(law, 0.1, v0=[v0, 0.0, 0.0, 0.0, v0 / R, 0.0])
    known = v0 - 5.0 / 7.0 * mu_roll * G / R * trajectory.t
    assert trajectory.v[:, 0] == pytest.approx(known, abs=1e-6)


def test_a_ball_joint_holds_a_spherical_pendulum():
    """Energy and the moment about the vertical, to the first order of the scheme."""
    body = NewtonEuler(
        "bob", mass=1.0, inertia=[0.01, 0.01, 0.02], q0=[0.5, 0.0, 0.0], v0=[0, 1.0, 0, 0, 0, 2.0],
        force=[0.0, 0.0, -G],
    )  # fmt: skip
    system = NonsmoothSystem([body], [Interaction("joint", "bob", BallJoint([0, 0, 0]), Equality(3))])
    errors = []
    for h in (4e-3, 2e-3):
        trajectory = stickslip.simulate(system, until=0.2, h=h)
        assert trajectory.ok.all()
        energy = trajectory.kinetic + trajectory.potential
        errors.append([np.abs(energy - energy[0]).max(), np.abs(trajectory.y).max()])
        assert np.linalg.norm(trajectory.q[:, 3:], axis=1) == pytest.approx(1.0, abs=1e-12)
    assert errors[1] == pytest.approx(np.array(errors[0]) / 2.0, rel=0.2)
