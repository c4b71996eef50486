"""A page in headless Chromium: sorted, filtered, drawn, and never wider than its window."""

import html
import json
import re
import shutil
import subprocess

import matplotlib.image
import numpy as np
import pytest
from pages import HOSTILE, SOLVERS, page

from stickslip.view.page import page_html

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--hide-scrollbars", "--virtual-time-budget=4000",
)  # fmt: skip
REPEATED, WIDTHS = 20, (400, 1280)

BEFORE = """
window.faults = [];
addEventListener("error", (event) => faults.push(String(event.message)));
addEventListener("securitypolicyviolation", (event) => faults.push(event.violatedDirective));
"""

AFTER = """
const table = document.querySelectorAll("table")[1];
const heads = Array.from(table.tHead.rows[0].cells);
const column = (k) => Array.from(table.tBodies[0].rows, (row) => row.cells[k].textContent);
const found = {width: innerWidth, page: document.documentElement.scrollWidth, hurt: window.hurt ?? null};
location.hash = "#s3";
setTimeout(() => {
  found.unfolded = document.querySelector("details").open;
  found.focusable = heads.every((head) => head.querySelector("button").tabIndex === 0);
  const widths = () => heads.map((head) => head.getBoundingClientRect().width);
  found.widths = [widths()];
  heads[2].querySelector("button").click();
  found.rising = column(2);
  found.says = heads.map((head) => head.getAttribute("aria-sort"));
  heads[2].querySelector("button").click();
  found.falling = column(2);
  found.saysThen = heads[2].getAttribute("aria-sort");
  heads[1].querySelector("button").click();
  found.stable = column(1).map((solver, k) => [solver, column(2)[k]]);
  const input = document.querySelector(".filter input");
  input.value = "SIMPLE quoted";
  input.dispatchEvent(new Event("input"));
  const seen = Array.from(table.tBodies[0].rows).filter((row) => row.getClientRects().length);
  found.filtered = seen.map((row) => row.cells[0].textContent + row.cells[1].textContent);
  found.widths.push(widths());
  found.count = document.querySelector(".filter output").textContent;
  const box = table.closest(".box");
  input.value = "";
  input.dispatchEvent(new Event("input"));
  box.scrollTop = 500;
  const top = (element) => element.getBoundingClientRect().top;
  found.head = [box.scrollTop, Math.abs(top(heads[0]) - top(box))];
  found.drawn = Array.from(document.querySelectorAll("svg"), (svg) => {
    const place = svg.getBoundingClientRect();
    return [place.width, place.height, place.left, place.right];
  });
  found.open = document.documentElement.scrollWidth;
  found.faults = faults;
  parent.postMessage(found, "*");
}, 100);
"""

HARNESS = """<!DOCTYPE html><html><body><pre id="found"></pre><script>
const all = [];
addEventListener("message", (event) => {
  all.push(event.data);
  document.getElementById("found").textContent = JSON.stringify(all);
});
</script>FRAMES</body></html>"""


def chromium(place, *arguments):
    command = [CHROMIUM, *FLAGS, f"--user-data-dir={place / 'profile'}", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, timeout=120)
    assert done.returncode == 0, done.stderr.decode(errors="replace")[-2000:]
    return done.stdout.decode("utf-8")


@pytest.fixture(scope="module")
def written():
    return page_html(page(REPEATED))


@pytest.fixture(scope="module")
def seen(written, tmp_path_factory):
    """What scripts of the test see in the page, at every width; its own script runs under its own policy."""
    place = tmp_path_factory.mktemp("browser")
    policy = re.search(r"script-src &#x27;sha256-[^&]*&#x27;", written)[0]
    copy = written.replace(policy, f"{policy} &#x27;nonce-test&#x27;", 1)
    copy = copy.replace("<title>", f'<script nonce="test">{BEFORE}</script><title>', 1)
    copy = copy.replace("</body>", f'<script nonce="test">{AFTER}</script></body>')
    (place / "copy.html").write_text(copy, encoding="utf-8")
    frames = "".join(
        f'<iframe src="copy.html" width="{w}" height="900" frameborder="0"></iframe>' for w in WIDTHS
    )
    (place / "harness.html").write_text(HARNESS.replace("FRAMES", frames))
    dom = chromium(place, "--window-size=1400,1000", "--dump-dom", (place / "harness.html").as_uri())
    found = json.loads(html.unescape(re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)[1]))
    return {each["width"]: each for each in found}


@pytest.fixture(scope="module", params=WIDTHS)
def at(seen, request):
    assert set(seen) == set(WIDTHS)
    return seen[request.param]


def test_nothing_goes_wrong_and_no_name_becomes_a_script(at):
    assert at["faults"] == []
    assert at["hurt"] is None


def test_columns_are_sorted_as_numbers(at):
    numbers = [float(text) for text in at["rising"] if text not in ("–", "not run")]
    each = REPEATED * len(SOLVERS)
    assert numbers == sorted(numbers)
    assert len(numbers) == 5 * each
    assert numbers[0] == 2.5e-5
    assert set(at["rising"][5 * each :]) == set(at["falling"][5 * each :]) == {"–", "not run"}
    assert at["falling"][: 5 * each] == [f"{x:.3g}" for x in reversed(numbers)]
    assert at["says"] == [None, None, "ascending", None, None]
    assert at["saysThen"] == "descending"
    assert at["focusable"]


def test_sorting_keeps_the_order_of_what_is_equal(at):
    assert [solver for solver, _ in at["stable"]] == sorted(solver for solver, _ in at["stable"])
    for solver in SOLVERS:
        of_one = [float(t) for s, t in at["stable"] if s == solver and t not in ("–", "not run")]
        assert of_one == sorted(of_one, reverse=True)


def test_the_filter_shows_rows_with_all_words(at):
    assert len(at["filtered"]) == REPEATED
    assert set(at["filtered"]) == {HOSTILE[2] + "ipm:variant=simple"}
    assert at["count"] == f"{REPEATED} of {REPEATED * len(SOLVERS) * len(HOSTILE)} rows"


def test_columns_keep_their_widths_while_rows_come_and_go(at):
    before, after = at["widths"]
    assert min(before) > 20.0
    assert after == pytest.approx(before, abs=1.0)


def test_long_tables_scroll_under_their_heads(at):
    scrolled, off = at["head"]
    assert scrolled == 500
    assert off < 2.0
    assert at["unfolded"]


def test_figures_are_drawn_and_nothing_is_wider_than_the_window(at):
    assert at["page"] <= at["width"]
    assert at["open"] <= at["width"]
    assert len(at["drawn"]) == 3
    for width, height, left, right in at["drawn"]:
        assert width > 250.0
        assert height > 180.0
        assert 0.0 <= left < right <= at["width"]


def test_a_picture_of_it_is_not_blank(written, tmp_path):
    (tmp_path / "page.html").write_text(written, encoding="utf-8")
    shot = tmp_path / "page.png"
    chromium(tmp_path, "--window-size=1000,1400", f"--screenshot={shot}", (tmp_path / "page.html").as_uri())
    pixels = np.round(255 * matplotlib.image.imread(shot)[:, :, :3]).astype(int)
    assert pixels.shape == (1400, 1000, 3)
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00), (0x1F, 0x6F, 0x8B)):
        assert (abs(pixels - colour).max(axis=2) < 12).sum() > 50, f"no {colour} of curves and headings"
