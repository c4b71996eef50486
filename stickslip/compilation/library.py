"""Code of kernels as LLVM modules that are linked later.

Numba optimises every kernel and emits its machine code with a Python wrapper, even if only other kernels call
it, and optimises it again inside each of its callers. Here a kernel is only typed and lowered. An *entry*, a
kernel called from Python, is linked with all its callees and optimised once, as a whole.
"""

from collections.abc import Callable, Iterable
from typing import Any

import llvmlite.binding as llvm
from numba.core.codegen import JITCodeLibrary
from numba.core.environment import lookup_environment
from numba.core.runtime import rtsys

from stickslip.compilation.boxing import objects_in_c

ENVIRONMENT = "_ZN08NumbaEnv"
"""Prefix of the global variables that hold the Python objects of a function."""


class DeferredLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Lowered code of one kernel, neither optimised nor emitted."""

    def __init__(self, codegen: Any, name: str):
        super().__init__(codegen, name)
        self.origin: Any = None
        """Kernel and types of its arguments."""
        self.written: tuple[bool, ...] = ()
        """Whether the kernel writes to each argument."""
        self.forward = False
        """Whether no variable index of the kernel is negative."""
        self.symbol = ""
        """Name of the function of the kernel in LLVM code."""
        self.environments: list[Any] = []
        """Python objects of the functions of the module, to keep them alive."""
        self._own: Any = None
        self._shared_module: Any = None
        self._callees: Callable[[], list[DeferredLibrary]] | None = None
        self._bitcode: bytes | None = None

    @classmethod
    def stored(
        cls, codegen: Any, name: str, bitcode: bytes, callees: Callable[[], list["DeferredLibrary"]]
    ) -> "DeferredLibrary":
        """Return the library of a record: bitcode of the kernel only; callees are loaded when needed."""
        library = cls(codegen, name)
        library._bitcode, library._callees, library._finalized = bitcode, callees, True
        return library

    def finalize(self) -> None:
        """Complete the library, without optimisation and emission."""
        self._raise_if_finalized()
        for library in self._linking_libraries:
            self._reload_init.update(library._reload_init)
        self._finalize_dynamic_globals()
        self._finalized = True

    def callees(self) -> list["DeferredLibrary"]:
        """Return the libraries of the kernels that this one calls, each once."""
        if self._callees is not None:
            return self._callees()
        libraries = (library for library in self._linking_libraries if isinstance(library, DeferredLibrary))
        return list(dict.fromkeys(libraries))

    def own(self) -> Any:
        """Return the module of this kernel with the Numba functions that it needs, for linking."""
        if self._own is None:
            if self._bitcode is not None:
                self._own = llvm.parse_bitcode(self._bitcode)
            else:
                self._ensure_finalized()
                module = self._final_module.clone()
                for library in dict.fromkeys(self._linking_libraries):
                    if not isinstance(library, DeferredLibrary) and library is not rtsys.library:
                        module.link_in(library._get_module_for_linking(), preserve=True)
                for function in module.functions:
                    if not function.is_declaration:
                        # Numba numbers its functions in each process: their names may clash with others.
                        function.linkage = "linkonce_odr" if function.name == self.symbol else "internal"
                self._own = module
        return self._own

    def _get_module_for_linking(self) -> Any:
        """Return the module of this kernel and all its callees, for a user's function that calls kernels."""
        if self._shared_module is None:
            module = self.own().clone()
            for library in _callers_first(self)[1:]:
                module.link_in(library.own(), preserve=True)
            self._shared_module = module
        return self._shared_module


class _Part:
    """Adapter of the module of one kernel for Numba's linking of an entry."""

    def __init__(self, library: DeferredLibrary):
        self._library, self._reload_init = library, library._reload_init

    def _ensure_finalized(self) -> None:
        self._library._ensure_finalized()

    def _get_module_for_linking(self) -> Any:
        return self._library.own()


def emit(
    library: DeferredLibrary, context: Any, descriptor: Any, environment: Any, *, release_lock: bool
) -> JITCodeLibrary:
    """Return machine code of a kernel and all its callees, with a wrapper for Python."""
    entry = context.codegen().create_library(library.name)
    entry.enable_object_caching()
    # 1. The wrapper first, then callers before callees: LLVM's linker drops mergeable functions that are not
    # referenced yet.
    with context.push_code_library(entry), objects_in_c():
        context.create_cpython_wrapper(entry, descriptor, environment, None, release_gil=release_lock)
    for part in _callers_first(library):
        entry.add_linking_library(_Part(part))
    entry.add_linking_library(rtsys.library)  # reference counts
    # 2. Optimisation and emission as one module.
    entry.finalize()
    # 3. Python objects of all functions of the module.
    for name in names_of_environments(entry):
        objects = lookup_environment(name)
        if objects is not None:
            entry.codegen.set_env(name, objects)
    return entry


def load(context: Any, name: str, code: bytes, symbols: Iterable[str]) -> JITCodeLibrary:
    """Return the library of machine code that was emitted before."""
    library = JITCodeLibrary(context.codegen(), name)
    library.enable_object_caching()
    library._set_compiled_object(code)
    library._finalize_final_module()
    library.codegen._engine._defined_symbols.update(symbols)
    return library


def names_of_environments(entry: JITCodeLibrary) -> list[str]:
    """Return the names of the environments of all functions of an entry."""
    return _environments(entry._final_module)


def environments(module: Any) -> list[Any]:
    """Return the environments (Python objects) of the functions of a module that can be stored."""
    objects = (lookup_environment(name) for name in _environments(module))
    return [each for each in objects if each is not None and each.can_cache()]


def _environments(module: Any) -> list[str]:
    """Return the names of the environment variables of a module."""
    variables = module.global_variables
    return [v.name for v in variables if v.name.startswith(ENVIRONMENT) and not v.is_declaration]


def symbols(entry: JITCodeLibrary) -> tuple[list[str], list[str]]:
    """Return (symbols that an entry defines, symbols that it needs from elsewhere)."""
    module = entry._final_module
    values = [*module.functions, *module.global_variables]
    expected = [f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")]
    return [v.name for v in values if not v.is_declaration], expected


def _callers_first(library: DeferredLibrary) -> list[DeferredLibrary]:
    """Return the library and all its callees, each after all of its callers."""
    order: list[DeferredLibrary] = []
    known: set[DeferredLibrary] = set()

    def visit(current: DeferredLibrary) -> None:
        known.add(current)
        for callee in current.callees():
            if callee not in known:
                visit(callee)
        order.append(current)

    visit(library)
    return order[::-1]
