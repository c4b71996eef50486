"""`stickslip bench run`: problems to solvers, under limits, into one file that can be gone on with."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stickslip.cli.campaign_table import GROUPS, campaign_table, clock, standings
from stickslip.cli.errors import ExitCode, InputError, complain, printable
from stickslip.cli.parameters import Json, Kind
from stickslip.cli.places import FCLIB, check_writable
from stickslip.cli.progress import watch_parts
from stickslip.cli.stops import stop_code, stop_word
from stickslip.cli.tables import duration, print_json, table

if TYPE_CHECKING:
    from stickslip.bench.campaigns.campaign import Chosen
    from stickslip.bench.jobs import Executor
    from stickslip.bench.results import Results


def run(
    *,
    problems: list[Path],
    solvers: str | None = None,
    own: Annotated[list[str] | None, Parameter(name="--own")] = None,
    tolerance: str = "1e-8",
    timeout: float = 20.0,
    memory: float = 4096.0,
    best_of: int = 3,
    workers: int = 1,
    executor: str = "processes",
    out: Path,
    families: str | None = None,
    most: int | None = None,
    kind: Kind | None = None,
    json: Json = False,
) -> int:
    """Give problems to solvers, and keep what the judge says of every answer.

    Each run is made in a warm process under a time limit and a memory limit; a
    crash or a hang costs that run. Success is what the judge says at the
    tolerance of the campaign. Every run is safe on the disk before the next
    begins: the same command goes on where it was interrupted, and runs nothing
    twice. More problems and solvers may be added to a file, other conditions not.

    Options of a solver stand behind colons, ipm:max_iterations=50; newton is
    newton-ac, and siconos all solvers of Siconos, where that is installed.

    Exit status 0 says that all runs were made, whatever came of them.

    For example:
      stickslip bench run --problems standard --out results.h5
      stickslip bench run --problems standard --tolerance 1e-4,1e-8 --out all.h5
      stickslip bench run --problems a.dat --solvers auto,siconos --out a.h5
      stickslip bench run --problems p --own mine=solver.py:Mine --out mine.h5
      stickslip bench run --problems p --executor dask --workers 4 --out p.h5

    Parameters
    ----------
    problems
        Folder of problem files (.hdf5, .dat), or one such file; repeat for more.
    solvers
        Names between commas; without it nsgs, anderson, admm, prox, newton-ac, ipm, clarabel, auto, siconos.
    own
        A solver of your own, NAME=file.py:Class or NAME=package.module:Class; repeat for more.
    tolerance
        Largest residual that counts as solved; several between commas, each is a run of its own.
    timeout
        Time limit of one solve, compilation apart [s].
    memory
        Memory limit of one run [MiB].
    best_of
        Calls that are timed; the shortest counts.
    workers
        Runs side by side. Times are best where each has a core to itself.
    executor
        Where runs are made: processes, dask (a cluster of this machine), or dask://HOST:PORT.
    out
        File of the results (.h5, .hdf5); one that is there already is gone on with.
    families
        Only problems of these families, names between commas.
    most
        At most so many problems, the smallest.
    kind
        What .dat files hold, where their names do not say.
    json
        Print one JSON object with the closing table, and nothing else.
    """
    from stickslip.bench.campaigns.campaign import run_campaign
    from stickslip.bench.campaigns.contestants import contestants
    from stickslip.bench.jobs import Limits

    check_writable(out, FCLIB)
    tolerances = _tolerances(tolerance)
    try:
        limits = Limits(timeout=timeout, memory=memory, best_of=best_of)
    except ValueError as error:  # the sentence begins with the name of the class
        said = str(error).removeprefix("Limits: ").replace("best_of", "best-of")
        raise InputError(f"--{said}") from None
    try:
        with redirect_stdout(sys.stderr):  # a user's module may print when it is imported
            entrants = contestants(solvers or "", own or ())
    except ValueError as error:
        raise InputError(str(error)) from None
    executing = _executor(executor, workers)
    collection = _collection(problems, kind, families or "", most, out)
    given: dict[str, str | list[str]] = {
        "--problems": [str(place) for place in problems], "--solvers": solvers or "", "--own": own or [],
        "--tolerance": tolerance, "--timeout": _short(timeout), "--memory": _short(memory),
        "--best-of": str(best_of), "--workers": str(workers), "--executor": executor,
        "--families": families or "", "--most": "" if most is None else str(most), "--kind": kind or "",
        "--out": str(out),
    }  # fmt: skip
    try:
        with campaign_table(quiet=json) as shown:
            results = run_campaign(
                collection, entrants, tolerances, limits, executing, out, shown, _command(given)
            )
    except KeyboardInterrupt as stop:
        complain(f"{stop_word(stop)}; {_safe(out)}; the same command goes on")
        return stop_code(stop)
    except (ValueError, RuntimeError) as error:  # other conditions, a changed file, an executor that is gone
        raise InputError(str(error)) from None
    if json:
        print_json(_report(results, out))
    else:
        _close(results, out)
    return ExitCode.FINE


def _safe(out: Path) -> str:
    """How many runs there are after an interruption."""
    from stickslip.bench.campaigns.results_file import read_results

    try:
        return f"{len(read_results(out).runs)} runs are safe in {out}"
    except (OSError, ValueError):
        return "no run was made"


def _tolerances(text: str) -> list[float]:
    found = []
    for word in text.split(","):
        try:
            value = float(word)
        except ValueError:
            raise InputError(f"--tolerance takes numbers between commas, got {word.strip()!r}") from None
        if not 0.0 < value < 1.0:
            raise InputError(f"--tolerance must lie in (0, 1), got {word.strip()}")
        if value in found:
            raise InputError(f"--tolerance {word.strip()} is given twice")
        found.append(value)
    return found


def _executor(text: str, workers: int) -> Executor:
    from stickslip.bench.running.executors import executor

    if workers < 1:
        raise InputError(f"--workers must be at least 1, got {workers}")
    try:
        return executor(text, workers)
    except (ValueError, RuntimeError, ImportError, OSError) as error:
        raise InputError(f"--executor {text}: {error}") from None


def _collection(
    problems: Sequence[Path], kind: str | None, families: str, most: int | None, out: Path
) -> Chosen:
    """The chosen problems; what was left out of the folders is said."""
    from stickslip.bench.campaigns.campaign import chosen
    from stickslip.bench.collections.collection import Collection

    if most is not None and most < 1:
        raise InputError(f"--most must be at least 1, got {most}")
    wanted = [name.strip() for name in families.split(",") if name.strip()]
    try:
        with watch_parts("reading") as told:
            found = Collection.of(problems, kind, told)
        picked = chosen(found, wanted, most)
    except (ValueError, OSError) as error:
        raise InputError(str(error)) from None
    skipped = [file for file in found.skipped if file.path.resolve() != out.resolve()]
    if skipped:
        complain(f"{len(skipped)} file{'s' if len(skipped) > 1 else ''} left out; {skipped[0].reason}")
    return picked


def _command(given: dict[str, str | list[str]]) -> str:
    """The command that makes the same campaign; options that were not given are left out."""
    usual = {
        "--tolerance": "1e-8", "--timeout": "20", "--memory": "4096", "--best-of": "3", "--workers": "1",
        "--executor": "processes",
    }  # fmt: skip
    words = ["stickslip", "bench", "run"]
    for name, value in given.items():
        for text in value if isinstance(value, list) else [value]:
            if text and text != usual.get(name):
                words += [name, text]
    return shlex.join(words)


def _short(number: float) -> str:
    """A number as one types it: 20, not 20.0."""
    return repr(number).removesuffix(".0")


def _report(results: Results, out: Path) -> dict[str, Any]:
    return {
        "out": str(out), "command": results.command, "problems": len(results.problems),
        "runs": len(results.runs), "standings": standings(results),
        "conditions": results.conditions.as_json(),
    }  # fmt: skip


def _total(seconds: float) -> str:
    if not seconds:  # nothing came to an end
        return ""
    return clock(seconds) if seconds >= 60.0 else duration(seconds)


def _close(results: Results, out: Path) -> None:
    """The closing table, where everything is, and what to do next."""
    from stickslip.exhibits import power

    columns = ("solver", "tolerance", *GROUPS, "of", "fastest on", "total time")
    rows = [
        (
            line["solver"], power(line["tolerance"]), *(str(line[name]) for name in GROUPS),
            str(line["runs"]), str(line["fastest"]), _total(line["seconds"]),
        )
        for line in standings(results)
    ]  # fmt: skip
    table(columns, rows, columns[1:])
    place = printable(shlex.quote(str(out)))
    page = printable(shlex.quote(str(out.with_suffix(".html"))))
    print(f"\n{len(results.runs)} runs on {len(results.problems)} problems in {printable(str(out))}")
    print(f"to see them: stickslip bench report {place} --out {page}")
    print("to add problems or solvers: the same command with more of them; what is there is not run again")
