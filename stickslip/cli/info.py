"""`stickslip info`: what a problem file holds."""

from __future__ import annotations

from typing import Any

from stickslip.cli.errors import ExitCode, InputError, complain
from stickslip.cli.facts import describe, expected
from stickslip.cli.load import load
from stickslip.cli.parameters import Existence, Files, Json, Kind
from stickslip.cli.progress import watch
from stickslip.cli.tables import pairs, print_json


def info(
    files: Files, /, *, kind: Kind | None = None, existence: Existence = False, json: Json = False
) -> int:
    """Show what problem files hold: kind, sizes, storage, stored answers.

    A stored solution is judged now, whatever the file says of it. The fingerprint
    is that of the numbers of the problem, however they are stored.

    With --json a number that is not finite is null, and a file that cannot be
    read is an object with file and error.

    For example:
      stickslip info problem.hdf5
      stickslip info pile.dat --kind global
      stickslip info *.hdf5 --json
      stickslip info pile.hdf5 --existence

    Parameters
    ----------
    files
        Problem files, .hdf5 or .dat.
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
                record = load(path, kind)
                reports.append(describe(path, record) | (expected(record) if existence else {}))
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
            pairs(report["file"], _rows(report))
    return ExitCode.BAD_INPUT if any("error" in report for report in reports) else ExitCode.FINE


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


def _verdict(residuals: dict[str, Any] | None) -> str:
    if residuals is None:
        return "none stored"
    more = [f"{name} {residuals[name]:.2e}" for name in ("equilibrium", "joints") if residuals[name]]
    both = [f"natural {residuals['natural']:.2e}", f"natural_scaled {residuals['natural_scaled']:.2e}"]
    return f"stored, judged now: {', '.join(both + more)}"
