"""Settings of all tests; property tests use the same examples in every run."""

import gc
import signal
from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=True, database=None, max_examples=300)
settings.load_profile("house")

# Shells ignore SIGINT for background jobs, and Python then does not install its handler.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def no_collection() -> Iterator[None]:
    """Disable garbage collection: an exception that a signal raises within a callback of the collector (such
    as that of JAX) would be lost and reported as a warning."""
    gc.disable()
    yield
    gc.enable()
