"""The file of a campaign: one HDF5 file that describes itself, and a journal beside it while it grows."""

from pathlib import Path

from stickslip.bench.results import Results


def write_results(path: Path, results: Results) -> None:
    """Write a table to one HDF5 file, in one step; equal tables give equal bytes."""
    raise NotImplementedError


def read_results(path: Path) -> Results:
    """The table in a file, with what a journal beside it adds."""
    raise NotImplementedError
