"""`stickslip info`: what a file holds."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from stickslip.cli.errors import ExitCode, InputError, complain, refused, usable
from stickslip.cli.facts import describe, describe_results, describe_run, expected
from stickslip.cli.load import load, load_run
from stickslip.cli.parameters import Existence, Files, Json, Kind
from stickslip.cli.progress import watch
from stickslip.cli.tables import pairs, print_json

Rows = list[tuple[str, str]]
"""Lines for a reader: a name and a text, which is not shown where it is empty."""


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
    from stickslip.bench.campaigns.results_file import ROOT
    from stickslip.files.trajectories import has_root, is_trajectory

    foreign = _foreign(path) if kind is None else None
    if foreign is not None:
        return foreign
    if is_trajectory(path):
        return describe_run(path, load_run(path))
    if has_root(path, ROOT):
        with refused(ValueError):
            return describe_results(path)
    record = load(path, kind)
    return describe(path, record) | (expected(record) if existence else {})


def _foreign(path: Path) -> dict[str, Any] | None:
    """The report of a file of a known format that is not stickslip's; None of any other."""
    from stickslip.files.recognition import recognised

    if path.is_dir():
        raise InputError(_folder(path))
    if not path.is_file():
        return None  # the reader says what is wrong
    with usable(path):
        found = recognised(path)
    return None if found is None else {"file": str(path), "kind": "other", **asdict(found)}


def _folder(path: Path) -> str:
    """What to do with a folder: a collection of problems, or files to be given one by one."""
    from stickslip.bench.collections.standard import MANIFEST

    if (path / MANIFEST).is_file():
        return f"{path}: is a directory with a collection of problems: stickslip bench run --problems {path}"
    return f"{path}: is a directory; give the files in it"


def _foreign_rows(report: dict[str, Any]) -> Rows:
    """The lines of a report of a file of others for a reader."""
    counts = ", ".join(f"{count} {what}" for what, count in report["counts"].items())
    rows = [("kind", report["what"]), ("name", report["name"]), ("holds", counts), ("note", report["note"])]
    return [*(row for row in rows if row[1]), ("use", report["use"])]


def _run_rows(report: dict[str, Any]) -> Rows:
    """The lines of a report of a trajectory for a reader; those without a text are not shown."""
    start, end = report["span"]
    given = ", ".join(f"{name}={value}" for name, value in report["scheme_options"].items())
    energies = "{:.6g} to {:.6g} J".format(*report["energy"])
    of_world = report["kind"] == "world trajectory"
    before, between, after = _world_parts(report, energies) if of_world else _system_parts(report, energies)
    count = f", {report['iterations']} iterations" if of_world else ""
    return [
        *before,
        ("scheme", report["scheme"] + (f" ({given})" if given else "")),
        ("solver", f"{report['solver']}, tolerance {report['tolerance']:g}{count}"),
        ("time", f"{start:g} to {end:g} s, h = {report['h']:g} s"),
        (
            "records",
            f"the start and {report['records'] - 1} of {report['steps']} steps, {report['missed']} missed",
        ),
        ("verdict", _run_verdict(report)),
        *between,
        ("worst residual", f"natural {report['natural']:.2e}, natural_scaled {report['natural_scaled']:.2e}"),
        ("penetration", f"{report['penetration']:.3g} m"),
        *after,
    ]


def _system_parts(report: dict[str, Any], energies: str) -> tuple[Rows, Rows, Rows]:
    """Lines of a run of systems before those of its scheme, after its verdict, and at the end."""
    return (
        [
            ("kind", "trajectory"),
            ("systems", ", ".join(f"{name} ({kind})" for name, kind in report["systems"].items())),
            *((f"interaction {name}", law) for name, law in report["interactions"].items()),
        ],
        [],
        [
            ("energy", energies),
            ("contact work", f"{report['contact_work']:.6g} J"),
            ("events", ", ".join(f"{count} {kind}" for kind, count in report["events"].items()) or "none"),
        ],
    )


def _world_parts(report: dict[str, Any], energies: str) -> tuple[Rows, Rows, Rows]:
    """The same of a run of a world."""
    flows = ", ".join(f"{name} {report[name]:.6g} J" for name in ("dissipated", "work", "lifted"))
    joints = f"{len(report['joints'])}, open by {report['opening']:.3g} at most [m, rad]"
    return (
        [
            ("kind", "trajectory of a world"),
            ("bodies", f"{report['bodies']} ({report['body_kinds']})"),
            ("shapes", ", ".join(f"{count} {kind}" for kind, count in report["shapes"].items()) or "none"),
            ("joints", joints if report["joints"] else ""),
            ("sensors", ", ".join(report["sensors"])),
        ],
        [("contacts", f"{report['contacts']} in all records"), ("forces", _forces(report))],
        [
            ("correction", f"{report['correction']:.3g} m"),
            ("energy", f"{energies}; {flows}"),
            ("energy balance", f"kept to {report['balance']:.2e} J"),
        ],
    )


def _run_verdict(report: dict[str, Any]) -> str:
    """What a run proves, and what stood in the place of the exact law."""
    told = {"certified": "by the exact law", "missed": f"{report['missed']} of {report['steps']} steps"}
    return ", ".join(x for x in (report["verdict"], report["relaxation"] or told.get(report["verdict"])) if x)


def _forces(report: dict[str, Any]) -> str:
    """Which of many impulses a run of a world tells."""
    if report["forces"] == "solver":
        return "as the solver found them"
    return f"unique, or of least norm where there are many: {report['not_unique']} of {report['contacts']}"


def _results_rows(report: dict[str, Any]) -> Rows:
    """The lines of a report of results for a reader."""
    from stickslip.exhibits import power

    place = report["environment"]
    return [
        ("kind", "results of a campaign"),
        ("problems", f"{report['problems']}, families {', '.join(report['families'])}"),
        ("runs", f"{report['runs']}: " + ", ".join(f"{n} {what}" for what, n in report["outcomes"].items())),
        *(
            (f"solver {name}", f"{found['solved']} of {found['runs']} runs solved")
            for name, found in report["solvers"].items()
        ),
        ("tolerances", ", ".join(power(tolerance) for tolerance in report["tolerances"])),
        (
            "limits",
            f"{report['timeout']:g} s, {report['memory']:g} MiB, best of {report['best_of']}, "
            f"{report['workers']} side by side",
        ),
        ("machine", f"{place['processor']}, {place['cores']} cores, {place['system']}"),
        ("versions", f"stickslip {place['stickslip']} (code {place['code']}), {place['python']}"),
        ("command", " ".join(report["command"].split())),
    ]


def _rows(report: dict[str, Any]) -> Rows:
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
    "world trajectory": _run_rows,
    "results": _results_rows,
    "other": _foreign_rows,
}
"""How the report of a file that holds no problem is shown, by its kind."""


def _verdict(residuals: dict[str, Any] | None) -> str:
    if residuals is None:
        return "none stored"
    more = [f"{name} {residuals[name]:.2e}" for name in ("equilibrium", "joints") if residuals[name]]
    both = [f"natural {residuals['natural']:.2e}", f"natural_scaled {residuals['natural_scaled']:.2e}"]
    return f"stored, judged now: {', '.join(both + more)}"
