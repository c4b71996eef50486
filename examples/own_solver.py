"""Write a solver in 30 lines, and compare it with others.

Purpose: compare your method with those of stickslip on the same problems, with the same judge. `Mine` is ADMM
(Boyd et al. 2011) for min r'W r / 2 + (u_free + s)'r over the cone K, with De Saxcé's shift s = mu |u_T| e_N
updated in every iteration. On a standing wall it needs a tenth of the iterations of Gauss-Seidel; on sliding
spheres it needs more. Computing times:
stickslip bench run --problems FOLDER --own mine=examples/own_solver.py:Mine --out race.h5
"""

import sys

import numpy as np

import stickslip as ss
from stickslip import scenes
from stickslip.view import Curve, Figure, Panel, draw


class Mine:
    """ADMM for Coulomb's law; with the eigenvectors of W, changes of the penalty rho are cheap."""

    def __init__(self, tolerance=1e-8, iterations=3000):
        self.tolerance, self.iterations, self.history = tolerance, iterations, []

    def solve(self, problem):
        """Return the impulses r [N s]; the judge decides whether they are a solution."""
        if not isinstance(problem, ss.ContactProblem):
            problem = ss.problem.reduce_to_contacts(problem).problem
        K, W, u_free = problem.K, problem.W.dense(), problem.u_free
        values, V = np.linalg.eigh(W)
        rho, (z, y) = 0.1 * values[-1], np.zeros((2, problem.size))
        for k in range(1, self.iterations + 1):
            u = W @ z + u_free
            x = V @ (V.T @ (rho * (z - y) - K.shifted(u) + u - u_free) / (values + rho))
            before, z = z, K.project(x + y)
            y += x - z
            if k % 5 == 0:
                judged = ss.judge(problem, z)
                self.history.append((k, judged.natural, judged.natural_scaled))
                if judged.solved(self.tolerance):
                    break
                primal, dual = np.linalg.norm(x - z), np.linalg.norm(z - before)
                factor = 2.0 if primal > 5.0 * dual else 0.5 if dual > 5.0 * primal else 1.0
                rho, y = (rho * factor, y / factor) if k <= 100 else (rho, y)
        return z


def main():
    """By problem and solver: the final residuals of the judge, and the history of residuals."""
    wall = scenes.make("wall-problem", rows=4, columns=5)
    spheres = scenes.make("packing-problem", spheres=20, velocity=0.1)
    results = {}
    for name, problem in (("A wall that stands", wall), ("Spheres that slide", spheres)):
        mine = Mine()
        results[name, "mine"] = (ss.judge(problem, mine.solve(problem)), np.array(mine.history))
        for other in ("nsgs", "auto"):
            solution = ss.solve(problem, other)
            results[name, other] = (ss.judge(problem, solution.r), solution.history)
    return results


def check(results):
    """All answers are solutions; fewer iterations than sweeps on the wall, more on the spheres."""
    assert all(judged.solved(1e-8) for judged, _ in results.values())
    last = {key: history[-1, 0] for key, (_, history) in results.items()}
    assert 10 * last["A wall that stands", "mine"] < last["A wall that stands", "nsgs"]
    assert last["Spheres that slide", "mine"] > last["Spheres that slide", "nsgs"]


if __name__ == "__main__":
    race, panels = main(), {}
    check(race)
    for (title, solver), (judged, history) in race.items():
        print(f"{title}: {solver} {history[-1, 0]:.0f} iterations, natural {judged.natural:.1e}")
        panels.setdefault(title, []).append(Curve(solver, history[:, 0], history[:, 2]))
    if len(sys.argv) > 1:
        axes = ("iterations", "residual (natural_scaled)")
        drawn = [Panel(title, *axes, curves, True, True, level=1e-8) for title, curves in panels.items()]
        figure = Figure("A solver of 30 lines beside Gauss-Seidel and auto", drawn)
        draw(figure, f"{sys.argv[1]}/own_solver.png")
