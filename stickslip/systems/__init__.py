"""Equations you write: dynamics, relations, and the interactions that tie them to laws."""

from typing import TYPE_CHECKING

from stickslip.doors import door

if TYPE_CHECKING:
    from stickslip.systems.couplings import Coupling as Coupling
    from stickslip.systems.degrees import relative_degree as relative_degree
    from stickslip.systems.family import Family as Family
    from stickslip.systems.first_order import FirstOrder as FirstOrder
    from stickslip.systems.first_order import FirstOrderLinear as FirstOrderLinear
    from stickslip.systems.first_order_relations import FirstOrderLinearRelation as FirstOrderLinearRelation
    from stickslip.systems.first_order_relations import FirstOrderRelation as FirstOrderRelation
    from stickslip.systems.first_order_relations import FirstOrderType1 as FirstOrderType1
    from stickslip.systems.first_order_relations import FirstOrderType2 as FirstOrderType2
    from stickslip.systems.first_order_view import to_first_order as to_first_order
    from stickslip.systems.guards import Guard as Guard
    from stickslip.systems.interactions import Interaction as Interaction
    from stickslip.systems.lagrangian import Lagrangian as Lagrangian
    from stickslip.systems.lagrangian import LagrangianLinear as LagrangianLinear
    from stickslip.systems.lagrangian_relations import CompliantRelation as CompliantRelation
    from stickslip.systems.lagrangian_relations import LagrangianLinearRelation as LagrangianLinearRelation
    from stickslip.systems.lagrangian_relations import LagrangianNonlinear as LagrangianNonlinear
    from stickslip.systems.lagrangian_relations import Rheonomous as Rheonomous
    from stickslip.systems.lagrangian_relations import Scleronomous as Scleronomous
    from stickslip.systems.levels import IndexSets as IndexSets
    from stickslip.systems.levels import index_sets as index_sets
    from stickslip.systems.newton_euler import NewtonEuler as NewtonEuler
    from stickslip.systems.newton_euler_relations import BodyContact as BodyContact
    from stickslip.systems.newton_euler_relations import PointOnPlane as PointOnPlane
    from stickslip.systems.newton_euler_relations import SpherePlane as SpherePlane
    from stickslip.systems.newton_euler_relations import SphereSphere as SphereSphere
    from stickslip.systems.newton_euler_relations import Touch as Touch
    from stickslip.systems.system import NonsmoothSystem as NonsmoothSystem
else:
    __getattr__, __dir__ = door(__name__)
