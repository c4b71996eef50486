"""STICKSLIP_JIT=0 factors through SciPy: the same answers and the same refusals. And: what is cached."""

import os
import subprocess
import sys

import numpy as np
import pytest

SAME = """
import numpy as np
from block_graphs import GRAPHS, part, positive_definite
from stickslip.compilation import JIT
from stickslip.linalg.factor import FactorFailure, Regularisation
from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.scenes import make

print(JIT)
for name, (n, edges) in GRAPHS.items():
    pattern, values = positive_definite(n, edges, "mixed")
    b = np.random.default_rng(0).normal(size=(pattern.size, 2))
    factor = analyse(pattern).cholesky(values)
    print(name, *factor.solve(b).reshape(-1), *factor.solve(b[:, 0]))
    negative = np.random.default_rng(n).random(n) < 0.5
    for k in np.flatnonzero(negative):
        part(pattern, values, k)[:] *= -1.0
    signed = analyse(pattern, negative=negative).quasi_definite(values)
    print(name, signed.replaced, *signed.solve(b).reshape(-1))
    for i in range(n):
        for spoil in (lambda block: -block, lambda block: 0.0 * block, lambda block: np.nan * block):
            pattern, values = positive_definite(n, edges, "mixed")
            part(pattern, values, i)[:] = spoil(part(pattern, values, i))
            try:
                analyse(pattern, order=np.arange(n)).cholesky(values)
            except FactorFailure as failure:
                print(type(failure).__name__, failure.block)
problem = make("packing-problem", spheres=4)
H, M = problem.H, problem.M.matrix
pattern = body_pattern(H.bodies, 4)
print("packing", *analyse(pattern).cholesky(pattern.values(M, H, 2.0)).solve(np.ones(pattern.size)))
from stickslip.linalg.pattern import block_pattern
pair = block_pattern([1, 1, 1], [0, 1, 2, 1, 2], [0, 1, 2, 0, 0])
for static in (0.0, 1e-10):
    factor = analyse(pair, negative=np.array([False, True, True]), order=[1, 2, 0]).quasi_definite(
        [1.0, 0.0, 0.0, 1.0, 1.0], regularisation=Regularisation(static=static))
    x = factor.solve([1.0, 0.5, 0.5])
    print("redundant", x[0], x[1] + x[2], factor.residual < 1e-10)
"""


def lines(jit):
    here = os.path.dirname(os.path.dirname(__file__))
    path = os.pathsep.join([here, *filter(None, [os.environ.get("PYTHONPATH")])])
    env = {**os.environ, "STICKSLIP_JIT": jit, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", SAME], capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr
    return [line.split() for line in done.stdout.splitlines()]


def test_the_same_answers_and_refusals_through_scipy():
    compiled, plain = lines("1"), lines("0")
    assert (compiled[0], plain[0]) == (["True"], ["False"])
    assert len(compiled) == len(plain) > 100
    for one, other in zip(compiled[1:], plain[1:], strict=True):
        words = [k for k, word in enumerate(one) if not _number(word)]
        assert [one[k] for k in words] == [other[k] for k in words]
        x, y = ([float(w) for k, w in enumerate(line) if k not in words] for line in (one, other))
        np.testing.assert_allclose(x, y, rtol=1e-7, atol=1e-9)


def _number(word):
    try:
        float(word)
    except ValueError:
        return False
    return True


LOAD = """
import time
import numpy as np
from stickslip.compilation import JIT
from stickslip.compilation.timing import Compilation
from stickslip.linalg.bodies import body_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.scenes.packing import deposit

packing = deposit(500)
before = time.process_time()
with Compilation() as compilation:
    pattern = body_pattern(packing.bodies, 500)
    symbolic = analyse(pattern, positions=packing.centre)
    values = np.zeros((pattern.one.size, 6, 6))
    values[:500] = np.eye(6)
    factor = symbolic.cholesky(values)
    factor.solve(np.ones(3000))
    factor.solve(np.ones((3000, 2)))
    analyse(pattern, negative=np.arange(500) < 0).quasi_definite(values).solve(np.ones(3000))
print(time.process_time() - before)
"""


COMPILED = """
import numpy as np
import pkgutil
from importlib import import_module
import stickslip.linalg.kernels as room
from stickslip.linalg.bodies import body_pattern, saddle_pattern
from stickslip.linalg.pattern import matrix_pattern
from stickslip.linalg.symbolic import analyse
from stickslip.scenes import make
from stickslip.scenes.packing import deposit

for spheres in (1, 5, 600):
    problem = make("packing-problem", spheres=spheres)
    H, M = problem.H, problem.M.matrix
    pattern = body_pattern(H.bodies.copy(), spheres)
    for positions in (None, deposit(spheres).centre):
        symbolic = analyse(pattern, positions=positions)
        for D in (1.0, np.ones(H.size), np.tile(np.eye(3), (problem.contacts, 1, 1))):
            values = pattern.values(M.copy(), H, D)
            factor = symbolic.cholesky(values)
            values.flags.writeable = False
            b = np.ones(pattern.size)
            for right in (b, np.ones((pattern.size, 2)), np.ones((pattern.size, 2), order="F")):
                factor.refactor(values).solve(right)
            b.flags.writeable = False
            factor.solve(b)
    A = pattern.sparse(values)
    cut = matrix_pattern(A, pattern.widths)
    analyse(cut, order=np.arange(spheres)).cholesky(cut.values(A)).solve(b)
    saddle = saddle_pattern(H.bodies, H.offset, spheres)
    signed = analyse(saddle, positions=positions).quasi_definite(saddle.values(M, H, 1.0))
    signed.solve(np.ones(saddle.size))
    signed.solve(np.ones((saddle.size, 2)))
for module in pkgutil.iter_modules(room.__path__, room.__name__ + "."):
    for name, kernel in vars(import_module(module.name)).items():
        if len(getattr(kernel, "signatures", ())) > 1 and name[0] != "_":
            print(module.name, name, len(kernel.signatures))
"""


@pytest.mark.skipif(os.environ.get("STICKSLIP_JIT") == "0", reason="compilation is off")
def test_kernels_are_compiled_once_whoever_made_the_arrays():
    done = subprocess.run([sys.executable, "-c", COMPILED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.skipif(os.environ.get("STICKSLIP_JIT") == "0", reason="compilation is off")
def test_loading_what_was_compiled_takes_less_than_a_second():
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", LOAD], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 1.0
