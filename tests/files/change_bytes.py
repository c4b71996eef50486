"""Read HDF5 files with some bytes changed; only success or FormatError may come of it.

Prints how many were read, how many refused, and how much the memory of the process has grown [bytes].
"""

import io
import random
import resource
import sys
from pathlib import Path

import h5py
import numpy as np

from stickslip import Interaction, Lagrangian, NewtonImpact, NonsmoothSystem, Scleronomous, simulate
from stickslip.files import FormatError, ProblemRecord, StoredSolution
from stickslip.files.archive import read_archive, write_archive
from stickslip.files.runs import trajectory_content, trajectory_in
from stickslip.problem.box import relay
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.sets import coulomb, free, nonnegative

W = np.diag(np.arange(1.0, 7.0))
answer = StoredSolution(np.ones(6), np.ones(6))
info = {"title": "abc", "rank": "3", "W.cond": "4.5", "text": "x"}
RECORDS = [
    ProblemRecord(ContactProblem(W, np.ones(6), coulomb([0.3, 0.5])), info, answer, (answer,)),
    ProblemRecord(ContactProblem(W, np.ones(6), coulomb([0.3]) + free(2) + nonnegative(1))),
    ProblemRecord(GlobalProblem(W, np.ones(6), W, np.ones(6), coulomb([0.3, 0.5]), W[:, :2], np.ones(2))),
    ProblemRecord(relay(W, np.ones(6))),
]


def trajectory():
    """A short run of a ball on a floor."""
    ball = Lagrangian("ball", M=1.0, q0=0.01, F_ext=-9.81)
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q), NewtonImpact(e=0.5))
    return simulate(NonsmoothSystem([ball], [floor]), until=0.1, h=1e-2)


def packed(content: bytes) -> bytes:
    """The same file with its arrays in compressed chunks."""
    result = io.BytesIO()
    with h5py.File(io.BytesIO(content)) as old, h5py.File(result, "w") as new:

        def copy(name, thing):
            if isinstance(thing, h5py.Group):
                new.create_group(name)
            elif thing.shape and thing.dtype.kind in "if":
                new.create_dataset(name, data=thing[()], chunks=True, compression="gzip", shuffle=True)
            else:
                old.copy(name, new, name)

        old.visititems(copy)
    return result.getvalue()


def changed(data: bytes, rng: random.Random) -> bytes:
    """`data` with bytes changed, cut, or copied over others."""
    new, at = bytearray(data), rng.randrange(len(data))
    way = rng.random()
    if way < 0.6:
        for _ in range(rng.choice((1, 1, 2, 4, 16))):
            new[rng.randrange(len(new))] = rng.choice((rng.randrange(256), 0, 1, 127, 255))
    elif way < 0.8:
        width = rng.choice((1, 2, 4, 8))
        new[at : at + width] = bytes([rng.choice((0, 127, 255, rng.randrange(256)))]) * width
    elif way < 0.9:
        del new[at:]
    else:
        width, there = rng.randrange(64), rng.randrange(len(data))
        new[at : at + width] = data[there : there + width]
    return bytes(new)


def resident() -> int:
    """Largest memory of this process so far [bytes], that of C libraries included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(count: int, seed: int = 1) -> None:
    rng = random.Random(seed)
    files = [(write_archive(Path("x.hdf5"), record), read_archive) for record in RECORDS]
    files.append((trajectory_content(trajectory()), trajectory_in))
    files += [(packed(content), read) for content, read in files]
    outcomes, before = {True: 0, False: 0}, resident()
    for _ in range(count):
        content, read = rng.choice(files)
        try:
            read(Path("x.hdf5"), changed(content, rng))
            outcomes[True] += 1
        except FormatError:
            outcomes[False] += 1
    sys.stdout.write(f"{outcomes[True]} {outcomes[False]} {resident() - before}\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
