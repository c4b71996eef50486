"""Values of the sensors of a world as columns of a run."""

from collections.abc import Sequence

import numpy as np

from stickslip.mechanics.sensors import BoundSensor, Reading
from stickslip.state import Array, ModelError

MOST_AXES = 8
"""Largest number of axes of a sensor's value, as supported by files."""


class SensorRows:
    """Reads the sensors of a world, and checks their values."""

    def __init__(self, sensors: Sequence[BoundSensor]):
        self.sensors = tuple(sensors)
        self._shapes: list[tuple[int, ...]] = []
        """Shapes of the first values."""

    def read(self, reading: Reading) -> tuple[Array, ...]:
        """Return the values of the sensors; raise ModelError if a shape changes or a value is NaN."""
        shown, t = [], reading.state.t
        for k, sensor in enumerate(self.sensors):
            value = sensor.read(reading)
            at = f"sensor {sensor.name!r}: at t = {t:.9g} s"
            if value.ndim > MOST_AXES:
                raise ModelError(f"{at} it shows an array of {value.ndim} axes; files keep {MOST_AXES}")
            if np.isnan(value).any():
                raise ModelError(f"{at} it shows {value}")
            if k == len(self._shapes):
                self._shapes.append(value.shape)
            elif value.shape != self._shapes[k]:
                raise ModelError(f"{at} its shape is {value.shape}; at first it was {self._shapes[k]}")
            shown.append(value)
        return tuple(shown)

    def columns(self, shown: Sequence[Array] | None) -> dict[str, Array]:
        """Return the values of one row by column; shown: None for a step that is not recorded."""
        values = map(np.zeros, self._shapes) if shown is None else shown
        return {f"sensors/{one.name}": value for one, value in zip(self.sensors, values, strict=True)}

    def rows(self, n: int, ends: Sequence[int], shown: Sequence[tuple[Array, ...]]) -> dict[str, Array]:
        """Return the columns of n rows, of which those at `ends` are recorded with the values `shown`."""
        columns = {}
        for i, sensor in enumerate(self.sensors):
            column = columns[f"sensors/{sensor.name}"] = np.zeros((n, *self._shapes[i]))
            if ends:
                column[list(ends)] = [one[i] for one in shown]
        return columns
