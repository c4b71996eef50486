"""Joints: kinds of joints of worlds, and relations that constrain Newton–Euler bodies."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.mechanics.joints import JointKind as JointKind
    from stickslip.systems.newton_euler_joints import BallJoint as BallJoint
    from stickslip.systems.newton_euler_joints import DistanceJoint as DistanceJoint
    from stickslip.systems.newton_euler_joints import FixedJoint as FixedJoint
    from stickslip.systems.newton_euler_joints import HingeJoint as HingeJoint
    from stickslip.systems.newton_euler_joints import SliderJoint as SliderJoint
else:
    __getattr__, __dir__ = door(__name__)
