"""Systems tied together: places, parts, what is named when something is wrong."""

import numpy as np
import pytest

from stickslip.laws import Complementarity, NewtonImpact
from stickslip.state import ModelError
from stickslip.systems.first_order import FirstOrderLinear
from stickslip.systems.lagrangian import Lagrangian
from stickslip.systems.lagrangian_relations import LagrangianLinearRelation, Scleronomous
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.system import Interaction, NonsmoothSystem


def ball(name, n=1, **options):
    return Lagrangian(name, **{"M": 1.0, "q0": np.arange(1.0, n + 1.0), **options})


def tie(name, systems, **options):
    return Interaction(name, systems, Scleronomous(lambda q: q[0] - q[-1]), NewtonImpact(**options))


def test_interactions_see_the_coordinates_of_their_systems_in_their_order():
    system = NonsmoothSystem(
        [ball("a", 2), ball("b"), ball("c", q0=9.0)], [tie("far", ["c", "a"]), tie("near", ["a", "b"])]
    )
    assert system.q0[system.interaction["far"].q].tolist() == [9.0, 1.0, 2.0]
    assert system.interaction["near"].q == slice(0, 3)
    assert system.size == 2
    assert system.parts == ((0, 1, 2),)


def test_parts_are_what_interactions_tie_together():
    system = NonsmoothSystem([ball(n) for n in "abcd"], [tie("ac", ["a", "c"])])
    assert system.parts == ((0, 2), (1,), (3,))


def test_a_quaternion_beside_generalised_coordinates():
    """One relation over a body in quaternions and a slider: T is the one beside the identity."""
    body = NewtonEuler("body", mass=1.0, inertia=[1, 1, 1], q0=[0, 0, 1, 1, 1, 0, 0])
    relation = Scleronomous(lambda q: q[2] + q[4] ** 2 - q[7])
    system = NonsmoothSystem(
        [body, ball("slider")], [Interaction("tie", ["body", "slider"], relation, NewtonImpact())]
    )
    one = system.interaction["tie"]
    rows = one.mechanical.rows(0.0, system.q0, np.zeros(1), np.zeros(0))
    T = body.kinematics(system.q0[:7])
    gradient = np.zeros(7)
    gradient[2], gradient[4] = 1.0, 2.0 * system.q0[4]
    assert rows[0] == pytest.approx([*(gradient @ T), -1.0], abs=1e-9)


def test_a_sick_state_is_named():
    system = NonsmoothSystem([ball("a"), ball("b", 2)], [])
    with pytest.raises(ModelError, match=r"at t = 0.5 s, v of system 'b' is not finite"):
        system.explain(0.5, np.zeros(3), np.array([0.0, 1.0, np.inf]), np.zeros(0))


def test_a_mass_that_turns_singular_is_named():
    system = NonsmoothSystem([ball("arm", M=lambda q: [[1.0 - q[0]]], q0=0.0)])
    with pytest.raises(ModelError, match=r"system 'arm': at t = 2 s, M is singular or not positive definite"):
        system.explain(2.0, np.ones(1), np.zeros(1), np.zeros(0))


def test_discrete_parameters_are_renewed_system_by_system():
    parts = [ball("a", z=[1.0], z_update=lambda t, z: z + t), ball("b"), ball("c", z=[5.0, 6.0])]
    system = NonsmoothSystem(parts)
    assert system.update(0.5, system.q0, system.v0, system.z0).tolist() == [1.5, 5.0, 6.0]


def test_whether_all_of_it_is_compiled():
    linear = Interaction("floor", "a", LagrangianLinearRelation([[1.0]]), NewtonImpact())
    assert NonsmoothSystem([ball("a")], [linear]).is_compiled
    assert not NonsmoothSystem([ball("a")], [linear, tie("tie", "a")]).is_compiled
    assert not NonsmoothSystem([ball("a", F_ext=lambda t: t)], [linear]).is_compiled


REFUSED = {
    "at least one system": lambda: NonsmoothSystem([]),
    "systems is a Lagrangian; give a list": lambda: NonsmoothSystem(ball("a")),
    "interactions is a Interaction; give a list": lambda: NonsmoothSystem([ball("a")], tie("floor", "a")),
    "a float is not a system": lambda: NonsmoothSystem([1.0]),
    "the class Lagrangian is not a system": lambda: NonsmoothSystem([Lagrangian]),
    "a str is not an Interaction": lambda: NonsmoothSystem([ball("a")], ["floor"]),
    "two systems are named 'a'": lambda: NonsmoothSystem([ball("a"), ball("a")]),
    "a system is named 3": lambda: NonsmoothSystem([ball(3)]),
    "two interactions are named 'x'": lambda: NonsmoothSystem([ball("a")], [tie("x", "a"), tie("x", "a")]),
    "interaction 'x' names the unknown system 'b'; known: a": lambda: NonsmoothSystem(
        [ball("a")], [tie("x", "b")]
    ),
    "interaction 'x' names a system twice: a, a": lambda: tie("x", ["a", "a"]),
    "interaction 'x' names no system": lambda: tie("x", []),
    "interaction 'x': give its systems by name": lambda: tie("x", [ball("a")]),
    "interaction 'y': give its systems by name": lambda: tie("y", ball("a")),
    "interaction 'x': its law is the class NewtonImpact": lambda: Interaction(
        "x", "a", Scleronomous(lambda q: q), NewtonImpact
    ),
    "interaction 'x': its relation is a function, expected a relation": lambda: Interaction(
        "x", "a", lambda q: q, NewtonImpact()
    ),
    "interaction 'x': its relation is the class Scleronomous": lambda: Interaction(
        "x", "a", Scleronomous, NewtonImpact()
    ),
    "interaction 'x' connects first-order with second-order systems: a, b": lambda: NonsmoothSystem(
        [ball("a"), FirstOrderLinear("b", A=1.0, x0=1.0)],
        [Interaction("x", ["a", "b"], Scleronomous(lambda q: q[:1]), Complementarity())],
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_no_system_is_refused(words):
    with pytest.raises(ModelError, match=words):
        REFUSED[words]()
