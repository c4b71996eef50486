"""Equations of worlds in files: the same numbers and the same runs, functions by name, mistakes by place."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.systems import Coupling, FirstOrderLinearRelation


def world():
    builder = ss.WorldBuilder()
    builder.body("table", ss.Cuboid((2.0, 2.0, 0.2)), fixed=True)
    builder.body("box", ss.Cuboid((0.2, 0.2, 0.1)), position=(0.0, 0.0, 0.15), velocity=(1.0, 0.0, 0.0))
    builder.body("wheel", ss.Sphere(0.1), position=(0.0, 0.0, 2.0))
    builder.joint("axle", "hinge", "wheel", point=(0.0, 0.0, 2.0), axis=(0.0, 0.0, 1.0))
    return builder.build()


def torque(v):
    return np.array([-v[1], v[0]])


def driven():
    """A coil with a diode, whose current turns the wheel."""
    coil = ss.FirstOrderLinear("coil", M=0.1, A=-1.0, b=2.0, x0=[0.0])
    series = FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]])
    diode = ss.Interaction("diode", "coil", series, ss.laws.Complementarity())
    motor = Coupling("motor", ("coil", "axle"), torque)
    return world().as_system(systems=[coil], interactions=[diode], couplings=[motor])


@pytest.mark.parametrize("ending", [".toml", ".json"])
def test_what_is_read_makes_the_same_run(tmp_path, ending):
    place, functions = tmp_path / f"driven{ending}", {"torque": torque}
    ss.save(driven(), place, functions=functions)
    read = ss.load(place, functions=functions)
    assert [one.name for one in read.interactions] == [one.name for one in driven().interactions]
    runs = [ss.simulate(model, until=0.03, h=0.01) for model in (driven(), read)]
    assert np.array_equal(runs[0].q, runs[1].q)
    assert runs[0].system("coil").x[-1, 0] > 0.1


def test_a_run_goes_on_by_its_file(tmp_path):
    whole = ss.simulate(world().as_system(), until=0.06, h=0.01)
    ss.simulate(world().as_system(), until=0.03, h=0.01, out=tmp_path / "run.h5")
    run = ss.read_trajectory(tmp_path / "run.h5")
    rest = ss.simulate(run.source, until=0.06, start=run.checkpoint())
    assert np.array_equal(rest.q[-1], whole.q[-1])


def test_what_cannot_be_written_or_read_is_named(tmp_path):
    place = tmp_path / "driven.toml"
    with pytest.raises(ss.ModelError, match="coupling 'motor': force is the function 'torque'"):
        ss.save(driven(), place)
    ss.save(driven(), place, functions={"torque": torque})
    with pytest.raises(ss.files.ModelFileError, match=r"couplings\[0\].force: is the function 'torque'"):
        ss.load(place)
    good = place.read_text()
    for old, new, words in (
        ('systems = ["coil", "axle"]', 'systems = ["coil", "axel"]', r"couplings\[0\].*axel"),
        ("size = [2.0, 2.0, 0.2]", "size = [2.0, -2.0, 0.2]", r"world.bodies\[0\].shape.size"),
        ('first = "wheel"', 'first = "weel"', r"world.joints\[0\].*unknown body 'weel'"),
        ("[world]", "[wrld]", "world.version: is missing"),
    ):
        assert old in good
        place.write_text(good.replace(old, new))
        with pytest.raises(ss.files.ModelFileError, match=words):
            ss.load(place, functions={"torque": torque})
