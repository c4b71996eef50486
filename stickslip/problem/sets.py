"""Product set K = K_1 x ... x K_nb of the impulses.

Four kinds of block, which can be combined in one problem:

- free:        r in R^k, so u = 0 (a bilateral constraint, solved as one block);
- nonnegative: r >= 0 (frictionless contact);
- interval:    lower <= r <= upper (relay, dry joint friction);
- friction:    r = (r_N, r_1, ..., r_p) with |r_k| <= mu_k r_N for every group k of components.

Coulomb friction in 2D (groups of sizes 1) and 3D (2), rolling friction (2, 2) and torsional
friction (2, 1) are cases of the last one: the general cone of the
conclusion of Nguyen 2021.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.kernels import cones
from stickslip.problem.checks import Array, IntArray, ProblemError, count, flat, floats, frozen, not_negative
from stickslip.state import BoolArray

FAMILIES = {(1,): "coulomb2d", (2,): "coulomb3d", (2, 2): "rolling", (2, 1): "torsional"}
"""Names of the friction cones by the sizes of their groups; others are `friction`."""

KINDS = ("free", "nonnegative", "interval", "coulomb2d", "coulomb3d", "rolling", "torsional", "friction")
"""All kinds of block; solvers declare those that they accept."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a product set, as returned by indexing."""

    kind: str
    """One of `KINDS`."""
    size: int
    """Number of components."""
    groups: tuple[int, ...] = ()
    """Sizes of the groups of a friction cone, in order."""
    coefficients: tuple[float, ...] = ()
    """Friction coefficient of each group [- for sliding, m for rolling and torsion]."""
    lower: float = -np.inf
    """Lower bound of a one-component block."""
    upper: float = np.inf
    """Upper bound of a one-component block."""


@dataclass(frozen=True, eq=False)
class ProductSet:
    """Product set K of the blocks of a problem, as arrays. Build it with `coulomb`, `rolling`, ... and join
    with `+`.

    Example:

        K = ss.coulomb([0.5, 0.3]) + ss.problem.free(6)
        print(K)
    """

    kind: IntArray
    """Kind of each block [-], shape (nb,): 0 free, 1 nonnegative, 2 interval, 3 friction."""
    offset: IntArray
    """First component of each block, and the total at the end [-], shape (nb + 1,)."""
    lower: Array
    """Lower bound of each block [N s], shape (nb,); 0 for the normal of a friction cone."""
    upper: Array
    """Upper bound of each block [N s], shape (nb,)."""
    group_offset: IntArray
    """First group of each block, and the total at the end [-], shape (nb + 1,)."""
    group_size: IntArray
    """Number of components of each group [-], shape (ng,)."""
    coefficient: Array
    """Friction coefficient of each group [-, or m for rolling and torsion], shape (ng,)."""

    def __post_init__(self) -> None:
        for array in self.arrays:
            frozen(array)

    @classmethod
    def coulomb_unchecked(cls, *arrays: IntArray | Array) -> "ProductSet":
        """Return 3D Coulomb contacts from read-only arrays without checks, for internal data."""
        K = object.__new__(cls)
        count = arrays[0].shape[0]
        K.__dict__.update(zip(cls.__dataclass_fields__, arrays, strict=True))
        K.__dict__.update(arrays=cones.Cones(*arrays), family=(2,), size=3 * count, dimension=3)
        return K

    def __len__(self) -> int:
        return self.kind.shape[0]

    def __getitem__(self, i: int) -> Block:
        if not -len(self) <= i < len(self):
            raise IndexError(f"block {i} of a product set of {len(self)} blocks")
        i %= len(self)
        groups, size = self.groups(i), int(self.offset[i + 1] - self.offset[i])
        mu = self.coefficient[self.group_offset[i] : self.group_offset[i + 1]]
        return Block(
            self.kind_name(i), size, groups, tuple(map(float, mu)), float(self.lower[i]), float(self.upper[i])
        )

    def __iter__(self) -> Iterator[Block]:
        return (self[i] for i in range(len(self)))

    def __add__(self, other: "ProductSet") -> "ProductSet":
        if not isinstance(other, ProductSet):
            return NotImplemented
        return ProductSet(
            np.concatenate([self.kind, other.kind]),
            np.concatenate([self.offset, self.size + other.offset[1:]]),
            np.concatenate([self.lower, other.lower]),
            np.concatenate([self.upper, other.upper]),
            np.concatenate([self.group_offset, self.group_offset[-1] + other.group_offset[1:]]),
            np.concatenate([self.group_size, other.group_size]),
            np.concatenate([self.coefficient, other.coefficient]),
        )

    def __repr__(self) -> str:
        parts = [f"{count} {name}" for name, count in self.census.items()]
        return f"ProductSet({', '.join(parts) or 'empty'}; {self.size} components)"

    @cached_property
    def size(self) -> int:
        """Number of components of r."""
        return int(self.offset[-1])

    @cached_property
    def owner(self) -> IntArray:
        """Block of each component [-], shape (n,)."""
        return frozen(self.spread(np.arange(len(self))))

    @cached_property
    def group_owner(self) -> IntArray:
        """Block of each group [-], shape (ng,)."""
        return frozen(np.repeat(np.arange(len(self)), np.diff(self.group_offset)))

    @cached_property
    def bilateral(self) -> BoolArray:
        """Whether each component belongs to a free block [-], shape (n,), bool."""
        return frozen(self.spread(self.kind == cones.FREE))

    def spread(self, each: Any) -> Any:
        """Return values of blocks repeated for each component, along the first axis."""
        return np.repeat(each, np.diff(self.offset))

    def groups(self, i: int) -> tuple[int, ...]:
        """Return the sizes of the groups of block `i`; empty unless it is a friction cone."""
        return tuple(map(int, self.group_size[self.group_offset[i] : self.group_offset[i + 1]]))

    def kind_name(self, i: int) -> str:
        """Return the kind of block `i`, one of `KINDS`."""
        if self.kind[i] != cones.FRICTION:
            return KINDS[self.kind[i]]
        return FAMILIES.get(self.groups(i), "friction")

    @cached_property
    def census(self) -> dict[str, int]:
        """Return the number of blocks of each kind."""
        if self.family is not None and len(self):
            return {FAMILIES.get(self.family, "friction"): len(self)}
        counts = {KINDS[kind]: int((self.kind == kind).sum()) for kind in range(cones.FRICTION)}
        for groups, blocks in self.families().items():
            name = FAMILIES.get(groups, "friction")
            if groups:
                counts[name] = counts.get(name, 0) + blocks.size
        return {name: counts[name] for name in KINDS if counts.get(name)}

    def families(self) -> dict[tuple[int, ...], IntArray]:
        """Return the blocks by the sizes of their groups, () without friction; shape (count,) each."""
        if self.family is not None:
            return {self.family: np.arange(len(self))}
        by_groups: dict[tuple[int, ...], list[int]] = {}
        start, sizes = self.group_offset.tolist(), self.group_size.tolist()
        for i in range(len(self)):
            by_groups.setdefault(tuple(sizes[start[i] : start[i + 1]]), []).append(i)
        return {groups: np.array(blocks) for groups, blocks in by_groups.items()}

    @cached_property
    def family(self) -> tuple[int, ...] | None:
        """Sizes of the groups if all blocks are friction cones of one family, otherwise None."""
        nb = len(self)
        if nb == 0 or not (self.kind == cones.FRICTION).all():
            return None
        groups = self.groups(0)
        if self.group_size.shape[0] != nb * len(groups):
            return None
        same = (self.group_size.reshape(nb, -1) == groups).all() and (
            np.diff(self.group_offset) == len(groups)
        ).all()
        return groups if same else None

    @cached_property
    def dimension(self) -> int | None:
        """Components per block if all blocks have the same number, otherwise None."""
        sizes = np.diff(self.offset)
        return int(sizes[0]) if len(self) and (sizes == sizes[0]).all() else None

    def friction(self, group: int = 0) -> Array:
        """Return the coefficient of group 0 (sliding), 1 (rolling or torsion), ... of each block.

        [- or m], shape (nb,); 0 for a block that has no such group.
        """
        mu = np.zeros(len(self))
        has = np.diff(self.group_offset) > group
        mu[has] = self.coefficient[self.group_offset[:-1][has] + group]
        return mu

    def rows(self, x: Array) -> Array:
        """Return `x` block by block, shape (nb, d), if every block has d components."""
        if self.dimension is None and len(self):
            raise ProblemError(f"blocks of different sizes cannot be seen as rows: {self!r}")
        return np.reshape(x, (len(self), self.dimension or 0))

    def split(self, x: Array) -> list[Array]:
        """Return `x` as a list of one view per block."""
        return np.split(np.reshape(x, -1), self.offset[1:-1]) if len(self) else []

    def project(self, x: ArrayLike) -> Array:
        """Return the nearest point of K, same shape as `x`."""
        return self._map(cones.project, x)

    def project_dual(self, y: ArrayLike) -> Array:
        """Return the nearest point of the dual K*; for intervals, of the dual of the recession cone."""
        return self._map(cones.project_dual, y)

    def shifted(self, u: ArrayLike) -> Array:
        """Return De Saxcé's velocity u_hat = u + (sum_k mu_k |u_k|) e_N [m/s], same shape as `u`."""
        return self._map(cones.shift, u)

    def contains(self, x: ArrayLike, tolerance: float = 0.0) -> bool:
        """Whether `x` lies in K, up to a distance `tolerance` [N s]."""
        x = flat("x", x, self.size)
        return bool(np.linalg.norm(x - self.project(x)) <= tolerance)

    def _map(self, kernel: object, x: ArrayLike) -> Array:
        x = floats("x", x)
        out = np.empty(self.size)
        kernel(self.arrays, flat("x", x, self.size), out)  # type: ignore[operator]
        return out.reshape(x.shape)

    @cached_property
    def arrays(self) -> cones.Cones:
        """The set as arrays for kernels."""
        return cones.Cones(
            self.kind, self.offset, self.lower, self.upper,
            self.group_offset, self.group_size, self.coefficient,
        )  # fmt: skip


def blocks_of(K: ProductSet, on: IntArray) -> ProductSet:
    """Return the product of the blocks `on` of K, in this order."""
    groups = spans(K.group_offset, on)
    return ProductSet(
        K.kind[on], _running(np.diff(K.offset)[on]), K.lower[on], K.upper[on],
        _running(np.diff(K.group_offset)[on]), K.group_size[groups], K.coefficient[groups],
    )  # fmt: skip


def spans(offset: IntArray, on: IntArray) -> IntArray:
    """Return the entries of the blocks `on`, block by block; offset: start of each block."""
    sizes = np.diff(offset)[on]
    first = _running(sizes)
    return np.arange(first[-1]) + np.repeat(offset[:-1][on] - first[:-1], sizes)


def _running(sizes: IntArray) -> IntArray:
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def free(*sizes: int) -> ProductSet:
    """Return bilateral blocks of the given sizes: `free(6)` is one block of six components."""
    sizes = tuple(count(f"size of free block {i}", size, 1) for i, size in enumerate(sizes))
    nb = len(sizes)
    return _set(cones.FREE, np.asarray(sizes), np.full(nb, -np.inf), np.full(nb, np.inf))


def nonnegative(blocks: int) -> ProductSet:
    """Return `count` blocks r >= 0 of one component each."""
    nb = count("number of nonnegative blocks", blocks, 0)
    return _set(cones.NONNEGATIVE, np.ones(nb), np.zeros(nb), np.full(nb, np.inf))


def interval(lower: ArrayLike, upper: ArrayLike) -> ProductSet:
    """Return blocks lower <= r <= upper of one component each [N s]; bounds may be infinite."""
    low, high = (floats(n, np.atleast_1d(x)) for n, x in (("lower", lower), ("upper", upper)))
    if low.size != high.size and 1 not in (low.size, high.size):
        raise ProblemError(
            f"lower and upper have {low.size} and {high.size} entries, expected as many of each"
        )
    low, high = (x.reshape(-1) for x in np.broadcast_arrays(low.reshape(-1), high.reshape(-1)))
    bad = ~(low <= high) | (low == np.inf) | (high == -np.inf)
    if bad.any():
        i = int(np.flatnonzero(bad)[0])
        raise ProblemError(
            f"interval {i} is [{low[i]}, {high[i]}]; it must hold lower <= upper and a finite point"
        )
    return _set(cones.INTERVAL, np.ones(low.size), low, high)


def coulomb(mu: ArrayLike, dimension: int = 3) -> ProductSet:
    """Return a set of Coulomb contacts (r_N, r_T) with |r_T| <= mu r_N.

    mu         friction coefficients [-], one for each contact
    dimension  3, or 2 for contacts in a plane

    Example:

        K = ss.coulomb([0.5, 0.3])
        print(len(K), K.size)  # 2 contacts, 6 components
    """
    if dimension not in (2, 3):
        raise ProblemError(f"dimension is {dimension}; Coulomb contacts have 2 or 3 components")
    return friction((dimension - 1,), np.reshape(floats("mu", mu), (-1, 1)), ("mu",))


def rolling(mu: ArrayLike, mu_roll: ArrayLike) -> ProductSet:
    """Return contacts (r_N, r_T, r_R) with 5 components, with sliding friction `mu` [-] and rolling
    friction `mu_roll` [m].
    """
    return friction((2, 2), _columns(mu=mu, mu_roll=mu_roll), ("mu", "mu_roll"))


def torsional(mu: ArrayLike, mu_spin: ArrayLike) -> ProductSet:
    """Return contacts (r_N, r_T, r_spin) with 4 components, with sliding `mu` [-] and torsional friction
    `mu_spin` [m].
    """
    return friction((2, 1), _columns(mu=mu, mu_spin=mu_spin), ("mu", "mu_spin"))


def friction(
    groups: Sequence[int], coefficients: ArrayLike, names: Sequence[str] | None = None
) -> ProductSet:
    """Return contacts of any friction family: sizes of groups, and `coefficients` of shape (nc, groups)."""
    if not groups:
        raise ProblemError("groups is empty; a friction cone needs at least one group of components")
    groups = tuple(count(f"size of group {k}", size, 1) for k, size in enumerate(groups))
    table = floats("coefficients", coefficients, (None, len(groups)))
    for k in range(len(groups)):
        not_negative(names[k] if names else f"coefficient of group {k}", table[:, k])
    nc = table.shape[0]
    return _set(
        cones.FRICTION,
        np.full(nc, 1 + sum(groups)),
        np.zeros(nc),
        np.full(nc, np.inf),
        np.tile(np.asarray(groups), nc),
        table.reshape(-1),
        len(groups),
    )


def _columns(**named: ArrayLike) -> Array:
    columns = {name: np.atleast_1d(floats(name, x)).reshape(-1) for name, x in named.items()}
    count = max(c.size for c in columns.values())
    for name, column in columns.items():
        if column.size not in (1, count):
            raise ProblemError(f"{name} has {column.size} entries, expected {count}, one per contact")
    return np.stack([np.broadcast_to(c, count) for c in columns.values()], axis=1)


def _set(
    kind: int,
    sizes: np.ndarray,
    lower: Array,
    upper: Array,
    group_size: np.ndarray | None = None,
    coefficient: Array | None = None,
    groups: int = 0,
) -> ProductSet:
    nb = sizes.shape[0]
    return ProductSet(
        np.full(nb, kind, np.int64),
        np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        np.array(lower, np.float64),
        np.array(upper, np.float64),
        np.arange(nb + 1, dtype=np.int64) * groups,
        np.zeros(0, np.int64) if group_size is None else group_size.astype(np.int64),
        np.zeros(0) if coefficient is None else np.array(coefficient, np.float64),
    )
