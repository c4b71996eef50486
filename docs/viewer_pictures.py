"""Draw the pictures of docs/view.md, which show the viewer, with headless Chromium.

python docs/viewer_pictures.py
"""

import base64
import io
import sys
import tempfile
from pathlib import Path

import matplotlib.image
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "tests"), str(HERE)]

from browser import Chromium  # noqa: E402
from gallery_pages import recorded  # noqa: E402
from PIL import Image  # noqa: E402

import stickslip as ss  # noqa: E402
from stickslip import scenes  # noqa: E402
from stickslip.view import export_html  # noqa: E402

COLOURS = 220
"""Number of colours of a picture."""


def arch(folder: Path) -> Path:
    """Write the page of a masonry arch."""
    return export_html(recorded("arch"), folder / "arch.html", title="A masonry arch")


def two(folder: Path) -> Path:
    """Write the page of two runs of a four-bar linkage with different steps."""
    scene = scenes.make("four-bar")
    runs = [ss.simulate(scene.system, until=1.0, h=h, record=k) for h, k in ((1e-3, 10), (1e-2, 1))]
    return export_html(runs[0], folder / "two.html", runs[1], names=("h = 1 ms", "h = 10 ms"))


def ball(folder: Path) -> Path:
    """Write the page of a bouncing ball, a system written as equations."""
    run = ss.simulate(scenes.make("bouncing-ball").system, until=3.0, h=1e-3, record=5)
    return export_html(run, folder / "ball.html", title="A bouncing ball")


PICTURES = {
    "viewer": (
        arch, (1100, 700), False, 0.5,
        "v.set('chains', true); v.set('forces', false); v.panel.open('Contacts')",
    ),
    "viewer-two": (
        two, (1100, 620), True, 0.6, "v.set('joints', true); v.set('paths', 'all'); v.panel.open('Plot')",
    ),
    "viewer-equations": (ball, (1100, 620), False, 0.3, "0"),
}  # fmt: skip
"""By name: page, window [px], dark style, instant as a fraction of the run, and script that prepares the
page."""


def main() -> None:
    """Write all pictures."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        chromium = Chromium(folder / "profile")
        try:
            for stem, (make, window, dark, part, script) in PICTURES.items():
                with chromium.page(make(folder), *window) as page:
                    page.wait("!!window.stickslip")
                    page.js("document.documentElement.className = " + ("'dark'" if dark else "'light'"))
                    time = f"v.span[0] + {part} * (v.span[1] - v.span[0])"
                    page.js(f"(v => {{ v.player.pause(); {script}; v.seek({time}); }})(stickslip)")
                    page.frames(3)
                    data = base64.b64decode(page.call("Page.captureScreenshot", format="png")["data"])
                pixels = matplotlib.image.imread(io.BytesIO(data), format="png")[:, :, :3]
                image = Image.fromarray(np.round(255.0 * pixels).astype(np.uint8))
                image.quantize(COLOURS).save(HERE / "pictures" / f"{stem}.png", optimize=True)
        finally:
            chromium.close()


if __name__ == "__main__":
    main()
