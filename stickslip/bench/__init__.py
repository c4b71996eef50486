"""Comparing solvers on collections of problems; nothing is imported until it is used.

results = run_campaign(Collection.of([folder]), contestants("nsgs,auto"), [1e-4, 1e-8],
                       Limits(timeout=5.0), executor("processes"), Path("results.h5"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Collection": "stickslip.bench.collections.collection",
    "Contestant": "stickslip.bench.campaigns.contestants",
    "Features": "stickslip.bench.collections.features",
    "Grid": "stickslip.bench.analysis.costs",
    "Limits": "stickslip.bench.records",
    "Mixed": "stickslip.bench.results",
    "Outcome": "stickslip.bench.records",
    "Results": "stickslip.bench.results",
    "RunRecord": "stickslip.bench.records",
    "collect": "stickslip.bench.collections.standard",
    "combine": "stickslip.bench.results",
    "contestants": "stickslip.bench.campaigns.contestants",
    "costs": "stickslip.bench.analysis.costs",
    "data_profile": "stickslip.bench.analysis.profiles",
    "executor": "stickslip.bench.running.executors",
    "performance_profile": "stickslip.bench.analysis.profiles",
    "read_results": "stickslip.bench.campaigns.results_file",
    "record": "stickslip.bench.collections.recording",
    "report": "stickslip.bench.reports.report",
    "run_campaign": "stickslip.bench.campaigns.campaign",
}

__all__ = [
    "Collection", "Contestant", "Features", "Grid", "Limits", "Mixed", "Outcome", "Results", "RunRecord",
    "collect", "combine", "contestants", "costs", "data_profile", "executor", "performance_profile",
    "read_results", "record", "report", "run_campaign",
]  # fmt: skip

if TYPE_CHECKING:
    from stickslip.bench.analysis.costs import Grid, costs
    from stickslip.bench.analysis.profiles import data_profile, performance_profile
    from stickslip.bench.campaigns.campaign import run_campaign
    from stickslip.bench.campaigns.contestants import Contestant, contestants
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.bench.collections.collection import Collection
    from stickslip.bench.collections.features import Features
    from stickslip.bench.collections.recording import record
    from stickslip.bench.collections.standard import collect
    from stickslip.bench.records import Limits, Outcome, RunRecord
    from stickslip.bench.reports.report import report
    from stickslip.bench.results import Mixed, Results, combine
    from stickslip.bench.running.executors import executor


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'stickslip.bench' has no attribute {name!r}")
