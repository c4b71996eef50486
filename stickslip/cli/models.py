"""Files in place of scenes: models, robots, and runs, which contain their models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stickslip.cli.errors import InputError, refused, usable
from stickslip.cli.places import FCLIB, load_run

if TYPE_CHECKING:
    from stickslip.exhibits import Figure
    from stickslip.mechanics.world import World
    from stickslip.robots.robot import Robot
    from stickslip.scenes.scenario import Scenario
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.systems.system import NonsmoothSystem

MODELS = (".toml", ".json")
"""Suffixes of model files."""
ROBOTS = (".xml", ".mjcf", ".urdf", ".sdf", ".xacro")
"""Suffixes of robot files; the content decides between MJCF, URDF and formats that are refused."""


def is_file(name: str) -> bool:
    """Whether a name is that of a model, robot or run file, not of a scene."""
    return Path(name).suffix.lower() in (*MODELS, *ROBOTS, *FCLIB)


def load_model(path: Path) -> World | NonsmoothSystem:
    """Read the model in `path`; errors become an `InputError`."""
    from stickslip.files.model_faults import ModelFileError
    from stickslip.files.models import read_model

    with usable(path, "model"):
        try:
            return read_model(path)
        except ModelFileError as error:
            raise InputError(str(error)) from None


def load_robot(
    path: Path, restitution: float | None = None, search: Sequence[Path] | None = None,
    world: Path | None = None,
) -> Robot:  # fmt: skip
    """Read the robot in `path`, with the bodies of the file `world`; errors become an `InputError`."""
    from stickslip.mechanics.world import World
    from stickslip.robots.robot import Robot
    from stickslip.state import ModelError

    surroundings = None if world is None else load_model(world)
    if not isinstance(surroundings, World | None):
        raise InputError(f"--world {world}: this is a system of equations; give a world of bodies")
    with usable(path, "robot"), refused(ModelError):
        robot = Robot.load(path, search=search or (), restitution=restitution or 0.0)
        return robot if surroundings is None else robot.with_world(surroundings)


def load_control(place: str) -> Callable[[Any], Any]:
    """Load the function at `file.py:function`; its exceptions become a `ModelError` of one sentence."""
    from stickslip.bench.campaigns.contestants import ContestantError, own_thing
    from stickslip.state import ModelError

    with refused(ContestantError, before="--control: "):
        if ":" not in place:
            raise ContestantError(f"{place!r} is not of the form file.py:function")
        function = own_thing(place)
    if not callable(function):
        raise InputError(f"--control {place}: this is not a function of MuJoCo's data")

    def control(data: Any) -> Any:
        try:
            return function(data)
        except Exception as error:
            message = f"{type(error).__name__}: {error}"
            raise ModelError(f"--control {place}: at t = {data.time:.9g} s it raised {message}") from error

    return control


def standing(robot: Robot, start: Any = None) -> Trajectory:
    """A robot in its start position, as a run without steps."""
    from stickslip import live

    return live(robot, start=start).run()


def file_scene(
    path: Path, until: float | None, h: float | None, resumed: bool, restitution: float | None = None,
    search: Sequence[Path] | None = None, world: Path | None = None,
) -> Scenario:  # fmt: skip
    """Wrap the model in a file as a scene without facts; the file of a run also gives scheme, h and end time.

    resumed: whether the run continues from the end of another. restitution, search: arguments of
    `Robot.load`. world: a model file with bodies around the robot.
    """
    from stickslip.mechanics.world import World
    from stickslip.robots.robot import Robot
    from stickslip.scenes.scenario import BODIES, Scenario
    from stickslip.schemes.registry import DEFAULT_ROBOTS, DEFAULTS

    options: dict[str, Any] = {}
    model: Any
    kind = path.suffix.lower()
    if kind not in ROBOTS and not (restitution is None and search is None and world is None):
        raise InputError(
            f"--restitution, --search and --world apply to robots only ({', '.join(ROBOTS)}), not to {path}"
        )
    if kind in (*MODELS, *ROBOTS) and (until is None or (kind in MODELS and h is None and not resumed)):
        missing = "--until" if until is None else "--h"
        raise InputError(f"{missing} is missing; {path} contains a model without the duration of the run")
    if kind in ROBOTS:
        model = load_robot(path, restitution, search, world)
        h, scheme = h or float(model.model.opt.timestep), DEFAULT_ROBOTS
    elif kind in MODELS:
        model = load_model(path)
        is_first_order = not isinstance(model, World) and not model.mechanical
        scheme = BODIES[0] if isinstance(model, World) else DEFAULTS["first" if is_first_order else "second"]
    else:
        run = load_run(path)
        model, scheme, options = run.source, run.scheme, run.scheme_options
        until, h = _end(path, run, resumed) if until is None else until, h or run.clock.h
    assert until is not None
    figure = _motion if isinstance(model, Robot) else _energies if isinstance(model, World) else _states
    summary = f"the model of {path}"
    if isinstance(model, Robot):
        summary = str(model).removeprefix(f"robot {model.name}: ")
    return Scenario(path.name, summary, model, until, h or 0.0, scheme, options,
                    lambda trajectory: [], figure)  # fmt: skip


def _end(path: Path, run: Trajectory, resumed: bool) -> float:
    """Default end time of a run from the file of a run [s]: its last time, or if resumed its planned end."""
    t = float(run.t[-1])
    if not resumed:
        return t
    if run.until is None or run.until <= t:
        raise InputError(f"{path}: the run is complete, t = {t:.6g} s; use --until to continue it")
    return run.until


def _energies(run: Trajectory) -> Figure:
    """Energies of a world over time."""
    from stickslip.exhibits import Figure
    from stickslip.scenes.scenario import over_time

    curves = {"kinetic": run.kinetic, "potential": run.potential, "together": run.energy}
    return Figure("energy", [over_time("energy", "energy [J]", run.t, curves)])


def _motion(run: Trajectory) -> Figure:
    """Energies of a robot, and the positions of its slide and hinge joints."""
    from stickslip.exhibits import Figure
    from stickslip.scenes.scenario import over_time

    views = [run.joint(name) for name in run.model.coordinates]
    panels = list(_energies(run).panels)
    for kind, label in (("hinge", "angle [rad]"), ("slide", "position [m]")):
        curves = {view.name: view.position for view in views if view.kind == kind}
        if curves:
            panels.append(over_time(f"{kind} joints", label, run.t, curves))
    return Figure("motion", panels)


def _states(run: Trajectory) -> Figure:
    """Coordinates of all systems over time."""
    from stickslip.exhibits import Figure
    from stickslip.scenes.scenario import over_time

    views = {part.name: run.model.system(part.name)[1] for part in run.model.systems}
    curves = {
        f"{name} {k}": run.q[:, part_slice.start + k]
        for name, part_slice in views.items()
        for k in range(part_slice.stop - part_slice.start)
    }
    return Figure("coordinates", [over_time("coordinates", "q, x", run.t, curves)])
