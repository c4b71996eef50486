"""`Kernel`: a function compiled by Numba, optimised once and cached by content.

It depends on internals of Numba and is used with the versions in `TESTED` only. With other versions, kernels
are compiled by Numba itself (`plain.py`) and cached in the same store.
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
"""Versions of Numba with which the whole test suite has passed with `Kernel`."""
ONCE = numba.__version__.startswith(TESTED)
"""Whether the installed version of Numba is in `TESTED`."""


class Kernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel, optimised with its callees for calls from Python, and only lowered for other kernels.

    Its code is *lowered* (LLVM code for callers) or an *entry* (machine code for Python).
    """

    def __init__(
        self, function: Callable[..., Any], *, release_lock: bool = False, inlined: bool = False,
        forward: bool = False,
    ):  # fmt: skip
        """forward: no variable index is negative."""
        super().__init__(function, targetoptions={**OPTIONS, "forceinline": inlined})
        source.note_import(function.__code__.co_filename)
        retype(self)
        self._compiler = Lowering(function, self.targetdescr, self.targetoptions, forward)
        self._release_lock, self._forward = release_lock, forward
        self._lowered: dict[tuple[Any, ...], DeferredLibrary] = {}
        self._writes: dict[tuple[Any, ...], tuple[bool, ...]] = {}
        self.is_emitted = False
        """Whether at least one signature is compiled for calls from Python."""
        self._type: KernelType | None = None

    @property
    def _numba_type_(self) -> KernelType:
        # cached: Numba reads it in every call of a kernel with this one as an argument
        if self._type is None:
            self._type = KernelType(self)
        return self._type

    def __reduce__(self) -> Any:
        return find, (self.py_func.__module__, self.py_func.__qualname__)

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Lower the kernel for a call by another function, with literal types as ordinary types."""
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
        """Return the entry point of a signature for Python: from the wheel, the store, or the compiler."""
        types_given = _without_literals(sigutils.normalize_signature(sig)[0])
        args = tuple(_writable(argument) for argument in types_given)
        with global_compiler_lock, _no_collection():
            known = self.overloads.get(args)
            if known is not None and not isinstance(known.entry_point, _Lowered):
                point = known.entry_point
            else:
                point = self._load_shipped(args) or self._load_stored(args) or self._compile_entry(args)
            if types_given != args:
                self._refuse_writing(types_given, args)
                self._insert([argument._code for argument in types_given], point, False)
            return point

    def writes(self, args: tuple[Any, ...]) -> tuple[bool, ...]:
        """Return for each argument whether the kernel writes to it; empty while it is being compiled."""
        return self._writes.get(_without_literals(args), ())

    def _refuse_writing(self, types_given: tuple[Any, ...], args: tuple[Any, ...]) -> None:
        """Raise TypeError if the kernel writes to a read-only array."""
        for name, kind, is_written in zip(
            self._compiler.pysig.parameters, types_given, self.writes(args), strict=False
        ):
            if is_written and not getattr(kind, "mutable", True):
                raise TypeError(f"{self._name()} writes to `{name}`, which is a read-only array")

    def lower(self, args: tuple[Any, ...]) -> DeferredLibrary:
        """Return the lowered code: known, from the store, or compiled now."""
        library = self._lowered.get(args)
        if library is not None:
            return library
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

    def _load_shipped(self, args: tuple[Any, ...]) -> Any:
        """Return the entry shipped with the package; None if there is none for this processor and source."""
        for pack in shipped():
            key = target.key(self.py_func, args, self._options("entry"), pack.level)
            content = pack.read(key) if key else None
            entry = unless_broken(self._register_code, args, content) if content else None
            if entry is not None:
                return entry
        return None

    def _load_stored(self, args: tuple[Any, ...]) -> Any:
        """Return the entry from the store; None if there is none."""
        key = self._key(args, "entry")
        content = store().read(key) if key else None
        return unless_broken(self._register_code, args, content) if content else None

    def _compile_entry(self, args: tuple[Any, ...]) -> Any:
        """Compile an entry, in one process at a time, so that the others can load it from the store."""
        key = self._key(args, "entry")
        if key is None:
            return self._emit(args, None)
        with store().turn(key):
            return self._load_stored(args) or self._emit(args, key)

    def _emit(self, args: tuple[Any, ...], key: str | None) -> Any:
        """Optimise the kernel together with its callees, and store the entry."""
        self._cache_misses[args] += 1
        data = {"dispatcher": self, "args": args, "return_type": None}
        with event.trigger_event("numba:compile", data=data), notice.compiling(self._name()):
            self.typingctx.refresh()
            self.targetctx.refresh()  # needed by the wrapper even if all lowered code is stored
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
        """Register lowered code for callers."""
        self._lowered[args] = result.library
        result.library.origin, result.library.symbol = (self, args), result.fndesc.llvm_func_name
        known = self.overloads.get(args)
        if known is None:
            self.overloads[args] = known = result._replace(entry_point=_Lowered())
        self.targetctx.insert_user_function(known.entry_point, known.fndesc, [result.library])

    def _register_bitcode(self, args: tuple[Any, ...], content: bytes) -> bool:
        """Register lowered code from a record."""
        record = records.lowered(content)
        rtsys.initialize(self.targetctx)

        def callees() -> list[DeferredLibrary]:
            return [find(module, name).lower(types_) for module, name, types_ in record.callees]

        library = DeferredLibrary.stored(self.targetctx.codegen(), record.head.name, record.bitcode, callees)
        library.environments = record.environments
        self._writes[args] = record.head.writes
        self._register_lowered(args, self._result(record.head, library))
        return True

    def _register_code(self, args: tuple[Any, ...], content: bytes) -> Any:
        """Register the entry of a record; return its entry point. Raise LookupError for missing symbols."""
        rtsys.initialize(self.targetctx)  # sufficient for loading; Numba's `refresh` takes half a second
        record = records.entry(content)
        # LLVM would end the process for an unknown symbol.
        if missing := [name for name in record.expected if llvm.address_of_symbol(name) is None]:
            raise LookupError(f"{self._name()}: this process has no {', '.join(missing)}")
        head = record.head
        if len(head.environment.consts) < len(record.constants):  # loaded before as a callee, without wrapper
            head.environment.consts[:] = record.constants
        library = libraries.load(self.targetctx, head.name, record.code, record.symbols)
        for environment in record.environments:
            library.codegen.set_env(environment.env_name, environment)
        self._cache_hits[args] += 1
        self._writes[args] = head.writes
        return self._register(args, self._result(head, library, record.environments), library)

    def _register(self, args: tuple[Any, ...], result: Any, entry: Any) -> Any:
        """Register an entry for calls from Python; return its entry point."""
        point = self.targetctx.get_executable(entry, result.fndesc, result.environment)
        self.add_overload(result._replace(entry_point=point, library=entry))
        if args in self._lowered:
            self.targetctx.insert_user_function(point, result.fndesc, [self._lowered[args]])
        self.is_emitted = True
        return point

    def _result(self, head: records.Head, library: Any, environments: Any = ()) -> Any:
        """Return Numba's result of a compilation, from a record."""
        make: Any = compiler.CompileResult
        return make(
            target_context=self.targetctx, typing_context=self.targetctx.typing_context, library=library,
            environment=head.environment, entry_point=None, fndesc=head.descriptor, type_annotation="",
            signature=head.signature, objectmode=False, lifted=(), typing_error=None, call_helper=None,
            metadata=None, reload_init=(), referenced_envs=environments,
        )  # fmt: skip

    def _head(self, args: tuple[Any, ...]) -> records.Head:
        result = self.overloads[args]
        result.fndesc.typemap = result.fndesc.calltypes = None  # large and not needed
        name, writes = self._lowered[args].name, self._writes[args]
        return records.Head(name, result.fndesc, result.environment, result.signature, writes)

    def _keep_lowered(self, key: str, args: tuple[Any, ...]) -> None:
        """Store lowered code, if it is valid in other processes."""
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
        """Store machine code."""
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
    """Placeholder for the entry point of a kernel without entry."""


def find(module: str, name: str) -> Any:
    """Return a kernel by module and name."""
    return getattr(import_module(module), name)


def _without_literals(args: Any) -> tuple[Any, ...]:
    """Return types of arguments with literal types replaced, so that all constants share one signature."""
    return tuple(types.unliteral(argument) for argument in args)  # type: ignore[attr-defined]


def _writable(kind: Any) -> Any:
    """Return the type of an argument with all arrays writable, so that both kinds share one signature."""
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
    """Disable garbage collection: the compiler creates millions of objects that live as long as it does."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
