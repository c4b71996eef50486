"""`simulate` and `live`: runs of any model, where names of solvers become solvers."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from os import PathLike
from typing import Any

from numpy.typing import ArrayLike

from stickslip import DEFAULT_SOLVER, SYSTEM_TOLERANCE, WORLD_TOLERANCE
from stickslip.arguments import check_simulated
from stickslip.mechanics.world import World
from stickslip.robots.robot import Robot
from stickslip.schemes import registry as schemes
from stickslip.schemes.adaptive import Adaptive
from stickslip.simulation.clock import FORCES, choice, stride
from stickslip.simulation.live import Live
from stickslip.simulation.loop import simulate as carry
from stickslip.simulation.record import Record
from stickslip.simulation.steppers import prepared_model
from stickslip.simulation.trajectory import Trajectory
from stickslip.simulation.writing import FLUSH
from stickslip.solvers import registry
from stickslip.state import ModelError
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
    forces: str = "least",
    out: str | PathLike[str] | None = None,
    flush: float = FLUSH,
    control: Callable[[Any], Any] | None = None,
    record_problems: Any = None,
) -> Trajectory:
    """Carry a system or a world to time `until` [s] in steps of `h` [s], and keep every `record`-th of them.

    grid        in place of h the times at which steps end [s], in order, that of the start first or left out;
                `until` is then the last of them unless given
    adaptive    in place of h an `Adaptive(tolerance=..., h_min=..., h_max=...)` of `ss.schemes`: steps are as
                long as an estimate of their error in position allows; `run.pace` counts those rejected
    scheme      a name, a scheme such as `MoreauJean(theta=0.7)`, or one of them per system: {"ball":
                "moreau-jean"}; unless given, `moreau-jean` for systems of second order, `euler-moreau` for
                those of first order
    solver      a name (`auto` unless given), with `solver_options` such as {"algorithm": "nt-f"}, or a
                solver with its options, `ss.solvers.InteriorPoint(algorithm="nt-f")`, which gives the same
                bits. A named one is made with `tolerance`: 1e-10 for systems, 1e-8 for worlds unless given.
                With options that ask for another law (facets, law="relaxed", kappa) the run is relaxed
    on_failure  what to do about a step that misses its tolerance: `raise` a SimulationFailure, `accept`
                it, flagged and counted, or `halve` it, again and again, and raise if that does not help
    start       a checkpoint of a trajectory to go on from, as if there had been no interruption; what is
                not given (h, grid or adaptive, scheme, solver, tolerance) is then as it was. For a world also
                a State to begin with in place of `world.start`
    progress    called with the time reached and the end [s], after every step or after several made together;
                one that has an argument `status` is given steps, contacts and the worst residual, too
    watch       called with the `Record` of the start and of every recorded step while the run goes on; it
                changes nothing, and what it raises ends the run
    forces      which impulses the run tells where several are certified with the same motion: those of
                `least` norm, which are unique and chosen when they are first asked for, or those that the
                `solver` found. The motion is the same bit for bit
    out         a file, .h5 or .hdf5, that records are written to while the run goes on. The memory that a run
                takes does not grow with its length, and whatever ends it, the file holds all records up to
                the last that was written. With `start` from that file the run goes on in it
    flush       records are written after so much time at the latest [s]
    record_problems  a folder that the contact problems of the steps are written to, with answers and where
                they come from, or `ss.bench.ProblemRecorder(out=folder, every=10, start=0.5, most=20)`; the
                run is the same
    control     of a robot: called with MuJoCo's data before each step, it returns the controls, or writes
                them to `data.ctrl` itself

    The last step is shorter if `until` is no multiple of h. Whatever ends the run early carries what was
    done as `.trajectory`: a SimulationFailure, a ModelError (a force that gives NaN), an exception of a
    function of the model, whose notes name the function and the time, an interrupt from the keyboard; None
    before the first record.
    """
    how = _how(model, solver, solver_options, start, tolerance, forces, out)
    if how["sink"] is not None:
        how["sink"].until = until
    if record_problems is not None:
        from stickslip.bench.collections.recording import listened

        how["solver"], progress = listened(record_problems, model, how, scheme, h, start, progress)
    # Written out: a call by ** is one of C, after which a signal may take the run that was returned.
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
    """A run that goes on step by step: `live.step(n)`, with inputs set between steps.

    The arguments are those of `simulate`; `live.run()` gives what was recorded.
    """
    how = _how(model, solver, solver_options, start, tolerance, forces, out)
    return Live(
        model, h=stride(h, grid, adaptive), scheme=scheme, record=record, on_failure=on_failure, start=start,
        flush=flush, control=control, **how,
    )  # fmt: skip


def _how(
    model: Any, solver: Any, options: Mapping[str, Any] | None, start: Any, tolerance: float | None,
    forces: str, out: str | PathLike[str] | None,
) -> dict[str, Any]:  # fmt: skip
    """The solver made from its name, and what else a run needs."""
    check_simulated(model)
    if tolerance is None:
        default = SYSTEM_TOLERANCE if isinstance(model, NonsmoothSystem) else WORLD_TOLERANCE
        tolerance = float(getattr(start, "tolerance", default))
    elif options and "tolerance" in options:
        raise TypeError("tolerance is given twice, by itself and in solver_options")
    usual: dict[str, Any] = {"tolerance": tolerance}
    if solver is None:
        solver, before = registry.remade(getattr(start, "solver", DEFAULT_SOLVER))
        usual |= before
    made = registry.chosen(solver, options, **usual)
    select: Any = None
    if choice("forces", forces, FORCES) == "least":
        from stickslip.solvers.selection import least_of_many as select
    sink: Any = None
    if out is not None:
        from stickslip.files.journal import Journal

        sink = Journal(out, start)
    return {
        "solver": made, "solver_name": registry.described(made),
        "tolerance": getattr(made, "tolerance", tolerance), "select": select, "sink": sink,
    }  # fmt: skip


def is_known(run: Trajectory) -> bool:
    """Whether scheme and solver of a run are made again from their names and options."""
    try:
        _scheme(run)
        registry.remade(run.solver)
    except ModelError:
        return False
    return True


def parts_of(run: Trajectory) -> tuple[Any, Any, Any, Any]:
    """The model of a run from a file, prepared, its scheme and its solver, made again, and what chooses
    impulses."""
    from stickslip.solvers.selection import least_of_many

    solver, options = registry.remade(run.solver)
    made = registry.chosen(solver, None, tolerance=run.tolerance, **options)
    return _prepared(run.model.source), _scheme(run), made, least_of_many


def _scheme(run: Trajectory) -> Any:
    remade = schemes.remade_for_bodies if run.of_world else schemes.remade
    return remade(run.scheme, run.scheme_options)


@lru_cache(maxsize=4)
def _prepared(stored: Any) -> Any:
    """The model in a file, made once: who follows a run opens its file every second."""
    return prepared_model(stored())
