"""What the tests of the command line share: running it, and small problem files of its own."""

import errno
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from stickslip import files
from stickslip.cli.main import main
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.sets import coulomb, rolling

ENTRY = "import sys; from stickslip.cli.main import main; sys.exit(main())"


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    def refuses(self, *words: str) -> None:
        """Exit code 2, nothing on stdout, one sentence on stderr with these words in it."""
        assert self.code == 2, self
        assert self.out == ""
        self.says(*words)

    def says(self, *words: str) -> None:
        """One sentence on stderr, with these words in it."""
        assert self.err.startswith("stickslip: ")
        assert self.err.count("\n") == 1
        assert self.err.endswith("\n")
        assert "Traceback" not in self.err
        for word in words:
            assert word in self.err, self.err


@pytest.fixture
def run(capsys):
    """Run the command line in this process."""

    def call(*arguments: object) -> Result:
        capsys.readouterr()
        code = main([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return call


@pytest.fixture
def spawn():
    """Run the command line as users do, in a process of its own with pipes for its output."""

    def call(*arguments: object) -> Result:
        environment = {k: v for k, v in os.environ.items() if k not in ("FORCE_COLOR", "COLUMNS")}
        command = [sys.executable, "-W", "error", "-c", ENTRY, *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120)
        return Result(done.returncode, done.stdout, done.stderr)

    return call


def coupled(contacts: int, seed: int = 0, mu: float = 0.5) -> ContactProblem:
    """A local problem whose contacts feel each other, well posed (W is definite)."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(3 * contacts + 3, 3 * contacts))
    return ContactProblem(A.T @ A / 3.0, rng.normal(size=3 * contacts), coulomb(np.full(contacts, mu)))


def global_problem() -> GlobalProblem:
    """Two point masses, one on the ground, one on the other, thrown down and sideways."""
    M = np.diag([2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    first, second = np.eye(3), np.eye(3)
    H = np.zeros((6, 6))
    H[:3, :3], H[:3, 3:], H[3:, 3:] = first, -second, second
    f = M @ np.array([-1.0, 0.1, 0.0, -1.0, 0.5, 0.2])
    return GlobalProblem(M, f, H, np.zeros(6), coulomb([0.4, 0.3]))


@pytest.fixture
def local_file(tmp_path) -> Path:
    path = tmp_path / "local.hdf5"
    files.write(path, coupled(5))
    return path


@pytest.fixture
def rolling_file(tmp_path) -> Path:
    rng = np.random.default_rng(1)
    A = rng.normal(size=(12, 10))
    path = tmp_path / "rolling.hdf5"
    files.write(path, ContactProblem(A.T @ A, rng.normal(size=10), rolling([0.5, 0.3], [0.01, 0.02])))
    return path


@pytest.fixture
def global_file(tmp_path) -> Path:
    path = tmp_path / "global.hdf5"
    files.write(path, global_problem())
    return path


@pytest.fixture
def record_file(tmp_path) -> Path:
    """A local problem with a title, a wrong stored solution and two guesses."""
    problem = coupled(5)
    zero = files.StoredSolution(np.zeros(15), problem.u_free)
    info = {"title": "five [bold]contacts[/bold]", "description": "made \x1b[31mby\x1b[0m the tests"}
    path = tmp_path / "record.hdf5"
    files.write(path, files.ProblemRecord(problem, info, zero, (zero, zero)))
    return path


@pytest.fixture
def full_disk(monkeypatch):
    """No file that is written at once takes more than 100 bytes, and no journal is copied."""
    whole = Path.write_bytes

    def write_bytes(path, content):
        whole(path, content[:100])
        no_room()

    def no_room(*given):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def fill():
        monkeypatch.setattr(Path, "write_bytes", write_bytes)
        for verb in ("copy_file_range", "pwrite"):
            monkeypatch.setattr(os, verb, no_room, raising=False)

    return fill
