"""A mechanical model laid out for the compiled march: whole numbers, constants, and users' functions.

Only what the march knows goes in: Lagrangian systems, holonomic and linear relations that do not yield, and
laws without a second phase of impact. Functions that the user compiled are called as they are, others are
called back (`callbacks.py`). For all else there is no layout, and the ordinary step does the work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.kernels import cones
from stickslip.kernels import march_layout as at
from stickslip.kernels.callables import VALUE, adapter
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.callbacks import Callback, Current
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.mechanical_outputs import Holonomic, Linear
from stickslip.systems.quantities import MOTION, OUTPUT, UNIFORM, Quantity
from stickslip.systems.system import Bound, NonsmoothSystem

LARGEST = 100
"""Most velocities of one system, and most components of all interactions: W and M are dense in a march."""


class _Unknown(Exception):  # noqa: N818
    """Something that the march does not know."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A model as the kernels of the march take it."""

    arrays: tuple[Any, ...]
    """Systems, terms, slopes, ties, tied, index, blocks and their numbers, groups, friction, constants."""
    kept: tuple[Any, ...]
    """The adapters behind the addresses, which live as long as this."""
    current: Current
    """Which march is under way, for those of them that call Python."""
    size: int
    """Components of all interactions."""
    groups: int
    """Groups of their friction cones."""

    @staticmethod
    def of(system: NonsmoothSystem, h: float) -> "Layout | None":
        """The layout of `system` for steps of h [s]; None where the march does not know it."""
        try:
            return _layout(system, h)
        except _Unknown:
            return None

    def scratch(self) -> tuple[Any, ...]:
        """Room for one problem: whole numbers, numbers, and W."""
        widest = max(self.size, self.groups) + 1
        return np.zeros((4, widest), np.int64), np.zeros((6, widest)), np.zeros(self.size * self.size)


class Layouts(dict[float, Layout | None]):
    """Layouts of one system by the step length; a copy of the system makes its own."""

    def __deepcopy__(self, memo: object) -> "Layouts":
        return Layouts()

    def __reduce__(self) -> tuple[Any, ...]:
        return Layouts, ()


class _Book:
    """Constants and functions as they come up."""

    def __init__(self) -> None:
        self.constants: list[Array] = []
        self.size = 0
        self.kept: list[Any] = []
        self.current = Current()

    def constant(self, value: Any) -> int:
        """Where `value` begins among the constants."""
        flat = np.ascontiguousarray(value, float).reshape(-1)
        self.constants.append(flat)
        self.size += flat.size
        return self.size - flat.size

    def quantity(
        self, one: Quantity | None, sizes: tuple[int, int, int], arguments: tuple[str, ...]
    ) -> tuple[int, int]:
        """(address, where): of a function and 0, 0 and of a constant, 0 and -1 for none."""
        if one is None:
            return 0, -1
        if one.constant is not None:
            return 0, self.constant(one.constant)
        of, which = (one, VALUE) if one.difference_of is None else one.difference_of
        made = None
        if of.compiled is not None:
            uniform = UNIFORM[tuple(a in of.wanted for a in arguments)]
            made = adapter(of.compiled, uniform, sizes, of.shape, which)
        if made is None:
            made = Callback(one, sizes, self.current)
        self.kept.append(made)
        return int(made.address), 0


def _layout(system: NonsmoothSystem, h: float) -> Layout:
    book = _Book()
    if system.size > LARGEST or not _is_known(system):
        raise _Unknown
    rows: list[list[int]] = []
    terms: list[list[int]] = []
    slopes: list[list[int]] = []
    matrix = 0
    for body, place in zip(system.systems, system.places, strict=True):
        n = place.v.stop - place.v.start
        assert isinstance(body, Lagrangian)
        if n > LARGEST:
            raise _Unknown
        nz = place.z.stop - place.z.start
        first_term, first_slope = len(terms), len(slopes)
        terms += _terms(book, body, n, nz)
        slopes += _slopes(book, body, n, nz)
        mass = book.quantity(body.M, (n, 0, nz), MOTION)
        update = book.quantity(body.z_update, (n, n, nz), MOTION)
        if body.z_update is not None and not update[0]:
            raise _Unknown
        rows.append([
            place.v.start, place.v.stop, place.z.start, place.z.stop, *mass, update[0],
            first_term, len(terms), first_slope, len(slopes), matrix,
        ])  # fmt: skip
        matrix += n * n
    index: list[int] = []
    tied: list[int] = []
    room = 0
    ties = []
    for one in system.interactions:
        ties.append(_tie(book, one, index, tied, room))
        room += one.law.size * (ties[-1][at.Q1] - ties[-1][at.Q0])
    blocks, numbers, group_size, coefficient = _blocks(system, h)
    constants = np.concatenate([*book.constants, np.zeros(1)])
    return Layout(
        (
            _table(rows, at.SYSTEM_COLUMNS), _table(terms, at.TERM_COLUMNS), _table(slopes, at.SLOPE_COLUMNS),
            _table(ties, at.TIE_COLUMNS), np.array(tied, np.int64), np.array(index, np.int64),
            blocks, numbers, group_size, coefficient, constants,
        ),
        tuple(book.kept),
        book.current,
        system.size,
        len(group_size),
    )  # fmt: skip


def _is_known(system: NonsmoothSystem) -> bool:
    """Whether systems, relations and laws are such that the march knows."""
    return all(type(body) in (Lagrangian, LagrangianLinear) for body in system.systems) and all(
        type(one.output) in (Holonomic, Linear)
        and not one.mechanical.compliant
        and one.law.impact in ("", "newton")
        and not one.law.has_own_bias
        for one in system.interactions
    )


def _terms(book: _Book, body: Lagrangian, n: int, nz: int) -> list[list[int]]:
    """F = F_ext - F_int - N + T u, term by term."""
    found = []
    if isinstance(body, LagrangianLinear):
        given: tuple[tuple[int, Quantity | None], ...] = ((1, body.F_ext), (1, body.input))
    else:
        given = ((1, body.F_ext), (-1, body.F_int), (-1, body.N), (1, body.input))
    for sign, one in given:
        if one is not None:
            address, where = book.quantity(one, (n, n, nz), MOTION)
            found.append([at.GIVEN, sign, address, where])
    if isinstance(body, LagrangianLinear):
        for kind, matrix in ((at.TIMES_V, body.C), (at.TIMES_Q, body.K)):
            if matrix.any():
                found.append([kind, -1, 0, book.constant(matrix)])
    return found


def _slopes(book: _Book, body: Lagrangian, n: int, nz: int) -> list[list[int]]:
    """Derivatives of the forces by q and v."""
    return [
        [which, 1 if of == "T u" else -1, *book.quantity(one, (n, n, nz), MOTION)]
        for (of, which), one in body.jacobians.items()
    ]


def _tie(book: _Book, one: Bound, index: list[int], tied: list[int], room: int) -> list[int]:
    """A row of the interactions; what it lists goes into `index` and `tied`."""
    output, law = one.output, one.law
    assert isinstance(output, Holonomic | Linear)
    q, z = _listed(one.q), _listed(one.z)
    sizes = (len(q), law.size, len(z))
    q0 = len(index)
    index += q
    p0 = len(index)
    index += z
    s0 = len(tied)
    tied += one.systems
    row = [
        q0, p0, p0, len(index), s0, len(tied), one.components.start, one.components.stop,
        one.blocks.start, one.blocks.stop,
    ]  # fmt: skip
    if isinstance(output, Linear):
        C, e, F = (output.matrices.get(name) for name in ("C", "e", "F"))
        where = [-1 if value is None else book.constant(value) for value in (C, e, F)]
        return [*row, 0, where[1], 1, where[2], 0, 0, where[0], 0, -1, room]
    y = book.quantity(output.given, sizes, OUTPUT)
    rows = book.quantity(output._dy_dq, sizes, OUTPUT)
    drift = book.quantity(output._dy_dt, sizes, OUTPUT)
    return [*row, *y, 0, -1, int(output.gaps_only), *rows, *drift, room]


def _blocks(system: NonsmoothSystem, h: float) -> tuple[IntArray, Array, IntArray, Array]:
    """Kinds, bounds of the impulses over h, restitution and friction of all blocks."""
    rows: list[list[int]] = []
    numbers: list[list[float]] = []
    sizes: list[int] = []
    coefficients: list[float] = []
    for number, one in enumerate(system.interactions):
        K, start, groups = one.law.impulses(h), one.components.start, len(sizes)
        for i in range(len(K)):
            rows.append([
                int(K.kind[i]), groups + int(K.group_offset[i]), groups + int(K.group_offset[i + 1]), number,
                start + int(K.offset[i]), start + int(K.offset[i + 1]),
            ])  # fmt: skip
            impact = one.law.impact == "newton" and K.kind[i] in (cones.NONNEGATIVE, cones.FRICTION)
            e = float(one.law.restitution[i]) if impact else 0.0
            numbers.append([float(K.lower[i]), float(K.upper[i]), e])
        sizes += K.group_size.tolist()
        coefficients += K.coefficient.tolist()
    return (
        _table(rows, at.BLOCK_COLUMNS), np.array(numbers, float).reshape(-1, at.BLOCK_NUMBERS),
        np.array(sizes, np.int64), np.array(coefficients, float),
    )  # fmt: skip


def _listed(where: Any) -> list[int]:
    if isinstance(where, slice):
        return list(range(where.start, where.stop))
    return [int(k) for k in where]


def _table(rows: Sequence[Sequence[int]], columns: int) -> IntArray:
    return np.array(rows, np.int64).reshape(-1, columns)
