"""Read and write problems; the content determines the format when reading, the suffix when writing.

HDF5 and GDX files are recognised by their first bytes; other files are text. When writing, `.hdf5` and `.h5`
are HDF5, `.dat` is text and `.gdx` is data for GAMS. h5py and the library of GAMS are imported only if they
are needed.
"""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any

from stickslip.files.dat import KINDS, STORAGES, kind_of, read_dat, write_dat
from stickslip.files.errors import FormatError
from stickslip.files.record import ProblemRecord
from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.solution import Problem

SIGNATURE = b"\x89HDF\r\n\x1a\n"
GDX = b"GAMSGDX"
JOURNAL = b"\x89SSJ\r\n\x1a\n"
"""First bytes of HDF5 files, bytes near the beginning of GDX files, and first bytes of journals of runs."""
ENDINGS = {".hdf5": "HDF5", ".h5": "HDF5", ".dat": "text", ".gdx": "GDX"}
"""Suffixes of files that can be written, and their formats."""


def read(path: str | PathLike[str], kind: str | None = None) -> Any:
    """Return the problem in a file, or the `SweepResult` in the file of a sweep.

    kind   kind of the problem in a text file, one of `KINDS`, if its name does not tell

    Example:

        ss.write("problem.hdf5", ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([0.5])))
        print(ss.read("problem.hdf5"))
    """
    if kind is None and holds_sweep(Path(path)):
        return import_module("stickslip.sweeps.result").read_sweep(path)
    return read_record(path, kind).problem


def holds_sweep(path: Path) -> bool:
    """Whether a file is that of a complete or a running sweep, by its first bytes."""
    with suppress(OSError, ValueError):  # invalid names are reported by the reader
        if path.is_file():
            with path.open("rb") as file:
                head = file.read(4096)
            return head.startswith(SIGNATURE) and b"stickslip_sweep" in head
        with path.with_name(f"{path.name}.journal").open("rb") as file:
            return b'"format":"stickslip sweep journal"' in file.read(1 << 20)
    return False


def read_record(path: str | PathLike[str], kind: str | None = None) -> ProblemRecord:
    """Return the problem in a file with its description and its stored answers."""
    path = Path(path)
    if kind is not None and kind not in KINDS:
        raise FormatError.at(path, "the argument kind", "one of " + ", ".join(KINDS), repr(kind))
    content = file_content(path)
    if GDX in content[:64]:
        from stickslip.files.gdx import read_gdx

        return read_gdx(path)
    if not content.startswith(SIGNATURE):
        return read_dat(path, content, kind)
    from stickslip.files.archive import read_archive

    record = read_archive(path, content)
    if kind is not None and kind_of(record.problem) != kind:
        actual_kind = kind_of(record.problem) or repr(record.problem)
        raise FormatError.at(path, "the whole file", f"a problem of kind '{kind}', as asked for", actual_kind)
    return record


def write(path: str | PathLike[str], problem: Problem | ProblemRecord, *, storage: str | None = None) -> None:
    """Write a problem or a record; the suffix selects the format: `.hdf5`, `.h5`, `.dat` or `.gdx`.

    storage   matrices in text: "dense", "block" or "sparse"; None keeps their storage

    The file appears completely or not at all, and the same problem gives the same bytes.

    Example:

        ss.write("problem.dat", ss.ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], ss.coulomb([0.5])))
    """
    path = Path(path)
    record = problem if isinstance(problem, ProblemRecord) else ProblemRecord(problem)
    if not isinstance(record.problem, ContactProblem | GlobalProblem | BoxProblem):
        actual_kind = type(record.problem).__name__
        if hasattr(record.problem, "save"):
            actual_kind += ", which is written by its save"
        raise FormatError.at(path, "what is to be written", "a problem or a ProblemRecord", actual_kind)
    form = ENDINGS.get(path.suffix.lower())
    if form is None:
        expectation = "one that ends in " + ", ".join(ENDINGS)
        raise FormatError.at(path, "the name of the file", expectation, repr(path.name))
    if storage is not None and (form != "text" or storage not in STORAGES):
        expectation = (
            "one of " + ", ".join(STORAGES) if form == "text" else "None, for storage is for .dat files"
        )
        raise FormatError.at(path, "the argument storage", expectation, repr(storage))
    if form == "text":
        content = write_dat(path, record, storage)
    elif form == "GDX":
        from stickslip.files.gdx import write_gdx

        content = write_gdx(path, record)
    else:
        from stickslip.files.archive import write_archive

        content = write_archive(path, record)
    replace_file(path, content)


def file_content(path: Path) -> bytes:
    """Read the bytes of a regular file; pipes and devices, which may never end, are refused."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind_of_file = "a folder" if stat.S_ISDIR(mode) else "a pipe, a device or a socket"
            raise FormatError.at(path, "the file", "a regular file", kind_of_file)
        return path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file") from None
    except (OSError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError.at(path, "the file", "a readable file", f"this: {error}") from None


def replace_file(path: Path, content: bytes) -> None:
    """Write `content` to `path` atomically; see `draft_of`."""
    with draft_of(path) as draft:
        draft.write_bytes(content)


@contextmanager
def draft_of(path: Path, durable: bool = False) -> Iterator[Path]:
    """Yield a temporary file that atomically replaces `path` on exit; a failed write destroys nothing.

    durable: flush the file to the disk first. An OSError names `path`, and the temporary file is removed.
    """
    link, path = path, path.resolve()  # replace the target of a link, not the link
    if path.exists() and not path.is_file():
        raise FormatError.at(path, "the place to write", "a regular file or nothing", "something else")
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        yield draft
        if durable:
            with draft.open("rb") as file:
                os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(link)) from None
    finally:
        draft.unlink(missing_ok=True)
