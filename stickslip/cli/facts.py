"""What there is to say about a file, as data."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.problem.sets import ProductSet
    from stickslip.problem.solution import Problem
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.simulation.world_trajectory import WorldTrajectory


def describe(path: Path, record: ProblemRecord) -> dict[str, Any]:
    """A problem and what is stored beside it; the JSON object of `stickslip info`."""
    from stickslip.problem.fingerprint import fingerprint

    problem = record.problem
    return {
        "file": str(path),
        **sizes(problem),
        "storage": storage(problem),
        "symmetry_defect": symmetry_defect(problem),
        "info": {name: str(value) for name, value in record.info.items()},
        "solution": judged(record),
        "guesses": len(record.guesses),
        "fingerprint": fingerprint(problem),
    }


def describe_run(path: Path, run: Trajectory | WorldTrajectory) -> dict[str, Any]:
    """A trajectory of systems or of a world; the JSON object of `stickslip info`."""
    from stickslip.simulation.trajectory import Trajectory

    return {
        "file": str(path),
        "kind": "trajectory" if isinstance(run, Trajectory) else "world trajectory",
        "scheme": run.scheme,
        "scheme_options": run.scheme_options,
        "solver": run.solver,
        "tolerance": run.tolerance,
        "span": [float(run.t[0]), float(run.t[-1])],
        "h": run.clock.h,
        "records": len(run),
        "steps": run.steps,
        "missed": run.missed,
        "verdict": run.verdict.value,
        "relaxation": run.relaxation,
        "natural": float(run.natural.max()),
        "natural_scaled": float(run.natural_scaled.max()),
        "energy": [float(run.energy[0]), float(run.energy[-1])],
        **(_of_systems(run) if isinstance(run, Trajectory) else _of_world(run)),
    }


def _of_systems(run: Trajectory) -> dict[str, Any]:
    return {
        "systems": {part.name: part.kind for part in run.model.systems},
        "interactions": {part.name: part.law for part in run.model.interactions},
        "penetration": run.penetration,
        "contact_work": float(run.contact_work[-1] - run.contact_work[0]),
        "events": dict(sorted(Counter(event.kind for event in run.events).items())),
    }


def _of_world(run: WorldTrajectory) -> dict[str, Any]:
    from stickslip.simulation.world_contacts import LEAST
    from stickslip.simulation.world_summary import bodies, shapes

    return {
        "bodies": len(run.model),
        "body_kinds": bodies(run),
        "shapes": shapes(run),
        "joints": list(run.model.joints),
        "sensors": list(run.sensors),
        "iterations": int(run.iterations.sum()),
        "contacts": len(run.contacts),
        "forces": run.forces,
        "not_unique": int((run.contacts.choice == LEAST).sum()),
        **{name: float(getattr(run, name).max()) for name in ("penetration", "opening", "correction")},
        **{name: float(getattr(run, name)[-1]) for name in ("dissipated", "work", "lifted")},
        "balance": float(abs(run.balance).max()),
    }


def describe_results(path: Path) -> dict[str, Any]:
    """The results of a campaign; the JSON object of `stickslip info`."""
    from stickslip.bench.campaigns.results_file import read_results
    from stickslip.bench.records import Outcome

    results = read_results(path)
    said = results.conditions
    return {
        "file": str(path),
        "kind": "results",
        "problems": len(results.problems),
        "families": list(results.families),
        "runs": len(results.runs),
        "solvers": {
            solver: {
                "runs": sum(run.solver == solver for run in results.runs),
                "solved": sum(run.solver == solver and run.outcome is Outcome.SOLVED for run in results.runs),
            }
            for solver in results.solvers
        },
        "outcomes": dict(Counter(run.outcome.value for run in results.runs)),
        "tolerances": list(said.tolerances),
        "timeout": said.timeout,
        "memory": said.memory,
        "best_of": said.best_of,
        "workers": said.workers,
        "environment": said.environment.as_json(),
        "command": results.command,
    }


def sizes(problem: Problem) -> dict[str, Any]:
    """Kind, and numbers of things: contacts by kind, components, velocities, joints, friction."""
    from stickslip.problem.box import BoxProblem
    from stickslip.problem.contact import GlobalProblem

    if isinstance(problem, BoxProblem):
        return {"kind": problem.kind, "size": problem.size}
    found = {
        "kind": "contact",
        "level": problem.level.value,
        "contacts": problem.contacts,
        "blocks": dict(problem.K.census),
        "size": problem.size,
        "friction": friction(problem.K),
    }
    if isinstance(problem, GlobalProblem):
        found |= {"kind": "global", "velocities": problem.M.size, "joint_rows": int(problem.g_bias.size)}
    return found


def friction(K: ProductSet) -> dict[str, list[float]]:
    """Smallest and largest friction coefficients by name: mu [-], mu_roll and mu_spin [m], ..."""
    import numpy as np

    count = np.diff(K.group_offset)
    found: dict[str, list[float]] = {}
    for group in range(int(count.max(initial=0))):
        index = K.group_offset[:-1][count > group] + group
        for size in np.unique(K.group_size[index]).tolist():
            values = K.coefficient[index[K.group_size[index] == size]]
            name = _coefficient_name(group, size)
            both = [*found.get(name, []), float(values.min()), float(values.max())]
            found[name] = [min(both), max(both)]
    return found


def _coefficient_name(group: int, size: int) -> str:
    if group == 0:
        return "mu"
    return {(1, 2): "mu_roll", (1, 1): "mu_spin"}.get((group, size), f"mu_{group}")


def storage(problem: Problem) -> dict[str, str]:
    """How each matrix of a problem is held: dense, block, sparse, bodies."""
    import scipy.sparse as sp

    from stickslip.problem.box import BoxProblem
    from stickslip.problem.contact import ContactProblem

    if isinstance(problem, BoxProblem):
        return {"A": "sparse" if sp.issparse(problem.A) else "dense"}
    if isinstance(problem, ContactProblem):
        form = type(problem.W).__name__.removesuffix("Delassus").lower()
        return {"W": {"body": "bodies"}.get(form, form)}
    M, maps = problem.M, {"H": problem.H, "G": problem.G}
    mass = "bodies" if M.is_body_blocks else "sparse" if sp.issparse(M.matrix) else "dense"
    held = {name: "sparse" if sp.issparse(x) else "bodies" for name, x in maps.items() if x is not None}
    return {"M": mass, **held}


def symmetry_defect(problem: Problem) -> float:
    """max |W - W'| / max |W| of a contact problem; of M for a global one, of A for a box [-]."""
    import scipy.sparse as sp

    from stickslip.problem.box import BoxProblem
    from stickslip.problem.contact import GlobalProblem
    from stickslip.problem.operator import BlockDelassus, BodyDelassus

    if isinstance(problem, BoxProblem):
        matrix: Any = problem.A
    elif isinstance(problem, GlobalProblem):
        matrix = problem.M.sparse
    elif isinstance(problem.W, BodyDelassus):
        return 0.0  # W = J J' by construction
    else:
        matrix = problem.W.sparse() if isinstance(problem.W, BlockDelassus) else problem.W.dense()
    if 0 in matrix.shape or (sp.issparse(matrix) and not matrix.nnz):
        return 0.0
    largest = float(abs(matrix).max())
    return float(abs(matrix - matrix.T).max()) / largest if largest else 0.0


def judged(record: ProblemRecord) -> dict[str, Any] | None:
    """The judge's residuals of the stored solution; None if there is none."""
    from stickslip.problem.residuals import judge

    stored = record.solution
    return None if stored is None else asdict(judge(record.problem, stored.r, stored.v, stored.lam))


def expected(record: ProblemRecord) -> dict[str, Any]:
    """Whether a solution is sure to exist; null for box problems, which the condition is not for."""
    from stickslip.problem.box import BoxProblem
    from stickslip.solvers.existence import existence

    if isinstance(record.problem, BoxProblem):
        sentence = "not looked at: the condition is for contact and global problems"
        return {"existence": {"holds": None, "margin": None, "self_stress": [], "sentence": sentence}}
    found = existence(record.problem)
    return {
        "existence": {
            "holds": found.holds,
            "margin": found.margin,
            "self_stress": list(found.contacts),
            "sentence": str(found),
        }
    }
