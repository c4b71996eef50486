"""Derivatives as linear maps between named arrays: forward, backward, or as a matrix."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from stickslip.names import alternatives
from stickslip.state import Array, ModelError
from stickslip.threads import single_threaded

Shapes = Mapping[str, tuple[int, ...]]


class Derivative(ABC):
    """First-order derivative of output arrays by input arrays: `jvp`, `vjp` and `jacobian`.

    `by` lists the inputs and `of` the outputs, with their shapes. Where the derivative does not exist or is
    not unique, the map is still finite, and `exists` or `unique` is False.
    """

    by: Shapes
    """Inputs: names and shapes."""
    of: Shapes
    """Outputs: names and shapes."""
    exists: bool = True
    """False at a kink; the map is then the derivative of one side."""
    unique: bool = True
    """False if impulses are not unique; their change of least norm is then taken."""
    kappa: float = 0.0
    """Smoothing parameter; 0 for the exact derivative."""
    notes: tuple[str, ...] = ()
    """Sentences about kinks, and about quantities that are not unique."""

    @abstractmethod
    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Return the changes of all outputs, each (size, k), for changes of some inputs, each (size, k)."""

    @abstractmethod
    def backward(self, cotangents: Mapping[str, Array], by: Iterable[str]) -> dict[str, Array]:
        """Transpose of `forward`: return weights of the inputs `by`, each (size, k), for weights of some
        outputs, each (size, k)."""

    def jvp(self, **tangents: Any) -> dict[str, Array]:
        """Return the changes of all outputs for given changes of some inputs; shapes as in `of` and `by`."""
        if not tangents:
            raise ModelError(f"jvp needs a change of at least one of {', '.join(self.by)}")
        out = self.forward(
            {name: flat_change("by", self.by, name, value) for name, value in tangents.items()}
        )
        return {name: out[name].reshape(shape) for name, shape in self.of.items()}

    def vjp(self, *, by: Iterable[str] | None = None, **cotangents: Any) -> dict[str, Array]:
        """Return the gradient of the weighted sum of outputs with respect to all inputs, or to those in
        `by`."""
        if not cotangents:
            raise ModelError(f"vjp needs weights of at least one of {', '.join(self.of)}")
        inputs = tuple(self.by) if by is None else (by,) if isinstance(by, str) else tuple(by)
        for name in inputs:
            known("by", self.by, name)
        out = self.backward(
            {name: flat_change("of", self.of, name, value) for name, value in cotangents.items()}, inputs
        )
        return {name: out[name].reshape(self.by[name]) for name in inputs}

    def jacobian(self, of: str, by: str) -> Array:
        """Return the Jacobian, shape (size of `of`, size of `by`), both flattened."""
        known("of", self.of, of)
        known("by", self.by, by)
        rows, columns = size_of(self.of[of]), size_of(self.by[by])
        if not rows or not columns:
            return np.zeros((rows, columns))
        if columns <= rows:
            return self.forward({by: np.eye(columns)})[of]
        return self.backward({of: np.eye(rows)}, (by,))[by].T.copy()

    def __repr__(self) -> str:
        kind = f"smoothed, kappa {self.kappa:g}" if self.kappa else "exact"
        lines = [f"{type(self).__name__} of {', '.join(self.of)} by {', '.join(self.by)} ({kind})"]
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])


class EffectsDerivative(Derivative):
    """Derivative in two stages: inputs change the residuals of some equations ("lines"), and outputs follow
    from the changes of these residuals."""

    @abstractmethod
    def _effects(self, names: Iterable[str]) -> Mapping[str, Any]:
        """Return the derivatives of all lines by these inputs, matrices (lines, size), dense or sparse."""

    @abstractmethod
    def _answered(self, effects: Array) -> dict[str, Array]:
        """Return the changes of all outputs for changes of the lines, shape (lines, k)."""

    @abstractmethod
    def _weighed(self, cotangents: Mapping[str, Array], k: int) -> Array:
        """Transpose of `_answered`: return weights of the lines, shape (lines, k)."""

    @single_threaded
    def forward(self, tangents: Mapping[str, Array]) -> dict[str, Array]:
        """Return the changes of all outputs, each (size, k), for changes of some inputs, each (size, k)."""
        for name in tangents:
            known("by", self.by, name)
        if not tangents:
            return {name: np.zeros((size_of(shape), 0)) for name, shape in self.of.items()}
        matrices = self._effects(tangents)
        return self._answered(np.asarray(sum(matrices[name] @ change for name, change in tangents.items())))

    @single_threaded
    def backward(self, cotangents: Mapping[str, Array], by: Iterable[str]) -> dict[str, Array]:
        """Transpose of `forward`: return weights of the inputs `by`, each (size, k), for weights of some
        outputs, each (size, k)."""
        inputs = tuple(by)
        for side, shapes, names in (("of", self.of, cotangents), ("by", self.by, inputs)):
            for name in names:
                known(side, shapes, name)
        matrices = self._effects(inputs)
        k = max((x.shape[1] for x in cotangents.values()), default=0)
        weighted = {
            name: cotangents.get(name, np.zeros((size_of(shape), k))) for name, shape in self.of.items()
        }
        weights = self._weighed(weighted, k)
        return {name: np.asarray(matrices[name].T @ weights) for name in inputs}


def size_of(shape: tuple[int, ...]) -> int:
    """Number of entries of an array of that shape."""
    return int(np.prod(shape, dtype=int))


def known(side: str, shapes: Shapes, name: str) -> tuple[int, ...]:
    """Return the shape of an input or output (side: "by" or "of"); raise a ModelError for unknown names."""
    if name not in shapes:
        raise ModelError(f"no derivative {side} {name!r}; {alternatives(name, shapes)}")
    return shapes[name]


def flat_change(side: str, shapes: Shapes, name: str, value: Any) -> Array:
    """Return a user's change or weight as one column, shape (size, 1)."""
    shape = known(side, shapes, name)
    try:
        if np.iscomplexobj(value):
            raise TypeError
        numbers = np.array(value, float)
    except (TypeError, ValueError):
        raise ModelError(f"{name} is {type(value).__name__}; expected numbers, shape {shape}") from None
    if numbers.size != size_of(shape):
        raise ModelError(f"{name} has shape {numbers.shape}, expected {shape}")
    if not np.isfinite(numbers).all():
        raise ModelError(f"{name} is not finite")
    return numbers.reshape(-1, 1)
