"""The compiled march makes the same steps as the scheme one by one, certificates included."""

import numpy as np
import pytest

from stickslip.compilation import JIT
from stickslip.laws import Equality, NewtonImpact, PoissonImpact, Relay
from stickslip.problem.residuals import judge
from stickslip.schemes.march import March
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.schemes.step import first_state
from stickslip.solvers import registry
from stickslip.state import State
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.lagrangian_relations import LagrangianLinearRelation, Rheonomous, Scleronomous
from stickslip.systems.newton_euler import NewtonEuler
from stickslip.systems.newton_euler_joints import BallJoint
from stickslip.systems.newton_euler_relations import BodyContact, PointOnPlane, SpherePlane, SphereSphere
from stickslip.systems.system import Interaction, NonsmoothSystem

numba = pytest.importorskip("numba")
pytestmark = pytest.mark.skipif(not JIT, reason="nothing is compiled")

TIGHT = 1e-13


@numba.njit
def itself(q):
    return q


@numba.njit
def gap_between(q):
    return np.array([q[1] - q[0] - 0.1])


@numba.njit
def gravity(t):
    return np.array([0.3 * np.sin(20.0 * t), -9.81])


@numba.njit
def ground(q):
    return q[1]


@numba.njit
def ground_rows(q):
    return np.array([[0.0, 1.0], [1.0, 0.0]])


@numba.njit
def plate(t, q):
    return q[0] - 0.05 * np.sin(30.0 * t)


@numba.njit
def arm_mass(q):
    c = np.cos(q[1])
    return np.array([[3.0 + 2.0 * c, 1.0 + c], [1.0 + c, 1.0]])


@numba.njit
def arm_gyration(q, v):
    s = np.sin(q[1])
    return np.array([-s * v[1] * (2.0 * v[0] + v[1]), s * v[0] * v[0]])


@numba.njit
def arm_weight(q):
    low = 9.81 * np.sin(q[0] + q[1])
    return np.array([2.0 * 9.81 * np.sin(q[0]) + low, low])


@numba.njit
def arm_tip(q):
    return np.array([1.2 - np.sin(q[0]) - np.sin(q[0] + q[1])])


@numba.njit
def rod(q):
    return np.array([q[0] ** 2 + q[1] ** 2 - 1.0])


@numba.njit
def counted(t, z):
    return z + 1.0


@numba.njit
def pushed(z):
    return np.array([0.01 * z[0], -9.81])


def ball():
    one = Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)
    return NonsmoothSystem([one], [Interaction("floor", "ball", Scleronomous(itself), NewtonImpact(e=0.9))])


def chain():
    balls = [LagrangianLinear(f"b{k}", M=1.0 + 0.5 * k, q0=0.12 * k, v0=1.0 - 0.6 * k) for k in range(4)]
    ties = [
        Interaction(f"c{k}", (f"b{k}", f"b{k + 1}"), Scleronomous(gap_between), NewtonImpact(e=0.5))
        for k in range(3)
    ]
    return NonsmoothSystem(balls, ties)


def puck():
    one = Lagrangian("puck", M=2.0, q0=[0.0, 0.02], v0=[1.0, 0.0], F_ext=gravity)
    law = NewtonImpact(e=0.3, mu=0.4, dimension=2)
    return NonsmoothSystem([one], [Interaction("ground", "puck", Scleronomous(ground, ground_rows), law)])


def spring_and_plate():
    one = LagrangianLinear("mass", M=1.0, q0=0.2, K=500.0, C=2.0, F_ext=-9.81)
    return NonsmoothSystem([one], [Interaction("plate", "mass", Rheonomous(plate), NewtonImpact(e=0.6))])


def arm():
    one = Lagrangian("arm", M=arm_mass, q0=[0.4, 0.5], v0=[1.0, 0.0], N=arm_gyration, F_int=arm_weight)
    return NonsmoothSystem([one], [Interaction("wall", "arm", Scleronomous(arm_tip), NewtonImpact(e=0.4))])


def pendulum():
    bob = Lagrangian("bob", M=1.0, q0=[0.8, -0.6], F_ext=[0.0, -9.81])
    dry = LagrangianLinearRelation([[1.0, 0.0]])
    return NonsmoothSystem(
        [bob],
        [
            Interaction("rod", "bob", Scleronomous(rod), Equality()),
            Interaction("dry", "bob", dry, Relay(0.5)),
        ],
    )


def driven():
    """Everything in plain Python: an input through T(q), a force with Jacobians by differences."""
    one = Lagrangian(
        "cart", M=lambda q: np.diag([1.0 + q[0] ** 2, 2.0]), q0=[0.1, 0.2], v0=[0.0, -1.0],
        F_int=lambda q, v: [10.0 * q[0] ** 3, 0.1 * v[1]], T=lambda q: [[1.0], [q[0]]],
        u=lambda t: np.sin(9.0 * t), F_ext=[0.0, -9.81],
    )  # fmt: skip
    law = NewtonImpact(e=0.5, mu=0.3, dimension=2)
    tie = Scleronomous(lambda q: [q[1]], lambda q: [[0.0, 1.0], [1.0, 0.2 * q[0]]])
    return NonsmoothSystem([one], [Interaction("ground", "cart", tie, law)])


def counting():
    one = Lagrangian("puck", M=2.0, q0=[0.0, 0.0], v0=[1.0, 0.0], F_ext=pushed, z=[0.0], z_update=counted)
    law = NewtonImpact(mu=0.4, mu_roll=0.1)
    rows = [[0.0, 1.0], [1.0, 0.0], [0.0, 0.0], [0.3, 0.0], [0.0, 0.0]]
    tie = Interaction("ground", "puck", Scleronomous(lambda q: q[1:], rows), law)
    spare = Interaction("ground", "puck", LagrangianLinearRelation(rows), law)
    assert NonsmoothSystem([one], [tie]).size == 5
    return NonsmoothSystem([one], [spare])


def sphere():
    """Falls on a plane with a spin, bounces and rolls."""
    q0, v0 = (0.0, 0.0, 0.12), (1.0, 0.0, 0.0, 0.0, 3.0, 1.0)
    one = NewtonEuler("s", mass=1.0, inertia=[0.004] * 3, q0=q0, v0=v0, force=[0.0, 0.0, -9.81])
    return NonsmoothSystem([one], [Interaction("floor", "s", SpherePlane(0.1), NewtonImpact(e=0.5, mu=0.3))])


def tower():
    balls = [
        NewtonEuler(
            f"b{k}", mass=1.0, inertia=[0.004] * 3, q0=(0.01 * k, 0.0, 0.1 + 0.2 * k), force=[0, 0, -9.81]
        )
        for k in range(3)
    ]
    law = NewtonImpact(e=0.0, mu=0.3)
    ties = [Interaction(f"c{k}", (f"b{k + 1}", f"b{k}"), SphereSphere(0.1, 0.1), law) for k in range(2)]
    return NonsmoothSystem(balls, [Interaction("floor", "b0", SpherePlane(0.1), law), *ties])


def loaded():
    """A body with every kind of term: force and moment turned, C and K; contacts of five components, and
    relations by q on its pose."""
    one = NewtonEuler(
        "body", mass=1.3, inertia=[0.01, 0.02, 0.025], q0=(0.0, 0.0, 0.12), v0=(0.3, 0.0, 0.0, 1.0, 5.0, 0.2),
        force=lambda t, q, v: [0.1 * np.sin(t) - v[0], 0.0, -9.81 + q[4]], force_frame="body",
        moment=lambda q: [0.01 * q[3], 0.0, 0.02 * q[0]], moment_frame="inertial",
        C=0.1 * np.eye(6), K=0.1 * np.ones((6, 7)),
    )  # fmt: skip
    law = NewtonImpact(e=0.3, mu=0.3, mu_roll=0.01)
    corners = [(x, y, -0.1) for x in (-0.1, 0.1) for y in (-0.1, 0.1)]
    ties = [Interaction(f"p{k}", "body", PointOnPlane(p), law) for k, p in enumerate(corners)]
    wall = Scleronomous(lambda q: q[0] + 0.3 + 0.1 * q[4])
    dry = LagrangianLinearRelation([[0.0, 1.0, 0.0, 0.0, 0.0, 0.2, 0.0]])
    ties += [Interaction("wall", "body", wall, NewtonImpact()), Interaction("dry", "body", dry, Relay(0.01))]
    return NonsmoothSystem([one], ties)


def hanging():
    """Joints, and a contact that is written as functions, are called back."""
    bodies = [
        NewtonEuler(
            f"b{k}", mass=1.0, inertia=[0.004, 0.003, 0.002], q0=(0.2 * k + 0.1, 0, 0.5), force=[0, 0, -9.81]
        )
        for k in range(2)
    ]
    floor = BodyContact(
        gap=lambda t, q: q[2] - 0.46, normal=[0.0, 0.0, 1.0], point=lambda q: q[:3],
        surface_velocity=[0.1, 0.0, 0.0],
    )  # fmt: skip
    ties = [
        Interaction("j0", "b0", BallJoint((0.0, 0.0, 0.5)), Equality(3)),
        Interaction("j1", ("b1", "b0"), BallJoint((0.2, 0.0, 0.5)), Equality(3)),
        Interaction("floor", "b1", floor, NewtonImpact(e=0.5, mu=0.2)),
    ]
    return NonsmoothSystem(bodies, ties)


MODELS = {
    "sphere": (sphere, 1e-3, 150),
    "tower": (tower, 1e-3, 60),
    "loaded": (loaded, 1e-3, 100),
    "hanging": (hanging, 1e-3, 120),
    "ball": (ball, 1e-3, 900),
    "chain": (chain, 1e-3, 200),
    "puck": (puck, 1e-3, 300),
    "spring": (spring_and_plate, 1e-3, 300),
    "arm": (arm, 1e-3, 600),
    "pendulum": (pendulum, 1e-3, 200),
    "counting": (counting, 1e-3, 100),
    "driven": (driven, 1e-3, 400),
}


def marched(system, scheme, h, steps, tolerance=TIGHT) -> March:
    state = first_state(system)
    found = scheme.march(system, state, scheme.begin(system, state, h), h, steps, tolerance)
    assert found is not None
    return found


@pytest.mark.parametrize("variant", ["nearly-implicit", "semi-explicit"])
@pytest.mark.parametrize("name", MODELS)
def test_it_equals_the_steps_one_by_one(name, variant):
    make, h, steps = MODELS[name]
    system, scheme = make(), MoreauJean(variant=variant, theta=0.7, newton_tolerance=1e-13)
    solver = registry.make("auto", tolerance=TIGHT)
    together = marched(system, scheme, h, steps)
    assert len(together) >= 0.9 * steps
    assert together.active.any()
    state = first_state(system)
    memory = scheme.begin(system, state, h)
    for k in range(len(together)):
        step = scheme.step(system, state, memory, h, solver)
        for column, other in (
            ("q", step.state.q), ("v", step.state.v), ("z", step.state.z), ("r", step.r), ("u", step.u),
            ("y", step.y), ("forecast", step.forecast),
        ):  # fmt: skip
            np.testing.assert_allclose(
                getattr(together, column)[k], other, rtol=1e-11, atol=1e-11, err_msg=f"{column}, step {k}"
            )
        np.testing.assert_array_equal(together.active[k], step.active)
        assert together.newton[k] == step.newton
        assert max(together.natural[k], together.natural_scaled[k]) <= TIGHT
        # from here both go on from the same state, so that rounding is not mistaken for a difference
        state = State(step.state.t, together.q[k], together.v[k], together.z[k])
        memory = {"r": together.r[k], "y": together.y[k]}
    assert together.t[-1] == pytest.approx(len(together) * h)


def test_its_certificates_are_those_of_the_judge():
    system, scheme = puck(), MoreauJean(variant="semi-explicit")
    together = marched(system, scheme, 1e-3, 300, 1e-10)
    solver = registry.make("auto", tolerance=1e-10)
    for k in np.flatnonzero(together.active.any(axis=1))[::20]:
        before = State(float(together.t[k - 1]), together.q[k - 1], together.v[k - 1], together.z[k - 1])
        step = scheme.step(system, before, {"r": together.r[k - 1], "y": together.y[k - 1]}, 1e-3, solver)
        said = judge(step.solves[0].problem, together.r[k])
        assert said.solved(1e-10)
        assert together.natural[k] == pytest.approx(said.natural, abs=1e-15)
        assert together.natural_scaled[k] == pytest.approx(said.natural_scaled, abs=1e-15)


def test_it_is_repeatable_and_continues_bit_for_bit():
    system, scheme = puck(), MoreauJean()
    state, h = first_state(system), 1e-3
    clock = h * np.arange(301)
    memory = scheme.begin(system, state, h)
    whole = scheme.march(system, state, memory, h, 300, 1e-10, clock)
    again = scheme.march(system, state, memory, h, 300, 1e-10, clock)
    half = scheme.march(system, state, memory, h, 120, 1e-10, clock[:121])
    rest = scheme.march(system, half.state, half.memory, h, 180, 1e-10, clock[120:])
    for column in ("t", "q", "v", "r", "u", "y", "natural", "forecast"):
        one = getattr(whole, column)
        assert one.tobytes() == getattr(again, column).tobytes()
        assert one[:120].tobytes() == getattr(half, column).tobytes()
        assert one[120:].tobytes() == getattr(rest, column).tobytes()
    assert rest.state.q.tobytes() == whole.q[-1].tobytes()


def test_it_ends_before_a_step_that_is_not_finite():
    @numba.njit
    def late(t):
        return 1.0 if t < 0.0105 else np.nan

    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=late)])
    together = marched(system, MoreauJean(variant="semi-explicit"), 1e-3, 100)
    assert len(together) == 11
    assert np.isfinite(together.q).all()
    assert together.state.t == together.t[-1]


def test_it_ends_before_a_function_raises():
    @numba.njit
    def late(t):
        if t > 0.0105:
            raise ValueError("too late")
        return 1.0

    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=late)])
    assert len(marched(system, MoreauJean(variant="semi-explicit"), 1e-3, 100)) == 11


def test_an_interrupt_in_a_function_ends_the_march_before_its_step():
    def stopped(t):
        if t > 0.0105:
            raise KeyboardInterrupt
        return 1.0

    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=stopped)])
    found = marched(system, MoreauJean(variant="semi-explicit"), 1e-3, 100)
    assert len(found) == 11
    assert isinstance(found.error, KeyboardInterrupt)
    assert len(marched(system, MoreauJean(variant="semi-explicit"), 1e-3, 5)) == 5


def test_functions_own_the_arrays_they_are_given():
    seen = []

    def force(t, q, v):
        seen.append(q)
        return -100.0 * q - v

    system = NonsmoothSystem([Lagrangian("mass", M=1.0, q0=1.0, F_int=force)])
    together = marched(system, MoreauJean(variant="semi-explicit"), 1e-3, 50)
    seen = seen[-50:]
    np.testing.assert_array_equal(np.concatenate(seen)[1:], together.q[:-1, 0])
    assert not any(q.flags.writeable for q in seen)


def test_what_it_does_not_know_is_left_to_the_steps():
    poisson = Interaction("floor", "ball", Scleronomous(itself), PoissonImpact(e=0.9))
    system = NonsmoothSystem([Lagrangian("ball", M=1.0, q0=1.0, F_ext=-9.81)], [poisson])
    state, scheme = first_state(system), MoreauJean()
    assert scheme.march(system, state, scheme.begin(system, state, 1e-3), 1e-3, 10, 1e-10) is None
    for scheme in (
        MoreauJean(variant="complete"),
        MoreauJean(form="global"),
        MoreauJean(activation="distance"),
    ):
        system = ball()
        state = first_state(system)
        assert scheme.march(system, state, scheme.begin(system, state, 1e-3), 1e-3, 10, 1e-10) is None
