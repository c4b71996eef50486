"""Sweeps: run a model at many values of its parameters, and measure each run. Modules are imported on use.

found = ss.sweep("bouncing-ball", {"e": [0.5, 0.9], "height": Uniform(0.5, 2.0)}, samples=100, out="s.h5")
"""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.sweeps.definition import OtherSweep as OtherSweep
    from stickslip.sweeps.designs import Integers as Integers
    from stickslip.sweeps.designs import LogUniform as LogUniform
    from stickslip.sweeps.designs import Normal as Normal
    from stickslip.sweeps.designs import Uniform as Uniform
    from stickslip.sweeps.page import report as report
    from stickslip.sweeps.result import SweepResult as SweepResult
    from stickslip.sweeps.result import read_sweep as read_sweep
else:
    __getattr__, __dir__ = door(__name__)
