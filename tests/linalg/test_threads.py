"""Functions that run on one thread of BLAS, and leave it as it was."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from stickslip.linalg.threads import single_threaded


def threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@single_threaded
def inside(a, *, b):
    """What it is given, and the threads there."""
    return a @ b, threads()


def test_one_thread_inside_and_as_many_as_before_after():
    for count in (2, 1):
        with threadpool_limits(count, user_api="blas"):
            before = threads()
            product, within = inside(np.eye(3), b=np.ones((3, 2)))
            assert set(within) == {1}
            assert threads() == before
        np.testing.assert_array_equal(product, 1.0)
    assert inside.__doc__ == "What it is given, and the threads there."
