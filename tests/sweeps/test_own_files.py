"""Files of functions and what they import from beside them: they count, and go to workers, together."""

import shutil
import threading

import numpy as np
import pytest
from sweeps.test_sweep import FILE, Stops, swept

from stickslip.bench.campaigns.contestants import place_file, source_of_function
from stickslip.bench.campaigns.own_files import own_files
from stickslip.bench.records import Limits, Outcome
from stickslip.bench.running.dask_executor import Room
from stickslip.sweeps import OtherSweep
from stickslip.sweeps.runs import Run

MODEL = """
from parts.masses import HEIGHT
from balls import drop as ball
import json, numpy as np, stickslip


def drop(*, e=0.5):
    return ball(height=HEIGHT, e=e)
"""


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "mine"
    (folder / "parts").mkdir(parents=True)
    (folder / "model.py").write_text(MODEL)
    (folder / "balls.py").write_text(FILE.read_text())
    (folder / "parts" / "__init__.py").write_text("from . import more\n")
    (folder / "parts" / "more.py").write_text(
        "def more():\n    from ...above import nothing\n    import model\n"
    )
    (folder / "parts" / "masses.py").write_text("from .more import *\nHEIGHT = 2.0\n")
    (folder / "unused.py").write_text("HEIGHT = 3.0\n")
    (folder / "stickslip").mkdir()
    (folder / "stickslip" / "__init__.py").write_text("")
    return folder


def test_what_a_file_imports_from_beside_it(folder):
    known = ["balls.py", "model.py", "parts/__init__.py", "parts/masses.py", "parts/more.py"]
    assert list(own_files(folder / "model.py")) == known
    (folder / "model.py").write_text("no Python")
    assert list(own_files(folder / "model.py")) == ["model.py"]


def test_a_worker_is_sent_all_of_them(folder, tmp_path):
    place = f"{folder / 'model.py'}:drop"
    job = Run(0, place, {"e": 0.0}, ("final",), {"until": 0.1, "h": 0.01}, {place: source_of_function(place)})
    path, limits, room = (
        place_file(place),
        Limits(timeout=60.0, memory=4000.0, best_of=1),
        Room(threading.Lock()),
    )
    ((identity, name),) = job.files.items()
    assert name == path
    contents = job.contents(path)
    shutil.rmtree(folder)
    try:
        assert room.run([job], limits) == {"missing": True}
        room.keep(identity, "model.py", contents)
        (answer,) = room.run([job], limits)["answers"]
    finally:
        room.close()
    row = Run.record(answer["record"])
    assert row.outcome is Outcome.SOLVED, row.reason
    assert row.values[0] == pytest.approx(2.0 - 0.5 * 9.81 * 0.1**2, abs=0.05)
    assert np.isfinite(row.values).all()


def test_a_sweep_is_not_continued_with_another_import(folder, tmp_path):
    out, make = tmp_path / "s.h5", f"{folder / 'model.py'}:drop"
    how = {"parameters": {"e": [0.0, 0.5, 0.7]}, "make": make, "measure": "final"}
    with pytest.raises(KeyboardInterrupt):
        swept(out, executor=Stops(1), **how)
    (folder / "unused.py").write_text("HEIGHT = 4.0\n")
    (folder / "parts" / "masses.py").write_text("HEIGHT = 4.0\n")
    with pytest.raises(OtherSweep, match="the file of functions"):
        swept(out, **how)
