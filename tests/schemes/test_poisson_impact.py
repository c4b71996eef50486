"""Poisson's impact in two phases, beside Newton's."""

import numpy as np
import pytest
import scipy.sparse as sp
from mechanical_runs import steps

from stickslip.laws import Equality, NewtonImpact, PoissonImpact
from stickslip.problem.sets import coulomb
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.poisson_expansion import expand
from stickslip.solvers.registry import make
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem

G = 9.81


def hit(M, v0, rows, laws, **options):
    """The step in which a mass at the origin hits what `rows` (one array per contact) say, without forces."""
    n = len(v0)
    ties = [
        Interaction(f"c{k}", "mass", Scleronomous(lambda q, C=C: [(C @ q)[0]], C), law)
        for k, (C, law) in enumerate(zip(map(np.asarray, rows), laws, strict=True))
    ]
    system = NonsmoothSystem([Lagrangian("mass", M=M, q0=np.zeros(n), v0=v0)], ties)
    return steps(system, until=1e-3, h=1e-3, scheme=MoreauJean(**options))[0]


@pytest.mark.parametrize("e", [0.0, 0.7, 1.0])
def test_one_contact_without_friction_is_newtons(e):
    newton, poisson = (hit(2.0, [-1.5], [[[1.0]]], [law(e=e)]) for law in (NewtonImpact, PoissonImpact))
    assert poisson.state.v[0] == pytest.approx(1.5 * e, abs=1e-12)
    np.testing.assert_allclose(newton.r, poisson.r, atol=1e-12)
    assert len(poisson.solves) == 2
    assert len(newton.solves) == 1


CORNERS = [[[0.0, 1.0, -0.5]], [[0.0, 1.0, 0.5]]]
BLOCK = np.diag([1.0, 1.0, 5.0 / 12.0])


def test_contacts_with_unequal_restitution_differ_from_newtons():
    """One corner gives back, the other does not: Newton stops the second, Poisson lets it leave."""
    e = (0.8, 0.0)
    newton, poisson = (
        hit(BLOCK, [0.0, -1.0, 0.2], CORNERS, [law(e=one) for one in e])
        for law in (NewtonImpact, PoissonImpact)
    )
    u = np.array([np.array(C)[0] @ [0.0, -1.0, 0.2] for C in CORNERS])
    np.testing.assert_allclose(newton.u, -np.array(e) * u, atol=1e-9)
    C = np.concatenate(CORNERS)
    compressed = np.linalg.solve(C @ np.linalg.inv(BLOCK) @ C.T, -u)
    assert (poisson.r >= (1.0 + np.array(e)) * compressed - 1e-9).all()
    assert np.abs(poisson.state.v - newton.state.v).max() > 1e-2
    assert (poisson.u >= -1e-9).all()
    assert poisson.u @ (poisson.r - (1.0 + np.array(e)) * compressed) == pytest.approx(0.0, abs=1e-9)


def test_a_rocking_block_with_friction_differs_from_newtons():
    rows = [[[0.0, 1.0, -0.5], [1.0, 0.0, 1.0]], [[0.0, 1.0, 0.5], [1.0, 0.0, 1.0]]]
    v0 = [0.0, -1.0, 0.8]
    newton, poisson = (
        hit(BLOCK, v0, rows, [law(e=0.6, mu=0.5, dimension=2)] * 2) for law in (NewtonImpact, PoissonImpact)
    )
    assert np.abs(newton.state.v - poisson.state.v).max() > 0.1
    for step in (newton, poisson):
        assert step.ok
        assert 0.5 * step.state.v @ BLOCK @ step.state.v < 0.5 * np.array(v0) @ BLOCK @ v0


MASS = np.array([[2.0, 0.5, 0.3], [0.5, 1.0, 0.2], [0.3, 0.2, 1.5]])


@pytest.mark.parametrize("v0", [[-1.0, 3.0, 0.0], [-1.0, 0.1, 0.2], [-1.0, -0.5, 0.4], [-2.0, 0.0, 0.0]])
@pytest.mark.parametrize("mu", [0.1, 0.3, 0.9])
def test_each_phase_obeys_coulombs_law(v0, mu):
    """The impulse of each phase lies in its cone, opposes sliding; the second is e times the first."""
    e = 0.7
    step = hit(MASS, v0, [np.eye(3)], [PoissonImpact(e=e, mu=mu)])
    assert step.ok
    compression = step.solves[0].r
    expansion = step.r - compression
    assert expansion[0] == pytest.approx(e * compression[0], rel=1e-7)
    v_middle = np.array(v0) + np.linalg.solve(MASS, compression)
    assert v_middle[0] == pytest.approx(0.0, abs=1e-9)
    for r, u in ((compression, v_middle), (expansion, step.state.v)):
        assert np.linalg.norm(r[1:]) <= mu * r[0] * (1.0 + 1e-7)
        if np.linalg.norm(u[1:]) > 1e-7:
            np.testing.assert_allclose(r[1:], -mu * r[0] * u[1:] / np.linalg.norm(u[1:]), atol=1e-7)
    energy = [0.5 * np.array(v) @ MASS @ v for v in (v0, v_middle, step.state.v)]
    assert energy[2] <= energy[0]


def test_a_resting_contact_does_not_hop():
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q), PoissonImpact(e=0.9))
    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=0.0, F_ext=-G)], [floor])
    run = steps(system, until=0.05, h=1e-3, scheme=MoreauJean())
    assert max(abs(step.state.v[0]) for step in run) < 1e-12
    assert all(len(step.solves) == 1 for step in run)


def test_a_bouncing_ball_keeps_its_height_and_gains_nothing():
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q), PoissonImpact(e=1.0))
    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=-G)], [floor])
    run = steps(system, until=4.0, h=1e-3, scheme=MoreauJean())
    E = np.array([0.5 * step.state.v[0] ** 2 + G * step.state.q[0] for step in run])
    assert np.diff(E).max() < 1e-9
    assert E[-1] == pytest.approx(G, rel=0.02)


def test_a_joint_carries_its_share_through_both_phases():
    """Two masses joined rigidly, one of them hits: they leave together with e times their velocity."""
    balls = [Lagrangian(name, M=m, q0=0.0, v0=-1.0) for name, m in (("low", 1.0), ("high", 3.0))]
    ties = [
        Interaction("floor", "low", Scleronomous(lambda q: q), PoissonImpact(e=0.5)),
        Interaction("weld", ("low", "high"), Scleronomous(lambda q: [q[1] - q[0]]), Equality()),
    ]
    step = steps(NonsmoothSystem(balls, ties), until=1e-3, h=1e-3, scheme=MoreauJean())[0]
    np.testing.assert_allclose(step.state.v, 0.5, atol=1e-9)
    np.testing.assert_allclose(step.r, [6.0, 4.5], atol=1e-8)


def test_rolling_friction_has_its_disc_in_the_expansion_too():
    M, v0 = np.diag([1.0, 1.0, 1.0, 0.1, 0.1]), [-1.0, 0.4, 0.0, 3.0, 1.0]
    step = hit(M, v0, [np.eye(5)], [PoissonImpact(e=0.5, mu=0.2, mu_roll=0.05)])
    assert step.ok
    compression = step.solves[0].r
    expansion = step.r - compression
    assert expansion[0] == pytest.approx(0.5 * compression[0], rel=1e-7)
    for r in (compression, expansion):
        assert np.linalg.norm(r[1:3]) <= 0.2 * r[0] * (1.0 + 1e-7)
        assert np.linalg.norm(r[3:]) == pytest.approx(0.05 * r[0], rel=1e-6)
    assert expansion[3:] @ step.state.v[3:] < 0.0


def test_an_expansion_has_the_same_impulses_with_a_sparse_matrix():
    rng = np.random.default_rng(3)
    J = rng.normal(size=(12, 14))
    K, u_free = coulomb([0.4, 0.2, 0.6, 0.3]), rng.normal(size=12)
    kicked, kick, solver = np.array([0, 2]), np.array([0.3, 0.8]), make("auto", tolerance=1e-11)
    W = J @ J.T
    dense, one, left = expand(W, u_free, K, kicked, kick, solver)
    sparse, other, _ = expand(sp.csr_array(W), u_free, K, kicked, kick, solver)
    assert left == 0.0
    assert one.ok
    assert other.ok
    np.testing.assert_allclose(dense, sparse, atol=1e-9)
    u, rho = W @ dense + u_free, dense.copy()
    rho[[0, 6]] += kick  # what both phases give back
    assert (u[::3] > -1e-9).all()
    assert (dense[[0, 6]] > -1e-9).all()
    np.testing.assert_allclose(u[::3] * dense[::3], 0.0, atol=1e-8)
    tangential = np.linalg.norm(rho.reshape(4, 3)[:, 1:], axis=1)
    assert (tangential <= np.array([0.4, 0.2, 0.6, 0.3]) * rho[::3] + 1e-8).all()
