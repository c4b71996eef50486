"""`stickslip run`: simulate a scene and check the result against known values."""

from __future__ import annotations

from contextlib import ExitStack
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from cyclopts import Parameter

from stickslip.cli.errors import (
    ExitCode,
    InputError,
    complain,
    os_sentence,
    printable,
    refused,
    stop_code,
    stop_word,
    wrote,
)
from stickslip.cli.models import MODELS, ROBOTS, file_scene, is_file, load_control
from stickslip.cli.parameters import (
    Adaptive,
    Flag,
    Grid,
    Host,
    NoBrowser,
    Own,
    Port,
    Scene,
    SolverOptions,
    Step,
    Threads,
    Until,
)
from stickslip.cli.places import FCLIB, PLOTS, check_writable, load_run
from stickslip.cli.progress import watch_time
from stickslip.cli.scenes import show_parameters
from stickslip.cli.settings import (
    check_known,
    chosen,
    make_own,
    read_adaptive,
    read_grid,
    read_settings,
    solver_options,
    with_options,
)
from stickslip.cli.tables import table
from stickslip.cli.view import live_view, serve

if TYPE_CHECKING:
    from stickslip.scenes.scenario import Scenario
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.view.browser.live import LiveView


def run(
    name: Annotated[str | None, Parameter(name="NAME")] = None,
    /,
    *,
    scheme: str | None = None,
    solver: str | None = None,
    own: Own = None,
    solver_option: SolverOptions = None,
    h: Step = None,
    grid: Grid = None,
    adaptive: Adaptive = None,
    until: Until = None,
    settings: Scene = None,
    record: int = 1,
    on_failure: Literal["raise", "accept", "halve"] = "raise",
    forces: Literal["least", "solver"] | None = None,
    out: Path | None = None,
    plot: Path | None = None,
    key: str | None = None,
    control: str | None = None,
    threads: Threads = 1,
    restitution: float | None = None,
    search: list[Path] | None = None,
    world: Path | None = None,
    resume: Path | bool | None = None,
    view: Flag = False,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    no_browser: NoBrowser = False,
    parameters: Flag = False,
    **given: Annotated[str, Parameter(show=False)],
) -> int:
    """List the scenes, or simulate one and check the result against known values.

    Prints a summary with residuals, and a table that compares the result with
    closed forms and conservation laws. Exit status 1: a check failed, or a step
    missed its tolerance. A relaxed run solves another law than the exact one; the
    summary says so, and the exit status is 0. Ctrl+C and SIGTERM end a run early:
    the part that was simulated is shown, and written with --out; the exit status is
    130 or 143. A second signal ends the process at once.

    Parameters of the scene and options of the scheme are options of this command,
    such as --mu 0.5; `stickslip run NAME --parameters` lists them.

    For example:
      stickslip run
      stickslip run bouncing-ball
      stickslip run bouncing-ball --e 0.5 --h 1e-4 --plot ball.png
      stickslip run stack --parameters
      stickslip run stack --bodies 5 --mu 0.3 --until 1 --out stack.h5
      stickslip run bouncing-ball --scheme event-driven --out ball.h5
      stickslip run stack --solver ipm --solver-option algorithm=nt-f
      stickslip run stack --own mine.py:Mine --until 0.5
      stickslip run bouncing-ball --adaptive tolerance=1e-6,h_max=0.01
      stickslip run bouncing-ball --grid 0,0.1,0.15,0.2
      stickslip run bouncing-ball --resume ball.h5 --until 10
      stickslip run model.toml --until 2 --h 1e-3 --out run.h5
      stickslip run run.h5 --resume --until 4
      stickslip run robot.xml --key home --until 2 --view
      stickslip run robot.xml --control trot.py:trot --until 2 --out run.h5
      stickslip run robot.xml --world room.toml --until 2 --out run.h5
      stickslip run soup --view

    Parameters
    ----------
    name
        Scene to simulate; without it, the scenes are listed. Or a file: a model (.toml or .json, with
        --until and --h); a robot, MJCF or URDF (.xml, .mjcf, .urdf), with the time step of the file
        unless --h is given; or the file of a run (.h5 or .hdf5), whose model is simulated.
    scheme
        Time scheme; by default that of the scene.
    solver
        Solver of the contact problems; auto by default. `stickslip solvers` lists them.
    record
        Record every N-th step.
    on_failure
        Action when a step misses its tolerance: raise stops the run, accept counts the step and
        continues, halve repeats it with shorter steps.
    forces
        Contact forces to record where several give the same motion: least, those of least norm (the
        default), or solver, those returned by the solver (always for robots).
    out
        File (.h5 or .hdf5), written during the run. However the run ends, even by a kill, the file
        contains all but at most the last second of computation.
    plot
        File for the figure of the scene: .png, .svg, .pdf, .pgf or .csv.
    key
        Robots only: keyframe to start from.
    control
        Robots only: file.py:function, a function that receives MuJoCo's data before each step and
        returns the controls.
    restitution
        Robots only: coefficient of restitution of all geoms, from 0 to 1; 0 by default.
    search
        Robots only: additional folder for meshes and packages; may be repeated.
    world
        Robots only: model file (.toml or .json) with bodies to place around the robot.
    resume
        Continue the run in this file, of the same scene, and write to the same file or to that of
        --out. If NAME is the file of the run, give --resume without a file; an interrupted run then
        continues to its planned end.
    view
        Show the run in the browser while it is simulated, and play it afterwards, until Ctrl+C.
    parameters
        List the parameters of the scene and the options of the scheme, without a simulation.
    """
    from stickslip import scenes
    from stickslip.extras import MissingPackage
    from stickslip.threads import use_threads

    if name is None:
        if given or settings or parameters:
            raise InputError("NAME is missing; give the name of a scene")
        rows = [(each, scenes.summary(each)) for each in scenes.names(scenes.RUN)]
        table(("scene", "summary"), rows, folds=("summary",))
        return ExitCode.FINE
    if parameters:
        return _show_parameters(name, scheme)
    if not view and (host != "127.0.0.1" or port != 8080 or no_browser):
        raise InputError("--host, --port and --no-browser require --view")
    if out is not None:
        check_writable(out, FCLIB)
    if plot is not None:
        check_writable(plot, PLOTS)
    with refused(KeyError, TypeError, ValueError, MissingPackage):
        texts = with_options(read_settings(settings or []), given)
        resume = _resumed(name, resume)
        times, tuned = read_grid(grid), read_adaptive(adaptive)
        has_times = times is not None or tuned is not None
        if until is None and times:
            until = times[-1]
        file_model = None
        if is_file(name):
            step = 0.0 if has_times and h is None else h
            file_model = file_scene(Path(name), until, step, resume is not None, restitution, search, world)
        scene, made_scheme = _scene(name, scheme, texts, file_model)
        robot_options = {"key": key, "control": control, "restitution": restitution, "search": search,
                      "world": world}  # fmt: skip
        robot_options_given = [option for option, value in robot_options.items() if value is not None]
        start = _start(name, scene, resume, key, robot_options_given)
        controller = None if control is None else load_control(control)
        out = resume if out is None else out  # a resumed run is written to its own file by default
        options, solving = _solver(own, solver, solver_option, start)
        same = (resume is not None or file_model is not None) and scheme is None and not texts
        if h is None and resume is None and not has_times:
            h = scene.h
        end = scene.until if until is None else until
        with ExitStack() as opened:
            opened.enter_context(use_threads(threads))
            watch = None
            if view:
                watch = opened.enter_context(live_view(scene, end, host, port, start, browser=not no_browser))
                port = watch.port  # the replay is served at the same address
            progress = opened.enter_context(watch_time(name))
            trajectory, failure, code = simulated(
                scene.system, scheme=None if same else made_scheme, h=h, grid=times, adaptive=tuned,
                solver=solving, until=end, record=record, solver_options=options, on_failure=on_failure,
                start=start, progress=progress, watch=watch, forces=forces, out=out, control=controller,
            )  # fmt: skip
    if failure:
        complain(failure)  # before the energies and files of a long run are computed
    # Write files before printing: if the reader of the output closes the pipe, the files exist.
    written, unwritten = _draw(scene, trajectory, plot)
    if out is not None:
        written.insert(0, out)
    lines = "\n".join(map(printable, str(trajectory).split("\n")))
    summary = "\n".join(map(printable, scene.summary.split("\n")))
    print(f"{name}: {summary}\n\n{lines}")
    checks_ok = _show_facts(scene, trajectory) if resume is None and not failure else True
    for place in written:
        wrote(place)
    if out is not None and not trajectory.complete:
        again = f"{out} --resume" if file_model else f"{name} --resume {out}"
        print(f"to continue: stickslip run {again}" + (f" --control {control}" if control else ""))
    for sentence in unwritten:
        complain(sentence)
    if unwritten:
        code = max(code, ExitCode.BAD_INPUT)
    if not checks_ok or trajectory.missed:
        code = max(code, ExitCode.MISSED)
    if view and code not in (ExitCode.INTERRUPTED, ExitCode.TERMINATED):
        serve(trajectory, host, port)
    return code


def _resumed(name: str, resume: Path | bool | None) -> Path | None:
    """The file of the run to continue; --resume without a file requires that NAME is the file of a run."""
    if not isinstance(resume, bool):
        return resume
    if Path(name).suffix.lower() not in FCLIB:
        raise InputError(f"--resume needs the file of the run of {name} to continue")
    return Path(name) if resume else None


def _scene(
    name: str, scheme: str | None, given: dict[str, str], file: Scenario | None
) -> tuple[Scenario, Any]:
    """Return the scene with its parameters, and the scheme with its options; file: the scene of a file."""
    from stickslip import scenes
    from stickslip.schemes import registry

    if file is None and name not in scenes.SCENES and Path(name).is_file():
        endings = ", ".join((*MODELS, *ROBOTS, *FCLIB))
        raise InputError(f"{name}: the name of a model or of a run ends in one of {endings}; rename the file")
    known = scenes.parameters(name) if file is None else {}
    scene = _run_of(name, **chosen(known, given)) if file is None else file
    scheme_name = scenes.scheme_name(scene, scheme)
    defaults = {spec.name: spec.default for spec in registry.entry(scheme_name).options}
    rest = {key: text for key, text in given.items() if key not in known}
    owner = f"{name} has no such parameter and {scheme_name} no such option"
    check_known(owner, rest, (*known, *defaults), signature(run).parameters)
    return scene, scenes.scheme_of(scene, scheme, **chosen(defaults, rest))


def _start(name: str, scene: Scenario, resume: Path | None, key: str | None, given: list[str]) -> Any:
    """Start of a run: the end of another run, a keyframe, or None for the start of the model.

    given: names of the options for robots in use.
    """
    from stickslip.robots.robot import Robot

    model: Any = scene.system
    if given and not isinstance(model, Robot):
        raise InputError(
            f"--{given[0]} applies to robots (.xml, .mjcf, .urdf) and their runs; {name} is neither"
        )
    if resume is not None:
        if key is not None:
            raise InputError(
                f"--key {key}: with --resume the run starts at the end of {resume}; give one of them"
            )
        return load_run(resume).checkpoint()
    return None if key is None else model.key(key)


def _solver(
    own: str | None, name: str | None, given: list[str] | None, start: Any
) -> tuple[dict[str, Any], Any]:
    """Return solver options, and the solver: its name, or the user's own solver with its options."""
    if own is None:
        return solver_options(_solver_name(name, start), given), name
    if name is not None:
        raise InputError(f"--own and --solver {name} exclude each other; give one of them")
    return {}, make_own(own, None, given)


def _solver_name(requested: str | None, start: Any) -> str:
    """Name of the solver of the options: the requested one, that of the resumed run, or the default."""
    from stickslip import DEFAULT_SOLVER
    from stickslip.solvers import registry

    return requested or registry.remade(getattr(start, "solver", DEFAULT_SOLVER))[0]


def _run_of(name: str, **given: Any) -> Scenario:
    """Make the scene `name`; raise an error if it is a single problem."""
    from stickslip import scenes

    if scenes.kind_of(name) != scenes.RUN:
        raise InputError(f"{name} is a problem and does not run; `stickslip scenes` lists those that do")
    return cast("Scenario", scenes.make(name, **given))


def _show_parameters(name: str, scheme: str | None) -> int:
    """Print the parameters of a scene, and the options of its scheme."""
    from stickslip import scenes
    from stickslip.cli.solvers import show_options
    from stickslip.schemes import registry

    with refused(KeyError, ValueError):
        scheme_name = scenes.scheme_name(_run_of(name), scheme)
    show_parameters(name)
    print(f"\n{scheme_name}")
    show_options(registry.entry(scheme_name).options)
    return ExitCode.FINE


def simulated(system: Any, *, watch: LiveView | None = None, **how: Any) -> tuple[Trajectory, str, ExitCode]:
    """Simulate; return the trajectory, the reason of an early end (or an empty text), and the exit code."""
    from stickslip import simulate
    from stickslip.simulation.failure import SimulationFailure

    stops: tuple[type[BaseException], ...] = (KeyboardInterrupt,)
    if watch is not None:
        from stickslip.view.browser.live import RunStopped

        stops = (KeyboardInterrupt, RunStopped)
    try:
        return simulate(system, **how, watch=watch), "", ExitCode.FINE
    except SimulationFailure as failure:
        return failure.trajectory, str(failure).partition("; on_failure=")[0], ExitCode.MISSED
    except stops as stop:
        done = getattr(stop, "trajectory", None)
        if done is None:  # stopped before the first step
            raise
        word, code = "stopped", ExitCode.FINE
        if isinstance(stop, KeyboardInterrupt):
            word, code = stop_word(stop), stop_code(stop)
        return done, f"{word} at t = {done.t[-1]:.6g} s; the steps before are kept", code
    except OSError as error:
        done = getattr(error, "trajectory", None)
        if done is None:
            raise InputError(os_sentence(error, how["out"])) from None
        file_state = f"the file holds the run up to the last record that was written, t = {done.t[-1]:.6g} s"
        return done, f"{os_sentence(error, how['out'])}; {file_state}", ExitCode.BAD_INPUT


def _draw(scene: Scenario, trajectory: Trajectory, plot: Path | None) -> tuple[list[Path], list[str]]:
    """Draw the figure of a scene; return the written files, and sentences about files not written."""
    from stickslip.view.figures import draw

    if plot is None:
        return [], []
    try:
        draw(scene.figure(trajectory), plot)
        return [plot], []
    except OSError as error:
        return [], [f"{os_sentence(error, plot)}; the file was not written"]
    except (IndexError, ValueError) as error:  # the run is too short for the figure
        return [], [f"{plot} was not written: this run cannot be drawn: {error}"]


def _show_facts(scene: Scenario, trajectory: Trajectory) -> bool:
    """Print the facts of a scene; return whether all of them hold."""
    try:
        facts = scene.facts(trajectory)
    except (IndexError, ValueError) as error:  # the run is too short for the facts
        complain(f"the checks of {scene.name} cannot be evaluated on this run: {error}")
        return False
    if facts:
        print()
        headings = ("fact", "measured", "expected", "tolerance", "ok")
        rows = [
            (
                fact.claim, f"{fact.measured:.9g}", f"{fact.expected:.9g}", f"{fact.tolerance:.2g}",
                "yes" if fact.ok else "NO",
            )
            for fact in facts
        ]  # fmt: skip
        table(headings, rows, numbers=headings[1:4], folds=("fact",))
        print()
    return all(fact.ok for fact in facts)
