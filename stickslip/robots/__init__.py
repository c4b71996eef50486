"""ROBOTS YOU LOAD: models in MJCF and URDF, which MuJoCo reads, in reduced coordinates."""

from stickslip.robots.robot import Robot

__all__ = ["Robot"]
