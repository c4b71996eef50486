"""Vector environments on threads: each environment has the bits of a single one, in every autoreset mode."""

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium", reason="the extra gymnasium is not installed")
pytest.importorskip("glfw", reason="the extra gymnasium is not installed")
pytest.importorskip("mujoco")

from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402
from gymnasium.wrappers.vector import RecordEpisodeStatistics  # noqa: E402

from stickslip.bridges import gymnasium as bridge  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:gymnasium")  # of spaces without bounds
N, EPISODE = 3, 6


@pytest.fixture(autouse=True)
def _logs_of_mujoco(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a file where it is run."""
    monkeypatch.chdir(tmp_path)


def made(task, threads=2, mode="NextStep"):
    return gymnasium.make_vec(
        f"stickslip/{task}-v0", num_envs=N, threads=threads, autoreset_mode=mode, max_episode_steps=EPISODE
    )


def single(task):
    return [gymnasium.make(f"stickslip/{task}-v0", max_episode_steps=EPISODE) for _ in range(N)]


@pytest.mark.parametrize("task", bridge.TASKS)
def test_every_task_has_the_bits_of_single_environments(task):
    """The step after the end of an episode is a reset."""
    envs, alone = made(task), single(task)
    assert isinstance(envs, bridge.ExactVectorEnv)
    observations, _ = envs.reset(seed=5)
    given = [env.reset(seed=5 + k)[0] for k, env in enumerate(alone)]
    assert np.array_equal(observations, given)
    envs.action_space.seed(0)
    over = [False] * N
    for _ in range(EPISODE + 3):
        actions = envs.action_space.sample()
        observations, rewards, terminations, truncations, _ = envs.step(actions)
        for k, env in enumerate(alone):
            found = (env.reset()[0], 0.0, False, False) if over[k] else env.step(actions[k])
            assert np.array_equal(observations[k], found[0])
            assert (rewards[k], terminations[k], truncations[k]) == tuple(found[1:4])
            over[k] = found[2] or found[3]
    for env, other in zip(envs.envs, alone, strict=True):
        assert env.unwrapped.residual == other.unwrapped.residual <= 1e-8
    envs.close()


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_modes_of_reset_are_those_of_gymnasium(mode, threads):
    envs = made("Hopper", threads, mode)
    known = gymnasium.vector.SyncVectorEnv(
        [lambda env=env: env for env in single("Hopper")], autoreset_mode=mode
    )
    assert envs.metadata["autoreset_mode"] is mode
    for one in (envs, known):
        one.reset(seed=1)
    envs.action_space.seed(0)
    for _ in range(2 * EPISODE + 2):
        actions = envs.action_space.sample()
        ours, theirs = envs.step(actions), known.step(actions)
        assert ours[0] in envs.observation_space
        for a, b in zip(ours[:4], theirs[:4], strict=True):
            assert np.array_equal(a, b)
        assert sorted(ours[4]) == sorted(theirs[4])
        if "final_obs" in theirs[4]:
            assert all(map(np.array_equal, ours[4]["final_obs"], theirs[4]["final_obs"]))
        over = theirs[2] | theirs[3]
        if mode is AutoresetMode.DISABLED and over.any():
            with pytest.raises(AssertionError):
                envs.step(actions)
            again = [one.reset(options={"reset_mask": over})[0] for one in (envs, known)]
            assert np.array_equal(*again)


def test_the_checker_of_gymnasium_and_its_wrappers():
    envs = made("InvertedPendulum")
    check_env(envs.envs[0].unwrapped, skip_render_check=True)
    counted = RecordEpisodeStatistics(made("Swimmer"))
    counted.reset(seed=0)
    for _ in range(EPISODE):
        *_, infos = counted.step(counted.action_space.sample())
    assert infos["episode"]["l"].tolist() == [EPISODE] * N


class Broken(gymnasium.Env):
    """An environment whose step fails when it is told to."""

    observation_space = action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def __init__(self, name):
        self.name = name

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(1), {}

    def step(self, action):
        if action[0] > 0.5:
            raise RuntimeError(self.name)
        return np.array(action), 0.0, False, False, {}


def test_what_an_environment_raises_goes_up_and_the_others_go_on():
    envs = bridge.ExactVectorEnv([lambda k=k: Broken(f"environment {k}") for k in range(3)], threads=2)
    envs.reset(seed=0)
    with pytest.raises(RuntimeError, match="environment 1"):
        envs.step(np.array([[0.1], [0.9], [0.9]]))
    observations = envs.step(np.array([[0.2], [0.3], [0.4]]))[0]
    assert observations.ravel().tolist() == [0.2, 0.3, 0.4]
    with pytest.raises(ValueError, match="threads is 0"):
        bridge.ExactVectorEnv([lambda: Broken("one")], threads=0)
