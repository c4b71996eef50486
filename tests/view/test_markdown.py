"""A page as Markdown: tables that parse, text that stays text, figures beside it."""

import re
from xml.etree import ElementTree

import pytest
from pages import HOSTILE, SOLVERS, page

from stickslip.exhibits import Page, Section, Table
from stickslip.view.markdown import markdown
from stickslip.view.text import line


def cells(row):
    """The cells of a row of a table, as GitHub splits and unescapes them."""
    assert row.startswith("|")
    assert row.endswith("|")
    parts = re.split(r"(?<!\\)(?:\\\\)*\|", row[1:-1])
    return [re.sub(r"\\(.)", r"\1", part.strip()) for part in parts]


def tables(text):
    """The tables of a text, row by row."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    return [[cells(row) for row in each.splitlines()] for each in found]


def test_tables_parse():
    text = markdown(page(), folded=True)
    small, runs = tables(text)
    assert small == [
        ["solver", "solved", "time [s]", "exact"],
        [":---", "---:", "---:", ":---"],
        ["nsgs", "3", "0.25", "yes"],
    ]
    assert len(runs) == 2 + len(HOSTILE) * len(SOLVERS)
    assert {len(row) for row in runs} == {5}
    assert [row[0] for row in runs[2 :: len(SOLVERS)]] == [line(name) for name in HOSTILE]


def test_text_stays_text():
    text = markdown(page(), folded=True)
    assert not re.search(
        r"(?<!\\)<(?!details>|summary>|/details>|/summary>|/code|/pre)", text.split("````")[0]
    )
    assert "\x1b" not in text
    assert text.count("````") == 2, "a fence longer than those inside"


def test_folded_parts_are_left_out_saying_so():
    short = markdown(page())
    assert len(tables(short)) == 1
    assert "Left out here (21 rows)" in short
    assert "<details>" not in short


def test_long_tables_are_cut_saying_so():
    text = markdown(
        Page("t", [], [Section("s", tables=[Table("n", ("n",), [(k,) for k in range(100)])])]), rows=30
    )
    (rows,) = tables(text)
    assert len(rows) == 32
    assert "70 of 100 rows are left out here" in text


def test_figures_are_files_beside_it(tmp_path):
    folder = tmp_path / "my figures"
    text = markdown(page(), folder, link="my figures/")
    assert re.findall(r"\]\((.*?)\)", text) == ["my%20figures/figure-1.svg", "my%20figures/figure-2.svg"]
    first = (folder / "figure-1.svg").read_bytes()
    ElementTree.fromstring(first)
    assert markdown(page(), folder, link="my figures/") == text
    assert (folder / "figure-1.svg").read_bytes() == first
    assert "Figure left out here: Both" in markdown(page())


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("time [s] of a_b", "time [s] of a\\_b"),
        ("[g](h) and [i][j]", "[g\\](h) and [i\\][j]"),
        ("1. first", "1\\. first"),
        ("- item", "\\- item"),
        ("## heading", "\\## heading"),
        ("---", "\\---"),
        ("-0.5", "-0.5"),
        ("12.5 %", "12.5 %"),
    ],
)
def test_what_markdown_would_take_for_its_own(text, written):
    assert markdown(Page("t", [], [Section("s", [text])])) == f"# t\n\n## s\n\n{written}\n"
