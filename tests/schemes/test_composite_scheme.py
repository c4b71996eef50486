"""Systems under different schemes side by side."""

import numpy as np
import pytest
from mechanical_runs import steps

from stickslip.laws import Complementarity, NewtonImpact
from stickslip.schemes import registry as schemes
from stickslip.schemes.composite import Composite
from stickslip.schemes.euler_moreau import EulerMoreau
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.state import ModelError
from stickslip.systems.first_order import FirstOrderLinear
from stickslip.systems.first_order_relations import FirstOrderLinearRelation
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import Scleronomous
from stickslip.systems.system import Interaction, NonsmoothSystem


def ball(name, q0=0.3):
    return Lagrangian(name, M=1.0, q0=q0, F_ext=-9.81)


def floor(name, law=None):
    return Interaction(f"under {name}", name, Scleronomous(lambda q: q), law or NewtonImpact(e=0.5))


def circuit():
    """x' = -x + lam, 0 <= x - 0.5 ⟂ lam >= 0: decays to 0.5 and is held there."""
    return FirstOrderLinear("circuit", A=[[-1.0]], x0=1.0), Interaction(
        "diode", "circuit", FirstOrderLinearRelation(C=[[1.0]], e=[-0.5], B=[[1.0]]), Complementarity()
    )


def test_parts_run_as_if_they_were_alone():
    plant, diode = circuit()
    system = NonsmoothSystem([ball("a"), plant, ball("b", 0.2)], [floor("a"), diode, floor("b")])
    scheme = Composite(
        {"a": MoreauJean(), "circuit": EulerMoreau(), "b": MoreauJean(variant="semi-explicit")}
    )
    run = steps(system, until=1.0, h=1e-2, scheme=scheme)
    assert all(step.ok for step in run)
    a = steps(NonsmoothSystem([ball("a")], [floor("a")]), until=1.0, h=1e-2, scheme=MoreauJean())
    plant, diode = circuit()
    x = steps(NonsmoothSystem([plant], [diode]), until=1.0, h=1e-2, scheme=EulerMoreau())
    for both, one, other in zip(run, a, x, strict=True):
        assert both.state.q[0] == one.state.q[0]
        assert both.state.q[1] == other.state.q[0]
        assert both.r[0] == one.r[0]
        assert both.r[1] == other.r[0]
        assert both.active[0] == one.active[0]
        assert both.state.t == one.state.t
    assert run[-1].state.q[1] == pytest.approx(0.5, abs=1e-9)


def pair():
    tie = Interaction("tie", ("a", "b"), Scleronomous(lambda q: [q[1] - q[0]]), NewtonImpact())
    return NonsmoothSystem([ball("a"), ball("b", 0.4)], [floor("a"), tie])


def test_an_interaction_across_schemes_is_refused_by_name():
    mixed = Composite({"a": MoreauJean(), "b": MoreauJean(variant="complete")})
    with pytest.raises(ModelError, match=r"interaction 'tie' .* 'a' under MoreauJean, 'b' under MoreauJean"):
        steps(pair(), until=1e-2, h=1e-2, scheme=mixed)


def test_moreau_jean_schemes_that_differ_in_theta_alone_are_one():
    run = steps(pair(), until=0.5, h=1e-2, scheme=Composite({"a": MoreauJean(theta=1.0), "b": MoreauJean()}))
    same = steps(pair(), until=0.5, h=1e-2, scheme=MoreauJean(theta={"a": 1.0}))
    np.testing.assert_array_equal(run[-1].state.q, same[-1].state.q)
    assert all(step.ok for step in run)


def test_every_system_needs_a_scheme_and_every_scheme_a_system():
    with pytest.raises(ModelError, match="system 'b' has no scheme"):
        steps(pair(), until=1e-2, h=1e-2, scheme=Composite({"a": MoreauJean()}))
    with pytest.raises(ModelError, match="unknown system 'c'"):
        steps(pair(), until=1e-2, h=1e-2, scheme=Composite(dict.fromkeys("abc", MoreauJean())))


def test_names_stand_for_schemes():
    chosen = schemes.chosen({"a": "moreau-jean", "b": "moreau-jean"})
    assert isinstance(chosen, Composite)
    assert chosen.schemes["a"] == MoreauJean()
