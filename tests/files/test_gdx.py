"""Problems in GDX and the models of GAMS: nothing is lost on the way, and the models say what they should.

What needs GAMS's library is skipped where gamspy is not installed; models are run where GAMS itself is.
"""

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.files import (
    FormatError,
    ProblemRecord,
    StoredSolution,
    read_gdx_answer,
    read_record,
    write_gams,
)
from stickslip.files.gams_models import MODELS, model_text

HAS_GDX = find_spec("gamspy_base") is not None and find_spec("gams") is not None
gdx = pytest.mark.skipif(not HAS_GDX, reason='needs pip install "stickslip[gams]"')
H = 1e-3


def box(angle: float = 25.0, mu: float = 0.3) -> ss.GlobalProblem:
    """A box of 1 kg on four corners on a slope [deg]."""
    return ss.scenes.make("incline-problem", angle=angle, mu=mu, h=H)


def numbers(problem: ss.GlobalProblem) -> tuple[np.ndarray, ...]:
    return (
        problem.M.sparse.toarray(), problem.H_sparse().toarray(), problem.f, problem.u_bias,
        problem.K.coefficient,
    )  # fmt: skip


def moving() -> ss.GlobalProblem:
    """With gaps, and ground that moves sideways."""
    plain = box()
    bias = np.random.default_rng(0).normal(size=plain.size)
    return ss.GlobalProblem(plain.M, plain.f, plain.H, bias, plain.K)


@gdx
@pytest.mark.parametrize("problem", [box(), moving()])
def test_a_problem_and_its_answer_come_back_bit_for_bit(problem, tmp_path):
    answer = ss.solve(problem)
    stored = StoredSolution(answer.r, answer.u, answer.v)
    ss.write(tmp_path / "data.gdx", ProblemRecord(problem, {"h": repr(H)}, stored))
    back = read_record(tmp_path / "data.gdx")
    for mine, read in zip(numbers(problem), numbers(back.problem), strict=True):
        np.testing.assert_array_equal(read, mine)
    np.testing.assert_array_equal(back.solution.r, answer.r)
    np.testing.assert_array_equal(back.solution.v, answer.v)
    assert float(back.info["h"]) == H
    ss.write(tmp_path / "without.gdx", problem)
    assert read_record(tmp_path / "without.gdx").solution is None


@gdx
def test_the_data_are_those_of_the_printed_models(tmp_path):
    """D is minus H, and Nshur and Bshur are W and minus the free velocities."""
    import gams.transfer
    import gamspy_base

    problem = box()
    ss.write(tmp_path / "data.gdx", problem)
    found = gams.transfer.Container(str(tmp_path / "data.gdx"), system_directory=gamspy_base.directory)
    reduced = ss.problem.reduce_to_contacts(problem).problem
    W = np.array([reduced.W.apply(column, np.zeros(12)) for column in np.eye(12)])
    np.testing.assert_allclose(found["Nshur"].toDense(), W, atol=1e-12)
    np.testing.assert_allclose(found["Bshur"].toDense(), -reduced.u_free, atol=1e-15)
    np.testing.assert_array_equal(found["D_n"].toDense(), -problem.H_sparse().toarray()[:, 0::3])
    np.testing.assert_allclose(
        found["M"].toDense() @ found["v_l"].toDense(), found["p_ext"].toDense(), atol=1e-15
    )


@gdx
def test_the_command_line_converts_there_and_back(tmp_path, capsys):
    from stickslip.cli.main import main

    ss.write(tmp_path / "a.hdf5", box())
    assert main(["convert", str(tmp_path / "a.hdf5"), str(tmp_path / "b.gdx")]) == 0
    assert main(["convert", str(tmp_path / "b.gdx"), str(tmp_path / "c.hdf5")]) == 0
    assert main(["solve", str(tmp_path / "b.gdx")]) == 0
    assert "SOLVED" in capsys.readouterr().out
    for mine, read in zip(numbers(box()), numbers(ss.read(tmp_path / "c.hdf5")), strict=True):
        np.testing.assert_array_equal(read, mine)


@gdx
def test_what_the_models_have_no_place_for_is_refused(tmp_path):
    contact = ss.problem.reduce_to_contacts(box()).problem
    with pytest.raises(FormatError, match="expected a GlobalProblem without G"):
        ss.write(tmp_path / "a.gdx", contact)
    plain = ss.GlobalProblem(np.eye(2), [1.0, 0.0], np.eye(2), [0.0, 0.0], ss.problem.nonnegative(2))
    with pytest.raises(FormatError, match="Coulomb contacts in space alone"):
        ss.write(tmp_path / "a.gdx", plain)
    (tmp_path / "bad.gdx").write_bytes(b"\x07\x00GAMSGDX" + bytes(200))
    with pytest.raises(FormatError, match=r"expected a (symbol dofs|GDX file)"):
        ss.read(tmp_path / "bad.gdx")
    assert list(tmp_path.iterdir()) == [tmp_path / "bad.gdx"]


def test_without_gamspy_the_error_names_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gams.transfer", None)
    with pytest.raises(ImportError, match=r"stickslip\[gams\]"):
        ss.write(tmp_path / "a.gdx", box())


@pytest.mark.parametrize("model", MODELS)
def test_models_have_the_errors_of_the_printed_ones_mended(model):
    text = model_text(model, "other.gdx")
    assert "$gdxin other.gdx" in text
    assert "{" not in text
    assert "g_0" not in text
    assert ("+ mu(contacts)*s(contacts)" in text) == (model == "primal")
    assert ("put empinfo 'equilibrium'" in text) == (model == "eom")
    assert ("sqr(1e-9)" in model_text(model, law="relaxed")) == (model == "eom")
    with pytest.raises(ValueError, match="law is 'coulomb'"):
        model_text(model, law="coulomb")


ENDED, NO_LICENCE = 3, 7
"""Exit statuses of GAMS: a model ended itself because nothing was solved, and it may not be solved."""


def run_gams(folder: Path, model: str, *more: str) -> int:
    """The exit status of GAMS; a test is skipped where it has no licence or no solver for a model."""
    import gamspy_base

    done = subprocess.run(
        [str(Path(gamspy_base.directory) / "gams"), f"{model}.gms", "lo=2", *more], cwd=folder, check=False,
        capture_output=True, env={**os.environ, "HOME": str(folder)},
    )  # fmt: skip
    if done.returncode in (ENDED, NO_LICENCE):
        pytest.skip(f"GAMS does not solve {model} {' '.join(more)} here: exit status {done.returncode}")
    return done.returncode


@gdx
@pytest.mark.parametrize(
    ("model", "law", "more"),
    [
        ("dual", "relaxed", ()),
        ("primal", "exact", ()),
        ("eom", "exact", ("emp=reshop",)),
        ("eom", "relaxed", ("emp=reshop",)),
    ],
)
@pytest.mark.parametrize(("angle", "mu"), [(0.0, 1.0), (25.0, 1.0), (25.0, 0.3)])
def test_gams_finds_the_forces_in_closed_form(model, law, more, angle, mu, tmp_path):
    """Of the whole box, N and T; GAMS is asked in impulses of 1e-3 N s, which costs it digits."""
    problem, slope, g = box(angle, mu), np.radians(angle), 9.81
    write_gams(tmp_path, problem, law)
    assert run_gams(tmp_path, model, *more) == 0
    found = read_gdx_answer(tmp_path / "soln.gdx", problem)
    N, T = g * np.cos(slope), min(g * np.sin(slope), mu * g * np.cos(slope))
    if law == "relaxed" and np.tan(slope) > mu:
        N = g * (np.cos(slope) + mu * np.sin(slope)) / (1.0 + mu**2)
        T = mu * N
    total = found.r.reshape(-1, 3).sum(axis=0) / H
    np.testing.assert_allclose([total[0], np.hypot(*total[1:])], [N, T], atol=3e-2)


def test_data_as_text_need_no_gamspy_and_come_back_bit_for_bit(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gams.transfer", None)
    problem = moving()
    files = write_gams(tmp_path, problem, data="text")
    assert [file.name for file in files][:2] == ["data.inc", "sets-data.inc"]
    sizes = dict(re.findall(r"set (\w+) / 1\*(\d+) /;", files[1].read_text()))
    assert {name: int(count) for name, count in sizes.items()} == {
        "dofs": problem.M.size, "contacts": len(problem.K), "constraints": problem.size,
    }  # fmt: skip
    M, D = np.zeros((problem.M.size,) * 2), np.zeros((problem.M.size, problem.size))
    number = re.compile(r"(M|D)\('(\d+)','(\d+)'\) = (.*);")
    for name, i, j, value in number.findall(files[0].read_text()):
        {"M": M, "D": D}[name][int(i) - 1, int(j) - 1] = float(value)
    np.testing.assert_array_equal(M, problem.M.sparse.toarray())
    np.testing.assert_array_equal(-D, problem.H_sparse().toarray())
    for model in files[2:]:
        text = model.read_text()
        declared = set(
            re.findall(r"^  (\w+)(?:\([\w,]+\))? +\"", text.split(";\n$include data.inc")[0], re.M)
        )
        assigned = set(re.findall(r"^(\w+)(?:\([\w,]+\))? = ", files[0].read_text(), re.M))
        assert declared == assigned
        assert (
            text.index("$include sets-data.inc") < text.index("parameter") < text.index("$include data.inc")
        )
        assert "gdxin" not in text
