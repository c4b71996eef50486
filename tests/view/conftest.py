"""A browser and a run for the tests of this folder."""

import pytest
from browser import chromium
from scenery import fall

__all__ = ["chromium"]


@pytest.fixture(scope="session")
def run():
    """See `fall`."""
    return fall()
