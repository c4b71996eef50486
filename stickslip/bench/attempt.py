"""One run in this process: a problem read, solved by a contestant, timed, and judged."""

from stickslip.bench.jobs import Job, Limits
from stickslip.bench.records import RunRecord
from stickslip.problem.solution import Problem


class JobError(ValueError):
    """A job that cannot be run as it is described, such as a file that has changed: nobody has failed."""


def attempt(job: Job, limits: Limits, problem: Problem | None = None) -> RunRecord:
    """The record of one job, run in this process; `problem` saves reading its file.

    `JobError` if the file cannot be read or holds another problem than the job says.
    """
    raise NotImplementedError
