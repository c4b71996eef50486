"""Steps of several robots of one structure in one compiled call, one robot after the other."""

from stickslip.compilation import JIT
from stickslip.kernels.jit import jit_without_lock
from stickslip.kernels.robots.steps import march

if JIT:
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def held_at(typingctx, held, address):  # type: ignore[no-untyped-def]
        """Another `Held` of the same type, from its address."""

        def generate(context, builder, signature, given):  # type: ignore[no-untyped-def]
            return given[1]

        return held(held, types.int64), generate

else:

    def held_at(held, address):  # type: ignore[no-untyped-def]
        """Not without compilation."""
        raise NotImplementedError("arguments are held for compiled kernels only")


@jit_without_lock
def march_many(run, runs, first, most, times, made, ended):
    """made, ended (n,) <- what `march` tells of each robot.

    run: a held `Run`; runs (n,): addresses of those of the robots, of its type. first, most, times (n,): as
    `march` has them.
    """
    for i in range(runs.shape[0]):
        made[i], ended[i] = march(held_at(run, runs[i]), first[i], most[i], times[i])
