"""A step as a function of torch, with its own backward pass.

step = torch_step(world, 1e-3, solver=solver, inputs=("effort", "mu"))
q, v = step(q, v, effort, mu)
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from stickslip.bridges.step_function import StepFunction, needed
from stickslip.mechanics.world import World
from stickslip.schemes.step import Solver
from stickslip.state import Array, ModelError

TorchStep = Callable[..., tuple[Any, Any]]
"""(q, v, *inputs) -> (q, v), tensors."""


def torch_step(world: World, h: float, *, solver: Solver, **how: Any) -> TorchStep:
    """`steps` steps of `world` of length h [s] as a function (q, v, *inputs) -> (q, v) of tensors.

    `how` are the fields of `StepFunction`: scheme, inputs, steps, path, continues, kappa, on_kink,
    checkpoints. Tensors live on the processor. Everything is in double precision: tensors of less are taken
    as doubles, what comes back is double, and gradients are of the type of what they belong to. It is
    differentiated backwards, once.
    """
    torch = needed("torch")
    function = StepFunction(world=world, h=h, solver=solver, **how)
    autograd = _autograd_function()

    def step(q: Any, v: Any, *inputs: Any) -> tuple[Any, Any]:
        arguments = []
        for name, one in zip(("q", "v", *function.inputs), (q, v, *inputs), strict=False):
            tensor = torch.as_tensor(one)
            if tensor.device.type != "cpu":
                raise ModelError(
                    f"{name} is on {tensor.device}; steps are made on the processor: give {name}.cpu()"
                )
            arguments.append(tensor.to(torch.float64))
        function.check([tuple(one.shape) for one in arguments] + [()] * (2 + len(inputs) - len(arguments)))
        found: tuple[Any, Any] = autograd.apply(function, *arguments)
        return found

    return step


@cache
def _autograd_function() -> Any:
    """The class that torch wants; it is made where torch is there."""
    torch = needed("torch")

    class _Step(torch.autograd.Function):  # type: ignore[misc,name-defined,unused-ignore]
        @staticmethod
        def forward(function: StepFunction, *arguments: Any) -> tuple[Any, Any]:
            q, v = function.value(*map(_plain, arguments))
            return torch.from_numpy(q), torch.from_numpy(v)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
            ctx.function = inputs[0]
            ctx.save_for_backward(*inputs[1:])

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator,unused-ignore]
        def backward(ctx: Any, dq: Any, dv: Any) -> tuple[Any, ...]:
            q, v, *inputs = map(_plain, ctx.saved_tensors)
            found = ctx.function.transposed(q, v, inputs, _plain(dq), _plain(dv))
            return None, *(torch.from_numpy(one) for one in found)

    return _Step


def _plain(tensor: Any) -> Array:
    array: Array = tensor.detach().numpy()
    return array
