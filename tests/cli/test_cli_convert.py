"""`stickslip convert`: nothing lost unsaid, nothing overwritten unasked."""

import numpy as np
import pytest

from stickslip import files
from stickslip.problem.box import lcp
from stickslip.problem.contact import ContactProblem, GlobalProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.problem.fingerprint import fingerprint
from stickslip.problem.jacobian import contact_blocks
from stickslip.problem.residuals import judge
from stickslip.problem.sets import free, torsional


@pytest.mark.parametrize("storage", [None, "dense", "block", "sparse"])
def test_there_and_back_is_the_same_problem(run, local_file, tmp_path, storage):
    text, back = tmp_path / "text.dat", tmp_path / "back.hdf5"
    options = () if storage is None else ("--storage", storage)
    result = run("convert", local_file, text, *options)
    assert (result.code, result.err, result.out) == (0, "", f"wrote {text}\n")
    assert run("convert", text, back, "--kind", "friction").code == 0
    assert fingerprint(files.read(back)) == fingerprint(files.read(local_file))


def test_what_text_cannot_hold_is_dropped_and_said(run, record_file, tmp_path):
    result = run("convert", record_file, tmp_path / "text.dat")
    assert result.code == 0
    result.says("text.dat", "stored solution", "2 stored guesses", "dropped")
    assert fingerprint(files.read(tmp_path / "text.dat")) == fingerprint(files.read(record_file))


def test_hdf5_keeps_everything(run, record_file, tmp_path):
    result = run("convert", record_file, tmp_path / "copy.h5")
    assert (result.code, result.err) == (0, "")
    before, after = files.read_record(record_file), files.read_record(tmp_path / "copy.h5")
    assert after.info == before.info
    assert len(after.guesses) == 2
    assert np.array_equal(after.solution.r, before.solution.r)


def test_reduce(run, global_file, tmp_path):
    solved, local = tmp_path / "solved.hdf5", tmp_path / "reduced.hdf5"
    run("solve", global_file, "--out", solved)
    result = run("convert", solved, local, "--reduce")
    assert result.code == 0
    result.says("velocities v", "dropped")
    record = files.read_record(local)
    assert isinstance(record.problem, ContactProblem)
    wanted = reduce_to_contacts(files.read(global_file)).problem
    assert np.allclose(record.problem.W.dense(), wanted.W.dense())
    assert judge(record.problem, record.solution.r).solved(1e-7)
    assert record.solution.v is None


def test_reduce_keeps_joints_of_bodies_as_blocks(run, tmp_path):
    rng, K = np.random.default_rng(3), torsional([0.5], [0.1])
    rows, joint = rng.normal(size=(4, 2, 6)), free(2)
    G = contact_blocks([[0, 1]], rng.normal(size=(2, 2, 6)), joint)
    H = contact_blocks([[0, -1]], rows, K)
    problem = GlobalProblem(np.stack([np.eye(6)] * 2), rng.normal(size=12), H, np.zeros(4), K, G, np.zeros(2))
    bodies, solved, local = (tmp_path / f"{name}.hdf5" for name in ("bodies", "solved", "local"))
    files.write(bodies, problem)
    assert run("solve", bodies, "--out", solved).code == 0
    assert run("convert", solved, local, "--reduce").code == 0
    record = files.read_record(local)
    assert record.problem.K.census == {"free": 1, "torsional": 1}
    assert judge(record.problem, record.solution.r).solved(1e-7)


def test_refusals(run, local_file, global_file, tmp_path):
    run("convert", local_file, local_file).refuses("overwrite")
    run("convert", local_file, tmp_path / "x.txt").refuses("x.txt", ".hdf5", ".dat")
    run("convert", local_file, tmp_path / "nowhere" / "x.dat").refuses("nowhere")
    run("convert", local_file, tmp_path).refuses(str(tmp_path))
    run("convert", tmp_path / "missing.dat", tmp_path / "x.dat").refuses("no such file")
    run("convert", local_file, tmp_path / "x.hdf5", "--reduce").refuses("--reduce", "global")
    run("convert", local_file, tmp_path / "x.hdf5", "--storage", "dense").refuses("--storage")
    run("convert", local_file, tmp_path / "x.dat", "--storage", "cloud").refuses("cloud", "dense")
    run("convert", global_file, tmp_path / "x.dat", "--kind", "rolling").refuses("rolling")
    assert not (tmp_path / "x.dat").exists()
    assert not (tmp_path / "x.hdf5").exists()


def test_hard_links_are_the_same_file(run, local_file, tmp_path):
    twin = tmp_path / "twin.hdf5"
    twin.hardlink_to(local_file)
    before = local_file.read_bytes()
    run("convert", local_file, twin).refuses("overwrite")
    assert local_file.read_bytes() == before


def test_box_problems_go_through_text(run, tmp_path):
    first, second = tmp_path / "a_lcp.dat", tmp_path / "b_lcp.dat"
    files.write(first, lcp(np.eye(3), -np.ones(3)))
    assert run("convert", first, second, "--storage", "sparse", "--kind", "lcp").code == 0
    assert fingerprint(files.read(second, "lcp")) == fingerprint(files.read(first, "lcp"))
