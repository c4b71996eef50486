"""`simulate` and `live`: runs of any model, where names of solvers become solvers."""

from collections.abc import Callable
from os import PathLike
from typing import Any

from stickslip import DEFAULT_SOLVER, SYSTEM_TOLERANCE, WORLD_TOLERANCE
from stickslip.arguments import check_simulated
from stickslip.mechanics.world import World
from stickslip.simulation.clock import FORCES, choice
from stickslip.simulation.live import FLUSH, Live
from stickslip.simulation.loop import simulate as carry
from stickslip.simulation.record import Record
from stickslip.simulation.trajectory import Trajectory
from stickslip.solvers import registry
from stickslip.systems.system import NonsmoothSystem


def simulate(
    model: NonsmoothSystem | World,
    *,
    until: float,
    h: float | None = None,
    scheme: Any = None,
    solver: str | Any | None = None,
    record: int = 1,
    on_failure: str = "raise",
    start: Any = None,
    progress: Callable[[float, float], None] | None = None,
    tolerance: float | None = None,
    watch: Callable[[Record], None] | None = None,
    forces: str = "least",
    out: str | PathLike[str] | None = None,
    flush: float = FLUSH,
) -> Trajectory:
    """Carry a system or a world to time `until` [s] in steps of `h` [s], and keep every `record`-th of them.

    scheme      a name, a scheme such as `MoreauJean(theta=0.7)`, or one of them per system: {"ball":
                "moreau-jean"}; unless given, `moreau-jean` for systems of second order, `euler-moreau` for
                those of first order
    solver      a name (`auto` unless given) or a solver; a named one is made with `tolerance`, which is
                1e-10 for systems and 1e-8 for worlds unless given
    on_failure  what to do about a step that misses its tolerance: `raise` a SimulationFailure, `accept`
                it, flagged and counted, or `halve` it, again and again, and raise if that does not help
    start       a checkpoint of a trajectory to go on from, as if there had been no interruption; what is
                not given (h, scheme, solver, tolerance) is then as it was. For a world also a State to begin
                with in place of `world.start`
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

    The last step is shorter if `until` is no multiple of h. Whatever ends the run early carries what was
    done as `.trajectory`: a SimulationFailure, a ModelError (a force that gives NaN), an exception of a
    function of the model, whose notes name the function and the time, an interrupt from the keyboard; None
    before the first record.
    """
    how = _how(model, scheme, solver, start, tolerance, forces, out, flush)
    # Written out: a call by ** is one of C, after which a signal may take the run that was returned.
    return carry(
        model, until=until, h=h, record=record, on_failure=on_failure, start=start, progress=progress,
        watch=watch, scheme=scheme, solver=how["solver"], solver_name=how["solver_name"],
        tolerance=how["tolerance"], select=how["select"], sink=how["sink"], flush=flush,
    )  # fmt: skip


def live(
    model: NonsmoothSystem | World,
    *,
    h: float | None = None,
    scheme: Any = None,
    solver: str | Any | None = None,
    record: int = 1,
    on_failure: str = "raise",
    start: Any = None,
    tolerance: float | None = None,
    forces: str = "solver",
    out: str | PathLike[str] | None = None,
    flush: float = FLUSH,
) -> Live:
    """A run that goes on step by step: `live.step(n)`, with inputs set between steps.

    The arguments are those of `simulate`; `live.run()` gives what was recorded.
    """
    how = _how(model, scheme, solver, start, tolerance, forces, out, flush)
    return Live(
        model, h=h, scheme=scheme, record=record, on_failure=on_failure, start=start, flush=flush, **how
    )


def _how(
    model: Any, scheme: Any, solver: Any, start: Any, tolerance: float | None, forces: str,
    out: str | PathLike[str] | None, flush: float,
) -> dict[str, Any]:  # fmt: skip
    """The solver made from its name, and what else a run needs."""
    check_simulated(model)
    if tolerance is None:
        default = WORLD_TOLERANCE if isinstance(model, World) else SYSTEM_TOLERANCE
        tolerance = float(getattr(start, "tolerance", default))
    if solver is None:
        solver = registry.remade_name(getattr(start, "solver", DEFAULT_SOLVER))
    made = registry.make(solver, tolerance=tolerance) if isinstance(solver, str) else solver
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
