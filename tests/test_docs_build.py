"""The docs as a site: built once without a warning; everything public is in it; links lead somewhere."""

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import pytest

from stickslip import scenes
from stickslip.cli.main import build
from stickslip.doors import public_modules, table
from stickslip.schemes import registry as schemes
from stickslip.solvers import registry as solvers

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"


def module(name):
    """A file of docs/, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", DOCS / f"{name}.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


links, docstrings, formulas = module("links"), module("docstrings"), module("formulas")
gallery = module("gallery_pages")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for name in ("sphinx", "myst_nb", "furo"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install 'stickslip[docs]'")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-b", "html", "-W", "--keep-going", "-n", "-q"]
    done = subprocess.run(
        [*command, "-D", "gallery_scenes=1", "-d", out / "doctrees", DOCS, out / "html"],
        capture_output=True,
        text=True,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return out / "html"


class Text(HTMLParser):
    """Anchors, addresses and words of a page."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.fetched, self.words = set(), [], []
        self.feed(path.read_text())
        self.text = " ".join("".join(self.words).split())

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.anchors.add(attrs.get("id"))
        if tag in ("script", "img", "iframe"):
            self.fetched.append(attrs.get("src") or "")
        if tag == "link":
            self.fetched.append(attrs.get("href") or "")

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def reference(site):
    return {path.stem: Text(path) for path in (site / "reference").glob("*.html")}


def test_every_page_is_there_and_in_the_contents(site):
    contents = (site / "index.html").read_text()
    for page in [*DOCS.glob("*.md"), *DOCS.glob("reference/*.rst"), *DOCS.glob("tutorials/*.ipynb")]:
        built = page.relative_to(DOCS).with_suffix(".html")
        assert (site / built).exists(), built
        if page.stem != "index":
            assert f'href="{built}"' in contents, built


def test_scenes_of_the_gallery_have_a_picture_and_a_page_that_plays(site):
    page = (DOCS / "gallery.md").read_text()
    shown = re.findall(r"^```\{play\} (\S+)$", page, re.MULTILINE)
    assert shown == list(gallery.GALLERY)
    assert set(shown) <= set(scenes.names("run"))
    for name in shown:
        assert f"](pictures/gallery/{name}.png)" in page
    assert sorted(path.stem for path in (site / "gallery").glob("*.html")) == shown[:1]
    assert f'href="gallery/{shown[0]}.html"' in (site / "gallery.html").read_text()


@pytest.mark.parametrize("door", public_modules())
def test_every_public_name_is_in_the_reference(door, reference):
    anchors = set().union(*(page.anchors for page in reference.values()))
    for name in importlib.import_module(door).__all__:
        if table("stickslip").get(name) != "stickslip":
            assert {f"{door}.{name}", f"stickslip.{name}"} & anchors, name


def test_signatures_fields_and_docstrings_are_in_the_reference(reference):
    worlds, problems = reference["worlds"], reference["problems"]
    assert {"stickslip.WorldBuilder.body", "stickslip.Sphere.radius"} <= worlds.anchors
    assert "body(" in worlds.text
    assert "shape: Shape | None = None" in worlds.text
    assert "density: float = 1000.0" in worlds.text
    assert "stickslip.ContactProblem.u_free" in problems.anchors
    assert "K* ∋ u_hat ⟂ r ∈ K." in problems.text
    assert "stickslip.Status.SOLVED" in reference["solving"].anchors
    assert "action when a step misses its tolerance: raise a SimulationFailure" in (
        reference["simulation"].text
    )


def test_what_is_registered_is_in_the_reference(reference):
    for page, registry in (("solvers", solvers), ("schemes", schemes)):
        for name in registry.names():
            assert name in reference[page].anchors
            for option in registry.entry(name).options:
                assert f"{option.name} " in reference[page].text
                assert " ".join(option.metadata["doc"].replace("`", "").split()) in reference[page].text
    for name in scenes.names():
        assert name in reference["scenes"].anchors, name
    for key in scenes.parameters("stack"):
        assert (
            f"{key} {scenes.parameters('stack')[key]!r} {scenes.meanings('stack')[key]}"
            in reference["scenes"].text
        )


def test_every_command_is_in_the_reference(reference):
    app = build()
    for name in app:
        if not name.startswith("-"):
            assert f"stickslip-{name}" in reference["commands"].anchors
    assert "stickslip-bench-run" in reference["commands"].anchors
    assert "--tolerance" in reference["commands"].text


def test_every_picture_has_an_alternative_text(site):
    for path in site.rglob("*.html"):
        for tag in re.findall(r"<img\b[^>]*>", path.read_text()):
            assert re.search(r'\balt="[^"]+"', tag), f"{path.name}: {tag}"


def test_formulas_are_mathml_and_broken_ones_are_told(site):
    page = (site / "model.html").read_text()
    assert page.count("<math") > 20
    assert not re.search(r"<script[^>]*mathjax", page, re.IGNORECASE)
    node = SimpleNamespace(astext=lambda: "\\nosuch", source="page.md")
    with pytest.raises(Exception, match=r"page\.md: the formula .* is not understood"):
        formulas._mathml(node, block=True)


def test_links_of_the_site_lead_somewhere(site):
    assert links.broken_in_site(site) == []


def test_nothing_is_fetched_when_a_page_is_read(site):
    for path in site.rglob("*.html"):
        page = Text(path)
        assert not [one for one in page.fetched if re.match(r"(?:\w+:)?//", one)], path.name
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(?:https?:)?//|@import", path.read_text()), path.name


def test_links_in_markdown_lead_somewhere():
    assert links.broken_in_markdown(links.markdown_files()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[a](gone.md)", "gone.md leads nowhere"),
        ("![a](pictures/gone.png)", "pictures/gone.png leads nowhere"),
        ('<img src="gone.png">', "gone.png leads nowhere"),
        ("[a](#no-such)", "no such anchor"),
        ("[a](https://nowhere)", "not a whole address"),
        ("[a](http://example.org/x)", "with https"),
        ("# One `two`, three\n[a](#one-two-three) [b](https://example.org/x) `[c](gone.md)`", ""),
        ("```\n[a](gone.md)\n```\n\n    [b](gone.md)\n", ""),
    ],
)
def test_broken_links_in_markdown_are_told(text, said, tmp_path, monkeypatch):
    monkeypatch.setattr(links, "ROOT", tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    told = links.broken_in_markdown([page])
    assert len(told) == bool(said)
    assert not said or said in told[0]


def test_broken_links_of_a_site_are_told(tmp_path):
    (tmp_path / "a.html").write_text('<a id="x" href="b.html#y">b</a> <a href="#x">x</a> <img src="c.png">')
    (tmp_path / "b.html").write_text('<a href="a.html#x">a</a>')
    told = links.broken_in_site(tmp_path)
    assert told == ["a.html: b.html#y: the page has no such anchor", "a.html: c.png leads nowhere"]
    assert "no pages" in links.broken_in_site(tmp_path / "none")[0]


def test_docstrings_become_markup():
    text = """Find `r` in K*, |u_T| as it stands; a ModelError or `World`s.

    b = World()

    b.go()

scheme  a name
        or two
solver  another

- one
  thing
- two"""
    known = {"World": "stickslip.World", "ModelError": "stickslip.ModelError"}
    assert docstrings.rst(text, known.get) == [
        "Find ``r`` in K\\*, \\|u\\_T\\| as it stands; a :py:obj:`ModelError <stickslip.ModelError>`"
        " or :py:obj:`World <stickslip.World>`\\ s.",
        "",
        ".. code-block:: python",
        "",
        "    b = World()",
        "",
        "    b.go()",
        "",
        "``scheme``",
        "    a name or two",
        "``solver``",
        "    another",
        "",
        "- one thing",
        "- two",
        "",
    ]
    assert docstrings.markup("-") == "\\-"
    assert docstrings.rst("Do it:\n\nwith a(b) as c:\n    c()")[2] == ".. code-block:: python"


def test_the_code_of_the_first_page_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", (DOCS / "index.md").read_text(), re.DOTALL)
    exec(compile(code, "index.md", "exec"), {})
    assert "500 J dissipated" in capsys.readouterr().out
