"""Kernels compiled by Numba itself, cached in the same store."""

from collections.abc import Callable
from typing import Any

from numba.core import compiler, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.imputils import lower_constant
from numba.core.registry import CPUDispatcher
from numba.extending import models, register_model

from stickslip.compilation import record as records
from stickslip.compilation import source, target
from stickslip.compilation.boxing import objects_in_c
from stickslip.compilation.packs import shipped
from stickslip.compilation.store import store, unless_broken

OPTIONS = {"nopython": True, "boundscheck": None, "error_model": "numpy"}
"""Numba's options of all kernels: 0/0 is NaN, sums are not reordered."""


class KernelType(types.Dispatcher):  # type: ignore[misc]
    """Type of a kernel as an argument of kernels. The type determines the kernel and its values are empty.

    Values and names of Numba's own type hold an address in this process. Names of types are parts of LLVM
    symbols, so that stored code with an address calls symbols that other processes do not have.
    """

    def __init__(self, kernel: CPUDispatcher):
        super().__init__(kernel)
        function = kernel.py_func
        name = f"Kernel({function.__module__}.{function.__qualname__})"
        # A second kernel of that name, as in a module that was loaded again, keeps Numba's name; code with it
        # is not stored.
        if target.is_importable(function) and _NAMED.setdefault(name, kernel) is kernel:
            self.name = name


_NAMED: dict[str, CPUDispatcher] = {}
"""Kernels by the names of their types."""

register_model(KernelType)(models.OpaqueModel)


@lower_constant(KernelType)  # type: ignore[untyped-decorator]
def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_constant_null(kind)


def retype(kernel: CPUDispatcher) -> None:
    """Register a kernel that other kernels refer to by name with its `KernelType`."""
    kernel.typingctx._remove_global(kernel)
    kernel.typingctx.insert_global(kernel, kernel._numba_type_)


class PlainKernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel compiled by Numba itself and cached in the store, for untested versions of Numba."""

    def __init__(self, function: Callable[..., Any], *, release_lock: bool = False):
        super().__init__(function, targetoptions={**OPTIONS, "no_cfunc_wrapper": True, "nogil": release_lock})
        source.note_import(function.__code__.co_filename)
        self._cache = PlainCache(function)
        retype(self)

    def compile(self, sig: Any) -> Any:
        """Return the entry point of a signature for Python."""
        with global_compiler_lock, objects_in_c():
            return super().compile(sig)

    @property
    def _numba_type_(self) -> KernelType:
        return KernelType(self)

    @property
    def is_emitted(self) -> bool:
        """Whether at least one signature is compiled for calls from Python."""
        return bool(self.overloads)


class PlainCache:
    """Cache of results of Numba's own compilation in the store, with the interface of Numba's caches."""

    cache_path = None

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def load_overload(self, sig: Any, context: Any) -> Any:
        """Return the stored result; None if there is none, or it is damaged."""
        content = None
        for pack in shipped():
            key = self._key(sig, pack.level)
            content = content or (pack.read(key) if key else None)
        key = self._key(sig)
        content = content or (store().read(key) if key else None)
        if content is None:
            return None
        context.refresh()
        return unless_broken(lambda: compiler.CompileResult._rebuild(context, *records.anything(content)))

    def save_overload(self, sig: Any, result: Any) -> None:
        """Store a result, if it is valid in other processes."""
        key = self._key(sig)
        if key is not None and not result.lifted and not result.library.has_dynamic_globals:
            unless_broken(lambda: store().write(key, records.pack(list(result._reduce()))))

    def _key(self, sig: Any, processor: str = "") -> str | None:
        args = tuple(sigutils.normalize_signature(sig)[0])
        return target.key(self._function, args, f"plain {sig}", processor or target.processor())
