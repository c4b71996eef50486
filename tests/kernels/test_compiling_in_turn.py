"""Two processes that meet a kernel at the same time: one compiles it, the other waits and loads it."""

import subprocess
import sys

import numpy as np
import pytest

from stickslip.kernels import jit as jit_module

pytestmark = pytest.mark.skipif(
    not jit_module.JIT or jit_module.fcntl is None, reason="nothing is compiled, or there are no locks"
)

KERNELS = """
from stickslip.kernels.jit import jit

@jit
def square(x):
    return x * x

@jit
def total(x):
    s = square(x[0]) - square(x[0])
    for k in range(x.shape[0]):
        s += square(x[k])
    return s
"""

MEET = """
import sys, time
from pathlib import Path
import numpy as np
from kernels_of_two import square, total

me, other, *types = sys.argv[1:]
Path(me).touch()
while other != "nobody" and not Path(other).exists():
    time.sleep(0.001)
values = [float(total(np.arange(4).astype(kind))) for kind in types]
misses = [sum(kernel.stats.cache_misses.values()) for kernel in (total, square)]
print(values == [14.0] * len(types), *misses)
"""


def meet(folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-c", MEET, *arguments], cwd=folder, stdout=subprocess.PIPE, text=True
    )


def said(process):
    words = process.communicate(timeout=300)[0].split()
    return words[0] == "True", int(words[1]), int(words[2])


def test_a_kernel_is_compiled_once_and_signatures_do_not_overwrite_each_other(tmp_path):
    """Both need float64; each has a type of its own besides, and each must get its own code back."""
    (tmp_path / "kernels_of_two.py").write_text(KERNELS)
    first = meet(tmp_path, "a", "b", "float64", "int64", "int8")
    second = meet(tmp_path, "b", "a", "float64", "float32", "int16")
    (right, total, square), (right_too, total_too, square_too) = said(first), said(second)
    assert right
    assert right_too
    assert total + total_too == 5
    assert square + square_too == 5
    third = meet(tmp_path, "c", "nobody", "float64", "float32", "int64", "int16", "int8")
    assert said(third) == (True, 0, 0)


HOLD = """
import fcntl, sys, time
file = open(sys.argv[1], "ab")
fcntl.lockf(file, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(600)
"""


def test_a_holder_that_hangs_or_dies_stops_nobody(tmp_path, monkeypatch):
    """While it lives it is waited for, but not for ever; a killed one holds nothing."""
    (tmp_path / "kernels_of_one.py").write_text(KERNELS)
    monkeypatch.syspath_prepend(str(tmp_path))
    from kernels_of_one import square, total

    lock = square._cache._cache_file._index_path + ".lock"
    square._cache._impl.locator.ensure_cache_path()
    holder = subprocess.Popen([sys.executable, "-c", HOLD, lock], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        monkeypatch.setattr(jit_module, "LONGEST_WAIT", 0.2)
        assert total(np.arange(3.0)) == 5.0
    finally:
        holder.kill()
        holder.communicate()
    monkeypatch.setattr(jit_module, "LONGEST_WAIT", 600.0)
    assert total(np.arange(3)) == 5
    assert square.nopython_signatures


def test_an_interrupt_while_code_is_loaded_is_not_taken_for_a_damaged_file():
    class Files:
        def load_overload(self):
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as interrupt:
                raise SystemError("returned a result with an exception set") from interrupt

        def save_overload(self):
            raise OSError("no space")

    kept = jit_module._Cache(Files())
    kept.save_overload()
    with pytest.raises(KeyboardInterrupt):
        kept.load_overload()
