"""Record contact problems of a run as FCLIB files with their solutions.

Purpose: share problems. Any object with a method `solve` is a solver; this one calls `auto` and writes every
n-th problem of the simulation to a file. Each file contains a problem, a description and the solution. Files
preserve numbers bit for bit, which a hash verifies, and the judge accepts the stored solutions.
"""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import stickslip as ss


@dataclass
class Recorder:
    """Solver that calls `auto`, and writes every n-th problem to a folder."""

    folder: Path
    every: int
    tolerance: float = 1e-8
    solved: int = 0
    files: dict = field(default_factory=dict)  # hash of the problem, by file

    def solve(self, problem, guess=None):
        """Return the solution of `auto`."""
        solution = ss.solve(problem, guess=guess, tolerance=self.tolerance)
        if self.solved % self.every == 0:
            path = self.folder / f"dominoes-{self.solved:04d}.hdf5"
            info = {"title": "dominoes", "description": f"problem {self.solved} of three falling dominoes"}
            answer = ss.files.StoredSolution(solution.r, solution.u, solution.v, solution.lam)
            ss.write(path, ss.files.ProblemRecord(problem, info, answer))
            self.files[path] = ss.fingerprint(problem)
        self.solved += 1
        return solution


def main():
    """For each file: name, hash when written, hash when read, residuals of the stored solution."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(3):
        push = (0.0, 1.0, 0.0) if k == 0 else (0.0, 0.0, 0.0)  # rad/s
        b.body(f"domino {k}", ss.Cuboid((0.02, 0.1, 0.2)), position=(0.08 * k, 0.0, 0.1), spin=push)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder), every=40)
        ss.simulate(b.build(), until=0.4, h=2e-3, solver=recorder)
        exported = []
        for path, written in recorder.files.items():
            record = ss.files.read_record(path)
            judged = ss.judge(record.problem, record.solution.r)
            exported.append((path.name, written, ss.fingerprint(record.problem), judged))
    return exported


def check(exported):
    """Hashes are unchanged, and the judge accepts the stored solutions."""
    assert len(exported) >= 3
    for _, written, read, judged in exported:
        assert written == read
        assert judged.solved(1e-8)


if __name__ == "__main__":
    exported = main()
    check(exported)
    for name, _, fingerprint, residuals in exported:
        print(
            f"{name}: {fingerprint[:16]}..., natural residual of the stored solution {residuals.natural:.1e}"
        )
