"""Renamed public names: old names work for one version, with a warning that contains the new one."""

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

MOVED = {
    "detection": ("ContactSet", "Detector", "Overlap"),
    "files": ("ProblemRecord", "StoredSolution", "read_record"),
    "forces": ("Actuator", "BodyForce", "Damper", "Spring"),
    "gradients": (
        "AtEnd", "Derivative", "SolutionDerivative", "StepDerivative", "SystemStepDerivative",
        "TrajectoryGradient", "TrajectorySensitivity",
    ),
    "joints": ("BallJoint", "DistanceJoint", "FixedJoint", "HingeJoint", "JointKind", "SliderJoint"),
    "laws": ("Box", "Complementarity", "Equality", "Law", "Mixed", "PoissonImpact", "Relay"),
    "mechanics": ("BodyKind", "Parameters"),
    "problem": (
        "Certificate", "ConeProgram", "ContactBlocks", "Existence", "Level", "NonlinearProblem",
        "ProductSet", "Residuals", "Verdict", "check_certificate", "contact_blocks", "dual_program", "free",
        "friction", "interval", "judge_program", "lcp", "mlcp", "motion_mcp", "nonnegative",
        "primal_program", "pyramid_lcp", "reduce_to_contacts", "relay", "rolling", "torsional",
        "velocity_step",
    ),
    "schemes": (
        "BodyScheme", "Compliant", "EulerMoreau", "Event", "EventDriven", "MoreauJean",
        "PreparedWorld", "SchatzmanPaoli", "Scheme", "Step", "Variational", "VariationalBodies",
    ),
    "sensors": ("DistanceSensor", "JointSensor", "PositionSensor", "Sensor", "VelocitySensor"),
    "shapes": ("Compound", "Ellipsoid", "Mesh", "Shape", "read_mesh"),
    "simulation": ("Checkpoint", "ContactTable"),
    "systems": (
        "BodyContact", "CompliantRelation", "Family", "FirstOrderLinearRelation", "FirstOrderRelation",
        "FirstOrderType1", "FirstOrderType2", "LagrangianLinearRelation", "LagrangianNonlinear",
        "PointOnPlane", "Rheonomous", "SpherePlane", "SphereSphere", "Touch", "relative_degree",
    ),
}  # fmt: skip
"""Names that were in `stickslip` itself, by the module that contains them."""
RENAMED = {
    "stickslip.BodyStep": "stickslip.schemes.Step",
    "stickslip.WorldCheckpoint": "stickslip.simulation.Checkpoint",
    "stickslip.WorldRecord": "stickslip.simulation.Record",
    "stickslip.WorldTrajectory": "stickslip.Trajectory",
    "stickslip.MoreauJeanBodies": "stickslip.schemes.SemiExplicitMoreauJean",
    "stickslip.existence": "stickslip.solvers.prove_existence",
    "stickslip.first_order": "stickslip.systems.to_first_order",
    "stickslip.overlaps": "stickslip.detection.find_overlaps",
}
"""Renamed names."""
PLACES = {
    f"stickslip.{name}": f"stickslip.{place}.{name}" for place, names in MOVED.items() for name in names
} | RENAMED
"""Old public Python names, and the new ones."""

SCHEMES_OF_WORLDS = {"moreau-jean-bodies": "moreau-jean-semi-explicit"}
"""Old names of schemes for worlds."""
SCENES = {name: f"{name}-problem" for name in ("chute", "incline", "packing", "wall")}
"""Old names of scenes."""
OPTIONS = {"pgs": {"omega": "relaxation"}}
"""Old names of options, by solver."""
ARGUMENTS = {"omega": "spin"}
"""Old names of arguments of forces on bodies."""

PACKAGE = str(Path(__file__).parent)


class RenamedWarning(DeprecationWarning):
    """Warning about an old name, which the next version removes."""


def current(what: str, name: str, renamed: Mapping[str, str]) -> str:
    """Return the current name, with a warning if `name` is an old one; `what`: scene, scheme, ..."""
    if name not in renamed:
        return name
    warn(f"the {what} {name!r}", repr(renamed[name]))
    return renamed[name]


def warn(old: str, new: str) -> None:
    """Warn the caller outside stickslip that `old` was renamed to `new`."""
    frame = sys._getframe(1)
    while frame.f_back and frame.f_code.co_filename.startswith((PACKAGE, "<frozen importlib")):
        frame = frame.f_back
    warnings.warn_explicit(
        f"{old} is now {new}; the next version removes the old name", RenamedWarning,
        frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__", ""),
        frame.f_globals.setdefault("__warningregistry__", {}),
    )  # fmt: skip
