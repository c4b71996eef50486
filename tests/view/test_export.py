"""Exported pages as text: the same bytes, what is said of what is left out, and errors that are sentences."""

import json
import re
import threading

import numpy as np
import pytest
from scenery import HOSTILE

pytest.importorskip("viser", reason="the extra stickslip[view] is not installed")

from stickslip.problem.solution import Verdict
from stickslip.view.browser import export
from stickslip.view.browser.export import export_html, page_of
from stickslip.view.browser.server import ViewerError


def rows(page):
    return json.loads(re.search(r'id="stickslip-rows">(.*?)</script>', page, re.DOTALL)[1])


@pytest.fixture(scope="module")
def page(run):
    return page_of(run, title=HOSTILE)


def test_the_same_run_is_the_same_page_and_nothing_is_left_behind(run, page, capfd):
    before = threading.active_count()
    assert page_of(run, title=HOSTILE) == page
    assert threading.active_count() == before
    assert capfd.readouterr() == ("", "")


def test_names_of_strangers_are_no_markup(page):
    assert HOSTILE not in page
    assert "<title>&lt;/script&gt;&lt;img" in page


def test_every_record_has_its_numbers(run, page):
    found = rows(page)
    assert [row[0] for row in found] == [f"{t:.2f} s" for t in run.t]
    assert [row[1] for row in found] == [f"{d:.2e} m" for d in run.penetration]
    assert [sum(map(int, row[3:])) for row in found] == np.diff(run.contacts.offset).tolist()


def test_of_left_out_records_the_worst_is_kept(run):
    worst = np.zeros(len(run))
    worst[17] = 0.5
    verdicts = np.zeros(len(run), np.int8)
    verdicts[3] = Verdict.MISSED.code
    page = page_of(run.with_columns(natural_scaled=worst, penetration=worst, verdicts=verdicts), frames=5)
    found = rows(page)
    assert [row[0] for row in found] == ["0.00 s", "0.10 s", "0.20 s", "0.30 s", "0.40 s"]
    assert [row[1] for row in found] == ["0.00e+00 m"] * 2 + ["5.00e-01 m"] + ["0.00e+00 m"] * 2
    assert ["missed" in row[2] for row in found] == [False, True, False, False, False]
    assert f"5 of {len(run)} records are shown" in page


def test_of_too_many_contacts_the_strongest_are_drawn(run, monkeypatch):
    shown = []
    show = export.Painter.show
    monkeypatch.setattr(
        export.Painter, "show", lambda self, frame, *flags: (shown.append(frame), show(self, frame, *flags))
    )
    page = page_of(run, megabytes=1e-6 * (len(page_of(run)) - 50 * export.CONTACT))
    most = int(re.search(r"of more than (\d+) contacts", page)[1])
    last = shown[-1]
    drawn = np.minimum(np.diff(run.contacts.offset), most)
    assert drawn.sum() <= len(run.contacts) - 50
    assert most < np.diff(run.contacts.offset)[-1]
    assert len(last.points) == len(last.states) == most
    forces = np.linalg.norm(run.contacts.part(run.contacts.at(-1)).force(run.h[-1:])[0], axis=1)
    assert np.sort(np.linalg.norm(last.forces, axis=1)) == pytest.approx(np.sort(forces)[-most:])
    assert "of more than" not in page_of(run, contacts=False, forces=False, frames=2, megabytes=0.5)


def test_what_is_drawn_is_rounded_to_less_than_is_seen(run):
    class Scene:
        def __getattr__(self, name):
            return lambda *_, **__: type("Handle", (), {})()

    stage = export.Stage.of(run)
    painter = export._Rounded(Scene(), stage)
    frame = stage.frame(20)
    rounded = painter.rounded(frame)
    for group, p, q in zip(stage.instances, frame.quaternions, rounded.quaternions, strict=True):
        reach = painter.zoom * np.abs(group.scale).max() * np.abs(group.mesh.vertices).max()
        assert 2.0 * reach * np.abs(p - q).max() <= 2.0 * export.FINE
    for places in frame.positions:
        exact = (places - stage.centre) * painter.zoom
        assert np.abs(painter.drawn(places) - export.AWAY - exact).max() <= export.FINE
    off = painter.zoom * np.abs(rounded.arrows - frame.arrows)
    assert off.max() <= 0.5 * (export.MEDIUM + export.COARSE) + 1e-9


def test_files_are_written_whole_or_not_at_all(run, page, tmp_path):
    path = export_html(run, tmp_path / "run.html", title=HOSTILE)
    assert path.read_text(encoding="utf-8") == page
    assert [each.name for each in tmp_path.iterdir()] == ["run.html"]


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        ("", {}, "is a folder; give the name of the HTML file"),
        ("nowhere/run.html", {}, "there is no folder .*nowhere; make it first"),
        ("run.html", {"frames": 0}, "0 frames cannot be shown; give at least 1"),
        ("run.html", {"speed": -1.0}, "cannot be played at -1 times its speed"),
        ("run.html", {"speed": np.nan}, "cannot be played at nan times its speed"),
    ],
)
def test_errors_are_sentences(run, tmp_path, name, options, said):
    with pytest.raises(ViewerError, match=said):
        export_html(run, tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_only_worlds_and_their_runs_are_drawn():
    with pytest.raises(ViewerError, match="a str has no bodies to draw"):
        page_of("run.h5")


def test_a_slow_motion_says_so(run):
    page = page_of(run, frames=3, speed=0.25)
    assert "played at 0.25 times the speed of the run" in page


@pytest.mark.parametrize(("last", "text"), [(4e-12, "4e-12 s"), (1e300, "1e+300 s"), (0.04, "0.04 s")])
def test_times_of_any_size_are_told_apart(run, last, text):
    times = last * np.linspace(0.0, 1.0, len(run))
    assert f'"{text}"' in page_of(run.with_columns(t=times), frames=5)


def test_a_link_to_a_page_stays_a_link(run, tmp_path):
    link, page = tmp_path / "link.html", tmp_path / "page.html"
    link.symlink_to(page)
    export_html(run, link, frames=2)
    assert link.is_symlink()
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["link.html", "page.html"]
