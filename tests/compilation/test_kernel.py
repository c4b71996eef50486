"""Kernels compiled once: for every clone, every process and every caller, with the bits of plain Python."""

import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

import stickslip
from stickslip.compilation import JIT
from stickslip.compilation.record import is_called
from stickslip.compilation.store import Store

if not JIT:
    pytest.skip("nothing is compiled", allow_module_level=True)

KERNELS = """
import numpy as np
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

@jit
def applied(function, x):
    return function(x) + function(2.0)

@jit
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)

@jit
def checked(x):
    if x < 0.0:
        raise ValueError("negative")
    return np.sqrt(np.array([x, 4.0]))
"""


def python(folder, script, *arguments, **env):
    """What a new process prints that finds `kernels_here` in `folder`."""
    package = Path(stickslip.__file__).parents[1]
    env = {**os.environ, "STICKSLIP_JIT": "1", "PYTHONPATH": f"{folder}{os.pathsep}{package}", **env}
    command = [sys.executable, "-W", "error", "-c", script, *arguments]
    return subprocess.Popen(
        command, env=env, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(process):
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.split()


@pytest.fixture
def place(tmp_path):
    folder = tmp_path / "one"
    folder.mkdir()
    (folder / "kernels_here.py").write_text(KERNELS)
    return folder


MEET = """
import sys, time
from pathlib import Path
import numpy as np
from kernels_here import total

me, other, *types = sys.argv[1:]
Path(me).touch()
while other != "nobody" and not Path(other).exists():
    time.sleep(0.001)
values = [float(total(np.arange(4).astype(kind))) for kind in types]
print(values == [14.0] * len(types), sum(total.stats.cache_misses.values()))
"""


def test_two_processes_that_meet_a_kernel_compile_it_once(place, tmp_path):
    cache = str(tmp_path / "cache")
    first = python(place, MEET, "a", "b", "float64", "int64", "int8", NUMBA_CACHE_DIR=cache)
    second = python(place, MEET, "b", "a", "float64", "float32", "int16", NUMBA_CACHE_DIR=cache)
    (right, misses), (right_too, misses_too) = said(first), said(second)
    assert right == right_too == "True"
    assert int(misses) + int(misses_too) == 5
    types = ("float64", "float32", "int64", "int16", "int8")
    assert said(python(place, MEET, "c", "nobody", *types, NUMBA_CACHE_DIR=cache)) == ["True", "0"]


def test_another_clone_loads_and_a_change_of_source_compiles(place, tmp_path):
    cache = str(tmp_path / "cache")
    assert said(python(place, MEET, "a", "nobody", "float64", NUMBA_CACHE_DIR=cache)) == ["True", "1"]
    clone = tmp_path / "two"
    clone.mkdir()
    (clone / "kernels_here.py").write_text(KERNELS)
    os.utime(clone / "kernels_here.py", (1.0, 1.0))
    assert said(python(clone, MEET, "a", "nobody", "float64", NUMBA_CACHE_DIR=cache)) == ["True", "0"]
    (clone / "kernels_here.py").write_text(KERNELS.replace("return x * x", "return x * x + 0.0 * x"))
    assert said(python(clone, MEET, "a", "nobody", "float64", NUMBA_CACHE_DIR=cache)) == ["True", "1"]


USES = """
import pickle, threading
import numba
import numpy as np
import kernels_here as here
from kernels_here import applied, checked, factorial, square, total

print(applied(square, 3.0), factorial(5))                        # a kernel as an argument; recursion
try:
    checked(-1.0)
except ValueError as error:
    print(error)
print(checked(9.0).tolist()[0])

@numba.njit
def own(x):                                                      # a user's function around kernels
    return total(x) + square(2.0) + factorial(3)

print(own(np.arange(3.0)), own(np.arange(3)))
print(square(2.0), square(3), square(np.float32(1.5)))           # a callee that Python calls after its caller
print(pickle.loads(pickle.dumps(total)) is total)
x = [None, None]
def work(k):
    x[k] = factorial(k + 6)
threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
[t.start() for t in threads], [t.join() for t in threads]
print(*x)
"""


def test_kernels_are_used_in_every_way_from_an_empty_and_from_a_full_store(place, tmp_path):
    expected = ["13.0", "120", "negative", "3.0", "15.0", "15.0", "4.0", "9", "2.25", "True", "720", "5040"]
    for _ in range(3):
        assert said(python(place, USES, NUMBA_CACHE_DIR=str(tmp_path / "cache"))) == expected


ORDERS = """
import sys
import numpy as np
import kernels_here as here
for name in sys.argv[1:]:
    kernel = getattr(here, name)
    arguments = {"applied": (here.square, 3.0), "total": (np.arange(4.0),)}.get(name, (3.0,))
    value = kernel(*arguments)
    print(value if np.ndim(value) == 0 else value[0])
"""


def test_code_of_one_process_is_linked_into_that_of_another(place, tmp_path):
    """Numba numbers functions by the order in which a process meets them; names in stored code do not."""
    cache = str(tmp_path / "cache")
    right = {"checked": str(3.0**0.5), "square": "9.0", "total": "14.0", "applied": "13.0"}
    for order in ("square checked", "checked total", "total applied square", "applied checked total square"):
        names = order.split()
        assert said(python(place, ORDERS, *names, NUMBA_CACHE_DIR=cache)) == [right[name] for name in names]


READ_ONLY = """
import numpy as np
from stickslip.kernels.jit import jit
from kernels_here import fill, fill_row, swap, total
x = np.arange(4.0)
total(x)
x.flags.writeable = False
print(total(x), len(total.signatures), sum(total.stats.cache_misses.values()))
for kernel in (fill, fill_row, swap):
    try:
        kernel(x, np.zeros(4)) if kernel is swap else kernel(x.reshape(2, 2) if kernel is fill_row else x)
    except TypeError as error:
        print(str(error).split("`")[1])
fill(np.zeros(4))
y = np.zeros(4)
swap(y, x)
print(y.sum())
"""

WRITERS = """

@jit
def fill(out):
    for k in range(out.shape[0]):
        out[k] = 1.0

@jit
def fill_row(table):
    row = table[1]
    fill(row)

@jit
def swap(to, source):
    part = to[:2] if source[0] == 0.0 else to[1:3]
    part[:] = source[2:]
"""


def test_one_signature_serves_read_only_arrays_and_no_kernel_writes_to_them(place, tmp_path):
    (place / "kernels_here.py").write_text(KERNELS + WRITERS)
    expected = ["14.0", "1", "1", "out", "table", "to", "5.0"]
    assert said(python(place, READ_ONLY, NUMBA_CACHE_DIR=str(tmp_path / "cache"))) == expected
    expected[2] = "0"
    assert said(python(place, READ_ONLY, NUMBA_CACHE_DIR=str(tmp_path / "cache"))) == expected


def test_other_versions_of_numba_use_their_own_compilation(place, tmp_path):
    script = "from stickslip.compilation import kernel; kernel.ONCE = False\n" + MEET
    cache = str(tmp_path / "cache")
    assert said(python(place, script, "a", "nobody", "float64", NUMBA_CACHE_DIR=cache)) == ["True", "1"]
    assert said(python(place, script, "a", "nobody", "float64", NUMBA_CACHE_DIR=cache)) == ["True", "0"]


def test_a_user_without_a_cache_folder_compiles(place, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    cache = str(tmp_path / "file")
    for _ in range(2):
        assert said(python(place, MEET, "a", "nobody", "float64", NUMBA_CACHE_DIR=cache)) == ["True", "1"]


PACK = """
import sys
from pathlib import Path
import numpy as np
from stickslip.compilation import packs, store
from kernels_here import total
assert total(np.arange(4.0)) == 14.0
kept = store.user_store()
records = {path.stem: kept.read(path.stem) for _, _, path in kept.files()}
packs.write(Path(sys.argv[1]), records)
print(len(records))
"""

LOAD = """
import sys
from pathlib import Path
import numpy as np
from stickslip.compilation import packs, target
packs.FOLDER = Path(sys.argv[1])
from kernels_here import total
print(total(np.arange(4.0)), sum(total.stats.cache_misses.values()), len(packs.shipped()))
"""


def test_a_pack_made_for_a_generic_processor_is_loaded_without_compilation(place, tmp_path):
    from stickslip.compilation import target

    level = target.levels_of_host()[0]
    pack = tmp_path / "packs" / f"{level}.pack"
    build = {"NUMBA_CACHE_DIR": str(tmp_path / "build"), "NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": ""}
    assert said(python(place, PACK, str(pack), **build)) == ["3"]

    def loaded(use, before=""):
        """(result, compiled kernels, packs) of a process with a store of its own."""
        return said(python(place, before + LOAD, str(pack.parent), NUMBA_CACHE_DIR=str(tmp_path / use)))

    assert loaded("use") == ["14.0", "0", "1"]
    for k, version in enumerate(("numba.__version__ += '1'", "llvmlite.__version__ += '1'")):
        assert loaded(f"other{k}", f"import numba, llvmlite; {version}\n") == ["14.0", "1", "1"], version
    content = pack.read_bytes()
    flipped = bytearray(content)
    for at in range(200, len(flipped), 97):  # behind the index, in every record
        flipped[at] ^= 1
    for k, (damaged, packs) in enumerate(
        ((content[:30], "0"), (content[: len(content) // 9], "1"), (bytes(flipped), "1"), (b"none", "0"))
    ):
        pack.write_bytes(damaged)
        assert loaded(f"damaged{k}") == ["14.0", "1", packs]
    pack.write_bytes(content)
    pack.chmod(0o666)
    assert loaded("use")[2] == "0", "others could have written it"


TERMINAL = """
import sys
import numpy as np
from stickslip.compilation import notice
notice.AFTER = -1.0
class Terminal:
    text = ""
    def isatty(self): return True
    def fileno(self): return 0
    def write(self, text): Terminal.text += text
    def flush(self): pass
import os
os.get_terminal_size = lambda number: os.terminal_size((200, 20))
sys.stderr = Terminal()
from kernels_here import total
total(np.arange(3.0))
shown = Terminal.text
total(np.arange(3.0))
with notice.silent():
    total(np.arange(3))
print("compiling" in shown, "kernels_here.square" in shown)
print(shown.endswith("\\r\\x1b[2K"), shown == Terminal.text)
"""


def test_a_terminal_is_told_what_is_compiled_and_left_as_it_was(place, tmp_path):
    assert said(python(place, TERMINAL, NUMBA_CACHE_DIR=str(tmp_path / "cache"))) == ["True"] * 4
    assert said(python(place, TERMINAL, NUMBA_CACHE_DIR=str(tmp_path / "cache")))[0] == "False"


def test_an_interrupt_while_code_is_loaded_is_not_taken_for_a_damaged_record():
    from stickslip.compilation.store import unless_broken

    def load():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as interrupt:
            raise SystemError("returned a result with an exception set") from interrupt

    def save():
        raise OSError("no space")

    assert unless_broken(save) is None
    with pytest.raises(KeyboardInterrupt):
        unless_broken(load)


CALLEE = """
import numpy as np
from kernels_here import square, total
import sys
print(total(np.arange(4.0)) if sys.argv[1] == "total" else square(3.0))
"""


def test_a_callee_of_one_process_is_called_by_python_in_another(place, tmp_path):
    """Its code for callers is kept: only a wrapper is made, without Numba's compiler having run before."""
    cache = str(tmp_path / "cache")
    assert said(python(place, CALLEE, "total", NUMBA_CACHE_DIR=cache)) == ["14.0"]
    assert said(python(place, CALLEE, "square", NUMBA_CACHE_DIR=cache)) == ["9.0"]


HANDED = """

@jit
def doubled(x):
    return applied(square, x)
"""

HAND = """
from kernels_here import doubled
print(doubled(3.0), sum(doubled.stats.cache_misses.values()))
"""


@pytest.mark.parametrize("once", ["", "from stickslip.compilation import kernel; kernel.ONCE = False"])
def test_a_kernel_that_hands_a_kernel_to_another_is_kept(place, tmp_path, once):
    (place / "kernels_here.py").write_text(KERNELS + HANDED)
    for misses in ("1", "0"):
        found = said(python(place, f"{once}\n{HAND}", NUMBA_CACHE_DIR=str(tmp_path / "cache")))
        assert found == ["13.0", misses]


NAMED = """
from typing import NamedTuple

class Pair(NamedTuple):
    one: float
    all: np.ndarray

@jit
def slow(n):
    s = 0.0
    for k in range(n):
        s += 1.0 / (1.0 + k)
    return Pair(s, np.array([s])), Pair(s, np.array([s]))
"""

SIGNAL = """
import signal, sys, time
from kernels_here import Pair, slow

def come(number, frame):
    raise KeyboardInterrupt

pair, _ = slow(10)
assert type(pair) is Pair and pair.one == pair.all[0]
signal.signal(signal.SIGALRM, come)
for wait in (0.02, 0.05, 0.08):
    try:
        signal.setitimer(signal.ITIMER_REAL, wait)
        slow(300_000_000)
    except KeyboardInterrupt:
        print("raised")
"""


@pytest.mark.parametrize("once", ["", "from stickslip.compilation import kernel; kernel.ONCE = False"])
def test_a_signal_during_a_kernel_that_returns_named_tuples_is_raised_after_it(place, tmp_path, once):
    (place / "kernels_here.py").write_text(KERNELS + NAMED)
    for _ in range(2):
        found = said(python(place, f"{once}\n{SIGNAL}", NUMBA_CACHE_DIR=str(tmp_path / "cache")))
        assert found == ["raised"] * 3


EDIT = """
import time
from pathlib import Path
import numpy as np
import kernels_here

time.sleep(0.1)  # times of files are coarse
file = Path(kernels_here.__file__)
file.write_text(file.read_text().replace("return x * x", "return x * x * x"))
print(kernels_here.total(np.array([1.0, 2.0])))
"""


def test_code_of_a_file_edited_after_its_import_is_not_kept_as_that_of_the_new_text(place, tmp_path):
    cache = {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    assert said(python(place, EDIT, **cache)) == ["5.0"]
    ask = "import numpy as np\nfrom kernels_here import total\nprint(total(np.array([1.0, 2.0])))"
    assert said(python(place, ask, **cache)) == ["9.0"]


def test_symbols_of_stored_code_have_no_addresses(place, tmp_path):
    """Otherwise a stored caller calls symbols that a callee compiled by another process does not have."""
    (place / "kernels_here.py").write_text(KERNELS + HANDED)
    store = Store(tmp_path / "cache" / "kernels")
    said(python(place, HAND, NUMBA_CACHE_DIR=str(tmp_path / "cache")))
    contents = [store.read(file.stem) for file in store.folder.rglob("*.kernel")]
    callers = [zlib.decompress(content[1:]) for content in contents if not is_called(content)]
    assert len(callers) == 3
    assert any(b"Kernel_28kernels_here9square_29" in content for content in callers)
    assert not any(b"_20at_200x" in content for content in callers)
