"""Springs, dampers, actuators, users' forces: work, momentum, and errors with names."""

import numpy as np
import pytest

from stickslip.mechanics.builder import WorldBuilder
from stickslip.mechanics.energy import potential
from stickslip.mechanics.forces import DAMPING, POTENTIAL, WORKING, Actuator, BodyForce, Damper, Spring
from stickslip.mechanics.given import rotation
from stickslip.mechanics.joints import coordinate
from stickslip.mechanics.shapes import Cuboid, Plane, Sphere
from stickslip.rotations import matrices
from stickslip.state import ModelError


def placed() -> WorldBuilder:
    b = WorldBuilder(gravity=(0, 0, 0))
    b.body("floor", Plane(), fixed=True)
    b.body("a", Cuboid((1, 2, 3)), position=(0, 0, 5), quaternion=rotation((1, 2, 3), 0.8), mass=2.0,
           velocity=(1, -2, 0.5), spin=(0.5, 1, -2))  # fmt: skip
    b.body("b", Sphere(0.5), position=(3, 1, 4), mass=3.0, velocity=(0, 1, 0), spin=(1, 0, 3))
    return b


def moved(q, v, h):
    """q after h at velocity v, to second order in h."""
    out = q.reshape(-1, 7).copy()
    for pose, rate in zip(out, v.reshape(-1, 6), strict=True):
        pose[:3] += h * rate[:3]
        size = np.linalg.norm(rate[3:])
        if size > 0.0:
            p = rotation(rate[3:], h * size)
            (a, *u), (b, *w) = pose[3:], p
            u, w = np.array(u), np.array(w)
            pose[3:] = (a * b - u @ w, *(a * w + b * u + np.cross(u, w)))
    return out.ravel()


def forces_of(world, q=None, v=None, t=0.0):
    F = np.zeros((3, len(world.names), 6))
    world.forces.add(t, world.start.q if q is None else q, world.start.v if v is None else v, F)
    return F


def rate_of_momentum(world, F):
    """Sums of forces and of their moments about the inertial origin."""
    q = world.start.q.reshape(-1, 7)
    moments = np.cross(q[:, :3], F[:, :3]) + np.einsum("nij,nj->ni", matrices(q[:, 3:]), F[:, 3:])
    return np.concatenate([F[:, :3].sum(axis=0), moments.sum(axis=0)])


def test_a_spring_does_the_work_that_its_energy_loses_and_keeps_momentum():
    b = placed()
    b.force(Spring("s", "a", "b", stiffness=7.0, length=2.0, damping=0.5, first_point=(0.3, 1, 5.5)))
    b.force(Spring("line", "b", stiffness=3.0, length=0.0, second_point=(0, 0, 9), first_point=(3, 1.5, 4)))
    world = b.build()
    F, q, v, h = forces_of(world), world.start.q, world.start.v, 1e-5
    power = np.sum(F[POTENTIAL].ravel() * v)
    rate = (potential(world, 0.0, moved(q, v, h)) - potential(world, 0.0, moved(q, v, -h))) / (2 * h)
    assert power == pytest.approx(-rate, rel=1e-8)
    assert np.sum(F[DAMPING].ravel() * v) < 0.0
    np.testing.assert_allclose(rate_of_momentum(world, F[DAMPING]), 0.0, atol=1e-13)
    pull = 3.0 * (np.array((0, 0, 9)) - (3, 1.5, 4))  # the only force from outside
    outside = rate_of_momentum(world, F[POTENTIAL])
    np.testing.assert_allclose(outside, [*pull, *np.cross((3, 1.5, 4), pull)], rtol=1e-13)


def test_a_spring_is_at_rest_at_the_start_unless_it_has_a_length():
    b = placed()
    b.force(Spring("s", "a", "b", stiffness=7.0))
    b.force(Spring("point", "a", stiffness=1.0, length=1.0, second_point=(0, 0, 5)))
    world = b.build()
    assert potential(world, 0.0, world.start.q) == pytest.approx(0.5)  # the second is a point, its l0 is 1
    np.testing.assert_allclose(forces_of(world), 0.0, atol=1e-14)


def test_dampers_take_energy_and_keep_momentum():
    b = placed()
    b.force(Damper("d", "a", "b", linear=2.0, angular=3.0, point=(1, 1, 4)))
    world = b.build()
    F, (q, v) = forces_of(world), (world.start.q, world.start.v)
    np.testing.assert_allclose(rate_of_momentum(world, F[DAMPING]), 0.0, atol=1e-13)
    _, wa = world.velocity(world.start, "a")
    _, wb = world.velocity(world.start, "b")
    slip = v[6:9] + np.cross(wa, (1, 1, 4) - q[7:10]) - v[12:15] - np.cross(wb, (1, 1, 4) - q[14:17])
    lost = 2.0 * slip @ slip + 3.0 * (wa - wb) @ (wa - wb)
    assert np.sum(F[DAMPING].ravel() * v) == pytest.approx(-lost, rel=1e-13)
    assert not F[POTENTIAL].any()
    assert not F[WORKING].any()


@pytest.mark.parametrize(
    ("kind", "turn", "more"),
    [
        ("hinge", False, {"point": (1, 1, 4), "axis": (1, 2, 0)}),
        ("slider", False, {"point": (1, 1, 4), "axis": (1, 2, 0)}),
        ("cylindrical", True, {"point": (1, 1, 4), "axis": (0, 0, 1)}),
        ("distance", False, {"limits": (0, 10)}),
    ],
)
def test_an_actuator_gives_effort_times_rate_and_keeps_momentum(kind, turn, more):
    b = placed()
    b.joint("j", kind, "a", "b", **more)
    b.force(Actuator("m", "j", lambda velocity, t: 3.0 + 0.1 * velocity + t, turn=turn))
    world = b.build()
    column = world.forces.written[0].column
    q, v, h = world.start.q, world.start.v, 1e-5
    q = moved(q, v, 1e-3 if kind in ("hinge", "cylindrical") else 0.3)
    _, rate = coordinate(world.joints, 0, column, q, v)
    ahead, behind = (coordinate(world.joints, 0, column, moved(q, v, s * h), v)[0] for s in (1, -1))
    # the rate of an angle is that about the axis of the second body, to the tilt of the first
    tilt = 1e-2 if column == 1 else 1e-8
    assert (ahead - behind) / (2 * h) == pytest.approx(rate, rel=tilt)
    F = forces_of(world, q, v, t=2.0)[WORKING]
    assert np.sum(F.ravel() * v) == pytest.approx((5.0 + 0.1 * rate) * rate, rel=1e-12)
    F = forces_of(world)[WORKING]
    np.testing.assert_allclose(rate_of_momentum(world, F), 0.0, atol=1e-13)


def test_users_write_forces_of_what_they_name():
    b = placed()
    b.force(BodyForce("wind", "a", force=lambda v, t: -v * t, moment=lambda spin, p: -spin))
    b.force(BodyForce("push", "b", force=(0, 0, 2.0), point=(3.5, 1, 4)))
    world = b.build()
    F = forces_of(world, t=3.0)[WORKING]
    np.testing.assert_allclose(F[1, :3], -3.0 * world.start.v[6:9])
    np.testing.assert_allclose(F[1, 3:], -world.start.v[9:12], rtol=1e-14)  # in the body frame, like Ω
    np.testing.assert_allclose(F[2], (0, 0, 2, 0, -1, 0), atol=1e-15)
    assert len(world.forces) == 2
    assert "2 body forces" in str(world)
    assert len(placed().build().forces) == 0


FORCES = {
    "spring 's': unknown body 'c'; known: floor, a, b": Spring("s", "a", "c", stiffness=1.0),
    "spring 's': stiffness is -1": Spring("s", "a", "b", stiffness=-1.0),
    "spring 's': second_point is missing": Spring("s", "a", stiffness=1.0),
    "spring 's': body 'a' cannot act on itself": Spring("s", "a", "a", stiffness=1.0),
    "damper 's': 'floor' is not dynamic": Damper("s", "floor", linear=1.0),
    "actuator 's': unknown joint 'j'; known: none": Actuator("s", "j", 1.0),
    "body force 's' on body 'a': give a force or a moment": BodyForce("s", "a"),
    "body force 's' on body 'a': force takes \\(y\\); it may take .*\\(t, x, p, v, spin\\)":
        BodyForce("s", "a", force=lambda y: y),
    "body force 's' on body 'a': force has shape": BodyForce("s", "a", force=1.0),
}  # fmt: skip


@pytest.mark.parametrize(("message", "force"), FORCES.items(), ids=list(FORCES))
def test_a_force_that_cannot_be_is_refused_by_name(message, force):
    b = placed()
    b.force(force)
    with pytest.raises(ModelError, match=message):
        b.build()
    with pytest.raises(ModelError, match="the name of force 's' is used twice"):
        b.force(force)


def test_a_force_that_is_not_finite_names_itself_its_body_and_the_time():
    b = placed()
    b.force(BodyForce("wind", "a", force=lambda t: (0, 0, np.nan if t > 1 else 0.0)))
    b.force(Spring("s", "a", "b", stiffness=1.0, damping=1.0))
    b.force(Damper("d", "b", linear=1.0))
    world = b.build()
    with pytest.raises(ModelError, match="body force 'wind' on body 'a' at t = 2 s: force"):
        forces_of(world, t=2.0)
    q = world.start.q.copy()
    q[7] = np.nan
    with pytest.raises(ModelError, match="spring 's' on body 'a' and 'b' is not finite at t = 0 s"):
        forces_of(world, q)
    v = world.start.v.copy()
    v[12] = 1e308
    world = placed()
    world.force(Damper("d", "b", linear=10.0))
    with pytest.raises(ModelError, match="damper 'd' on body 'b' is not finite"):
        forces_of(world.build(), v=v)


def test_a_users_exception_says_whose_it_is():
    b = placed()
    b.force(BodyForce("wind", "a", force=lambda t: [1.0][3]))
    with pytest.raises(IndexError) as caught:
        forces_of(b.build())
    assert caught.value.__notes__ == ["in force of body force 'wind' on body 'a', at t = 0 s"]
