"""Executors by name: processes on this machine, or Dask."""

from urllib.parse import urlsplit

from stickslip.bench.jobs import Executor
from stickslip.bench.running.processes import Processes
from stickslip.names import alternatives

KNOWN = ("processes", "dask", "dask://HOST:PORT", "tcp://HOST:PORT")
"""What may be typed."""


def executor(text: str, workers: int = 1) -> Executor:
    """The executor that `text` names.

    `processes` and `dask` start so many workers on this machine, and end them; of a scheduler that runs
    already all workers are taken. A `ValueError` for texts that name none, a `DaskError` where Dask is
    absent or does not answer.
    """
    if text == "processes":
        return Processes(workers)
    address = None if text == "dask" else _address(text)
    from stickslip.bench.running.dask_executor import Dask

    return Dask(address, workers)


def _address(text: str) -> str:
    """Where a scheduler is, as Dask writes it."""
    try:
        parts = urlsplit(text)
        whole = parts.scheme in ("dask", "tcp") and parts.hostname and parts.port
        if whole and parts.path in ("", "/"):
            return f"tcp://{parts.netloc}"
    except ValueError:  # a port that is no number
        pass
    raise ValueError(f"no executor {text!r}; {alternatives(text, KNOWN)}")
