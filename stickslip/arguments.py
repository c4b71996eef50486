"""Checks of the main argument of public functions: wrong types raise errors with advice.

The checks are cheap for valid arguments; the modules needed for advice are imported only for invalid ones.
"""

from pathlib import Path
from typing import Any

from stickslip.names import suggestion
from stickslip.state import ModelError


def check_simulated(given: Any) -> None:
    """Raise a ModelError unless `given` can be simulated."""
    from stickslip.mechanics.world import World
    from stickslip.systems.system import NonsmoothSystem

    if isinstance(given, World | NonsmoothSystem):
        return
    from stickslip.robots.robot import Robot

    if not isinstance(given, Robot):
        expected = "a NonsmoothSystem, a World or a Robot"
        raise ModelError(_moving_message("simulate", "system", given, expected))


def check_differentiated(verb: str, given: Any, wanted: str) -> None:
    """Raise a ModelError unless the steps of `given` can be differentiated; `wanted` lists valid types."""
    from stickslip.mechanics.world import World
    from stickslip.robots.robot import Robot
    from stickslip.schemes.body_world import PreparedWorld
    from stickslip.schemes.prepared_system import PreparedSystem
    from stickslip.schemes.robot_prepared import PreparedRobot
    from stickslip.systems.family import Family
    from stickslip.systems.system import NonsmoothSystem

    steps = World | PreparedWorld | NonsmoothSystem | Family | PreparedSystem | Robot | PreparedRobot
    if not isinstance(given, steps):
        role = "thing" if verb == "differentiate" else "world"
        raise ModelError(_moving_message(verb, role, given, wanted))


def check_solved(given: Any) -> None:
    """Raise a TypeError if `given` is a known mistake for a problem; solvers check other types."""
    from stickslip.problem.solution import AnyProblem

    if isinstance(given, AnyProblem):
        return
    advice = _problem_advice(given)
    if advice:
        raise TypeError(f"a problem is needed, not {_called(given)}: {advice}")


def _called(given: Any) -> str:
    return f"the class {given.__name__}" if isinstance(given, type) else type(given).__name__


def _moving_message(verb: str, role: str, given: Any, wanted: str) -> str:
    advice = _moving_advice(verb, given)
    return f"{role} is {_called(given)}, expected {wanted}" + (f": {advice}" if advice else "")


def _moving_advice(verb: str, given: Any) -> str:
    """Return advice for an object that is neither a world nor a system."""
    from stickslip.mechanics.builder import WorldBuilder
    from stickslip.problem.solution import AnyProblem, Solution
    from stickslip.scenes.scenario import Scenario
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.systems.dynamics import FirstOrderDynamics, SecondOrderDynamics

    if isinstance(given, WorldBuilder):
        return f"call .build() first, {verb}(builder.build(), ...)"
    if isinstance(given, FirstOrderDynamics | SecondOrderDynamics):
        return f"wrap it in a system, NonsmoothSystem([{given.name}], [interactions])"
    if isinstance(given, list | tuple):
        return "combine the systems, NonsmoothSystem([systems], [interactions])"
    if isinstance(given, Scenario):
        return f"pass its model, {verb}(scene.system, ...)"
    if isinstance(given, Trajectory):
        return "pass its model, run.source, and start=run.checkpoint() to continue from its end"
    if isinstance(given, Solution | AnyProblem):
        return "a problem has no time; use solve(problem)"
    if isinstance(given, str | Path):
        return _name_advice(str(given), f"{verb}({{}}, ...)")
    return ""


def _problem_advice(given: Any) -> str:
    """Return advice for an object that is not a problem."""
    from stickslip.files.record import ProblemRecord
    from stickslip.mechanics.builder import WorldBuilder
    from stickslip.mechanics.world import World
    from stickslip.problem.program_solution import ProgramSolution
    from stickslip.problem.solution import Solution
    from stickslip.scenes.scenario import Scenario
    from stickslip.systems.system import NonsmoothSystem

    if isinstance(given, World | NonsmoothSystem | Scenario):
        model = "scene.system" if isinstance(given, Scenario) else "it"
        return f"simulate({model}, until=..., h=...) simulates it, with one problem in each step"
    if isinstance(given, WorldBuilder):
        return "call .build() and simulate the world: simulate(builder.build(), until=..., h=...)"
    if isinstance(given, str | Path):
        return _name_advice(str(given), "solve({})")
    if isinstance(given, ProblemRecord):
        return "pass its problem, solve(record.problem)"
    if isinstance(given, Solution | ProgramSolution):
        return "this is a solution; its problem is solution.problem"
    if hasattr(given, "problem") and hasattr(given, "recover"):
        return "pass its problem, solve(conversion.problem), and convert the answer by conversion.recover"
    if hasattr(given, "__array__"):
        return "build one from the arrays, ContactProblem(W, u_free, coulomb(mu))"
    return ""


def _name_advice(text: str, call: str) -> str:
    """Return advice for a text, which may be the name of a scene or a file."""
    from stickslip import scenes

    solves = call.startswith("solve")
    known = scenes.names(scenes.PROBLEM if solves else scenes.RUN)
    if text in known:
        example = f"scenes.make({text!r})" + ("" if solves else ".system")
        return f"make the scene, {call.format(example)}"
    if not solves and Path(text).suffix.lower() in (".toml", ".json"):
        return f"load the model first, {call.format(f'load({text!r})')}"
    if Path(text).suffix:
        read = "read" if solves else "read_trajectory"
        return f"read the file first, {call.format(f'{read}({text!r})') if solves else f'{read}({text!r})'}"
    close = suggestion(text, known)
    return f"the text is neither the name of a scene nor of a file{'; ' if close else ''}{close}"
