"""Vector environments of Gymnasium whose environments take their steps on threads.

Compiled steps of `ExactContact` let go of the interpreter's lock, so environments in one process run side by
side. Each is a single environment with all its bits; what is done with what they give is Gymnasium's own
`SyncVectorEnv`: autoreset modes, spaces, infos.
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
    """Environments whose steps are made on threads, each with the bits of a single one.

    envs = ExactVectorEnv([make] * 16, threads=2, autoreset_mode="SameStep")
    observations, infos = envs.reset(seed=0)

    Of environments with `ExactContact`, whatever else they do; those that share objects which are not safe on
    threads belong into one thread, the default.
    """

    def __init__(
        self, env_fns: Sequence[Callable[[], Any]], *, threads: int | None = None, copy: bool = True,
        observation_mode: Any = "same", autoreset_mode: Any = AutoresetMode.NEXT_STEP,
    ):  # fmt: skip
        """threads: most of them, 1 unless given or allowed by `ss.use_threads`; the rest is that of
        `gymnasium.vector.SyncVectorEnv`."""
        self.threads = allowed_threads() if threads is None else checked_number(threads)
        making = [partial(_Ahead.of, one) for one in env_fns]
        super().__init__(making, copy, observation_mode, autoreset_mode)

    def step(self, actions: Any) -> Any:
        """A step of each environment; those that are to be reset in its place are."""
        rests = self._autoreset_envs
        if self.autoreset_mode != AutoresetMode.DISABLED or not rests.any():
            given = gymnasium.vector.utils.iterate(self.action_space, actions)
            steps = [
                partial(env.begin, action)
                for env, action, is_reset in zip(self.envs, given, rests, strict=True)
                if not (is_reset and self.autoreset_mode == AutoresetMode.NEXT_STEP)
            ]
            with Team(self.threads) as team:
                team.run(steps)
        return super().step(actions)


class _Ahead(Wrapper):  # type: ignore[misc]
    """An environment whose step may be made before it is asked for."""

    _made: Any = None

    @classmethod
    def of(cls, make: Callable[[], Any]) -> "_Ahead":
        """That which a function makes."""
        return cls(make())

    def begin(self, action: Any) -> None:
        """Make the step that is asked for next, or keep what it raises until then."""
        try:
            self._made = self.env.step(action)
        except Exception as error:  # of several environments the first one's goes up, whoever is faster
            self._made = error

    def step(self, action: Any) -> Any:
        """The step that was made ahead."""
        made, self._made = self._made, None
        if isinstance(made, Exception):
            raise made
        return self.env.step(action) if made is None else made

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Begin another episode."""
        self._made = None
        return self.env.reset(seed=seed, options=options)


def vector_of(task: str, num_envs: int = 1, *, threads: int | None = None, **kwargs: Any) -> ExactVectorEnv:
    """So many environments of a task that is registered, for `gymnasium.make_vec`.

    copy, observation_mode and autoreset_mode are those of `ExactVectorEnv`; the others those of the task.
    """
    own = {
        name: kwargs.pop(name) for name in ("copy", "observation_mode", "autoreset_mode") if name in kwargs
    }
    return ExactVectorEnv([partial(gymnasium.make, task, **kwargs)] * num_envs, threads=threads, **own)
