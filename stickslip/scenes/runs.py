"""Deprecated alias of `stickslip.scenes`; it will be removed in the next version."""

from stickslip.renames import warn
from stickslip.scenes import function as function
from stickslip.scenes import make as make
from stickslip.scenes import meanings as meanings
from stickslip.scenes import names as names
from stickslip.scenes import parameters as parameters

warn("stickslip.scenes.runs", "stickslip.scenes")
