"""Settings of all tests: property tests draw the same cases on every run."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True, database=None, max_examples=300)
settings.load_profile("house")

# A shell that starts the tests in the background ignores Ctrl+C for them, and Python then keeps it ignored.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """No garbage collection: an exception that a signal raises inside a callback of the collector (JAX has
    one) is lost there, and reported as a warning."""
    gc.disable()
    yield
    gc.enable()
