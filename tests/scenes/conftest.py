from types import ModuleType

import pytest


@pytest.fixture
def gauss_seidel() -> ModuleType:
    """The solver of the house; tests of the scenes alone do not need it."""
    return pytest.importorskip("stickslip.solvers.gauss_seidel", exc_type=ImportError)
