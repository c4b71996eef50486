"""Old names work, warn where they are used, and say the new ones."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip import renames, scenes
from stickslip.schemes import registry

HERE = Path(__file__).resolve()


def at(place):
    """What stands at a dotted place."""
    module, _, name = place.removeprefix("stickslip.").rpartition(".")
    return getattr(getattr(ss, module) if module else ss, name)


@pytest.mark.parametrize("old", sorted(renames.PLACES))
def test_old_places_give_what_is_at_the_new_ones(old):
    new = renames.PLACES[old]
    with pytest.warns(
        renames.RenamedWarning, match=f"^{old} is now {new}; the next version removes the old name"
    ) as caught:
        found = getattr(ss, old.removeprefix("stickslip."))
    assert found is at(new)
    assert [warning.filename for warning in caught] == [str(HERE)]


@pytest.mark.parametrize("old", sorted(renames.PLACES))
def test_the_changelog_has_a_row_for_every_old_name(old):
    text = (HERE.parents[1] / "CHANGELOG.md").read_text()
    (row,) = re.findall(rf"^\| .*`{old.replace('stickslip', 'ss')}`.* \| (.*) \|$", text, re.MULTILINE)
    place, _, name = renames.PLACES[old].replace("stickslip", "ss").rpartition(".")
    assert row in (f"the same names in `{place}`", f"`{place}.{name}`")


def test_old_names_are_not_among_the_public_ones():
    assert not {f"stickslip.{name}" for name in (*ss.__all__, *dir(ss))} & set(renames.PLACES)


def world():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("ball", ss.Sphere(0.5), position=(0, 0, 0.51))
    return builder.build()


@pytest.mark.parametrize("old", sorted(renames.SCHEMES_OF_WORLDS))
def test_old_schemes_of_worlds(old):
    now = ss.simulate(world(), until=0.1, h=0.01)
    with pytest.warns(renames.RenamedWarning, match=f"{old}' is now 'moreau-jean-semi-explicit'") as caught:
        then = ss.simulate(world(), until=0.1, h=0.01, scheme=old)
    assert [warning.filename for warning in caught] == [str(HERE)]
    assert then.scheme == now.scheme == "moreau-jean-semi-explicit"
    np.testing.assert_array_equal(then.q, now.q)


def test_runs_in_old_files_are_read_and_resumed():
    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(2, 0, 0))
    builder.body("ball", ss.Sphere(0.2), position=(2, 0, 1.0))
    builder.joint("pin", "hinge", "ball", point=(2, 0, 1.5), axis=(0, 1, 0))
    builder.sensor(ss.sensors.PositionSensor("place β", "ball"))
    old = ss.read_trajectory(Path(__file__).parent / "files" / "old" / "world.h5")
    assert old.scheme == "moreau-jean-semi-explicit"
    assert len(old.contact_table()), "so that what the scheme remembers matters"
    both = ss.simulate(builder.build(), until=0.04, start=old.checkpoint())
    np.testing.assert_allclose(both.v[-1], ss.simulate(builder.build(), until=0.04, h=1e-3).v[-1], atol=1e-9)


def test_the_theta_scheme_of_systems_keeps_its_name():
    ball = ss.NonsmoothSystem([ss.Lagrangian("ball", M=1.0, q0=1.0)])
    assert ss.simulate(ball, until=0.1, h=0.1, scheme="moreau-jean").scheme == "moreau-jean"
    assert registry.entry("moreau-jean").order == "second"


@pytest.mark.parametrize("old", sorted(renames.SCENES))
def test_old_scenes(old):
    with pytest.warns(renames.RenamedWarning, match=f"the scene '{old}' is now '{old}-problem'"):
        then = scenes.make(old)
    assert ss.fingerprint(then) == ss.fingerprint(scenes.make(f"{old}-problem"))


def test_the_old_option_of_a_solver():
    problem = ss.problem.lcp([[2.0, 1.0], [1.0, 2.0]], [-1.0, -1.0])
    with pytest.warns(renames.RenamedWarning, match="the option of pgs 'omega' is now 'relaxation'"):
        then = ss.solve(problem, "pgs", omega=1.3)
    now = ss.solve(problem, ss.solvers.ProjectedGaussSeidel(relaxation=1.3))
    np.testing.assert_array_equal(then.r, now.r)


def test_the_old_catalogue_of_runs():
    with pytest.warns(renames.RenamedWarning, match=r"stickslip\.scenes\.runs is now stickslip\.scenes"):
        from stickslip.scenes import runs
    assert runs.make is scenes.make


def test_the_old_argument_of_body_forces():
    def pushed(force):
        builder = ss.WorldBuilder()
        builder.body("ball", ss.Sphere(0.5), spin=(0, 0, 2))
        builder.force(ss.forces.BodyForce("push", "ball", force=force))
        return ss.simulate(builder.build(), until=0.1, h=0.01)

    with pytest.warns(renames.RenamedWarning, match="the argument of force 'omega' is now 'spin'"):
        then = pushed(lambda omega, t: omega + t)
    np.testing.assert_array_equal(then.q, pushed(lambda spin, t: spin + t).q)


def test_scripts_see_the_warning_at_their_own_line(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("import stickslip as ss\n\nss.lcp\n")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert f"{script}:3: RenamedWarning: stickslip.lcp is now stickslip.problem.lcp" in done.stderr
