"""stickslip: nonsmooth contact dynamics with exact friction and certified answers.

    import stickslip as ss

    problem = ss.read("problem.hdf5")
    solution = ss.solve(problem)
    print(solution)

    ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
    print(ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=3.0, h=1e-3))

    builder = ss.WorldBuilder()
    builder.body("floor", ss.Plane(), fixed=True)
    builder.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(1, 0, 0))
    print(ss.simulate(builder.build(), until=1.0, h=1e-3))

Everything public is a name of this module; nothing heavy is imported until it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

DEFAULT_SOLVER = "auto"
"""The solver when none is named."""
SYSTEM_TOLERANCE = 1e-10
"""Tolerance of the steps of systems, unless given [-]."""
WORLD_TOLERANCE = 1e-8
"""Tolerance of the steps of worlds, unless given [-]."""

_HOME = {
    "stickslip.problem.contact": ("ContactProblem", "GlobalProblem", "Level"),
    "stickslip.problem.box": ("BoxProblem", "lcp", "live", "mlcp", "relay"),
    "stickslip.problem.nonlinear": ("NonlinearProblem",),
    "stickslip.problem.program": ("ConeProgram", "judge_program"),
    "stickslip.problem.step": ("velocity_step",),
    "stickslip.problem.convert": (
        "dual_program", "motion_mcp", "primal_program", "pyramid_lcp", "reduce_to_contacts",
    ),
    "stickslip.problem.sets": (
        "ProductSet", "coulomb", "free", "friction", "interval", "nonnegative", "rolling", "torsional",
    ),
    "stickslip.problem.jacobian": ("ContactBlocks", "contact_blocks"),
    "stickslip.problem.checks": ("ProblemError",),
    "stickslip.problem.certificate": ("Certificate", "check_certificate"),
    "stickslip.problem.existence": ("Existence",),
    "stickslip.problem.residuals": ("Residuals", "judge"),
    "stickslip.problem.solution": ("Solution", "SolverFailure", "Status", "Verdict"),
    "stickslip.problem.fingerprint": ("fingerprint",),
    "stickslip.solvers.existence": ("existence",),
    "stickslip.files": ("FormatError", "ProblemRecord", "StoredSolution", "read", "read_record", "write"),
    "stickslip.files.runs": ("read_trajectory",),
    "stickslip.laws": (
        "Box", "Complementarity", "Equality", "Law", "Mixed", "NewtonImpact", "PoissonImpact", "Relay",
    ),
    "stickslip.systems.first_order": ("FirstOrder", "FirstOrderLinear"),
    "stickslip.systems.first_order_relations": (
        "FirstOrderLinearRelation", "FirstOrderRelation", "FirstOrderType1", "FirstOrderType2",
    ),
    "stickslip.systems.lagrangian": ("Lagrangian", "LagrangianLinear"),
    "stickslip.systems.lagrangian_relations": (
        "CompliantRelation", "LagrangianLinearRelation", "LagrangianNonlinear", "Rheonomous",
        "Scleronomous",
    ),
    "stickslip.systems.newton_euler": ("NewtonEuler",),
    "stickslip.systems.newton_euler_joints": (
        "BallJoint", "DistanceJoint", "FixedJoint", "HingeJoint", "SliderJoint",
    ),
    "stickslip.systems.newton_euler_relations": (
        "BodyContact", "PointOnPlane", "SpherePlane", "SphereSphere", "Touch",
    ),
    "stickslip.systems.first_order_view": ("first_order",),
    "stickslip.systems.relative_degree": ("relative_degree",),
    "stickslip.systems.system": ("Interaction", "NonsmoothSystem"),
    "stickslip.state": ("ModelError", "State"),
    "stickslip.schemes.step": ("Event", "Scheme", "Step"),
    "stickslip.schemes.moreau_jean": ("MoreauJean",),
    "stickslip.schemes.euler_moreau": ("EulerMoreau",),
    "stickslip.schemes.schatzman_paoli": ("SchatzmanPaoli",),
    "stickslip.schemes.event_driven": ("EventDriven",),
    "stickslip.schemes.compliant": ("Compliant",),
    "stickslip.mechanics.world": ("BodyKind", "World"),
    "stickslip.mechanics.builder": ("WorldBuilder",),
    "stickslip.mechanics.shapes": (
        "Capsule", "Cuboid", "Cylinder", "Ellipsoid", "Plane", "Shape", "Sphere",
    ),
    "stickslip.mechanics.hulls": ("ConvexHull",),
    "stickslip.mechanics.height_fields": ("HeightField",),
    "stickslip.mechanics.compounds": ("Compound",),
    "stickslip.mechanics.given": ("rotation",),
    "stickslip.mechanics.forces": ("Actuator", "BodyForce", "Damper", "Spring"),
    "stickslip.mechanics.joints": ("JointKind",),
    "stickslip.mechanics.sensors": (
        "DistanceSensor", "JointSensor", "PositionSensor", "Reading", "Sensor", "VelocitySensor",
    ),
    "stickslip.mechanics.step_sensors": (
        "Accelerometer", "ContactSensor", "ForceSensor", "Gyroscope", "TorqueSensor",
    ),
    "stickslip.mechanics.inputs": ("DeclaredInput", "Input"),
    "stickslip.files.meshes": ("Mesh", "read_mesh"),
    "stickslip.detection.detector": ("Detector",),
    "stickslip.detection.overlaps": ("Overlap", "overlaps"),
    "stickslip.schemes.bodies": ("MoreauJeanBodies",),
    "stickslip.schemes.body_world": ("PreparedWorld",),
    "stickslip.schemes.prepared_system": ("PreparedSystem",),
    "stickslip.detection.contacts": ("ContactSet",),
    "stickslip.schemes.body_step": ("BodyScheme",),
    "stickslip.runs": ("live", "simulate"),
    "stickslip.simulation.joint_view": ("JointView",),
    "stickslip.simulation.checkpoint": ("Checkpoint",),
    "stickslip.simulation.failure": ("SimulationFailure",),
    "stickslip.simulation.contacts": ("ContactTable",),
    "stickslip.simulation.live": ("Live",),
    "stickslip.simulation.record": ("Record",),
    "stickslip.simulation.trajectory": ("Trajectory",),
    "stickslip.differentiation": ("differentiate", "gradient", "sensitivity", "step_function"),
    "stickslip.gradients.derivative": ("Derivative",),
    "stickslip.gradients.solution": ("SolutionDerivative",),
    "stickslip.gradients.step": ("StepDerivative",),
    "stickslip.gradients.system_step": ("SystemStepDerivative",),
    "stickslip.systems.family": ("Family",),
    "stickslip.gradients.trajectory": ("AtEnd", "TrajectoryGradient"),
    "stickslip.gradients.trajectory_sensitivity": ("TrajectorySensitivity",),
    "stickslip.mechanics.parameters": ("Parameters",),
    "stickslip.schemes.variational": ("VariationalBodies",),
    "stickslip.schemes.variational_written": ("Variational",),
}  # fmt: skip
_WHERE = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Accelerometer", "Actuator", "AtEnd", "BallJoint", "BodyContact", "BodyForce", "BodyKind",
    "BodyScheme", "Box", "BoxProblem", "Capsule", "Certificate", "Checkpoint", "Complementarity",
    "Compliant", "CompliantRelation", "Compound", "ConeProgram", "ContactBlocks", "ContactProblem",
    "ContactSensor", "ContactSet", "ContactTable", "ConvexHull", "Cuboid", "Cylinder", "Damper",
    "DeclaredInput", "Derivative", "Detector", "DistanceJoint", "DistanceSensor", "Ellipsoid", "Equality",
    "EulerMoreau", "Event", "EventDriven", "Existence", "Family", "FirstOrder", "FirstOrderLinear",
    "FirstOrderLinearRelation", "FirstOrderRelation", "FirstOrderType1", "FirstOrderType2", "FixedJoint",
    "ForceSensor", "FormatError", "GlobalProblem", "Gyroscope", "HeightField", "HingeJoint", "Input",
    "Interaction", "JointKind", "JointSensor", "JointView", "Lagrangian", "LagrangianLinear",
    "LagrangianLinearRelation", "LagrangianNonlinear", "Law", "Level", "Live", "Mesh", "Mixed",
    "ModelError", "MoreauJean", "MoreauJeanBodies", "NewtonEuler", "NewtonImpact", "NonlinearProblem",
    "NonsmoothSystem", "Overlap", "Parameters", "Plane", "PointOnPlane", "PoissonImpact",
    "PositionSensor", "PreparedSystem", "PreparedWorld", "ProblemError", "ProblemRecord", "ProductSet",
    "Reading", "Record", "Relay", "Residuals", "Rheonomous", "SchatzmanPaoli", "Scheme", "Scleronomous",
    "Sensor", "Shape", "SimulationFailure", "SliderJoint", "Solution", "SolutionDerivative",
    "SolverFailure", "Sphere", "SpherePlane", "SphereSphere", "Spring", "State", "Status", "Step",
    "StepDerivative", "StoredSolution", "SystemStepDerivative", "TorqueSensor", "Touch", "Trajectory",
    "TrajectoryGradient", "TrajectorySensitivity", "Variational", "VariationalBodies", "VelocitySensor",
    "Verdict", "World", "WorldBuilder", "check_certificate", "contact_blocks", "coulomb", "differentiate",
    "dual_program", "existence", "fingerprint", "first_order", "free", "friction", "gradient", "interval",
    "judge", "judge_program", "lcp", "live", "mlcp", "motion_mcp", "nonnegative", "overlaps",
    "primal_program", "pyramid_lcp", "read", "read_mesh", "read_record", "read_trajectory",
    "reduce_to_contacts", "relative_degree", "relay", "rolling", "rotation", "sensitivity", "simulate",
    "solve", "step_function", "torsional", "velocity_step", "write",
]  # fmt: skip

if TYPE_CHECKING:
    from stickslip.detection.contacts import ContactSet
    from stickslip.detection.detector import Detector
    from stickslip.detection.overlaps import Overlap, overlaps
    from stickslip.differentiation import differentiate, gradient, sensitivity, step_function
    from stickslip.files import FormatError, ProblemRecord, StoredSolution, read, read_record, write
    from stickslip.files.meshes import Mesh, read_mesh
    from stickslip.files.runs import read_trajectory
    from stickslip.gradients.derivative import Derivative
    from stickslip.gradients.solution import SolutionDerivative
    from stickslip.gradients.step import StepDerivative
    from stickslip.gradients.system_step import SystemStepDerivative
    from stickslip.gradients.trajectory import AtEnd, TrajectoryGradient
    from stickslip.gradients.trajectory_sensitivity import TrajectorySensitivity
    from stickslip.laws import Box, Complementarity, Equality, Law, Mixed, NewtonImpact, PoissonImpact, Relay
    from stickslip.mechanics.builder import WorldBuilder
    from stickslip.mechanics.compounds import Compound
    from stickslip.mechanics.forces import Actuator, BodyForce, Damper, Spring
    from stickslip.mechanics.given import rotation
    from stickslip.mechanics.height_fields import HeightField
    from stickslip.mechanics.hulls import ConvexHull
    from stickslip.mechanics.inputs import DeclaredInput, Input
    from stickslip.mechanics.joints import JointKind
    from stickslip.mechanics.parameters import Parameters
    from stickslip.mechanics.sensors import (
        DistanceSensor,
        JointSensor,
        PositionSensor,
        Reading,
        Sensor,
        VelocitySensor,
    )
    from stickslip.mechanics.shapes import Capsule, Cuboid, Cylinder, Ellipsoid, Plane, Shape, Sphere
    from stickslip.mechanics.step_sensors import (
        Accelerometer,
        ContactSensor,
        ForceSensor,
        Gyroscope,
        TorqueSensor,
    )
    from stickslip.mechanics.world import BodyKind, World
    from stickslip.problem.box import BoxProblem, lcp, mlcp, relay
    from stickslip.problem.certificate import Certificate, check_certificate
    from stickslip.problem.checks import ProblemError
    from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
    from stickslip.problem.convert import (
        dual_program,
        motion_mcp,
        primal_program,
        pyramid_lcp,
        reduce_to_contacts,
    )
    from stickslip.problem.existence import Existence
    from stickslip.problem.fingerprint import fingerprint
    from stickslip.problem.jacobian import ContactBlocks, contact_blocks
    from stickslip.problem.nonlinear import NonlinearProblem
    from stickslip.problem.program import ConeProgram, judge_program
    from stickslip.problem.residuals import Residuals, judge
    from stickslip.problem.sets import (
        ProductSet,
        coulomb,
        free,
        friction,
        interval,
        nonnegative,
        rolling,
        torsional,
    )
    from stickslip.problem.solution import Solution, SolverFailure, Status, Verdict
    from stickslip.problem.step import velocity_step
    from stickslip.runs import live, simulate
    from stickslip.schemes.bodies import MoreauJeanBodies
    from stickslip.schemes.body_step import BodyScheme
    from stickslip.schemes.body_world import PreparedWorld
    from stickslip.schemes.compliant import Compliant
    from stickslip.schemes.euler_moreau import EulerMoreau
    from stickslip.schemes.event_driven import EventDriven
    from stickslip.schemes.moreau_jean import MoreauJean
    from stickslip.schemes.prepared_system import PreparedSystem
    from stickslip.schemes.schatzman_paoli import SchatzmanPaoli
    from stickslip.schemes.step import Event, Scheme, Step
    from stickslip.schemes.variational import VariationalBodies
    from stickslip.schemes.variational_written import Variational
    from stickslip.simulation.checkpoint import Checkpoint
    from stickslip.simulation.contacts import ContactTable
    from stickslip.simulation.failure import SimulationFailure
    from stickslip.simulation.joint_view import JointView
    from stickslip.simulation.live import Live
    from stickslip.simulation.record import Record
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.solvers.existence import existence
    from stickslip.state import ModelError, State
    from stickslip.systems.family import Family
    from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
    from stickslip.systems.first_order_relations import (
        FirstOrderLinearRelation,
        FirstOrderRelation,
        FirstOrderType1,
        FirstOrderType2,
    )
    from stickslip.systems.first_order_view import first_order
    from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
    from stickslip.systems.lagrangian_relations import (
        CompliantRelation,
        LagrangianLinearRelation,
        LagrangianNonlinear,
        Rheonomous,
        Scleronomous,
    )
    from stickslip.systems.newton_euler import NewtonEuler
    from stickslip.systems.newton_euler_joints import (
        BallJoint,
        DistanceJoint,
        FixedJoint,
        HingeJoint,
        SliderJoint,
    )
    from stickslip.systems.newton_euler_relations import (
        BodyContact,
        PointOnPlane,
        SpherePlane,
        SphereSphere,
        Touch,
    )
    from stickslip.systems.relative_degree import relative_degree
    from stickslip.systems.system import Interaction, NonsmoothSystem


def solve(
    problem: "ContactProblem | GlobalProblem | BoxProblem | NonlinearProblem",
    solver: "str | Any" = DEFAULT_SOLVER,
    *,
    guess: Any = None,
    select: str = "any",
    **options: Any,
) -> "Solution":
    """Solve `problem` by the solver of that name; options such as `tolerance` go to the solver.

    select      which of several certified impulses with the same velocities are given: `any`, those that the
                solver finds, or those of `least` norm, which are unique (contact and global problems)

    A solver of your own may stand in the place of the name; it has its options already. The answer carries
    the judge's residuals and an honest status; `.or_raise()` turns a miss into an exception.
    `stickslip solvers` lists the names and options.
    """
    from stickslip.arguments import check_solved
    from stickslip.interrupts import Interrupts
    from stickslip.solvers import registry

    check_solved(problem)
    if select != "any":
        from stickslip.problem.solution import check_selection
        from stickslip.solvers.impulses import least_impulses

        check_selection(problem, select)
        return least_impulses(solve(problem, solver, guess=guess, **options))
    if isinstance(solver, str):
        made = registry.make(solver, **options)
        with Interrupts() as interrupts:
            return interrupts.run(made.solve, problem, guess=guess)
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        raise TypeError(
            f"solver is {solver!r}; expected a name, such as 'auto', or a solver with a verb solve"
        )
    if options:
        raise TypeError(
            f"{type(solver).__name__} has its options already; give it {', '.join(options)} itself"
        )
    with Interrupts() as interrupts:
        return interrupts.run(solver.solve, problem, guess=guess)


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(_WHERE[name]), name)
    if name == "BodyStep":  # the old name, which warns
        return import_module("stickslip.schemes.body_step").BodyStep
    if name.startswith("_"):
        raise AttributeError(f"module 'stickslip' has no attribute {name!r}")
    from stickslip.names import suggestion

    close = suggestion(name, __all__)
    raise AttributeError(f"module 'stickslip' has no attribute {name!r}{'; ' if close else ''}{close}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
