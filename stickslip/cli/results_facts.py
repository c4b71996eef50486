"""What there is to say about a results file, as data and as lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any


def is_results(path: Path) -> bool:
    """Whether a file says that it holds the results of a campaign; its reader tells what is wrong with it."""
    from stickslip.bench.campaigns.results_file import ROOT
    from stickslip.files import FormatError
    from stickslip.files.hdf5 import Source
    from stickslip.files.problems import SIGNATURE, file_content

    try:
        content = file_content(path)
        if not content.startswith(SIGNATURE):
            return False
        with Source(path, content) as source:
            return source.has(source.root, ROOT)
    except (FormatError, OSError):
        return False


def describe_results(path: Path) -> dict[str, Any]:
    """The results of a campaign; the JSON object of `stickslip info`."""
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.bench.records import Outcome

    results = read_results(path)
    said = results.conditions
    return {
        "file": str(path),
        "kind": "results",
        "problems": len(results.problems),
        "families": list(results.families),
        "runs": len(results.runs),
        "solvers": {
            solver: {
                "runs": sum(run.solver == solver for run in results.runs),
                "solved": sum(run.solver == solver and run.outcome is Outcome.SOLVED for run in results.runs),
            }
            for solver in results.solvers
        },
        "outcomes": dict(Counter(run.outcome.value for run in results.runs)),
        "tolerances": list(said.tolerances),
        "timeout": said.timeout,
        "memory": said.memory,
        "best_of": said.best_of,
        "workers": said.workers,
        "environment": said.environment.as_json(),
        "command": results.command,
    }


def results_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report of results for a reader."""
    from stickslip.exhibits import power

    place = report["environment"]
    return [
        ("kind", "results of a campaign"),
        ("problems", f"{report['problems']}, families {', '.join(report['families'])}"),
        ("runs", f"{report['runs']}: " + ", ".join(f"{n} {what}" for what, n in report["outcomes"].items())),
        *(
            (f"solver {name}", f"{found['solved']} of {found['runs']} runs solved")
            for name, found in report["solvers"].items()
        ),
        ("tolerances", ", ".join(power(tolerance) for tolerance in report["tolerances"])),
        (
            "limits",
            f"{report['timeout']:g} s, {report['memory']:g} MiB, best of {report['best_of']}, "
            f"{report['workers']} side by side",
        ),
        ("machine", f"{place['processor']}, {place['cores']} cores, {place['system']}"),
        ("versions", f"stickslip {place['stickslip']} (code {place['code']}), {place['python']}"),
        ("command", " ".join(report["command"].split())),
    ]
