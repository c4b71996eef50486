"""Gymnasium's tasks with exact contact: as the originals where nothing touches, and by closed forms where it
does."""

import pickle
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip import extras

gymnasium = pytest.importorskip("gymnasium", reason="the extra gymnasium is not installed")
pytest.importorskip("glfw", reason="the extra gymnasium is not installed")
mujoco = pytest.importorskip("mujoco")

from gymnasium.envs.mujoco import MujocoEnv  # noqa: E402
from gymnasium.utils.env_checker import check_env  # noqa: E402

from stickslip.bridges import gymnasium as bridge  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:gymnasium")  # of spaces without bounds
FLAGS = mujoco.mjtDisableBit
UNTOUCHED = int(FLAGS.mjDSBL_CONTACT) | int(FLAGS.mjDSBL_LIMIT) | int(FLAGS.mjDSBL_FRICTIONLOSS)
SLOPE = """<mujoco><option timestep="0.005" gravity="{x} 0 {z}" integrator="{integrator}"/><worldbody>
<geom type="plane" size="5 5 1" friction="{mu} 0 0"/>
<body name="box" pos="0 0 {height}"><freejoint/><site name="middle"/>
<geom name="box" type="box" size="0.1 0.1 0.1" mass="2" friction="{mu} 0 0"/></body></worldbody>
<actuator><motor site="middle" gear="1 0 0 0 0 0" ctrlrange="-1 1"/></actuator></mujoco>"""
WEIGHT = 2.0 * 9.81


@pytest.fixture(autouse=True)
def _logs_of_mujoco(tmp_path, monkeypatch):
    """MuJoCo writes its warnings to a file where it is run: half-cheetah's model is of an older form."""
    monkeypatch.chdir(tmp_path)


class BoxEnv(MujocoEnv):
    """An environment as users write them: a box on a slope."""

    metadata = {"render_modes": ["human", "rgb_array", "depth_array", "rgbd_tuple"], "render_fps": 50}  # noqa: RUF012

    def __init__(self, path):
        super().__init__(str(path), 4, gymnasium.spaces.Box(-np.inf, np.inf, (13,), np.float64))

    def step(self, action):
        self.do_simulation(action, self.frame_skip)
        return self.state_vector(), 0.0, False, False, {}

    def reset_model(self):
        self.set_state(self.init_qpos, self.init_qvel)
        return self.state_vector()


class ExactBoxEnv(bridge.ExactContact, BoxEnv):
    """The same by the class."""

    contact = bridge.Contact(restitution=0.5)


def box_on_slope(folder, angle=0.0, mu=0.5, height=0.1, integrator="Euler"):
    x, z = 9.81 * np.sin(angle), -9.81 * np.cos(angle)
    path = folder / "box.xml"
    path.write_text(SLOPE.format(x=x, z=z, mu=mu, height=height, integrator=integrator))
    return path


def both(task, **how):
    return gymnasium.make(f"stickslip/{task}-v0", **how), gymnasium.make(f"{task}-v5", **how)


def episode(env, steps, seed=0, size=1.0):
    """Observations, rewards and ends of steps with random actions."""
    env.action_space.seed(seed)
    found = [(env.reset(seed=seed)[0], 0.0, False)]
    for _ in range(steps):
        observation, reward, terminated, _, info = env.step(size * env.action_space.sample())
        found.append((observation, reward, terminated))
    return np.array([one[0] for one in found]), np.array([one[1] for one in found]), found[-1][2], info


@pytest.mark.parametrize("task", bridge.TASKS)
def test_spaces_resets_and_limits_of_the_originals(task):
    ours, theirs = both(task)
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata == theirs.metadata
    for name in ("max_episode_steps", "reward_threshold", "kwargs"):
        assert getattr(ours.spec, name) == getattr(theirs.spec, name)
    for seed in (0, 7):
        (a, told), (b, original) = ours.reset(seed=seed), theirs.reset(seed=seed)
        assert np.array_equal(a, b)
        assert told.keys() == original.keys()
        assert all(np.array_equal(told[name], original[name]) for name in told)
        ours.step(ours.action_space.sample())


@pytest.mark.parametrize("task", bridge.TASKS)
def test_its_own_checker(task):
    check_env(gymnasium.make(f"stickslip/{task}-v0").unwrapped, skip_render_check=True)


@pytest.mark.parametrize("task", bridge.TASKS)
def test_steps_without_contact_are_those_of_the_originals_by_the_same_rule(task):
    """With MuJoCo's `implicitfast` and without springs both schemes are the same equations."""
    ours, theirs = both(task)
    for env in (ours, theirs):
        model = env.unwrapped.model
        model.opt.disableflags |= UNTOUCHED
        model.opt.integrator = mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        model.jnt_stiffness[:] = 0.0
        model.tendon_stiffness[:] = 0.0
    a, b = episode(ours, 5, size=0.3), episode(theirs, 5, size=0.3)
    np.testing.assert_allclose(a[0], b[0], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(a[1], b[1], rtol=1e-9, atol=1e-7)
    assert a[2] == b[2]
    assert a[3].keys() == b[3].keys()
    for name in a[3]:
        np.testing.assert_allclose(a[3][name], b[3][name], rtol=1e-9, atol=1e-7)
    np.testing.assert_allclose(ours.unwrapped.data.time, theirs.unwrapped.data.time, rtol=0.0, atol=0.0)


def difference(task, finer):
    """Of observations and rewards after a few steps without contact, with steps so many times shorter."""
    ours, theirs = both(task)
    found = []
    for env in (ours, theirs):
        inner = env.unwrapped
        inner.model.opt.disableflags |= UNTOUCHED
        inner.model.opt.timestep /= finer
        inner.frame_skip *= finer
        found.append(episode(env, 3, size=0.3))
    observations = np.abs(found[0][0] - found[1][0]).max() / np.abs(found[1][0]).max()
    rewards = np.abs(found[0][1] - found[1][1]).max() / np.abs(found[1][1]).max()
    return np.array([observations, rewards])


@pytest.mark.parametrize("task", bridge.TASKS)
def test_steps_without_contact_tend_to_those_of_the_originals(task):
    coarse, fine = difference(task, 4), difference(task, 16)
    assert (coarse < 0.1).all()
    assert (fine <= 0.4 * coarse + 1e-9).all()


def forces_of(model, data):
    """Of all contacts, in their frames [N, N m]."""
    forces = np.zeros((data.ncon, 6))
    for k, force in enumerate(forces):
        mujoco.mj_contactForce(model, data, k, force)
    return forces


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
def test_a_box_on_a_slope_stays_where_it_is_and_its_contacts_carry_it(tmp_path, integrator):
    angle = 0.4
    path = box_on_slope(tmp_path, angle, 0.5, integrator=integrator)
    env, soft = bridge.exact(BoxEnv(path)), BoxEnv(path)
    for one in (env, soft):
        one.reset(seed=0)
        for _ in range(100):
            one.step(np.zeros(1))
    assert np.abs(env.data.qpos - env.init_qpos).max() < 1e-9
    assert soft.data.qpos[0] > 1e-3
    forces = forces_of(env.model, env.data)
    assert env.data.ncon == 4
    np.testing.assert_allclose(forces[:, 0].sum(), WEIGHT * np.cos(angle), rtol=1e-7)
    carrying = WEIGHT * np.array([-np.sin(angle), 0.0, np.cos(angle)])
    np.testing.assert_allclose(env.data.cfrc_ext[1, 3:], carrying, atol=1e-6)
    # The forces turn it nowhere: about its centre they have no moment.
    np.testing.assert_allclose(env.data.cfrc_ext[1, :3], 0.0, atol=1e-6)
    np.testing.assert_allclose(env.data.xpos[1], env.data.qpos[:3], atol=1e-9)


def test_a_box_slides_by_coulombs_law(tmp_path):
    angle, mu, t = 0.4, 0.2, 0.4
    env = bridge.exact(BoxEnv(box_on_slope(tmp_path, angle, mu)))
    env.reset(seed=0)
    for _ in range(20):
        env.step(np.zeros(1))
    acceleration = 9.81 * (np.sin(angle) - mu * np.cos(angle))
    assert env.data.time == pytest.approx(t)
    np.testing.assert_allclose(env.data.qvel[0], acceleration * t, rtol=1e-6)


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast"])
def test_bodies_lag_behind_the_state_as_in_the_originals(tmp_path, integrator):
    path = box_on_slope(tmp_path, height=1.0, integrator=integrator)
    for env in (bridge.exact(BoxEnv(path)), BoxEnv(path)):
        env.reset(seed=0)
        env.step(np.zeros(1))
        data, h = env.data, env.model.opt.timestep
        lag = 0.0 if integrator == "RK4" else h * data.qvel[2]
        np.testing.assert_allclose(data.qpos[2] - data.xpos[1, 2], lag, rtol=1e-9, atol=1e-12)


def test_a_wrapped_environment_keeps_its_wrappers_and_a_class_gives_the_same_bits(tmp_path):
    path = box_on_slope(tmp_path, 0.4, 0.2, height=0.3)
    wrapped = gymnasium.wrappers.TimeLimit(BoxEnv(path), 30)
    env = bridge.exact(wrapped, restitution=0.5)
    assert env is wrapped
    assert isinstance(env.unwrapped, BoxEnv)
    made, same = episode(env, 30), episode(ExactBoxEnv(path), 30)
    assert np.array_equal(made[0], same[0])
    assert made[0][:, 9].max() > 0.5  # it bounces
    still = episode(bridge.exact(env, restitution=0.0), 30)
    assert still[0][:, 9].max() < 1e-9


def test_contacts_that_are_only_near_are_not_told(tmp_path):
    env = bridge.exact(BoxEnv(box_on_slope(tmp_path, height=0.105)))
    env.reset(seed=0)
    env._step_mujoco_simulation(np.zeros(1), 1)
    assert env.data.ncon == 0
    assert not env.data.cfrc_ext.any()


def test_what_is_written_to_the_data_counts(tmp_path):
    env = bridge.exact(BoxEnv(box_on_slope(tmp_path, height=1.0)))
    env.reset(seed=0)
    env.data.xfrc_applied[1, 1] = 3.0
    env.step(np.ones(1))
    np.testing.assert_allclose(env.data.qvel[:3], 0.02 * np.array([0.5, 1.5, -9.81]), rtol=1e-12)
    env.data.qvel[:] = 0.0
    env.data.xfrc_applied[:] = 0.0
    env.step(np.zeros(1))
    np.testing.assert_allclose(env.data.qvel[:3], 0.02 * np.array([0.0, 0.0, -9.81]), atol=1e-14)
    # A model that was changed is taken up by the next episode.
    env.model.opt.gravity[:] = 0.0
    env.reset(seed=0)
    env.step(np.zeros(1))
    assert not env.data.qvel.any()


def test_mocap_bodies_and_equalities_follow_the_data(tmp_path):
    path = tmp_path / "held.xml"
    path.write_text("""<mujoco><option timestep="0.005"/><worldbody>
    <body name="hand" mocap="true" pos="0 0 1"/>
    <body name="box" pos="0 0 1"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="2"/><site name="s"/>
    </body></worldbody><equality><weld body1="hand" body2="box" active="false"/></equality>
    <actuator><motor site="s" ctrlrange="-1 1"/></actuator></mujoco>""")
    env = bridge.exact(BoxEnv(path))
    env.reset(seed=0)
    env.step(np.zeros(1))
    assert env.data.qvel[2] == pytest.approx(-9.81 * 0.02)
    env.data.eq_active[0] = 1
    for _ in range(20):
        env.step(np.zeros(1))
    np.testing.assert_allclose(env.data.qpos[:3], [0.0, 0.0, 1.0], atol=1e-6)
    np.testing.assert_allclose(env.data.efc_force[:3], [0.0, 0.0, -WEIGHT], atol=1e-5)
    env.data.mocap_pos[0] = 0.01, 0.0, 1.0
    for _ in range(20):
        env.step(np.zeros(1))
    np.testing.assert_allclose(env.data.qpos[:3], [0.01, 0.0, 1.0], atol=1e-6)


def test_forces_of_limits_are_those_that_hold_them(tmp_path):
    path = tmp_path / "rod.xml"
    path.write_text("""<mujoco><option timestep="0.005"/><worldbody><body pos="0 0 1">
    <joint name="hinge" axis="0 1 0" range="-20 0" limited="true"/>
    <geom type="sphere" pos="1 0 0" size="0.1" mass="2"/></body></worldbody>
    <actuator><motor joint="hinge" ctrlrange="-1 1"/></actuator>
    <sensor><jointlimitfrc joint="hinge"/></sensor></mujoco>""")

    class RodEnv(BoxEnv):
        pass

    env = bridge.exact(RodEnv(path))
    env.reset(seed=0)
    env.step(np.zeros(1))
    assert abs(env.data.qpos[0]) < 1e-9
    np.testing.assert_allclose(env.data.efc_force[: env.data.nefc].sum(), WEIGHT, rtol=1e-7)
    np.testing.assert_allclose(env.data.sensordata, WEIGHT, rtol=1e-7)
    np.testing.assert_allclose(env.data.qfrc_constraint, -WEIGHT, rtol=1e-7)


@pytest.mark.parametrize("task", bridge.TASKS)
def test_seeds_reproduce_bit_for_bit(task):
    used, new = (gymnasium.make(f"stickslip/{task}-v0").unwrapped for _ in range(2))
    episode(used, 30, seed=3)
    a, b = episode(used, 30, seed=5), episode(new, 30, seed=5)
    assert np.array_equal(a[0], b[0])
    assert np.array_equal(a[1], b[1])
    assert used.residual == new.residual <= 1e-8


def test_resting_contacts_of_an_ant_carry_its_weight():
    env = gymnasium.make("stickslip/Ant-v0").unwrapped
    env.reset(seed=0)
    for _ in range(150):
        env.step(np.zeros(8))
    assert np.abs(env.data.qvel).max() < 1e-3
    weight = 9.81 * env.model.body_mass.sum()
    np.testing.assert_allclose(env.data.cfrc_ext[:, 5].sum() - env.data.cfrc_ext[0, 5], weight, rtol=1e-3)
    np.testing.assert_allclose(forces_of(env.model, env.data)[:, 0].sum(), weight, rtol=1e-3)


def test_steps_that_leave_compiled_code_are_the_same(monkeypatch):
    compiled = episode(gymnasium.make("stickslip/Hopper-v0"), 20, size=0.1)
    monkeypatch.setattr("stickslip.schemes.robot_march.RobotMarch.make", lambda *_: None)
    by_itself = episode(gymnasium.make("stickslip/Hopper-v0"), 20, size=0.1)
    np.testing.assert_allclose(by_itself[0], compiled[0], rtol=1e-6, atol=1e-6)


def test_tasks_can_be_pickled_and_made_in_numbers():
    env = pickle.loads(pickle.dumps(gymnasium.make("stickslip/Hopper-v0", frame_skip=2).unwrapped))
    assert type(env) is bridge.HopperEnv
    assert env.frame_skip == 2
    many = gymnasium.make_vec("stickslip/Hopper-v0", num_envs=2, vectorization_mode="sync")
    observation, _ = many.reset(seed=1)
    one = gymnasium.make("stickslip/Hopper-v0")
    assert np.array_equal(one.reset(seed=2)[0], observation[1])
    action = np.full((2, 3), 0.3, np.float32)
    assert np.array_equal(one.step(action[1])[0], many.step(action)[0][1])


def test_the_page_runs(capsys):
    page, names = Path(__file__).parents[2] / "docs" / "gymnasium.md", {"__name__": "page"}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), names)
    assert capsys.readouterr().out == "True\n(4, 11)\n"
    shown = re.findall(r"`stickslip/(\w+)-v0` \|", page.read_text())
    assert sorted(shown) == sorted(bridge.TASKS)
    assert names["BouncingHopper"]().contact.restitution == 0.3


def test_a_step_that_misses_its_tolerance_is_told_or_accepted(tmp_path):
    path, unreachable = box_on_slope(tmp_path, 0.4, 0.2), 1e-30
    env = bridge.exact(BoxEnv(path), tolerance=unreachable)
    env.reset(seed=0)
    with pytest.raises(ss.SimulationFailure, match="missed its tolerance"):
        env.step(np.zeros(1))
    env = bridge.exact(env, on_failure="accept")
    env.reset(seed=0)
    env.step(np.zeros(1))
    assert unreachable < env.residual < 1e-6


def test_what_goes_wrong_is_told(tmp_path, monkeypatch):
    with pytest.raises(ss.ModelError, match="CartPoleEnv is not an environment of MuJoCo"):
        bridge.exact(gymnasium.make("CartPole-v1"))
    env = BoxEnv(box_on_slope(tmp_path))
    with pytest.raises(TypeError, match="restituton"):
        bridge.exact(env, restituton=0.5)
    with pytest.raises(ValueError, match="tolerance must lie in"):
        bridge.exact(env, tolerance=2.0)
    env = bridge.exact(env)
    env.reset(seed=0)
    env.data.qvel[0] = np.nan
    with pytest.raises(ss.ModelError, match="not finite"):
        env.step(np.zeros(1))

    monkeypatch.setitem(sys.modules, "glfw", None)
    with pytest.raises(extras.MissingPackage, match=r'pip install "stickslip\[gymnasium\]"'):
        extras.needed("glfw", "a task")


def test_a_step_that_failed_is_not_made_again():
    """An action that is not finite is refused, and the next one begins where the environment is."""
    env, other = (gymnasium.make("stickslip/Hopper-v0") for _ in range(2))
    actions = np.linspace(-0.5, 0.5, 6).reshape(2, 3)
    for each in (env, other):
        each.reset(seed=0)
    for action in actions:
        with pytest.raises(ss.ModelError, match="MuJoCo warns"):
            env.step(np.full(3, np.nan))
        assert np.array_equal(env.step(action)[0], other.step(action)[0])
