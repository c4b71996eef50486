"""Conversions in pairs: a new problem, and the way back for its answer.

Each returns a `Conversion`: `problem` to be solved, `recover` which turns its answer into one of
the original, judged on the original.
"""

from stickslip.problem.convert.box import box_to_contacts, contacts_to_box
from stickslip.problem.convert.conversion import Answer, Contacts, Conversion
from stickslip.problem.convert.dissipation_smoothed import smoothed_dissipation
from stickslip.problem.convert.motion import motion_mcp
from stickslip.problem.convert.reduce import reduce_to_contacts
from stickslip.problem.convert.units import change_coordinates, group_starts, rescale, unit_free

__all__ = [
    "Answer",
    "Contacts",
    "Conversion",
    "box_to_contacts",
    "change_coordinates",
    "contacts_to_box",
    "group_starts",
    "motion_mcp",
    "reduce_to_contacts",
    "rescale",
    "smoothed_dissipation",
    "unit_free",
]
