"""Members of a batch that are held, whatever goes wrong with them: the others go on."""

import numpy as np
import pytest
import robot_models

import stickslip as ss
from stickslip.simulation.batches.member import MemberStatus

H = 2e-3
BOX_WITH_ARM = """
<geom type="plane" size="9 9 .1"/>
<body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .05" mass="1"/>
  <body pos=".1 0 0"><joint axis="0 1 0"/>
    <geom type="capsule" fromto="0 0 0 .4 0 0" size=".03" mass="1"/></body></body>"""


@pytest.mark.parametrize("steps", [0, 1, 5])
@pytest.mark.parametrize("field", ["ctrl", "qvel", "xfrc_applied", "qfrc_applied"])
def test_a_robot_with_numbers_in_its_data_that_are_not_finite_is_held(field, steps):
    """As a run of its own ends with an error; the batch does not go on without what was written."""
    batch = ss.Batch(ss.Robot.load(robot_models.gripper()), 3, threads=2)
    for _ in range(steps):
        batch.step()
    getattr(batch.data[1], field)[:] = np.nan
    batch.step(3)
    assert batch.status.tolist() == [0, MemberStatus.REFUSED, 0]
    assert batch.steps.tolist() == [steps + 3, steps, steps + 3]
    live = ss.live(ss.Robot.load(robot_models.gripper()))
    for _ in range(steps):
        live.step()
    getattr(live.data, field)[:] = np.nan
    with pytest.raises(ss.ModelError) as single:
        live.step(3)
    assert batch.reasons[1] == str(single.value)
    batch.reset([1])
    batch.step()
    assert batch.steps.tolist() == [steps + 4, 1, steps + 4]


@pytest.mark.parametrize("power", [8, 20, 100])
def test_a_member_whose_numbers_overflow_warns_of_nothing(power):
    robot = ss.Robot.load(robot_models.scene(BOX_WITH_ARM))
    v = np.zeros((2, robot.model.nv))
    v[1, :6] = 10.0**power
    batch = ss.Batch(robot, 2, h=H)
    batch.reset(v=v)
    batch.step(10)
    assert batch.status[0] == 0
    assert batch.status[1] != 0
    assert batch.steps[0] == 10
