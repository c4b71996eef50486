"""Starts that a law does not allow are refused by name, whatever the scheme; rounding is not."""

import numpy as np
import pytest

import stickslip as ss

RIGID = ("moreau-jean", "schatzman-paoli", "event-driven", "variational")


def ball(q0=1.0, v0=0.0, y=lambda q: q, g=9.81):
    falling = ss.Lagrangian("ball", M=1.0, q0=q0, v0=v0, F_ext=-g)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(y), ss.NewtonImpact(e=0.5))
    return ss.NonsmoothSystem([falling], [floor])


def run(system, scheme="moreau-jean", h=1e-3):
    return ss.simulate(system, until=5.0 * h, h=h, scheme=scheme)


@pytest.mark.parametrize("scheme", RIGID)
def test_a_start_under_the_floor_is_refused_with_its_depth(scheme):
    with pytest.raises(ss.ModelError, match=r"interaction 'floor': at t = 0 s, .* -1\b"):
        run(ball(q0=-1.0), scheme)


@pytest.mark.parametrize("scheme", RIGID)
@pytest.mark.parametrize("q0", [-1e-12, -1e-7, 0.0])
def test_rounding_and_a_step_of_free_fall_are_no_mistake(scheme, q0):
    assert run(ball(q0=q0), scheme).ok.all()


def test_depth_is_measured_by_the_terms_of_y_and_not_in_metres():
    """The same ball in metres, and in a unit of which it takes a billion, without weight: only the share of
    the depth in the terms of y counts."""
    for unit in (1.0, 1e9):
        near, inside = (ball(q0=unit * z, y=lambda q, r=unit: q - r, g=0.0) for z in (1 - 1e-7, 1 - 1e-3))
        assert run(near).ok.all()
        with pytest.raises(ss.ModelError, match="floor"):
            run(inside)


def test_a_contact_may_be_as_deep_as_it_moves_in_a_step():
    assert run(ball(q0=-0.009, v0=-10.0), h=1e-3).ok.all()
    with pytest.raises(ss.ModelError, match="floor"):
        run(ball(q0=-0.011, v0=-10.0), h=1e-3)


def test_springs_in_the_place_of_contacts_and_projections_begin_inside():
    assert run(ball(q0=-0.1), "compliant").missed == 0
    assert run(ball(q0=-1.0), ss.schemes.MoreauJean(projection="direct")).q[1, 0] == pytest.approx(
        0.0, abs=1e-9
    )


def test_systems_by_scheme_are_looked_at_one_by_one():
    one, two = (ss.Lagrangian(n, M=1.0, q0=q) for n, q in (("one", 1.0), ("two", -1.0)))
    law, floor = ss.NewtonImpact(), ss.Scleronomous(lambda q: q)
    ties = [ss.Interaction(f"floor {n}", n, floor, law) for n in ("one", "two")]
    system = ss.NonsmoothSystem([one, two], ties)
    how = {"one": "moreau-jean", "two": "compliant"}
    assert run(system, how).missed == 0
    with pytest.raises(ss.ModelError, match="'floor two'"):
        run(system, how | {"two": "schatzman-paoli"})


@pytest.mark.parametrize("scheme", RIGID)
def test_an_equality_that_does_not_hold_at_the_start_is_refused(scheme):
    rod = ss.Lagrangian("rod", M=np.eye(2), q0=[1.01, 0.0], F_ext=[0.0, -9.81])
    tie = ss.Interaction("pin", "rod", ss.Scleronomous(lambda q: [q @ q - 1.0]), ss.laws.Equality())
    with pytest.raises(ss.ModelError, match=r"interaction 'pin': at t = 0 s, .* 0\.0201"):
        run(ss.NonsmoothSystem([rod], [tie]), scheme)


def test_a_velocity_that_an_equality_does_not_allow_is_an_impact():
    """A point on a circle of radius 1 that is thrown outwards keeps its velocity along the circle alone."""
    rod = ss.Lagrangian("rod", M=np.eye(2), q0=[1.0, 0.0], v0=[3.0, 2.0])
    tie = ss.Interaction("pin", "rod", ss.Scleronomous(lambda q: [q @ q - 1.0]), ss.laws.Equality())
    found = run(ss.NonsmoothSystem([rod], [tie]))
    np.testing.assert_allclose(found.v[1], [0.0, 2.0], atol=1e-2)


def test_a_run_tells_how_far_its_joints_drift():
    rod = ss.Lagrangian("rod", M=np.eye(2), q0=[1.0, 0.0], v0=[0.0, 2.0])
    tie = ss.Interaction("pin", "rod", ss.Scleronomous(lambda q: [q @ q - 1.0]), ss.laws.Equality())
    found = run(ss.NonsmoothSystem([rod], [tie]))
    assert found.opening.max() == np.abs(found.y).max() > 0.0
    assert f"open by {found.opening.max():.3g} at most" in str(found)
    assert run(ball()).opening.max() == 0.0
    assert "joints" not in str(run(ball()))


def test_a_sweeping_process_begins_in_its_set():
    def swept(x0, D=0.0):
        flow = ss.FirstOrderLinear("point", A=0.0, x0=x0)
        wall = ss.Interaction(
            "wall", "point", ss.systems.FirstOrderLinearRelation(1.0, 1.0, D=D), ss.laws.Complementarity()
        )
        return ss.simulate(ss.NonsmoothSystem([flow], [wall]), until=0.01, h=1e-3, scheme="euler-moreau")

    assert swept(0.0).ok.all()
    with pytest.raises(ss.ModelError, match=r"interaction 'wall': .* y\[0\] is -1"):
        swept(-1.0)
    assert swept(-1.0, D=1.0).ok.all()  # a diode in series with a resistor conducts


def test_a_derivative_of_the_first_step_begins_where_a_run_may():
    with pytest.raises(ss.ModelError, match="floor"):
        ss.differentiate(ball(q0=-1.0), h=1e-3)
