"""An exported page in headless Chromium: it plays, it is scrubbed, and it asks nobody for anything."""

import time
from types import SimpleNamespace

import numpy as np
import pytest
from browser import needs_chromium
from scenery import HOSTILE, on_screen

from stickslip.view.browser.export import ASIDE, export_html
from stickslip.view.browser.painter import Painter
from stickslip.view.browser.stage import STATE_COLOURS, Stage

pytestmark = needs_chromium

TITLE = "Fall <b>& rise</b>"
SLIDER = ".mantine-Slider-root"
CELLS = "Array.from(Array(7), (_, k) => document.getElementById('stickslip-' + k).textContent)"


@pytest.fixture(scope="module")
def page(run, chromium, tmp_path_factory):
    path = export_html(run, tmp_path_factory.mktemp("page") / "fall.html", title=TITLE)
    with chromium.page(path, 400, 300) as page:
        page.wait("document.getElementById('stickslip-0').textContent")
        page.press(" ")
        yield page


@pytest.fixture(scope="module")
def painter(run):
    """Knows where things are drawn; what it is asked to draw it forgets."""

    class Scene:
        def __getattr__(self, name):
            return lambda *_, **__: SimpleNamespace()

    return Painter(Scene(), Stage.of(run))


def scrub(page, run, part):
    """Click the time line there; the number of the record that is to be seen then, when it is."""
    left, top, width, height = page.place(SLIDER)
    page.click(left + part * width, top + 0.5 * height)
    now = "Number(document.querySelector('[role=slider]').ariaValueNow)"
    end = page.js("Number(document.querySelector('[role=slider]').ariaValueMax)")
    page.wait(f"Math.abs({now} - {part * end}) < {0.04 * end}")
    record = int(np.searchsorted(run.t, page.js(now) + 1e-9, "right")) - 1
    page.wait(f"document.getElementById('stickslip-0').textContent === '{run.t[record]:.2f} s'")
    return record


def picture(page):
    """The scene without what stands before it."""
    hide = "document.querySelectorAll('#stickslip, .mantine-Notifications-root')"
    page.js(f"{hide}.forEach(each => {{each.style.visibility = 'hidden';}})")
    page.frames(1)
    return page.picture().astype(int)


def test_names_and_titles_stay_text(page):
    assert page.js("document.title") == TITLE
    assert page.js("document.querySelector('#stickslip summary').textContent") == TITLE
    assert page.js("window.hurt ?? null") is None
    assert HOSTILE not in page.js("document.documentElement.outerHTML")


def test_scrubbing_forth_and_back_shows_bodies_and_numbers_of_that_time(page, run, painter):
    early = scrub(page, run, 0.12)
    first = picture(page)
    late = scrub(page, run, 0.34)
    second = picture(page)
    cells = page.js(CELLS)
    assert scrub(page, run, 0.12) == early
    again = picture(page)
    assert early < late
    assert cells[1] == f"{run.penetration[late]:.2e} m"
    assert cells[2] == f"{run.natural_scaled[late]:.1e}"
    counts = dict(zip(STATE_COLOURS, map(int, cells[3:]), strict=True))
    assert sum(counts.values()) == np.diff(run.contacts.offset)[late]
    assert counts["sticking"] + counts["slipping"] > 0
    assert page.js(CELLS)[1] == f"{run.penetration[early]:.2e} m"
    canvas = page.place("canvas")
    ball = run.body("ball").position
    x, y = np.round(on_screen(painter, canvas, ball[early], -ASIDE)).astype(int)
    assert np.abs(first - second)[y, x].max() > 15, "the ball is where it was"
    assert np.abs(first - again).mean() < 1.0, "scrubbing back shows something else"
    assert np.abs(first - second).mean() > 1.0
    background = first[5, int(canvas[2]) - 60]
    assert (np.abs(first - background).max(axis=2) > 25).mean() > 0.02, "nothing but background"


def test_it_plays_and_pauses(page, run):
    scrub(page, run, 0.05)
    page.press(" ")
    page.wait(f"document.getElementById('stickslip-0').textContent !== '{page.js(CELLS)[0]}'")
    page.press(" ")
    page.frames(1)
    cells = page.js(CELLS)
    time.sleep(0.3)
    assert page.js(CELLS) == cells


def test_contacts_and_forces_can_be_switched(page):
    page.js("document.querySelector('[aria-label=\"Show scene tree\"]').click()")
    page.wait("document.querySelector('[data-playback-scene-tree]')")
    words = page.js("document.querySelector('[data-playback-scene-tree]').textContent")
    assert "contacts" in words
    assert "forces" in words
    page.js("document.querySelector('[aria-label=\"Hide scene tree\"]').click()")


def test_nothing_is_fetched_and_nothing_goes_wrong(page):
    assert all(url.startswith("file:") and url.endswith("fall.html") for url in page.requests())
    assert len(page.requests()) == 1
    assert page.faults() == []
