"""A page as one HTML file: well-formed, closed to the world, and true to what it was given."""

import base64
import hashlib
import re
from collections import Counter
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest
from pages import HOSTILE, SOLVERS, errors, page, profile

from stickslip.exhibits import Curve, Figure, Page, Panel, Section, Table
from stickslip.view.figures import PALETTE, draw, palette
from stickslip.view.page import page_html, write_page
from stickslip.view.text import line


class Reader(HTMLParser):
    """What a browser's parser makes of a page, in short."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.text = Counter(), [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags[tag] += 1
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_data(self, data):
        self.text.append(data)

    def values(self, name):
        return [value for _, key, value in self.attributes if key == name]


@pytest.fixture(scope="module")
def html():
    return page_html(page())


@pytest.fixture(scope="module")
def reader(html):
    return Reader(html)


def script_of(html):
    found = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(found) == 1
    return found[0]


def test_it_is_well_formed(html):
    assert html.startswith("<!DOCTYPE html>\n")
    whole = html.replace(script_of(html), "").removeprefix("<!DOCTYPE html>")
    root = ElementTree.fromstring(whole)
    assert root.get("lang") == "en"
    assert root.findtext("head/title") == "Three solvers & <seven> problems"
    assert [h.text for h in root.iter("h1")] == ["Three solvers & <seven> problems"]


def test_nothing_comes_from_outside(html, reader):
    assert not re.search(r"https?:|@import|url\((?!#)|//[a-z]|javascript:", html.replace(script_of(html), ""))
    assert not set(reader.tags) & {"img", "link", "iframe", "object", "embed", "base", "form"}
    assert reader.tags["script"] == 1
    assert not [name for _, name, _ in reader.attributes if name == "src" or name.startswith("on")]
    assert all(value.startswith("#") for value in reader.values("href"))


def test_no_script_can_run_but_its_own(html, reader):
    policy = next(value for value in reader.values("content") if "default-src" in value)
    own = base64.b64encode(hashlib.sha256(script_of(html).encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{own}'"


def test_what_strangers_wrote_is_text(reader):
    shown = "".join(reader.text)
    for name in HOSTILE:
        assert line(name) in shown
    assert "bell\\x07 \\x1b[31mred\\u202etfel\\ud800 two lines" in shown
    assert "</code></pre>" in shown


def test_ids_are_unique_and_links_lead_somewhere(html, reader):
    ids = reader.values("id")
    assert len(ids) == len(set(ids))
    wanted = {value.removeprefix("#") for value in reader.values("href")}
    wanted |= set(re.findall(r"url\(#([^)]*)\)", html)) | set(reader.values("aria-labelledby"))
    assert wanted <= set(ids)
    assert {"s1", "s2", "s3", "s4"} <= wanted


def test_the_same_page_gives_the_same_bytes(html, tmp_path):
    write_page(page(), tmp_path / "x.html")
    assert (tmp_path / "x.html").read_bytes() == html.encode()


def test_tables_have_every_cell_and_say_which_columns_are_numbers(html, reader):
    rows = 1 + len(HOSTILE) * len(SOLVERS)
    assert reader.tags["td"] == 4 + 5 * (rows - 1)
    assert reader.values("scope") == ["col"] * 9
    assert '<table class="sortable n2 n3"' in html
    assert '<table class="sortable n3 n4"' in html
    assert html.count('<td class="gap">not run</td>') == html.count('<td class="gap">–</td>') == len(SOLVERS)
    assert 'class="table long"' in html


def test_figures_keep_text_as_text_and_take_the_colours_of_the_page(html, reader):
    assert reader.tags["svg"] == 3
    assert reader.tags["text"] > 20
    drawn = "".join(re.findall(r"<svg.*?</svg>", html, re.DOTALL))
    assert "var(--c0)" in drawn
    assert "#000000" not in drawn
    assert PALETTE[0] not in drawn
    assert "DejaVu" not in drawn
    assert ">10⁻" in drawn
    assert "<title" not in drawn


def test_empty_things_are_shown_too():
    nothing = Section("nothing", [], [Table("none", ("a", "b"), [])], [Figure("no panels", [])])
    bare = Panel("", "x", "y", [])
    gone = Panel("gaps", "x", "y", [Curve("c", np.array([1.0]), np.array([np.nan]))], log_x=True, log_y=True)
    text = page_html(Page("", [], [nothing, Section("bare", figures=[Figure("f", [bare, gone])])]))
    assert Reader(text).tags["svg"] == 2


def test_curves_keep_their_colours_across_figures():
    figures = [Figure("a", [errors()]), Figure("b", [profile()]), Figure("c", [errors("other")])]
    first, second, third = palette(figures)
    assert first["nsgs"] == second["nsgs"] == third["nsgs"]
    for each in (first, second, third):
        assert len(set(each.values())) == len(each)
    many = [Curve(f"solver {k}", np.ones(1), np.ones(1)) for k in range(12)]
    assert len(set(palette([Figure("d", [Panel("", "", "", many)])])[0].values())) == 12


def test_a_figure_of_hostile_names_is_drawn_as_a_file(tmp_path):
    x = np.array([1.0, 2.0])
    curves = [Curve(name, x, x) for name in (*HOSTILE, "long " * 30)]
    draw(
        Figure(HOSTILE[3], [Panel(HOSTILE[0], HOSTILE[4], HOSTILE[3], curves, log_x=True)]),
        tmp_path / "x.svg",
    )
    ElementTree.parse(tmp_path / "x.svg")


def test_every_colour_of_the_palette_is_in_the_style_sheet_in_light_and_in_dark(html):
    for k in range(len(PALETTE)):
        assert html.count(f"  --c{k}: ") + html.count(f"; --c{k}: ") == 2
        assert f".c{k} {{ --c: var(--c{k}); }}" in html
    assert f"--c{len(PALETTE)}" not in html
