"""Entry point of the command `stickslip`; names the packages to install if some are missing."""

from stickslip.cli.errors import ExitCode, complain
from stickslip.extras import MissingPackage, needed

PACKAGES = ("cyclopts", "rich")
"""Packages of the extra `cli`."""


def main() -> int:
    """Run the command line with the arguments of the process; return the exit code."""
    try:
        for package in PACKAGES:
            needed(package, "the command line")
    except MissingPackage as error:
        complain(str(error))
        return ExitCode.BAD_INPUT
    from stickslip.cli.main import main as run

    return run()
