"""MuJoCo's memory for contacts: a run stops before it is full, since a full one would end the process."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import mujoco
import numpy as np
import pytest
from robot_models import four_bar, scene

import stickslip as ss
from stickslip import Robot
from stickslip.bridges.substeps import Contact, Substeps
from stickslip.detection.mujoco_library import Warnings
from stickslip.kernels.robots.steps import scratch_needed
from stickslip.schemes import robot_prepared
from stickslip.schemes.robot_prepared import PreparedRobot

H = 2e-3


def boxes(memory="", n=30, height=0.08):
    """Boxes above a floor, side by side, with so little memory."""
    size = f'<size memory="{memory}"/>' if memory else ""
    bodies = "".join(
        f'<body pos="{0.13 * (k % 6)} {0.13 * (k // 6)} {height}"><freejoint/>'
        '<geom type="box" size=".05 .05 .05"/></body>'
        for k in range(n)
    )
    return scene('<geom type="plane" size="9 9 .1"/>' + bodies, h=H).replace("<mujoco>", f"<mujoco>{size}")


@pytest.fixture
def no_spare(monkeypatch):
    """A robot has as little memory as its file says."""
    monkeypatch.setattr(robot_prepared, "set_arena", lambda *_: None)


@pytest.fixture
def no_forecast(monkeypatch, no_spare):
    """Nobody looks whether memory is left: MuJoCo itself finds none, in the middle of a step."""
    monkeypatch.setattr(PreparedRobot, "check_memory", lambda _: None)
    monkeypatch.setattr(PreparedRobot, "crowded", False)
    monkeypatch.setattr(PreparedRobot, "_engine", _with_plenty)


def _with_plenty(prepared, make=PreparedRobot._engine):
    """An engine that reads a large number in the place of the size of MuJoCo's memory."""
    made, prepared.plenty = make(prepared), np.array([2**40])
    return made._replace(at=made.at._replace(narena=prepared.plenty.ctypes.data))


def test_files_that_ask_for_little_get_what_mujoco_takes_by_itself():
    """With the memory of the file MuJoCo leaves out contacts; here the run is that with memory enough."""
    small, plain = Robot.load(boxes("20K")), Robot.load(boxes())
    with Warnings() as said:
        mujoco.mj_step(small.model, mujoco.MjData(small.model), 60)
    assert "memory is full" in said[0]
    runs = [ss.simulate(one, until=60 * H) for one in (small, plain)]
    assert runs[0].q.tobytes() == runs[1].q.tobytes()
    assert runs[0].verdicts.max() == 0
    assert PreparedRobot(plain).data.narena >= 4 * plain.model.narena


def test_a_run_that_fills_the_memory_is_an_error(no_spare):
    """Boxes fall, and contacts come when they arrive: records up to then are kept."""
    live = ss.live(Robot.load(boxes("200K")))
    with pytest.raises(ss.ModelError, match=r"memory of MuJoCo is too small.*<size memory=\"\d+M\"/>"):
        live.step(200)
    assert 0.0 < live.t < 0.1
    assert np.isfinite(live.run().q).all()


def test_a_start_that_fills_the_memory_is_an_error(no_spare):
    with pytest.raises(ss.ModelError, match="memory of MuJoCo is too small"):
        ss.simulate(Robot.load(boxes("50K", height=0.05)), until=0.02)


def test_steps_by_themselves_are_refused_likewise(no_spare):
    live = ss.live(Robot.load(boxes("200K")), solver="nsgs")
    with pytest.raises(ss.ModelError, match="memory of MuJoCo is too small"):
        live.step(200)


def test_a_mocap_body_that_is_nowhere_is_an_error():
    live = ss.live(Robot.load(boxes().replace("<worldbody>", '<worldbody><body name="m" mocap="true"/>')))
    live.data.mocap_pos[0] = np.nan
    with pytest.raises(ss.ModelError, match="mocap"):
        live.step()


def test_data_of_somebody_else_keeps_its_memory():
    """MuJoCo copies data without a look at sizes: the copy has that of its owner, and is refused in time."""
    model = mujoco.MjModel.from_xml_string(boxes(height=0.051))
    data, steps = mujoco.MjData(model), Substeps(model, Contact())
    steps.make(model, data, 3)
    assert data.narena == model.narena
    small = mujoco.MjModel.from_xml_string(boxes("200K"))
    data, steps = mujoco.MjData(small), Substeps(small, Contact())
    with pytest.raises(ss.ModelError, match="memory of MuJoCo is too small"):
        steps.make(small, data, 200)


ROOMS = ("20K", "40K", "80K", "150K")
"""Too small, each for another of MuJoCo's functions."""


@pytest.mark.parametrize("memory", ROOMS)
def test_an_error_of_mujoco_within_a_step_names_robot_and_time(no_forecast, memory):
    """By itself MuJoCo would end the process. What came before is kept, and the data can be used again."""
    robot = Robot.load(boxes(memory))
    live = ss.live(robot)
    said = r"the model: at t = 0\.\d+ s MuJoCo (has an error|warns): .*memory"
    with pytest.raises(ss.ModelError, match=said):
        live.step(200)
    assert 0.0 < live.t < 0.1
    assert live.run().verdicts.max() == 0
    plenty = ss.simulate(Robot.load(boxes()), until=live.t)
    np.testing.assert_array_equal(live.run().q[-1], plenty.q[-1])
    live.reset(robot.start)
    live.step(3)
    np.testing.assert_array_equal(live.state.q, plenty.q[3])


def test_steps_one_by_one_stop_likewise(no_forecast):
    live = ss.live(Robot.load(boxes("100K")), solver="nsgs")
    with pytest.raises(ss.ModelError, match=r"the model: at t = 0\.\d+ s MuJoCo (has an error|warns)"):
        live.step(200)
    assert 0.0 < live.t < 0.1


def test_threads_come_back_from_their_own_errors(no_forecast):
    """Four robots at once, two of them with too little memory."""
    robots = [Robot.load(boxes(memory)) for memory in ("100K", "", "150K", "")]

    def run(robot):
        try:
            return ss.simulate(robot, until=60 * H).q[-1]
        except ss.ModelError as error:
            return str(error)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(run, robots))
    assert all("MuJoCo" in found[k] for k in (0, 2))
    np.testing.assert_array_equal(found[1], found[3])


def test_an_error_does_not_end_the_process():
    """What the tests above state, in a process of its own that says so at its end."""
    code = """
import robot_models, stickslip as ss, numpy as np
from test_robot_memory import PreparedRobot, Robot, _with_plenty, boxes, robot_prepared
robot_prepared.set_arena = lambda *_: None
PreparedRobot.check_memory, PreparedRobot.crowded, PreparedRobot._engine = lambda _: None, False, _with_plenty
try:
    ss.simulate(Robot.load(boxes("100K")), until=0.2)
except ss.ModelError as error:
    print(error)
"""
    tests = Path(__file__).parents[1]
    path = os.pathsep.join([str(tests / "robots"), str(tests), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    assert "the model: at t = 0." in done.stdout
    assert "MuJoCo" in done.stdout


DRY = """<mujoco><option timestep="0.002"/><default>
<joint frictionloss="0.1" damping="0.1" range="-1 1"/></default>
<worldbody><geom type="plane" size="9 9 .1"/><body pos="0 0 .3"><freejoint/><geom size=".1"/>
<body pos=".2 0 0"><joint axis="0 1 0" limited="true"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/>
<body pos=".2 0 0"><joint axis="0 1 0" limited="true"/><geom type="capsule" fromto="0 0 0 .2 0 0" size=".03"/>
</body></body></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    "text",
    [boxes(n=1), boxes(n=12, height=0.0499), boxes(n=9, height=0.2), four_bar(), DRY],
    ids=["one box", "boxes at rest", "boxes that fall", "a loop", "dry joints"],
)
def test_the_scratch_of_a_step_has_room_for_all_that_is_taken(text):
    """Kernels do not look: the forecast is what keeps them within it."""
    live = Robot.load(text).live(record=10**6)
    prepared = live._prepared
    for _ in range(120):
        live.data  # noqa: B018  it is at the state
        needed = scratch_needed(int(prepared.data.nefc), prepared.motion)
        prepared.scratch.used[:] = 0
        live.step()
        used = prepared.scratch.used
        assert max(used[0], used[2]) <= needed[0]
        assert max(used[1], used[3]) <= needed[1]
