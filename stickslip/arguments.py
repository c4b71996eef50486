"""Checks of the main argument of public functions: wrong types raise errors with advice.

The checks are cheap for valid arguments; the modules needed for advice are imported only for invalid ones.
"""

from pathlib import Path
from typing import Any

from stickslip.names import suggestion
from stickslip.state import ModelError


def check_simulated(value: Any) -> None:
    """Raise a ModelError unless `value` can be simulated."""
    from stickslip.mechanics.world import World
    from stickslip.systems.system import NonsmoothSystem

    if isinstance(value, World | NonsmoothSystem):
        return
    from stickslip.robots.robot import Robot

    if not isinstance(value, Robot):
        expected = "a NonsmoothSystem, a World or a Robot"
        raise ModelError(_moving_message("simulate", "system", value, expected))


def check_differentiated(verb: str, value: Any, expected: str) -> None:
    """Raise a ModelError unless the steps of `value` can be differentiated; `expected` lists valid types."""
    from stickslip.mechanics.world import World
    from stickslip.robots.robot import Robot
    from stickslip.schemes.body_world import PreparedWorld
    from stickslip.schemes.prepared_system import PreparedSystem
    from stickslip.schemes.robot_prepared import PreparedRobot
    from stickslip.systems.family import Family
    from stickslip.systems.system import NonsmoothSystem

    steps = World | PreparedWorld | NonsmoothSystem | Family | PreparedSystem | Robot | PreparedRobot
    if not isinstance(value, steps):
        role = "thing" if verb == "differentiate" else "world"
        raise ModelError(_moving_message(verb, role, value, expected))


def check_solved(value: Any) -> None:
    """Raise a TypeError if `value` is a known mistake for a problem; solvers check other types."""
    from stickslip.problem.solution import AnyProblem

    if isinstance(value, AnyProblem):
        return
    advice = _problem_advice(value)
    if advice:
        raise TypeError(f"a problem is needed, not {_called(value)}: {advice}")


def _called(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _moving_message(verb: str, role: str, value: Any, expected: str) -> str:
    advice = _moving_advice(verb, value)
    return f"{role} is {_called(value)}, expected {expected}" + (f": {advice}" if advice else "")


def _moving_advice(verb: str, value: Any) -> str:
    """Return advice for an object that is neither a world nor a system."""
    from stickslip.mechanics.builder import WorldBuilder
    from stickslip.problem.solution import AnyProblem, Solution
    from stickslip.scenes.scenario import Scenario
    from stickslip.simulation.trajectory import Trajectory
    from stickslip.systems.dynamics import FirstOrderDynamics, SecondOrderDynamics

    if isinstance(value, WorldBuilder):
        return f"call .build() first, {verb}(builder.build(), ...)"
    if isinstance(value, FirstOrderDynamics | SecondOrderDynamics):
        return f"wrap it in a system, NonsmoothSystem([{value.name}], [interactions])"
    if isinstance(value, list | tuple):
        return "combine the systems, NonsmoothSystem([systems], [interactions])"
    if isinstance(value, Scenario):
        return f"pass its model, {verb}(scene.system, ...)"
    if isinstance(value, Trajectory):
        return "pass its model, run.source, and start=run.checkpoint() to continue from its end"
    if isinstance(value, Solution | AnyProblem):
        return "a problem has no time; use solve(problem)"
    if isinstance(value, str | Path):
        return _name_advice(str(value), f"{verb}({{}}, ...)")
    return ""


def _problem_advice(value: Any) -> str:
    """Return advice for an object that is not a problem."""
    from stickslip.files.record import ProblemRecord
    from stickslip.mechanics.builder import WorldBuilder
    from stickslip.mechanics.world import World
    from stickslip.problem.program_solution import ProgramSolution
    from stickslip.problem.solution import Solution
    from stickslip.scenes.scenario import Scenario
    from stickslip.systems.system import NonsmoothSystem

    if isinstance(value, World | NonsmoothSystem | Scenario):
        model = "scene.system" if isinstance(value, Scenario) else "it"
        return f"simulate({model}, until=..., h=...) simulates it, with one problem in each step"
    if isinstance(value, WorldBuilder):
        return "call .build() and simulate the world: simulate(builder.build(), until=..., h=...)"
    if isinstance(value, str | Path):
        return _name_advice(str(value), "solve({})")
    if isinstance(value, ProblemRecord):
        return "pass its problem, solve(record.problem)"
    if isinstance(value, Solution | ProgramSolution):
        return "this is a solution; its problem is solution.problem"
    if hasattr(value, "problem") and hasattr(value, "recover"):
        return "pass its problem, solve(conversion.problem), and convert the answer by conversion.recover"
    if hasattr(value, "__array__"):
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
