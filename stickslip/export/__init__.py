"""Export runs: tables for pandas and spreadsheets, scenes for ParaView and USD, and recordings for Rerun.

frame(run, "contacts")
write(run, "run.parquet", table="states")
write(run, "run.vtkhdf", every=10)
log_run(run)
"""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.export.records import ExportError as ExportError
    from stickslip.export.rerun_stream import log_run as log_run
    from stickslip.export.tables import frame as frame
    from stickslip.export.writer import write as write
else:
    __getattr__, __dir__ = door(__name__)
