"""What notebooks show: scenes in frames, curves as images, and text when nothing can be drawn."""

import re
from base64 import b64decode
from html import unescape

import pytest
from scenery import HOSTILE, world

import stickslip as ss
from stickslip.view.notebook import Scene


def scene(shown):
    """The page in the frame."""
    return unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])


def test_a_world_is_a_scene_and_its_text():
    shown = world()._repr_html_()
    assert 'sandbox="allow-scripts"' in shown
    assert 'id="contents"' in scene(shown)
    assert "World of 4 bodies" in re.sub(r'srcdoc="[^"]*"', "", shown)
    assert HOSTILE not in shown
    assert len(shown) < 2e6


def test_a_run_is_a_player_and_its_certificate(run):
    shown = run._repr_html_()
    rest = re.sub(r'srcdoc="[^"]*"', "", shown)
    assert 'id="numbers"' in scene(shown)
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


def test_two_runs_are_side_by_side(run):
    shown = Scene(run, run)._repr_html_()
    assert "second run" in scene(shown)


def test_what_cannot_be_drawn_is_said(run, monkeypatch):
    def broken(*_, **__):
        raise ValueError("<b>no")

    monkeypatch.setattr("stickslip.view.notebook._scene", broken)
    shown = run._repr_html_()
    assert "trajectory of 41 records" in shown
    assert "It cannot be drawn: &lt;b&gt;no" in shown


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
