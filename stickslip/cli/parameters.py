"""Arguments that several verbs share."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Files = Annotated[list[Path], Parameter(name="FILE...")]
"""One problem file or more."""

Kind = Literal["friction", "global", "rolling", "global-rolling", "lcp", "mlcp"]
"""What a text file may hold (`stickslip.files.dat.KINDS`, written out to keep `--help` light)."""

Json = Annotated[bool, Parameter(show_default=False)]
"""Whether to print JSON and nothing else."""

Existence = Annotated[bool, Parameter(show_default=False, negative="")]
"""Whether to look for the condition under which a solution is sure to exist."""

Options = Annotated[list[str] | None, Parameter(name="--option")]
"""Settings of a solver as name=value, one per `--option`."""
