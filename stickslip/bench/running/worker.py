"""The worker process: `python -m stickslip.bench.running.worker`, started by `running.process`.

Requests are lines of JSON on standard input, each with one or several items of work. Replies are lines of
JSON on standard output: events, and a record at the end of every item. Both streams are redirected before
anything else runs, so that solvers cannot use them. The process ends with its parent, even while a solver
blocks the interpreter, by a signal of the system.
"""

import gc
import json
import os
import signal
import sys
import threading
import warnings
from contextlib import suppress
from functools import cache
from importlib import import_module
from typing import Any, BinaryIO

import numpy as np

from stickslip.bench.records import JobError, Limits, Maker, Outcome
from stickslip.bench.running.answers import sentence
from stickslip.bench.running.memory import bound_address_space, give_back, no_core_dumps, resident
from stickslip.problem.contact import ContactProblem
from stickslip.problem.residuals import judge
from stickslip.problem.sets import coulomb

LONGEST_REQUEST = 1 << 20
"""Largest length of a request [bytes]."""
SPARE = 1024.0
"""Address space beyond the memory limit, as threads and compilers reserve more than they use [MiB]."""
F_SETSIG = 10
"""fcntl command of Linux that sets the signal of O_ASYNC."""


class Teller:
    """Sends the events of a run to the parent; a `Tell`."""

    def __init__(self, file: int):
        self._file, self._process, self._before = file, os.getpid(), 0.0
        self.number = 0
        """Number of the current request."""

    def __call__(self, event: str, **fields: Any) -> None:
        """Send one line: the event, its data, and for some events the memory [MiB]."""
        if os.getpid() != self._process:  # a copy of this process, forked by a solver
            os._exit(0)
        if event in ("ready", "begun", "made", "record"):
            fields["memory"] = resident()
        elif event == "compiling":
            self._before = resident()
        elif event == "compiled":
            fields["memory"] = max(0.0, resident() - self._before)
        data = json.dumps({"id": self.number, "event": event, **fields}).encode() + b"\n"
        while data:
            data = data[os.write(self._file, data) :]


def serve(requests: BinaryIO, tell: Teller) -> None:
    """Answer requests until the end of the input."""
    usual = threading.active_count()
    settle()
    tell("ready")
    while line := requests.readline(LONGEST_REQUEST):
        request = json.loads(line)
        work, limits = thing(request["work"]), Limits(**request["limits"])
        items = [work.from_json(data) for data in request["jobs"]]
        for tell.number, job in enumerate(items, request["id"]):
            answer(job, limits, tell, usual if job is items[-1] else None)


def answer(job: Any, limits: Limits, tell: Teller, usual: int | None) -> None:
    """Do one item of work.

    usual: number of threads of this process if the item is the last of its request; memory is then returned
    to the system, and remaining threads and processes are detected.
    """
    home, maker = os.getcwd(), maker_of(job.maker)
    tell("begun")
    try:
        contents = maker.read(job)
        bound_address_space(limits.memory + SPARE)
        record = maker.make(job, limits, contents, tell)
    except JobError as error:
        tell("impossible", reason=sentence(error))
        return
    except MemoryError:
        tell("memory", reason=f"{', '.join(job.files.values())} does not fit into the memory limit")
        return
    finally:
        bound_address_space(float("inf"))
        os.chdir(home)
    if job.own and record.outcome not in (Outcome.SOLVED, Outcome.MISSED):
        maker.forget()  # judged answers show that the problem is unchanged
    busy = False
    if usual is not None:
        settle()
        busy = job.own and threading.active_count() > usual
    tell("record", record=record.as_json(), busy=busy)


@cache
def maker_of(place: str) -> Maker:
    """The maker of one kind of work, made once per process."""
    maker: Maker = thing(place)()
    return maker


def thing(place: str) -> Any:
    """Load the object at `module:name`, named by the parent process."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)


def prepare() -> None:
    """Import modules that nearly all runs need, so that their time and memory are not attributed to a run."""
    import_module("stickslip.files.archive")
    W: Any = np.eye(3)
    judge(ContactProblem(W, np.array([-1.0, 0.0, 0.0]), coulomb([0.5])), [1.0, 0.0, 0.0])


def settle() -> None:
    """Return memory to the system, and exclude existing objects from garbage collection."""
    give_back()
    gc.freeze()


def end_with_parent(lifeline: int) -> None:
    """End this process when the other end of a pipe, which the parent holds open, is closed."""
    os.set_inheritable(lifeline, False)
    if sys.platform.startswith("linux"):
        import fcntl

        # By a signal of the system: a thread would not run while compiled code holds the interpreter.
        with suppress(OSError):
            fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
            fcntl.fcntl(lifeline, F_SETSIG, int(signal.SIGKILL))
            fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)

    def wait() -> None:
        os.read(lifeline, 1)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Redirect the standard streams, and answer requests."""
    requests, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):
        os.dup2(nothing, standard)
    end_with_parent(int(sys.argv[1]))
    no_core_dumps()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent receives it and ends this process
    sys.path.append(os.getcwd())  # users' own solvers beside the campaign
    prepare()
    os.dup2(nothing, 2)  # error messages until here reach the parent
    with os.fdopen(requests, "rb") as lines:
        serve(lines, Teller(answers))


if __name__ == "__main__":
    main()
