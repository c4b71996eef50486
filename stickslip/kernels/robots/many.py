"""Steps of several robots of the same structure in one compiled call, one robot after another."""

from stickslip.compilation import JIT
from stickslip.kernels.jit import jit_without_lock
from stickslip.kernels.robots.steps import march

if JIT:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def held_at(typingctx, held, address):  # type: ignore[no-untyped-def]
        """Return the `Held` at an address, of the same type as `held`."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            return given[1]

        return held(held, types.int64), generate

else:

    def held_at(held, address):  # type: ignore[no-untyped-def]
        """Raise: this function needs compiled code."""
        raise NotImplementedError("arguments are held for compiled kernels only")


@jit_without_lock
def march_many(run, runs, first, most, times, made, ended):
    """made, ended (n,) <- number of steps and exit code of `march` for each robot.

    run: a held `Run`; runs (n,): addresses of the `Run` of each robot, of the same type. first, most, times
    (n,): arguments `first`, `most` and `t` of `march`.
    """
    for i in range(runs.shape[0]):
        made[i], ended[i] = march(held_at(run, runs[i]), first[i], most[i], times[i])
