"""What the README and the docs show runs as it stands."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest
from shown_pages import check_page

import stickslip as ss
from stickslip.schemes import registry as schemes
from stickslip.solvers import registry

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(path, language="python"):
    """The fenced blocks of a page in one language."""
    fences = re.findall(r"^```([^\n]*)\n(.*?)^```$", path.read_text(), re.DOTALL | re.MULTILINE)
    return [text for name, text in fences if name == language]


def test_the_code_of_the_readme_prints_what_is_shown(capsys):
    page, names = ROOT / "README.md", {}
    for code in blocks(page):
        exec(compile(code, page.name, "exec"), names)
    assert names["solution"].ok
    shown = "".join(re.findall(r"```\n((?:auto: SOLVED|certified).*?)```", page.read_text(), re.DOTALL))
    without_time = re.compile(r"  time .*\n")
    assert without_time.sub("", capsys.readouterr().out) == without_time.sub("", shown)
    assert len(page.read_text().splitlines()) <= 150


def test_the_code_of_the_start_prints_what_is_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = check_page("start.md")
    assert names["solution"].ok
    assert names["jammed"].status.name == "INFEASIBLE"
    assert names["run"].ok.all()
    assert names["boxes"].ok.all()
    assert "<html" in (tmp_path / "dominoes.html").read_text()[:2000].lower()
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("energy.svg", "cones.png"))


def test_start_begins_with_five_lines_and_choose_with_ten_sentences():
    first = blocks(ROOT / "docs" / "start.md")[0]
    assert len([line for line in first.splitlines() if line.strip()]) == 5
    top = (ROOT / "docs" / "choose.md").read_text().split("\n## ")[0]
    assert len(re.findall(r"^\d+\. ", top, re.MULTILINE)) == 10


def test_every_solver_has_a_line_in_choose():
    shown = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs" / "choose.md").read_text(), re.MULTILINE)
    assert sorted(shown) == registry.names()


def test_the_factorisations_of_the_docs():
    names = check_page("linalg.md")
    assert names["signed"].residual < 1e-10
    M = names["problem"].M.sparse + names["H"].sparse(50) @ names["H"].sparse(50).T
    np.testing.assert_allclose(M @ names["v"], names["problem"].f, atol=1e-12)


def test_the_runs_of_the_docs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = check_page("runs.md")
    angle = names["live"].joint("knee").position
    assert 4000.0 * angle == pytest.approx(-0.5 * 98.1 * np.cos(angle), rel=1e-2)
    assert (names["more"].complete, len(names["more"])) == (True, 801)
    assert names["record"].t == 0.5


def test_the_simulation_of_the_docs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = check_page("simulate.md")
    run, later = names["run"], names["later"]
    np.testing.assert_allclose(run.energy - run.contact_work, run.energy[0], rtol=1e-12)
    np.testing.assert_array_equal(later.q[0], run.q[-1])
    np.testing.assert_array_equal(names["same"].q, run.q[:1001])
    shown = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "docs" / "simulate.md").read_text(), re.MULTILINE)
    assert sorted(shown) == schemes.names()


def test_the_bodies_of_the_docs_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = check_page("bodies.md")
    run, door = names["run"], names["door"]
    assert run.ok.all()
    assert (ss.read_trajectory("boxes.h5").q == run.q).all()
    assert door.ok.all()
    assert -0.1 - 1e-6 <= door.sensors["angle"][:, 0].min() <= door.sensors["angle"][:, 0].max() <= 0.5 + 1e-6
    felt = names["felt"]
    np.testing.assert_allclose([felt[100], felt[-1], names["angle"]], [0.0, 9.81, 0.5], atol=1e-2)
    assert felt.max() > 500.0


def test_the_equations_of_the_docs_run():
    names = check_page("equations.md")
    assert names["run"].ok.all()
    assert names["system"].check_jacobians(0.0, [0.7], [0.2]) < 1e-6


def test_the_solver_and_the_campaign_of_the_bench_docs(tmp_path, monkeypatch, capsys):
    """docs/bench.md: a solver of one's own, and a campaign from Python, each as a file of its own."""
    monkeypatch.chdir(tmp_path)
    own, campaign = blocks(ROOT / "docs" / "bench.md")
    names: dict = {}
    exec(compile(own, "mine.py", "exec"), names)
    problem = ss.ContactProblem(np.eye(6), [-1.0, 0.2, 0.0, -0.5, 0.0, 0.9], ss.coulomb([0.5, 0.3]))
    r = names["Mine"](tolerance=1e-10).solve(problem)
    np.testing.assert_allclose(r, ss.solve(problem, tolerance=1e-12).r, atol=1e-9)
    names = {}
    exec(compile(campaign, "campaign.py", "exec"), names)
    assert capsys.readouterr().out == "16 True\n"
    assert (tmp_path / "few.h5").exists()


def test_the_commands_of_the_bench_docs_parse():
    from stickslip.cli.main import build

    app = build()
    page = ROOT / "docs" / "bench.md"
    text = page.read_text()
    lines = re.findall(r"^stickslip .*", text.replace("\\\n", " "), re.MULTILINE)
    assert len(lines) > 4
    lines += [code.replace("--every K", "--every 5") for code in re.findall(r"`(stickslip [^`]+)`", text)]
    for line in lines:
        words = shlex.split(line, comments=True)
        if len(words) > 3:  # a command, not the bare name of one
            app.parse_args(words[1:], exit_on_error=False, print_error=False)
    known = {
        name
        for verb in ("record", "collect", "run", "report")
        for argument in app["bench"][verb].assemble_argument_collection()
        for name in argument.names
    }
    assert set(re.findall(r"`(--[a-z-]+)", text)) <= known


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_shown_exist(page):
    from stickslip.cli.main import VERBS

    for text in blocks(page, "") + re.findall(r"`([^`\n]+)`", page.read_text()):
        for verb in re.findall(r"^(?:\$ )?stickslip ([a-z-]+)", text, re.MULTILINE):
            assert verb in (*VERBS, "bench"), f"{page.name}: stickslip {verb}"


def test_the_derivatives_of_the_docs():
    pytest.importorskip("torch", reason="the extra torch is not installed")
    names = check_page("derivatives.md")
    assert names["g"].kept <= 5
    assert names["g"].gradient["mu"].shape == (1,)
    assert ss.mechanics.Parameters.of(names["slippery"]).size.tolist() == [0.11]
    blow = names["d"]
    np.testing.assert_allclose(blow.jacobian("v", "e"), [[3.0]], rtol=1e-9)
    np.testing.assert_allclose(blow.jacobian("r", "mass")[0], blow.step.r[0] / 2.0, rtol=1e-9)
    assert names["rebound"].exists


def test_the_bifurcations_of_the_docs():
    names = check_page("cam.md")
    assert names["found"].repeats(1e-2)[0] == 1
    assert len(names["section"].panels) == 1
