"""Steps as PyTorch functions with a backward pass.

step = torch_step(world, 1e-3, solver=solver, inputs=("effort", "mu"))
q, v = step(q, v, effort, mu)
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from stickslip.bridges.batch_function import StepArrays, arrays_function
from stickslip.extras import needed
from stickslip.mechanics.world import World
from stickslip.robots.robot import Robot
from stickslip.schemes.step import Solver
from stickslip.state import Array, ModelError
from stickslip.systems.family import Family
from stickslip.systems.system import NonsmoothSystem

WHAT = "a step in PyTorch"
TorchStep = Callable[..., tuple[Any, Any]]
"""Function (q, v, *inputs) -> (q, v) of tensors."""


def torch_step(
    world: World | NonsmoothSystem | Family | Robot, h: float, *, solver: Solver, **how: Any
) -> TorchStep:
    """Return steps of length h [s] of a world, robot or system as a function of tensors,
    (q, v, *inputs) -> (q, v).

    Options `how` are the fields of `ArraysFunction`: scheme, inputs, steps, path, continues, kappa, on_kink,
    checkpoints; `batch`, the number of members, whose axis is first in q, v and all arguments that are not
    shared; and `processes`, the number of processes that compute members, default 1.

    Tensors must be on the CPU. The function uses double precision: tensors of lower precision are converted,
    and
    results are double; gradients have the type of their argument. It has first derivatives in reverse mode;
    under `torch.func.vmap` steps are computed sequentially.
    """
    torch = needed("torch", WHAT)
    function = arrays_function(world, h, solver, how)
    autograd = _autograd_function()

    def step(q: Any, v: Any, *inputs: Any) -> tuple[Any, Any]:
        tensors = [torch.as_tensor(one) for one in (q, v, *inputs)]
        function.check([tuple(one.shape) for one in tensors])
        for name, one in zip(("q", "v", *function.inputs), tensors, strict=True):
            if one.device.type != "cpu":
                raise ModelError(f"{name} is on {one.device}; steps run on the CPU; give {name}.cpu()")
        end: tuple[Any, Any] = autograd.apply(function, *(one.to(torch.float64) for one in tensors))
        return end

    return step


@cache
def _autograd_function() -> Any:
    """Return the `torch.autograd.Function` of steps, which is defined on first use of torch."""
    torch = needed("torch", WHAT)

    class _Mapped(torch.autograd.Function):  # type: ignore[misc,name-defined,unused-ignore]
        @classmethod
        def vmap(cls, info: Any, in_dims: Any, function: StepArrays, *tensors: Any) -> Any:
            rows = [
                cls.apply(
                    function,
                    *(
                        one if dim is None else one.select(dim, i)
                        for one, dim in zip(tensors, in_dims[1:], strict=True)
                    ),
                )
                for i in range(info.batch_size)
            ]
            columns = zip(*rows, strict=True)
            return tuple(torch.stack(column) for column in columns), (0,) * len(rows[0])

    class _Transposed(_Mapped):
        @staticmethod
        def forward(function: StepArrays, dq: Any, dv: Any, *arguments: Any) -> tuple[Any, ...]:
            q, v, *inputs = map(_plain, arguments)
            gradients = function.transposed(q, v, inputs, _plain(dq), _plain(dv))
            return tuple(torch.from_numpy(one) for one in gradients)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, *weights: Any) -> Any:
            raise ModelError("steps have first derivatives only")

    class _Step(_Mapped):
        @staticmethod
        def forward(function: StepArrays, *arguments: Any) -> tuple[Any, Any]:
            q, v = function.value(*map(_plain, arguments))
            return torch.from_numpy(q), torch.from_numpy(v)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.function = inputs[0]
            ctx.save_for_backward(*inputs[1:])

        @staticmethod
        def backward(ctx: Any, dq: Any, dv: Any) -> tuple[Any, ...]:
            return None, *_Transposed.apply(ctx.function, dq, dv, *ctx.saved_tensors)

    return _Step


def _plain(tensor: Any) -> Array:
    array: Array = tensor.detach().numpy()
    return array
