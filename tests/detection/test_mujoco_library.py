"""A MuJoCo that is missing, too old or half overwritten is named, with the commands that mend it."""

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType

import pytest

import stickslip
from stickslip.detection import mujoco_library
from stickslip.detection.mujoco_library import REMEDY, MujocoError, load_mujoco


def test_the_installed_mujoco_is_taken():
    assert load_mujoco().MjSpec is sys.modules["mujoco"].MjSpec


def complete(version):
    module = ModuleType("mujoco")
    module.__version__ = version
    for name in mujoco_library.NEEDED:
        setattr(module, name, None)
    return module


def installed(monkeypatch, packages):
    def version(name):
        if name not in packages:
            raise PackageNotFoundError(name)
        return packages[name]

    monkeypatch.setattr(mujoco_library, "version", version)


BOTH = {"mujoco-core": "4.0.1", "mujoco": "3.17.0"}


@pytest.mark.parametrize(
    ("module", "packages", "words"),
    [
        (complete("3.17.0"), BOTH, r"version 3\.17\.0 was imported, but 4\.0 or later.*overwrite each other"),
        (ModuleType("mujoco"), BOTH, r"incomplete: a folder without its files has no MjSpec.*overwrite each"),
        (ModuleType("mujoco"), {"mujoco-core": "4.0.1"}, r"incomplete.* Installed: mujoco-core 4\.0\.1\. To"),
        (
            complete("3.17.0"),
            {"mujoco": "3.17.0"},
            r"version 3\.17\.0.* Installed: mujoco 3\.17\.0\. To mend",
        ),
        (complete("nonsense"), BOTH, "version nonsense was imported"),
        (None, {}, "cannot be imported .*Installed: neither package. To mend it"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_remedy(monkeypatch, module, packages, words):
    monkeypatch.setitem(sys.modules, "mujoco", module)  # None: as if it were not there
    installed(monkeypatch, packages)
    with pytest.raises(MujocoError, match=words) as caught:
        load_mujoco()
    assert str(caught.value).endswith(REMEDY)


@pytest.mark.parametrize("version", ["4.0", "4.0.1", "4.1.0rc1", "10.2"])
def test_later_versions_are_taken(monkeypatch, version):
    monkeypatch.setitem(sys.modules, "mujoco", complete(version))
    assert load_mujoco().__version__ == version


SPHERE = """
import stickslip as ss
builder = ss.WorldBuilder()
builder.body("floor", ss.Plane(), fixed=True)
builder.body("ball", ss.Sphere(0.5), position=(0, 0, 1.0))
print(ss.simulate(builder.build(), until=0.01, h=1e-3).steps)
ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
print(ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=0.01, h=1e-3).steps)
problem = ss.ContactProblem([[1.0]], [-1.0], ss.problem.nonnegative(1))
print(ss.solve(problem).r)
builder = ss.WorldBuilder()
builder.body("weight", mass=1.0, inertia=(1.0, 1.0, 1.0))
builder.body("floor", ss.Plane(), fixed=True)
print(ss.simulate(builder.build(), until=0.01, h=1e-3).steps)
"""
BOX = """
import stickslip as ss
builder = ss.WorldBuilder()
builder.body("box", ss.Cuboid((1, 1, 1)))
ss.simulate(builder.build(), until=0.01, h=1e-3)
"""


def with_broken(folder, *arguments):
    """Python without compilation, in which `import mujoco` fails as it does beside half of version 3."""
    package = folder / "mujoco"
    package.mkdir(exist_ok=True)
    (package / "__init__.py").write_text(
        "raise OSError('libmujoco.so.3.17.0: cannot open shared object file')\n"
    )
    paths = os.pathsep.join((str(folder), str(Path(stickslip.__file__).parents[1])))
    env = os.environ | {"PYTHONPATH": paths, "STICKSLIP_JIT": "0"}
    command = [sys.executable, *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=False)


def test_spheres_equations_and_problems_need_no_mujoco(tmp_path):
    done = with_broken(tmp_path, "-c", SPHERE)
    assert done.stdout.split("\n")[:4] == ["10", "10", "[1.]", "10"], done.stderr


def test_a_box_says_what_to_install(tmp_path):
    done = with_broken(tmp_path, "-c", BOX)
    assert "MujocoError: shapes other than spheres and planes need MuJoCo" in done.stderr
    assert "libmujoco.so.3.17.0" in done.stderr
    assert REMEDY in done.stderr


def test_the_command_line_says_so_in_one_line(tmp_path):
    done = with_broken(tmp_path, "-m", "stickslip", "run", "stack", "--until", "0.01")
    assert done.returncode == 2
    assert done.stderr.startswith("stickslip: shapes other than spheres")
    assert done.stderr.count("\n") == 1
