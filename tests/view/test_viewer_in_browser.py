"""The live viewer in headless Chromium: scrubbed, and a body clicked."""

import numpy as np
import pytest
from browser import LONG, needs_chromium
from scenery import on_screen

from stickslip.view.browser.viewer import ASIDE, Viewer

pytestmark = needs_chromium

WIDE, HIGH = 800, 500
CLICKS = 6
"""Clicks on the slider until it moves."""


@pytest.fixture(scope="module")
def viewer(run):
    with Viewer(run, port=0) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def page(viewer, chromium):
    with chromium.page(viewer.url, WIDE, HIGH) as page:
        page.wait("document.querySelector('canvas') && document.body.innerText.includes('penetration')")
        page.js("[...document.querySelectorAll('button')].find(b => b.innerText.includes('Pause')).click()")
        page.wait("document.body.innerText.includes('Play')")
        yield page


def scrub(page, part):
    """Click the slider of frames there; the number of the frame, when it has arrived.

    The other end is clicked first, because a click on the frame that is shown changes nothing. The panel may
    still move while it is laid out, so the place is measured anew for every click, and a click that had no
    effect is repeated.
    """
    slider = "[...document.querySelectorAll('[role=slider]')].find(s => s.ariaValueMax === '40')"
    track = f"{slider}.closest('.mantine-Slider-root').getBoundingClientRect()"
    for there in (0.95 if part < 0.5 else 0.05, part):
        frame = None
        for _ in range(CLICKS):
            left, top, width, height = page.js(f"(r => [r.x, r.y, r.width, r.height])({track})")
            page.click(left + there * width, top + 0.5 * height)
            near = f"(now => Math.abs(now - {40 * there}) < 3 && now)({slider}.ariaValueNow)"
            if frame := page.found(near, LONG / CLICKS):
                break
        assert frame, f"the slider did not move to {40 * there}: {page.faults()}"
    return int(frame)


def picture(page):
    page.js(
        "document.querySelectorAll('.mantine-Notifications-root').forEach(e => {e.style.display = 'none';})"
    )
    page.frames(1)
    return page.picture().astype(int)


def test_scrubbing_shows_bodies_and_numbers_of_that_time(page, run, viewer):
    frame = scrub(page, 0.2)
    page.wait(f"document.body.innerText.includes('{run.t[frame]:.2f}')")
    first = picture(page)
    later = scrub(page, 0.8)
    page.wait(f"document.body.innerText.includes('{run.t[later]:.2f}')")
    second = picture(page)
    assert frame < later
    place = page.place("canvas")
    x, y = np.round(on_screen(viewer._painter, place, run.body("ball").position[frame], ASIDE)).astype(int)
    assert np.abs(first - second)[y, x].max() > 15, "the ball is where it was"
    assert page.faults() == []


def test_a_body_that_is_clicked_shows_its_name_and_state(page, run, viewer):
    frame = scrub(page, 0.4)
    x, y = on_screen(viewer._painter, page.place("canvas"), run.body("slider").position[frame], ASIDE)
    assert "slider" not in page.js("document.body.innerText")
    page.frames(1)
    page.click(float(x), float(y))
    page.wait("document.body.innerText.includes('slider')")


def test_only_this_machine_is_asked(page, viewer):
    assert all(url.startswith((viewer.url, viewer.url.replace("http", "ws", 1))) for url in page.requests())
