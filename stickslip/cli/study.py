"""`stickslip study`: repeat experiments of the literature; print tables and write figures."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, os_sentence, printable, refused, report_files
from stickslip.cli.parameters import Flag
from stickslip.cli.places import make_folder
from stickslip.cli.progress import watch_parts
from stickslip.cli.tables import csv_text, json_text, table
from stickslip.names import alternatives

if TYPE_CHECKING:
    from stickslip.studies.study import Study


def study(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *,
    out: Path | None = None,
    quick: Flag = False,
    plot: Literal["png", "svg", "pdf", "pgf"] = "png",
    data: Path | None = None,
    train: int | None = None,
    seed: int | None = None,
    predict: Path | None = None,
    processes: int | None = None,
) -> int:
    """List the studies, or run one of them and print its tables.

    A study repeats an experiment of the literature on generated problems, and compares
    its results with the published ones. The study of tosses uses measurements: --data
    and the options after it apply to this study only.

    For example:
      stickslip study
      stickslip study rolling --quick
      stickslip study rolling --out figures
      stickslip study rolling --out figures --plot svg
      stickslip study tosses --data cube_tosses.npz --train 64 --seed 0

    Parameters
    ----------
    name
        Study to run; without it, the studies are listed.
    out
        Directory for the tables (.csv), the figures (with their data as .csv) and one .json with
        all results; created if it does not exist. By default nothing is written.
    quick
        Run a small part of the study, which takes seconds.
    plot
        Format of the figures; pgf is text for LaTeX.
    data
        Measured tosses, an .npz with rows and start (docs/tosses.md); simulated tosses by default.
    train
        Number of tosses to fit; 64 by default.
    seed
        Seed of the selection of tosses to fit; 0 by default.
    predict
        File whose tosses are predicted; by default the tosses of --data that were not fitted.
    processes
        Number of processes; by default the number of processors.
    """
    from stickslip import studies
    from stickslip.files.errors import FormatError
    from stickslip.studies.study import StudyInputError

    if name is None:
        rows = [(title, studies.load(title).SUMMARY) for title in studies.names()]
        table(("study", "summary"), rows, folds=("summary",))
        return ExitCode.FINE
    if name not in studies.names():
        raise InputError(f"unknown study {name!r}; {alternatives(name, studies.names())}")
    options = {"data": data, "train": train, "seed": seed, "predict": predict, "processes": processes}
    values = {option: value for option, value in options.items() if value is not None}
    for option in values:
        if option not in studies.options(name):
            takers = [title for title in studies.names() if option in studies.options(title)]
            raise InputError(f"study {name} takes no --{option}; it applies to {', '.join(takers)}")
    if out is not None:
        make_folder(out)
    with refused(FormatError, StudyInputError), watch_parts(f"study {name}") as progress:
        results = studies.load(name).run(quick=quick, progress=progress, **values)
    # Write files before printing: if the reader of the output closes the pipe, the files exist.
    written: list[Path] = []
    unwritten = "" if out is None else _write(results, out, plot, written)
    for k, each in enumerate(results.tables):
        print("\n" if k else "", end="")
        print(f"{printable(each.title)}\n")
        table(each.headings, each.text(), numbers=each.numeric)
        print(f"\n{printable(each.note)}\n" if each.note else "", end="")
    return report_files(written, unwritten)


def _write(results: Study, out: Path, plot: str, written: list[Path]) -> str:
    """Write tables, figures and data into `out`; append the files to `written`.

    Returns a sentence about the first file that cannot be written, or an empty text.
    """
    from stickslip.files import FormatError
    from stickslip.files.problems import replace_file
    from stickslip.view.figures import draw, figure_csv

    def put(place: Path, text: str) -> None:
        replace_file(place, text.encode())
        written.append(place)

    names: Counter[str] = Counter()
    try:
        for each in results.tables:
            name = f"{results.name}-{slug(each.title)}"
            names[name] += 1
            name += f"-{names[name]}" if names[name] > 1 else ""
            put(out / f"{name}.csv", csv_text(each.headings, each.rows))
        for title, figure in results.figures.items():
            place = out / f"{results.name}-{title}.{plot}"
            draw(figure, place)
            written.append(place)
            put(place.with_suffix(".csv"), figure_csv(figure))
        tables = [
            {"title": t.title, "columns": t.headings, "rows": [list(r) for r in t.rows], "note": t.note}
            for t in results.tables
        ]
        data = {"study": results.name, "tables": tables, "data": results.data}
        put(out / f"{results.name}.json", json_text(data))
    except OSError as error:
        return f"{os_sentence(error)}; this file and those after it were not written"
    except FormatError as error:
        return str(error)
    return ""


def slug(title: str) -> str:
    """Make a file name from the words of a title, of at most about sixty characters."""
    words = re.findall(r"[a-z0-9.]+", title.lower())
    name = words[0] if words else "table"
    for word in words[1:]:
        if len(name) + len(word) > 60:
            break
        name += f"-{word}"
    return name.strip(".")
