"""The gallery: still pictures of built-in scenes, and animated pages of them.

    python docs/gallery_pages.py        draws the stills of docs/pictures/gallery again

As a Sphinx extension it writes an animated page for every scene of the gallery into the folder `gallery` of
the site, and defines the directive `play SCENE`, a link to that page. The option `gallery_scenes` limits the
number of these pages.
"""

import sys
import time
from pathlib import Path
from typing import Any

from docutils import nodes  # type: ignore[import-untyped]
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import stickslip as ss
from stickslip import scenes
from stickslip.schemes import registry
from stickslip.view import draw_world, export_html

HERE = Path(__file__).resolve().parent
STILLS = HERE / "pictures" / "gallery"
FRAMES = 90
"""Number of records of an animated page."""
GALLERY: dict[str, tuple[dict[str, Any], float, dict[str, Any]]] = {
    "four-bar": ({}, 0.4, {}),
    "quadruped": ({"gait": "trot"}, 1.0, {"forces": True}),
    "dominoes": ({}, 0.4, {}),
    "arch": ({}, 1.0, {"forces": True, "azimuth": -75.0}),
    "masonry-wall": ({}, 1.0, {"forces": True}),
    "kapla": ({}, 1.0, {}),
    "ring-chain": ({}, 0.5, {}),
    "soup": ({"until": 1.5}, 1.0, {"elevation": 30.0}),
    "drum": ({"bodies": 150, "until": 2.0}, 1.0, {"azimuth": -80.0}),
    "rockfall": ({}, 0.5, {}),
}
"""Scenes of the gallery: their parameters, the time of the still as a fraction of the run, and the options of
the still."""


def recorded(name: str) -> Any:
    """Simulate a scene of the gallery."""
    scene = scenes.make(name, **GALLERY[name][0])
    keep = max(1, round(scene.until / scene.h / (2 * FRAMES)))
    scheme = registry.make(scene.scheme, **scene.options)
    return ss.simulate(scene.system, until=scene.until, h=scene.h, scheme=scheme, record=keep)


def draw_stills() -> None:
    """Draw the still of every scene into `STILLS`."""
    STILLS.mkdir(exist_ok=True)
    for name, (_, part, look) in GALLERY.items():
        begun, run = time.monotonic(), recorded(name)
        draw_world(run, STILLS / f"{name}.png", at=part * run.t[-1], size=(4.0, 3.0), dpi=110.0, **look)
        print(f"{name}: {time.monotonic() - begun:.0f} s", flush=True)


class Play(SphinxDirective):
    """Directive for a link to the animated page of a scene, if the site has one."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Return a paragraph with the link."""
        name = self.arguments[0]
        if name not in GALLERY:
            raise self.error(f"play: {name} is not in GALLERY of gallery_pages.py")
        if name not in played(self.config.gallery_scenes) or self.env.app.builder.format != "html":
            return []
        text, address = f"Play {name} in the browser", f"gallery/{name}.html"
        link = nodes.reference("", text, refuri=address, internal=True)
        return [nodes.paragraph("", "", link)]


def played(count: int) -> list[str]:
    """Names of the first `count` scenes, which get an animated page."""
    return list(GALLERY)[:count]


def write_pages(app: Sphinx, error: Exception | None) -> None:
    """Write the animated pages after the site is built."""
    if error is not None or app.builder.name != "html":
        return
    folder = Path(app.outdir, "gallery")
    folder.mkdir(exist_ok=True)
    for name in played(app.config.gallery_scenes):
        export_html(recorded(name), folder / f"{name}.html", frames=FRAMES, title=name)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive, the option and the writer of pages."""
    app.add_config_value("gallery_scenes", len(GALLERY), "env", (int,))
    app.add_directive("play", Play)
    app.connect("build-finished", write_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    sys.exit(draw_stills())
