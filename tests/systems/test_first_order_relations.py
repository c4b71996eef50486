"""Relations of first-order systems: values and Jacobians against closed forms and differences."""

import numpy as np
import pytest

from stickslip.laws import Complementarity, Relay
from stickslip.state import ModelError
from stickslip.systems.first_order import FirstOrderLinear
from stickslip.systems.first_order_relations import (
    FirstOrderLinearRelation,
    FirstOrderRelation,
    FirstOrderType1,
    FirstOrderType2,
)
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.relations import FirstOrderOutput
from stickslip.systems.system import Interaction, NonsmoothSystem

NONE = np.zeros(0)
X, LAM = np.array([0.4, -0.7]), np.array([0.3])


def bound(relation, law=None, z=()):
    flow = FirstOrderLinear("flow", A=np.zeros((2, 2)), x0=X, z=z)
    system = NonsmoothSystem([flow], [Interaction("diode", "flow", relation, law or Complementarity())])
    return system, system.interaction["diode"].flow


def test_the_linear_relation_is_its_matrices():
    relation = FirstOrderLinearRelation([[1.0, 2.0]], [[3.0], [4.0]], [[0.5]], [[10.0]], [0.1])
    _, diode = bound(relation, z=[2.0])
    z = np.array([2.0])
    assert diode.h(0.0, X, LAM, z) == pytest.approx([1.0 * 0.4 - 2.0 * 0.7 + 0.15 + 20.0 + 0.1])
    assert diode.g(0.0, X, LAM, z) == pytest.approx([0.9, 1.2])
    assert diode.D(0.0, X, LAM, z).tolist() == [[0.5]]
    assert diode.K(0.0, X, LAM, z) is None
    assert diode.linear
    assert diode.constant
    assert diode.is_compiled
    assert isinstance(diode, FirstOrderOutput)


def test_its_matrices_may_depend_on_time_and_parameters():
    relation = FirstOrderLinearRelation(lambda t: [[t, 1.0]], lambda z: [[z[0]], [1.0]], e=lambda t: [t**2])
    _, diode = bound(relation, z=[7.0])
    z = np.array([7.0])
    assert diode.C(3.0, X, LAM, z).tolist() == [[3.0, 1.0]]
    assert diode.B(3.0, X, LAM, z).tolist() == [[7.0], [1.0]]
    assert diode.D(3.0, X, LAM, z).tolist() == [[0.0]]
    assert diode.h(3.0, X, LAM, z) == pytest.approx([3.0 * 0.4 - 0.7 + 9.0])
    assert not diode.constant
    assert not diode.is_compiled


def test_the_linear_relation_leaves_the_state_it_reads_alone():
    _, diode = bound(FirstOrderLinearRelation(np.eye(2), np.eye(2), e=[1.0, 1.0]), Relay(1.0, 2))
    x = X.copy()
    diode.h(0.0, x, np.zeros(2), NONE)
    assert x.tolist() == X.tolist()


def nonlinear(**jacobians):
    return FirstOrderRelation(
        lambda t, x, lam: [np.sin(x[0]) * lam[0] + t * x[1]],
        lambda x, lam: [lam[0] * x[1] ** 2, np.exp(lam[0])],
        **jacobians,
    )


EXACT = {
    "dh_dx": lambda t, x, lam: [[np.cos(x[0]) * lam[0], t]],
    "dh_dlam": lambda x: [[np.sin(x[0])]],
    "dg_dlam": lambda x, lam: [[x[1] ** 2], [np.exp(lam[0])]],
    "dg_dx": lambda x, lam: [[0.0, 2.0 * lam[0] * x[1]], [0.0, 0.0]],
}


def test_differences_agree_with_given_jacobians():
    _, ours = bound(nonlinear())
    system, exact = bound(nonlinear(**EXACT))
    for name in "CDBK":
        found, known = getattr(ours, name)(0.3, X, LAM, NONE), getattr(exact, name)(0.3, X, LAM, NONE)
        assert found == pytest.approx(known, abs=1e-8), name
    assert system.check_jacobians(0.3) < 1e-8
    assert not ours.linear


@pytest.mark.parametrize("name", EXACT)
def test_a_wrong_jacobian_is_found_on_request(name):
    def wrong(x, lam):
        return 0.3 + np.array(EXACT[name](*([0.3] if name == "dh_dx" else []), *both(name, x, lam)))

    def both(name, x, lam):
        return (x,) if name == "dh_dlam" else (x, lam)

    system, _ = bound(nonlinear(**{**EXACT, name: wrong}))
    with pytest.raises(ModelError, match=rf"interaction 'diode': at t = 0.3 s, {name}\["):
        system.check_jacobians(0.3)


def test_types_1_and_2_are_the_general_case_with_fewer_arguments():
    _, one = bound(FirstOrderType1(lambda x: [x[0] ** 3], lambda lam: [lam[0] ** 2, 0.0]))
    assert one.C(0.0, X, LAM, NONE) == pytest.approx(np.array([[0.48, 0.0]]), abs=1e-8)
    assert one.D(0.0, X, LAM, NONE).tolist() == [[0.0]]
    assert one.B(0.0, X, LAM, NONE) == pytest.approx(np.array([[0.6], [0.0]]), abs=1e-8)
    assert one.K(0.0, X, LAM, NONE) is None
    _, two = bound(FirstOrderType2(lambda x, lam: [x[0] + lam[0] ** 2], lambda lam: [lam[0], 0.0]))
    assert two.D(0.0, X, LAM, NONE) == pytest.approx(np.array([[0.6]]), abs=1e-8)
    with pytest.raises(ModelError, match=r"interaction 'diode': h takes \(x, lam\); .* \(t, x, z\)"):
        bound(FirstOrderType1(lambda x, lam: x[:1], lambda lam: [lam[0], 0.0]))
    with pytest.raises(ModelError, match=r"interaction 'diode': g takes \(x\); .* \(t, lam, z\)"):
        bound(FirstOrderType2(lambda x: x[:1], lambda x: x))


def test_what_does_not_fit_is_refused_by_name():
    with pytest.raises(ModelError, match=r"'diode': B has shape \(1, 2\), expected \(2, 1\)"):
        bound(FirstOrderLinearRelation([[1.0, 0.0]], [[1.0, 0.0]]))
    with pytest.raises(ModelError, match=r"'diode': C takes \(x\); it may take \(t, z\)"):
        bound(FirstOrderLinearRelation(lambda x: x, [[1.0], [0.0]]))
    with pytest.raises(ModelError, match="'diode': C is missing"):
        bound(FirstOrderLinearRelation(None, [[1.0], [0.0]]))
    _, diode = bound(FirstOrderType1(lambda x: x, lambda lam: lam))
    with pytest.raises(ModelError, match=r"'diode': at t = 2 s, h has shape \(2,\), expected \(1,\)"):
        diode.h(2.0, X, LAM, NONE)


def test_a_relation_of_the_other_order_is_refused():
    flow = FirstOrderLinear("flow", A=1.0, x0=1.0)
    with pytest.raises(ModelError, match="'tie': Scleronomous has another order"):
        NonsmoothSystem([flow], [Interaction("tie", "flow", Scleronomous(lambda q: q), Complementarity())])
    body = Lagrangian("body", M=1.0, q0=1.0)
    relation = FirstOrderLinearRelation([[1.0]], [[1.0]])
    with pytest.raises(ModelError, match="'tie': FirstOrderLinearRelation has another order"):
        NonsmoothSystem([body], [Interaction("tie", "body", relation, Complementarity())])
