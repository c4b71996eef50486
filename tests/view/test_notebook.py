"""What notebooks show: scenes in frames, curves as images, and text when nothing can be drawn."""

import re
import sys
from base64 import b64decode
from html import unescape
from importlib.util import find_spec

import pytest
from scenery import HOSTILE, world

import stickslip as ss

VISER = pytest.mark.skipif(find_spec("viser") is None, reason="the extra stickslip[view] is not installed")


def scene(shown):
    """The page in the frame."""
    return unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])


@VISER
def test_a_world_is_a_scene_and_its_text():
    shown = world()._repr_html_()
    assert 'sandbox="allow-scripts"' in shown
    assert "__VISER_EMBED_DATA__" in scene(shown)
    assert "World of 4 bodies" in re.sub(r'srcdoc="[^"]*"', "", shown)
    assert HOSTILE not in shown
    assert len(shown) < 2e6


@VISER
def test_a_run_is_a_player_and_its_certificate(run):
    shown = run._repr_html_()
    rest = re.sub(r'srcdoc="[^"]*"', "", shown)
    assert "stickslip-rows" in scene(shown)
    assert f"missed by 0 of {run.steps} steps" in rest
    assert f"{run.penetration.max():.2e} m" in rest
    assert "trajectory of 41 records" in rest


@pytest.mark.parametrize(
    ("part", "scheme"),
    [
        (ss.FirstOrderLinear("<b>tank", A=[[-1.0]], x0=[1.0]), "euler-moreau"),
        (ss.LagrangianLinear("<b>mass", M=[[1.0]], K=[[4.0]], q0=[1.0]), "moreau-jean"),
    ],
    ids=["first order", "mechanics"],
)
def test_a_run_of_written_equations_is_curves_and_its_text(part, scheme):
    shown = ss.simulate(ss.NonsmoothSystem([part]), until=0.1, h=0.01, scheme=scheme)._repr_html_()
    picture = b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]*)", shown)[1]).decode()
    assert picture.startswith("<?xml")
    assert "<pre>trajectory of 11 records" in shown
    assert "<b>" not in shown


def test_without_the_extra_there_is_a_still_picture_and_how_to_get_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    monkeypatch.setattr("stickslip.view.notebook.STILL", (1.0, 1.0))
    for shown in (run._repr_html_(), world()._repr_html_()):
        assert "data:image/png;base64," in shown
        assert "pip install &quot;stickslip[view]&quot;" in shown
        assert "iframe" not in shown


def test_what_cannot_be_drawn_is_said(run, monkeypatch):
    def broken(*_, **__):
        raise ValueError("<b>no")

    monkeypatch.setattr("stickslip.view.notebook._scene", broken)
    shown = run._repr_html_()
    assert "trajectory of 41 records" in shown
    assert "It cannot be drawn: &lt;b&gt;no" in shown


def test_the_viewer_says_nothing_into_a_notebook(monkeypatch):
    pytest.importorskip("viser", reason="the extra stickslip[view] is not installed")
    import rich

    from stickslip.view.browser.server import close_server, open_server

    said = []
    console = rich.get_console()
    monkeypatch.setattr(
        console, "_write_buffer", lambda: said.extend(console._buffer if not console.quiet else ())
    )
    close_server(open_server(port=0))
    assert not said
    assert not console.quiet


def test_contact_tables_and_records_are_tables(run):
    table = run.contact_table()
    shown = table._repr_html_()
    assert f"contact forces, {len(table)} rows" in shown
    assert shown.count("<tr>") == 1 + min(len(table), 12)
    assert f"... {len(table) - 12} more" in shown
    assert "<th" in shown
    assert HOSTILE not in shown
    record = run.at(-1)._repr_html_()
    assert "<td" in record
    assert "certified" in record
    assert "<th" not in record
