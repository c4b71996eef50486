"""Relative degrees of models whose degree is known."""

import numpy as np
import pytest

from stickslip.laws import Complementarity, Equality, NewtonImpact, Relay
from stickslip.state import ModelError
from stickslip.systems.degrees import linearised, relative_degree
from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
from stickslip.systems.first_order_relations import FirstOrderLinearRelation, FirstOrderRelation
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.lagrangian_relations import CompliantRelation, LagrangianLinearRelation, Scleronomous
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_joints import BallJoint
from stickslip.systems.newton_euler_relations import SpherePlane
from stickslip.systems.system import Interaction, NonsmoothSystem


def linear(A, B, C, D=None, M=None):
    A = np.asarray(A, float)
    m = np.shape(B)[1]
    flow = FirstOrderLinear("flow", A=A, x0=np.ones(A.shape[0]), M=M)
    return NonsmoothSystem(
        [flow], [Interaction("tie", "flow", FirstOrderLinearRelation(C, B, D), Complementarity(m))]
    )


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_chain_of_integrators(n):
    A, B, C = np.eye(n, k=1), np.eye(n)[:, -1:], np.eye(n)[:1]
    found = relative_degree(linear(A, B, C), "tie")
    assert found.degree == n
    assert len(found.markov) == n + 1
    assert found.markov[-1] == pytest.approx(np.ones((1, 1)))
    assert "first Markov parameter that is not zero" in str(found)
    assert relative_degree(linear(A, B, C, [[0.1]]), "tie").degree == 0


def test_what_lam_never_reaches_has_none():
    found = relative_degree(linear(np.diag([1.0, 2.0]), [[1.0], [0.0]], [[0.0, 1.0]]), "tie")
    assert found.degree is None
    assert found.reason.startswith("none up to 2")


def test_outputs_of_different_degrees_are_not_uniform():
    A = np.eye(3, k=1)
    found = relative_degree(linear(A, np.eye(3)[:, 1:], np.eye(3)[:2]), "tie")
    assert found.degree is None
    assert found.reason.startswith("not uniform: CB")
    singular = relative_degree(linear(A, np.eye(3)[:, 1:], np.eye(3)[1:], np.diag([1.0, 0.0])), "tie")
    assert singular.reason.startswith("not uniform: D")
    uniform = relative_degree(linear(A, np.eye(3)[:, 1:], np.eye(3)[1:]), "tie")
    assert uniform.degree == 1


def test_a_mass_matrix_counts():
    M = np.array([[2.0, 1.0], [1.0, 3.0]])
    model = linearised(linear(np.zeros((2, 2)), np.eye(2), np.eye(2), M=M), "tie")
    assert np.allclose(model.B @ M, np.eye(2))


def test_a_sliding_mode_written_as_functions():
    """ẋ = (x₂, sin x₁ + lam) with y = x₁ + x₂: degree 1, and 2 with y = x₁; Jacobians by differences."""
    for y, degree in ((lambda x: x[0] + x[1], 1), (lambda x: x[0], 2)):
        flow = FirstOrder("flow", f=lambda x: [x[1], np.sin(x[0])], x0=[0.3, 0.4])
        relation = FirstOrderRelation(y, lambda lam: [0.0, lam[0]])
        system = NonsmoothSystem([flow], [Interaction("relay", "flow", relation, Relay())])
        assert relative_degree(system, "relay").degree == degree


@pytest.mark.parametrize("stiffness", [0.0, 1.0, 1e12])
def test_rigid_contact_is_2_and_compliance_0(stiffness):
    body = LagrangianLinear("body", M=np.diag([1.0, 1e-3]), K=stiffness * np.eye(2), q0=[1.0, 1.0])
    in_plane = NewtonImpact(mu=0.1, dimension=2)
    soft = CompliantRelation(lambda q, lam: q[0] + lam / 1e9)
    system = NonsmoothSystem(
        [body],
        [
            Interaction("rigid", "body", LagrangianLinearRelation([[1.0, 0.0]]), NewtonImpact()),
            Interaction("functions", "body", Scleronomous(lambda q: q[1] ** 3), NewtonImpact()),
            Interaction("soft", "body", soft, Complementarity()),
            Interaction("friction", "body", LagrangianLinearRelation(np.eye(2)), in_plane),
            Interaction("twice", "body", LagrangianLinearRelation([[1, 0], [2, 0]]), Complementarity(2)),
        ],
    )  # fmt: skip
    found = {name: relative_degree(system, name) for name in system.interaction}
    assert {name: one.degree for name, one in found.items()} == {
        "rigid": 2, "functions": 2, "soft": 0, "friction": 2, "twice": None,
    }  # fmt: skip
    assert found["twice"].reason.startswith("not uniform: CAB")
    assert found["rigid"].markov[-1] == pytest.approx(np.array([[1.0]]))


def test_between_two_systems_the_parameter_is_the_delassus_matrix():
    a, b = (Lagrangian(n, M=m, q0=0.0) for n, m in (("a", 2.0), ("b", 4.0)))
    tie = Interaction("tie", ["b", "a"], Scleronomous(lambda q: q[0] - q[1]), NewtonImpact())
    found = relative_degree(NonsmoothSystem([a, b], [tie]), "tie")
    assert found.degree == 2
    assert found.markov[-1] == pytest.approx(np.array([[0.75]]))


def test_newton_euler_bodies():
    body = NewtonEuler("body", mass=2.0, inertia=[1, 2, 3], q0=[0, 0, 0.1, 1, 1, 0, 0], v0=[1, 0, 0, 1, 2, 3])
    system = NonsmoothSystem(
        [body],
        [
            Interaction("joint", "body", BallJoint([1, 0, 0]), Equality(3)),
            Interaction("rolling", "body", SpherePlane(0.1), NewtonImpact(mu=0.1, mu_roll=0.1)),
        ],
    )
    assert relative_degree(system, "joint").degree == 2
    assert relative_degree(system, "rolling").degree == 2


def test_an_unknown_interaction_is_named():
    with pytest.raises(ModelError, match="unknown interaction 'wall'; known: tie"):
        relative_degree(linear([[1.0]], [[1.0]], [[1.0]]), "wall")
