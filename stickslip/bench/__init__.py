"""Comparing solvers on collections of problems; nothing is imported until it is used.

results = run_campaign(Collection.of([folder]), contestants("nsgs,auto"), [1e-4, 1e-8],
                       Limits(timeout=5.0), executor("processes"), Path("results.h5"))
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

_WHERE = {
    "Collection": "collections.collection",
    "Contestant": "campaigns.contestants",
    "Features": "collections.features",
    "Grid": "analysis.costs",
    "Limits": "jobs",
    "Mixed": "results",
    "Outcome": "records",
    "Results": "results",
    "RunRecord": "records",
    "collect": "collections.standard",
    "combine": "results",
    "contestants": "campaigns.contestants",
    "costs": "analysis.costs",
    "data_profile": "analysis.profiles",
    "executor": "running.executors",
    "performance_profile": "analysis.profiles",
    "read_results": "campaigns.results_file",
    "record": "collections.recording",
    "report": "reports.report",
    "run_campaign": "campaigns.campaign",
}

__all__ = sorted(_WHERE)

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
    from stickslip.bench.jobs import Limits
    from stickslip.bench.records import Outcome, RunRecord
    from stickslip.bench.reports.report import report
    from stickslip.bench.results import Mixed, Results, combine
    from stickslip.bench.running.executors import executor


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"stickslip.bench.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'stickslip.bench' has no attribute {name!r}")
