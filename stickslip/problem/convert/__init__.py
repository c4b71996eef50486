"""Conversions in pairs: a new problem, and the way back for its answer.

Each returns a `Conversion`: `problem` to be solved, `recover` which turns its answer into one of
the original, judged on the original.
"""

from stickslip.problem.convert.box import box_to_contacts, contacts_to_box
from stickslip.problem.convert.complementarity import (
    Quadratic,
    box_to_lcp,
    lcp_to_qp,
    qp_to_lcp,
    symmetric_lcp_to_qp,
)
from stickslip.problem.convert.conversion import Answer, Contacts, Conversion
from stickslip.problem.convert.reduce import reduce_to_contacts
from stickslip.problem.convert.units import change_coordinates, group_starts, rescale, unit_free

__all__ = [
    "Answer",
    "Contacts",
    "Conversion",
    "Quadratic",
    "box_to_contacts",
    "box_to_lcp",
    "change_coordinates",
    "contacts_to_box",
    "group_starts",
    "lcp_to_qp",
    "qp_to_lcp",
    "reduce_to_contacts",
    "rescale",
    "symmetric_lcp_to_qp",
    "unit_free",
]
