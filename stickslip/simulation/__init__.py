"""The only loop over time: `simulate` carries a system to the end and keeps what happened."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.simulation.checkpoint import Checkpoint as Checkpoint
    from stickslip.simulation.failure import SimulationFailure as SimulationFailure
    from stickslip.simulation.trajectory import Trajectory as Trajectory
    from stickslip.simulation.world_checkpoint import WorldCheckpoint as WorldCheckpoint
    from stickslip.simulation.world_contacts import ContactTable as ContactTable
    from stickslip.simulation.world_record import WorldRecord as WorldRecord
    from stickslip.simulation.world_trajectory import WorldTrajectory as WorldTrajectory
else:
    __getattr__, __dir__ = door(__name__)
