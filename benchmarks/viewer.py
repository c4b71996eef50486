"""Frame rate of the viewer in headless Chromium with software rendering (SwiftShader).

    python benchmarks/viewer.py

The page shows a column of spheres at the start of its collapse. Every frame shows another instant from
another side, and counts when its pixels can be read. Requires Chromium.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from browser import CHROMIUM, Chromium  # noqa: E402

import stickslip as ss  # noqa: E402
from stickslip.scenes.grains import column_collapse  # noqa: E402
from stickslip.view import export_html  # noqa: E402

SIZES = (150, 500, 1500, 3000)
"""Numbers of spheres."""
PICTURES, REPEATS = 30, 3
"""Number of frames per measurement, and number of measurements, of which the best counts."""
WINDOWS = ((1280, 800), (390, 780))
"""Widths and heights of the page [px]: a desktop and a phone."""


def page_of(count: int, folder: Path) -> Path:
    """Simulate the start of the collapse of a column of spheres, and write its page."""
    run = ss.simulate(
        column_collapse(bodies=count, radius=0.02), until=0.02, h=2e-3, tolerance=1e-4, forces="solver"
    )
    return export_html(run, folder / f"{count}.html", title=f"{count} spheres")


def rate(chromium: Chromium, path: Path, window: tuple[int, int], look: str) -> float:
    """Return the frames per second, the best of several measurements."""
    with chromium.page(path, *window) as page:
        page.wait("!!window.stickslip")
        page.js(f"stickslip.player.pause(); {look}; stickslip.measure(3)")
        rates = [page.js(f"stickslip.measure({PICTURES})") for _ in range(REPEATS)]
        assert page.faults() == []
    return float(np.max(rates))


def main() -> None:
    """Measure and print the table."""
    if CHROMIUM is None:
        sys.exit("there is no Chromium on this machine")
    looks = {
        "bodies": "stickslip.set('contacts', false); stickslip.set('forces', false)",
        "with contacts and forces": "0",
        "with force chains": "stickslip.set('forces', false); stickslip.set('chains', true)",
    }
    print(f"{'spheres':>8} {'window':>10} {'page [MB]':>10}" + "".join(f"{name:>26}" for name in looks))
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        chromium = Chromium(folder / "profile")
        try:
            for count in SIZES:
                path = page_of(count, folder)
                for window in WINDOWS:
                    rates = [rate(chromium, path, window, look) for look in looks.values()]
                    size = f"{window[0]}x{window[1]}"
                    row = "".join(f"{value:>26.1f}" for value in rates)
                    print(f"{count:>8} {size:>10} {path.stat().st_size / 1e6:>10.2f}{row}", flush=True)
        finally:
            chromium.close()


if __name__ == "__main__":
    main()
