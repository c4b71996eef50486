"""Arguments that several verbs share, with their help."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Files = Annotated[list[Path], Parameter(name="FILE...")]
"""One problem file or more."""

Flag = Annotated[bool, Parameter(show_default=False)]
"""Yes where it is given."""

KindName = Literal["friction", "global", "rolling", "global-rolling", "lcp", "mlcp"]
"""What a text file may hold (`stickslip.files.dat.KINDS`, written out to keep `--help` light)."""

Kind = Annotated[
    KindName | None,
    Parameter(help="What a .dat file holds, where its name does not say.", show_default=False),
]

Json = Annotated[
    bool, Parameter(show_default=False, help="Print JSON and nothing else: one object, or a list of several.")
]

Scene = Annotated[
    list[str] | None,
    Parameter(
        name="--set",
        help="A parameter of the scene, or for run an option of the scheme, as name=value, one per --set; for"
        " those whose names are options of this command, too.",
    ),
]
"""Settings of a scene."""

SolverOptions = Annotated[
    list[str] | None,
    Parameter(
        name="--solver-option",
        help="An option of the solver, name=value; repeat for more; `stickslip solvers NAME` lists them.",
    ),
]
"""Options of a solver."""

Threads = Annotated[
    int,
    Parameter(help="Threads that large contact problems may use; the answer is the same for any number."),
]
Own = Annotated[
    str | None,
    Parameter(
        name="--own",
        help="A solver of your own in the place of --solver: file.py:Class or package.module:Class; its"
        " options are given by --solver-option.",
    ),
]
"""A user's class with a method `solve`."""

Until = Annotated[float | None, Parameter(help="End [s]; that of the scene by default.")]
Grid = Annotated[
    str | None,
    Parameter(
        help="In place of --h the times at which steps end [s], commas between them, or a text file of them;"
        " the last one is the end, unless --until says otherwise.",
    ),
]
Adaptive = Annotated[
    str | None,
    Parameter(
        help="In place of --h steps as long as their error in position allows: tolerance=1e-6,h_max=0.01; of"
        " tolerance [m], relative, h_min, h_max, first [s] and safety those that are not to be the default.",
    ),
]
Step = Annotated[float | None, Parameter(name="--h", help="Time step [s]; that of the scene by default.")]

Host = Annotated[
    str, Parameter(help="Address of this machine to serve at; only this machine reaches the default.")
]
Port = Annotated[int, Parameter(help="Port to serve at; 0 takes any that is free.")]
NoBrowser = Annotated[bool, Parameter(show_default=False, help="Print the address and open no browser.")]
