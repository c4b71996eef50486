"""Forces on the bodies of a world: springs, dampers, actuators, and forces that are functions."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.mechanics.forces import Actuator as Actuator
    from stickslip.mechanics.forces import BodyForce as BodyForce
    from stickslip.mechanics.forces import Damper as Damper
    from stickslip.mechanics.forces import Spring as Spring
    from stickslip.mechanics.inputs import DeclaredInput as DeclaredInput
    from stickslip.mechanics.inputs import Input as Input
else:
    __getattr__, __dir__ = door(__name__)
