"""The viewer's page in headless Chromium: what is seen and said, by clicks and keys; nothing is fetched."""

import numpy as np
import pytest
from browser import needs_chromium
from scenery import HOSTILE

import stickslip as ss
from stickslip import scenes
from stickslip.view.browser.export import export_html
from stickslip.view.browser.stage import STATE_COLOURS

pytestmark = needs_chromium

TITLE = "Fall <b>& rise</b>"
ON_SCREEN = """((r, b) => { const v = stickslip, f = v.frame(v.runs[r]), [x, y, w, h] = v.parts()[r];
  const [px, py] = v.camera.seen([0, 1, 2].map(i => f.x[3 * b + i]), w, h);
  return [x + px, y + py]; })"""
"""Where the centre of a body of a run is [px]."""
ROWS = "[...document.querySelectorAll('#page-Contacts .list tbody tr')]"


def opened(chromium, path, width=900, height=600):
    return chromium.page(path, width, height)


@pytest.fixture(scope="module")
def page(run, chromium, tmp_path_factory):
    path = export_html(run, tmp_path_factory.mktemp("page") / "fall.html", title=TITLE)
    with chromium.page(path, 900, 600) as page:
        page.wait("!!window.stickslip")
        page.js("stickslip.player.pause()")
        yield page


def seek(page, t):
    page.js(
        f"stickslip.player.pause(); stickslip.seek({t}); stickslip.solid && stickslip.render();"
        "stickslip.beside(); 1"
    )
    page.frames(1)


def picture(page):
    page.js("document.getElementById('card').hidden = true; 1")
    page.frames(2)
    seen = page.picture().astype(int)
    page.js("document.getElementById('card').hidden = false; 1")
    return seen


def moved(before, after):
    return np.abs(before - after).max(axis=2)


def key(page, name):
    page.js(f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: {name!r}}})); 1")
    page.frames(1)


def test_names_and_titles_stay_text(page):
    assert page.js("document.title") == TITLE
    assert page.js("document.querySelector('#card summary').textContent") == TITLE
    page.js("stickslip.choose({body: 1})")
    assert HOSTILE[:9] in page.js("document.getElementById('page-Body').innerText")
    assert page.js("document.querySelectorAll('#panel img, #card img').length") == 0
    assert page.js("window.hurt ?? null") is None
    page.js("stickslip.choose({body: null}); stickslip.panel.open('Show'); 1")


def test_bodies_and_numbers_are_those_of_the_time(page, run):
    seek(page, 0.1)
    first = picture(page)
    x, y = map(round, page.js(f"{ON_SCREEN}(0, 2)"))
    seek(page, 0.34)
    second = picture(page)
    said = page.js("document.getElementById('readings').innerText")
    k = 34
    assert f"{run.penetration[k]:.2e}".replace("e-0", "e-") in said.replace("e-0", "e-")
    counts = dict(zip(*np.unique(run.contact_states[run.contacts.at(k)], return_counts=True), strict=True))
    assert int(page.js("[...document.querySelectorAll('#readings td')][4].innerText")) == counts["sticking"]
    assert page.js("document.getElementById('now').innerText") == "0.34 s"
    assert moved(first, second)[y, x] > 15, "the ball is where it was"
    seek(page, 0.1)
    assert moved(first, picture(page)).mean() < 0.5, "the same instant looks different"
    assert (moved(first, first[300, 895]) > 25).mean() > 0.1, "nothing but background"


def test_it_plays_and_pauses_by_the_button_and_the_key(page):
    seek(page, 0.05)
    left, top, width, height = page.place("#play")
    page.click(left + 0.5 * width, top + 0.5 * height)
    page.wait("stickslip.player.now > 0.051")
    key(page, " ")
    assert page.js("stickslip.player.playing") is False


def test_the_strips_are_clicked_to_go_to_a_time(page, run):
    left, top, width, height = page.place("#strips")
    page.click(left + 8 + 0.75 * (width - 16), top + 0.7 * height)
    assert page.js("stickslip.player.now") == pytest.approx(0.3, abs=0.005)
    strips = page.js(
        "(c => [...c.getContext('2d').getImageData(0, 0, c.width, c.height).data])"
        "(document.getElementById('strips'))"
    )
    inks = np.array(strips).reshape(-1, 4)
    assert len(np.unique(inks[:, :3], axis=0)) > 20, "no curves"


def test_a_click_chooses_a_body_whose_state_is_told(page, run):
    seek(page, 0.2)
    page.js("stickslip.set('contacts', false); 1")
    x, y = page.js(f"{ON_SCREEN}(0, 2)")
    page.click(x + 3, y + 3)
    page.wait("stickslip.choice.body === 2")
    said = page.js("document.getElementById('page-Body').innerText")
    height = run.body("ball").centre[20, 2]
    assert f"{height:.3g}" in said
    assert "dynamic" in said
    chosen = picture(page)[round(y), round(x)]
    assert chosen[0] > 1.5 * chosen[2], "the body is not yellow"
    key(page, "Escape")
    assert page.js("stickslip.choice.body") is None
    page.js("stickslip.set('contacts', true); 1")


def test_the_list_of_contacts_jumps_to_one(page, run):
    seek(page, 0.4)
    page.js("stickslip.panel.open('Contacts'); 1")
    forces = [float(text) for text in page.js(f"{ROWS}.map(row => row.cells[1].innerText)")]
    mine = np.linalg.norm(run.contacts.part(run.contacts.at(-1)).force(run.h[-1:])[0], axis=1)
    np.testing.assert_allclose(forces, np.sort(mine)[::-1], rtol=6e-3, atol=1e-6)
    page.js(f"{ROWS}[0].cells[0].querySelector('button').click(); 1")
    number = page.js("stickslip.frame().id.indexOf(stickslip.choice.contact)")
    place = page.js(f"[...stickslip.frame().point.subarray({3 * number}, {3 * number + 3})]")
    assert page.js("stickslip.camera.target") == pytest.approx(place)
    assert "normal force" in page.js("document.getElementById('page-Contacts').innerText")
    assert page.js(f"{ROWS}[0].className") == "chosen"
    page.js("stickslip.reset(); stickslip.choose({contact: null}); stickslip.panel.open('Show'); 1")


@pytest.mark.parametrize("letter", ["f", "n", "a", "l", "b", "t", "x", "c"])
def test_a_key_changes_the_picture(page, letter):
    seek(page, 0.4)
    start = page.js("JSON.stringify(stickslip.show)")
    before = picture(page)
    if letter == "t":
        page.js("stickslip.set('paths', 'body'); 1")  # the next is: of all
    if letter == "b":
        page.js("stickslip.set('colour', 'force'); 1")
        by_force = picture(page)
        assert (moved(before, by_force) > 20).sum() > 300
    key(page, letter)
    assert (moved(before, picture(page)) > 20).sum() > 20, "nothing has changed"
    page.js(f"Object.assign(stickslip.show, {start}); stickslip.panel.sync(); stickslip.changed(); 1")


def test_a_cut_opens_bodies(page):
    seek(page, 0.4)
    for place, there in ((1.0, True), (-1.0, False)):
        page.js(f"stickslip.set('cut', 'z'); stickslip.set('cutAt', {place}); stickslip.render(); 1")
        x, y = page.js(f"{ON_SCREEN}(0, 3)")
        assert (page.js(f"stickslip.picked({x}, {y})") == 4) is there
    page.js("stickslip.set('cut', 'none'); stickslip.set('cutAt', 0); 1")


def test_the_camera_follows_a_body(page):
    seek(page, 0.0)
    page.js("stickslip.choose({body: 2}); stickslip.set('follow', true); stickslip.render(); 1")
    before = page.js(f"{ON_SCREEN}(0, 2)")
    seek(page, 0.38)
    assert page.js(f"{ON_SCREEN}(0, 2)") == pytest.approx(before, abs=0.5)
    page.js("stickslip.reset(); stickslip.choose({body: null}); 1")


def test_any_quantity_is_plotted_with_its_value(page, run):
    seek(page, 0.3)
    page.js(
        "stickslip.choose({body: 2}); stickslip.panel.open('Plot');"
        "stickslip.panel.plot('body|ball: speed'); 1"
    )
    page.frames(1)
    said = page.js("document.getElementById('page-Plot').innerText")
    speed = np.linalg.norm(run.body("ball").centre_velocity[30])
    assert f"{speed:.4g} m/s" in said
    offered = page.js("stickslip.panel.add.innerText")
    assert "kinetic energy" in offered
    assert "largest contact force" in offered
    left, top, width, height = page.place("#plot")
    page.click(left + 46 + 0.5 * (width - 54), top + 0.5 * height)
    assert page.js("stickslip.player.now") == pytest.approx(0.2, abs=0.01)
    page.js("stickslip.choose({body: null}); stickslip.panel.open('Show'); 1")


def test_light_and_dark(page):
    light = picture(page)
    key(page, "d")
    dark = picture(page)
    key(page, "d")
    assert dark.mean() < 0.6 * light.mean()


def test_all_keys_are_listed(page):
    key(page, "?")
    assert page.js("document.getElementById('help').open")
    assert "force chains" in page.js("document.getElementById('keys').innerText")
    page.js("document.getElementById('help').close(); 1")


def test_states_have_the_colours_that_python_has(page):
    assert page.js("stickslip.states") == [[name, list(colour)] for name, colour in STATE_COLOURS.items()]


def test_nothing_is_fetched_and_nothing_goes_wrong(page):
    assert all(url.startswith("file:") and url.endswith("fall.html") for url in page.requests())
    assert len(page.requests()) == 1
    assert page.faults() == []


def test_two_runs_share_a_time_and_a_camera_on_a_phone(run, chromium, tmp_path):
    path = export_html(run, tmp_path / "two.html", run[:21], names=("long", "short"))
    with chromium.page(path, 390, 700) as page:
        page.wait("!!window.stickslip")
        seek(page, 0.355)
        assert page.js("stickslip.runs.map(run => run.at(stickslip.player.now))") == [35, 20]
        (_, y0, w0, h0), (_, y1, w1, h1) = page.js("stickslip.parts()")
        assert (w0, h0, y1 - y0) == (w1, h1, h0)
        x, y = page.js(f"{ON_SCREEN}(1, 2)")
        page.js("stickslip.set('contacts', false); stickslip.render(); 1")
        assert page.js(f"stickslip.picked({x}, {y})") == 0x800000 + 3
        assert page.js("document.documentElement.scrollWidth") <= 390
        assert page.faults() == []


def test_robots_and_equations_are_shown(chromium, tmp_path):
    ball = ss.simulate(scenes.make("bouncing-ball").system, until=0.6, h=1e-2)
    with chromium.page(export_html(ball, tmp_path / "ball.html"), 900, 600) as page:
        page.wait("!!window.stickslip")
        seek(page, 0.3)
        assert page.js("document.querySelectorAll('#sheets canvas').length") >= 4
        assert "multipliers" in page.js(
            "[...document.querySelectorAll('#sheets optgroup')].map(o => o.label).join()"
        )
        assert page.faults() == []
    dog = scenes.make("quadruped", gait="trot")
    trot = ss.simulate(dog.system, until=20 * dog.h, h=dog.h)
    with chromium.page(export_html(trot, tmp_path / "dog.html"), 900, 600) as page:
        page.wait("!!window.stickslip")
        seek(page, 0.0)
        before = picture(page)
        page.js("stickslip.set('joints', true); 1")
        assert (moved(before, picture(page)) > 20).sum() > 100
        assert "knee" in page.js("stickslip.marks[0].labels.map(([name]) => name).join()")
        assert page.faults() == []
