"""Costs of Gauss-Seidel: time per contact and sweep, and time of small solves.

    python benchmarks/sweeps.py [--json]

The first part measures sweeps over sphere packings of about 1,000 and 50,000 contacts in both forms of the
method, after 50 sweeps from zero. Their lower bound is the time to read the data of a sweep once at the
memory bandwidth measured in the same run. The second part solves problems of 13 contacts to 1e-8: compiled
work, and the whole call with its certificate. Times are the shortest of many, as the machine is shared.
"""

import argparse
import json
import math
import platform
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from threadpoolctl import threadpool_limits

from stickslip.kernels import body_sweeps, gauss_seidel, schedule
from stickslip.problem.contact import ContactProblem
from stickslip.problem.convert import reduce_to_contacts
from stickslip.scenes import make
from stickslip.solvers.gauss_seidel import NSGS, first_look

SPHERES = {1_000: 352, 50_000: 16_900}
"""Numbers of spheres by approximate number of contacts."""


@numba.njit(error_model="numpy")
def stream(a: np.ndarray) -> float:
    """Read an array once, in eight independent sums."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for i in range(0, a.shape[0] - 7, 8):
        s0 += a[i]
        s1 += a[i + 1]
        s2 += a[i + 2]
        s3 += a[i + 3]
        s4 += a[i + 4]
        s5 += a[i + 5]
        s6 += a[i + 6]
        s7 += a[i + 7]
    return s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7


def best_of(actions: dict[str, Callable[[], Any]], inner: int, repetitions: int = 40) -> dict[str, float]:
    """Return the shortest time of each action [s], in alternating turns with equal disturbances."""
    best = dict.fromkeys(actions, math.inf)
    for _ in range(repetitions):
        for name, action in actions.items():
            start = time.perf_counter()
            for _ in range(inner):
                action()
            best[name] = min(best[name], (time.perf_counter() - start) / inner)
    return best


def sweeper(problem: ContactProblem, form: str) -> tuple[Callable[[], Any], np.ndarray, int]:
    """Return a function that makes one sweep, the impulses it changes, and the bytes it reads and writes."""
    swept, work, _ = NSGS(form=form).prepare(problem).args
    r, W, used = np.zeros(problem.size), swept.W, (swept.K.coefficient, swept.u_free)
    if form == "bodies":
        touched = (*W, W.w, *used, r, r)
        return lambda: body_sweeps.sweep_coulomb3(swept, work, r), r, sum(a.nbytes for a in touched)
    touched = (W.row_start, W.column, W.data, swept.local, *used, r, r, work.kappa, work.kappa)
    return lambda: gauss_seidel.sweep_coulomb3(swept, work, r), r, sum(a.nbytes for a in touched)


def shares(problem: ContactProblem, r: np.ndarray) -> dict[str, float]:
    """Return the shares of contacts that separate, stick and slip in an iterate."""
    n, t = r.reshape(-1, 3)[:, 0], np.linalg.norm(r.reshape(-1, 3)[:, 1:], axis=1)
    away, slip = n == 0.0, t >= (1 - 1e-12) * problem.K.friction() * n
    return {"separating": away.mean(), "slipping": (slip & ~away).mean(), "sticking": (~slip & ~away).mean()}


def sweep_cost(contacts: int) -> list[dict[str, Any]]:
    """Return the rows of the table of sweeps for one size of packing."""
    problem = reduce_to_contacts(make("packing-problem", spheres=SPHERES[contacts])).problem
    actions, bytes_of, iterates = {}, {}, {}
    for form in ("bodies", "delassus"):
        actions[form], iterates[form], bytes_of[form] = sweeper(problem, form)
        for _ in range(50):
            actions[form]()
        memory = np.ones(bytes_of[form] // 8)
        actions[f"{form} stream"] = lambda memory=memory: stream(memory)
        actions[f"{form} sum"] = memory.sum
        stream(memory)
    seconds = best_of(actions, max(1, 50_000 // problem.contacts))
    rows = []
    for form in ("bodies", "delassus"):
        bound = min(seconds[f"{form} stream"], seconds[f"{form} sum"])
        rows.append(
            {
                "contacts": problem.contacts,
                "form": form,
                "ns_per_contact": 1e9 * seconds[form] / problem.contacts,
                "bound_ns": 1e9 * bound / problem.contacts,
                "ratio_to_bound": seconds[form] / bound,
                "bytes_per_contact": bytes_of[form] / problem.contacts,
                "gb_per_s": bytes_of[form] / bound / 1e9,
                **shares(problem, iterates[form]),
            }
        )
    return rows


def packing_of_13(velocity: float, seed: int = 0, spheres: int = 7) -> ContactProblem | None:
    """Return a packing in the Delassus form, or None if it does not have 13 contacts."""
    matrix_free = reduce_to_contacts(
        make("packing-problem", spheres=spheres, velocity=velocity, seed=seed)
    ).problem
    K = matrix_free.K
    if len(K) != 13:
        return None
    return ContactProblem(matrix_free.W.blocks(K), matrix_free.u_free, K)


def small_solve(name: str, problem: ContactProblem, warm: bool, inner: int) -> dict[str, Any]:
    """Return one row: compiled work and whole call of a solve to 1e-8."""
    solver, guess = NSGS(tolerance=1e-8), None
    if warm:  # guess from a previous step with a free motion slower by 1 %
        before = ContactProblem(problem.W, 0.99 * problem.u_free, problem.K)
        guess = solver.solve(before).or_raise().r
    solution = solver.solve(problem, guess=guess).or_raise()
    run = solver.prepare(problem)
    work = run.args[1]
    start = np.zeros(problem.size) if guess is None else problem.K.project(guess)
    r, best = start.copy(), start.copy()
    control, history = np.zeros(schedule.SLOTS), np.empty((512, 3))
    first = first_look(problem, guess)

    def compiled() -> None:
        r[:] = start
        work.kappa[:] = 0.0
        control[schedule.STATE], control[schedule.NEXT] = schedule.NEW, first
        run(1e-8, 20_000.0, (r, best, control, history))

    actions = {"compiled": compiled, "whole": lambda: solver.solve(problem, guess=guess)}
    seconds = best_of(actions, inner, repetitions=10)
    return {
        "problem": name,
        "contacts": problem.contacts,
        "sweeps": solution.iterations,
        "error": solution.residuals.error,
        "compiled_us": 1e6 * seconds["compiled"],
        "whole_us": 1e6 * seconds["whole"],
        "states": solution.states.summary(),
    }


def small_solves() -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return rows of a packing of 13 contacts in several states, and a summary over packings of 60 seeds."""
    cases = (("at rest", 0.0), ("0.05 m/s", 0.05), ("1 m/s", 1.0), ("1 m/s, warm", 1.0))
    rows = []
    for name, velocity in cases:
        problem = packing_of_13(velocity)
        assert problem is not None
        rows.append(small_solve(name, problem, "warm" in name, 200))
    packings = [packing_of_13(1.0, seed, n) for seed in range(60) for n in (6, 7, 8)]
    many = [small_solve("1 m/s", problem, False, 40) for problem in packings if problem is not None]
    within = [row["compiled_us"] <= 15.0 and row["whole_us"] <= 60.0 for row in many]
    summary = {"packings": len(many), "within_15_and_60_us": sum(within)}
    for key in ("sweeps", "compiled_us", "whole_us"):
        values = sorted(row[key] for row in many)
        summary[key] = {"least": values[0], "median": values[len(values) // 2], "most": values[-1]}
    return rows, summary


def main() -> None:
    """Parse the command line, measure, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the tables as JSON")
    as_json = parser.parse_args().json
    with threadpool_limits(1):
        sweeps = [row for contacts in SPHERES for row in sweep_cost(contacts)]
        small, summary = small_solves()
    if as_json:
        print(
            json.dumps(
                {"machine": platform.processor(), "sweeps": sweeps, "small": small, "all": summary}, indent=2
            )
        )
        return
    print("Sweeps over sphere packings (ns per contact and sweep; bound: time to read the data once)")
    print(
        f"{'contacts':>9} {'form':>9} {'sweep':>7} {'bound':>7} {'ratio':>6} {'bytes':>6} {'GB/s':>5}  shares"
    )
    for s in sweeps:
        print(
            f"{s['contacts']:9d} {s['form']:>9} {s['ns_per_contact']:7.1f} {s['bound_ns']:7.1f}"
            f" {s['ratio_to_bound']:6.2f} {s['bytes_per_contact']:6.0f} {s['gb_per_s']:5.1f}"
            f"  {s['slipping']:.0%} slip, {s['sticking']:.0%} stick, {s['separating']:.0%} separate"
        )
    print("\nSolves of 13 contacts to 1e-8 (µs)")
    print(f"{'problem':>13} {'sweeps':>7} {'compiled':>9} {'whole call':>11} {'error':>8}   states")
    for s in small:
        print(
            f"{s['problem']:>13} {s['sweeps']:7d} {s['compiled_us']:9.1f} {s['whole_us']:11.1f}"
            f" {s['error']:8.1e}   {s['states']}"
        )
    print(f"\nAll {summary['packings']} packings of 13 contacts among 180, thrown at 1 m/s:")
    for key in ("sweeps", "compiled_us", "whole_us"):
        spread = summary[key]
        print(f"  {key:<12} {spread['least']:.0f} to {spread['most']:.0f}, median {spread['median']:.0f}")
    print(f"  within 15 µs compiled and 60 µs for the call: {summary['within_15_and_60_us']}")


if __name__ == "__main__":
    main()
