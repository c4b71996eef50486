"""Contact problems, complementarity problems and cone programs, their solutions, and the judge."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.problem.box import BoxProblem as BoxProblem
    from stickslip.problem.box import lcp as lcp
    from stickslip.problem.box import mlcp as mlcp
    from stickslip.problem.box import relay as relay
    from stickslip.problem.certificate import Certificate as Certificate
    from stickslip.problem.certificate import check_certificate as check_certificate
    from stickslip.problem.checks import ProblemError as ProblemError
    from stickslip.problem.contact import ContactProblem as ContactProblem
    from stickslip.problem.contact import GlobalProblem as GlobalProblem
    from stickslip.problem.contact import Level as Level
    from stickslip.problem.convert import dual_program as dual_program
    from stickslip.problem.convert import friction_program as friction_program
    from stickslip.problem.convert import lcp_to_qp as lcp_to_qp
    from stickslip.problem.convert import motion_mcp as motion_mcp
    from stickslip.problem.convert import primal_program as primal_program
    from stickslip.problem.convert import pyramid_lcp as pyramid_lcp
    from stickslip.problem.convert import reduce_to_contacts as reduce_to_contacts
    from stickslip.problem.existence import Existence as Existence
    from stickslip.problem.jacobian import ContactBlocks as ContactBlocks
    from stickslip.problem.jacobian import contact_blocks as contact_blocks
    from stickslip.problem.nonlinear import NonlinearProblem as NonlinearProblem
    from stickslip.problem.program import ConeProgram as ConeProgram
    from stickslip.problem.program import judge_program as judge_program
    from stickslip.problem.program_solution import ProgramSolution as ProgramSolution
    from stickslip.problem.residuals import Residuals as Residuals
    from stickslip.problem.residuals import judge as judge
    from stickslip.problem.sets import ProductSet as ProductSet
    from stickslip.problem.sets import coulomb as coulomb
    from stickslip.problem.sets import free as free
    from stickslip.problem.sets import friction as friction
    from stickslip.problem.sets import interval as interval
    from stickslip.problem.sets import nonnegative as nonnegative
    from stickslip.problem.sets import rolling as rolling
    from stickslip.problem.sets import torsional as torsional
    from stickslip.problem.solution import Solution as Solution
    from stickslip.problem.solution import SolverFailure as SolverFailure
    from stickslip.problem.solution import Status as Status
    from stickslip.problem.solution import Verdict as Verdict
    from stickslip.problem.step import velocity_step as velocity_step
else:
    __getattr__, __dir__ = door(__name__)
