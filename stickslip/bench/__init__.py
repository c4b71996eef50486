"""Compare solvers on collections of problems. Modules are imported on use.

results = run_campaign(Collection.of([folder]), contestants("nsgs,auto"), [1e-4, 1e-8],
                       Limits(timeout=5.0), executor("processes"), Path("results.h5"))
"""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.bench.analysis.costs import Grid as Grid
    from stickslip.bench.analysis.costs import costs as costs
    from stickslip.bench.analysis.profiles import data_profile as data_profile
    from stickslip.bench.analysis.profiles import performance_profile as performance_profile
    from stickslip.bench.campaigns.campaign import run_campaign as run_campaign
    from stickslip.bench.campaigns.contestants import Contestant as Contestant
    from stickslip.bench.campaigns.contestants import contestants as contestants
    from stickslip.bench.campaigns.results_file import read_results as read_results
    from stickslip.bench.collections.collection import Collection as Collection
    from stickslip.bench.collections.features import Features as Features
    from stickslip.bench.collections.recording import ProblemRecorder as ProblemRecorder
    from stickslip.bench.collections.recording import record as record
    from stickslip.bench.collections.standard import collect as collect
    from stickslip.bench.own_solver import OwnSolver as OwnSolver
    from stickslip.bench.own_solver import OwnSolverError as OwnSolverError
    from stickslip.bench.records import Limits as Limits
    from stickslip.bench.records import Outcome as Outcome
    from stickslip.bench.records import RunRecord as RunRecord
    from stickslip.bench.reports.report import report as report
    from stickslip.bench.results import Mixed as Mixed
    from stickslip.bench.results import Results as Results
    from stickslip.bench.results import combine as combine
    from stickslip.bench.running.executors import executor as executor
    from stickslip.bench.siconos.solver import SiconosSolver as SiconosSolver
else:
    __getattr__, __dir__ = door(__name__)
