"""Rolling friction by interior point: iterations, time beside Clarabel's, L D L' or L U, growth.

    python benchmarks/rolling.py [--scene packing] [--contacts 351] [--growth 351 1000 2500 5000]
                                 [--velocity 0.1] [--repeat 3]

The relaxation of one step of spheres with rolling friction, bodies of 1 kg, the same cone program
for both: min ½ v'Mv - f'v with the cones split. Times are the least of so many runs, without
compilation, ours with all preparation, Clarabel's with that of its solver but not of the matrices.
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
"""Contacts of each sphere, about."""
CORRECTIONS = InteriorPoint().corrections
"""Centrality corrections of the scaled algorithms, as the solver has them."""


def step(scene: str, contacts: int, velocity: float = 0.1) -> GlobalProblem:
    """Spheres of about 1 kg in steps of 0.01 s, which at velocities of about g h slide and roll."""
    return make(
        f"{scene}-problem", spheres=max(1, round(contacts / PER_SPHERE[scene])), mu=0.3, mu_roll=5e-3,
        radius=0.05, density=2000.0, h=0.01, velocity=velocity,
    )  # fmt: skip


def by_clarabel(problem: GlobalProblem) -> tuple[float, int, str]:
    """Seconds, iterations and status of Clarabel in x = (v, t), cones (t, u_T) and (u_N - t, u_R)."""
    form = motion(problem)
    assert isinstance(form, BodyMotion)
    nc, nv = form.split.block.size, form.f.size
    Ht = sp.csr_array(form.H.sparse(len(form.M)).T)
    one, none = sp.eye_array(nc, format="csr"), sp.csr_array((nc, nc))
    at = 5 * np.arange(nc)
    parts = [(sp.csr_array((nc, nv)), one, np.zeros(nc))]
    parts += [(Ht[at + k], none, form.w[at + k]) for k in (1, 2)]
    parts += [(Ht[at], -one, form.w[at])]
    parts += [(Ht[at + k], none, form.w[at + k]) for k in (3, 4)]
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
    """Seconds, iterations, how it ended, and the share of the time in factorisations and solves."""
    found = trace(
        problem, algorithm, tolerance=GAP, factor=factor, measure="gap", max_iterations=100,
        corrections=corrections,
    )  # fmt: skip
    return (
        found.total_seconds, found.iterations, "converged" if found.converged else found.reason,
        found.factor_seconds / found.total_seconds,
    )  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scene", choices=tuple(PER_SPHERE), default="packing")
    parser.add_argument("--contacts", type=int, default=351)
    parser.add_argument("--growth", type=int, nargs="*", default=[351, 1000, 2500, 5000])
    parser.add_argument("--velocity", type=float, default=0.1, help="of the bodies [m/s]; g h is 0.098")
    parser.add_argument("--repeat", type=int, default=3)
    given = parser.parse_args()
    problem = step(given.scene, given.contacts, given.velocity)
    theirs = min(by_clarabel(problem) for _ in range(given.repeat))
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
        ours = min(by_us(problem, algorithm, factor) for _ in range(given.repeat))
        print(
            f"  {algorithm + ', ' + factor:<18}{1e3 * ours[0]:9.1f} ms{ours[1]:4d} iterations"
            f"  {ours[0] / theirs[0]:.2f} of clarabel, {ours[3]:.0%} factor  {ours[2]}"
        )
    rows = []
    for contacts in given.growth:
        problem = step(given.scene, contacts, given.velocity)
        ours = min(by_us(problem, "nt-f", "ldl") for _ in range(given.repeat))
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
