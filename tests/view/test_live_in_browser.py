"""A live run in headless Chromium: bodies are drawn, time goes on, and the buttons do what they say."""

import re
import threading

import numpy as np
from browser import needs_chromium
from world_runs import Drop, balls

import stickslip as ss
from stickslip.view.browser.live import LiveView, RunStopped
from stickslip.view.browser.viewer import Viewer

pytestmark = needs_chromium

BUTTON = "Array.from(document.querySelectorAll('button')).find(e => e.textContent.includes('{}'))"
TIME = r"(document.body.innerText.match(/t = ([0-9.]+) s/) || [])[1]"


def click(page, name):
    page.wait(f"!!{BUTTON.format(name)}")
    page.js(f"{BUTTON.format(name)}.click()")


def test_a_run_is_seen_held_and_stopped_and_then_played_at_the_same_address(chromium):
    world, ended = balls(), []
    with LiveView(world, port=0, until=1e3) as view:
        view.order("slow")

        def simulate():
            try:
                ss.simulate(world, until=1e3, h=1e-2, scheme=Drop(), watch=view)
            except RunStopped as stop:
                ended.append(stop.trajectory)

        thread = threading.Thread(target=simulate)
        thread.start()
        try:
            with chromium.page(view.url, 640, 400) as page:
                first = float(page.wait(TIME))
                page.wait(f"{TIME} > {first}")
                page.frames(4)
                seen = page.picture().astype(int)
                background = seen[8, 8]
                assert (np.abs(seen - background).max(axis=2) > 25).mean() > 0.02, "nothing but background"
                click(page, "Pause the run")
                page.wait(f"!!{BUTTON.format('Continue')}")
                held = view._record.t
                page.frames(4)
                assert view._record.t == held
                click(page, "Stop the run")
                thread.join(30.0)
                assert not thread.is_alive()
                view.close()
                with Viewer(ended[0], port=view.port) as viewer:
                    assert viewer.url == view.url
                    page.wait("window.stickslip && !stickslip.live && stickslip.runs[0].length > 1")
                    assert page.js("document.getElementById('live').hidden")
        finally:
            view._stopped.set()
            thread.join(30.0)
    assert re.match(r"http://127\.0\.0\.1:\d+$", view.url)
    assert ended[0].t[-1] == held
