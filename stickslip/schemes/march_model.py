"""Layout of a mechanical model for the compiled march: tables of integers, constants, and users' functions.

Supported are Lagrangian systems and Newton-Euler bodies, rigid relations without separate forces, and laws
without a second phase of impact. Functions that the user has compiled are called directly, others by
callbacks (`callbacks.py`), as are joints and contacts of bodies that are written as functions. Other models
have no layout, and their steps are made one by one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from stickslip.kernels import cones, small_contacts
from stickslip.kernels import march_layout as at
from stickslip.kernels.callables import VALUE, adapter
from stickslip.kernels.march_layout import Cones, Dynamics, Model, Moving, Problem, Ties, Tying, Values, Work
from stickslip.problem.checks import Array, IntArray
from stickslip.schemes.callbacks import Callback, Current
from stickslip.schemes.prepared_system import PreparedSystem
from stickslip.systems.body_outputs import BodyOutput
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.mechanical_outputs import Holonomic, Linear
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_relations import AbovePlane, Contact, Spheres
from stickslip.systems.quantities import MOTION, OUTPUT, UNIFORM, Quantity
from stickslip.systems.system import Bound, NonsmoothSystem

LARGEST = 100
"""Largest number of velocities of a system, and of components of all interactions: W and M are dense
(heuristic)."""
ROOM = 12
"""Least size of the workspaces that contacts of bodies use."""


class _Unsupported(Exception):  # noqa: N818
    """The march does not support the model."""


@dataclass(frozen=True, eq=False)
class Layout:
    """Arrays of a model for the kernels of the march."""

    model: Model
    """The arrays."""
    kept: tuple[Any, ...]
    """Adapters behind the addresses in the model, kept alive with it."""
    current: Current
    """Interrupts of the march in progress, for adapters that call Python."""

    @staticmethod
    def of(prepared: PreparedSystem, h: float, impacts: bool = True) -> "Layout | None":
        """Return the layout of a system for steps of h [s], with or without impacts; None for unsupported
        systems."""
        try:
            return _layout(prepared.system, h, impacts)
        except _Unsupported:
            return None

    def work(self, system: NonsmoothSystem) -> Work:
        """Return workspaces of the kernels."""
        systems, ties, size = self.model.dynamics.systems, self.model.ties.table, system.size
        ns, nq, nv = len(system.systems), system.q0.size, system.v0.size
        widths = (np.diff(table[:, k : k + 2]) for table, k in ((systems, at.X0), (ties, at.Q0)))
        widest = max(int(width.max(initial=0)) for width in widths)
        entries = int((np.diff(systems[:, [at.V0, at.V1]]) ** 2).sum())
        rows = int((np.diff(ties[:, [at.C0, at.C1]]) * np.diff(ties[:, [at.U0, at.U1]])).sum())
        blocks = max(size, self.model.cones.group_size.size) + 1
        spare = np.zeros(max(widest, size, 3) * max(widest, 3))
        return Work(
            Moving(
                np.zeros((at.V_ROWS, max(nq, nv, 1))), np.zeros((at.M_ROWS, entries)), np.zeros(nv, np.int64),
                np.zeros(ns, np.bool_), spare, np.zeros(max(3 * widest, ROOM)),
            ),
            Tying(
                np.zeros((at.C_ROWS, size)), np.zeros(rows), np.zeros(rows),
                np.zeros((4, max(widest, size, system.z0.size, ROOM))), spare,
            ),
            Problem(
                np.zeros((2, size), np.int64), np.zeros((4, blocks), np.int64), np.zeros((6, blocks)),
                np.zeros(size * size), np.zeros(small_contacts.REPORT),
            ),
            np.zeros(ns, np.int64), np.zeros(2, np.int64),
        )  # fmt: skip

    def stopped_by(self, flag: IntArray) -> Model:
        """Return the model with a flag that stops its functions and steps (`kernels/callables.py`) [-], shape
        (2,)."""
        values = self.model.dynamics.values._replace(stop=flag)
        dynamics, ties = self.model.dynamics._replace(values=values), self.model.ties._replace(values=values)
        return self.model._replace(dynamics=dynamics, ties=ties)


class _Book:
    """Collects the constants and functions of a model."""

    def __init__(self) -> None:
        self.constants: list[Array] = []
        self.size = 0
        self.kept: list[Any] = []
        self.current = Current()

    def constant(self, value: Any) -> int:
        """Add `value`, and return its index among the constants."""
        flat = np.ascontiguousarray(value, float).reshape(-1)
        self.constants.append(flat)
        self.size += flat.size
        return self.size - flat.size

    def quantity(
        self, one: Quantity | None, sizes: tuple[int, int, int], arguments: tuple[str, ...]
    ) -> tuple[int, int]:
        """Add a quantity: (address, 0) of a function, (0, index) of a constant, (0, -1) of None."""
        if one is None:
            return 0, -1
        if one.constant is not None:
            return 0, self.constant(one.constant)
        of, which = (one, VALUE) if one.difference_of is None else one.difference_of
        function = None
        if of.compiled is not None:
            uniform = UNIFORM[tuple(a in of.wanted for a in arguments)]
            function = adapter(of.compiled, uniform, sizes, of.shape, which)
        if function is None:
            takes = tuple(a in one.wanted or not one.wanted for a in arguments[1:])
            function = Callback(one, sizes, takes, self.current)
        self.kept.append(function)
        return int(function.address), 0


def _layout(system: NonsmoothSystem, h: float, impacts: bool) -> Layout:
    """Return the layout of a system; raise `_Unsupported` for unsupported systems."""
    book = _Book()
    if system.size > LARGEST or not _is_supported(system, impacts):
        raise _Unsupported
    rows: list[list[int]] = []
    terms: list[list[int]] = []
    slopes: list[list[int]] = []
    matrix = 0
    # 1. Systems: sizes, masses, terms of the forces and their derivatives.
    for body, place in zip(system.systems, system.places, strict=True):
        assert isinstance(body, Lagrangian | NewtonEuler)
        sizes = _length(place.q), _length(place.v), _length(place.z)
        n = sizes[1]
        if n > LARGEST:
            raise _Unsupported
        first_term, first_slope = len(terms), len(slopes)
        turning = isinstance(body, NewtonEuler)
        new = _wrench(book, body, sizes) if isinstance(body, NewtonEuler) else _forces(book, body, sizes)
        terms += new[0]
        slopes += new[1]
        mass = (
            (0, book.constant(body.M))
            if isinstance(body, NewtonEuler)
            else book.quantity(body.M, (n, 0, sizes[2]), MOTION)
        )
        update = book.quantity(body.z_update, sizes, MOTION)
        if body.z_update is not None and not update[0]:
            raise _Unsupported
        rows.append([
            place.q.start, place.q.stop, place.v.start, place.v.stop, place.z.start, place.z.stop,
            at.POSE if turning else at.VELOCITY, *mass, update[0],
            first_term, len(terms), first_slope, len(slopes), matrix,
        ])  # fmt: skip
        matrix += n * n
    # 2. Interactions.
    index: list[int] = []
    tied: list[int] = []
    room = 0
    ties = []
    for one in system.interactions:
        ties.append(_tie(book, one, index, tied, room))
        room += one.law.size * (ties[-1][at.U1] - ties[-1][at.U0])
    # 3. The arrays of the kernels.
    constants = np.concatenate([*book.constants, np.zeros(1)])
    values, systems = Values(constants, np.zeros(2, np.int64)), _table(rows, at.SYSTEM_COLUMNS)
    cones_ = Cones(*_blocks(system, h))
    model = Model(
        Dynamics(systems, _table(terms, at.TERM_COLUMNS), _table(slopes, at.SLOPE_COLUMNS), values),
        Ties(
            _table(ties, at.TIE_COLUMNS), np.array(tied, np.int64), np.array(index, np.int64), cones_.blocks,
            systems, values,
        ),
        cones_,
    )  # fmt: skip
    return Layout(model, tuple(book.kept), book.current)


def _is_supported(system: NonsmoothSystem, impacts: bool) -> bool:
    """Whether the march supports systems, relations and laws."""
    return all(_is_supported_body(body) for body in system.systems) and all(
        (type(one.output) in (Holonomic, Linear) or isinstance(one.output, BodyOutput))
        and not one.mechanical.compliant
        and (not impacts or (one.law.impact in ("", "newton") and not one.law.has_own_bias))
        for one in system.interactions
    )


def _is_supported_body(body: object) -> bool:
    """Whether the march supports a system; not those with a spin in the inertial frame."""
    inertial = isinstance(body, NewtonEuler) and body.inertial
    return type(body) in (Lagrangian, LagrangianLinear, NewtonEuler) and not inertial


Rows = tuple[list[list[int]], list[list[int]]]
"""Terms of the forces of a system, and terms of their derivatives."""


def _forces(book: _Book, body: Lagrangian, sizes: tuple[int, int, int]) -> Rows:
    """Return the terms of F = F_ext - F_int - N + T u."""
    if isinstance(body, LagrangianLinear):
        quantities: tuple[tuple[int, Quantity | None], ...] = ((1, body.F_ext), (1, body.input))
    else:
        quantities = ((1, body.F_ext), (-1, body.F_int), (-1, body.N), (1, body.input))
    terms = [
        [at.GIVEN, sign, *book.quantity(one, sizes, MOTION)] for sign, one in quantities if one is not None
    ]
    if isinstance(body, LagrangianLinear):
        for kind, matrix in ((at.TIMES_V, body.C), (at.TIMES_Q, body.K)):
            if matrix.any():
                terms.append([kind, -1, 0, book.constant(matrix)])
    slopes = [
        [at.GIVEN, which, 1 if of == "T u" else -1, *book.quantity(one, sizes, MOTION)]
        for (of, which), one in body.jacobians.items()
    ]
    return terms, slopes


def _wrench(book: _Book, body: NewtonEuler, sizes: tuple[int, int, int]) -> Rows:
    """Return the terms of force and moment in the frames of v, minus Ω × I Ω, C v and K q."""
    inertia = book.constant(body.inertia)
    terms, slopes = [[at.GYRATION, -1, 0, inertia]], [[at.GYRATION, at.BY_V, -1, 0, inertia]]
    for key, one, turned, kind, turn in (
        ("force", body.force_given, body.force_in_body, at.FORCE, at.TURN_OF_FORCE),
        ("moment", body.moment_given, not body.moment_in_body, at.MOMENT, at.TURN_OF_MOMENT),
    ):
        if one is None:
            continue
        where = book.quantity(one, sizes, MOTION)
        terms.append([kind + turned, 1, *where])  # kind + 1 is the rotated kind
        if turned:
            slopes.append([turn, at.BY_Q, 1, *where])
        for which in (at.BY_Q, at.BY_V):
            if (key, which) in body.jacobians:
                jacobian = book.quantity(body.jacobians[key, which], sizes, MOTION)
                slopes.append([kind + turned, which, 1, *jacobian])
    for kind, which, matrix in ((at.TIMES_V, at.BY_V, body.C), (at.TIMES_Q, at.BY_Q, body.K)):
        if matrix is not None:
            start = book.constant(matrix)
            terms.append([kind, -1, 0, start])
            slopes.append([at.GIVEN, which, -1, 0, start])
    return terms, slopes


def _tie(book: _Book, one: Bound, index: list[int], tied: list[int], room: int) -> list[int]:
    """Return the row of an interaction, and append its lists to `index` and `tied`."""
    output, law = one.output, one.law
    lists = [_listed(where) for where in (one.q, one.v, one.z)]
    sizes = (len(lists[0]), law.size, len(lists[2]))
    row: list[int] = []
    for listed in lists:
        row += [len(index), len(index) + len(listed)]
        index += listed
    row += [len(tied), len(tied) + len(one.systems)]
    tied += one.systems
    row += [one.components.start, one.components.stop, one.blocks.start, one.blocks.stop]
    with_time = int(any("t" in quantity.wanted for quantity in output.quantities))
    by = at.BY_V if sizes[0] == len(lists[1]) else at.BY_Q
    if isinstance(output, Linear):
        C, e, F = (output.matrices.get(name) for name in ("C", "e", "F"))
        C_at, e_at, F_at = (-1 if value is None else book.constant(value) for value in (C, e, F))
        return [*row, at.LINEAR, 0, e_at, F_at, 0, C_at, by, 0, -1, 0, room]
    if isinstance(output, BodyOutput):
        return [*row, *_body_form(book, one, output, sizes), with_time, room]
    assert isinstance(output, Holonomic)
    y, rows, drift = (
        book.quantity(quantity, sizes, OUTPUT) for quantity in (output.given, output._dy_dq, output._dy_dt)
    )
    if rows[1] < 0:  # y does not depend on q
        by = at.BY_V
    form = at.GAPS_ONLY if output.gaps_only else at.WRITTEN
    return [*row, form, *y, -1, *rows, by, *drift, with_time, room]


def _body_form(book: _Book, one: Bound, output: BodyOutput, sizes: tuple[int, int, int]) -> list[int]:
    """Return the quantities of a contact or joint of bodies: in closed form, or by callbacks."""
    geometry = output.geometry if isinstance(output, Contact) else None
    if isinstance(geometry, AbovePlane | Spheres):
        form = at.PLANE if isinstance(geometry, AbovePlane) else at.SPHERES
        return [form, 0, book.constant(geometry.numbers), -1, 0, -1, at.BY_V, 0, -1]
    owner, m = output.to.owner, output.m
    y = Quantity(owner, "y", (m,), output.y)
    rows = Quantity(owner, "rows", (m, output.to.nv), output.rows)
    moves = output.drift(0.0, output.to.q0, np.zeros(m), output.to.z0) is not None
    drift = Quantity(owner, "drift", (m,), output.drift) if moves else None
    entries = [book.quantity(quantity, sizes, OUTPUT) for quantity in (y, rows, drift)]
    return [at.WRITTEN, *entries[0], -1, *entries[1], at.BY_V, *entries[2]]


def _blocks(system: NonsmoothSystem, h: float) -> tuple[IntArray, Array, IntArray, Array]:
    """Return kinds, bounds of the impulses over h, restitution and friction of all blocks."""
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
    """Return the indices of a slice or an array as a list."""
    if isinstance(where, slice):
        return list(range(where.start, where.stop))
    return [int(k) for k in where]


def _length(part: slice) -> int:
    """Return the length of a slice."""
    return int(part.stop - part.start)


def _table(rows: Sequence[Sequence[int]], columns: int) -> IntArray:
    """Return rows of integers as an array, shape (rows, columns)."""
    return np.array(rows, np.int64).reshape(-1, columns)
