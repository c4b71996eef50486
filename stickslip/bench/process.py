"""A warm process for runs: replaced after a crash, a hang or a leak, so that these cost one record."""

from stickslip.bench.jobs import Job, Limits
from stickslip.bench.records import RunRecord


class WarmProcess:
    """Runs jobs one after the other in one process of its own, as long as that is well."""

    def __init__(self, name: str = ""):
        """`name`: as it is shown to people."""
        self.name = name

    def run(self, job: Job, limits: Limits) -> RunRecord:
        """The record of a job; whatever the solver does, it comes back within the limits.

        `JobError` if the file cannot be read or holds another problem than the job says.
        """
        raise NotImplementedError

    def close(self) -> None:
        """End the process at once; may be called while another thread waits in `run`."""
