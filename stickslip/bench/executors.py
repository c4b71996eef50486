"""Executors by name: processes on this machine, or Dask."""

from stickslip.bench.jobs import Executor

KNOWN = ("processes", "dask", "dask://HOST:PORT", "tcp://HOST:PORT")
"""What may be typed."""


def executor(text: str, workers: int = 1) -> Executor:
    """The executor that `text` names, with so many workers; of a scheduler that runs already, all it has."""
    if text == "processes":
        from stickslip.bench.processes import Processes

        return Processes(workers)
    if text == "dask" or text.startswith(("dask://", "tcp://")):
        from stickslip.bench.dask_executor import Dask

        return Dask(None if text == "dask" else f"tcp://{text.partition('://')[2]}", workers)
    raise ValueError(f"no executor {text!r}; known: {', '.join(KNOWN)}")
