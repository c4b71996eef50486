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

Until = Annotated[float | None, Parameter(help="End [s]; that of the scene by default.")]
Step = Annotated[float | None, Parameter(name="--h", help="Time step [s]; that of the scene by default.")]

Host = Annotated[
    str, Parameter(help="Address of this machine to serve at; only this machine reaches the default.")
]
Port = Annotated[int, Parameter(help="Port to serve at; 0 takes any that is free.")]
NoBrowser = Annotated[bool, Parameter(show_default=False, help="Print the address and open no browser.")]
