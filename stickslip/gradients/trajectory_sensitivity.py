"""Sensitivities of the states of a run by few inputs, propagated forward with the derivatives of its steps.

    s = trajectory_sensitivity(world, until=0.5, h=1e-3, solver=solver, by=("mu", "e"))
    s.dq[-1] @ change     # displacements of the end, 6 for each body

The cost is proportional to the number of inputs; for few inputs it is less than a gradient for each state.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.gradients.derivative import Derivative
from stickslip.gradients.trajectory import Moving, checked_names, run_of
from stickslip.gradients.trajectory_run import CARRIED, Flagged, Flags, Run
from stickslip.schemes.step import Solver
from stickslip.simulation.clock import every
from stickslip.state import Array, ModelError


@dataclass(frozen=True, eq=False)
class TrajectorySensitivity(Flagged):
    """Recorded states of a run, and their derivatives with respect to the requested inputs."""

    t: Array
    """Times of the states [s], shape (k,)."""
    q: Array
    """As `State.q` [m, -], shape (k, 7 n); of a system (k, nq)."""
    v: Array
    """As `State.v` [m/s, rad/s], shape (k, 6 n); of a system (k, nv)."""
    dq: Array
    """Displacements of the bodies, (δx [m] inertial, δθ [rad] in their frames), by each of the p directions,
    shape (k, 6 n, p); of a system changes of q, shape (k, nq, p)."""
    dv: Array
    """Changes of v by each of the directions [m/s, rad/s], shape (k, 6 n, p)."""
    columns: dict[str, slice]
    """Columns of the p directions that belong to each name; all columns for given directions."""
    kinks: tuple[int, ...]
    """Steps without a derivative; the derivative of one side was taken."""
    not_unique: tuple[int, ...]
    """Steps in which impulses are not unique; their change of least norm was taken."""
    notes: tuple[str, ...]
    """Sentences about the first of these steps."""


def trajectory_sensitivity(
    thing: Moving, *, until: float, h: float | None = None, solver: Solver,
    by: Iterable[str] | Mapping[str, ArrayLike], scheme: Any = None, kappa: float = 0.0,
    record: int = 1, start: Any = None, controls: Mapping[str, ArrayLike] | None = None,
    on_failure: str = "raise",
) -> TrajectorySensitivity:  # fmt: skip
    """Differentiate every `record`-th state of the run that `simulate` would make, and the last state.

    by   names of inputs, each of whose numbers is a direction: `q` (displacements of the start), `v`, `h`,
         fields of `Parameters`; or a mapping of directions, {"mu": [[1.0], [0.5]], ...}, each of shape
         (numbers, p) or (numbers,), whose columns belong together

    Other arguments are those of `trajectory_gradient`; controls change equally in all steps.
    """
    steps = run_of(
        thing, until=until, h=h, scheme=scheme, solver=solver, start=start,
        controls=controls, kappa=kappa, on_failure=on_failure,
    )  # fmt: skip
    return sensitivity_along(steps, by, every(record))


def sensitivity_along(
    steps: Run, by: Iterable[str] | Mapping[str, ArrayLike], record: int = 1
) -> TrajectorySensitivity:
    """Return the sensitivities along a run; directions of controls may have a first axis of steps."""
    directions, columns = _directions(steps, by)
    p = next(iter(directions.values())).shape[-1]
    changes = {name: directions.get(name, np.zeros((steps.size(name), p))) for name in CARRIED}
    inputs = {name: value for name, value in directions.items() if name not in (*CARRIED, "h")}
    longer = directions.get("h")
    point, rows = steps.start, [(steps.start.state, changes["q"], changes["v"])]
    flags = Flags()
    for k in range(len(steps)):
        derivative, point = steps.differentiate(k, point)
        tangents = {name: value for name, value in changes.items() if name in derivative.by}
        tangents |= {name: value[k] if value.ndim == 3 else value for name, value in inputs.items()}
        if longer is not None:
            tangents |= _lengths(steps, k, longer, derivative)
        outputs = derivative.forward(tangents)
        memory = [name for name in derivative.of if name in derivative.by and name not in CARRIED]
        changes = {name: outputs[name] for name in (*CARRIED, *memory)}
        if (k + 1) % record == 0 or k + 1 == len(steps):
            rows.append((point.state, changes["q"], changes["v"]))
        flags.add(k, derivative)
    states = [state for state, _, _ in rows]
    return TrajectorySensitivity(
        np.array([state.t for state in states]), np.array([state.q for state in states]),
        np.array([state.v for state in states]), np.array([dq for _, dq, _ in rows]),
        np.array([dv for _, _, dv in rows]), columns, *flags.summary(),
    )  # fmt: skip


def _lengths(steps: Run, k: int, longer: Array, derivative: Derivative) -> dict[str, Array]:
    """Return the changes of the length of step k, and of the previous length if it is an input of the
    step."""
    tangents = {"h": longer * steps.shares[k]}
    if "h_before" in derivative.by and k:
        tangents["h_before"] = longer * steps.shares[k - 1]
    return tangents


def _directions(
    steps: Run, by: Iterable[str] | Mapping[str, ArrayLike]
) -> tuple[dict[str, Array], dict[str, slice]]:
    """Return the directions of each name, shape (numbers, p), and the columns that belong to it."""
    names = checked_names(by, steps)
    if not names:
        raise ModelError(f"by is empty; name at least one of {', '.join(steps.known)}")
    sizes = {name: steps.size(name) for name in names}
    if isinstance(by, Mapping):
        directions = {name: _columns(steps, name, by[name], sizes[name]) for name in names}
        widths = {name: value.shape[-1] for name, value in directions.items()}
        if len(set(widths.values())) > 1:
            raise ModelError(f"by has different numbers of directions: {widths}")
        return directions, dict.fromkeys(names, slice(0, next(iter(widths.values()))))
    ends = np.cumsum([0, *sizes.values()]).tolist()
    columns = {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(names)}
    unit = np.eye(ends[-1])
    return {name: unit[columns[name]] for name in names}, columns


def _columns(steps: Run, name: str, given: ArrayLike, size: int) -> Array:
    try:
        value = np.array(given, float)
    except (TypeError, ValueError):
        raise ModelError(f"directions of {name} are {given!r}; expected numbers") from None
    value = value.reshape(-1, 1) if value.ndim < 2 else value
    each = name in steps.controls and value.ndim == 3 and value.shape[0] == len(steps)
    if value.shape[:-1] != ((len(steps), size) if each else (size,)) or not np.isfinite(value).all():
        raise ModelError(f"directions of {name} have shape {value.shape}, expected ({size}, p), all finite")
    return value
