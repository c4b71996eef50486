"""Answers have the same bits with any number of BLAS threads."""

import pytest
from threadpoolctl import threadpool_limits

from stickslip import scenes, solve

PACKING = scenes.make("packing-problem", spheres=100)


@pytest.mark.parametrize("name", ["auto", "newton-ac", "ipm", "prox", "admm"])
def test_bits_do_not_depend_on_threads(name):
    found = []
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.append(solve(PACKING, name, max_iterations=60))
    one, two = found
    assert one.r.tobytes() == two.r.tobytes()
    assert one.iterations == two.iterations
