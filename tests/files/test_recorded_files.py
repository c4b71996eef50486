"""Every recorded problem is read, and comes back the same after being written in every way."""

import pytest
from recorded import FOLDER, needs_recorded, recorded

from stickslip.files import FormatError, ProblemRecord, read, read_record, write
from stickslip.files.dat import STORAGES, kind_of
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.fingerprint import fingerprint

pytestmark = needs_recorded
FILES = recorded() or [FOLDER / "none"]
LARGE = 150_000
"""Files beyond this size [bytes] are written in one storage only."""


def expected_kind(path):
    """What FORMATS.md and the folder say."""
    name, family = path.name.lower(), path.parent.name
    if family in ("lcp", "mlcp"):
        return family
    if family == "rolling":
        return "global-rolling" if "chute" in name else "rolling"
    if path.suffix == ".hdf5":
        return "friction" if "periobox" in name else "global"
    is_global = name.startswith(("gfc3d", "gfc2d")) and "condensed" not in name
    return "global" if is_global else "friction"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_read_and_written_again(path, tmp_path):
    record = read_record(path)
    mark = fingerprint(record.problem)
    assert kind_of(record.problem) == expected_kind(path)
    assert fingerprint(read(path, kind_of(record.problem))) == mark
    write(tmp_path / "x.hdf5", record)
    again = read_record(tmp_path / "x.hdf5")
    assert fingerprint(again.problem) == mark
    assert again.info == record.info
    assert (again.solution is None) == (record.solution is None)
    storages = (None,) if path.stat().st_size > LARGE else (None, *STORAGES)
    for storage in storages:
        write(tmp_path / "x.dat", ProblemRecord(record.problem, record.info), storage=storage)
        back = read_record(tmp_path / "x.dat")
        assert fingerprint(back.problem) == mark
        if set(record.info) <= {"comment"}:
            assert back.info == record.info


@pytest.mark.parametrize(
    "name",
    ["GFC3D_Example00.dat", "GFC3D_Example00_badly_scaled.dat", "GFC3D_Example1.dat", "deudeu_mlcp.dat"],
)
def test_files_whose_names_are_needed(name, tmp_path):
    """With numbers after the last one they read as two kinds; without their names they are refused."""
    source = next(path for path in FILES if path.name == name)
    copy = tmp_path / "unnamed.dat"
    copy.write_bytes(source.read_bytes())
    with pytest.raises(FormatError, match="pass kind="):
        read(copy)
    assert fingerprint(read(copy, expected_kind(source))) == fingerprint(read(source))


def test_no_contact_at_all():
    problem = read(FOLDER / "friction" / "gfc2d_granularflowonwall_00000_00117.dat")
    assert isinstance(problem, GlobalProblem)
    assert (problem.contacts, problem.size, problem.M.size) == (0, 0, 900)


def test_answers_that_were_never_written():
    """FCLIB declared r and v of these files and wrote only u: there is no answer in them."""
    record = read_record(FOLDER / "friction" / "Box_Stacks-i0122-82-5.hdf5")
    assert record.solution is None
    assert len(record.guesses) == 1
    assert not record.guesses[0].r.any()
    assert record.guesses[0].v is None
    assert read_record(FOLDER / "rolling" / "Chute-ndof-768-nc-4-3.hdf5").solution is None


def test_bytes_that_are_not_utf8():
    info = read_record(FOLDER / "friction" / "CubeH8.hdf5").info
    assert info["description"].startswith("\\xa8Rewriting in hdf5")
