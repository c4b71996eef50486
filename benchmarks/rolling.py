"""Interior point with rolling friction: iterations, time relative to Clarabel, factorisations, growth.

    python benchmarks/rolling.py [--scene packing] [--contacts 351] [--growth 351 1000 2500 5000]
                                 [--velocity 0.1] [--repeat 3]

The problem is the convex relaxation of one step of spheres of 1 kg with rolling friction, the same cone
program for both: min ½ v'Mv - f'v with the cones split. Times are the shortest of several runs without
compilation. Ours include all preparation; Clarabel's include that of its solver but not of the matrices.
"""

import argparse
import time

import clarabel
import numpy as np
import scipy.sparse as sp

from benchmarks.cone_trace import trace
from stickslip.problem.contact import GlobalProblem
from stickslip.scenes import make
from stickslip.solvers.cone_motion import BodyMotion, motion
from stickslip.solvers.interior_point import InteriorPoint

GAP = 1e-10
"""Gap at which the time is taken [J]."""
PER_SPHERE = {"packing": 2.77, "chute": 2.8}
"""Approximate number of contacts per sphere."""
CORRECTIONS = InteriorPoint().corrections
"""Number of centrality corrections of the scaled algorithms, the default of the solver."""


def step(scene: str, contacts: int, velocity: float = 0.1) -> GlobalProblem:
    """Return a step of 0.01 s of spheres of about 1 kg, which slide and roll at velocities of about g h."""
    return make(
        f"{scene}-problem", spheres=max(1, round(contacts / PER_SPHERE[scene])), mu=0.3, mu_roll=5e-3,
        radius=0.05, density=2000.0, h=0.01, velocity=velocity,
    )  # fmt: skip


def by_clarabel(problem: GlobalProblem) -> tuple[float, int, str]:
    """Solve by Clarabel in x = (v, t), with cones (t, u_T) and (u_N - t, u_R); return seconds, iterations and
    status."""
    form = motion(problem)
    assert isinstance(form, BodyMotion)
    nc, nv = form.split.block.size, form.f.size
    Ht = sp.csr_array(form.H.sparse(len(form.M)).T)
    identity, zero = sp.eye_array(nc, format="csr"), sp.csr_array((nc, nc))
    first = 5 * np.arange(nc)
    parts = [(sp.csr_array((nc, nv)), identity, np.zeros(nc))]
    parts += [(Ht[first + k], zero, form.w[first + k]) for k in (1, 2)]
    parts += [(Ht[first], -identity, form.w[first])]
    parts += [(Ht[first + k], zero, form.w[first + k]) for k in (3, 4)]
    order = (nc * np.arange(6)[None, :] + np.arange(nc)[:, None]).reshape(-1)
    A = sp.vstack([sp.hstack([left, right]) for left, right, _ in parts], format="csr")[order]
    b = np.concatenate([constant for _, _, constant in parts])[order]
    P = sp.block_diag([*form.M, sp.csc_array((nc, nc))], format="csc")
    settings = clarabel.DefaultSettings()
    settings.verbose, settings.tol_gap_abs, settings.tol_gap_rel, settings.tol_feas = False, GAP, 1e-16, GAP
    start = time.perf_counter()
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(P)), np.concatenate([-form.f, np.zeros(nc)]), sp.csc_matrix(-A), b,
        [clarabel.SecondOrderConeT(3)] * (2 * nc), settings,
    )  # fmt: skip
    answer = solver.solve()
    return time.perf_counter() - start, answer.iterations, str(answer.status)


def by_us(
    problem: GlobalProblem, algorithm: str, factor: str, corrections: int = CORRECTIONS
) -> tuple[float, int, str, float]:
    """Solve by our interior point; return seconds, iterations, outcome, and the share of the time in
    factorisations and solves."""
    run = trace(
        problem, algorithm, tolerance=GAP, factor=factor, measure="gap", max_iterations=100,
        corrections=corrections,
    )  # fmt: skip
    return (
        run.total_seconds, run.iterations, "converged" if run.converged else run.reason,
        run.factor_seconds / run.total_seconds,
    )  # fmt: skip


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", choices=tuple(PER_SPHERE), default="packing")
    parser.add_argument("--contacts", type=int, default=351)
    parser.add_argument("--growth", type=int, nargs="*", default=[351, 1000, 2500, 5000])
    parser.add_argument(
        "--velocity", type=float, default=0.1, help="velocity of the bodies [m/s]; g h is 0.098"
    )
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    problem = step(arguments.scene, arguments.contacts, arguments.velocity)
    theirs = min(by_clarabel(problem) for _ in range(arguments.repeat))
    print(f"{problem.contacts} contacts, gap {GAP:.0e}")
    print(f"  {'clarabel':<18}{1e3 * theirs[0]:9.1f} ms{theirs[1]:4d} iterations  {theirs[2]}")
    for algorithm, factor in (
        ("nt-f", "ldl"),
        ("nt-qp", "ldl"),
        ("nt-f", "lu"),
        ("nt-f", "cholesky"),
        ("mehrotra", "lu"),
        ("simple", "lu"),
    ):
        by_us(problem, algorithm, factor)
        ours = min(by_us(problem, algorithm, factor) for _ in range(arguments.repeat))
        print(
            f"  {algorithm + ', ' + factor:<18}{1e3 * ours[0]:9.1f} ms{ours[1]:4d} iterations"
            f"  {ours[0] / theirs[0]:.2f} of clarabel, {ours[3]:.0%} factor  {ours[2]}"
        )
    rows = []
    for contacts in arguments.growth:
        problem = step(arguments.scene, contacts, arguments.velocity)
        ours = min(by_us(problem, "nt-f", "ldl") for _ in range(arguments.repeat))
        rows.append((problem.contacts, ours[0]))
        slope = (
            np.nan if len(rows) < 2 else np.log(rows[-1][1] / rows[-2][1]) / np.log(rows[-1][0] / rows[-2][0])
        )
        line = f"  {problem.contacts:6d} contacts{1e3 * ours[0]:10.1f} ms{ours[1]:4d} iterations"
        print(f"{line}  exponent {slope:.2f}")
    if len(rows) > 1:
        slope = np.log(rows[-1][1] / rows[0][1]) / np.log(rows[-1][0] / rows[0][0])
        print(f"  exponent from {rows[0][0]} to {rows[-1][0]} contacts: {slope:.2f}")


if __name__ == "__main__":
    main()
