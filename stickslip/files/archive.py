"""HDF5 files of problems: a problem, its description, and the stored solution and guesses.

The problem is in one group of the root: one of FCLIB's if its layout fits, else our own (`own`). The other
groups follow FCLIB: `solution` with r, u, v (global) and l (bilateral), and `guesses` with
`number_of_guesses` and groups 1, 2, ... of the same content.
"""

from pathlib import Path
from typing import Any

import numpy as np

from stickslip.files.errors import FormatError
from stickslip.files.fclib import FCLIB_ROOTS, fclib_root, read_fclib, write_fclib
from stickslip.files.hdf5 import Source
from stickslip.files.hdf5_write import hdf5_content, put_array, put_attribute, put_text
from stickslip.files.own import OWN_ROOT, read_own, write_own
from stickslip.files.record import ProblemRecord, StoredSolution
from stickslip.problem.checks import Array
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.solution import Problem

TEXTS = ("title", "description", "math_info")
"""Texts of `info` that are datasets in FCLIB; other descriptions are attributes."""
MATRICES = ("W", "M", "H", "G", "A")
MATRIX_TEXTS, MATRIX_NUMBERS = ("comment",), ("conditioning", "determinant", "rank")
"""Optional datasets of FCLIB in the group of a matrix: texts and numbers."""


def read_archive(path: Path, content: bytes) -> ProblemRecord:
    """Read the record in `content`, the bytes of the HDF5 file `path`."""
    with Source(path, content) as source:
        roots = [name for name in (*FCLIB_ROOTS, OWN_ROOT) if source.has(source.root, name)]
        if len(roots) != 1:
            if any(
                source.has(source.root, f"stickslip_{one}")
                for one in ("run", "trajectory", "world_trajectory")
            ):
                how = "read it with read_trajectory, or show it by stickslip info, plot or view"
                source.fail("/", "a problem", f"a trajectory: {how}")
            expectation = "one of the groups " + ", ".join((*FCLIB_ROOTS, OWN_ROOT))
            source.fail("/", expectation, " and ".join(roots) or "none of them")
        group = source.group(source.root, roots[0])
        try:
            # Extreme numbers may overflow in the checks of the problem, which report them.
            with np.errstate(all="ignore"):
                kind = FCLIB_ROOTS.get(roots[0])
                problem = read_fclib(source, group, kind) if kind else read_own(source, group)
        except FormatError:
            raise
        except ValueError as error:
            raise FormatError.at(path, f"/{roots[0]}", "well-posed data", f"this: {error}") from None
        info = _read_info(source, group)
        solution = None
        if source.has(source.root, "solution"):
            solution = _read_answer(source, source.group(source.root, "solution"), problem)
        guesses = tuple(guess for guess in _read_guesses(source, problem) if guess is not None)
        return ProblemRecord(problem, info, solution, guesses)


def write_archive(path: Path, record: ProblemRecord) -> bytes:
    """Return the content of the HDF5 file `path`."""
    answers = [("solution", record.solution)] if record.solution is not None else []
    answers += [(f"guesses/{k}", guess) for k, guess in enumerate(record.guesses, 1)]
    for name, answer in answers:
        _check_answer(path, f"/{name}", answer, record.problem)

    def fill(root: Any) -> None:
        name = fclib_root(record.problem)
        group = root.create_group(name or OWN_ROOT)
        if name:
            write_fclib(path, group, record.problem)
        else:
            write_own(group, record.problem)
        _write_info(path, group, record.info)
        for place, answer in answers:
            _write_answer(root.create_group(place), answer)
        if record.guesses:
            put_array(root["guesses"], "number_of_guesses", [len(record.guesses)], np.int32)

    return hdf5_content(fill)


def _read_info(source: Source, group: Any) -> dict[str, str]:
    info: dict[str, str] = {}
    if source.has(group, "info"):
        texts = source.group(group, "info")
        info |= {name: source.text(texts, name) for name in TEXTS if source.has(texts, name)}
        info |= source.attributes(texts)
    for matrix in MATRICES:
        if source.has(group, matrix):
            place = source.group(group, matrix)
            values = source.attributes(place)
            values |= {name: source.text(place, name) for name in MATRIX_TEXTS if source.has(place, name)}
            for name in MATRIX_NUMBERS:
                if source.has(place, name):
                    values[name] = " ".join(map(str, source.reals(place, name).tolist()))
            info |= {f"{matrix}.{name}": value for name, value in values.items()}
    return info


def _write_info(path: Path, group: Any, info: dict[str, str]) -> None:
    if not info:
        return
    texts = group.create_group("info")
    for name, text in info.items():
        matrix, _, rest = name.partition(".")
        if name in TEXTS:
            put_text(texts, name, text)
        elif rest and matrix in MATRICES and matrix in group:
            put_attribute(path, group[matrix], rest, text)
        else:
            put_attribute(path, texts, name, text)


def _read_guesses(source: Source, problem: Problem) -> list[StoredSolution | None]:
    if not source.has(source.root, "guesses"):
        return []
    group = source.group(source.root, "guesses")
    count = source.integer(group, "number_of_guesses")
    if count < 0:
        source.fail("/guesses/number_of_guesses", "a number that is not negative", f"{count}")
    return [_read_answer(source, source.group(group, f"{k}"), problem) for k in range(1, count + 1)]


def _read_answer(source: Source, group: Any, problem: Problem) -> StoredSolution | None:
    """Read a stored solution; None if its r or u was declared but never written, as in some FCLIB files."""
    parts: dict[str, Array] = {}
    for name, (key, size) in _sizes(problem).items():
        needed = name in ("r", "u")
        if size is None or not (needed or source.has(group, key)):
            continue
        if source.has(group, key) and not source.is_written(group, key):
            if needed:
                return None
            continue
        parts[name] = value = source.reals(group, key)
        if value.size != size:
            source.fail(f"{group.name}/{key}", f"{size} numbers", f"{value.size}")
        if not np.isfinite(value).all():
            k = int(np.argmin(np.isfinite(value)))
            source.fail(f"{group.name}/{key}", "finite numbers", f"{value[k]} at {k}")
    return StoredSolution(**parts)


def _check_answer(path: Path, place: str, answer: StoredSolution, problem: Problem) -> None:
    for name, (key, size) in _sizes(problem).items():
        value = getattr(answer, name)
        if value is not None and (value.size != size or not np.isfinite(value).all()):
            expectation = f"{size} finite numbers" if size is not None else "None, for this kind of problem"
            raise FormatError.at(path, f"{place}/{key}", expectation, f"{value.size} numbers")


def _write_answer(group: Any, answer: StoredSolution) -> None:
    for name, key in (("v", "v"), ("lam", "l"), ("u", "u"), ("r", "r")):
        value = getattr(answer, name)
        if value is not None:
            put_array(group, key, value, np.float64)


def _sizes(problem: Problem) -> dict[str, tuple[str, int | None]]:
    """Name in files and size of each part of a solution; the size is None if the problem has no such part."""
    nv, p = (problem.M.size, problem.g_bias.size) if isinstance(problem, GlobalProblem) else (None, None)
    return {"r": ("r", problem.size), "u": ("u", problem.size), "v": ("v", nv), "lam": ("l", p)}
