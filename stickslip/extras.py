"""Optional packages: imported on use, with an error that contains the command to install them.

`pyproject.toml` defines the extras, and `EXTRA_OF` the packages that each of them installs.
"""

from importlib import import_module
from typing import Any

EXTRA_OF = {
    "cyclopts": "cli", "rich": "cli",
    "matplotlib": "plots", "PIL": "plots", "av": "video",
    "tomlkit": "models", "psutil": "bench", "distributed": "dask",
    "pandas": "tables", "pyarrow": "tables", "pxr": "usd", "rerun": "rerun",
    "jax": "jax", "torch": "torch",
    "gymnasium": "gymnasium", "glfw": "gymnasium", "imageio": "gymnasium", "packaging": "gymnasium",
    "clarabel": "clarabel", "scs": "scs", "qoco": "qoco", "ecos": "ecos", "piqp": "piqp",
    "proxsuite": "proxqp", "casadi": "ipopt", "gurobipy": "gurobi", "mosek": "mosek",
    "gamspy": "gams", "gamspy_base": "gams", "gams": "gams",
}  # fmt: skip
"""Extra of stickslip that installs a package, by the name under which it is imported."""


class MissingPackage(ImportError):  # noqa: N818 (an absent package is not an error of ours)
    """Exception for a package that is not installed or cannot be used; the message contains the remedy."""


def needed(module: str, what: str) -> Any:
    """Import and return the module `module` of a package in `EXTRA_OF`.

    what: the feature that needs it, as the subject of the message of `MissingPackage`.
    """
    try:
        return import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingPackage(
            f"{what} needs the package {package}, which cannot be imported ({error}); {advice(package)}"
        ) from None


def advice(package: str) -> str:
    """Return the advice for a missing package of `EXTRA_OF`."""
    return f"install it with: {pip_command(package)}"


def pip_command(package: str) -> str:
    """Return the command that installs a package of `EXTRA_OF`."""
    return f'pip install "stickslip[{EXTRA_OF[package]}]"'


def explained(error: ImportError, what: str) -> ImportError:
    """Return `MissingPackage` for a failed import of a package in `EXTRA_OF`, other errors unchanged."""
    package = (error.name or "").split(".")[0]
    if not isinstance(error, ModuleNotFoundError) or package not in EXTRA_OF:
        return error
    return MissingPackage(f"{what} needs the package {package}, which is not installed; {advice(package)}")
