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

    robot = ss.Robot.load("robot.xml")
    print(ss.simulate(robot, until=1.0, h=2e-3))

Most models need only names of this module; the others are in `ss.problem`, `ss.solvers`, `ss.schemes`,
`ss.systems`, `ss.laws`, `ss.joints`, `ss.shapes`, ... Submodules are imported on first use.
"""

from typing import TYPE_CHECKING, Any, overload

from stickslip.doors import door

__version__ = "0.2.0"

DEFAULT_SOLVER = "auto"
"""Default solver."""
SYSTEM_TOLERANCE = 1e-10
"""Default tolerance of the steps of systems [-]."""
WORLD_TOLERANCE = 1e-8
"""Default tolerance of the steps of worlds [-]."""

if TYPE_CHECKING:
    from stickslip import bench as bench
    from stickslip import detection as detection
    from stickslip import export as export
    from stickslip import files as files
    from stickslip import forces as forces
    from stickslip import gradients as gradients
    from stickslip import joints as joints
    from stickslip import laws as laws
    from stickslip import mechanics as mechanics
    from stickslip import problem as problem
    from stickslip import rotations as rotations
    from stickslip import scenes as scenes
    from stickslip import schemes as schemes
    from stickslip import sensors as sensors
    from stickslip import shapes as shapes
    from stickslip import simulation as simulation
    from stickslip import solvers as solvers
    from stickslip import studies as studies
    from stickslip import sweeps as sweeps
    from stickslip import systems as systems
    from stickslip import view as view
    from stickslip.differentiation import differentiate as differentiate
    from stickslip.differentiation import gradient as gradient
    from stickslip.differentiation import sensitivity as sensitivity
    from stickslip.differentiation import step_function as step_function
    from stickslip.files import FormatError as FormatError
    from stickslip.files import load as load
    from stickslip.files import read as read
    from stickslip.files import read_trajectory as read_trajectory
    from stickslip.files import save as save
    from stickslip.files import write as write
    from stickslip.laws import NewtonImpact as NewtonImpact
    from stickslip.mechanics import World as World
    from stickslip.mechanics import WorldBuilder as WorldBuilder
    from stickslip.mechanics import rotation as rotation
    from stickslip.problem import BoxProblem as BoxProblem
    from stickslip.problem import ConeProgram, NonlinearProblem, ProgramSolution
    from stickslip.problem import ContactProblem as ContactProblem
    from stickslip.problem import GlobalProblem as GlobalProblem
    from stickslip.problem import ProblemError as ProblemError
    from stickslip.problem import Solution as Solution
    from stickslip.problem import SolverFailure as SolverFailure
    from stickslip.problem import Status as Status
    from stickslip.problem import coulomb as coulomb
    from stickslip.problem import judge as judge
    from stickslip.problem.fingerprint import fingerprint as fingerprint
    from stickslip.robots import Robot as Robot
    from stickslip.runs import Batch as Batch
    from stickslip.runs import live as live
    from stickslip.runs import simulate as simulate
    from stickslip.shapes import Capsule as Capsule
    from stickslip.shapes import ConvexHull as ConvexHull
    from stickslip.shapes import Cuboid as Cuboid
    from stickslip.shapes import Cylinder as Cylinder
    from stickslip.shapes import HeightField as HeightField
    from stickslip.shapes import Plane as Plane
    from stickslip.shapes import Sphere as Sphere
    from stickslip.simulation import SimulationFailure as SimulationFailure
    from stickslip.simulation import Trajectory as Trajectory
    from stickslip.state import ModelError as ModelError
    from stickslip.state import State as State
    from stickslip.studies.bifurcation import bifurcation as bifurcation
    from stickslip.sweeps.sweep import sweep as sweep
    from stickslip.systems import FirstOrder as FirstOrder
    from stickslip.systems import FirstOrderLinear as FirstOrderLinear
    from stickslip.systems import Interaction as Interaction
    from stickslip.systems import Lagrangian as Lagrangian
    from stickslip.systems import LagrangianLinear as LagrangianLinear
    from stickslip.systems import NewtonEuler as NewtonEuler
    from stickslip.systems import NonsmoothSystem as NonsmoothSystem
    from stickslip.systems import Scleronomous as Scleronomous
    from stickslip.threads import use_threads as use_threads
else:
    __getattr__, __dir__ = door(__name__)


@overload
def solve(
    problem: "ConeProgram", solver: "str | Any" = DEFAULT_SOLVER, **options: Any
) -> "ProgramSolution": ...


@overload
def solve(
    problem: "ContactProblem | GlobalProblem | BoxProblem | NonlinearProblem",
    solver: "str | Any" = DEFAULT_SOLVER,
    *,
    guess: Any = None,
    select: str = "any",
    **options: Any,
) -> "Solution": ...


def solve(
    problem: Any,
    solver: "str | Any" = DEFAULT_SOLVER,
    *,
    guess: Any = None,
    select: str = "any",
    **options: Any,
) -> Any:
    """Solve a contact problem, a complementarity problem or a cone program.

    problem     what to solve
    solver      name of a solver (`stickslip solvers` lists them), or a solver with its options
    guess       impulses to start from, or an earlier Solution
    select      which impulses to return where several certified ones have the same velocities: `any`, those
                that the solver finds, or `least`, those of least norm, which are unique (contact and global
                problems)
    options     options of the named solver, such as `tolerance`

    Returns a Solution with the residuals of the judge and a status. `.or_raise()` raises a SolverFailure if
    the answer is not certified. A cone program returns a `ProgramSolution` with unknowns x and multipliers y.

    Example:

        W, u_free = np.eye(3) / 2.0, [-0.07, 0.07, 0.0]
        solution = ss.solve(ss.ContactProblem(W, u_free, ss.coulomb([0.5])), tolerance=1e-10)
        print(solution.status.name, solution.r)
    """
    from stickslip.solving import solve as solve_by

    return solve_by(problem, solver, guess, select, options)
