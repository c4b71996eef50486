"""The report of a campaign: what was found, as a page of text, tables and figures."""

from collections.abc import Sequence

from stickslip.bench.results import Results
from stickslip.exhibits import Page


def report(
    results: Results, time: str = "wall", notes: Sequence[str] = (), ours: str | Sequence[str] = "auto"
) -> Page:
    """All that a reader wants to know of a campaign.

    `time`: `wall` or `cpu`; `notes`: sentences that go below the summary; `ours`: the solvers, by name or by
    label, whose losses are told one by one.
    """
    return Page(f"Solvers compared on {len(results.problems)} problems", list(notes), [])
