"""The same for machines: the runs as one table, and the findings as plain data."""

from typing import Any

from stickslip.bench.results import Results
from stickslip.exhibits import Table


def runs_table(results: Results) -> Table:
    """Every run in a row of its own, for CSV."""
    return Table("All runs", ["problem"], [])


def findings(results: Results, time: str = "wall") -> dict[str, Any]:
    """What the report says, as JSON holds it."""
    return {}
