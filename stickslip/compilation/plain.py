"""Kernels as Numba compiles them by itself, kept in the same store."""

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
"""Of all kernels: 0/0 is NaN, sums are not reordered."""


class KernelType(types.Dispatcher):  # type: ignore[misc]
    """Type of a kernel that kernels take as an argument. The type says all: its values are empty, where
    Numba's hold an address of this process, and code with such an address cannot be kept."""


register_model(KernelType)(models.OpaqueModel)


@lower_constant(KernelType)  # type: ignore[untyped-decorator]
def _constant(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    return context.get_constant_null(kind)


def retype(kernel: CPUDispatcher) -> None:
    """Let Numba know a kernel that a kernel names by its own type."""
    kernel.typingctx._remove_global(kernel)
    kernel.typingctx.insert_global(kernel, kernel._numba_type_)


class PlainKernel(CPUDispatcher):  # type: ignore[misc]
    """A kernel as Numba compiles it by itself, kept in the same store: with versions that were not tested."""

    def __init__(self, function: Callable[..., Any], *, release_lock: bool = False):
        super().__init__(function, targetoptions={**OPTIONS, "no_cfunc_wrapper": True, "nogil": release_lock})
        source.note_import(function.__code__.co_filename)
        self._cache = PlainCache(function)
        retype(self)

    def compile(self, sig: Any) -> Any:
        """What Python calls for a signature."""
        with global_compiler_lock, objects_in_c():
            return super().compile(sig)

    @property
    def _numba_type_(self) -> KernelType:
        return KernelType(self)

    @property
    def is_emitted(self) -> bool:
        """Whether some signature can be called without compilation."""
        return bool(self.overloads)


class PlainCache:
    """Results of Numba's own compilation in the store, as Numba asks for them."""

    cache_path = None

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def load_overload(self, sig: Any, context: Any) -> Any:
        """What was kept; None if there is nothing, or it is damaged."""
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
        """Keep it, where it holds in other processes."""
        key = self._key(sig)
        if key is not None and not result.lifted and not result.library.has_dynamic_globals:
            unless_broken(lambda: store().write(key, records.pack(list(result._reduce()))))

    def _key(self, sig: Any, processor: str = "") -> str | None:
        args = tuple(sigutils.normalize_signature(sig)[0])
        return target.key(self._function, args, f"plain {sig}", processor or target.processor())
