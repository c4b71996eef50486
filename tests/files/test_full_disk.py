"""Whatever cannot be written whole is named as the user named it, and leaves nothing behind."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import stickslip

resource = pytest.importorskip("resource", reason="no limits of file sizes here")

WRITERS = """
import os, resource, signal, sys
import matplotlib.figure
import stickslip as ss
from stickslip.view import export_html, plot_energy
from stickslip.view.style import save

builder = ss.WorldBuilder()
builder.body("floor", ss.Plane(), fixed=True)
builder.body("ball", ss.Sphere(0.5), position=(0, 0, 0.5))
world = ss.simulate(builder.build(), until=2e-3, h=1e-3)
ball = ss.Lagrangian("ball", M=1.0, q0=1.0)
run = ss.simulate(ss.NonsmoothSystem([ball]), until=0.2, h=0.1)
problem = ss.problem.lcp([[1.0]], [-1.0])
writers = {
    "problem.hdf5": lambda place: ss.write(place, problem),
    "problem.dat": lambda place: ss.write(place, problem),
    "run.h5": run.save,
    "world.h5": world.save,
    "energy.svg": lambda place: plot_energy(world, place),
    "plot.png": lambda place: save(matplotlib.figure.Figure, place),
    "world.html": lambda place: export_html(world, place),
    "contacts.csv": world.contact_table().write_csv,
}
# A limit of zero bytes is met as a full disk is: in the middle of writing.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
for name, write in writers.items():
    try:
        write(name)
        print(name, "written")
    except Exception as error:
        sys.stdout.write(f"{name}: {error}\\n")
print(sorted(name for name in os.listdir(".") if name != "contacts.csv"))
"""


def test_the_file_of_the_user_is_named_and_no_draft_stays(tmp_path):
    env = os.environ | {"PYTHONPATH": str(Path(stickslip.__file__).parents[1]), "STICKSLIP_JIT": "0"}
    command = [sys.executable, "-c", WRITERS]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    *said, left = done.stdout.splitlines() or [""]
    assert len(said) == 8, done.stderr
    for line in said:
        name, _, message = line.partition(": ")
        assert name in message
        assert "File too large" in message
        assert "draft" not in message
    assert left == "[]"
