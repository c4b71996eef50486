"""Measures of the runs of a sweep: built-in measures by name, and users' functions.

A measure returns numbers by names with units.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from stickslip.mechanics.world import BodyKind
from stickslip.scenes.scenario import Fact
from stickslip.simulation.model import Model
from stickslip.simulation.trajectory import Trajectory
from stickslip.state import Array, ModelError

MOST = 1000
"""Largest number of measured numbers of one run."""
LONGEST = 200
"""Largest number of characters of the name of a number."""


HOLD = "share of facts that hold [-]"


class Measured(NamedTuple):
    """A run to be measured."""

    run: Trajectory
    facts: Callable[[Any], Sequence[Fact]] | None
    """Function of the known facts of the run; None if there are none."""


def facts(of: Measured) -> dict[str, float]:
    """Measured values of the facts of the scene, and the number of facts that hold."""
    if of.facts is None:
        raise ModelError("facts are measured of scenes; this model has none")
    claims = list(of.facts(of.run))
    return {fact.claim: fact.measured for fact in claims} | {
        HOLD: float(np.mean([fact.ok for fact in claims])) if claims else math.nan
    }


def final(of: Measured) -> dict[str, float]:
    """Coordinates and velocities at the end: of each free body, or of each system."""
    run, numbers = of.run, dict[str, float]()
    if isinstance(run.model, Model):
        for part in run.model.systems:
            view = run.system(part.name)
            for word in ("q", "v", "z"):
                last = getattr(view, word)[-1]
                numbers |= {f"{part.name} {word}{k}": float(x) for k, x in enumerate(last)}
        return numbers
    for k in np.flatnonzero(run.model.kind == BodyKind.DYNAMIC):
        body = run.body(run.model.names[k])
        for word, unit, axes in (
            ("position", "m", "xyz"), ("quaternion", "-", "wxyz"), ("velocity", "m/s", "xyz"),
            ("spin", "rad/s", "xyz"),
        ):  # fmt: skip
            last = getattr(body, word)[-1]
            numbers |= {
                f"{body.name} {word} {axis} [{unit}]": float(x) for axis, x in zip(axes, last, strict=True)
            }
    return numbers


def energy(of: Measured) -> dict[str, float]:
    """Energies at the end, and the loss of their sum."""
    run = of.run
    if isinstance(run.model, Model) and all(part.first_order for part in run.model.systems):
        raise ModelError("systems of first order have no energies")
    kinetic, potential = run.kinetic, run.potential
    return {
        "kinetic energy at the end [J]": float(kinetic[-1]),
        "potential energy at the end [J]": float(potential[-1]),
        "energy lost [J]": float(kinetic[0] + potential[0] - kinetic[-1] - potential[-1]),
    }


def runout(of: Measured) -> dict[str, float]:
    """Horizontal displacement of the free body that ends farthest from its start."""
    start, end = _places(of.run, 0), _places(of.run, -1)
    way = np.linalg.norm((end - start)[:, :2], axis=1)
    return {"runout [m]": float(way.max(initial=0.0))}


def speed(of: Measured) -> dict[str, float]:
    """Largest speed of the centre of a free body at any record, and at the end."""
    run = of.run
    _must_be_bodies(run, "speed")
    free = run.model.kind == BodyKind.DYNAMIC
    v = np.linalg.norm(run.twists.reshape(len(run), -1, 6)[:, free, :3], axis=2)
    return {
        "largest speed [m/s]": float(v.max(initial=0.0)),
        "speed at the end [m/s]": float(v[-1].max(initial=0.0)),
    }


def penetration(of: Measured) -> dict[str, float]:
    """Deepest penetration at the end of any step."""
    return {"penetration [m]": float(np.max(of.run.penetration))}


def usual(of: Measured) -> dict[str, float]:
    """Share of facts that hold, energies and runout, as far as the model has them."""
    values: dict[str, float] = {}
    for measure in (energy, runout, facts):
        try:
            numbers = measure(of)
        except ModelError:
            continue
        values |= numbers if measure is not facts else {HOLD: numbers[HOLD]}
    return values


BUILT_IN: dict[str, Callable[[Measured], dict[str, float]]] = {
    "usual": usual, "facts": facts, "final": final, "energy": energy, "runout": runout, "speed": speed,
    "penetration": penetration,
}  # fmt: skip
"""Measures by name."""


def numbers_of(found: Any, name: str) -> dict[str, float]:
    """Convert the result of a user's function to numbers by name: one number, several by name, or several in
    order."""
    if isinstance(found, Real | np.generic):
        found = {name: found}
    if isinstance(found, list | tuple | np.ndarray):
        found = {f"{name} {k}": value for k, value in enumerate(np.asarray(found).reshape(-1).tolist())}
    if not isinstance(found, Mapping):
        raise ModelError(
            f"the measure {name} gives a {type(found).__name__}; expected a number, or several by name"
        )
    numbers = {}
    for key, value in found.items():
        plain = value.item() if isinstance(value, np.ndarray | np.generic) and value.size == 1 else value
        if not isinstance(plain, Real):
            raise ModelError(f"the measure {name} gives {key} = {str(value)[:80]!r}; expected a number")
        if not isinstance(key, str) or not 0 < len(key) <= LONGEST or not key.isprintable():
            raise ModelError(f"the measure {name} gives a name that is no text of 1 to {LONGEST} letters")
        numbers[key] = float(plain)
    if len(numbers) > MOST:
        raise ModelError(f"the measure {name} gives {len(numbers)} numbers; at most {MOST} are stored")
    return numbers


def _places(run: Trajectory, k: int) -> Array:
    """Positions of the free bodies at a record [m], shape (bodies, 3)."""
    _must_be_bodies(run, "runout")
    return np.asarray(run.poses[k].reshape(-1, 7)[run.model.kind == BodyKind.DYNAMIC, :3])


def _must_be_bodies(run: Trajectory, what: str) -> None:
    if isinstance(run.model, Model):
        raise ModelError(f"{what} is measured of bodies; this is a run of systems")
