"""Contacts of worlds obey laws of `laws.py`: their sets, what an impact owes, and the motion that follows."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.detection.tracking import KEPT, NOTHING
from stickslip.problem.step_tangent import step_blocks
from stickslip.schemes.body_blocks import contact_blocks
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_world import PreparedWorld
from stickslip.schemes.variational import step_problem

RADIUS, MASS, H = 0.1, 2.0, 1e-3
MEMORY = dict(zip(KEPT, NOTHING, strict=True))


def ball_on(law, height=RADIUS, velocity=(0.5, 0.2, -1.0), spin=(1.0, -2.0, 8.0)):
    """A ball on or above a floor of another material, whose contact has this law."""
    b = ss.WorldBuilder()
    b.material("rubber", mu=0.9, mu_roll=0.02, mu_spin=0.03, e=0.9)
    b.material("ice", mu=0.01)
    b.pair("rubber", "ice", law=law)
    b.body("floor", ss.Plane(), fixed=True, material="ice")
    b.body(
        "ball", ss.Sphere(RADIUS), position=(0, 0, height), mass=MASS, velocity=velocity, spin=spin,
        material="rubber",
    )  # fmt: skip
    return b.build()


def written(world, law):
    """The same ball as equations."""
    start, weight = world.start, MASS * world.gravity
    ball = ss.NewtonEuler(
        "ball", q0=start.q[7:], v0=start.v[6:], mass=MASS, inertia=world.inertia[1], force=weight
    )
    return ss.NonsmoothSystem([ball], [ss.Interaction("floor", "ball", ss.systems.SpherePlane(RADIUS), law)])


def random_law(rng, kind=ss.NewtonImpact):
    """Coefficients of all kinds, some of them 0."""
    mu, mu_roll, mu_spin, e = rng.uniform(0.0, [1.0, 0.01, 0.02, 1.0]) * (rng.random(4) < 0.7)
    return kind.of([mu, mu_roll, mu_spin, e])


def same_set(K, other):
    return all(np.array_equal(a, b) for a, b in zip(K.arrays, other.arrays, strict=True))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("kind", [ss.NewtonImpact, ss.laws.PoissonImpact])
def test_blocks_of_a_step_are_the_law(seed, kind):
    rng = np.random.default_rng(seed)
    law = random_law(rng, kind)
    world = ball_on(
        ss.NewtonImpact.of(law.coefficients[0]), velocity=rng.normal(size=3), spin=rng.normal(size=3)
    )
    assert world.law("ice", "rubber", law.impact) == law
    prepared = PreparedWorld(world)
    start = Start.of(0.5, prepared, world.start, H)
    found = prepared.detector.find(start.q_m.reshape(-1), 1.0)
    assert np.array_equal(found.law, law.coefficients)
    found.gap[:] = -1.0  # it takes part even where it separates
    blocks = contact_blocks(found, start, 0.5, law.impact == "newton", MEMORY)
    assert same_set(blocks.K, law.K)
    before = np.einsum("psi,psi->p", blocks.rows, start.v_start[blocks.sides[0]][None])
    assert blocks.u_bias == pytest.approx(law.bias(before), rel=1e-15, abs=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_blocks_of_a_variational_step_are_the_law(seed):
    law = random_law(np.random.default_rng(seed))
    world, scheme = ball_on(law), ss.schemes.VariationalBodies()
    problem = step_problem(scheme, world, world.start, scheme.begin(world, world.start, H), H)
    assert same_set(step_blocks(problem).K, law.K)


@pytest.mark.parametrize(
    "law",
    [
        ss.NewtonImpact(mu=0.3),
        ss.NewtonImpact(mu=0.3, mu_roll=0.004),
        ss.NewtonImpact(e=0.5, mu=0.3, mu_spin=0.01),
        ss.NewtonImpact(e=0.5, mu=0.2, mu_roll=0.003, mu_spin=0.01),
        ss.NewtonImpact(e=0.8, mu=0.0),
    ],
    ids=str,
)
@pytest.mark.parametrize("height", [RADIUS, 1.5 * RADIUS])
def test_a_placed_ball_moves_as_a_written_one(law, height):
    world = ball_on(law, height=height, velocity=(0.5, 0.2, 0.0))
    how = {"until": 0.2, "h": H, "scheme": "variational", "tolerance": 1e-12}
    placed, equations = ss.simulate(world, **how), ss.simulate(written(world, law), **how)
    assert np.abs(placed.q[:, 7:] - equations.q).max() < 1e-10
    assert np.abs(placed.v[:, 6:] - equations.v).max() < 1e-9
    assert np.abs(placed.v[-1, 9:] - placed.v[0, 9:]).max() > 0.1 or law.mu == 0.0


@pytest.mark.parametrize("kind", [ss.NewtonImpact, ss.laws.PoissonImpact])
def test_an_impact_of_a_placed_ball_is_that_of_a_written_one(kind):
    law = kind(e=0.6, mu=0.3, mu_roll=0.003, mu_spin=0.01)
    world = ball_on(ss.NewtonImpact.of(law.coefficients[0]))
    h = 1e-7  # rows of the one are those of the middle of the step, of the other those of its start
    placed = ss.simulate(
        world, until=h, h=h, scheme=ss.schemes.SemiExplicitMoreauJean(impact=law.impact), tolerance=1e-12
    )
    equations = ss.simulate(written(world, law), until=h, h=h, scheme="moreau-jean", tolerance=1e-12)
    assert placed.v[-1, 6:] == pytest.approx(equations.v[-1], abs=1e-5)
    assert placed.v[-1, 8] == pytest.approx(0.6, abs=1e-5)
