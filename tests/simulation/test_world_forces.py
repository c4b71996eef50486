"""Forces in trajectories of worlds: what the table says is what moved the bodies, and the same twice."""

import csv

import numpy as np
import pytest
from world_runs import CONTACTS, equal

import stickslip as ss
from stickslip.files.runs import trajectory_content

H, G = 2e-3, np.array([0.0, 0.0, -9.81])


def sled():
    """A box slides on a floor and carries another; a third falls on them later."""
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("sled", ss.Cuboid((0.4, 0.4, 0.1)), position=(0, 0, 0.05), velocity=(0.5, 0, 0), mass=3.0)
    builder.body("load", ss.Cuboid((0.1, 0.1, 0.1)), position=(0, 0, 0.15), velocity=(0.5, 0, 0), mass=1.0)
    builder.body("late", ss.Cuboid((0.1, 0.1, 0.1)), position=(0.01, 0, 0.253), mass=0.5)
    return builder.build()


@pytest.fixture(scope="module")
def world():
    return sled()


@pytest.fixture(scope="module")
def run(world):
    return ss.simulate(world, until=0.06, h=H)


def test_contact_forces_are_the_change_of_momentum(world, run):
    found = ss.simulate(world, until=0.06, h=H, forces="solver")
    # The load is about to slide: velocities are known to the tolerance alone, and forces to m / H of it.
    for one, error in ((found, 1e-7), (run, 2e-4)):
        for k, name in enumerate(one.model.names[1:], 1):
            change = one.model.mass[k] * (np.diff(one.body(name).centre_velocity, axis=0) / H - G)
            np.testing.assert_allclose(one.forces_on(name)[1:], change, rtol=1e-9, atol=error)
        together = sum(one.forces_on(name) for name in one.model.names)
        np.testing.assert_allclose(together, 0.0, atol=1e-9)


def test_the_table_adds_up_and_tells_who_slides(run, tmp_path):
    table = run.contact_table("sled")
    assert set(table.body) == {"sled"}
    assert {"floor", "load"} <= set(table.other)
    for k in (1, 7, 30):
        rows = table.t == run.t[k]
        np.testing.assert_allclose(table.force[rows].sum(axis=0), run.forces_on("sled")[k], atol=1e-9)
    np.testing.assert_allclose(np.einsum("ki,ki->k", table.force, table.normal), table.normal_force)
    assert (table.normal_force >= 0.0).all()
    floor = (table.other == "floor") & (table.normal_force > 1e-6)
    assert set(table.state[floor]) == {"slipping"}
    np.testing.assert_allclose(table.friction_force[floor], 0.5 * table.normal_force[floor], rtol=1e-6)
    everything = run.contact_table()
    assert len(everything) == 2 * len(run.contacts)
    assert "sled" in str(everything)
    table.write_csv(tmp_path / "table.csv")
    with (tmp_path / "table.csv").open() as file:
        lines = list(csv.reader(file))
    assert len(lines) == len(table) + 1
    assert [float(x) for x in lines[1][10:13]] == table.force[0].tolist()
    assert lines[0][10] == "force_x [N]"


def test_the_same_run_twice_and_after_save_and_resume(world, run, tmp_path):
    assert trajectory_content(ss.simulate(sled(), until=0.06, h=H)) == trajectory_content(run)
    ss.simulate(world, until=0.03, h=H).save(tmp_path / "half.h5")
    start = ss.read_trajectory(tmp_path / "half.h5").checkpoint()
    rest = ss.simulate(world, until=0.06, start=start)
    own = ("h", "natural", "natural_scaled", "iterations", "penetration", "correction")  # of the step before
    equal(run, rest, slice(15, None), but=own)
    for name in CONTACTS:
        np.testing.assert_array_equal(
            getattr(run.contacts, name)[run.contacts.offset[16] :], getattr(rest.contacts, name)
        )
    for name, value in run.memory.items():
        np.testing.assert_array_equal(value, rest.memory[name])


def test_every_step_is_certified(run):
    assert run.ok.all()
    assert run.natural_scaled.max() <= 1e-8
    assert run.iterations.sum() > 0
    np.testing.assert_allclose(
        run.energy + run.dissipated - run.work - run.lifted, run.energy[0] + run.balance
    )
    assert np.abs(run.balance).max() < 1e-12 * run.energy[0] * len(run)
