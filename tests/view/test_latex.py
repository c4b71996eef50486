"""LaTeX: text that is set as it reads, figures with all their points, documents that are whole."""

import csv
import io
import re
import shutil
import stat
import subprocess

import numpy as np
import pytest

from stickslip.exhibits import Curve, Figure, HeatMap, Page, Panel, Section, Table
from stickslip.view.figures import draw, figure_csv, palette, shades
from stickslip.view.latex import TeXError, latex, write_pdf
from stickslip.view.latex_text import latex_text
from stickslip.view.pgf import figure_pgf

X = np.arange(1.0, 6.0)
FALLING = Curve("falling_1 & 50 %", X, np.array([1.0, 1e-3, 0.0, np.nan, 1e-9]))
FIGURE = Figure(
    "Errors",
    [
        Panel("errors of μ", "iteration", "error [m/s²]", [FALLING], log_y=True, level=1e-6),
        Panel("shares", "τ", "share", [Curve("a", X, X / 5.0, "--"), FALLING], log_x=True, steps=True),
        Panel("points", "n", "time [s]", [Curve("a", X, X, "o")], y_range=(0.0, 6.0)),
    ],
)
TABLE = Table("Runs of a_b", ["solver", "time [s]"], [("nsgs:x=1_0", 1.5), ("a\\b{c}", 2.0)], "10 % & more")
PAGE = Page(
    "50 % of $problems", ["One & two.", "#3_4"],
    [
        Section("Profiles", ["Text ~ here."], [TABLE], [FIGURE], code="stickslip run a_b --x 1\n\n% end"),
        Section("Folded", ["hidden"], [TABLE], folded=True),
    ],
)  # fmt: skip


def without_escapes(text):
    """LaTeX without comments and escaped characters, to count what is left."""
    return re.sub(r"(?<!\\)%.*", "", re.sub(r"\\[\\{}$&#%_]", "", text))


def is_balanced(text):
    bare, depth = without_escapes(text), 0
    for character in bare:
        depth += (character == "{") - (character == "}")
        assert depth >= 0
    opened = re.findall(r"\\begin\{(\w+)\}", bare)
    assert sorted(opened) == sorted(re.findall(r"\\end\{(\w+)\}", bare))
    return depth == 0 and bare.count("$") % 2 == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain words", "plain words"),
        ("50 % of a_b & $c {d} #1", r"50 \% of a\_b \& \$c \{d\} \#1"),
        ("a\\b~c^d|g", r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d\textbar{}g"),
        ("--x", "{-}{-}x"),
        ("μ ω Ω θ₁ m²", r"$\mu$ $\omega$ $\Omega$ $\theta$$_{1}$ m$^{2}$"),
        ("ẋ ω̇", r"$\dot{x}$ $\dot{\omega}$"),
        ("10⁻⁸ · 2 → ∞", r"10$^{-}$$^{8}$ $\cdot$ 2 $\rightarrow$ $\infty$"),
        ("Gauß, é", "Gauß, é"),
        ("\u4e2d", "U+4E2D"),
        ("two\nlines", "two lines"),
    ],
)  # fmt: skip
def test_text_is_set_as_it_reads(text, shown):
    assert latex_text(text) == shown


def test_a_figure_has_all_its_points_and_balanced_text():
    text = figure_pgf(FIGURE, palette([FIGURE])[0], shades)
    assert is_balanced(text)
    assert text.count(r"\nextgroupplot") == 3
    assert text.count(r"\addplot[") == 4
    assert text.count(r"\addlegendentry") == 2
    assert "ymode=log" in text
    assert "xmode=log" in text
    assert "const plot" in text
    assert "only marks" in text
    assert "ymin=0, ymax=6" in text
    first = text[text.index("x y") : text.index("};")]
    rows = [line.split()[:2] for line in first.splitlines()[1:]]
    found = np.array([[float(cell) for cell in row] for row in rows if len(row) == 2])
    np.testing.assert_allclose(found[:, 0], X)
    np.testing.assert_allclose(found[:, 1], [1.0, 1e-3, 1e-20, np.nan, 1e-9])  # 0 has no logarithm
    assert figure_pgf(FIGURE, palette([FIGURE])[0], shades) == text


def test_a_heat_map_is_a_rectangle_for_each_number_and_a_scale():
    edges = np.array([0.0, 1.0, 2.0])
    heat = HeatMap(edges, edges, np.array([[0.0, 0.3], [np.nan, 1.0]]), "runout [m]")
    figure = Figure("map", [Panel("p", "x", "y", [], heat=heat)])
    text = figure_pgf(figure, palette([figure])[0], shades)
    assert is_balanced(text)
    levels, colours = shades(heat)
    assert levels[0] <= 0.0 < 1.0 <= levels[-1]
    assert (len(levels), len(set(colours))) == (len(colours) + 1, len(colours))
    cells = re.findall(
        r"fill=\{rgb,255:([^}]*)\}\] \(axis cs:(\d),(\d)\) rectangle \(axis cs:(\d),(\d)\)", text
    )
    assert [cell[1:] for cell in cells] == [(*"0011",), (*"1021",), (*"1122",)]
    assert len({cell[0] for cell in cells}) == 3
    assert text.count("rectangle (rel axis cs:") == len(colours)
    assert "xmin=0, xmax=2, ymin=0, ymax=2" in text
    assert "runout [m]" in text


def test_the_data_of_a_figure_are_read_back_bit_for_bit(tmp_path):
    rows = list(csv.DictReader(io.StringIO(figure_csv(FIGURE), newline="")))
    assert len(rows) == 20
    assert {row["panel"] for row in rows} == {"errors of μ", "shares", "points"}
    found = [float(row["y"]) for row in rows if row["panel"] == "shares" and row["curve"] == "a"]
    assert found == (X / 5.0).tolist()
    draw(FIGURE, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_bytes().decode() == figure_csv(FIGURE)
    draw(FIGURE, tmp_path / "x.pgf")
    assert (tmp_path / "x.pgf").read_text().startswith("% Errors")


def test_a_document_is_whole_and_reads_its_figures(tmp_path):
    text = latex(PAGE, tmp_path / "figures", "figures/")
    assert text.startswith(r"\documentclass")
    assert text.rstrip().endswith(r"\end{document}")
    assert is_balanced(text)
    assert r"\input{figures/figure-1.pgf}" in text
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == ["figure-1.csv", "figure-1.pgf"]
    assert r"nsgs:x=1\_0 & 1.5 \\" in text
    assert "hidden" not in text
    assert "Figure left out here: Errors" in latex(PAGE)
    assert latex(PAGE, tmp_path / "figures", "figures/") == text


def test_without_a_tex_one_sentence_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TeXError, match=r"x\.pdf: .*pdflatex, lualatex, xelatex.*write x\.tex"):
        write_pdf(PAGE, tmp_path / "x.pdf")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("works", [True, False])
def test_a_tex_that_is_installed_makes_the_pdf_or_says_why_not(tmp_path, monkeypatch, works):
    tex = tmp_path / "bin" / "pdflatex"
    tex.parent.mkdir()
    tex.write_text(
        "#!/bin/sh\nwhile [ $# -gt 1 ]; do shift; done\ncp $1 report.pdf\n" if works
        else "#!/bin/sh\necho '! Undefined control sequence.'\nexit 1\n"
    )  # fmt: skip
    tex.chmod(tex.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tex.parent}:/usr/bin:/bin")
    if works:
        write_pdf(PAGE, tmp_path / "x.pdf")
        assert (tmp_path / "x.pdf").read_text() == latex(PAGE, tmp_path / "f", "figures/")
    else:
        with pytest.raises(TeXError, match="Undefined control sequence"):
            write_pdf(PAGE, tmp_path / "x.pdf")
        assert not (tmp_path / "x.pdf").exists()


LONG = Table("Long", ["k", "text"], [(k, "words " * 8) for k in range(80)], "")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_pdflatex_typesets_tables_within_the_page_and_the_same_bytes_each_time(tmp_path):
    wide = Table("Wide", [f"column {k}" for k in range(30)], [tuple(range(30))], "")
    page = Page("A report", ["One."], [Section("Tables", ["Text."], [TABLE, wide, LONG], [FIGURE])])
    (tmp_path / "r.tex").write_text(latex(page, tmp_path / "figures", "figures/"), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "r.tex"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert "Overfull" not in said
    for name in ("a.pdf", "b.pdf"):
        write_pdf(page, tmp_path / name)
    assert (tmp_path / "a.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "a.pdf").read_bytes() == (tmp_path / "b.pdf").read_bytes()
