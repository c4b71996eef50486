from types import ModuleType

import pytest


@pytest.fixture
def gauss_seidel() -> ModuleType:
    """The solver of the house, in a fixture: tests of the scenes alone do not load it."""
    from stickslip.solvers import gauss_seidel

    return gauss_seidel
