"""Runs for other programs: tables for pandas and spreadsheets, scenes for ParaView and USD, and Rerun.

frame(run, "contacts")
write(run, "run.parquet", table="states")
write(run, "run.vtkhdf", every=10)
log_run(run)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "stickslip.export.records": ("ExportError",),
    "stickslip.export.rerun_stream": ("log_run",),
    "stickslip.export.tables": ("frame",),
    "stickslip.export.writer": ("write",),
}
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = ["ExportError", "frame", "log_run", "write"]

if TYPE_CHECKING:
    from stickslip.export.records import ExportError
    from stickslip.export.rerun_stream import log_run
    from stickslip.export.tables import frame
    from stickslip.export.writer import write


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'stickslip.export' has no attribute {name!r}")
