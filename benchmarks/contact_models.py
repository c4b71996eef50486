"""Costs of the three contact models of the variational scheme: variables, iterations and time of a step.

    python benchmarks/contact_models.py [--json]

The worlds are a sliding block, falling balls and a trotting robot. Each model simulates each world with the
interior point on whole steps (`ipm-step`) to 1e-8; iterations and times are means over the steps with
contacts. Times are processor times of the solves alone without compilation, the shortest of three runs.
Variables are those of the interior point: velocities of moving bodies, multipliers of joints, and per contact
gap and impulse (2), with the cone two components of friction and the speed η as well (5), with the pyramid
four facets, their slacks, ψ and its slack (12).
"""

import argparse
import json
import math
import time
from typing import Any

import stickslip as ss
from stickslip.problem.solution import Solution
from stickslip.problem.step_problem import MODELS, StepProblem
from stickslip.problem.step_tangent import step_blocks
from stickslip.scenes.chains import quadruped
from stickslip.solvers.step_point import StepInteriorPoint

RUNS = 3
"""Number of runs, of which the shortest counts."""
TOLERANCE = 1e-8
PER_CONTACT = {"cone": 5, "pyramid": 12, "impact": 2}
"""Variables of the interior point per contact with friction in space [-]."""


class Counted:
    """Interior point on whole steps that records the cost of each solve."""

    takes_steps = True

    def __init__(self) -> None:
        self.inner = StepInteriorPoint(tolerance=TOLERANCE)
        self.costs: list[tuple[int, int, int, float]] = []
        """Contacts, variables, iterations and seconds of each solve."""

    def solve(self, problem: StepProblem, **options: Any) -> Solution:
        """Solve the step, and record its cost if it has contacts."""
        begun = time.process_time()
        solution = self.inner.solve(problem, **options)
        seconds = time.process_time() - begun
        contacts = len(problem.contacts)
        if contacts:
            K = step_blocks(problem).K
            joints = K.size - 3 * contacts
            moving = int((problem.row >= 0).sum())
            size = 6 * moving + joints + PER_CONTACT[problem.model] * contacts
            self.costs.append((contacts, size, solution.iterations, seconds))
        return solution


def block() -> ss.World:
    """Return a block that slides at 30° to the axes of the pyramid."""
    b = ss.WorldBuilder()
    b.material("wood", mu=0.3)
    b.body("floor", ss.Plane(), fixed=True, material="wood")
    velocity = (math.cos(math.pi / 6.0), math.sin(math.pi / 6.0), 0.0)
    b.body("block", ss.Cuboid((0.2, 0.2, 0.1)), position=(0, 0, 0.05), velocity=velocity, material="wood")
    return b.build()


def balls() -> ss.World:
    """Return 27 balls that fall onto the floor and each other."""
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    for k in range(27):
        i, j, up = k % 3, k // 3 % 3, k // 9
        place = (0.11 * i + 0.013 * up, 0.11 * j + 0.007 * up, 0.06 + 0.11 * up)
        b.body(f"ball {k}", ss.Sphere(0.05), position=place)
    return b.build()


def robot() -> ss.World:
    """Return a trotting quadruped of 13 bodies."""
    world = quadruped(gait="trot").system
    assert isinstance(world, ss.World)
    return world


WORLDS = {
    "block sliding on 4 corners": (block, 0.2, 5e-3),
    "27 balls falling": (balls, 0.3, 5e-3),
    "quadruped, 13 bodies": (robot, 0.2, 2e-3),
}
"""Builder, final time [s] and step [s] of each world."""


def row(world: ss.World, until: float, h: float, model: str) -> dict[str, float]:
    """Return means over the steps with contacts of one run, the fastest of several."""
    best: list[tuple[int, int, int, float]] = []
    for _ in range(RUNS):
        solver, scheme = Counted(), ss.schemes.VariationalBodies(contact=model)
        run = ss.simulate(world, until=until, h=h, scheme=scheme, solver=solver, on_failure="accept")
        if not best or sum(t[3] for t in solver.costs) < sum(t[3] for t in best):
            best = solver.costs
    contacts, size, iterations, seconds = (sum(column) / len(best) for column in zip(*best, strict=True))
    return {
        "contacts": contacts,
        "variables": size,
        "iterations": iterations,
        "ms": 1e3 * seconds,
        "missed": float(run.missed),
    }


def main() -> None:
    """Print the table, or its numbers as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--json", action="store_true", help="print JSON")
    results = {
        name: {model: row(make(), until, h, model) for model in MODELS}
        for name, (make, until, h) in WORLDS.items()
    }
    if parser.parse_args().json:
        print(json.dumps(results))
        return
    print("| world | model | contacts | variables | iterations | ms per step | steps missed |")
    print("|---|---|---|---|---|---|---|")
    for name, models in results.items():
        for model, f in models.items():
            sizes = f"{f['contacts']:.1f} | {f['variables']:.0f} | {f['iterations']:.1f}"
            print(f"| {name} | {model} | {sizes} | {f['ms']:.3f} | {f['missed']:.0f} |")


if __name__ == "__main__":
    main()
