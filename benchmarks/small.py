"""Time of calls on small problems [µs]: `ss.solve`, `solver.solve`, and compiled work.

    python benchmarks/small.py [--kinds stack,rolling] [--sizes 1,4,12] [--recorded] [--siconos]

Each kind and size is a handful of problems of different seeds; a line has the median over them and the
slowest one, each the shortest of many calls. `loop` goes from one problem to the next one of a sequence whose
load goes up and down, each from the impulses before. With --siconos the fastest driver call of Siconos's
solvers and storages on the first problem of each line stands beside ours (Debian's python3-siconos); with
--recorded the lines are the recorded problems of at most 28 contacts.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import stickslip as ss
from stickslip.bench.siconos.peer import Peer, find_siconos
from stickslip.problem import (
    BoxProblem,
    ContactProblem,
    GlobalProblem,
    contact_blocks,
    interval,
    lcp,
    rolling,
)
from stickslip.problem.convert import reduce_to_contacts
from stickslip.solvers import Auto

SEEDS, TOLERANCE = 5, 1e-8
SIZES = (1, 2, 4, 8, 12)
CHANGE, LENGTH = 0.3, 40
"""Share by which the load of a loop goes up and down, and its number of problems."""
BOX = 0.02
"""Time for the repetitions of one figure [s]."""
RECORDED, MOST = Path(__file__).resolve().parents[2] / "shared" / "data" / "problems", 28
"""Folder of the recorded problems, and their most contacts."""


def stack(contacts: int, rng: np.random.Generator, roll: bool = False) -> GlobalProblem:
    """Boxes on each other, four corners each, pushed sideways: hyperstatic, some slide and some stick."""
    bodies = (contacts + 3) // 4
    corners = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    mu = rng.uniform(0.2, 0.7, contacts)
    K = rolling(mu, np.full(contacts, 0.05)) if roll else ss.coulomb(mu)
    d = 5 if roll else 3
    pairs, rows = np.empty((contacts, 2), int), np.zeros((contacts, d, 2, 6))
    for i in range(contacts):
        upper = i // 4
        pairs[i] = upper, upper - 1
        for side, (z, sign) in enumerate(((-0.5, 1.0), (0.5, -1.0))):
            x, y = corners[i % 4]
            for k, axis in enumerate(((0, 0, 1), (1, 0, 0), (0, 1, 0))):
                rows[i, k, side] = sign * np.array([*axis, *np.cross((x, y, z), axis)])
            if roll:
                rows[i, 3, side, 3], rows[i, 4, side, 4] = sign, sign
    M = np.array([np.diag([m, m, m, m / 6, m / 6, m / 6]) for m in rng.uniform(0.5, 2.0, bodies)])
    v = 0.05 * rng.normal(size=(bodies, 6)) + [0.0, 0.0, -0.05, 0.0, 0.0, 0.0]
    H = contact_blocks(pairs, rows.reshape(contacts * d, 2, 6), K)
    return GlobalProblem(M, np.einsum("bij,bj->bi", M, v), H, np.zeros(K.size), K)


def local(problem: GlobalProblem) -> ContactProblem:
    """The same with the velocities eliminated and W as one array."""
    reduced = reduce_to_contacts(problem).problem
    return ContactProblem(reduced.W.dense(), reduced.u_free, reduced.K)


def massive(problem: GlobalProblem) -> GlobalProblem:
    """The same with M and H as SciPy matrices of coupled velocities."""
    return GlobalProblem(problem.M.sparse, problem.f, problem.H_sparse(), problem.u_bias, problem.K)


def random_contacts(contacts: int, rng: np.random.Generator, dimension: int) -> ContactProblem:
    """A full W of random rows, pressed at random."""
    K = ss.coulomb(rng.uniform(0.2, 0.8, contacts), dimension)
    H = rng.normal(size=(K.size + 3, K.size))
    return ContactProblem(H.T @ H, rng.normal(size=K.size), K)


def box(unknowns: int, rng: np.random.Generator, bounded: bool) -> BoxProblem:
    """A random positive definite matrix, unsymmetric, between bounds or as an LCP."""
    B, skew = rng.normal(size=(unknowns, unknowns)), rng.normal(size=(unknowns, unknowns))
    A, b = B @ B.T + 0.1 * np.eye(unknowns) + skew - skew.T, 3.0 * rng.normal(size=unknowns)
    return BoxProblem(A, b, -0.5, 0.5) if bounded else lcp(A, b)


def intervals(contacts: int, rng: np.random.Generator) -> ContactProblem:
    """Dry friction of known thresholds."""
    H, limit = rng.normal(size=(contacts + 2, contacts)), rng.uniform(0.1, 0.5, contacts)
    return ContactProblem(H.T @ H, rng.normal(size=contacts), interval(-limit, limit))


KINDS: dict[str, Callable[[int, np.random.Generator], Any]] = {
    "coulomb 2D": lambda n, rng: random_contacts(n, rng, 2),
    "coulomb 3D": lambda n, rng: random_contacts(n, rng, 3),
    "stack, local": lambda n, rng: local(stack(n, rng)),
    "rolling, local": lambda n, rng: local(stack(n, rng, True)),
    "intervals": intervals,
    "lcp": lambda n, rng: box(n, rng, False),
    "box": lambda n, rng: box(n, rng, True),
    "stack, dense M": lambda n, rng: massive(stack(n, rng)),
    "stack, bodies": stack,
    "rolling, bodies": lambda n, rng: stack(n, rng, True),
}


def shortest(work: Callable[[], Any]) -> float:
    """Shortest time of a call [µs]."""
    best, end = np.inf, time.perf_counter() + BOX
    while time.perf_counter() < end:
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return 1e6 * best


def sequence(problem: Any) -> list[Any]:
    """Problems whose load goes from that of one to that of another and back, a little at a time.

    The load of contacts moves in the range of W: rigid bodies have no other.
    """
    rng = np.random.default_rng(1)
    waves = np.sin(np.linspace(0.0, 2.0 * np.pi, LENGTH))
    if isinstance(problem, ContactProblem):
        load = problem.u_free
        change = problem.W.apply(rng.normal(size=load.size), np.zeros(load.size))
    else:
        load = problem.f if isinstance(problem, GlobalProblem) else problem.b
        change = rng.normal(size=load.size)
    change *= CHANGE * np.linalg.norm(load) / np.linalg.norm(change)
    made = []
    for wave in waves:
        now = load + wave * change
        if isinstance(problem, ContactProblem):
            made.append(ContactProblem(problem.W, now, problem.K))
        elif isinstance(problem, GlobalProblem):
            made.append(GlobalProblem(problem.M, now, problem.H, problem.u_bias, problem.K))
        else:
            made.append(BoxProblem(problem.A, now, problem.lower, problem.upper))
    return made


def loop(solver: Auto, problem: Any) -> float:
    """Time of a call in a loop, each from the impulses before [µs]."""
    problems, best = sequence(problem), np.inf
    for _ in range(5):
        r, start = None, time.perf_counter()
        for each in problems:
            r = solver.solve(each, guess=r).r
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / LENGTH


def peer_time(python: str | None, problem: Any) -> float:
    """Shortest driver call of Siconos's solvers that the judge passes on `natural` [µs]; NaN where none
    does."""
    if python is None:
        return np.nan
    with Peer(python, problem, natural_alone=True) as peer:
        passed = [run for run in peer.search(TOLERANCE, 2.0) if run.passed]
        best = min((run.seconds for run in passed), default=np.nan)
        for run in sorted(passed, key=lambda run: run.seconds)[:3]:
            best = min(best, peer.time(run, TOLERANCE, BOX, 2000, 2.0).seconds)
    return 1e6 * best


def line(name: str, problems: list[Any], python: str | None) -> None:
    """Print the figures of problems of one kind and size."""
    solver, rows, methods = Auto(tolerance=TOLERANCE), [], {}
    for problem in problems:
        solution = solver.solve(problem)
        for stage in solution.tried:
            methods[stage.solver] = max(methods.get(stage.solver, 0), stage.iterations)
        compiled = 1e6 * min(solver.solve(problem).seconds for _ in range(50))
        times = shortest(lambda p=problem: ss.solve(p)), shortest(lambda p=problem: solver.solve(p)), compiled
        rows.append((*times, loop(solver, problem), solution.ok))
    whole, alone, compiled, looped, solved = zip(*rows, strict=True)
    figures = (statistics.median(whole), max(whole), *map(statistics.median, (alone, compiled, looped)))
    peer = peer_time(python, problems[0])
    print(
        f"{name:34}" + "".join(f"{x:9.1f}" for x in figures)
        + ("" if np.isnan(peer) else f"{peer:9.1f}") + f"  {sum(solved)}/{len(solved)}"
        + "  " + ", ".join(f"{method} {count}" for method, count in methods.items()),
        flush=True,
    )  # fmt: skip


def recorded() -> Iterator[tuple[str, Any]]:
    """The recorded problems that are small."""
    for path in sorted(RECORDED.glob("*/*")):
        problem = ss.read(path)
        count = problem.size if isinstance(problem, BoxProblem) else problem.contacts
        if 0 < count <= MOST:
            yield f"{path.stem[:28]} {count}", problem


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", default="", help="names that begin so, by commas")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)), help="contacts or unknowns, by commas")
    parser.add_argument("--recorded", action="store_true", help="the recorded problems instead")
    parser.add_argument("--siconos", action="store_true", help="Siconos's driver beside ours")
    given = parser.parse_args()
    python = find_siconos().python if given.siconos else None
    head = ("ss.solve", "slowest", "solver", "compiled", "loop", *(["siconos"] if python else []))
    print(f"{'[µs]':34}" + "".join(f"{name:>9}" for name in head) + "  solved  iterations at most")
    if given.recorded:
        for name, problem in recorded():
            line(name, [problem], python)
        return
    starts = tuple(given.kinds.split(","))
    for kind, make in KINDS.items():
        if kind.startswith(starts):
            for size in map(int, given.sizes.split(",")):
                problems = [make(size, np.random.default_rng(seed)) for seed in range(SEEDS)]
                line(f"{kind}, {size}", problems, python)


if __name__ == "__main__":
    main()
