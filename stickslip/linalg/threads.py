"""One thread of BLAS for small matrices: several lose more by waiting for each other than they win.

On a busy machine a product of matrices of a hundred rows takes thirty times as long with two threads as with
one. Setting the limit takes 16 µs.
"""

from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

import scipy.linalg  # noqa: F401 (so that its library is among those that the limit is set for)
from threadpoolctl import ThreadpoolController

Given = ParamSpec("Given")
Found = TypeVar("Found")


def single_threaded(function: Callable[Given, Found]) -> Callable[Given, Found]:
    """The same function with BLAS on one thread while it runs."""

    @wraps(function)
    def limited(*arguments: Given.args, **named: Given.kwargs) -> Found:
        controller = _controller()
        if all(library.num_threads == 1 for library in controller.lib_controllers):
            return function(*arguments, **named)
        with controller.limit(limits=1):
            return function(*arguments, **named)

    return limited


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()
