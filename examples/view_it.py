"""Simulate, save, and export a page that plays in any browser, offline.

Purpose: visualise a run. A loose heap of boxes, balls and capsules falls on the floor; the run is saved, read
back bit for bit, and exported as one HTML file with shapes, contacts, forces and the certificate of each
time. `stickslip view heap.h5` shows the same run in the viewer. The still picture requires the extra `plots`.
With a folder as argument, the page and the picture are written to it.
"""

import sys
import tempfile
from pathlib import Path

import numpy as np

import stickslip as ss
from stickslip.view import draw_world, export_html


def main(until=0.3):
    """The run, the run read from its file, and the text of the page."""
    b = ss.WorldBuilder()
    b.material("default", mu=0.6, e=0.2)
    b.body("floor", ss.Plane(), fixed=True)
    shapes = (ss.Cuboid((0.12, 0.1, 0.08)), ss.Sphere(0.06), ss.Capsule(0.04, 0.1))
    for k in range(12):
        layer, place = divmod(k, 3)
        at = (0.1 * np.cos(2.1 * place + layer), 0.1 * np.sin(2.1 * place + layer), 0.1 + 0.16 * layer)
        b.body(f"thing {k}", shapes[k % 3], position=at, quaternion=ss.rotation((1, 1, 0), 0.4 * k))
    run = ss.simulate(b.build(), until=until, h=2e-3, record=5)
    with tempfile.TemporaryDirectory() as folder:
        run.save(f"{folder}/heap.h5")
        page = export_html(run, f"{folder}/heap.html", title="A heap")
        return run, ss.read_trajectory(f"{folder}/heap.h5"), page.read_text(encoding="utf-8")


def check(run, stored, page):
    """Every step is certified, the file equals the run, and the page is complete and small."""
    assert run.ok.all()
    assert np.abs(run.balance).max() < 1e-9 * run.energy[0]
    assert np.array_equal(stored.q, run.q)
    assert np.array_equal(stored.contacts.r, run.contacts.r)
    assert page.startswith("<!")
    assert page.rstrip().endswith("</html>")
    assert len(page) < 5e6


if __name__ == "__main__":
    run, stored, page = main(until=1.0)
    check(run, stored, page)
    print(run)
    if len(sys.argv) > 1:
        Path(sys.argv[1], "heap.html").write_text(page, encoding="utf-8")
        draw_world(run, Path(sys.argv[1], "view_it.png"), size=(4.0, 2.4))
