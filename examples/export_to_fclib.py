"""Record the contact problems that a run meets, as FCLIB files with their answers.

Purpose: share problems. A solver is anything with `solve`, so one that hands every problem on and keeps some
sees what a simulation asks for. Each file holds the problem, a line about it and the answer found; read
back, its numbers are the same bit for bit, which one hash says, and the stored answer satisfies the judge.
"""

import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import stickslip as ss


@dataclass
class Recorder:
    """Solves as `auto` does, and writes every n-th problem into a folder."""

    folder: Path
    every: int
    tolerance: float = 1e-8
    met: int = 0
    files: dict = field(default_factory=dict)  # hash of the problem, by file

    def solve(self, problem, guess=None):
        """The answer of `auto`."""
        solution = ss.solve(problem, guess=guess, tolerance=self.tolerance)
        if self.met % self.every == 0:
            path = self.folder / f"dominoes-{self.met:04d}.hdf5"
            info = {"title": "dominoes", "description": f"problem {self.met} of three dominoes that fall"}
            answer = ss.files.StoredSolution(solution.r, solution.u, solution.v, solution.lam)
            ss.write(path, ss.files.ProblemRecord(problem, info, answer))
            self.files[path] = ss.fingerprint(problem)
        self.met += 1
        return solution


def main():
    """(file name, hash when written, hash when read, the judge on the stored answer) of each file."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(3):
        push = (0.0, 1.0, 0.0) if k == 0 else (0.0, 0.0, 0.0)  # rad/s
        b.body(f"domino {k}", ss.Cuboid((0.02, 0.1, 0.2)), position=(0.08 * k, 0.0, 0.1), spin=push)
    with tempfile.TemporaryDirectory() as folder:
        recorder = Recorder(Path(folder), every=40)
        ss.simulate(b.build(), until=0.4, h=2e-3, solver=recorder)
        found = []
        for path, written in recorder.files.items():
            record = ss.files.read_record(path)
            judged = ss.judge(record.problem, record.solution.r)
            found.append((path.name, written, ss.fingerprint(record.problem), judged))
    return found


def check(found):
    """Nothing is lost on the way through a file."""
    assert len(found) >= 3
    for _, written, read, judged in found:
        assert written == read
        assert judged.solved(1e-8)


if __name__ == "__main__":
    exported = main()
    check(exported)
    for name, _, fingerprint, residuals in exported:
        print(f"{name}: {fingerprint[:16]}..., natural residual of the stored answer {residuals.natural:.1e}")
