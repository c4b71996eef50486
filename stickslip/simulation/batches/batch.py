"""Batches: many simulations of one structure on threads; the first axis of all arrays is that of members."""

from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from numbers import Integral
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from stickslip.interrupts import Interrupts
from stickslip.names import LISTED, alternatives
from stickslip.robots.robot import Robot
from stickslip.simulation.batches.member import NEVER, How, Member, carry_together
from stickslip.simulation.batches.models import GROUP, TASKS, TOGETHER, Models, rows_of
from stickslip.simulation.checkpoint import Checkpoint
from stickslip.simulation.steppers import start_of
from stickslip.state import Array, IntArray, ModelError, State, UnknownNameError
from stickslip.threads import Team, allowed_threads, checked_number

MOST = 2**20
"""Largest number of members of a batch."""


@dataclass(frozen=True, eq=False, slots=True)
class BatchState:
    """States of the members of a batch; row k of every array belongs to member k."""

    t: Array
    """Times [s], shape (n,)."""
    q: Array
    """Coordinates, as `State.q` [m, rad, or any], shape (n, nq)."""
    v: Array
    """Velocities, as `State.v` [m/s, rad/s], shape (n, nv)."""
    z: Array
    """Discrete parameters; of robots activations, controls and mocap poses [any], shape (n, nz)."""

    def __len__(self) -> int:
        return self.t.size

    def __getitem__(self, k: int) -> State:
        """Return the state of member k."""
        return State(float(self.t[k]), self.q[k], self.v[k], self.z[k])


class Batch:
    """n simulations of one structure; see `stickslip.Batch`, which accepts names of solvers."""

    def __init__(
        self, model: Any, n: int, *, how: How, threads: int | None = None, start: Any = None,
        parameters: dict[str, ArrayLike] | None = None, seed: int | None = None,
    ):  # fmt: skip
        self.model, self.n = model, _count(n, "members", MOST)
        self.threads = allowed_threads() if threads is None else checked_number(threads)
        """Largest number of threads."""
        self._how, self._models = how, Models(model, self.n)
        self._group = max(1, min(TOGETHER if isinstance(model, Robot) else GROUP, -(-self.n // TASKS)))
        self._starts = self._each(range(self.n), start)
        self._models.give(range(self.n), parameters or {})
        self._members: list[Member] = []
        for k in range(self.n):
            self._members.append(self._made(k))
        if how.compiled_only and not self._members[0].is_compiled:
            raise ModelError("compiled_only: steps of this model are not made in compiled code")
        self._seed = _seed(seed)
        self._random: tuple[np.random.Generator, ...] = ()

    def _made(self, k: int) -> Member:
        """Return member k at its start."""
        is_named = k > 0 or self._starts[k] is not None or self._models.numbers[k]
        with _of_member(k) if is_named else nullcontext():
            return Member(self._prepared(k), self._how, self._starts[k], k // self._group)

    def _prepared(self, k: int) -> Any:
        """Return the prepared model of member k, which shares data with that of the first member of its
        group."""
        first = 0 if isinstance(self.model, Robot) else k - k % self._group
        like = self._members[first].prepared if first < min(k, len(self._members)) else None
        return self._models.prepared(k, first, like)

    # 1. Current state.

    def __len__(self) -> int:
        return self.n

    @property
    def state(self) -> BatchState:
        """States of all members, as copies."""
        states = [one.state for one in self._members]
        t = np.array([one.t for one in states])
        return BatchState(t, *(_stacked(list(map(attrgetter(name), states))) for name in "qvz"))

    @property
    def t(self) -> Array:
        """Times reached [s], shape (n,)."""
        return np.array([one.state.t for one in self._members])

    @property
    def steps(self) -> IntArray:
        """Number of steps of each member since the origin of its clock [-], shape (n,)."""
        return np.array([one.index for one in self._members])

    @property
    def residual(self) -> Array:
        """Largest unit-free natural residual of each member's last step [-], by the judge, shape (n,)."""
        return np.array([one.residual for one in self._members])

    @property
    def worst(self) -> Array:
        """Largest residual of all steps of each member since its last reset [-], shape (n,)."""
        return np.array([one.worst for one in self._members])

    @property
    def status(self) -> IntArray:
        """Status of each member, a number of `MemberStatus`, 0 if it is not held [-], shape (n,)."""
        return np.array([int(one.status) for one in self._members])

    @property
    def reasons(self) -> dict[int, str]:
        """Reasons why members are held, by number."""
        return {k: one.reason for k, one in enumerate(self._members) if not one.is_going}

    @property
    def inputs(self) -> "BatchInputs":
        """Inputs by name, which can be set between steps: arrays with one row per member, or one value for
        all."""
        return BatchInputs(self._members)

    @property
    def controls(self) -> Array:
        """Controls of all actuators of robots [any], shape (n, nu); they can be set."""
        return np.stack([one.data().ctrl for one in self._robots()])

    @controls.setter
    def controls(self, values: ArrayLike) -> None:
        members = self._robots()
        rows = rows_of("controls", values, self.n, (members[0].prepared.model.nu,))
        for one, row in zip(members, rows, strict=True):
            one.data().ctrl[:] = row

    @property
    def data(self) -> tuple[Any, ...]:
        """MuJoCo's data of each robot at its current state. As in `Live.data`, controls, applied forces and
        poses of mocap bodies may be written between steps."""
        return tuple(one.data() for one in self._robots())

    @property
    def random(self) -> tuple[np.random.Generator, ...]:
        """One random number generator per member, spawned from the seed of the batch."""
        if self._seed is None:
            raise ModelError("the batch has no random numbers: give Batch(..., seed=...)")
        if not self._random:
            spawned = np.random.SeedSequence(self._seed).spawn(self.n)
            self._random = tuple(map(np.random.default_rng, spawned))
        return self._random

    @property
    def parameters(self) -> dict[str, Array]:
        """Parameters that differ from the model in some member, by name [any], shape (n, ...)."""
        default, numbers = self._models.default, self._models.numbers
        names = [name for name in default if any(name in member for member in numbers)]
        return {name: np.stack([member.get(name, default[name]) for member in numbers]) for name in names}

    def model_of(self, k: int) -> Any:
        """Return the model of member k, for a separate run."""
        return self._models.made(self._checked([k])[0])

    def checkpoint(self, k: int) -> Checkpoint:
        """Return the checkpoint of member k: `ss.live(batch.model_of(k), start=batch.checkpoint(k))`
        continues it as a separate run."""
        return self._members[self._checked([k])[0]].checkpoint()

    # 2. Stepping.

    def step(self, n: int = 1) -> BatchState:
        """Make n steps of every member that is not held, and return the states at their ends.

        After an interrupt every member is at the end of a step, but not all at the same step.
        """
        steps = _count(n, "steps", NEVER)
        going = [one for one in self._members if one.is_going]
        for one in going:
            one.goal = one.index + steps
        with Interrupts() as interrupts, Team(self.threads) as team:
            team.run([partial(carry_together, group, interrupts) for group in self._groups(going)])
            carry_together([one for one in going if not one.is_free], interrupts)
        return self.state

    def _groups(self, members: Iterable[Member]) -> list[list[Member]]:
        """Return the members that threads can advance, in groups that share a workspace."""
        free = (one for one in members if one.is_free)
        return [list(group) for _, group in groupby(free, attrgetter("group"))]

    def reset(
        self, members: Sequence[int] | ArrayLike | None = None, start: Any = None, *,
        q: ArrayLike | None = None, v: ArrayLike | None = None, z: ArrayLike | None = None,
        parameters: dict[str, ArrayLike] | None = None,
    ) -> None:  # fmt: skip
        """Restart members, by default all; members that were held continue.

        start       a State or a Checkpoint for all of them, one for each, or a `BatchState`; default: their
                    first start
        q, v, z     values that replace those of the start, one row for each of them or one for all
        parameters  new parameters; the others keep their values
        """
        # 1. Check everything, and prepare the new starts.
        chosen = self._checked(range(self.n) if members is None else members)
        starts = self._each(chosen, start) if start is not None else [self._starts[k] for k in chosen]
        rows = {
            name: rows_of(name, value, len(chosen), getattr(self._members[0].state, name).shape)
            for name, value in (("q", q), ("v", v), ("z", z)) if value is not None
        }  # fmt: skip
        before = {k: dict(self._models.numbers[k]) for k in chosen}
        try:
            self._models.give(chosen, parameters or {})
            begun = [
                self._begun(k, begin, {name: value[i] for name, value in rows.items()}, bool(parameters))
                for i, (k, begin) in enumerate(zip(chosen, starts, strict=True))
            ]
        except BaseException:
            for k, numbers in before.items():
                self._models.numbers[k] = numbers
            raise
        # 2. Restart.
        for k, arguments in zip(chosen, begun, strict=True):
            self._members[k].begin(*arguments)

    def _begun(self, k: int, start: Any, arrays: dict[str, Array], anew: bool) -> tuple[Any, Any]:
        """Return the arguments of `Member.begin` for member k. arrays: values that replace those of its
        start; anew: whether its model has changed."""
        member = self._members[k]
        with _of_member(k):
            prepared = self._prepared(k) if anew else member.prepared
            if arrays:
                base = start_of(prepared) if start is None else getattr(start, "state", start)
                start = State(base.t, *(arrays.get(name, getattr(base, name)) for name in "qvz"))
            return prepared, member.begun(prepared, start)

    def _each(self, members: Sequence[int], start: Any) -> list[Any]:
        """Return a list of starts, one for each of some members."""
        if start is None or isinstance(start, State | Checkpoint):
            return [start] * len(members)
        if not isinstance(start, BatchState | list | tuple):
            raise ModelError(
                f"start is {type(start).__name__}; expected a State, a Checkpoint, one for each member, or a"
                " BatchState"
            )
        if len(start) != len(members):
            raise ModelError(f"start has {len(start)} entries; expected one for each of {len(members)}")
        return [start[k] for k in range(len(members))]

    def _checked(self, members: Any) -> list[int]:
        """Return checked numbers of members, from numbers or a mask."""
        numbers = np.atleast_1d(np.asarray(members))
        if numbers.dtype == bool and numbers.shape == (self.n,):
            numbers = np.flatnonzero(numbers)
        if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind not in "iu"):
            raise ModelError(
                f"members is {members!r}; expected numbers of members, or a mask of shape ({self.n},)"
            )
        chosen = [int(k) for k in numbers]
        for k in chosen:
            if not 0 <= k < self.n:
                raise ModelError(f"no member {k}; there are {self.n}, counted from 0")
        if len(set(chosen)) < len(chosen):
            k = next(k for k in chosen if chosen.count(k) > 1)
            raise ModelError(f"member {k} is given twice")
        return chosen

    def _robots(self) -> list[Member]:
        """Return the members, which must be robots."""
        if not isinstance(self.model, Robot):
            raise AttributeError("controls and data are of robots: this is another kind of model")
        return self._members

    def __repr__(self) -> str:
        held = sum(not one.is_going for one in self._members)
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        return f"Batch of {self.n} on {threads}, t = {self.t.max():.6g} s, {held} held"


class BatchInputs(MutableMapping[str, Any]):
    """Inputs of the members of a batch, by name: arrays whose row k belongs to member k."""

    def __init__(self, members: Sequence[Member]):
        self._members = members

    def __getitem__(self, name: str) -> Array:
        known = [one.inputs for one in self._members]
        if name not in known[0]:
            raise UnknownNameError(
                f"unknown input {name!r}; {alternatives(name, tuple(known[0]), most=LISTED)}"
                if known[0]
                else f"unknown input {name!r}; this model has none"
            )
        return np.array([one[name] for one in known])

    def __setitem__(self, name: str, value: ArrayLike) -> None:
        n, inputs = len(self._members), self._members[0].inputs
        shape = np.shape(inputs[name]) if name in inputs else np.shape(value)[1:]
        for one, row in zip(self._members, rows_of(f"input {name!r}", value, n, shape), strict=True):
            one.set_inputs({name: row})

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"input {name!r} cannot be removed; set it to another value")

    def __iter__(self) -> Iterator[str]:
        return iter(self._members[0].inputs)

    def __len__(self) -> int:
        return len(self._members[0].inputs)

    def __repr__(self) -> str:
        return repr(dict(self))


@contextmanager
def _of_member(k: int) -> Iterator[None]:
    """Name the member in errors of the model that are raised in the `with` block."""
    try:
        yield
    except ModelError as error:
        message, name = str(error), f"member {k}: "
        raise ModelError(message if message.startswith(name) else name + message) from None


def _count(n: Any, label: str, most: int) -> int:
    """Return a checked number of members or steps."""
    if not isinstance(n, Integral) or isinstance(n, bool) or not 1 <= int(n) <= most:
        raise ModelError(f"n is {n!r}; how many {label} is a whole number from 1 to {most}")
    return int(n)


def _seed(seed: Any) -> int | None:
    """The seed of random numbers, checked."""
    if seed is None:
        return None
    if not isinstance(seed, Integral) or isinstance(seed, bool) or seed < 0:
        raise ModelError(f"seed is {seed!r}; it must be a whole number >= 0")
    return int(seed)


def _stacked(rows: Sequence[Array]) -> Array:
    """Return rows of equal length as a matrix."""
    # np.concatenate is several times faster than np.stack for many small arrays.
    return np.concatenate(rows).reshape(len(rows), -1)
