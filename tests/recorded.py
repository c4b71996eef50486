"""Where the recorded problems are: beside the checkout, when they are there at all."""

from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data" / "problems"

needs_recorded = pytest.mark.skipif(
    not FOLDER.is_dir(), reason="recorded problems are not beside this checkout (../shared/data/problems)"
)


def recorded(*families: str) -> list[Path]:
    """The recorded files of some families (all if none is named), by name."""
    names = families or ("friction", "rolling", "lcp", "mlcp")
    return sorted(path for name in names for path in (FOLDER / name).glob("*") if path.is_file())
