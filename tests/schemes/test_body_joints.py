"""Joints of a world as blocks: exact rows, stops by forecast, dry friction, pendulums of second order."""

from dataclasses import replace

import numpy as np
import pytest

from stickslip.mechanics.builder import WorldBuilder
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.jacobian import contact_blocks
from stickslip.problem.sets import free
from stickslip.rotations import about, matrices, product
from stickslip.schemes.body_joints import PARTS, check_joints, joint_coordinates, joint_errors, joint_rows
from stickslip.solvers.registry import make
from stickslip.state import ModelError

INERTIA = (0.2, 0.3, 0.4)
ALONG = (1.0, 2.0, -0.5)
KINDS = ("fixed", "ball", "hinge", "slider", "cylindrical", "distance")


def moved(q, v, h):
    """q ⊕ h v: positions added, orientations turned by Cayley's map."""
    q = q.reshape(-1, 7).copy()
    for one, speed in zip(q, v.reshape(-1, 6), strict=True):
        one[:3] += h * speed[:3]
        one[3:] = product(one[3:], np.array([1.0, *(0.5 * h * speed[3:])]))
        one[3:] /= np.linalg.norm(one[3:])
    return q.reshape(-1)


def pair_of_bodies():
    b = WorldBuilder()
    b.body("a", position=(0.3, -0.2, 0.5), quaternion=(0.5, 0.1, -0.4, 0.7), mass=2.0, inertia=INERTIA)
    b.body("b", position=(-0.4, 0.1, 0.2), quaternion=(0.2, 0.9, 0.3, -0.1), mass=3.0, inertia=INERTIA)
    return b


def changed(world, **tables):
    """The world with other tables of joints."""
    for table in tables.values():
        table.flags.writeable = False
    return replace(world, joints=replace(world.joints, **tables))


def every_kind(stops):
    """Joints of every kind of two bodies, and of one to the inertial frame; `stops` of all coordinates."""
    b = pair_of_bodies()
    for second in ("b", None):
        for kind in KINDS:
            given = {"point": (0.1, 0.4, -0.2)}
            if kind in ("hinge", "slider", "cylindrical"):
                given |= {"axis": ALONG, "friction": 2.0, "e": 0.5}
            if kind == "distance":
                given |= {"second_point": (-0.3, 0.2, 0.8)}
            if kind == "cylindrical":
                given |= {"turn_friction": 3.0}
            b.joint(f"{kind} {second}", kind, "a", second, **given)
        b.joint(f"rope {second}", "distance", "a", second, point=(0, 0, 1), second_point=(1, 1, 0))
    world = b.build()
    lower, upper = world.joints.lower.copy(), world.joints.upper.copy()
    for table, stop in ((lower, stops[0]), (upper, stops[1])):
        for j, name in enumerate(world.joints.names):
            if name.split()[0] in ("slider", "cylindrical", "rope"):
                table[j, 0] = stop
            if name.split()[0] in ("hinge", "cylindrical"):
                table[j, 1] = stop
    return changed(world, lower=lower, upper=upper)


def test_rows_are_the_derivatives_of_errors_and_coordinates_far_from_closed():
    world = every_kind((9.0, -9.0))  # both stops of every coordinate are active, wherever it is
    rng = np.random.default_rng(4)
    q = moved(world.start.q, rng.normal(size=12), 0.7)
    eps = 1e-5
    for _ in range(3):
        v = rng.normal(size=12)
        here = joint_rows(world, 0.0, q, v, 1e-3, 0.5)
        ahead, behind = (joint_rows(world, 0.0, moved(q, v, s * eps), v, 1e-3, 0.5) for s in (1, -1))
        slope = (ahead.error - behind.error) / (2.0 * eps)
        body = np.repeat(here.bodies, here.size, axis=0)
        speeds = np.vstack([v.reshape(-1, 6), np.zeros(6)])  # the last row is the inertial frame's
        u = np.einsum("nsk,nsk->n", here.rows, speeds[body])
        part = np.repeat(here.part, here.size)
        dry = (part == PARTS.index("sliding friction")) | (part == PARTS.index("turning friction"))
        np.testing.assert_allclose(u[~dry], slope[~dry], rtol=1e-7, atol=1e-8)
        # friction acts along the coordinate whose upper stop stands before it
        where = np.flatnonzero(dry)
        np.testing.assert_array_equal(here.rows[where], -here.rows[where - 1])
    assert (here.rows[body[:, 1] < 0, 1] == 0.0).all()
    assert (np.diff(here.id) > 0).all()


def test_rows_bind_the_speed_at_the_end_of_the_step_to_second_order():
    world = every_kind((9.0, -9.0))
    world = changed(world, e=np.zeros(14))
    v = np.random.default_rng(5).normal(size=12)
    speeds = np.vstack([v.reshape(-1, 6), np.zeros(6)])
    misses = []
    for h in (1e-2, 5e-3):
        here = joint_rows(world, 0.0, world.start.q, v, h, 0.5)
        end = joint_rows(world, 0.0, moved(world.start.q, v, 0.5 * h), v, h, 0.5)
        body = np.repeat(here.bodies, here.size, axis=0)
        u, u_end = (np.einsum("nsk,nsk->n", one.rows, speeds[body]) for one in (here, end))
        np.testing.assert_allclose(u + here.bias, u_end, atol=1e-13)
        misses.append(np.abs(here.bias).max())
    assert misses[0] / misses[1] == pytest.approx(2.0, rel=0.02)  # the bias itself is of first order


def test_blocks_of_each_kind():
    world = every_kind((-9.0, 9.0))
    rows = joint_rows(world, 0.0, world.start.q, np.zeros(12), 1e-2, 0.5)
    names = [world.joints.names[j].split()[0] for j in rows.joint]
    found = [(n, PARTS[p], s, k) for n, p, s, k in zip(names, rows.part, rows.size, rows.kind, strict=True)]
    assert found[:9] == [
        ("fixed", "hold", 6, 0),
        ("ball", "hold", 3, 0),
        ("hinge", "hold", 5, 0),
        ("hinge", "turning friction", 1, 2),
        ("slider", "hold", 5, 0),
        ("slider", "sliding friction", 1, 2),
        ("cylindrical", "hold", 4, 0),
        ("cylindrical", "sliding friction", 1, 2),
        ("cylindrical", "turning friction", 1, 2),
    ]
    assert found[9:10] == [("distance", "hold", 1, 0)]
    assert "rope" not in names  # a length between stops is free
    dry = rows.kind == 2
    assert rows.upper[dry][:4].tolist() == pytest.approx([0.02, 0.02, 0.02, 0.03])
    np.testing.assert_array_equal(rows.lower[dry], -rows.upper[dry])
    assert joint_rows(pair_of_bodies().build(), 0.0, world.start.q, np.zeros(12), 1e-2, 0.5) is None
    still = joint_rows(world, 0.0, world.start.q, np.zeros(12), 0.0, 0.5)
    assert (still.kind == 0).all()  # as it stands, for a projection: no friction
    assert np.abs(still.error).max() < 1e-15


def hinge_and_slider(limits=(-1.0, 2.0), e=0.5):
    b = pair_of_bodies()
    b.joint("hinge", "hinge", "a", "b", point=(0, 0, 0), axis=ALONG, limits=limits, e=e)
    b.joint("slider", "slider", "b", None, point=(0, 0, 0), axis=ALONG, limits=limits, e=e)
    return b.build()


def turned(world, angle, slide=0.0):
    """`a` turned by an angle about the axis, `b` slid along it and `a` with it."""
    axis = np.array(ALONG) / np.linalg.norm(ALONG)
    q = world.start.q.reshape(-1, 7).copy()
    turn = about(axis, angle)
    q[0, :3] = matrices(turn) @ q[0, :3]
    q[0, 3:] = product(turn, q[0, 3:])
    q[:, :3] += slide * axis
    return q.reshape(-1)


def spinning(q, rate, speed=0.0):
    """Velocities for that motion."""
    axis = np.array(ALONG) / np.linalg.norm(ALONG)
    v = np.zeros((2, 6))
    x, R = q[:3], matrices(q[3:7])
    v[0, 3:] = R.T @ (rate * axis)
    v[:, :3] = speed * axis
    v[0, :3] += np.cross(rate * axis, x)
    return v.reshape(-1)


def test_coordinates_grow_as_the_first_body_turns_and_slides():
    world = hinge_and_slider()
    for angle, slide in ((0.7, -0.4), (-2.5, 1.5), (3.1, 0.0)):
        q = turned(world, angle, slide)
        v = spinning(q, 1.3, -0.6)
        slid, turn, rates = joint_coordinates(world, q, v)
        np.testing.assert_allclose((slid[1], turn[0]), (slide, angle), atol=1e-14)
        np.testing.assert_allclose(rates, [[0.0, 1.3], [-0.6, 0.0]], atol=1e-14)


def test_stops_are_active_by_the_forecast_of_free_motion_and_give_back_speed():
    world = hinge_and_slider()
    h, gap = 1e-2, 1e-3
    q = turned(world, 2.0 - gap, -1.0 + gap)
    for rate, reached in ((0.21, True), (0.19, False)):  # θ h rate against the gap
        v = spinning(q, rate, -rate)
        rows = joint_rows(world, 0.0, q, v, h, 0.5)
        stops = rows.kind == 1
        assert stops.sum() == (2 if reached else 0)
        late = joint_rows(world, 0.0, q, 0.0 * v, h, 0.5, v_free=v)
        assert (late.kind == 1).sum() == (2 if reached else 0)
        assert (late.restitution == 0.0).all()
        if reached:
            assert [PARTS[p] for p in rows.part[stops]] == ["upper turning stop", "lower stop"]
            first = np.cumsum(rows.size) - rows.size
            np.testing.assert_allclose(rows.error[first[stops]], gap, rtol=1e-9)
            np.testing.assert_allclose(rows.restitution[first[stops]], -0.5 * rate, rtol=1e-12)


def test_no_stop_is_met_by_way_of_half_a_turn():
    world = hinge_and_slider(limits=(-0.1, 3.1))
    q = turned(world, 3.2)  # beyond the upper stop, where atan2 says -3.08
    rows = joint_rows(world, 0.0, q, np.zeros(12), 1e-3, 0.5)
    assert [PARTS[p] for p in rows.part[rows.kind == 1]] == ["upper turning stop"]
    assert joint_errors(world, q)[0, 1] == pytest.approx(0.1)


def test_openings_are_true_distances_and_angles():
    b = pair_of_bodies()
    b.joint("fixed", "fixed", "a", "b", point=(0, 0, 0))
    b.joint("hinge", "hinge", "a", "b", point=(0, 0, 0), axis=(1, 0, 0))
    world = b.build()
    check_joints(world, world.start.q)
    for angle in (1e-3, 2.0, np.pi):
        q = world.start.q.copy()
        turn = about(np.array([0.0, 1.0, 0.0]), angle)
        q[:3], q[3:7] = matrices(turn) @ q[:3] + (0.0, 0.3, 0.4), product(turn, q[3:7])
        np.testing.assert_allclose(joint_errors(world, q), [[0.5, angle], [0.5, angle]], rtol=1e-9)
    with pytest.raises(ModelError, match="joint 'fixed' is open"):
        check_joints(world, q)


def test_what_cannot_be_is_refused_by_name():
    with pytest.raises(ModelError, match=r"joint 'hinge'.*full turn"):
        check_joints(hinge_and_slider(limits=(-1.0, None)), pair_of_bodies().build().start.q)
    world = every_kind((-9.0, 9.0))
    q = world.start.q.copy()
    q[0] = np.nan
    with pytest.raises(ModelError, match="joint 'fixed b' has no finite rows at t = 1 s"):
        joint_rows(world, 1.0, q, np.zeros(12), 1e-3, 0.5)
    friction = world.joints.friction.copy()
    friction[1, 1] = 1.0
    world = changed(world, friction=friction)
    with pytest.raises(ModelError, match=r"joint 'ball b': friction against turning"):
        check_joints(world, world.start.q)


def step(world, q, v, h):
    """A step of θ = 1/2 with held joints and taut ropes alone, solved as equations, and their projection."""
    n = len(world.names)
    M = np.zeros((6 * n, 6 * n))
    for i in range(n):
        M[6 * i : 6 * i + 6, 6 * i : 6 * i + 6] = world.M[i]
    force = np.zeros((n, 6))
    force[:, :3] = world.mass[:, None] * world.gravity
    middle = moved(q, v, 0.5 * h)
    v_free = v + h * np.linalg.solve(M, force.reshape(-1))
    rows = joint_rows(world, 0.0, middle, v, h, 0.5, v_free)
    H = dense(rows, n)
    W = H.T @ np.linalg.solve(M, H)
    r = np.linalg.lstsq(W, -(H.T @ v_free + rows.bias), rcond=1e-10)[0]
    v_end = v_free + np.linalg.solve(M, H @ r)
    q_end = moved(q, v + v_end, 0.5 * h)
    for _ in range(2):
        rows = joint_rows(world, 0.0, q_end, v_end, 0.0, 0.5)
        H = dense(rows, n)
        W = H.T @ np.linalg.solve(M, H)
        q_end = moved(q_end, -np.linalg.solve(M, H @ np.linalg.lstsq(W, rows.error, rcond=1e-10)[0]), 1.0)
    return q_end, v_end


def dense(rows, n):
    """H, shape (6 n, rows)."""
    H = np.zeros((6 * n, rows.rows.shape[0]))
    for k, sides in enumerate(np.repeat(rows.bodies, rows.size, axis=0)):
        for side, i in enumerate(sides):
            if i >= 0:
                H[6 * i : 6 * i + 6, k] += rows.rows[k, side]
    return H


def period(amplitude, length):
    """Of a plane pendulum of that reduced length, by the arithmetic-geometric mean (Gauss)."""
    a, g = 1.0, np.cos(0.5 * amplitude)
    while abs(a - g) > 1e-15:
        a, g = 0.5 * (a + g), np.sqrt(a * g)
    return 2.0 * np.pi * np.sqrt(length / 9.81) / a


@pytest.mark.parametrize("kind", ["distance", "rope", "ball", "hinge"])
def test_a_pendulum_keeps_its_length_and_its_period_to_second_order(kind):
    amplitude, length, m = 1.0, 0.8, 2.0
    point = length * np.array([np.sin(amplitude), 0.0, -np.cos(amplitude)])
    given = {"point": (0, 0, 0)}
    if kind in ("distance", "rope"):
        given = {"point": point, "second_point": (0, 0, 0)}
        if kind == "rope":
            given["limits"] = (None, length)
    b = WorldBuilder()
    b.body(
        "bob", position=point, quaternion=about(np.array([0, 1.0, 0]), -amplitude), mass=m, inertia=INERTIA
    )
    axis = {"axis": (0, -1, 0)} if kind == "hinge" else {}
    b.joint("hang", "distance" if kind == "rope" else kind, "bob", None, **given, **axis)
    world = b.build()
    reduced = length if kind in ("distance", "rope") else length + INERTIA[1] / (m * length)
    misses, losses = [], []
    for steps in (100, 200):
        q, v = world.start.q, world.start.v
        h = 1.25 * period(amplitude, reduced) / steps
        for _ in range(steps):
            q, v = step(world, q, v, h)
        assert joint_errors(world, q).max() < 1e-9
        kinetic = 0.5 * v @ (world.M[0] @ v)
        losses.append(kinetic + m * 9.81 * (q[2] - point[2]))
        misses.append(np.arctan2(q[0], -q[2]))  # it hangs straight down after five quarters
    assert abs(misses[1]) < 2e-3
    assert misses[0] / misses[1] > 3.6
    assert abs(losses[1]) < 1e-3 * m * 9.81 * length


def test_a_four_bar_of_hinges_in_space_closes_though_three_of_its_rows_are_too_many():
    corners = np.array([[0.0, 0, 0], [0.2, 0, 0.5], [1.3, 0, 0.8], [1.0, 0, 0]])
    b = WorldBuilder()
    for i, name in enumerate(("crank", "coupler", "rocker")):
        b.body(name, position=0.5 * (corners[i] + corners[i + 1]), mass=1.0 + i, inertia=INERTIA)
    for i, pair in enumerate(
        (("crank", None), ("crank", "coupler"), ("coupler", "rocker"), ("rocker", None))
    ):
        b.joint(f"pin {i}", "hinge", *pair, point=corners[i], axis=(0, 1, 0))
    world = b.build()
    rows = joint_rows(world, 0.0, world.start.q, world.start.v, 1e-2, 0.5)
    K = free(*rows.size)
    assert K.size == 20
    assert np.linalg.matrix_rank(dense(rows, 3)) == 17  # of 18 velocities: one way to move is left
    f = np.zeros((3, 6))
    f[:, 2] = -9.81e-2 * world.mass
    f[0] += (0.1, 0.2, 0.3, 0.1, -0.4, 0.2)
    problem = GlobalProblem(world.M, f.reshape(-1), contact_blocks(rows.bodies, rows.rows, K), rows.bias, K)
    found = make("auto", tolerance=1e-8).solve(problem)
    assert found.ok
    H = dense(rows, 3)
    v = np.linalg.solve(problem.M.sparse.toarray(), f.reshape(-1) + H @ found.r)
    assert np.abs(H.T @ v).max() < 1e-7
    assert abs(v[4]) > 0.01
