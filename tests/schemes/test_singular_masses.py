"""A mass matrix that turns singular, and joints that are open at the start, are named by every scheme."""

import numpy as np
import pytest

import stickslip as ss


@pytest.mark.parametrize("scheme", ["moreau-jean", "schatzman-paoli", "event-driven", "compliant"])
def test_a_mass_that_turns_singular_is_named_with_its_system_and_time(scheme):
    system = ss.NonsmoothSystem([ss.Lagrangian("ball", M=lambda q: [[q[0] - 0.5]], q0=1.0, F_ext=-9.81)])
    with pytest.raises(ss.ModelError, match=r"system 'ball': at t = 0\.\d+ s, .*M"):
        ss.simulate(system, until=0.5, h=1e-3, scheme=scheme)


def test_a_joint_that_is_open_at_the_start_is_named():
    point = ss.Lagrangian("bead", M=np.eye(2), q0=[1.0, 0.5])
    wire = ss.Interaction("wire", "bead", ss.Scleronomous(lambda q: q[1:]), ss.laws.Equality())
    system = ss.NonsmoothSystem([point], [wire])
    with pytest.raises(ss.ModelError, match=r"interaction 'wire': at t = 0 s, y is 0\.5, but its law"):
        ss.simulate(system, until=0.1, h=1e-2)
    run = ss.simulate(system, until=0.1, h=1e-2, scheme=ss.schemes.MoreauJean(projection="direct"))
    assert abs(run.interaction("wire").y[-1, 0]) < 1e-9
