"""Sensors of a world: quantities measured along a run."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.mechanics.sensors import DistanceSensor as DistanceSensor
    from stickslip.mechanics.sensors import JointSensor as JointSensor
    from stickslip.mechanics.sensors import PositionSensor as PositionSensor
    from stickslip.mechanics.sensors import Reading as Reading
    from stickslip.mechanics.sensors import Sensor as Sensor
    from stickslip.mechanics.sensors import VelocitySensor as VelocitySensor
    from stickslip.mechanics.step_sensors import Accelerometer as Accelerometer
    from stickslip.mechanics.step_sensors import ContactSensor as ContactSensor
    from stickslip.mechanics.step_sensors import ForceSensor as ForceSensor
    from stickslip.mechanics.step_sensors import Gyroscope as Gyroscope
    from stickslip.mechanics.step_sensors import TorqueSensor as TorqueSensor
else:
    __getattr__, __dir__ = door(__name__)
