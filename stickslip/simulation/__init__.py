"""Runs of any model: live stepping (`Live`), complete runs (`simulate`), and their records (`Trajectory`)."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.simulation.batches.batch import BatchState as BatchState
    from stickslip.simulation.batches.member import MemberStatus as MemberStatus
    from stickslip.simulation.checkpoint import Checkpoint as Checkpoint
    from stickslip.simulation.contacts import ContactTable as ContactTable
    from stickslip.simulation.contacts import WorldContacts as WorldContacts
    from stickslip.simulation.failure import SimulationFailure as SimulationFailure
    from stickslip.simulation.joint_view import JointView as JointView
    from stickslip.simulation.live import Live as Live
    from stickslip.simulation.paces import Pace as Pace
    from stickslip.simulation.record import Record as Record
    from stickslip.simulation.trajectory import Trajectory as Trajectory
else:
    __getattr__, __dir__ = door(__name__)
