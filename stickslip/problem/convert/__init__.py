"""Conversions between problems, each with the map from its solution back to the original.

Each returns a `Conversion`: the `problem` to be solved, and `recover`, which converts its solution to one of
the original problem, where it is judged. Cone programs are a `ProgramConversion`, whose `recover` also takes
the multipliers.
"""

from stickslip.problem.convert.box import box_to_contacts, contacts_to_box
from stickslip.problem.convert.complementarity import (
    Quadratic,
    box_to_lcp,
    lcp_to_qp,
    qp_to_lcp,
    symmetric_lcp_to_qp,
)
from stickslip.problem.convert.cone_programs import (
    ProgramConversion,
    dual_program,
    friction_shift,
    primal_program,
)
from stickslip.problem.convert.conversion import Answer, Contacts, Conversion
from stickslip.problem.convert.dissipation import Friction, FrictionConversion, friction_mcp, friction_program
from stickslip.problem.convert.motion import motion_mcp
from stickslip.problem.convert.pyramid import pyramid_lcp
from stickslip.problem.convert.reduce import reduce_to_contacts
from stickslip.problem.convert.units import change_coordinates, group_starts, rescale, unit_free

__all__ = [
    "Answer",
    "Contacts",
    "Conversion",
    "Friction",
    "FrictionConversion",
    "ProgramConversion",
    "Quadratic",
    "box_to_contacts",
    "box_to_lcp",
    "change_coordinates",
    "contacts_to_box",
    "dual_program",
    "friction_mcp",
    "friction_program",
    "friction_shift",
    "group_starts",
    "lcp_to_qp",
    "motion_mcp",
    "primal_program",
    "pyramid_lcp",
    "qp_to_lcp",
    "reduce_to_contacts",
    "rescale",
    "symmetric_lcp_to_qp",
    "unit_free",
]
