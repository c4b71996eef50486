"""`stickslip bifurcation`: the steady motion of a driven scene as a function of one parameter."""

from __future__ import annotations

import re
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from stickslip.cli.errors import ExitCode, InputError, complain, os_sentence, printable, refused, report_files
from stickslip.cli.parameters import Flag, Scene, Step
from stickslip.cli.places import PLOTS, check_writable
from stickslip.cli.progress import watch_parts
from stickslip.cli.settings import check_known, chosen, grid_values, read_settings, with_options
from stickslip.cli.tables import csv_text, table
from stickslip.names import alternatives

if TYPE_CHECKING:
    from stickslip.scenes.scenario import Scenario

COMPONENT = re.compile(r"([qv])(\d+)")
"""Pattern of a component of the state: q0, v1, ..."""


def bifurcation(
    name: Annotated[str, Parameter(name="NAME")],
    /,
    *,
    vary: str,
    observe: list[str] | None = None,
    period: float | None = None,
    transient: int = 100,
    samples: int = 50,
    h: Step = None,
    scheme: str | None = None,
    solver: str = "auto",
    anew: Flag = False,
    settings: Scene = None,
    out: Path | None = None,
    plot: Path | None = None,
    **given: Annotated[str, Parameter(show=False)],
) -> int:
    """Vary a parameter of a scene, and show its steady motion at each value.

    At each value the scene is simulated over --transient periods, which are discarded,
    and over --samples periods, which are observed. Prints the number of periods after
    which the motion repeats, and the range of the observed quantities at the end of
    each period.

    For example:
      stickslip bifurcation cam --vary rpm=300:800:101 --plot cam.png
      stickslip bifurcation cam --vary rpm=100:200:51 --profile arcs --out cam.csv
      stickslip bifurcation bouncing-ball --vary e=0.1:0.9:9 --period 0.5 --observe q0

    Parameters
    ----------
    name
        Scene to simulate; `stickslip scenes` lists them.
    vary
        Parameter and its values: name=first:last:count, or name=a,b,c.
    observe
        Observed quantity: one defined by the scene, or a component of the state such as q0 or v1; may
        be repeated. By default all quantities of the scene, or q0 if it defines none.
    period
        Time between sections [s]; by default the period of the excitation.
    transient
        Number of discarded periods at each value.
    samples
        Number of observed periods at each value.
    scheme
        Time scheme; by default that of the scene.
    solver
        Solver of the contact problems; `stickslip solvers` lists them.
    anew
        Start at each value from the initial state of the scene, not from the final state at the
        previous value.
    out
        File (.csv) for all observations.
    plot
        File for the diagram: .png, .svg, .pdf, .pgf or .csv.
    """
    from stickslip import scenes
    from stickslip.simulation.failure import SimulationFailure
    from stickslip.studies.bifurcation import bifurcation as diagram_of

    if out is not None:
        check_writable(out, (".csv",))
    if plot is not None:
        check_writable(plot, PLOTS)
    with refused(KeyError, TypeError, ValueError):
        parameter, values = read_values(vary)
        texts = with_options(read_settings(settings or []), given)
        known = scenes.parameters(name)
        if parameter not in known:
            raise InputError(f"--vary {parameter}: {alternatives(parameter, known, f'{name} has:')}")
        if parameter in texts:
            raise InputError(f"{parameter} is both varied and given; remove one of the two")
        if scenes.kind_of(name) != scenes.RUN:
            raise InputError(f"{name} is a problem and does not run; `stickslip scenes` lists those that do")
        is_integer = isinstance(known[parameter], int) and not isinstance(known[parameter], bool)
        fixed = chosen(known, texts)

        def make_scene(value: float) -> Scenario:
            scene: Scenario = scenes.make(name, **fixed, **{parameter: int(value) if is_integer else value})
            return scene

        first = make_scene(values[0])
        check_known(f"{name} has no such parameter", texts, [*known], signature(bifurcation).parameters)
        if period is None and first.period is None:
            raise InputError(
                f"{name} is not driven periodically; give --period, the time between sections [s]"
            )
        looks = _looks(first, observe)
        step = first.h if h is None else h
        time = first.period if period is None else period
        assert time is not None
        with watch_parts(f"bifurcation {name}") as progress:
            try:
                diagram = diagram_of(
                    lambda value: make_scene(value).system, values, observe=looks, transient=transient,
                    samples=samples, steps=max(1, round(time / step)), follow=not anew,
                    period=lambda value: make_scene(value).period or time if period is None else time,
                    scheme=scenes.scheme_of(first, scheme), solver=solver, name=parameter, progress=progress,
                )  # fmt: skip
            except SimulationFailure as failure:
                complain("; ".join([str(failure), *getattr(failure, "__notes__", ())]))
                return ExitCode.MISSED
    written, unwritten = [], ""
    try:
        if out is not None:
            rows = [row for quantity in diagram.observed for row in diagram.rows(quantity)]
            from stickslip.files.problems import replace_file

            replace_file(out, csv_text((parameter, "observed", "period", "value"), rows).encode())
            written.append(out)
        if plot is not None:
            from stickslip.view.figures import draw

            draw(diagram.figure(f"{name}: bifurcations over {parameter}"), plot)
            written.append(plot)
    except OSError as error:
        unwritten = f"{os_sentence(error)}; it was not written"
    shown = diagram.table()
    print(f"{name}: {printable(first.summary)}\n")
    table(shown.headings, shown.text(), numbers=shown.numeric)
    return report_files(written, unwritten)


def read_values(text: str) -> tuple[str, list[float]]:
    """Parse `name=first:last:count` or `name=a,b,c` into a name and values."""
    name, equals, rest = (part.strip() for part in text.partition("="))
    try:
        if not equals or not name:
            raise ValueError
        values = grid_values(rest)
    except ValueError:
        raise InputError(
            f"--vary {text!r} is neither of the form name=first:last:count, such as rpm=300:800:101, nor"
            " name=a,b,c"
        ) from None
    return name.replace("-", "_"), values


def _looks(scene: Scenario, names: list[str] | None) -> dict[str, Any]:
    """Observed quantities by name: functions of a trajectory."""
    quantities = dict(scene.observe)
    observed: dict[str, Any] = {}
    for name in names or (quantities or ["q0"]):
        match = COMPONENT.fullmatch(name)
        matches = [quantity for quantity in quantities if quantity == name or quantity.startswith(f"{name} ")]
        if match:
            state, k = match[1], int(match[2])
            size = _size(scene, state)
            if k >= size:
                raise InputError(f"--observe {name}: {scene.name} has {state}0 to {state}{size - 1}")
            observed[name] = _component(state, k)
        elif matches:
            observed[matches[0]] = quantities[matches[0]]
        else:
            known = ", ".join([*quantities, "q0, v0, ..."])
            raise InputError(f"--observe {name}: {scene.name} has {known}")
    return observed


def _size(scene: Scenario, state: str) -> int:
    """Number of components of q or v of a scene."""
    from stickslip.mechanics.world import World

    model = scene.system
    array = getattr(model.start, state) if isinstance(model, World) else getattr(model, f"{state}0")
    return int(array.size)


def _component(state: str, k: int) -> Any:
    """Return a function that reads component k of q or v from the last record of a run."""
    return lambda run: getattr(run, state)[-1, k]
