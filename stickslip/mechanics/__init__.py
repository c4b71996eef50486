"""Worlds of rigid bodies: shapes, materials, joints, forces, and the builder of worlds."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.mechanics.builder import WorldBuilder as WorldBuilder
    from stickslip.mechanics.given import rotation as rotation
    from stickslip.mechanics.parameters import Parameters as Parameters
    from stickslip.mechanics.world import BodyKind as BodyKind
    from stickslip.mechanics.world import World as World
else:
    __getattr__, __dir__ = door(__name__)
