"""Siconos as a solver of stickslip: its methods for single problems and in runs, certified by the judge.

    ss.simulate(world, until=1.0, h=1e-3, solver="siconos-nsgs")
    ss.simulate(world, until=1.0, h=1e-3, solver=ss.bench.SiconosSolver(method="nsgs"))

Its interpreter runs in a separate process, which is started with the first problem and ends with the solver.
Global problems are reduced to contacts. As its error measure differs from the judge's, it gets tighter
tolerances until the judge accepts the answer.
"""

import time
import weakref
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from stickslip.bench.siconos.peer import LADDER, Peer, Run, find_siconos, methods
from stickslip.bench.siconos.process import VARIABLE
from stickslip.options import Options, option, tolerance_option
from stickslip.problem.checks import Array, ProblemError
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.convert import Conversion, reduce_to_contacts
from stickslip.problem.solution import Problem, Solution, Status
from stickslip.solvers.certify import Attempt, certified
from stickslip.solvers.registry import PEER, MissingPackage


@dataclass(frozen=True, kw_only=True)
class SiconosSolver(Options):
    """A solver of Siconos, in its own interpreter."""

    method: str = option(
        "nsgs", "its solver: nsgs, prox, admm or nsn-ac; for box problems lemke, pgs, enum, ...",
        choices=tuple(name.removeprefix(PEER) for name in methods()),
    )  # fmt: skip
    tolerance: float = tolerance_option()
    timeout: float = option(60.0, "longest time of one call", unit="s", low=0.0, open_low=True)

    @staticmethod
    def absence() -> str:
        """Reason why no interpreter with Siconos is available; empty if one is."""
        siconos = find_siconos()
        if siconos.python is not None:
            return ""
        return (
            f"Siconos was not found; set an interpreter that imports it in {VARIABLE}, or take"
            " another solver;"
            f" tried {'; '.join(siconos.tried)}"
        )

    def solve(self, problem: Problem, *, guess: ArrayLike | None = None, progress: Any = None) -> Solution:
        """Solve `problem`; a guess is not used."""
        return certified(PEER + self.method, self._attempt, problem, guess, self.tolerance, form=_contacts)

    def _attempt(self, problem: Problem, guess: Array | None, tolerance: float) -> Attempt:
        """Solve a contact or box problem with Siconos; the result is not certified yet."""
        peer = self._peer(problem)
        matches = [one for one in peer.methods if one.contestant == PEER + self.method]
        if not matches:
            others = ", ".join(dict.fromkeys(one.contestant for one in peer.methods)) or "none"
            raise ProblemError(
                f"{PEER}{self.method} does not take {problem!r}; solvers of Siconos that do: {others}"
            )
        begun, run, iterations = time.perf_counter(), Run(matches[0], peer.storages()[0]), 0
        for share in LADDER:
            run = peer.time(Run(run.method, run.storage, share * tolerance), tolerance, 0.0, 1, self.timeout)
            iterations += run.iterations
            if run.passed or run.failed:
                break
        status = Status.SOLVED if run.passed else Status.STALLED
        r, seconds = peer.answer, time.perf_counter() - begun
        reason = (
            "" if run.passed else run.failed or "the judge accepted the answer for none of its tolerances"
        )
        return Attempt(r, status, iterations, seconds, 0.0, reason=reason)

    def _peer(self, problem: Problem) -> Peer:
        """The process of this solver, switched to a problem."""
        peer: Peer | None = self.__dict__.get("_process")
        if peer is None:
            siconos = find_siconos()
            if siconos.python is None:
                raise MissingPackage(self.absence())
            peer = Peer(siconos.python, problem)
            self.__dict__["_process"] = peer
            weakref.finalize(self, peer.close)
        peer.turn_to(problem)
        return peer


def _contacts(name: str, problem: Problem) -> Conversion[Any] | None:
    return reduce_to_contacts(problem) if isinstance(problem, GlobalProblem) else None
