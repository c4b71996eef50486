"""`simulate`, `live` and `Batch`: runs of models, with solvers created from their names."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from stickslip import DEFAULT_SOLVER, SYSTEM_TOLERANCE, WORLD_TOLERANCE
from stickslip.arguments import check_simulated
from stickslip.mechanics.world import World
from stickslip.names import alternatives
from stickslip.robots.robot import Robot
from stickslip.schemes import registry as schemes
from stickslip.schemes.adaptive import Adaptive
from stickslip.simulation.batches.batch import Batch as Members
from stickslip.simulation.batches.member import How
from stickslip.simulation.clock import FORCES, choice, length, stride
from stickslip.simulation.live import Live
from stickslip.simulation.loop import simulate as carry
from stickslip.simulation.record import Record
from stickslip.simulation.steppers import prepared_model
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.writing import FLUSH
from stickslip.solvers import registry
from stickslip.state import ModelError
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem


def simulate(
    model: NonsmoothSystem | World | Robot,
    *,
    until: float | None = None,
    h: float | None = None,
    grid: ArrayLike | None = None,
    adaptive: Adaptive | None = None,
    scheme: Any = None,
    solver: str | Any | None = None,
    solver_options: Mapping[str, Any] | None = None,
    record: int = 1,
    on_failure: str = "raise",
    start: Any = None,
    progress: Callable[[float, float], None] | None = None,
    tolerance: float | None = None,
    watch: Callable[[Record], None] | None = None,
    forces: str | None = None,
    out: str | PathLike[str] | None = None,
    flush: float = FLUSH,
    control: Callable[[Any], Any] | None = None,
    record_problems: Any = None,
) -> Trajectory:
    """Simulate a system, a world or a robot until time `until` [s] with steps of `h` [s].

    model       a `NonsmoothSystem`, a `World` or a `Robot`
    until       end of the run [s]
    h           time step [s]; for robots that of the file unless given
    grid        times at which steps end [s], in place of h, in increasing order, with or without that of the
                start; `until` is the last of them unless given
    adaptive    in place of h, an `Adaptive(tolerance=..., h_min=..., h_max=...)` of `ss.schemes`: step
                lengths follow an estimate of the error in position; `run.pace` counts rejected steps
    scheme      a name, a scheme such as `MoreauJean(theta=0.7)`, or one for each system, {"ball":
                "moreau-jean"}; the default is `moreau-jean` for systems of second order, `euler-moreau` for
                those of first order
    solver      a name (`auto` by default), with `solver_options` such as {"algorithm": "nt-f"}; or a solver
                with its options, `ss.solvers.InteriorPoint(algorithm="nt-f")`, which gives the same bits.
                Options that select another law (facets, law="relaxed", kappa) make the run relaxed
    tolerance   tolerance of a named solver; 1e-10 for systems and 1e-8 for worlds and robots unless given
    record      number of steps between two records
    on_failure  action when a step misses its tolerance: `raise` a SimulationFailure, `accept` and count the
                step, or `halve` it repeatedly, and raise if that does not help
    start       a checkpoint of a run to continue as if there had been no interruption; arguments that are not
                given (h, grid or adaptive, scheme, solver, tolerance) are then those of that run. Or a State
    progress    function of the time reached and the end [s], called after every step or several steps; an
                argument `status` receives steps, contacts and the worst residual
    watch       function of a `Record`, called for the start and every recorded step; it does not change the
                run, and an exception that it raises ends the run
    forces      impulses to report where several are certified with the same motion: those of `least` norm,
                the default, which are unique and computed on first use, or those that the `solver` found, as
                always for robots. The motion is the same bit for bit
    out         file (.h5 or .hdf5) for records during the run. The memory of the run does not grow with its
                length, and the file contains all records up to the last one written, however the run ends.
                With `start` from this file the run continues in it
    flush       longest time between two writes [s]
    record_problems  folder for the contact problems of the steps, with their answers and origin; or
                `ss.bench.ProblemRecorder(out=folder, every=10, start=0.5, most=20)`. It does not change the
                run
    control     robots only: a function of MuJoCo's data, called before each step, which returns the controls
                or writes `data.ctrl`

    Returns a Trajectory. The last step is shorter if `until` is not a multiple of h. An exception that ends
    the run early (a SimulationFailure, a ModelError, an exception of a function of the model,
    KeyboardInterrupt) has the records before it as `.trajectory`, or None before the first record; notes name
    the function and the time.

    Example:

        ball = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
        floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.9))
        run = ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=1.0, h=1e-2)
        print(run.verdict, run.system("ball").q[-1])
    """
    how = _how(model, solver, solver_options, start, tolerance, forces, out)
    if how["sink"] is not None:
        how["sink"].until = until
    if record_problems is not None:
        from stickslip.bench.collections.recording import listened

        how["solver"], progress = listened(record_problems, model, how, scheme, h, start, progress)
    # Explicit arguments: during a call by **, which is one of C, a signal could lose the returned run.
    return carry(
        model, until=until, h=stride(h, grid, adaptive), record=record, on_failure=on_failure, start=start,
        progress=progress, watch=watch, scheme=scheme, solver=how["solver"], solver_name=how["solver_name"],
        tolerance=how["tolerance"], select=how["select"], sink=how["sink"], flush=flush, control=control,
    )  # fmt: skip


def live(
    model: NonsmoothSystem | World | Robot,
    *,
    h: float | None = None,
    grid: ArrayLike | None = None,
    adaptive: Adaptive | None = None,
    scheme: Any = None,
    solver: str | Any | None = None,
    solver_options: Mapping[str, Any] | None = None,
    record: int = 1,
    on_failure: str = "raise",
    start: Any = None,
    tolerance: float | None = None,
    forces: str = "solver",
    out: str | PathLike[str] | None = None,
    flush: float = FLUSH,
    control: Callable[[Any], Any] | None = None,
) -> Live:
    """Return a run that advances on request: `live.step(n)` makes n steps, and inputs are set between them.

    The arguments are those of `simulate`. `live.run()` returns the records as a Trajectory.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.5))
        live = ss.live(b.build(), h=1e-3)
        live.step(100)
        print(live.t, live.state.q[9])  # height of the ball
    """
    how = _how(model, solver, solver_options, start, tolerance, forces, out)
    return Live(
        model, h=stride(h, grid, adaptive), scheme=scheme, record=record, on_failure=on_failure, start=start,
        flush=flush, control=control, **how,
    )  # fmt: skip


ON_FAILURE_OF_BATCH = ("hold", "accept", "halve")
"""Actions of a batch when a step misses its tolerance."""


class Batch(Members):
    """Batch of n simulations of one structure: arrays in, arrays out, members along the first axis.

    Example:

        b = ss.WorldBuilder()
        b.body("floor", ss.Plane(), fixed=True)
        b.body("ball", ss.Sphere(0.1), position=(0, 0, 0.5))
        mu = np.array([[0.1], [0.2], [0.3]])  # one row for each member
        batch = ss.Batch(b.build(), 3, h=1e-3, threads=2, parameters={"mu": mu})
        state = batch.step(10)  # .t (3,), .q (3, nq), .v (3, nv)

    Steps run in compiled code without the interpreter's lock; each thread advances one member after the
    other. Every member has the bits of `ss.live` of its own model, for any number of threads.
    """

    def __init__(
        self,
        model: NonsmoothSystem | World | Robot | Family,
        n: int,
        *,
        h: float | None = None,
        threads: int | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        start: Any = None,
        seed: int | None = None,
        on_failure: str = "hold",
        compiled_only: bool = False,
        **how: Any,
    ):
        """Create n members; h, scheme, solver, solver_options and tolerance are those of `live`.

        model          a world, a robot, a system, or a `Family` of systems, whose numbers are its parameters
        n              number of members
        threads        most threads; 1 unless given or allowed by `ss.use_threads`
        parameters     numbers of the members by name, of a world those of `Parameters`, of a robot mass,
                       friction, restitution and limit_restitution: a row for each member, or one for all
        start          a State or a Checkpoint for all members, one for each, or a `BatchState`
        seed           of the random numbers of the members, `batch.random`
        on_failure     action when a step misses its tolerance: `hold` the member, flagged in
                       `batch.status`, `accept` the step, or `halve` it, and hold the member if that does
                       not help
        compiled_only  hold a member whose step the compiled code leaves; by default Python makes that step,
                       as in a single run
        """
        system = model.system if isinstance(model, Family) else model
        known = ("scheme", "solver", "solver_options", "tolerance")
        for name in how:
            if name not in known:
                raise TypeError(f"Batch has no argument {name!r}; {alternatives(name, known)}")
        scheme, options = how.pop("scheme", None), how.pop("solver_options", None)
        first = start[0] if isinstance(start, list | tuple) and start else start
        stepper = _how(
            system, how.pop("solver", None), options, first, how.pop("tolerance", None), "solver", None
        )
        failing = choice("on_failure", on_failure, ON_FAILURE_OF_BATCH)
        stepping = How(
            None if h is None else length("h", h), scheme, stepper["solver"], stepper["solver_name"],
            stepper["tolerance"], "raise" if failing == "hold" else failing, bool(compiled_only),
        )  # fmt: skip
        super().__init__(
            model, n, how=stepping, threads=threads, start=start, parameters=dict(parameters or {}), seed=seed
        )


def _how(
    model: Any, solver: Any, options: Mapping[str, Any] | None, start: Any, tolerance: float | None,
    forces: str | None, out: str | PathLike[str] | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the solver made from its name, and the other settings of a run."""
    check_simulated(model)
    if tolerance is None:
        default = SYSTEM_TOLERANCE if isinstance(model, NonsmoothSystem) else WORLD_TOLERANCE
        tolerance = float(getattr(start, "tolerance", default))
    elif options and "tolerance" in options:
        raise TypeError("tolerance is given twice, as an argument and in solver_options")
    usual: dict[str, Any] = {"tolerance": tolerance}
    if solver is None:
        solver, before = registry.remade(getattr(start, "solver", DEFAULT_SOLVER))
        usual |= before
    instance = registry.chosen(solver, options, **usual)
    select: Any = None
    if forces is None:
        forces = "solver" if isinstance(model, Robot) else "least"
    if choice("forces", forces, FORCES) == "least":
        if isinstance(model, Robot):
            raise ModelError("forces is 'least', which does not apply to robots; use 'solver', their default")
        from stickslip.solvers.selection import least_of_many as select
    sink: Any = None
    if out is not None:
        from stickslip.files.journal import Journal

        sink = Journal(out, start)
    return {
        "solver": instance, "solver_name": registry.described(instance),
        "tolerance": getattr(instance, "tolerance", tolerance), "select": select, "sink": sink,
    }  # fmt: skip


def is_known(run: Trajectory) -> bool:
    """Whether scheme and solver of a run can be recreated from their names and options."""
    try:
        _scheme(run)
        registry.remade(run.solver)
    except ModelError:
        return False
    return True


def parts_of(run: Trajectory) -> tuple[Any, Any, Any, Any]:
    """Return model (prepared), scheme, solver and selection of impulses of a run from a file."""
    from stickslip.solvers.selection import least_of_many

    solver, options = registry.remade(run.solver)
    instance = registry.chosen(solver, None, tolerance=run.tolerance, **options)
    return _prepared(run.model.source), _scheme(run), instance, least_of_many


def _scheme(run: Trajectory) -> Any:
    remade = schemes.remade_for_bodies if run.of_world else schemes.remade
    return remade(run.scheme, run.scheme_options)


@lru_cache(maxsize=4)
def _prepared(stored: Any) -> Any:
    """Return the prepared model of a file, cached because viewers read a growing file every second."""
    return prepared_model(stored())
