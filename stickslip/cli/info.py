"""`stickslip info`: describe the contents of files."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stickslip.cli.campaign_facts import Facts, of_results, of_sweep
from stickslip.cli.errors import ExitCode, InputError, complain, usable
from stickslip.cli.models import load_model, load_robot
from stickslip.cli.parameters import Files, Flag, Json, Kind, KindName
from stickslip.cli.places import load, load_run
from stickslip.cli.progress import watch
from stickslip.cli.tables import pairs, print_json

if TYPE_CHECKING:
    from stickslip.files import ProblemRecord
    from stickslip.mechanics.world import World
    from stickslip.problem.sets import ProductSet
    from stickslip.problem.solution import Problem
    from stickslip.robots.robot import Robot
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.systems.system import NonsmoothSystem


def info(files: Files, /, *, kind: Kind = None, existence: Flag = False, json: Json = False) -> int:
    """Describe the contents of files: problems, runs, results, sweeps, models, robots and others.

    The residuals of a stored solution are recomputed. The fingerprint depends on the
    numbers of the problem, not on the format of the file.

    For a robot (MJCF, URDF) the joints, actuators, sensors and keyframes are listed,
    and the entries of the file that have no effect. For a mesh, a table, an archive
    or a robot that cannot be loaded, the format and its possible uses are named.

    With --json, numbers that are not finite are null, and a file that cannot be
    read is an object with the keys file and error.

    For example:
      stickslip info problem.hdf5
      stickslip info pile.dat --kind global
      stickslip info *.hdf5 --json
      stickslip info pile.hdf5 --existence
      stickslip info ball.h5
      stickslip info model.toml
      stickslip info robot.xml

    Parameters
    ----------
    files
        Problem files, .hdf5 or .dat; trajectories, results and sweeps, .h5 or .hdf5; models, .toml or .json;
        robots, MJCF or URDF; or other files.
    existence
        Test whether a solution is certain to exist (solves a cone program; seconds for large files).
    """
    reports: list[dict[str, Any]] = []
    texts: list[tuple[str, list[tuple[str, str]]]] = []
    for path in files:
        report: dict[str, Any] = {"file": str(path)}
        try:
            with watch(f"reading {path}", quiet=json):
                facts = list(_facts(path, kind, existence))
            report |= {key: value for key, value, _, _ in facts if key}
            texts.append((str(path), [(name, text) for _, _, name, text in facts]))
        except InputError as error:
            complain(str(error))
            report["error"] = str(error)
        reports.append(report)
    if json:
        print_json(reports if len(reports) > 1 else reports[0])
    else:
        for k, (title, rows) in enumerate(texts):
            print("\n" if k else "", end="")
            pairs(title, rows)
    return ExitCode.BAD_INPUT if any("error" in report for report in reports) else ExitCode.FINE


def _facts(path: Path, kind: KindName | None, existence: bool) -> Facts:
    """Yield the facts of a file of any kind."""
    from stickslip.bench.campaigns.results_file import ROOT
    from stickslip.bench.collections.standard import MANIFEST
    from stickslip.files.problems import holds_sweep
    from stickslip.files.recognition import MODEL_FILE, ROBOT_FILES, recognised
    from stickslip.files.runs import has_root, is_trajectory

    if kind is None and path.is_dir():
        todo = "; give the files in it"
        if (path / MANIFEST).is_file():
            todo = f" with a collection of problems: stickslip bench run --problems {path}"
        raise InputError(f"{path}: is a directory{todo}")
    foreign = None
    if kind is None and path.is_file():  # otherwise the reader below reports the error
        with usable(path):
            foreign = recognised(path)
    if foreign is not None and foreign.what == MODEL_FILE:
        return _of_model(load_model(path))
    if foreign is not None and foreign.what in ROBOT_FILES:
        try:
            return _of_robot(load_robot(path), foreign.what)
        except InputError as error:
            note = f"it cannot be loaded: {str(error).removeprefix(f'{path}: ')}"
            use = "none until the error in the note is corrected"
            foreign = replace(foreign, note=foreign.note or note, use=use)
    if foreign is not None:
        return _of_others(asdict(foreign))
    if is_trajectory(path):
        return _of_run(load_run(path), path)
    if has_root(path, ROOT):
        return of_results(path)
    if holds_sweep(path):
        return of_sweep(path)
    return _of_problem(load(path, kind), existence)


def _of_others(description: dict[str, Any]) -> Facts:
    """Facts of a file of a known format that is not stickslip's."""
    counts = ", ".join(f"{count} {noun}" for noun, count in description["counts"].items())
    yield "kind", "other", "kind", description["what"]
    labels = {"name": "name", "counts": "holds", "note": "note", "use": "use"}
    for key, value in description.items():
        yield key, value, labels.get(key, ""), counts if key == "counts" else value if key in labels else ""


def _of_model(model: World | NonsmoothSystem) -> Facts:
    """Facts of a model: a world, or a system of equations."""
    from stickslip.mechanics.world import World

    lines = str(model).split("\n")
    if isinstance(model, World):
        yield "kind", "world", "kind", "model of a world"
        yield "bodies", list(model.names), "bodies", lines[0].partition(" of ")[2]
        yield "joints", list(model.joints.names), "", ""
        yield "inputs", list(model.inputs), "", ""
        yield "sensors", [sensor.name for sensor in model.sensors], "", ""
        for line in lines[1:]:
            name, _, text = line.strip().partition(" ")
            yield "", None, name, text.strip()
        return
    yield "kind", "system", "kind", "model of equations"
    systems = {part.name: type(part).__name__ for part in model.systems}
    yield "systems", systems, "systems", ", ".join(f"{name} ({kind})" for name, kind in systems.items())
    laws = {part.name: repr(part.law) for part in model.interactions}
    yield "interactions", laws, "", ""
    for name, law in laws.items():
        yield "", None, f"interaction {name}", law


def _of_robot(robot: Robot, file_format: str) -> Facts:
    """Facts of a robot."""
    from stickslip.simulation.robot_model import KINDS

    model = robot.model
    kinds = [KINDS[k] for k in model.jnt_type.tolist()]
    joints = dict(zip(robot.names("joint"), kinds, strict=True))
    yield "kind", "robot", "kind", f"robot, {file_format}"
    counts = str(robot).split("\n")[0].removeprefix(f"robot {robot.name}: ")
    yield "degrees_of_freedom", int(model.nv), "holds", counts
    yield "timestep", float(model.opt.timestep), "step", f"{model.opt.timestep:g} s unless --h is given"
    yield "bodies", list(robot.names("body")[1:]), "bodies", ", ".join(robot.names("body")[1:])
    yield "joints", joints, "joints", ", ".join(f"{name} ({kind})" for name, kind in joints.items())
    for kind in ("actuator", "sensor", "key"):
        yield f"{kind}s", list(robot.names(kind)), f"{kind}s", ", ".join(robot.names(kind))
    yield "unused", list(robot.unused), "", ""
    for sentence in robot.unused:
        yield "", None, "not used", sentence


def _of_run(run: Trajectory, path: Path) -> Facts:
    """Facts of a trajectory, of systems or of a world."""
    from stickslip.files.journal import is_written
    from stickslip.schemes.body_forces import LEAST
    from stickslip.simulation.robot_model import RobotModel
    from stickslip.simulation.summary import bodies, shapes
    from stickslip.simulation.world_memory import pending

    count = ""
    if not run.of_world:
        systems = {part.name: part.kind for part in run.model.systems}
        laws = {part.name: part.law for part in run.model.interactions}
        yield "kind", "trajectory", "kind", "trajectory"
        yield "systems", systems, "systems", ", ".join(f"{name} ({kind})" for name, kind in systems.items())
        yield "interactions", laws, "", ""
        for name, law in laws.items():
            yield "", None, f"interaction {name}", law
    else:
        kinds, sorts, robot = bodies(run), shapes(run), isinstance(run.model, RobotModel)
        joints = list(run.model.coordinates if robot else run.model.joints)
        noun = "robot" if robot else "world"
        opening, iterations = float(run.opening.max()), int(run.iterations.sum())
        count = f", {iterations} iterations"
        joint_line = f"{len(joints)}, open by {opening:.3g} at most [m, rad]"
        if robot:
            joint_line = f"{', '.join(joints)}; constraints open by {opening:.3g} at most [m, rad]"
        shape_counts = ", ".join(f"{number} {sort}" for sort, number in sorts.items())
        yield "kind", f"{noun} trajectory", "kind", f"trajectory of a {noun}"
        yield "bodies", len(run.model), "bodies", f"{len(run.model)} ({kinds})"
        yield "body_kinds", kinds, "", ""
        yield "shapes", sorts, "shapes", shape_counts or "none"
        yield "joints", joints, "joints", joint_line if joints else ""
        yield "opening", opening, "", ""
        yield "sensors", list(run.sensors), "sensors", ", ".join(run.sensors)
        yield "iterations", iterations, "", ""
    if run.inputs:
        yield "inputs", list(run.inputs), "inputs", ", ".join(run.inputs)
    options = ", ".join(f"{name}={value}" for name, value in run.scheme_options.items())
    start, end = float(run.t[0]), float(run.t[-1])
    yield "scheme", run.scheme, "scheme", run.scheme + (f" ({options})" if options else "")
    yield "scheme_options", run.scheme_options, "", ""
    yield "solver", run.solver, "solver", f"{run.solver}, tolerance {run.tolerance:g}{count}"
    yield "tolerance", run.tolerance, "", ""
    being_written = not run.complete and is_written(path)
    unfinished = "so far; the file is being written" if being_written else "unfinished; --resume continues it"
    ended = "" if run.complete else f"; {unfinished}"
    yield "span", [start, end], "time", f"{start:g} to {end:g} s, {run.clock.told}{ended}"
    yield "complete", run.complete, "", ""
    yield "h", run.clock.h, "", ""
    counts_text = f"the start and {len(run) - 1} of {run.steps} steps, {run.missed} missed"
    yield "records", len(run), "records", counts_text
    yield "steps", run.steps, "", ""
    yield "missed", run.missed, "", ""
    verdict = run.verdict.value
    reasons = {"certified": "by the exact law", "missed": f"{run.missed} of {run.steps} steps"}
    reason = run.relaxation or reasons.get(verdict)
    yield "verdict", verdict, "verdict", f"{verdict}, {reason}" if reason else verdict
    yield "relaxation", run.relaxation, "", ""
    if run.of_world:
        choice = run.raw_contacts.choice
        least_norm: int | None = int((choice == LEAST).sum())
        force_text = f"unique, or of least norm where there are many: {least_norm} of {choice.size}"
        if pending(run).size:
            least_norm = None
            force_text = "of least norm where there are many, chosen when they are asked for"
        force_text = "as the solver found them" if run.forces == "solver" else force_text
        yield "contacts", choice.size, "contacts", f"{choice.size} in all records"
        yield "forces", run.forces, "forces", force_text
        yield "not_unique", least_norm, "", ""
    natural, scaled = float(run.natural.max()), float(run.natural_scaled.max())
    yield "natural", natural, "worst residual", f"natural {natural:.2e}, natural_scaled {scaled:.2e}"
    yield "natural_scaled", scaled, "", ""
    ends = [float(run.energy[0]), float(run.energy[-1])]
    energies = "{:.6g} to {:.6g} J".format(*ends)
    if not run.of_world:
        work = float(run.contact_work[-1] - run.contact_work[0])
        events = dict(sorted(Counter(event.kind for event in run.events).items()))
        event_text = ", ".join(f"{number} {kind}" for kind, number in events.items())
        deepest = float(run.penetration.max())
        yield "penetration", deepest, "penetration", f"{deepest:.3g} m"
        yield "energy", ends, "energy", energies
        yield "contact_work", work, "contact work", f"{work:.6g} J"
        yield "events", events, "events", event_text or "none"
        return
    for key in ("penetration", "correction"):
        most = float(getattr(run, key).max())
        yield key, most, key, f"{most:.3g} m"
    flows = {key: float(getattr(run, key)[-1]) for key in ("dissipated", "work", "lifted")}
    yield "energy", ends, "energy", f"{energies}; {', '.join(f'{k} {x:.6g} J' for k, x in flows.items())}"
    for key, flow in flows.items():
        yield key, flow, "", ""
    balance = float(abs(run.balance).max())
    yield "balance", balance, "energy balance", f"kept to {balance:.2e} J"


def _of_problem(record: ProblemRecord, existence: bool) -> Facts:
    """Facts of a problem and of the data stored with it."""
    from stickslip.problem.box import BoxProblem
    from stickslip.problem.contact import GlobalProblem
    from stickslip.problem.fingerprint import fingerprint
    from stickslip.problem.residuals import judge

    problem, matrix, ranges = record.problem, "A", None
    if isinstance(problem, BoxProblem):
        form = f"box problem ({problem.kind}: -(A z + b) in N_[lower, upper](z))"
        yield "kind", problem.kind, "kind", form
        yield "size", problem.size, "sizes", f"{problem.size} unknowns"
    else:
        kind, form, matrix = "contact", "contact problem (local: u = W r + u_free)", "W"
        sizes, ranges = [f"{problem.size} components"], friction(problem.K)
        if isinstance(problem, GlobalProblem):
            kind, form, matrix = "global", "global problem (M v = f + H r + G lam)", "M"
            rows = int(problem.g_bias.size)
            yield "velocities", problem.M.size, "", ""
            yield "joint_rows", rows, "", ""
            parts = (problem.M.size, "velocities"), (rows, "bilateral rows")
            sizes += [f"{number} {noun}" for number, noun in parts if number]
        blocks = dict(problem.K.census)
        block_text = ", ".join(f"{count} {name}" for name, count in blocks.items())
        contacts = f"{problem.contacts}" + (f" ({block_text})" if block_text else "")
        yield "kind", kind, "kind", form
        yield "level", problem.level.value, "level", problem.level.value
        yield "contacts", problem.contacts, "contacts", contacts
        yield "blocks", blocks, "", ""
        yield "size", problem.size, "sizes", ", ".join(sizes)
    storages, defect = storage(problem), symmetry_defect(problem)
    yield "storage", storages, "storage", ", ".join(f"{name} {form}" for name, form in storages.items())
    measured = f"{defect:.2e} (max |{matrix} - {matrix}'| / max |{matrix}|)"
    yield "symmetry_defect", defect, "symmetry defect", measured
    if ranges is not None:
        yield "friction", ranges, "", ""
        for name, (low, high) in ranges.items():
            spread = f"{low:g}" if low == high else f"{low:g} to {high:g}"
            yield "", None, name, spread + (" m" if name in ("mu_roll", "mu_spin") else "")
    yield "info", {name: str(value) for name, value in record.info.items()}, "", ""
    for name, value in record.info.items():
        yield "", None, name, " ".join(str(value).split())
    judged, judged_text, stored = None, "none stored", record.solution
    if stored is not None:
        judged = asdict(judge(problem, stored.r, stored.v, stored.lam))
        names = ["natural", "natural_scaled", *(each for each in ("equilibrium", "joints") if judged[each])]
        judged_text = "stored, judged now: " + ", ".join(f"{name} {judged[name]:.2e}" for name in names)
    yield "solution", judged, "solution", judged_text
    yield "guesses", len(record.guesses), "guesses", f"{len(record.guesses) or 'none'}"
    if existence:
        yield from _of_existence(record)
    yield "fingerprint", fingerprint(problem), "fingerprint", fingerprint(problem)


def _of_existence(record: ProblemRecord) -> Facts:
    """Whether a solution is certain to exist; null for box problems, to which the test does not apply."""
    from stickslip.problem.box import BoxProblem
    from stickslip.solvers.existence import prove_existence

    facts: dict[str, Any] = {"holds": None, "margin": None, "self_stress": []}
    sentence = "not tested: the test applies to contact and global problems"
    if not isinstance(record.problem, BoxProblem):
        proof = prove_existence(record.problem)
        facts = {"holds": proof.holds, "margin": proof.margin, "self_stress": list(proof.contacts)}
        sentence = str(proof)
    yield "existence", facts | {"sentence": sentence}, "existence", sentence


def friction(K: ProductSet) -> dict[str, list[float]]:
    """Smallest and largest friction coefficients by name: mu [-], mu_roll and mu_spin [m], ..."""
    import numpy as np

    count = np.diff(K.group_offset)
    ranges: dict[str, list[float]] = {}
    for group in range(int(count.max(initial=0))):
        index = K.group_offset[:-1][count > group] + group
        for size in np.unique(K.group_size[index]).tolist():
            values = K.coefficient[index[K.group_size[index] == size]]
            names = {(1, 2): "mu_roll", (1, 1): "mu_spin"}
            name = names.get((group, size), f"mu_{group}") if group else "mu"
            extremes = [*ranges.get(name, []), float(values.min()), float(values.max())]
            ranges[name] = [min(extremes), max(extremes)]
    return ranges


def storage(problem: Problem) -> dict[str, str]:
    """Storage of each matrix of a problem: dense, block, sparse or bodies."""
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
    forms = {name: "sparse" if sp.issparse(x) else "bodies" for name, x in maps.items() if x is not None}
    return {"M": mass, **forms}


def symmetry_defect(problem: Problem) -> float:
    """max |W - W'| / max |W| of a contact problem; of M for a global problem, of A for a box problem [-]."""
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
