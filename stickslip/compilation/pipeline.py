"""Numba's compiler up to LLVM code, with symbols that are the same in every process."""

from typing import Any

from numba.core import bytecode, compiler
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.dispatcher import _FunctionCompiler  # type: ignore[attr-defined]
from numba.core.typed_passes import AnnotateTypes, NativeLowering
from numba.core.untyped_passes import ExtractByteCode

from stickslip.compilation import target
from stickslip.compilation.library import DeferredLibrary
from stickslip.compilation.lowering import ShortLower
from stickslip.compilation.writes import arguments_written


class Lowering(_FunctionCompiler):  # type: ignore[misc]
    """Numba's compiler up to LLVM code."""

    def __init__(self, function: Any, description: Any, options: dict[str, Any], forward: bool):
        """forward: no variable index of the function is negative."""
        super().__init__(function, description, options, {}, _Pipeline)
        self._forward = forward

    def flags(self) -> Any:
        """Return the flags of a compilation without emission."""
        flags: Any = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def _compile_core(self, args: Any, return_type: Any) -> Any:
        context = self.targetdescr.target_context
        library = DeferredLibrary(context.codegen(), self.py_func.__qualname__)
        library.forward = self._forward
        typing_context = self.targetdescr.typing_context
        pipeline = self.pipeline_class(typing_context, context, library, args, return_type, self.flags(), {})
        return pipeline.compile_extra(self.py_func)


class _Pipeline(compiler.Compiler):  # type: ignore[misc]
    """Numba's stages of compilation, with the same function name in LLVM code in every process."""

    def compile_extra(self, func: Any) -> Any:
        """Return the result for one function."""
        self.state.func_id = bytecode.FunctionIdentity.from_function(func)
        number = target.number(func)
        if number is not None:
            self.state.func_id.unique_id = number
            self.state.func_id.unique_name = f"{func.__qualname__}${number}"
        ExtractByteCode().run_pass(self.state)
        self.state.lifted, self.state.lifted_from = (), None
        return self._compile_bytecode()

    def define_pipelines(self) -> Any:
        """Return Numba's pipeline with an analysis of written arguments and with `ShortLower`."""
        (manager,) = super().define_pipelines()
        manager.add_pass_after(_Writes, AnnotateTypes)
        manager.passes = [
            (_Lowering if each is NativeLowering else each, text) for each, text in manager.passes
        ]
        manager.finalize()
        return [manager]


@register_pass(mutates_CFG=False, analysis_only=True)
class _Writes(AnalysisPass):  # type: ignore[misc]
    """Analysis of the arguments that are written."""

    _name = "stickslip_writes"

    def __init__(self) -> None:
        AnalysisPass.__init__(self)

    def run_pass(self, state: Any) -> bool:
        """Store the result in the library."""
        state.library.written = arguments_written(state.func_ir, state.typemap)
        return False


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(NativeLowering):  # type: ignore[misc]
    """Numba's lowering pass, with `ShortLower`."""

    _name = "stickslip_lowering"

    @property
    def lowering_class(self) -> Any:
        """Class that emits LLVM code."""
        return ShortLower
