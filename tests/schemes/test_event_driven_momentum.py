"""Event-driven: recorded impulses are all that changes the momentum, however short a stretch is."""

import numpy as np
import pytest
from event_runs import G, run

from stickslip.laws import Equality, NewtonImpact, Relay
from stickslip.systems.lagrangian import LagrangianLinear
from stickslip.systems.lagrangian_relations import LagrangianLinearRelation
from stickslip.systems.system import Interaction, NonsmoothSystem

SPEEDS = (-12.0, 0.0)
"""Powers of ten of speeds [m/s]: from below every tolerance to ordinary ones."""


def check_momentum(M, F, q0, v0, ties, h, steps=5):
    """M Δv = h F + C' r in every step, to rounding; ties: rows C of the outputs and a law each."""
    body = LagrangianLinear("body", M=M, q0=q0, v0=v0, F_ext=F)
    parts = [
        Interaction(f"tie {k}", "body", LagrangianLinearRelation(C=C), law) for k, (C, law) in enumerate(ties)
    ]
    before, C = np.array(v0, float), np.vstack([rows for rows, _ in ties])
    done = run(NonsmoothSystem([body], parts), until=steps * h, h=h)
    for step in done:
        missed = M @ (step.state.v - before) - step.h * F - C.T @ step.r
        size = np.abs(M @ before).max() + np.abs(M @ step.state.v).max() + np.abs(step.r).max()
        assert np.abs(missed).max() <= 1e-13 * (size + step.h * np.abs(F).max())
        before = step.state.v
    return done


def slope(m, angle, d):
    """Weight [N] of a mass on a slope, first coordinate normal to it, second downhill."""
    return m * G * np.array([-np.cos(angle), np.sin(angle), 0.0])[:d]


def test_a_slow_slide_that_ends_while_it_turns():
    # Uphill and across at 1e-8 m/s, at the angle of friction: sliding keeps its direction, and what gravity
    # has given across it when it ends is stopped as well.
    mu, m = 1.7, 10.0
    law, v0 = NewtonImpact(mu=mu), [0.0, -1.4e-8, -1.2e-8]
    weight = slope(m, np.arctan(mu), 3)
    done = check_momentum(m * np.eye(3), weight, np.zeros(3), v0, [(np.eye(3), law)], 1e-3)
    assert [e.kind for e in done[0].events] == ["stick"]
    assert np.abs(done[-1].state.v).max() < 1e-15


def speeds(rng, n):
    return 10.0 ** rng.uniform(*SPEEDS, n) * rng.choice([-1.0, 0.0, 1.0], n)


def gaps(rng, n):
    return 10.0 ** rng.uniform(-14.0, -3.0, n) * rng.choice([0.0, 1.0], n)


def block(rng, law):
    m, d = 10.0 ** rng.uniform(-3.0, 3.0), law["dimension"]
    q0 = np.concatenate([gaps(rng, 1), np.zeros(d - 1)])
    return m * np.eye(d), slope(m, rng.uniform(0.0, 1.2), d), q0, speeds(rng, d), [
        (np.eye(d), NewtonImpact(**law))
    ]  # fmt: skip


def box(rng, law):
    m = 10.0 ** rng.uniform(-2.0, 2.0)
    feet = [(np.array([[1.0, 0.0, k * 0.5], [0.0, 1.0, 0.2]]), NewtonImpact(**law)) for k in (-1.0, 1.0)]
    q0 = np.concatenate([gaps(rng, 1), np.zeros(2)])
    return np.diag([m, m, 0.1 * m]), slope(m, rng.uniform(0.0, 0.8), 3), q0, speeds(rng, 3), feet


def column(rng, law):
    m = 10.0 ** rng.uniform(-2.0, 2.0, 3)
    rows = np.eye(3) - np.eye(3, k=-1)
    ties = [(rows[k : k + 1], NewtonImpact(e=law["e"])) for k in range(3)]
    return np.diag(m), -G * m, np.cumsum(gaps(rng, 3)), speeds(rng, 3), ties


def brake(rng, law):
    m = 10.0 ** rng.uniform(-2.0, 2.0)
    return np.eye(1) * m, np.array([m * rng.normal()]), np.zeros(1), speeds(rng, 1), [
        (np.eye(1), Relay(m * rng.uniform(0.0, 2.0)))
    ]  # fmt: skip


def joined(rng, law):
    # A joint whose halves begin at slightly different speeds, and two contacts.
    m, v0 = 10.0 ** rng.uniform(-2.0, 2.0, 3), speeds(rng, 3)
    v0[1] = v0[0] + 1e-7 * speeds(rng, 1)[0]
    hit = NewtonImpact(e=law["e"])
    ties = [(np.array([[1.0, -1.0, 0.0]]), Equality())]
    ties += [(np.array([[0.0, 0.0, 1.0]]), hit), (np.array([[1.0, 0.0, 1.0]]), hit)]
    return np.diag(m), np.array([0.0, 0.0, -G]) * m, np.concatenate([np.zeros(2), gaps(rng, 1)]), v0, ties


@pytest.mark.parametrize(
    ("make", "dimension"), [(block, 2), (block, 3), (box, 2), (column, 1), (brake, 1), (joined, 1)]
)
def test_short_stretches_of_every_kind(make, dimension):
    for seed in range(20):
        rng = np.random.default_rng([7, seed])
        law = {"e": float(rng.choice([0.0, 0.3, 0.8])), "mu": float(rng.choice([0.1, 0.5, 1.5]))}
        h = 10.0 ** rng.uniform(-9.0, -2.0)
        check_momentum(*make(rng, law | {"dimension": dimension}), h)
