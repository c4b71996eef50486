"""Relations of mechanical systems: values, rates and forces against closed forms and differences."""

import numpy as np
import pytest

from stickslip.laws import Complementarity, Equality, NewtonImpact
from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import (
    CompliantRelation,
    LagrangianLinearRelation,
    LagrangianNonlinear,
    Rheonomous,
    Scleronomous,
)
from stickslip.systems.relations import MechanicalOutput
from stickslip.systems.system import Interaction, NonsmoothSystem

NONE = np.zeros(0)


def bound(relation, law, *, nq=2, z=()):
    body = Lagrangian("body", M=1.0, q0=np.linspace(0.3, 0.7, nq), z=z)
    system = NonsmoothSystem([body], [Interaction("tie", "body", relation, law)])
    return system, system.interaction["tie"].mechanical


def test_a_pendulum_of_fixed_length():
    _, tie = bound(Scleronomous(lambda q: np.hypot(q[0], q[1]) - 1.0), Equality())
    q, lam = np.array([3.0, 4.0]), np.array([2.0])
    assert tie.y(0.0, q, lam, NONE) == pytest.approx([4.0])
    assert tie.rows(0.0, q, lam, NONE) == pytest.approx(np.array([[0.6, 0.8]]), abs=1e-9)
    assert tie.forces(0.0, q, lam, NONE) == pytest.approx([1.2, 1.6], abs=1e-9)
    assert tie.drift(0.0, q, lam, NONE) is None
    assert not tie.compliant
    assert not tie.constant
    assert isinstance(tie, MechanicalOutput)


def test_a_moving_wall_has_a_drift():
    _, tie = bound(Rheonomous(lambda t, q: q[0] - np.sin(3.0 * t)), NewtonImpact(e=0.5))
    q, lam = np.array([1.0, 0.0]), np.zeros(1)
    assert tie.drift(0.2, q, lam, NONE) == pytest.approx([-3.0 * np.cos(0.6)], abs=1e-9)


def test_gaps_alone_with_the_rows_of_friction():
    rows = np.array([[0.0, 1.0], [1.0, 0.0]])
    _, tie = bound(Scleronomous(lambda q: q[1], dy_dq=rows), NewtonImpact(e=0.0, mu=0.3, dimension=2))
    assert tie.y(0.0, np.array([5.0, 2.0]), np.zeros(2), NONE).tolist() == [2.0, 0.0]
    assert tie.rows(0.0, np.zeros(2), np.zeros(2), NONE).tolist() == rows.tolist()
    assert tie.constant


def test_gaps_alone_of_a_moving_wall_need_their_rates():
    relation = Rheonomous(lambda t, q: q[1] - t, dy_dq=np.eye(2)[::-1])
    with pytest.raises(ModelError, match=r"interaction 'tie': dy_dt is missing"):
        bound(relation, NewtonImpact(mu=0.3, dimension=2))


def test_a_unilateral_spring_yields_by_lam_over_k():
    k = 50.0
    _, tie = bound(CompliantRelation(lambda q, lam: q[0] + lam / k), Complementarity())
    q, lam = np.array([-0.1, 0.0]), np.array([5.0])
    assert tie.compliant
    assert tie.y(0.0, q, lam, NONE) == pytest.approx([0.0])
    assert tie.dy_dlam(0.0, q, lam, NONE) == pytest.approx(np.array([[1.0 / k]]), abs=1e-9)
    assert tie.forces(0.0, q, lam, NONE) == pytest.approx([5.0, 0.0], abs=1e-9)
    assert tie.dforces_dlam(0.0, q, lam, NONE) == pytest.approx(np.array([[1.0], [0.0]]), abs=1e-9)


def test_compliance_that_changes_the_rows_enters_the_derivative_of_the_forces():
    relation = CompliantRelation(
        lambda q, lam: q[0] * (1.0 + lam) + 0.1 * lam,
        dy_dq=lambda lam: np.array([[1.0 + lam[0], 0.0]]),
        dy_dlam=lambda q: [[q[0] + 0.1]],
    )
    system, tie = bound(relation, Complementarity())
    assert tie.dforces_dlam(0.0, np.zeros(2), np.array([3.0]), NONE)[:, 0] == pytest.approx([7.0, 0.0])
    assert system.check_jacobians(0.0, [0.2, 0.4], [0.0, 0.0]) < 1e-8


def test_forces_of_their_own():
    relation = LagrangianNonlinear(
        lambda t, q, lam: q[0] ** 2 - t + 0.5 * lam[0] ** 2, lambda q, lam: [lam[0] ** 3, q[1] * lam[0]]
    )
    system, tie = bound(relation, Complementarity())
    q, lam = np.array([2.0, 3.0]), np.array([1.5])
    assert tie.compliant
    assert tie.y(1.0, q, lam, NONE) == pytest.approx([3.0 + 1.125])
    assert tie.rows(1.0, q, lam, NONE) == pytest.approx(np.array([[4.0, 0.0]]), abs=1e-8)
    assert tie.drift(1.0, q, lam, NONE) == pytest.approx([-1.0], abs=1e-8)
    assert tie.dy_dlam(1.0, q, lam, NONE) == pytest.approx(np.array([[1.5]]), abs=1e-8)
    assert tie.forces(1.0, q, lam, NONE) == pytest.approx([3.375, 4.5])
    assert tie.dforces_dlam(1.0, q, lam, NONE)[:, 0] == pytest.approx([6.75, 3.0], abs=1e-7)
    assert system.check_jacobians(0.3) < 1e-7


def test_a_linear_relation_is_its_matrices():
    C, e, D, F = [[1.0, -1.0]], [0.2], [[0.01]], [[2.0, 3.0]]
    _, tie = bound(LagrangianLinearRelation(C, e, D, F), Complementarity(), z=(1.0, -1.0))
    q, lam, z = np.array([0.5, 0.25]), np.array([4.0]), np.array([1.0, -1.0])
    assert tie.y(0.0, q, lam, z) == pytest.approx([0.25 + 0.2 + 0.04 - 1.0])
    assert tie.forces(0.0, q, lam, z) == pytest.approx([4.0, -4.0])
    assert tie.compliant
    assert tie.constant
    assert tie.is_compiled
    assert tie.matrices["D"].tolist() == D
    _, rigid = bound(LagrangianLinearRelation([1.0, 0.0]), Complementarity())
    assert not rigid.compliant
    assert rigid.dy_dlam(0.0, q, lam, NONE) is None


@pytest.mark.parametrize(
    ("relation", "words"),
    [
        (LagrangianLinearRelation(np.ones((2, 2))), r"interaction 'tie': C has shape \(2, 2\), expected"),
        (LagrangianLinearRelation([[1.0, np.nan]]), r"interaction 'tie': C is not finite"),
        (LagrangianLinearRelation(lambda q: q), r"interaction 'tie': C is a function; .* Scleronomous"),
        (LagrangianLinearRelation([[1.0, 0.0]], F=[[1.0]]), r"F has shape \(1, 1\), expected \(1, 0\)"),
        (Scleronomous(lambda t, q: q[0]), r"'tie': y takes \(t, q\); it may take \(q, z\)"),
        (Scleronomous(lambda q: q[0], dy_dq=np.eye(3)), r"dy_dq has shape \(3, 3\), expected \(1, 2\)"),
        (Rheonomous(lambda t, q, lam: q[0]), r"y takes \(t, q, lam\)"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(relation, words):
    with pytest.raises(ModelError, match=words):
        bound(relation, Complementarity())


def test_outputs_of_the_wrong_size_are_named_with_their_time():
    _, tie = bound(Scleronomous(lambda q: q), Complementarity())
    with pytest.raises(ModelError, match=r"'tie': at t = 0.5 s, y has shape \(2,\), expected \(1,\)"):
        tie.y(0.5, np.zeros(2), np.zeros(1), NONE)


def test_a_wrong_jacobian_is_found_on_request():
    system, _ = bound(Scleronomous(lambda q: q[0] ** 2, dy_dq=lambda q: [[q[0], 0.0]]), Complementarity())
    with pytest.raises(ModelError, match=r"'tie': at t = 0 s, dy_dq\[0, 0\] is 3, .* of y give 6"):
        system.check_jacobians(0.0, [3.0, 1.0], [0.0, 0.0])
    rows = np.array([[0.0, 2.0], [1.0, 0.0]])
    gaps, _ = bound(Scleronomous(lambda q: q[1], dy_dq=rows), NewtonImpact(mu=0.3, dimension=2))
    with pytest.raises(ModelError, match=r"dy_dq\[0, 1\] is 2"):
        gaps.check_jacobians(0.0)


def test_not_a_number_from_a_relation_is_named():
    system, _ = bound(Scleronomous(lambda q: np.nan), Complementarity())
    with pytest.raises(ModelError, match=r"interaction 'tie': at t = 0.25 s, y is not finite"):
        system.explain(0.25, np.zeros(2), np.zeros(2), NONE)


def test_a_relation_is_never_asked_at_zero():
    """Its size is found at the start: the distance of two points has no rows where they coincide."""

    def unit(q):
        assert q.any(), "asked at zero"
        return q / np.hypot(*q)

    relation = Scleronomous(lambda q: unit(q) @ q - 1.0, dy_dq=lambda q: [unit(q), [-unit(q)[1], unit(q)[0]]])
    _, tie = bound(relation, NewtonImpact(mu=0.1, dimension=2))
    assert tie.gaps_only
