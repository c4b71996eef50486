"""Packages that not every user needs: imported on use, with one sentence that says what to install."""

from importlib import import_module
from typing import Any


class MissingPackage(ImportError):  # noqa: N818 (an absent package is not an error of ours)
    """A package that is not installed or cannot be used; the message says what to do."""


def needed(module: str, extra: str, what: str) -> Any:
    """The module `module`, which the extra `extra` of stickslip installs.

    what: what it is needed for, as the subject of the sentence of `MissingPackage`.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackage(missing(module, extra, what, str(error))) from None


def missing(module: str, extra: str, what: str, reason: str) -> str:
    """The sentence that says which package is missing, why it cannot be used, and what installs it."""
    package = module.split(".")[0]
    return f"{what} needs the package {package} ({reason}); {advice(extra)}"


def advice(extra: str) -> str:
    """How to install an extra."""
    return f'install it with: pip install "stickslip[{extra}]"'
