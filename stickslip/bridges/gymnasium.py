"""Gymnasium's MuJoCo tasks with exact contact, and any environment of that family.

import gymnasium
from stickslip.bridges.gymnasium import exact  # this import registers the tasks

env = gymnasium.make("stickslip/Ant-v0")
env = exact(MyEnv())  # of `gymnasium.envs.mujoco.MujocoEnv`
envs = gymnasium.make_vec("stickslip/Ant-v0", num_envs=16, threads=2)
"""

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, TypeVar

from stickslip.bridges.gymnasium_vector import ExactVectorEnv as ExactVectorEnv
from stickslip.bridges.gymnasium_vector import vector_of
from stickslip.bridges.substeps import Contact, Substeps
from stickslip.extras import needed
from stickslip.state import ModelError

WHAT = "the Gymnasium bridge"
gymnasium = needed("gymnasium", WHAT)
for _package in ("glfw", "imageio"):  # required by Gymnasium's MuJoCo environments
    needed(_package, WHAT)
MujocoEnv: Any = needed("gymnasium.envs.mujoco", WHAT).MujocoEnv
Env = TypeVar("Env")

TASKS = (
    "Ant", "HalfCheetah", "Hopper", "Humanoid", "HumanoidStandup", "InvertedDoublePendulum",
    "InvertedPendulum", "Pusher", "Reacher", "Swimmer", "Walker2d",
)  # fmt: skip
"""Names of Gymnasium's tasks, version 5, which are registered as `stickslip/Ant-v0` and so on."""


class ExactContact:
    """Mixin for hard contact in a MuJoCo environment: `class Mine(ExactContact, MyEnv)`.

    Spaces, observations, rewards and resets are those of the environment. `data` has the state after a step;
    its
    other quantities are at the time at which MuJoCo's integrator of the model would leave them.
    """

    contact: Contact = Contact()
    """Options of contact; subclasses may override them."""
    _substeps: Substeps | None = None

    if TYPE_CHECKING:
        model: Any
        data: Any

    def _step_mujoco_simulation(self, ctrl: Any, n_frames: int) -> None:
        """Make `n_frames` steps with these controls."""
        if self._substeps is None or not self._substeps.fits(self.model):
            self._substeps = Substeps(self.model, self.contact)
        self.data.ctrl[:] = ctrl
        self._substeps.make(self.model, self.data, n_frames)

    def set_state(self, qpos: Any, qvel: Any) -> None:
        """Set positions and velocities, and discard the memory of previous steps."""
        self._forget()
        super().set_state(qpos, qvel)  # type: ignore[misc]

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        """Start another episode."""
        self._forget()
        return super().reset(seed=seed, options=options)  # type: ignore[misc]

    @property
    def residual(self) -> float:
        """Largest unit-free natural residual of the substeps of the last step [-], by the judge."""
        return 0.0 if self._substeps is None else self._substeps.residual

    def _forget(self) -> None:
        if self._substeps is not None:
            self._substeps.forget()


def exact(env: Env, **contact: Any) -> Env:
    """Return an environment with exact contact, which replaces `env` and shares its model and data.

    If `env` is wrapped, the innermost environment is replaced and the wrappers are kept. Options are those of
    `Contact`: `exact(env, restitution=0.5)`. The class of the result cannot be pickled; if this is required,
    define a class with `ExactContact` as its first base.
    """
    inner: Any = getattr(env, "unwrapped", env)
    if not isinstance(inner, MujocoEnv):
        raise ModelError(
            f"{type(inner).__name__} is not an environment of MuJoCo; give a gymnasium.envs.mujoco.MujocoEnv"
        )
    kind: Any = type(inner)
    copy: Any = object.__new__(_exact_class(kind, replace(_contact_of(inner), **contact)))
    copy.__dict__.update(inner.__dict__ | {"_substeps": None})
    if env is inner:
        return copy  # type: ignore[no-any-return]
    wrapper: Any = env
    while wrapper.env is not inner:
        wrapper = wrapper.env
    wrapper.env = copy
    return env


def _contact_of(env: Any) -> Contact:
    return env.contact if isinstance(env, ExactContact) else Contact()


@cache
def _exact_class(original: Any, contact: Contact) -> type:
    """Return a subclass of `original` with this contact."""
    bases = (original,) if issubclass(original, ExactContact) else (ExactContact, original)
    doc = f"{original.__name__} with exact contact."
    return type(original.__name__, bases, {"__module__": __name__, "__doc__": doc, "contact": contact})


def _register(task: str) -> type:
    """Register a task of Gymnasium with exact contact, and return its class."""
    spec, name = gymnasium.spec(f"{task}-v5"), f"{task}Env"
    original = gymnasium.envs.registration.load_env_creator(spec.entry_point)
    doc = f"Gymnasium's {task}-v5 with exact contact."
    gymnasium.register(
        f"stickslip/{task}-v0", f"{__name__}:{name}", reward_threshold=spec.reward_threshold,
        max_episode_steps=spec.max_episode_steps, kwargs=dict(spec.kwargs),
        vector_entry_point=f"{__name__}:{task}VectorEnv",
    )  # fmt: skip
    return type(name, (ExactContact, original), {"__module__": __name__, "__doc__": doc})


globals().update({f"{_task}Env": _register(_task) for _task in TASKS})
globals().update({f"{_task}VectorEnv": partial(vector_of, f"stickslip/{_task}-v0") for _task in TASKS})
