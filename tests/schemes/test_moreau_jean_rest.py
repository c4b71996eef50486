"""Moreau-Jean where forces balance each other, and its energy on random linear systems with contacts."""

import numpy as np
import pytest

import stickslip as ss

MASS = np.diag([1.0, 2.0, 0.5])
STIFFNESS = np.array([[300.0, -100.0, 0.0], [-100.0, 250.0, -150.0], [0.0, -150.0, 150.0]])
WEIGHT = -9.81 * np.diag(MASS)


def hanging(kind):
    """Three masses on damped springs."""
    start = {"M": MASS, "q0": [0.1, 0.2, 0.3], "F_ext": WEIGHT}
    if kind == "linear":
        return ss.LagrangianLinear("masses", K=STIFFNESS, C=0.2 * STIFFNESS, **start)
    return ss.Lagrangian("masses", F_int=lambda q, v: STIFFNESS @ (q + 0.2 * v), **start)


@pytest.mark.parametrize("kind", ["linear", "function"])
@pytest.mark.parametrize("solver", ["auto", "nsgs"])  # compiled runs, and step by step
@pytest.mark.parametrize("ceiling", [False, True])
def test_rounding_at_rest_is_not_a_miss(kind, solver, ceiling):
    """At rest momenta and net forces vanish, and what rounding leaves of the balance must not count."""
    far = ss.Interaction(
        "far", "masses", ss.systems.LagrangianLinearRelation([[1.0, 0, 0]], 10.0), ss.NewtonImpact()
    )
    system = ss.NonsmoothSystem([hanging(kind)], [far] if ceiling else [])
    run = ss.simulate(system, until=10.0, h=1e-2, solver=solver, record=100)
    assert run.newton[-1] == 100  # one for each of the steps since the record before
    np.testing.assert_allclose(run.q[-1], np.linalg.solve(STIFFNESS, WEIGHT), rtol=1e-9)


def random_system(rng, law, damped):
    n = int(rng.integers(2, 6))
    factors = rng.normal(size=(3, n, n))
    M, K, C = (X @ X.T for X in factors)
    q0 = rng.normal(size=n)
    rows = rng.normal(size=(law.size, n))
    body = ss.LagrangianLinear(
        "body", M=M + 0.1 * np.eye(n), K=10 ** rng.uniform(-1.0, 4.0) * K, C=C if damped else None,
        q0=q0, v0=3.0 * rng.normal(size=n), F_ext=rng.normal(size=n),
    )  # fmt: skip
    gaps = ss.systems.LagrangianLinearRelation(rows, 0.1 + np.abs(rng.normal(size=law.size)) - rows @ q0)
    return ss.NonsmoothSystem([body], [ss.Interaction("stop", "body", gaps, law)])


LAWS = [
    ss.NewtonImpact(contacts=3),
    ss.NewtonImpact(mu=0.2, dimension=2, contacts=2),
    ss.NewtonImpact(mu=1.0, contacts=2),
]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("law", LAWS, ids=["plain", "plane", "space"])
def test_energy_never_grows_where_the_end_of_the_step_counts(law, seed):
    """theta = 1 and e = 0: r does no work at the velocities where the law holds it."""
    rng = np.random.default_rng(seed)
    h = 10 ** rng.uniform(-3.0, -1.0)
    run = ss.simulate(
        random_system(rng, law, damped=True), until=100 * h, h=h, scheme=ss.schemes.MoreauJean(theta=1.0)
    )
    assert np.diff(run.energy).max() <= 1e-9 * np.abs(run.energy).max()


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("e", [0.0, 0.7])
def test_at_theta_one_half_all_that_changes_energy_is_the_work_of_the_contacts(e, seed):
    rng = np.random.default_rng(100 + seed)
    h = 10 ** rng.uniform(-3.0, -1.0)
    law = ss.NewtonImpact(e=e, mu=0.3, dimension=2, contacts=2)
    run = ss.simulate(
        random_system(rng, law, damped=False), until=100 * h, h=h, scheme=ss.schemes.MoreauJean(theta=0.5)
    )
    balance = run.energy - run.contact_work
    size = np.abs(run.energy).max() + np.abs(run.contact_work).max()
    np.testing.assert_allclose(balance, balance[0], rtol=0.0, atol=1e-10 * size)
