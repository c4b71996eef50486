"""Parameters that several verbs share, with their help texts."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Files = Annotated[list[Path], Parameter(name="FILE...")]
"""One or more problem files."""

Flag = Annotated[bool, Parameter(show_default=False)]
"""An option without value, off by default."""

KindName = Literal["friction", "global", "rolling", "global-rolling", "lcp", "mlcp"]
"""Kinds of problems in text files (`stickslip.files.dat.KINDS`, repeated to keep `--help` fast)."""

Kind = Annotated[
    KindName | None,
    Parameter(
        help="Kind of the problem in a .dat file, if its name does not contain it.", show_default=False
    ),
]

Json = Annotated[
    bool, Parameter(show_default=False, help="Print only JSON: one object, or a list of several.")
]

Scene = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        help="A parameter of the scene, or (run only) an option of the scheme, as name=value; may be"
        " repeated. Required if the name is also an option of this command.",
    ),
]
"""Settings of a scene."""

SolverOptions = Annotated[
    list[str] | None,
    Parameter(
        name="--solver-option",
        help="An option of the solver, name=value; may be repeated. `stickslip solvers NAME` lists them.",
    ),
]
"""Options of a solver."""

Threads = Annotated[
    int,
    Parameter(help="Number of threads for large contact problems; the answer does not depend on it."),
]
Own = Annotated[
    str | None,
    Parameter(
        name="--own",
        help="Your own solver in place of --solver: file.py:Class or package.module:Class, with options"
        " by --solver-option.",
    ),
]
"""A user's class with a method `solve`."""

Until = Annotated[float | None, Parameter(help="End time [s]; by default that of the scene.")]
Grid = Annotated[
    str | None,
    Parameter(
        help="Times at which steps end [s], in place of --h: separated by commas, or a text file. The last"
        " time is the end of the run unless --until is given.",
    ),
]
Adaptive = Annotated[
    str | None,
    Parameter(
        help="Adaptive steps, controlled by the error in position, in place of --h, for example"
        " tolerance=1e-6,h_max=0.01. Options: tolerance [m], relative, h_min, h_max, first [s] and safety.",
    ),
]
Step = Annotated[float | None, Parameter(name="--h", help="Time step [s]; by default that of the scene.")]

Host = Annotated[str, Parameter(help="Address to serve at; the default is reachable from this machine only.")]
Port = Annotated[int, Parameter(help="Port to serve at; 0 selects a free port.")]
NoBrowser = Annotated[
    bool, Parameter(show_default=False, help="Print the address without opening a browser.")
]
