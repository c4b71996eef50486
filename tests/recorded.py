"""Recorded problems, which are optional and beside the checkout."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "problems"

needs_recorded = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="recorded problems are not beside this checkout (../shared/data/problems)"
)


def recorded(*families: str) -> list[Path]:
    """Return the sorted files of some families of recorded problems, by default of all."""
    names = families or ("friction", "rolling", "lcp", "mlcp")
    return sorted(path for name in names for path in (FOLDER / name).glob("*") if path.is_file())
