"""Jobs for tests of runs: a small problem in a file, and contestants of all kinds."""

from pathlib import Path

from stickslip import fingerprint, read, write
from stickslip.bench.campaigns.contestants import Contestant
from stickslip.bench.records import Job

BAD = Path(__file__).with_name("bad_solvers.py")


def stored(path, problem):
    """The problem as it is read back from a file at `path`."""
    write(path, problem)
    return read(path)


def job(path, name, *, own=False, tolerance=1e-8, **options):
    """A job on the problem at `path`: a solver of the registry, or one of bad_solvers.py."""
    place = f"{BAD}:{name}" if own else ""
    contestant = Contestant(name, tuple(sorted(options.items())), place)
    return Job(fingerprint(read(path)), str(path), None, contestant, "", tolerance)
