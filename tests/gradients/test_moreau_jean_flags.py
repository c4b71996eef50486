"""Where a step of Moreau-Jean has no derivative, it says so; what cannot be differentiated is refused."""

import numpy as np
import pytest
from step_worlds import NOTHING, SOLVER

import stickslip as ss
from stickslip.gradients.moreau_jean import moreau_jean_derivative
from stickslip.mechanics.parameters import Parameters
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.state import State

H = 0.01
PLAIN = SemiExplicitMoreauJean(correction=False)


def differentiated(*bodies, scheme=PLAIN, e=0.0, joints=(), kappa=0.0, fall=0.0):
    b = ss.WorldBuilder()
    b.material("default", mu=0.5, e=e)
    b.body("floor", ss.Plane(), fixed=True)
    for name, shape, how in bodies:
        b.body(name, shape, **how)
    for name, kind, how in joints:
        b.joint(name, kind, "one", None, **how)
    world = b.build()
    q = world.start.q.reshape(-1, 7).copy()
    q[1:, 2] -= fall
    state = State(0.0, q.reshape(-1), world.start.v)
    return moreau_jean_derivative(scheme, world, state, NOTHING, H, SOLVER, kappa=kappa)


def ball(height, speed=0.0, radius=0.5):
    return ("one", ss.Sphere(radius), {"position": (0, 0, radius + height), "velocity": (0.3, 0, speed)})


def box(name="one", height=0.5, size=(1, 1, 1)):
    return (name, ss.Cuboid(size), {"position": (0, 0, height)})


def test_a_contact_about_to_take_part():
    """A forecast gap of 0: gap = θ h (speed + h g) is where the contact enters the problem."""
    reach = 0.5 * H * (2.0 + H * 9.81)
    middle = 0.5 * H * 2.0  # gaps are looked at in the middle of the step
    far, on, near = (differentiated(ball(middle + reach + off, -2.0)) for off in (1e-6, 0.0, -1e-6))
    assert far.exists
    assert near.exists
    assert (far.of["r"], near.of["r"]) == ((0, 6), (1, 6))
    assert not on.exists
    assert "'floor' and 'one'" in on.notes[0]
    assert "forecast gap is 0" in on.notes[0]
    assert np.isfinite(on.jacobian("v", "q")).all()


def test_a_bearing_contact_that_is_not_approached():
    """Restitution has a kink where the approach is 0; without restitution there is none."""
    derivative = differentiated(ball(0.0), e=0.3)
    assert not derivative.exists
    assert "bears without being approached" in " ".join(derivative.notes)
    assert differentiated(ball(0.0), e=0.0).exists
    assert differentiated(ball(0.0, -0.1), e=0.3).exists


def test_restitution_of_zero_has_a_derivative():
    """One number of e, approached: dv/de = -approach, from the side where e may be."""
    derivative = differentiated(ball(0.0, -0.1), e=0.0)
    assert derivative.jacobian("v", "e")[8, 0] == pytest.approx(0.1, rel=1e-9)


def test_stops_about_to_act():
    hinge = {"point": (0, 0, 5.0), "axis": (0, 1, 0), "e": 0.1}
    spun = ("one", ss.Cuboid((1, 1, 1)), {"position": (0, 0, 5), "spin": (0, 0.1, 0)})
    on = differentiated(spun, joints=[("joint", "hinge", {**hinge, "limits": (-0.5, 0.001)})])
    assert not on.exists
    assert "joint 'joint': its upper turning stop" in on.notes[0]
    off = differentiated(spun, joints=[("joint", "hinge", {**hinge, "limits": (-0.5, 0.002)})])
    assert off.exists


def test_corrections_are_told():
    """Overlap: the correction lifts the ball, which is not differentiated; without it all is well."""
    lifted = differentiated(ball(0.0, -0.1), scheme=SemiExplicitMoreauJean(), fall=1e-4)
    assert not lifted.exists
    assert "correction=False" in " ".join(lifted.notes)
    assert differentiated(ball(0.0, -0.1), scheme=PLAIN, fall=1e-4).exists
    assert differentiated(ball(0.3, -0.1), scheme=SemiExplicitMoreauJean()).exists


def test_faces_of_the_same_size_that_lie_on_each_other_have_borders():
    """Corners stand on corners: moved one way another corner bears than moved the other way."""
    flat = differentiated(box(), box("two", 1.5))
    assert not flat.exists
    assert "bodies 'one' and 'two' touch where other faces or edges take over" in flat.notes


def test_contacts_that_open_do_not_matter():
    """Two boxes that fall and part: their contact is in the problem and bears nothing."""
    one = ("one", ss.Cuboid((1, 1, 1)), {"position": (0, 0, 5)})
    two = ("two", ss.Cuboid((1, 1, 1)), {"position": (0.2, 0, 6.0), "velocity": (0, 0, 0.03)})
    derivative = differentiated(one, two)
    assert (1, 2) in {tuple(pair) for pair in derivative.step.contacts.body}
    assert derivative.exists
    assert np.abs(derivative.jacobian("v", "v") - np.eye(18)).max() < 1e-12


def test_poisson_has_no_smoothed_derivative():
    with pytest.raises(ss.ModelError, match="Poisson's impact has no smoothed derivative"):
        differentiated(ball(0.0, -1.0), e=0.5, kappa=1e-6, scheme=SemiExplicitMoreauJean(impact="poisson"))


def test_names_and_shapes():
    derivative = differentiated(ball(0.0, -1.0))
    given = Parameters.of(derivative._equations.world)
    assert derivative.by == {
        "q": (12,), "v": (12,), "h": (1,), **{name: getattr(given, name).shape for name in Parameters.names()}
    }  # fmt: skip
    assert derivative.step.r.shape == derivative.of["r"] == (1, 6)
    with pytest.raises(ss.ModelError, match="no derivative by 'colour'"):
        derivative.jvp(colour=1.0)
    with pytest.raises(ss.ModelError, match="known: q, v, h"):
        derivative.backward({"q": np.zeros((12, 1))}, ("colour",))
    with pytest.raises(ss.ModelError, match=r"q has shape \(3,\), expected \(12,\)"):
        derivative.mismatch(q=np.zeros(3))
    assert derivative.mismatch(q=np.ones(12)) == 0.0
    assert derivative.forward({})["v"].shape == (12, 0)


def test_position_correction_is_left_out_by_name_and_flagged_where_it_would_act():
    b = ss.WorldBuilder()
    b.body("a", ss.Cuboid((0.1, 0.1, 0.5)))
    b.joint("h", "ball", "a", None, point=(0.0, 0.0, 0.25))
    world = b.build()
    assert ss.differentiate(world, h=0.01).exists
    corrected = ss.differentiate(world, h=0.01, scheme=ss.schemes.SemiExplicitMoreauJean())
    assert not corrected.exists
    assert "correction=False" in corrected.notes[0]
