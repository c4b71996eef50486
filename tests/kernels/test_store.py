"""Compiled kernels of an installed package are kept away from it, where only its user can write."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import stickslip
from stickslip.kernels.jit import JIT

pytestmark = [
    pytest.mark.skipif(not JIT, reason="nothing is compiled"),
    pytest.mark.skipif(sys.platform != "linux", reason="the cache folder is that of XDG"),
]

KERNEL = """
import sys
sys.path.insert(0, sys.argv[1])
import stickslip.kernels.jit, pocket_kernels as kernels
assert kernels.half(3.0) == 1.5
print(len(kernels.half.stats.cache_hits))
"""
MODULE = """
from stickslip.kernels.jit import jit

@jit
def half(x):
    return 0.5 * x
"""


@pytest.fixture
def place(tmp_path):
    """A folder to which a module with a kernel is installed."""
    folder = tmp_path / "lib" / "site-packages"
    folder.mkdir(parents=True)
    (folder / "pocket_kernels.py").write_text(MODULE)
    return folder


def hits(place, cache, **more):
    """How many kernels of the module were loaded from disk and not compiled."""
    env = {key: value for key, value in os.environ.items() if key != "NUMBA_CACHE_DIR"}
    env |= {"XDG_CACHE_HOME": str(cache), "STICKSLIP_JIT": "1", **more}
    env["PYTHONPATH"] = str(Path(stickslip.__file__).parents[1])
    command = [sys.executable, "-c", KERNEL, str(place)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def kernels_in(folder):
    return sorted(path.name for path in folder.rglob("*.nb[ci]"))


def test_nothing_is_left_beside_an_installed_module(place, tmp_path):
    cache = tmp_path / "cache"
    assert hits(place, cache) == 0
    assert kernels_in(place) == []
    assert len(kernels_in(cache / "stickslip")) == 2
    for folder in (cache / "stickslip", *(cache / "stickslip").iterdir()):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert hits(place, cache) == 1


def test_the_folder_of_numba_is_taken_where_it_is_given(place, tmp_path):
    given = tmp_path / "given"
    assert hits(place, tmp_path / "cache", NUMBA_CACHE_DIR=str(given)) == 0
    assert len(kernels_in(given)) == 2
    assert not (tmp_path / "cache").exists()


def test_a_folder_that_others_can_write_to_is_not_used(place, tmp_path):
    cache = tmp_path / "cache" / "stickslip"
    assert hits(place, cache.parent) == 0
    (inner,) = cache.iterdir()
    for folder in (cache, inner):
        folder.chmod(0o777)
        assert hits(place, cache.parent) == 0, "the stored code was loaded"
        folder.chmod(0o700)
    assert hits(place, cache.parent) == 1


def test_without_a_place_nothing_is_kept(place, tmp_path):
    blocked = tmp_path / "cache"
    blocked.write_text("a file where a folder should be")
    assert hits(place, blocked) == 0
    assert kernels_in(tmp_path) == []


def test_a_checkout_keeps_its_kernels_beside_its_modules(place, tmp_path):
    checkout = tmp_path / "checkout"
    shutil.copytree(place, checkout)
    assert hits(checkout, tmp_path / "cache") == 0
    assert len(kernels_in(checkout)) == 2
    assert hits(checkout, tmp_path / "cache") == 1
    assert not (tmp_path / "cache").exists()
