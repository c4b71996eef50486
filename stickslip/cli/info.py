"""`stickslip info`: what a file holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from stickslip.cli.errors import ExitCode, InputError, complain, os_sentence
from stickslip.cli.facts import describe, describe_run, describe_world_run, expected
from stickslip.cli.load import load
from stickslip.cli.parameters import Existence, Files, Json, Kind
from stickslip.cli.progress import watch
from stickslip.cli.results_facts import describe_results, is_results, results_rows
from stickslip.cli.tables import pairs, print_json


def info(
    files: Files, /, *, kind: Kind | None = None, existence: Existence = False, json: Json = False
) -> int:
    """Show what files hold: a problem, a trajectory, results, or a format of others.

    A stored solution is judged now, whatever the file says of it. The fingerprint
    is that of the numbers of the problem, however they are stored.

    Of a mesh, a robot description (URDF, MJCF, SDF), a table or an archive it says
    what it is and what can be done with it.

    With --json a number that is not finite is null, and a file that cannot be
    read is an object with file and error.

    For example:
      stickslip info problem.hdf5
      stickslip info pile.dat --kind global
      stickslip info *.hdf5 --json
      stickslip info pile.hdf5 --existence
      stickslip info ball.h5

    Parameters
    ----------
    files
        Problem files, .hdf5 or .dat; trajectories and results, .h5 or .hdf5; any others.
    kind
        What a .dat file holds, where its name does not say.
    existence
        Say whether a solution is sure to exist (a cone program; seconds for large files).
    json
        Print one JSON object (a list for several files) and nothing else.
    """
    reports: list[dict[str, Any]] = []
    for path in files:
        try:
            with watch(f"reading {path}", quiet=json):
                reports.append(_report(path, kind, existence))
        except InputError as error:
            complain(str(error))
            reports.append({"file": str(path), "error": str(error)})
    if json:
        print_json(reports if len(reports) > 1 else reports[0])
    else:
        good = [report for report in reports if "error" not in report]
        for k, report in enumerate(good):
            if k:
                print()
            pairs(report["file"], ROWS.get(report["kind"], _rows)(report))
    return ExitCode.BAD_INPUT if any("error" in report for report in reports) else ExitCode.FINE


def _report(path: Path, kind: Kind | None, existence: bool) -> dict[str, Any]:
    from stickslip.files import FormatError
    from stickslip.files.trajectories import is_trajectory, read_trajectory

    foreign = _foreign(path) if kind is None else None
    if foreign is not None:
        return foreign
    if is_trajectory(path):
        from stickslip.simulation.world_trajectory import WorldTrajectory

        try:
            found = read_trajectory(path)
            if isinstance(found, WorldTrajectory):
                return describe_world_run(path, found)
            return describe_run(path, found)
        except FormatError as error:
            raise InputError(str(error)) from None
    if is_results(path):
        try:
            return describe_results(path)
        except ValueError as error:
            raise InputError(str(error)) from None
    record = load(path, kind)
    return describe(path, record) | (expected(record) if existence else {})


def _foreign(path: Path) -> dict[str, Any] | None:
    """The report of a file of a known format that is not stickslip's; None of any other."""
    from stickslip.files import FormatError
    from stickslip.files.recognition import recognised

    if path.is_dir():
        raise InputError(_folder(path))
    if not path.is_file():
        return None  # the reader says what is wrong
    try:
        found = recognised(path)
    except FormatError as error:
        raise InputError(str(error)) from None
    except OSError as error:
        raise InputError(os_sentence(error, path)) from None
    if found is None:
        return None
    return {"file": str(path), "kind": "other", **asdict(found)}


def _folder(path: Path) -> str:
    """What to do with a folder: a collection of problems, or files to be given one by one."""
    from stickslip.bench.collections.standard import MANIFEST

    if (path / MANIFEST).is_file():
        return f"{path}: is a directory with a collection of problems: stickslip bench run --problems {path}"
    return f"{path}: is a directory; give the files in it"


def _foreign_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report of a file of others for a reader."""
    counts = ", ".join(f"{count} {what}" for what, count in report["counts"].items())
    rows = [("kind", report["what"]), ("name", report["name"]), ("holds", counts), ("note", report["note"])]
    return [*(row for row in rows if row[1]), ("use", report["use"])]


def _run_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report of a trajectory for a reader."""
    start, end = report["span"]
    given = ", ".join(f"{name}={value}" for name, value in report["scheme_options"].items())
    start_energy, end_energy = report["energy"]
    return [
        ("kind", "trajectory"),
        ("systems", ", ".join(f"{name} ({kind})" for name, kind in report["systems"].items())),
        *((f"interaction {name}", law) for name, law in report["interactions"].items()),
        ("scheme", report["scheme"] + (f" ({given})" if given else "")),
        ("solver", f"{report['solver']}, tolerance {report['tolerance']:g}"),
        ("time", f"{start:g} to {end:g} s, h = {report['h']:g} s"),
        (
            "records",
            f"the start and {report['records'] - 1} of {report['steps']} steps, {report['missed']} missed",
        ),
        ("verdict", _run_verdict(report)),
        ("worst residual", f"natural {report['natural']:.2e}, natural_scaled {report['natural_scaled']:.2e}"),
        ("penetration", f"{report['penetration']:.3g} m"),
        ("energy", f"{start_energy:.6g} to {end_energy:.6g} J"),
        ("contact work", f"{report['contact_work']:.6g} J"),
        ("events", ", ".join(f"{count} {kind}" for kind, count in report["events"].items()) or "none"),
    ]


def _run_verdict(report: dict[str, Any]) -> str:
    """What a run proves, and what stood in the place of the exact law."""
    told = {"certified": "by the exact law", "missed": f"{report['missed']} of {report['steps']} steps"}
    return ", ".join(x for x in (report["verdict"], report["relaxation"] or told.get(report["verdict"])) if x)


def _forces(report: dict[str, Any]) -> str:
    """Which of many impulses a run of a world tells."""
    if report["forces"] == "solver":
        return "as the solver found them"
    return f"unique, or of least norm where there are many: {report['not_unique']} of {report['contacts']}"


def _world_rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report of a trajectory of a world for a reader."""
    start, end = report["span"]
    given = ", ".join(f"{name}={value}" for name, value in report["scheme_options"].items())
    energies = "{:.6g} to {:.6g} J".format(*report["energy"])
    flows = ", ".join(f"{name} {report[name]:.6g} J" for name in ("dissipated", "work", "lifted"))
    rows = [
        ("kind", "trajectory of a world"),
        ("bodies", f"{report['bodies']} ({report['body_kinds']})"),
        ("shapes", ", ".join(f"{count} {kind}" for kind, count in report["shapes"].items()) or "none"),
        ("joints", f"{len(report['joints'])}, open by {report['opening']:.3g} at most [m, rad]"),
        ("sensors", ", ".join(report["sensors"])),
        ("scheme", report["scheme"] + (f" ({given})" if given else "")),
        (
            "solver",
            f"{report['solver']}, tolerance {report['tolerance']:g}, {report['iterations']} iterations",
        ),
        ("time", f"{start:g} to {end:g} s, h = {report['h']:g} s"),
        (
            "records",
            f"the start and {report['records'] - 1} of {report['steps']} steps, {report['missed']} missed",
        ),
        ("verdict", _run_verdict(report)),
        ("contacts", f"{report['contacts']} in all records"),
        ("forces", _forces(report)),
        ("worst residual", f"natural {report['natural']:.2e}, natural_scaled {report['natural_scaled']:.2e}"),
        ("penetration", f"{report['penetration']:.3g} m"),
        ("correction", f"{report['correction']:.3g} m"),
        ("energy", f"{energies}; {flows}"),
        ("energy balance", f"kept to {report['balance']:.2e} J"),
    ]
    return [row for row in rows if row[1] and (row[0] != "joints" or report["joints"])]


def _rows(report: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report for a reader."""
    kinds = {
        "contact": "contact problem (local: u = W r + u_free)",
        "global": "global problem (M v = f + H r + G lam)",
    }
    blocks = ", ".join(f"{count} {name}" for name, count in report.get("blocks", {}).items())
    sizes = [f"{report['size']} components" if "contacts" in report else f"{report['size']} unknowns"]
    for name, what in (("velocities", "velocities"), ("joint_rows", "bilateral rows")):
        if report.get(name):
            sizes.append(f"{report[name]} {what}")
    matrix = {"contact": "W", "global": "M"}.get(report["kind"], "A")
    contacts = f"{report['contacts']}" + (f" ({blocks})" if blocks else "") if "contacts" in report else ""
    box = f"box problem ({report['kind']}: -(A z + b) in N_[lower, upper](z))"
    rows = [
        ("kind", kinds.get(report["kind"], box)),
        ("level", report.get("level", "")),
        ("contacts", contacts),
        ("sizes", ", ".join(sizes)),
        ("storage", ", ".join(f"{name} {form}" for name, form in report["storage"].items())),
        ("symmetry defect", f"{report['symmetry_defect']:.2e} (max |{matrix} - {matrix}'| / max |{matrix}|)"),
    ]
    for name, (low, high) in report.get("friction", {}).items():
        spread = f"{low:g}" if low == high else f"{low:g} to {high:g}"
        rows.append((name, spread + (" m" if name in ("mu_roll", "mu_spin") else "")))
    rows += [(name, " ".join(value.split())) for name, value in report["info"].items()]
    rows += [("solution", _verdict(report["solution"])), ("guesses", f"{report['guesses'] or 'none'}")]
    if "existence" in report:
        rows.append(("existence", report["existence"]["sentence"]))
    return [*rows, ("fingerprint", report["fingerprint"])]


ROWS = {
    "trajectory": _run_rows,
    "world trajectory": _world_rows,
    "results": results_rows,
    "other": _foreign_rows,
}
"""How the report of a file that holds no problem is shown, by its kind."""


def _verdict(residuals: dict[str, Any] | None) -> str:
    if residuals is None:
        return "none stored"
    more = [f"{name} {residuals[name]:.2e}" for name in ("equilibrium", "joints") if residuals[name]]
    both = [f"natural {residuals['natural']:.2e}", f"natural_scaled {residuals['natural_scaled']:.2e}"]
    return f"stored, judged now: {', '.join(both + more)}"
