"""Steps of worlds with many contacts: sweeps by domains, with the same bits on any number of threads."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.compilation import JIT
from stickslip.kernels import domains
from stickslip.scenes.packing import deposit

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
    one, two = run(packing, 1), run(packing, 2)
    assert np.diff(one.contacts.offset)[-1] >= domains.LARGE
    assert one.q.tobytes() == two.q.tobytes()
    assert one.v.tobytes() == two.v.tobytes()
    assert one.contacts.r.tobytes() == two.contacts.r.tobytes()
