"""`Kernel`: a function that Numba compiles, optimised once and kept by content.

It stands on internals of Numba, so it is used with the versions in `TESTED` only. With others, kernels are
Numba's own functions, kept in the same store.
"""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from typing import Any

import llvmlite.binding as llvm
import numba
from numba.core import compiler, event, sigutils, types, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher
from numba.core.runtime import rtsys

from stickslip.compilation import library as libraries
from stickslip.compilation import notice, source, target
from stickslip.compilation import record as records
from stickslip.compilation.library import DeferredLibrary
from stickslip.compilation.packs import shipped
from stickslip.compilation.pipeline import Lowering
from stickslip.compilation.plain import OPTIONS, KernelType, retype
from stickslip.compilation.shortcuts import shortcuts
from stickslip.compilation.store import store, unless_broken

TESTED = ("0.68.",)
"""Versions of Numba with which kernels are optimised once; the whole test suite has passed with them."""
ONCE = numba.__version__.startswith(TESTED)
"""Whether that is so here."""


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """Optimised with all that it calls where Python calls it; only lowered for other kernels."""

    def __init__(
        self, function: Callable[..., Any], *, release_lock: bool = False, inlined: bool = False,
        forward: bool = False,
    ):  # fmt: skip
        """forward: variables among its indices are never negative."""
        super().__init__(function, targetoptions={**OPTIONS, "forceinline": inlined})
        source.note_import(function.__code__.co_filename)
        retype(self)
        self._compiler = Lowering(function, self.targetdescr, self.targetoptions, forward)
        self._release_lock, self._forward = release_lock, forward
        self._lowered: dict[tuple[Any, ...], DeferredLibrary] = {}
        self._writes: dict[tuple[Any, ...], tuple[bool, ...]] = {}
        self.is_emitted = False
        """Whether some signature can be called without compilation."""
        self._type: KernelType | None = None

    @property
    def _numba_type_(self) -> KernelType:
        # Asked for in every call of a kernel that takes this one: made once.
        if self._type is None:
            self._type = KernelType(self)
        return self._type

    def __reduce__(self) -> Any:
        return find, (self.py_func.__module__, self.py_func.__qualname__)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """For typing a call by another function: lowered, not emitted; literals are values like others."""
        pysig, args = self._compiler.fold_argument_types(args, kws)
        args = _without_literals(args)
        with global_compiler_lock, _no_collection():
            self.lower(args)
        name = self.py_func.__name__
        template = typing.make_concrete_template(
            f"CallTemplate({name})", key=name, signatures=[self.overloads[args].signature]
        )
        return template, pysig, args, {}

    def compile(self, sig: Any) -> Any:
        """What Python calls for a signature: from the wheel, the store, or the compiler."""
        given = _without_literals(sigutils.normalize_signature(sig)[0])
        args = tuple(_writable(argument) for argument in given)
        with global_compiler_lock, _no_collection():
            found = self.overloads.get(args)
            if found is not None and not isinstance(found.entry_point, _Lowered):
                point = found.entry_point
            else:
                point = self._shipped(args) or self._kept(args) or self._made(args)
            if given != args:
                self._refuse_writing(given, args)
                self._insert([argument._code for argument in given], point, False)
            return point

    def writes(self, args: tuple[Any, ...]) -> tuple[bool, ...]:
        """Of each argument, whether the kernel writes to it; nothing where it is being compiled."""
        return self._writes.get(_without_literals(args), ())

    def _refuse_writing(self, given: tuple[Any, ...], args: tuple[Any, ...]) -> None:
        """Raise where the kernel writes to an array that is read-only."""
        for name, kind, is_written in zip(
            self._compiler.pysig.parameters, given, self.writes(args), strict=False
        ):
            if is_written and not getattr(kind, "mutable", True):
                raise TypeError(f"{self._name()} writes to `{name}`, which is a read-only array")

    def lower(self, args: tuple[Any, ...]) -> DeferredLibrary:
        """Code for callers: known, kept, or made now."""
        found = self._lowered.get(args)
        if found is not None:
            return found
        key = self._key(args, "lowered")
        content = store().read(key) if key else None
        if content is not None and unless_broken(self._register_bitcode, args, content):
            return self._lowered[args]
        with self._compiling_counter, notice.compiling(self._name()), shortcuts():
            result = self._compiler.compile(args, None)
        self._writes[args] = result.library.written
        self._register_lowered(args, result)
        if key is not None:
            unless_broken(self._keep_lowered, key, args)
        return self._lowered[args]

    def _shipped(self, args: tuple[Any, ...]) -> Any:
        """The entry that came with the package; None if there is none for this processor and source."""
        for pack in shipped():
            key = target.key(self.py_func, args, self._options("entry"), pack.level)
            content = pack.read(key) if key else None
            entry = unless_broken(self._register_code, args, content) if content else None
            if entry is not None:
                return entry
        return None

    def _kept(self, args: tuple[Any, ...]) -> Any:
        """The entry that was kept; None if there is none."""
        key = self._key(args, "entry")
        content = store().read(key) if key else None
        return unless_broken(self._register_code, args, content) if content else None

    def _made(self, args: tuple[Any, ...]) -> Any:
        """A new entry, made by one process at a time: the others then load what it has kept."""
        key = self._key(args, "entry")
        if key is None:
            return self._emit(args, None)
        with store().turn(key):
            return self._kept(args) or self._emit(args, key)

    def _emit(self, args: tuple[Any, ...], key: str | None) -> Any:
        """Optimise the kernel with all that it calls, and keep it."""
        self._cache_misses[args] += 1
        data = {"dispatcher": self, "args": args, "return_type": None}
        with event.trigger_event("numba:compile", data=data), notice.compiling(self._name()):
            self.typingctx.refresh()
            self.targetctx.refresh()  # the wrapper needs it, also where all code was kept
            lowered = self.lower(args)
            result = self.overloads[args]
            context = compiler._make_subtarget(self.targetctx, self._compiler.flags())
            entry = libraries.emit(
                lowered, context, result.fndesc, result.environment, release_lock=self._release_lock
            )
            point = self._register(args, result, entry)
        if key is not None and not entry.has_dynamic_globals:
            unless_broken(self._keep_entry, key, args, entry)
        return point

    def _register_lowered(self, args: tuple[Any, ...], result: Any) -> None:
        """Let callers find it."""
        self._lowered[args] = result.library
        result.library.origin, result.library.symbol = (self, args), result.fndesc.llvm_func_name
        known = self.overloads.get(args)
        if known is None:
            self.overloads[args] = known = result._replace(entry_point=_Lowered())
        self.targetctx.insert_user_function(known.entry_point, known.fndesc, [result.library])

    def _register_bitcode(self, args: tuple[Any, ...], content: bytes) -> bool:
        """Code for callers from a record."""
        found = records.lowered(content)
        rtsys.initialize(self.targetctx)

        def callees() -> list[DeferredLibrary]:
            return [find(module, name).lower(types_) for module, name, types_ in found.callees]

        library = DeferredLibrary.stored(self.targetctx.codegen(), found.head.name, found.bitcode, callees)
        library.environments = found.environments
        self._writes[args] = found.head.writes
        self._register_lowered(args, self._result(found.head, library))
        return True

    def _register_code(self, args: tuple[Any, ...], content: bytes) -> Any:
        """The entry of a record; LookupError if it needs what is not there."""
        rtsys.initialize(self.targetctx)  # all that loading needs; Numba's `refresh` takes half a second more
        found = records.entry(content)
        # LLVM ends the process for a name that it does not find.
        if missing := [name for name in found.expected if llvm.address_of_symbol(name) is None]:
            raise LookupError(f"{self._name()}: this process has no {', '.join(missing)}")
        head = found.head
        if len(head.environment.consts) < len(found.constants):  # met as a callee, without a wrapper
            head.environment.consts[:] = found.constants
        library = libraries.load(self.targetctx, head.name, found.code, found.symbols)
        for environment in found.environments:
            library.codegen.set_env(environment.env_name, environment)
        self._cache_hits[args] += 1
        self._writes[args] = head.writes
        return self._register(args, self._result(head, library, found.environments), library)

    def _register(self, args: tuple[Any, ...], result: Any, entry: Any) -> Any:
        """Let Python call it."""
        point = self.targetctx.get_executable(entry, result.fndesc, result.environment)
        self.add_overload(result._replace(entry_point=point, library=entry))
        if args in self._lowered:
            self.targetctx.insert_user_function(point, result.fndesc, [self._lowered[args]])
        self.is_emitted = True
        return point

    def _result(self, head: records.Head, library: Any, environments: Any = ()) -> Any:
        """Numba's result of a compilation, from a record."""
        make: Any = compiler.CompileResult
        return make(
            target_context=self.targetctx, typing_context=self.targetctx.typing_context, library=library,
            environment=head.environment, entry_point=None, fndesc=head.descriptor, type_annotation="",
            signature=head.signature, objectmode=False, lifted=(), typing_error=None, call_helper=None,
            metadata=None, reload_init=(), referenced_envs=environments,
        )  # fmt: skip

    def _head(self, args: tuple[Any, ...]) -> records.Head:
        result = self.overloads[args]
        result.fndesc.typemap = result.fndesc.calltypes = None  # large, and not needed any more
        name, writes = self._lowered[args].name, self._writes[args]
        return records.Head(name, result.fndesc, result.environment, result.signature, writes)

    def _keep_lowered(self, key: str, args: tuple[Any, ...]) -> None:
        """Write code for callers, where it holds in other processes."""
        library = self._lowered[args]
        if library.has_dynamic_globals:
            return
        callees = []
        for callee in library.callees():
            kernel, types_ = callee.origin
            if kernel._key(types_, "lowered") is None:
                return
            callees.append((kernel.py_func.__module__, kernel.py_func.__qualname__, types_))
        module = library.own()
        content = records.Lowered(
            self._head(args), module.as_bitcode(), libraries.environments(module), callees
        )
        store().write(key, records.pack(content))

    def _keep_entry(self, key: str, args: tuple[Any, ...], entry: Any) -> None:
        """Write machine code, where it holds in other processes."""
        defined, expected = libraries.symbols(entry)
        environments = libraries.environments(entry._final_module)
        head = self._head(args)
        code, constants = entry._get_compiled_object(), list(head.environment.consts)
        store().write(
            key, records.pack(records.Entry(head, code, defined, expected, environments, constants))
        )

    @cache  # noqa: B019  (kernels live as long as the process)
    def _key(self, args: tuple[Any, ...], part: str) -> str | None:
        return target.key(self.py_func, args, self._options(part), target.processor())

    def _options(self, part: str) -> str:
        how = (" inlined" if self.targetoptions["forceinline"] else "") + (
            " forward" if self._forward else ""
        )
        return f"{part} {sorted(OPTIONS.items(), key=str)} {self._release_lock}{how}"

    def _name(self) -> str:
        return f"{self.py_func.__module__.rpartition('.')[2]}.{self.py_func.__name__}"


class _Lowered:
    """Stands for the function of a kernel that no one has called from Python."""


def find(module: str, name: str) -> Any:
    """A kernel by where it is defined."""
    return getattr(import_module(module), name)


def _without_literals(args: Any) -> tuple[Any, ...]:
    """Types of arguments with constants taken as values: one signature for all."""
    return tuple(types.unliteral(argument) for argument in args)  # type: ignore[attr-defined]


def _writable(kind: Any) -> Any:
    """The type of an argument with all arrays writable: one signature for both."""
    if isinstance(kind, types.Array) and not kind.mutable:
        return kind.copy(readonly=False)
    if isinstance(kind, types.NamedTuple | types.NamedUniTuple):  # type: ignore[attr-defined]
        parts = tuple(_writable(part) for part in kind)
        return kind if parts == tuple(kind) else types.BaseTuple.from_types(parts, kind.instance_class)  # type: ignore[attr-defined]
    if isinstance(kind, types.Tuple | types.UniTuple):  # type: ignore[attr-defined]
        parts = tuple(_writable(part) for part in kind)
        return kind if parts == tuple(kind) else types.BaseTuple.from_types(parts)  # type: ignore[attr-defined]
    return kind


@contextmanager
def _no_collection() -> Iterator[None]:
    """The compiler makes millions of objects that live as long as it does: looking for garbage is in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
