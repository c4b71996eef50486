"""Inputs of a live run by name, which can be set between steps."""

from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from stickslip.simulation.live import Live


class Inputs(MutableMapping[str, Any]):
    """Inputs of a live run, by name."""

    def __init__(self, live: "Live"):
        self._live = live

    def __getitem__(self, name: str) -> Any:
        return self._live._steps.inputs(self._live.state)[name]

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        self._live.set_inputs({name: value})

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"input {name!r} cannot be removed; set it to another value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._live._steps.inputs(self._live.state))

    def __len__(self) -> int:
        return len(self._live._steps.inputs(self._live.state))

    def __repr__(self) -> str:
        return f"Inputs({dict(self)})"
