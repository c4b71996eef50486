"""Solvers: one method family per file, by name in the registry."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.solvers.admm import ADMM as ADMM
    from stickslip.solvers.auto import Auto as Auto
    from stickslip.solvers.enumeration import Enumeration as Enumeration
    from stickslip.solvers.existence import prove_existence as prove_existence
    from stickslip.solvers.external import ECOS as ECOS
    from stickslip.solvers.external import GAMS as GAMS
    from stickslip.solvers.external import PIQP as PIQP
    from stickslip.solvers.external import QOCO as QOCO
    from stickslip.solvers.external import SCS as SCS
    from stickslip.solvers.external import Clarabel as Clarabel
    from stickslip.solvers.external import Gurobi as Gurobi
    from stickslip.solvers.external import Ipopt as Ipopt
    from stickslip.solvers.external import Mosek as Mosek
    from stickslip.solvers.external import ProxQP as ProxQP
    from stickslip.solvers.first_order import AcceleratedGradient as AcceleratedGradient
    from stickslip.solvers.first_order import Extragradient as Extragradient
    from stickslip.solvers.first_order import FixedPoint as FixedPoint
    from stickslip.solvers.first_order import SpectralGradient as SpectralGradient
    from stickslip.solvers.fixed_points import ShiftLoop as ShiftLoop
    from stickslip.solvers.fixed_points import Tresca as Tresca
    from stickslip.solvers.gauss_seidel import NSGS as NSGS
    from stickslip.solvers.gauss_seidel import Anderson as Anderson
    from stickslip.solvers.impulses import least_impulses as least_impulses
    from stickslip.solvers.impulses import unique_impulses as unique_impulses
    from stickslip.solvers.interior_point import InteriorPoint as InteriorPoint
    from stickslip.solvers.lemke import Lemke as Lemke
    from stickslip.solvers.mcp import MixedComplementarity as MixedComplementarity
    from stickslip.solvers.monotone_point import MonotoneInteriorPoint as MonotoneInteriorPoint
    from stickslip.solvers.newton import NewtonAlartCurnier as NewtonAlartCurnier
    from stickslip.solvers.newton import NewtonFischerBurmeister as NewtonFischerBurmeister
    from stickslip.solvers.newton import NewtonJeanMoreau as NewtonJeanMoreau
    from stickslip.solvers.newton import NewtonNaturalMap as NewtonNaturalMap
    from stickslip.solvers.newton_box import NewtonMin as NewtonMin
    from stickslip.solvers.projected_sweeps import ProjectedGaussSeidel as ProjectedGaussSeidel
    from stickslip.solvers.prox import ProximalNewton as ProximalNewton
    from stickslip.solvers.registry import Solver as Solver
    from stickslip.solvers.step_point import StepInteriorPoint as StepInteriorPoint
else:
    __getattr__, __dir__ = door(__name__)
