"""`stickslip sweep`: run a model at many values of its parameters; store measured quantities in a file."""

from __future__ import annotations

import csv
import shlex
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, printable, refused, stopped_runs
from stickslip.cli.parameters import Json, Scene, Step, Until
from stickslip.cli.places import FCLIB, check_writable
from stickslip.cli.progress import watch_parts
from stickslip.cli.settings import check_known, chosen, grid_values, names_in, read_settings, with_options
from stickslip.cli.tables import print_json, table
from stickslip.options import parsed

if TYPE_CHECKING:
    from stickslip.sweeps.designs import Parameter as Swept
    from stickslip.sweeps.result import SweepResult

KEPT = 8
"""Largest number of failed runs that are listed one by one."""


def sweep(
    scene: Annotated[str, Parameter(name="SCENE")],
    /,
    *,
    vary: list[str] | None = None,
    points: Path | None = None,
    samples: int = 0,
    method: str = "random",
    repeat: int = 1,
    seed: int | None = None,
    measure: str = "usual",
    until: Until = None,
    h: Step = None,
    scheme: str | None = None,
    solver: str | None = None,
    settings: Scene = None,
    executor: str = "processes",
    workers: int | None = None,
    timeout: float = 3600.0,
    memory: float = 4096.0,
    out: Path,
    json: Json = False,
    **given: Annotated[str, Parameter(show=False)],
) -> int:
    """Run a model at many values of its parameters, and store measured quantities of each run.

    All combinations of the values are run, each with every sample. Each run has its
    own process, with a time limit and a memory limit. The row of a failed run contains
    the reason. Every row is written to disk at once: the same command continues an
    interrupted sweep and repeats no run. The rows do not depend on the executor or the
    number of workers.

    Parameters that do not vary are options of this command, as for `stickslip run`.

    Exit status 0: all runs were made, including failed ones.

    For example:
      stickslip sweep bouncing-ball --vary e=0.1:0.9:9 --out ball.h5
      stickslip sweep stack --vary mu=0.1:0.9:9 --vary e=0,0.5 --bodies 5 --out stack.h5
      stickslip sweep rockfall --vary slope=20:50:7 --repeat 100 --seed 0 --out rocks.h5
      stickslip sweep rockfall --vary mu=uniform:0.1:0.9 --samples 256 --method sobol --out mu.h5
      stickslip sweep cart.py:model --vary mass=1,2,4 --measure cart.py:way --until 2 --h 1e-3 --out cart.h5
      stickslip sweep soup --points runs.csv --executor dask://10.0.0.1:8786 --out soup.h5

    Parameters
    ----------
    scene
        Scene (`stickslip run` lists them), or file.py:function.
    vary
        Parameter and its values: name=first:last:count, name=a,b,c, or a distribution,
        name=uniform:LOW:HIGH, log-uniform:LOW:HIGH, normal:MEAN:DEVIATION, integers:LOW:HIGH; may be
        repeated.
    points
        CSV file with a column for each parameter and a row for each run.
    samples
        Number of samples of the distributions.
    method
        Sampling method: random, latin (Latin hypercube), sobol (scrambled Sobol points).
    repeat
        Number of runs of each combination, each with another seed.
    seed
        Seed of the samples and of the runs; 0 by default.
    measure
        Measured quantities, separated by commas: usual (energy, runout, share of passed checks), facts,
        final, energy, runout, speed, penetration, or file.py:function.
    scheme
        Time scheme; by default that of the scene.
    solver
        Solver of the contact problems; auto by default. `stickslip solvers` lists them.
    executor
        Executor of the runs: processes, dask (a cluster on this machine), dask://HOST:PORT, or here.
    workers
        Number of simultaneous runs; by default the number of processors.
    timeout
        Time limit of one run, without compilation [s].
    memory
        Memory limit of one run [MiB].
    out
        File of the sweep (.h5, .hdf5); an existing file is continued.
    """
    arguments = dict(locals())
    from stickslip.bench.collections.models import parameters_of, takes_any
    from stickslip.files import read
    from stickslip.sweeps.sweep import sweep as swept

    check_writable(out, FCLIB)
    if workers is not None and workers < 1:
        raise InputError(f"--workers must be at least 1, got {workers}")
    texts = with_options(read_settings(settings or []), given)
    varied = [text.partition("=")[0].strip().replace("-", "_") for text in vary or ()]
    run_options = {"until": until, "h": h, "scheme": scheme, "solver": solver}
    with refused(KeyError, TypeError, ValueError, RuntimeError, ImportError):
        if scene.endswith(".py"):
            raise InputError(f"{scene} is a file; name a function of it, {scene}:function")
        known = parameters_of(scene, [*varied, *texts, *_header(points)])
        if takes_any(scene):
            known |= dict.fromkeys(name for name in texts if name not in known)
        check_known(f"{scene} has no such parameter", texts, tuple(known), signature(sweep).parameters)
        parameters: Any = {**chosen(known, texts)}
        for text in vary or ():
            parameter = read_vary(text, known)
            if parameter.name in parameters:
                raise InputError(f"{parameter.name} is given twice")
            parameters[parameter.name] = parameter
        for parameter in [] if points is None else read_points(points, known):
            if parameter.name in parameters:
                raise InputError(
                    f"{parameter.name} is a column of {points} and an option; remove one of the two"
                )
            parameters[parameter.name] = parameter
        try:
            with watch_parts(f"sweep {scene}", quiet=json) as progress:
                result: SweepResult = swept(
                    scene, parameters, names_in(measure), samples=samples, method=method, repeat=repeat,
                    seed=seed, executor=executor, workers=workers, timeout=timeout, memory=memory, out=out,
                    progress=progress, command=_command(arguments),
                    **{name: value for name, value in run_options.items() if value is not None},
                )  # fmt: skip
        except KeyboardInterrupt as stop:
            return stopped_runs(stop, lambda: len(read(out)), out)
    if json:
        print_json(_facts(result, out))
    else:
        _close(result, out)
    return ExitCode.FINE


def read_vary(text: str, known: dict[str, Any]) -> Swept:
    """Parse `name=first:last:count`, `name=a,b,c` or `name=DISTRIBUTION:a:b` into a parameter."""
    from stickslip.sweeps.designs import DISTRIBUTIONS, Parameter

    name, equals, rest = (part.strip() for part in text.partition("="))
    name, (word, _, numbers) = name.replace("-", "_"), rest.partition(":")
    default = known.get(name)
    kind = type(default) if isinstance(default, bool | int | str) else None
    if not equals or not name or not rest:
        raise InputError(
            f"--vary {text!r} is not of the form name=first:last:count, name=a,b,c or name=uniform:low:high"
        )
    try:
        if word in DISTRIBUTIONS:
            default = 0 if word == "integers" else 0.0
            return Parameter(name, word, tuple(parsed(word, part, default) for part in numbers.split(":")))
        if kind in (bool, str) or (type(default) not in (int, float) and not _is_numbers(rest)):
            return Parameter(name, "grid", tuple(parsed(name, x.strip(), default) for x in rest.split(",")))
        values = grid_values(rest)
    except ValueError as error:
        is_unknown = numbers and word.isidentifier() and word not in DISTRIBUTIONS
        hint = f"; distributions are {', '.join(DISTRIBUTIONS)}" if is_unknown else ""
        raise InputError(f"--vary {text!r}: {error}{hint}") from None
    if kind is int:
        if any(value != int(value) for value in values):
            raise InputError(f"--vary {text!r}: {name} takes whole numbers")
        return Parameter(name, "grid", tuple(map(int, values)))
    return Parameter(name, "grid", tuple(values))


def _is_numbers(text: str) -> bool:
    """Whether a text is a grid of numbers."""
    try:
        grid_values(text)
    except ValueError:
        return False
    return True


def _header(points: Path | None) -> list[str]:
    """Names of the parameters in a file of points."""
    return [] if points is None else [name.replace("-", "_") for name in _rows(points)[0]]


def _rows(points: Path) -> list[list[str]]:
    """Read the rows of a file of points; the first row contains the names."""
    try:
        with points.open(newline="", encoding="utf-8-sig") as file:
            rows = [[cell.strip() for cell in row] for row in csv.reader(file) if row]
    except OSError as error:
        raise InputError(f"--points {points}: {str(error.strerror).lower()}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"--points {points}: {error}") from None
    if len(rows) < 2:
        raise InputError(f"--points {points}: expected a row of names and a row for each run")
    for number, row in enumerate(rows, 1):
        if len(row) != len(rows[0]):
            raise InputError(f"--points {points}: row {number} has {len(row)} cells, row 1 {len(rows[0])}")
    for name in rows[0]:
        if rows[0].count(name) > 1:
            raise InputError(f"--points {points}: two columns are named {name}")
    return rows


def read_points(points: Path, known: dict[str, Any]) -> list[Swept]:
    """Read the parameters and their values from a file of points."""
    from stickslip.sweeps.designs import Parameter

    names, *rows = _rows(points)
    with refused(ValueError, before=f"--points {points}: "):
        return [
            Parameter(
                name.replace("-", "_"), "list",
                tuple(parsed(name, row[k], known.get(name.replace("-", "_"))) for row in rows),
            )
            for k, name in enumerate(names)
        ]  # fmt: skip


def _command(arguments: dict[str, Any]) -> str:
    """The command that repeats this sweep; defaults, executor and number of workers are omitted."""
    words = ["stickslip", "sweep", str(arguments["scene"])]
    for name, parameter in signature(sweep).parameters.items():
        value = arguments[name]
        if name in ("scene", "json", "executor", "workers", "given", "out") or value in (
            None,
            parameter.default,
        ):
            continue
        option = {"settings": "set"}.get(name, name.replace("_", "-"))
        for item in value if isinstance(value, list) else [value]:
            words += [f"--{option}", str(item)]
    for name, value in arguments["given"].items():
        words += [f"--{name.replace('_', '-')}", value]
    return shlex.join([*words, "--out", str(arguments["out"])])


def _facts(result: SweepResult, out: Path) -> dict[str, Any]:
    """JSON data of the result of a sweep."""
    counts: dict[str, int] = {}
    for outcome in result.outcomes:
        counts[outcome.value] = counts.get(outcome.value, 0) + 1
    return {
        "out": str(out), "runs": len(result), "planned": result.planned, "outcomes": counts,
        "parameters": list(result.parameters), "measures": list(result.measures),
    }  # fmt: skip


def _runs(count: int) -> str:
    return "1 run" if count == 1 else f"{count} runs"


def _close(result: SweepResult, out: Path) -> None:
    """Print a summary of the measures, the failed runs, the place of the results and the next command."""
    print("\n".join(map(printable, str(result).split("\n"))))
    rows = []
    for name, column in result.measures.items():
        values = column[~(column != column)]
        if values.size:
            rows.append((name, *(f"{x:.6g}" for x in (values.min(), values.mean(), values.max()))))
    if rows:
        print()
        table(("measure", "least", "mean", "largest"), rows, ("least", "mean", "largest"), folds=("measure",))
    failed = [
        (number, reason) for number, reason in zip(result.number, result.reasons, strict=True) if reason
    ]
    for number, reason in failed[:KEPT]:
        complain(f"run {number}: {reason}")
    if len(failed) > KEPT:
        complain(f"and {len(failed) - KEPT} more runs with a reason")
    place, page = (printable(shlex.quote(str(each))) for each in (out, out.with_suffix(".html")))
    print(f"\n{_runs(len(result))} in {place}")
    print(f"to see them: stickslip sweep-report {place} --out {page}")
