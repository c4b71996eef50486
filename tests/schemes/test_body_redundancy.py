"""Joints that hold a motion twice between the same bodies move as joints that hold it once."""

import numpy as np
import pytest

import stickslip as ss

ACROSS, ALONG = (0, 1, 0), (1, 0, 0)
WELDED = {
    "hinge and slider": (("hinge", (1, 0, 0), ACROSS), ("slider", (1, 0, 0), ALONG)),
    "slider and hinge of the other body": (("slider", (1, 0, 0), ALONG), ("-hinge", (1, 0, 0), ACROSS)),
    "ball and slider": (("ball", (1, 0, 0), None), ("slider", (1, 0, 0), ALONG)),
    "three balls": (("ball", (1, 0, 0), None), ("ball", (1, 0.2, 0), None), ("ball", (1, 0, 0.2), None)),
    "two hinges beside each other": (("hinge", (1, 0, 0), ACROSS), ("hinge", (1, 0, 0.3), ACROSS)),
    "fixed twice": (("fixed", (1, 0, 0), None), ("fixed", (1.2, 0, 0), None)),
}
HINGED = {
    "a door on two hinges": (("hinge", (1, 0, 0), ACROSS), ("hinge", (1, 0.2, 0), ACROSS)),
    "two balls": (("ball", (1, 0, 0), None), ("ball", (1, 0.2, 0), None)),
    "cylindrical and hinge": (("cylindrical", (1, 0, 0), ACROSS), ("hinge", (1, 0, 0), ACROSS)),
}


def arm(joints):
    """A rod hinged to the ground, and a second one tied to its end by those joints; "-": in other order."""
    b = ss.WorldBuilder()
    for k, name in enumerate(("arm", "rod")):
        b.body(name, ss.Cuboid((1.0, 0.1, 0.1)), position=(k + 0.5, 0, 0))
    b.joint("base", "hinge", "arm", point=(0, 0, 0), axis=ACROSS)
    for k, (kind, point, axis) in enumerate(joints):
        pair = ("arm", "rod") if kind.startswith("-") else ("rod", "arm")
        more = {} if axis is None else {"axis": axis}
        b.joint(f"tie {k}", kind.strip("-"), *pair, point=point, **more)
    return b.build()


def swing(joints, h):
    return ss.simulate(arm(joints), until=0.48, h=h)


@pytest.mark.parametrize("case", [*WELDED, *HINGED])
@pytest.mark.parametrize("h", [0.04, 0.02])
def test_they_swing_as_one_joint_does(case, h):
    """To second order in h, as the one joint itself."""
    joints, one = (WELDED[case], "fixed") if case in WELDED else (HINGED[case], "hinge")
    single = swing([(one, (1, 0, 0), None if one == "fixed" else ACROSS)], h)
    found = swing(joints, h)
    assert found.ok.all()
    assert found.q[-1] == pytest.approx(single.q[-1], abs=h * h)
    assert found.dissipated[-1] == pytest.approx(single.dissipated[-1], rel=0.1)
    assert found.opening.max() < 1e-3


def test_a_body_held_twice_by_the_ground_rests():
    b = ss.WorldBuilder()
    b.body("rod", ss.Cuboid((1.0, 0.1, 0.1)), position=(0.5, 0, 0))
    b.joint("hinge", "hinge", "rod", point=(0, 0, 0), axis=ACROSS)
    b.joint("slider", "slider", "rod", point=(0, 0, 0), axis=ALONG)
    run = ss.simulate(b.build(), until=0.2, h=0.01)
    assert run.ok.all()
    np.testing.assert_allclose(run.q[-1], run.q[0], atol=1e-9)


@pytest.mark.parametrize("case", ["hinge and slider", "cylindrical and hinge", "three balls"])
def test_derivatives_follow_what_is_asked_once(case):
    """While the arm turns, so that joints are open half way and the rows are not those of the joints."""
    world, h = arm((WELDED | HINGED)[case]), 0.02
    turning = np.array([0, 0, -1.5, 0, 3, 0, 0, 0, -4.5, 0, 3, 0], float)
    derivative = ss.differentiate(world, ss.State(0.0, world.start.q, turning, np.zeros(0)), h=h)
    found = derivative.jacobian("v", "v")

    def after(v):
        start = ss.State(0.0, world.start.q, v, np.zeros(0))
        return ss.simulate(world, until=h, h=h, start=start, tolerance=1e-12).v[-1].reshape(-1)

    for c in (2, 4, 8, 10):
        change = 1e-4 * np.eye(12)[c]
        ahead, behind = after(turning + change), after(turning - change)
        assert found[:, c] == pytest.approx((ahead - behind) / 2e-4, abs=2e-6)
