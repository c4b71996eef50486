"""Time-stepping schemes: how a nonsmooth system is integrated over one time step."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.schemes.adaptive import Adaptive as Adaptive
    from stickslip.schemes.bodies import SemiExplicitMoreauJean as SemiExplicitMoreauJean
    from stickslip.schemes.body_step import BodyScheme as BodyScheme
    from stickslip.schemes.body_world import PreparedWorld as PreparedWorld
    from stickslip.schemes.compliant import Compliant as Compliant
    from stickslip.schemes.euler_moreau import EulerMoreau as EulerMoreau
    from stickslip.schemes.event_driven import EventDriven as EventDriven
    from stickslip.schemes.moreau_jean import MoreauJean as MoreauJean
    from stickslip.schemes.prepared_system import PreparedSystem as PreparedSystem
    from stickslip.schemes.robot_prepared import PreparedRobot as PreparedRobot
    from stickslip.schemes.schatzman_paoli import SchatzmanPaoli as SchatzmanPaoli
    from stickslip.schemes.step import Event as Event
    from stickslip.schemes.step import Scheme as Scheme
    from stickslip.schemes.step import Step as Step
    from stickslip.schemes.variational import VariationalBodies as VariationalBodies
    from stickslip.schemes.variational_written import Variational as Variational
else:
    __getattr__, __dir__ = door(__name__)
