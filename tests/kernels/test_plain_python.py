"""The same kernels without Numba: the same numbers, bit for bit."""

import os
import subprocess
import sys

SCRIPT = """
import numpy as np
import stickslip as ss
from stickslip.compilation import JIT
from stickslip.problem.convert import reduce_to_contacts
from stickslip.solvers import NSGS, Anderson
from stickslip.solvers.registry import make

rng = np.random.default_rng(7)
p = ss.problem
K = (p.coulomb([0.3, 0.4]) + p.nonnegative(2) + p.free(3) + p.interval([-1.0], [1.0])
     + p.rolling([0.2, 0.5], [0.1, 0.02]) + p.torsional([0.5], [0.1]) + p.coulomb([0.4], 2))
A = rng.normal(size=(K.size, K.size))
W = A @ A.T / K.size + 0.1 * np.eye(K.size)
mixed = ss.ContactProblem(W, rng.normal(size=K.size), K)
one = ss.coulomb(np.linspace(0.0, 1.0, 6))
A = rng.normal(size=(one.size, one.size))
plain = ss.ContactProblem(A @ A.T / one.size + 0.1 * np.eye(one.size), rng.normal(size=one.size), one)
bodies = np.array([[0, -1], [1, 0], [2, 1], [2, 0], [3, 2], [3, 1]])
rows = rng.normal(size=(one.size, 2, 6))
glob = ss.GlobalProblem(np.tile(np.eye(6), (4, 1, 1)), rng.normal(size=24),
                        ss.problem.contact_blocks(bodies, rows, one), np.zeros(one.size), one)
print(JIT)
for problem in (mixed, plain, reduce_to_contacts(glob).problem):
    for relaxation in (1.0, 0.9):
        s = NSGS(tolerance=1e-9, max_iterations=60, relaxation=relaxation).solve(problem)
        print(s.iterations, s.status.name, s.r.tobytes().hex(), s.history.tobytes().hex())
        print([x.hex() for x in (s.residuals.natural, s.residuals.natural_scaled, s.residuals.work)])
    s = Anderson(tolerance=1e-9, max_iterations=60, memory=3).solve(problem)
    print(s.iterations, s.status.name, s.r.tobytes().hex())
for local in ("projection", "newton", "quartic", "enumeration"):
    s = NSGS(tolerance=1e-9, max_iterations=20, local=local).solve(mixed)
    print(s.iterations, s.status.name, s.r.tobytes().hex())
    for name in ("fixed-point", "extragradient", "apgd", "bb", "s-loop", "tresca"):
        options = {"inner": "nsgs", "inner_iterations": 9} if name in ("s-loop", "tresca") else {}
        s = make(name, tolerance=1e-9, max_iterations=9, **options).solve(problem)
        print(s.iterations, s.status.name, s.r.tobytes().hex(), s.history.tobytes().hex())
"""


def lines(jit):
    env = {**os.environ, "STICKSLIP_JIT": jit}
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=env, check=True)
    return done.stdout.splitlines()


def test_compiled_and_plain_kernels_agree_bit_for_bit():
    compiled, plain = lines("1"), lines("0")
    assert (compiled[0], plain[0]) == ("True", "False")
    assert len(compiled) == 44
    assert compiled[1:] == plain[1:]


SIGNATURES = """
import numpy as np
import scipy.sparse as sp
import stickslip as ss
from stickslip.kernels import blocks, body_sweeps, cones, gauss_seidel, residuals
from stickslip.kernels import convex, products, projected, splitting
from stickslip.scenes import make

K = ss.coulomb([0.3, 0.4])
W, q = np.eye(6) + 0.1, np.array([-1.0, 0.5, 0.0, -1.0, 0.0, 0.2])
dense = ss.ContactProblem(W, q, K)
problems = [dense, ss.ContactProblem(sp.csr_array(W), q, K),
            ss.ContactProblem(W[:1, :1], q[:1], ss.problem.nonnegative(1)),
            make("incline-problem"), make("packing-problem", spheres=5),
            make("packing-problem", spheres=5, mu_roll=1e-3),
            ss.GlobalProblem(np.eye(6), q, np.eye(6), np.zeros(6), K), ss.problem.lcp(np.eye(2), [-1.0, 1.0]),
            ss.ContactProblem(np.eye(7), -np.ones(7), K + ss.problem.nonnegative(1))]
for problem in problems:
    solution = ss.solve(problem)
    ss.judge(problem, solution.r, solution.v, solution.lam)
    ss.judge(problem, solution.r.tolist())
    ss.solve(problem, guess=solution.r)
    for name in ("fixed-point", "extragradient", "apgd", "bb", "s-loop", "tresca", "admm"):
        ss.solve(problem, name, max_iterations=5)
    for inner in ("bb", "nsgs", "admm"):
        ss.solve(problem, "s-loop", inner=inner, max_iterations=5)
        ss.solve(problem, "tresca", inner=inner, max_iterations=5)
first_order = (convex, products, projected, splitting)
for module in (blocks, body_sweeps, cones, gauss_seidel, residuals, *first_order):
    for name, kernel in vars(module).items():
        if len(getattr(kernel, "signatures", ())) > 1:
            print(module.__name__, name, len(kernel.signatures))
"""


def test_kernels_are_compiled_once_whatever_the_problem_comes_from():
    """Read-only and writable arrays are two types to Numba: values are read-only everywhere."""
    done = subprocess.run([sys.executable, "-c", SIGNATURES], capture_output=True, text=True, check=True)
    heavy = ("run", "measure", "prepare", "sweep", "iterate", "accelerated", "spectral", "gauss", "step")
    assert [line for line in done.stdout.splitlines() if line.split()[1].startswith(heavy)] == []
