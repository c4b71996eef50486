"""Vector environments of Gymnasium whose environments make their steps on threads.

Compiled steps of `ExactContact` release the global interpreter lock, so that environments of one process run
in
parallel. Each environment gives bitwise the results of a single one. Autoreset modes, spaces and infos are
those
of Gymnasium's `SyncVectorEnv`.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stickslip.extras import needed
from stickslip.threads import Team, allowed_threads, checked_number

gymnasium = needed("gymnasium", "the Gymnasium bridge")
SyncVectorEnv: Any = gymnasium.vector.SyncVectorEnv
AutoresetMode: Any = gymnasium.vector.AutoresetMode
Wrapper: Any = gymnasium.Wrapper


class ExactVectorEnv(SyncVectorEnv):  # type: ignore[misc]
    """Vector environment whose environments make their steps on threads, with bitwise reproducible results.

    envs = ExactVectorEnv([make] * 16, threads=2, autoreset_mode="SameStep")
    observations, infos = envs.reset(seed=0)

    It is intended for environments with `ExactContact`. Environments that share objects which are not
    thread-safe must use one thread, the default.
    """

    def __init__(
        self, env_fns: Sequence[Callable[[], Any]], *, threads: int | None = None, copy: bool = True,
        observation_mode: Any = "same", autoreset_mode: Any = AutoresetMode.NEXT_STEP,
    ):  # fmt: skip
        """threads: largest number of threads, by default that of `ss.use_threads`, initially 1; other
        arguments
        are those of `gymnasium.vector.SyncVectorEnv`."""
        self.threads = allowed_threads() if threads is None else checked_number(threads)
        making = [partial(_Ahead.of, one) for one in env_fns]
        super().__init__(making, copy, observation_mode, autoreset_mode)

    def step(self, actions: Any) -> Any:
        """Make a step of each environment, or reset those whose episode has ended, by the autoreset mode."""
        rests = self._autoreset_envs
        if self.autoreset_mode != AutoresetMode.DISABLED or not rests.any():
            members = gymnasium.vector.utils.iterate(self.action_space, actions)
            steps = [
                partial(env.begin, action)
                for env, action, is_reset in zip(self.envs, members, rests, strict=True)
                if not (is_reset and self.autoreset_mode == AutoresetMode.NEXT_STEP)
            ]
            with Team(self.threads) as team:
                team.run(steps)
        return super().step(actions)


class _Ahead(Wrapper):  # type: ignore[misc]
    """Wrapper whose next step may be computed in advance."""

    _made: Any = None

    @classmethod
    def of(cls, make: Callable[[], Any]) -> "_Ahead":
        """Return the wrapped environment that `make` creates."""
        return cls(make())

    def begin(self, action: Any) -> None:
        """Compute the next step; store its result or exception until `step` is called."""
        try:
            self._made = self.env.step(action)
        except Exception as error:  # `step` raises it, in the order of the environments
            self._made = error

    def step(self, action: Any) -> Any:
        """Return the step computed in advance, or make a step."""
        outcome, self._made = self._made, None
        if isinstance(outcome, Exception):
            raise outcome
        return self.env.step(action) if outcome is None else outcome

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start another episode."""
        self._made = None
        return self.env.reset(seed=seed, options=options)


def vector_of(task: str, num_envs: int = 1, *, threads: int | None = None, **kwargs: Any) -> ExactVectorEnv:
    """Return `num_envs` environments of a registered task, for `gymnasium.make_vec`.

    copy, observation_mode and autoreset_mode are arguments of `ExactVectorEnv`; all others are passed to the
    task.
    """
    defaults = {
        name: kwargs.pop(name) for name in ("copy", "observation_mode", "autoreset_mode") if name in kwargs
    }
    return ExactVectorEnv([partial(gymnasium.make, task, **kwargs)] * num_envs, threads=threads, **defaults)
