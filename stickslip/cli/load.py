"""Reading a problem file for a verb: whatever is wrong with it becomes one sentence."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from stickslip.cli.errors import InputError, os_sentence

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord


def load(path: Path, kind: str | None = None) -> ProblemRecord:
    """The problem in `path` with all that is stored beside it; `InputError` says what is wrong."""
    from stickslip.files import FormatError, read_record
    from stickslip.problem.checks import ProblemError

    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a problem file")
    try:
        return read_record(path, kind)
    except FormatError as error:
        raise InputError(str(error)) from None
    except ProblemError as error:
        raise InputError(f"{path}: {error}") from None
    except FileNotFoundError:
        raise InputError(f"{path}: no such file") from None
    except OSError as error:
        raise InputError(os_sentence(error, path)) from None
    except MemoryError:
        raise InputError(f"{path}: the problem does not fit into memory") from None
