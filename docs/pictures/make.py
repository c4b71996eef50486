"""The pictures of the README and of the first page of the docs: `python docs/pictures/make.py docs/pictures`.

The others come from the examples: `python examples/NAME.py docs/pictures`.
"""

import importlib.util
import sys
from pathlib import Path

import stickslip as ss
from stickslip import scenes
from stickslip.view import Curve, Figure, Panel, draw, draw_world, export_animation

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def example(name):
    """A file of examples/ as a module."""
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def falling_bodies(path):
    """56 bodies of seven shapes fall into a box, at half speed."""
    run = ss.simulate(scenes.make("soup").system, until=1.4, h=5e-3)
    export_animation(run, path, fps=20, speed=0.5, size=(5.6, 3.4))


def quadruped(path):
    """The robot of examples/quadruped_trot.py in mid-stride, with the forces under its feet."""
    trot = example("quadruped_trot")
    draw_world(trot.main(), path, at=0.6, forces=True, size=(3.6, 2.4))


def diode_bridge(path):
    """Voltages of the oscillator and of the load of examples/circuit.py."""
    t, source, load = example("circuit").main()
    ms = 1e3 * t
    curves = [Curve("oscillator", ms, source, "--"), Curve("load", 0.5 * (ms[1:] + ms[:-1]), load)]
    draw(Figure("Diode bridge", [Panel("Voltages of a diode bridge", "t [ms]", "v [V]", curves)]), path)


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    falling_bodies(folder / "falling_bodies.webp")
    quadruped(folder / "quadruped.png")
    diode_bridge(folder / "diode_bridge.png")
