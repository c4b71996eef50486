"""A step as a function of JAX: under `jit`, `grad` and `vmap`.

jax.config.update("jax_enable_x64", True)
step = jax_step(world, 1e-3, solver=solver, inputs=("effort", "mu"))
q, v = step(q, v, effort, mu)
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from stickslip.bridges.step_function import function_of, needed
from stickslip.mechanics.world import World
from stickslip.schemes.step import Solver
from stickslip.state import Array, ModelError
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

JaxStep = Callable[..., tuple[Any, Any]]
"""(q, v, *inputs) -> (q, v), arrays of JAX."""


def jax_step(world: World | NonsmoothSystem | Family, h: float, *, solver: Solver, **how: Any) -> JaxStep:
    """Steps of length h [s] of a world or a system as a function (q, v, *inputs) -> (q, v) of JAX arrays.

    `how` are the fields of `ArraysFunction`: scheme, inputs, steps, path, continues, kappa, on_kink,
    checkpoints. The steps themselves are made outside of JAX, on the processor, one after the other under
    `vmap`; it is differentiated backwards (`grad`, `vjp`). Everything is in double precision: JAX must be
    told so (`jax_enable_x64`), and arrays of less are taken as doubles.
    """
    jax = needed("jax")
    jnp = needed("jax.numpy")
    function = function_of(world, h, solver, how)
    q_shape, v_shape = function.results
    results = (jax.ShapeDtypeStruct(q_shape, np.float64), jax.ShapeDtypeStruct(v_shape, np.float64))

    def value(*arguments: Any) -> tuple[Array, Array]:
        return function.value(*(np.asarray(one) for one in arguments))

    def transposed(arguments: tuple[Any, ...], dq: Any, dv: Any) -> tuple[Array, ...]:
        q, v, *inputs = (np.asarray(one) for one in arguments)
        return tuple(function.transposed(q, v, inputs, np.asarray(dq), np.asarray(dv)))

    @jax.custom_vjp  # type: ignore[untyped-decorator,unused-ignore]
    def step(*arguments: Any) -> Any:
        return jax.pure_callback(value, results, *arguments, vmap_method="sequential")

    def forwards(*arguments: Any) -> Any:
        return step(*arguments), arguments

    def backwards(arguments: tuple[Any, ...], weights: tuple[Any, Any]) -> Any:
        found = tuple(jax.ShapeDtypeStruct(one.shape, np.float64) for one in arguments)
        return jax.pure_callback(transposed, found, arguments, *weights, vmap_method="sequential")

    step.defvjp(forwards, backwards)

    def checked(q: Any, v: Any, *inputs: Any) -> tuple[Any, Any]:
        if not jax.config.jax_enable_x64:
            raise ModelError(
                "JAX is set to single precision, in which contacts cannot be told apart:"
                ' jax.config.update("jax_enable_x64", True) at the beginning of the program'
            )
        arguments = [jnp.asarray(one, np.float64) for one in (q, v, *inputs)]
        function.check([one.shape for one in arguments])
        found: tuple[Any, Any] = step(*arguments)
        return found

    return checked
