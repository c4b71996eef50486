"""The store keeps records for one user: whole, bounded, and from nobody else."""

import os
import stat
import subprocess
import sys
import time

import pytest

from stickslip.compilation import JIT

if not JIT:
    pytest.skip("nothing is compiled", allow_module_level=True)

from stickslip.compilation import store as store_module
from stickslip.compilation.store import Store

KEY, OTHER = "ab" * 32, "cd" * 32
posix = pytest.mark.skipif(not hasattr(os, "getuid"), reason="permissions of POSIX")


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "cache" / "kernels")


def test_what_is_written_is_read_by_another_process(store):
    assert store.read(KEY) is None
    store.write(KEY, b"code")
    assert store.read(KEY) == b"code"
    assert Store(store.folder).read(KEY) == b"code"
    assert Store(store.folder).read(OTHER) is None


@pytest.mark.parametrize(
    "damage", [lambda x: x[:20], lambda x: b"", lambda x: x[:-1], lambda x: x[:-1] + b"!"]
)
def test_a_damaged_record_is_none(store, damage):
    store.write(KEY, b"some code")
    path = store._path(KEY)
    path.write_bytes(damage(path.read_bytes()))
    assert store.read(KEY) is None
    store.write(KEY, b"some code")
    assert store.read(KEY) == b"some code"


@posix
def test_folders_are_the_users_alone_and_others_are_not_trusted(store):
    store.write(KEY, b"code")
    path = store._path(KEY)
    for at in (store.folder, path.parent):
        assert stat.S_IMODE(at.stat().st_mode) == 0o700
    for at in (store.folder, path.parent, path):
        mode = stat.S_IMODE(at.stat().st_mode)
        at.chmod(0o777)
        assert Store(store.folder).read(KEY) is None, "code was loaded that others could have written"
        if at.is_dir():
            Store(store.folder).write(OTHER if at == store.folder else KEY, b"more")
            assert not store._path(OTHER).exists()
        at.chmod(mode)
    assert Store(store.folder).read(KEY) == b"code"


def test_without_a_place_nothing_is_kept_and_nothing_fails(tmp_path):
    (tmp_path / "file").write_text("a file where a folder should be")
    store = Store(tmp_path / "file" / "kernels")
    store.write(KEY, b"code")
    assert store.read(KEY) is None
    with store.turn(KEY):
        pass
    assert store.clear() == (0, 0)


def test_the_oldest_go_when_there_is_too_much(store, monkeypatch):
    monkeypatch.setattr(store_module, "MOST_BYTES", 1000)
    for k in range(9):
        store.write(f"{k:064x}", bytes(100))
        os.utime(store._path(f"{k:064x}"), (k + 1.0, k + 1.0))
    store._since = 0  # the size is looked at now and then only
    store.write("f" * 64, bytes(100))
    left = {path.stem for _, _, path in store.files()}
    assert "f" * 64 in left
    assert sum(size for _, size, _ in store.files()) <= 750
    assert f"{0:064x}" not in left
    assert f"{8:064x}" in left


def test_a_record_that_is_read_counts_as_used(store):
    store.write(KEY, b"code")
    os.utime(store._path(KEY), (1.0, 1.0))
    store.read(KEY)
    assert store._path(KEY).stat().st_mtime > time.time() - 60


def test_clear_removes_everything_and_says_how_much(store):
    store.write(KEY, b"code")
    store.write(OTHER, b"code")
    count, size = store.clear()
    assert count == 2
    assert size > 8
    assert store.read(KEY) is None
    store.write(KEY, b"code")
    assert store.read(KEY) == b"code"


HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "ab")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(store_module.fcntl is None, reason="no locks of POSIX")
def test_a_holder_that_hangs_or_dies_stops_nobody(store, monkeypatch):
    with store.turn(KEY):
        pass
    lock = store._path(KEY).parent / "lock"
    holder = subprocess.Popen([sys.executable, "-c", HOLD, lock], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        monkeypatch.setattr(store_module, "LONGEST_WAIT", 0.2)
        with store.turn(KEY):
            pass
    finally:
        holder.kill()
        holder.communicate()
    monkeypatch.setattr(store_module, "LONGEST_WAIT", 600.0)
    with store.turn(KEY):
        pass
