"""Compare two models bit by bit, without functions."""

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np


def difference(one: Any, other: Any) -> str:
    """Name of the first field in which two models differ, such as `joints.point`; empty if they are equal."""
    return _different(one, other, "", set()).lstrip(".")


def _different(one: Any, other: Any, at: str, seen: set[tuple[int, int]]) -> str:
    if one is other or callable(one) or (id(one), id(other)) in seen:
        return ""
    seen.add((id(one), id(other)))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        ours, theirs = (np.asarray(0.0 if x is None else x) for x in (one, other))
        if one is None or other is None:  # an input without a default is 0
            ours, theirs = np.broadcast_arrays(ours, theirs)
        alike = ours.shape == theirs.shape and ours.astype(float).tobytes() == theirs.astype(float).tobytes()
        return "" if alike else at or "its numbers"
    if type(one) is not type(other):
        return at or "its kind"
    if is_dataclass(one):
        parts = {spec.name: getattr(one, spec.name) for spec in fields(one) if spec.name != "given"}
        return next(
            (w for k, v in parts.items() if (w := _different(v, getattr(other, k), f"{at}.{k}", seen))), ""
        )
    if isinstance(one, dict):
        if list(one) != list(other):
            return at
        return next((w for k, v in one.items() if (w := _different(v, other[k], f"{at}.{k}", seen))), "")
    if isinstance(one, tuple | list):
        if len(one) != len(other):
            return at
        pairs = zip(one, other, strict=True)
        return next((w for k, (a, b) in enumerate(pairs) if (w := _different(a, b, f"{at}[{k}]", seen))), "")
    return "" if one == other else at
