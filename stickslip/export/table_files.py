"""Write tables of runs as CSV and Parquet files."""

import csv
from collections.abc import Iterable
from pathlib import Path

from stickslip.export.tables import Columns
from stickslip.extras import needed

LINES = 4096
"""Number of lines of text that are formatted at once."""


def write_csv(path: Path, parts: Iterable[Columns]) -> int:
    """Write the rows of a table with headings and all digits; return the number of rows."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for k, part in enumerate(parts):
            if k == 0:
                writer.writerow(part)
            rows = len(next(iter(part.values())))
            for first in range(0, rows, LINES):
                some = (column[first : first + LINES].tolist() for column in part.values())
                writer.writerows(zip(*some, strict=True))
            count += rows
    return count


def write_parquet(path: Path, parts: Iterable[Columns]) -> int:
    """Write the rows of a table, a row group for each part (extra `tables`); return the number of rows."""
    arrow = needed("pyarrow", "a Parquet file")
    parquet = needed("pyarrow.parquet", "a Parquet file")
    writer, count = None, 0
    try:
        for part in parts:
            arrays = [
                arrow.array(column, arrow.string() if column.dtype == object else None)
                for column in part.values()
            ]
            rows = arrow.table(arrays, names=list(part))
            writer = writer or parquet.ParquetWriter(path, rows.schema)
            writer.write_table(rows)
            count += rows.num_rows
    finally:
        if writer is not None:
            writer.close()
    return count
