"""Steps as JAX functions, with `jit`, `vmap`, and forward and reverse differentiation.

jax.config.update("jax_enable_x64", True)
step = jax_step(world, 1e-3, solver=solver, inputs=("effort", "mu"))
q, v = step(q, v, effort, mu)

The derivative is a JAX primitive that is linear in the tangents, with a transpose rule for reverse mode; both
directions are computed outside of JAX.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from stickslip.bridges.batch_function import StepArrays, arrays_function
from stickslip.extras import needed
from stickslip.mechanics.world import World
from stickslip.robots.robot import Robot
from stickslip.schemes.step import Solver
from stickslip.state import Array, ModelError
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

WHAT = "a step in JAX"
JaxStep = Callable[..., tuple[Any, Any]]
"""Function (q, v, *inputs) -> (q, v) of JAX arrays."""


def jax_step(
    world: World | NonsmoothSystem | Family | Robot, h: float, *, solver: Solver, **how: Any
) -> JaxStep:
    """Return steps of length h [s] of a world, robot or system as a function of JAX arrays,
    (q, v, *inputs) -> (q, v).

    Options `how` are the fields of `ArraysFunction`: scheme, inputs, steps, path, continues, kappa, on_kink,
    checkpoints; `batch`, the number of members, whose axis is first in q, v and all arguments that are not
    shared; and `processes`, the number of processes that compute members, default 1.

    Steps are computed outside of JAX, on the CPU, and sequentially under `vmap`. The function has first
    derivatives, forward (`jvp`, `jacfwd`) or reverse (`grad`, `vjp`, `jacrev`). It uses double precision,
    which
    must be enabled in JAX (`jax_enable_x64`); arrays of lower precision are converted.
    """
    jax = needed("jax", WHAT)
    jnp = needed("jax.numpy", WHAT)
    function = arrays_function(world, h, solver, how)
    derivative = _derivative()
    results = _results(function)

    def value(*arguments: Any) -> tuple[Array, Array]:
        return function.value(*(np.asarray(one) for one in arguments))

    @jax.custom_jvp  # type: ignore[untyped-decorator,unused-ignore]
    def step(*arguments: Any) -> Any:
        return jax.pure_callback(value, results, *arguments, vmap_method="sequential")

    @step.defjvp  # type: ignore[untyped-decorator,unused-ignore]
    def forwards(arguments: tuple[Any, ...], changes: tuple[Any, ...]) -> Any:
        return step(*arguments), tuple(derivative.bind(*arguments, *changes, function=function))

    def checked(q: Any, v: Any, *inputs: Any) -> tuple[Any, Any]:
        if not jax.config.jax_enable_x64:
            raise ModelError(
                "JAX is set to single precision, in which contacts cannot be told apart:"
                ' jax.config.update("jax_enable_x64", True) at the beginning of the program'
            )
        arguments = [jnp.asarray(one, np.float64) for one in (q, v, *inputs)]
        function.check([one.shape for one in arguments])
        end: tuple[Any, Any] = step(*arguments)
        return end

    return checked


def _results(function: StepArrays) -> tuple[Any, Any]:
    """Return the shapes and types of the results of a function, for JAX."""
    jax = needed("jax", WHAT)
    return tuple(jax.ShapeDtypeStruct(shape, np.float64) for shape in function.results)  # type: ignore[return-value]


@cache
def _derivative() -> Any:
    """Return the primitive (arguments, changes of them) -> changes of (q, v), linear in the changes."""
    jax, extend = needed("jax", WHAT), needed("jax.extend.core", WHAT)
    ad, batching, mlir = (needed(f"jax.interpreters.{name}", WHAT) for name in ("ad", "batching", "mlir"))
    primitive = extend.Primitive("stickslip_step_derivative")
    primitive.multiple_results = True

    def again(*_: Any, **__: Any) -> Any:
        raise ModelError("steps have first derivatives only")

    def forwards(*both: Any, function: StepArrays) -> list[Any]:
        def made(*both: Any) -> tuple[Array, Array]:
            arrays = [np.asarray(one) for one in both]
            (q, v, *inputs), changes = arrays[: len(arrays) // 2], arrays[len(arrays) // 2 :]
            return function.tangent(q, v, inputs, *changes)

        return list(jax.pure_callback(made, _results(function), *both, vmap_method="sequential"))

    def shapes(*both: Any, function: StepArrays) -> list[Any]:
        return [jax.core.ShapedArray(one.shape, one.dtype) for one in _results(function)]

    def backwards(weights: Any, *both: Any, function: StepArrays) -> list[Any]:
        arguments = both[: len(both) // 2]
        results = _results(function)
        full = [
            jax.numpy.zeros(one.shape) if type(weight) is ad.Zero else weight
            for weight, one in zip(weights, results, strict=True)
        ]

        def made(dq: Any, dv: Any, *arguments: Any) -> tuple[Array, ...]:
            q, v, *inputs = (np.asarray(one) for one in arguments)
            return tuple(function.transposed(q, v, inputs, np.asarray(dq), np.asarray(dv)))

        shapes = tuple(jax.ShapeDtypeStruct(one.shape, np.float64) for one in arguments)
        transposed = jax.custom_jvp(
            lambda *given: jax.pure_callback(made, shapes, *given, vmap_method="sequential")
        )
        transposed.defjvp(again)
        pairs = zip(transposed(*full, *arguments), both[len(both) // 2 :], strict=True)
        gradients = [weight if ad.is_undefined_primal(change) else None for weight, change in pairs]
        return [*(None for _ in arguments), *gradients]

    def mapped(both: Any, axes: Any, function: StepArrays) -> Any:
        moving = [jax.numpy.moveaxis(one, axis, 0) for one, axis in _moving(both, axes)]

        def one_of(rows: Any) -> Any:
            row = iter(rows)
            members = [one if axis is None else next(row) for one, axis in zip(both, axes, strict=True)]
            return primitive.bind(*members, function=function)

        return jax.lax.map(one_of, moving), [0, 0]

    primitive.def_impl(forwards)
    primitive.def_abstract_eval(shapes)
    mlir.register_lowering(primitive, mlir.lower_fun(forwards, multiple_results=True))
    ad.primitive_jvps[primitive] = again
    ad.primitive_transposes[primitive] = backwards
    batching.primitive_batchers[primitive] = mapped
    return primitive


def _moving(both: Any, axes: Any) -> list[tuple[Any, int]]:
    """Return the arguments that are mapped, with their axes."""
    return [(one, axis) for one, axis in zip(both, axes, strict=True) if axis is not None]
