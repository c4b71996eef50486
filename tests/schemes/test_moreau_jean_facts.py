"""Moreau-Jean against what is known: closed forms, momentum, energy, rotation."""

import numpy as np
import pytest
from mechanical_runs import steps

from stickslip.laws import NewtonImpact, PoissonImpact
from stickslip.rotations import matrices
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import LagrangianLinearRelation, Scleronomous
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_relations import PointOnPlane
from stickslip.systems.system import Interaction, NonsmoothSystem

G = 9.81


def block_on_incline(slope, mu, v0=0.0):
    """A block on a plane, coordinates along and normal to it."""
    pull = [-G * np.sin(slope), -G * np.cos(slope)]
    contact = Scleronomous(lambda q: [q[1]], [[0.0, 1.0], [1.0, 0.0]])
    return NonsmoothSystem(
        [Lagrangian("block", M=3.0, q0=[0.0, 0.0], v0=[v0, 0.0], F_ext=3.0 * np.array(pull))],
        [Interaction("plane", "block", contact, NewtonImpact(mu=mu, dimension=2))],
    )


@pytest.mark.parametrize("variant", ["nearly-implicit", "semi-explicit", "complete"])
def test_a_sliding_block_stops_where_coulomb_says(variant):
    """v²/(2 mu g) on a level plane, after v/(mu g) seconds."""
    h, mu, v = 1e-3, 0.3, 2.0
    run = steps(block_on_incline(0.0, mu, v), until=1.0, h=h, scheme=MoreauJean(variant=variant))
    assert run[-1].state.q[0] == pytest.approx(v**2 / (2.0 * mu * G), abs=mu * G * h**2)
    stopped = next(k for k, step in enumerate(run, 1) if abs(step.state.v[0]) < 1e-12)
    assert stopped * h == pytest.approx(v / (mu * G), abs=h)
    np.testing.assert_allclose(run[10].r, [3.0 * G * h, -mu * 3.0 * G * h], rtol=1e-9)
    np.testing.assert_allclose(run[-1].r, [3.0 * G * h, 0.0], atol=1e-9)


def test_a_block_on_an_incline_sticks_below_the_angle_of_friction_and_slides_above():
    mu = 0.5
    held = steps(block_on_incline(np.arctan(mu) - 0.01, mu), until=0.2, h=1e-3, scheme=MoreauJean())
    assert np.abs(held[-1].state.v).max() < 1e-12
    slope = np.arctan(mu) + 0.01
    run = steps(block_on_incline(slope, mu), until=0.2, h=1e-3, scheme=MoreauJean())
    a = -G * (np.sin(slope) - mu * np.cos(slope))
    assert run[-1].state.v[0] == pytest.approx(a * 0.2, rel=1e-9)
    assert run[-1].state.q[0] == pytest.approx(0.5 * a * 0.2**2, rel=1e-6)


def cradle(n, e=1.0, gap=1e-3):
    """Balls in a row along a line, the first one moving."""
    balls = [Lagrangian(f"b{i}", M=1.0, q0=i * (1.0 + gap), v0=1.0 if i == 0 else 0.0) for i in range(n)]
    ties = [
        Interaction(
            f"t{i}",
            (f"b{i}", f"b{i + 1}"),
            LagrangianLinearRelation([[-1.0, 1.0]], [-1.0]),
            NewtonImpact(e=e),
        )
        for i in range(n - 1)
    ]
    return NonsmoothSystem(balls, ties)


def test_newtons_cradle_hands_the_velocity_to_the_last_ball():
    """Balls a little apart collide one after the other: binary impacts exchange velocities."""
    run = steps(cradle(5), until=0.03, h=1e-4, scheme=MoreauJean())
    np.testing.assert_allclose(run[-1].state.v, [0.0, 0.0, 0.0, 0.0, 1.0], atol=1e-9)


@pytest.mark.parametrize("e", [0.0, 0.4, 1.0])
@pytest.mark.parametrize("gap", [1e-3, 0.0])
def test_momentum_is_conserved_and_energy_does_not_grow_in_a_chain(e, gap):
    run = steps(cradle(4, e, gap), until=0.05, h=1e-3, scheme=MoreauJean())
    kinetic = [0.5 * step.state.v @ step.state.v for step in run]
    assert max(abs(step.state.v.sum() - 1.0) for step in run) < 1e-9
    assert (np.diff([0.5, *kinetic]) < 1e-9).all()
    if e == 1.0:
        assert kinetic[-1] == pytest.approx(0.5, abs=1e-8)


def rocking_block(law, v0, mu, g=G):
    """A planar block, 1 m wide and 2 m high, above a floor by its two lower corners."""
    inertia = 5.0 / 12.0

    def corner(side):
        def rows(q):
            s, c = np.sin(q[2]), np.cos(q[2])
            normal = [0.0, 1.0, 0.5 * side * c + s]
            return [normal] if mu is None else [normal, [1.0, 0.0, -0.5 * side * s + c]]

        return Scleronomous(lambda q: [q[1] + 0.5 * side * np.sin(q[2]) - np.cos(q[2])], rows)

    ties = [Interaction(name, "block", corner(side), law) for name, side in (("left", -1.0), ("right", 1.0))]
    body = Lagrangian(
        "block", M=np.diag([1.0, 1.0, inertia]), q0=[0.0, 1.02, 0.05], v0=v0, F_ext=[0.0, -g, 0.0]
    )
    return NonsmoothSystem([body], ties)


def energies(system, run, g=G):
    masses = np.diag(system.systems[0].mass(0.0, system.q0, system.z0))
    first = 0.5 * masses @ system.v0**2 + g * system.q0[1]
    return np.array([first, *(0.5 * masses @ s.state.v**2 + g * s.state.q[1] for s in run)])


@pytest.mark.parametrize("impact", [NewtonImpact, PoissonImpact])
@pytest.mark.parametrize("theta", [0.5, 0.6])
@pytest.mark.parametrize(("mu", "e"), [(None, 0.0), (None, 0.8), (0.3, 0.0), (0.8, 0.4)])
def test_energy_does_not_grow(impact, theta, mu, e):
    """Each step changes the energy by the work of the contacts, r·(u⁻ + u⁺)/2, which is not positive.

    But for one thing: a contact that has sunk in and is about to leave again stays active for a step, in
    which gravity is taken from it; that is at most g u⁻ h/2 per kg with u⁻ of order g h.
    """
    h = 2e-3
    law = impact(e=e) if mu is None else impact(e=e, mu=mu, dimension=2)
    system = rocking_block(law, [0.5, -1.0, 0.7], mu)
    run = steps(system, until=1.0, h=h, scheme=MoreauJean(theta=theta))
    assert all(step.ok for step in run)
    assert np.any([step.active for step in run], axis=0).all()
    E = energies(system, run)
    assert E.max() == E[0]
    assert np.diff(E).max() < 0.5 * G * h * G * h
    assert E[-1] < E[0] - 0.4


def test_the_change_of_energy_is_the_work_of_the_contacts():
    law = NewtonImpact(e=0.4, mu=0.6, dimension=2)
    system = rocking_block(law, [0.5, -1.0, 0.7], 0.6)
    h, work = 1e-3, []
    run = steps(system, until=0.5, h=h, scheme=MoreauJean())
    before_q, before_v = system.q0, system.v0
    for step in run:
        rows = [one.mechanical.rows(0.0, before_q, np.zeros(2), np.zeros(0)) for one in system.interactions]
        work.append(step.r @ np.concatenate(rows) @ (before_v + step.state.v) / 2.0)
        before_q, before_v = step.state.q, step.state.v
    np.testing.assert_allclose(np.diff(energies(system, run)), work, atol=1e-12)


def top(h, **options):
    body = NewtonEuler("top", mass=1.0, inertia=np.diag([1.0, 2.0, 3.0]), v0=[0.0, 0.0, 0.0, 0.5, 2.0, 0.3])
    return steps(NonsmoothSystem([body]), until=1.0, h=h, scheme=MoreauJean(**options))


def angular_momentum(step):
    return matrices(step.state.q[3:]) @ (np.array([1.0, 2.0, 3.0]) * step.state.v[3:])


@pytest.mark.parametrize("options", [{"variant": "complete"}, {}, {"frame": "current"}])
def test_free_rotation_of_a_rigid_body_is_of_second_order(options):
    """Angular momentum and energy of a torque-free body; Ω is in the body frame, so that T(q) may be taken at
    the start, at the end or between them: the unit quaternion of the sum turns by 2 atan(h Ω / 2)."""
    start = np.array([1.0, 2.0, 3.0]) * [0.5, 2.0, 0.3]
    errors = []
    for h in (0.02, 0.01):
        last = top(h, **options)[-1]
        assert np.linalg.norm(last.state.q[3:]) == pytest.approx(1.0, abs=1e-14)
        errors.append(np.abs(angular_momentum(last) - start).max())
        energy = 0.5 * last.state.v[3:] ** 2 @ [1.0, 2.0, 3.0]
        assert energy == pytest.approx(0.5 * (0.25 + 8.0 + 0.27), abs=2.0 * h**2)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


def test_a_cube_of_eight_corners_comes_to_rest_on_the_floor():
    corners = [(x, y, z) for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)]
    half = 0.1
    cube = NewtonEuler(
        "cube", mass=1.0, inertia=np.eye(3) * 2.0 / 3.0 * half**2, q0=[0.0, 0.0, 0.11], force=[0.0, 0.0, -G],
        v0=[0.3, 0.0, 0.0, 0.1, 0.0, 0.0],
    )  # fmt: skip
    ties = [
        Interaction(f"corner {k}", "cube", PointOnPlane(half * np.array(c)), NewtonImpact(e=0.2, mu=0.5))
        for k, c in enumerate(corners)
    ]
    run = steps(NonsmoothSystem([cube], ties), until=0.6, h=2e-3, scheme=MoreauJean())
    last = run[-1]
    assert np.abs(last.state.v).max() < 1e-6
    assert last.r.reshape(8, 3)[:, 0].sum() == pytest.approx(G * 2e-3, rel=1e-6)
    assert last.state.q[2] == pytest.approx(half, abs=2e-3)
    assert all(step.ok for step in run)
