"""Steps of worlds with many contacts, in parts and by domains: the same bits on any number of threads."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.compilation import JIT
from stickslip.kernels import domains
from stickslip.kernels.bodies.correction import PRECISION
from stickslip.scenes.packing import deposit
from stickslip.schemes.bodies import SemiExplicitMoreauJean
from stickslip.schemes.body_blocks import contact_blocks
from stickslip.schemes.body_start import Start
from stickslip.schemes.body_world import PreparedWorld
from stickslip.solvers import registry

pytestmark = pytest.mark.skipif(not JIT, reason="domains are for compiled kernels")


@pytest.fixture(scope="module")
def packing():
    """Spheres with random velocities between rough walls: those that lean on a periodic image are fixed."""
    count, random = 16_000, np.random.default_rng(0)
    found = deposit(spheres=count, seed=0, radius=0.05, spread=0.2)
    fixed = np.zeros(count, bool)
    fixed[found.bodies[found.image.any(axis=1)]] = True
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.5)
    builder.body("floor", ss.Plane(), fixed=True)
    for i, (x, r) in enumerate(zip(found.centre, found.radius, strict=True)):
        velocity = np.zeros(3) if fixed[i] else random.normal(size=3)
        builder.body(str(i), ss.Sphere(float(r)), position=x, fixed=bool(fixed[i]), velocity=velocity)
    return builder.build()


def run(world, threads):
    with ss.use_threads(threads):
        return ss.simulate(world, until=2e-3, h=1e-3, tolerance=1e-3, forces="solver")


def test_bits_of_a_run_do_not_depend_on_the_number_of_threads(packing):
    one = run(packing, 1)
    assert np.diff(one.contacts.offset)[-1] >= domains.LARGE
    for threads in (2, 3, 8):
        other = run(packing, threads)
        assert one.q.tobytes() == other.q.tobytes()
        assert one.v.tobytes() == other.v.tobytes()
        assert one.contacts.r.tobytes() == other.contacts.r.tobytes()
        assert one.balance.tobytes() == other.balance.tobytes()


@pytest.fixture(scope="module")
def pile():
    """The start of a step of a smaller packing, with what is needed to go on by hand."""
    count, random = 1_000, np.random.default_rng(1)
    found = deposit(spheres=count, seed=1, radius=0.05, spread=0.2)
    builder = ss.WorldBuilder()
    builder.material("default", mu=0.5, e=0.3)
    builder.body("floor", ss.Plane(), fixed=True)
    for i, (x, r) in enumerate(zip(found.centre, found.radius, strict=True)):
        builder.body(str(i), ss.Sphere(float(r)), position=x, velocity=random.normal(size=3))
    prepared = PreparedWorld.of(builder.build())
    scheme = SemiExplicitMoreauJean()
    state = prepared.world.start
    return prepared, scheme, Start.of(0.5, prepared, state, 1e-3), scheme.begin(prepared, state, 1e-3)


def in_parts_and_at_once(work, monkeypatch):
    """What `work` gives when contacts count as many, and when they do not."""
    at_once = work()
    monkeypatch.setattr(domains, "LARGE", 100)
    with ss.use_threads(2):
        return work(), at_once


def test_contacts_found_in_parts_are_those_found_at_once(pile, monkeypatch):
    prepared, _, start, _ = pile
    parts, whole = in_parts_and_at_once(
        lambda: prepared.detector.find(start.q_m.reshape(-1), start.margin), monkeypatch
    )
    assert len(parts) > 2_000
    for name in whole.__slots__:
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))


def test_blocks_made_in_parts_are_those_made_at_once(pile, monkeypatch):
    prepared, scheme, start, memory = pile
    found = prepared.detector.find(start.q_m.reshape(-1), start.margin)
    step = scheme.step(prepared, start.state, memory, 1e-3, registry.make("nsgs", tolerance=1e-3))
    parts, whole = in_parts_and_at_once(
        lambda: contact_blocks(found, start, 0.5, True, step.memory), monkeypatch
    )
    assert parts.guess.any()
    for name in ("sides", "rows", "u_bias", "guess", "approach", "local"):
        np.testing.assert_array_equal(getattr(parts, name), getattr(whole, name))
    for one, other in zip(parts.K.arrays, whole.K.arrays, strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_end_of_a_step_in_parts_is_that_at_once(pile, monkeypatch):
    prepared, scheme, start, memory = pile
    solver = registry.make("nsgs", form="delassus", tolerance=1e-6)
    parts, whole = in_parts_and_at_once(
        lambda: scheme.step(prepared, start.state, memory, 1e-3, solver), monkeypatch
    )
    np.testing.assert_array_equal(parts.state.v, whole.state.v)
    np.testing.assert_array_equal(parts.u, whole.u)
    for name in ("kinetic", "potential", "dissipated"):
        expected = pytest.approx(getattr(whole.bodies.energy, name), rel=1e-7)
        assert getattr(parts.bodies.energy, name) == expected
    tolerance = 2.0 * PRECISION * whole.bodies.penetration + 1e-6
    assert parts.bodies.penetration == pytest.approx(whole.bodies.penetration, abs=tolerance)
