"""Bodies that leave the ground or fall below everything are noted by name and time, and the run goes on."""

from dataclasses import replace

import numpy as np
import pytest

import stickslip as ss
from stickslip.schemes.step import OVERLAP

G = 9.81


def terrain(*balls, extra=(), ground=True):
    """A level field of 2 m by 2 m at z = 0, and balls: name, position and velocity."""
    b = ss.WorldBuilder(gravity=(0, 0, -G))
    if ground:
        b.body("terrain", ss.HeightField(np.zeros((3, 3)), (2.0, 2.0)), fixed=True)
    for name, shape, position in extra:
        b.body(name, shape, position=position, fixed=True)
    for name, position, velocity in balls:
        b.body(name, ss.Sphere(0.1), position=position, velocity=velocity)
    return b.build()


def test_two_rocks_that_leave_the_ground_are_noted_when_they_do():
    """They fly at 2 and 1 m/s; the edge is 1 m away."""
    world = terrain(
        ("fast", (0, 0, 3.0), (2, 0, 0)),
        ("stays", (0, -0.5, 0.1), (0, 0, 0)),
        ("slow", (0, 0.5, 4.9), (-1, 0, 0)),
    )
    run = ss.simulate(world, until=1.2, h=1e-2)
    assert run.ok.all()
    assert [note.split(" over its edge")[0] for note in run.notes] == [
        "body 'fast' left the ground of 'terrain'", "body 'slow' left the ground of 'terrain'",
    ]  # fmt: skip
    assert [float(note.split("t = ")[1].removesuffix(" s")) for note in run.notes] == pytest.approx(
        [0.51, 1.01], abs=0.011
    )
    assert all(note in str(run) for note in run.notes)


def test_the_notes_are_kept_in_the_file(tmp_path):
    run = ss.simulate(terrain(("ball", (0.99, 0, 1.0), (1, 0, 0))), until=0.05, h=1e-2)
    assert len(run.notes) == 1
    run.save(tmp_path / "run.hdf5")
    assert ss.read_trajectory(tmp_path / "run.hdf5").notes == run.notes


def test_a_body_that_starts_beside_the_ground_is_noted_at_the_start():
    run = ss.simulate(terrain(("ball", (3.0, 0, 1.0), (0, 0, 0))), until=0.02, h=1e-2)
    assert run.notes == ("body 'ball' is beside the ground of 'terrain', with nothing below it, at t = 0 s",)


def test_ground_beside_the_ground_is_ground():
    """A plane below catches what leaves the field, and so does a second field beside it."""
    rolling = ("ball", (0.9, 0, 0.5), (2, 0, 0))
    assert not ss.simulate(
        terrain(rolling, extra=[("floor", ss.Plane(), (0, 0, -1.0))]), until=0.2, h=1e-2
    ).notes
    second = ss.HeightField(np.zeros((3, 3)), (2.0, 2.0))
    assert not ss.simulate(terrain(rolling, extra=[("next", second, (2.0, 0, 0))]), until=0.2, h=1e-2).notes


def test_a_ball_that_falls_past_a_table_is_noted():
    """It passes the lowest point that the table may have, its radius below its centre, after √(2 d / g)."""
    table = ss.Cuboid((1, 1, 0.1))
    world = terrain(("ball", (2, 0, 0), (0, 0, 0)), extra=[("table", table, (0, 0, 0))], ground=False)
    run = ss.simulate(world, until=0.6, h=1e-3)
    (note,) = run.notes
    assert note.startswith("body 'ball' fell below all fixed bodies at t = ")
    assert float(note.split("t = ")[1].removesuffix(" s")) == pytest.approx(
        np.sqrt(2 * table.reach / G), abs=2e-3
    )


def test_what_hangs_on_a_joint_and_what_flies_alone_is_not_lost():
    b = ss.WorldBuilder()
    b.body("hook", ss.Sphere(0.05), fixed=True)
    b.body("bob", ss.Sphere(0.05), position=(1, 0, 0))
    b.joint("rod", "ball", "bob", "hook", point=(0, 0, 0))
    assert not ss.simulate(b.build(), until=1.0, h=1e-2).notes
    assert not ss.simulate(terrain(("ball", (0, 0, 0), (0, 0, 0)), ground=False), until=0.5, h=1e-2).notes


def test_many_bodies_are_counted():
    balls = [(f"b{k}", (0.95, -0.9 + 0.25 * (k % 8), 1.0 + 0.3 * (k // 8)), (3, 0, 0)) for k in range(24)]
    run = ss.simulate(terrain(*balls), until=0.1, h=1e-2)
    assert len(run.notes) == 21
    assert run.notes[-1] == "and so did 4 more bodies"


def test_overlaps_that_were_kept_are_noted(monkeypatch):
    """A scheme that keeps 3e-7 m in its second and third step."""
    step = ss.schemes.VariationalBodies.step
    kept = iter([0.0, 2e-7, 3e-7, 0.0])

    def overlapping(self, *given):
        found, depth = step(self, *given), next(kept)
        return replace(found, measures={OVERLAP: depth} if depth else {})

    monkeypatch.setattr(ss.schemes.VariationalBodies, "step", overlapping)
    b = ss.WorldBuilder(gravity=(0, 0, -G))
    b.body("ball", ss.Sphere(0.1))
    run = ss.simulate(b.build(), until=0.04, h=0.01, scheme="variational")
    (note,) = run.notes
    assert note.startswith("bodies overlap by up to 3.0e-07 m at the end of 2 steps, the first at t = 0.02 s")
