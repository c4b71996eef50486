"""`stickslip convert`: write a problem in another file format, storage or form."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, usable, wrote
from stickslip.cli.parameters import Flag, Kind
from stickslip.cli.places import FCLIB, check_not_itself, check_writable, load
from stickslip.cli.progress import watch

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord, StoredSolution
    from stickslip.problem.contact import ContactProblem

DATA = (".gdx",)
"""Suffixes of data files of GAMS."""
TEXT = (".dat",)
"""Suffixes of text files, which contain a problem without solution or guesses."""


def convert(
    source: Annotated[Path, Parameter(name="IN")],
    target: Annotated[Path, Parameter(name="OUT")],
    /,
    *,
    kind: Kind = None,
    storage: Literal["dense", "block", "sparse"] | None = None,
    reduce: Flag = False,
) -> int:
    """Write a problem in another format (.hdf5, .dat, .gdx), storage or form.

    Title, description, solution and guesses are kept where the target format has a
    place for them; what is dropped is reported on stderr.

    For example:
      stickslip convert pile.dat pile.hdf5
      stickslip convert pile.hdf5 pile.dat --storage block
      stickslip convert global.hdf5 local.hdf5 --reduce
      stickslip convert global.hdf5 data.gdx

    Parameters
    ----------
    source
        File to read, .hdf5, .dat or .gdx (data for GAMS, which needs stickslip[gams]).
    target
        File to write, .hdf5, .dat or .gdx; it must differ from the source.
    storage
        Storage of the matrices in a .dat file.
    reduce
        Convert a global problem to a local one, W = H' M^-1 H.
    """
    check_writable(target, (*FCLIB, *TEXT, *DATA))
    check_not_itself(source, target)
    if storage is not None and target.suffix.lower() not in TEXT:
        raise InputError(f"{target}: --storage applies to .dat files only")
    from stickslip.files import write

    with watch(f"{source} to {target}"):
        record = load(source, kind)
        dropped: list[str] = []
        if reduce:
            record, dropped = reduced(source, record)
        if target.suffix.lower() in TEXT:
            count = len(record.guesses)
            dropped = ["the stored solution"] if record.solution is not None else []
            dropped += [f"{count} stored guess{'es' if count > 1 else ''}"] if count else []
            record = replace(record, solution=None, guesses=())
        with usable(target):
            write(target, record, storage=storage)
    if dropped:
        complain(f"{target}: dropped {' and '.join(dropped)}, because the format has no place for it")
    wrote(target)
    return ExitCode.FINE


def reduced(source: Path, record: ProblemRecord) -> tuple[ProblemRecord, list[str]]:
    """Reduce a global problem to a local one; return its record and the dropped parts of the answers."""
    from stickslip.problem.contact import ContactProblem, GlobalProblem
    from stickslip.problem.convert import reduce_to_contacts

    if not isinstance(record.problem, GlobalProblem):
        raise InputError(f"{source}: --reduce applies to global problems; this is {record.problem!r}")
    with usable(source):
        local = reduce_to_contacts(record.problem).problem
    assert isinstance(local, ContactProblem)
    answers = [answer for answer in (record.solution, *record.guesses) if answer is not None]
    carried = [carry(answer, local) for answer in answers]
    dropped = ["the stored velocities v"] if any(answer.v is not None for answer in answers) else []
    if local.size == record.problem.size and any(a.lam is not None and a.lam.size for a in answers):
        dropped.append("the stored multipliers lam")
    solution = carried.pop(0) if record.solution is not None else None
    return replace(record, problem=local, solution=solution, guesses=tuple(carried)), dropped


def carry(answer: StoredSolution, local: ContactProblem) -> StoredSolution:
    """Convert an answer of a global problem to its local form, which has no velocities v.

    Joints that were not eliminated follow the contacts as free blocks; their impulses are lam.
    """
    import numpy as np

    rows = local.size - answer.r.size
    if not rows:
        return replace(answer, v=None, lam=None)
    lam = np.zeros(rows) if answer.lam is None else answer.lam
    r = np.concatenate([answer.r, lam])
    return replace(answer, r=r, u=local.velocity(r), v=None, lam=None)
