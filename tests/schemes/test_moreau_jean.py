"""Moreau-Jean: orders of convergence, index sets, forms, coupling, errors."""

import itertools

import numpy as np
import pytest
from mechanical_runs import steps

from stickslip.laws import Equality, Mixed, NewtonImpact, Relay
from stickslip.problem.box import BoxProblem
from stickslip.problem.contact import ContactProblem, GlobalProblem, Level
from stickslip.schemes.moreau_jean import MoreauJean
from stickslip.state import ModelError
from stickslip.systems.lagrangian import Lagrangian, LagrangianLinear
from stickslip.systems.lagrangian_relations import (
    LagrangianLinearRelation,
    LagrangianNonlinear,
    Rheonomous,
    Scleronomous,
)
from stickslip.systems.system import Interaction, NonsmoothSystem

G = 9.81


def arm():
    """A pendulum whose inertia depends on its angle, with the N that belongs to it."""
    return NonsmoothSystem(
        [
            Lagrangian(
                "arm", M=lambda q: [[1.0 + 0.5 * np.sin(q[0]) ** 2]], q0=1.0, v0=0.3,
                N=lambda q, v: [0.5 * np.sin(q[0]) * np.cos(q[0]) * v[0] ** 2],
                F_int=lambda q: G * np.sin(q),
            )
        ]
    )  # fmt: skip


def ends(system, n, until=1.0, **options):
    last = steps(system, until=until, h=until / n, scheme=MoreauJean(**options))[-1]
    return np.concatenate([last.state.q, last.state.v])


def order(make, counts, reference, **options):
    errors = [np.abs(ends(make(), n, **options) - reference).max() for n in counts]
    return np.log2(errors[-2] / errors[-1]), errors


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, 2.0),
        ({"frame": "current"}, 2.0),
        ({"variant": "complete"}, 2.0),
        ({"theta": 1.0}, 1.0),
        ({"variant": "complete", "theta": 0.8}, 1.0),
        ({"variant": "semi-explicit"}, 1.0),
    ],
)
def test_order_in_smooth_motion_with_a_mass_that_depends_on_q(options, expected):
    reference = (4.0 * ends(arm(), 800, variant="complete") - ends(arm(), 400, variant="complete")) / 3.0
    measured, _ = order(arm, (50, 100), reference, **options)
    assert measured == pytest.approx(expected, abs=0.15)


def ball(law=None, **more):
    floor = Interaction("floor", "ball", Scleronomous(lambda q: q, [[1.0]]), law or NewtonImpact(e=0.5))
    return NonsmoothSystem([Lagrangian("ball", M=2.0, q0=1.0, F_ext=-2.0 * G, **more)], [floor])


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"variant": "complete"},
        {"variant": "semi-explicit"},
        {"frame": "current"},
        {"activation": "distance", "delta": 1e-2},
    ],
)
def test_first_order_through_an_impact(options):
    """The bouncing ball at t = 0.8 s, between its first impact and its second: errors halve with h."""
    impact = np.sqrt(2.0 / G)
    since, up = 0.8 - impact, 0.5 * G * impact
    exact = np.array([up * since - 0.5 * G * since**2, up - G * since])
    h = 0.8 / np.array([300, 600, 1200, 2400])
    errors = np.array([np.abs(ends(ball(), n, 0.8, **options) - exact).max() for n in (300, 600, 1200, 2400)])
    assert (errors < 30.0 * h).all()
    assert np.polyfit(np.log(h), np.log(errors), 1)[0] > 0.6


def test_linear_dynamics_need_one_problem_and_one_iteration():
    oscillator = LagrangianLinear("mass", M=1.0, K=[[100.0]], C=[[0.3]], q0=1.0)
    wall = Interaction("wall", "mass", LagrangianLinearRelation([[1.0]], [0.2]), NewtonImpact(e=0.5))
    run = steps(NonsmoothSystem([oscillator], [wall]), until=1.0, h=1e-2, scheme=MoreauJean())
    assert {step.newton for step in run} == {1}
    assert {len(step.solves) for step in run} == {0, 1}
    assert all(step.ok for step in run)


def test_what_every_step_reports():
    run = steps(ball(), until=0.6, h=1e-3, scheme=MoreauJean())
    for before, step in itertools.pairwise(run):
        forecast = before.y[0] + 0.5e-3 * before.u[0]
        assert step.forecast[0] == pytest.approx(forecast, abs=1e-12)
        assert step.active[0] == (step.forecast[0] <= 0.0)
        assert step.levels == (Level.VELOCITY,)
        assert step.active[0] or step.r[0] == 0.0
    impact = next(step for step in run if step.active[0])
    assert impact.u[0] == pytest.approx(-0.5 * run[run.index(impact) - 1].u[0])


def test_uncoupled_systems_are_problems_of_their_own_and_coupled_ones_are_one():
    def pair(tied):
        at = {"a": 0.0, "b": 0.0 if tied else 5.0}
        balls = [Lagrangian(name, M=1.0, q0=q, F_ext=-G) for name, q in at.items()]
        ties = [
            Interaction("under a", "a", Scleronomous(lambda q: q), NewtonImpact()),
            Interaction("under b", "b", Scleronomous(lambda q: q - at["b"]), NewtonImpact()),
        ]
        if tied:
            ties.append(Interaction("both", ("a", "b"), Scleronomous(lambda q: [q[0] - q[1]]), Equality()))
        return NonsmoothSystem(balls, ties)

    apart = steps(pair(False), until=1e-3, h=1e-3, scheme=MoreauJean())[0]
    assert [one.problem.size for one in apart.solves] == [1, 1]
    assert [
        one.problem.size for one in steps(pair(True), until=1e-3, h=1e-3, scheme=MoreauJean())[0].solves
    ] == [3]
    np.testing.assert_allclose(apart.r, G * 1e-3)


def three_in_a_row():
    """The example of chapter 1: interaction mu on systems 1 and 3, theta on 2 and 3."""
    rng = np.random.default_rng(4)
    masses = {}
    for name, n in (("one", 2), ("two", 1), ("three", 3)):
        A = rng.normal(size=(n, n))
        masses[name] = A @ A.T + n * np.eye(n)
    C_mu, C_theta = rng.normal(size=(3, 5)), rng.normal(size=(1, 4))
    system = NonsmoothSystem(
        [
            Lagrangian(name, M=M, q0=np.zeros(len(M)), v0=rng.normal(size=len(M)))
            for name, M in masses.items()
        ],
        [
            Interaction("mu", ("one", "three"), LagrangianLinearRelation(C_mu), Equality(3)),
            Interaction("theta", ("two", "three"), LagrangianLinearRelation(C_theta), Equality(1)),
        ],
    )
    return system, masses, C_mu, C_theta


def test_blocks_of_the_delassus_matrix_are_those_of_chapter_one():
    system, masses, C_mu, C_theta = three_in_a_row()
    step = steps(system, until=1e-3, h=1e-3, scheme=MoreauJean())[0]
    W = step.solves[0].problem.W.dense()
    W1, W2, W3 = (np.linalg.inv(masses[name]) for name in ("one", "two", "three"))
    H1, H3, J2, J3 = C_mu[:, :2], C_mu[:, 2:], C_theta[:, :1], C_theta[:, 1:]
    np.testing.assert_allclose(W[:3, :3], H1 @ W1 @ H1.T + H3 @ W3 @ H3.T, atol=1e-12)  # (1.39)
    np.testing.assert_allclose(W[3:, 3:], J2 @ W2 @ J2.T + J3 @ W3 @ J3.T, atol=1e-12)
    np.testing.assert_allclose(W[:3, 3:], H3 @ W3 @ J3.T, atol=1e-12)  # (1.40)
    np.testing.assert_allclose(step.u, 0.0, atol=1e-9)


def rod_with_stop(mu=0.4):
    """A mass on a rod of fixed length, above a rough floor."""
    rod = Interaction(
        "rod", "mass", Scleronomous(lambda q: [q @ q - 1.0], lambda q: 2.0 * q[None]), Equality()
    )
    rows = [[0.0, 1.0], [1.0, 0.0]]
    floor = Interaction(
        "floor", "mass", Scleronomous(lambda q: [q[1] + 0.8], rows), NewtonImpact(e=0.3, mu=mu, dimension=2)
    )
    return NonsmoothSystem([Lagrangian("mass", M=1.5, q0=[1.0, 0.0], F_ext=[0.0, -1.5 * G])], [rod, floor])


@pytest.mark.parametrize("options", [{}, {"frame": "current"}, {"variant": "complete", "theta": 0.7}])
def test_reduced_and_global_forms_agree(options):
    reduced = steps(rod_with_stop(), until=0.6, h=1e-2, scheme=MoreauJean(**options))
    whole = steps(rod_with_stop(), until=0.6, h=1e-2, scheme=MoreauJean(form="global", **options))
    assert any(step.active[1] for step in reduced)
    assert isinstance(reduced[0].solves[0].problem, ContactProblem)
    assert isinstance(whole[0].solves[0].problem, GlobalProblem)
    assert whole[0].solves[0].problem.G is not None
    for a, b in zip(reduced, whole, strict=True):
        assert a.ok
        assert b.ok
        np.testing.assert_allclose(a.state.q, b.state.q, atol=1e-6)
        np.testing.assert_allclose(a.r, b.r, atol=1e-6)


def test_rows_at_the_end_keep_a_joint_much_better_than_rows_at_the_start():
    def drift(**options):
        return abs(steps(rod_with_stop(), until=0.4, h=4e-3, scheme=MoreauJean(**options))[-1].y[0])

    assert drift(frame="current") < 1e-2 * drift()
    assert drift(variant="complete") == pytest.approx(drift(frame="current"), rel=0.2)


def test_activation_by_distance_lets_a_contact_close_but_not_pass():
    """u_N + Φ/h >= 0: without restitution the ball arrives at the floor exactly, and does not sink in."""
    run = steps(
        ball(NewtonImpact()),
        until=0.6,
        h=1e-2,
        scheme=MoreauJean(activation="distance", delta=0.1, theta=1.0),
    )
    assert min(step.y[0] for step in run) > -1e-12
    assert run[-1].y[0] == pytest.approx(0.0, abs=1e-12)
    sunk = steps(ball(NewtonImpact()), until=0.6, h=1e-2, scheme=MoreauJean())
    assert min(step.y[0] for step in sunk) < -1e-3


def test_only_the_active_blocks_of_an_interaction_enter():
    """Two balls, one law: the second is far away."""
    two = Lagrangian("two", M=np.eye(2), q0=[0.0, 3.0], F_ext=[-G, -G])
    floor = Interaction("floor", "two", Scleronomous(lambda q: q), NewtonImpact(e=0.0, contacts=2))
    step = steps(NonsmoothSystem([two], [floor]), until=1e-3, h=1e-3, scheme=MoreauJean())[0]
    assert step.active.tolist() == [True, False]
    assert step.solves[0].problem.size == 1
    np.testing.assert_allclose(step.state.v, [0.0, -G * 1e-3], atol=1e-12)
    np.testing.assert_allclose(step.r, [G * 1e-3, 0.0], atol=1e-12)


def test_equality_and_contact_of_one_law():
    """Mixed: the first component is held, the second may leave."""
    mass = Lagrangian("mass", M=np.eye(2), q0=[0.0, 0.0], v0=[0.0, 1.0], F_ext=[5.0, -G])
    tie = Interaction("tie", "mass", Scleronomous(lambda q: q), Mixed(1, 1))
    run = steps(NonsmoothSystem([mass], [tie]), until=0.3, h=1e-3, scheme=MoreauJean())
    assert all(step.active[0] for step in run)
    assert not run[100].active[1]
    assert run[-1].active[1]
    np.testing.assert_allclose(run[-1].state.v, 0.0, atol=1e-9)


def test_dry_friction_in_a_joint_is_a_force_between_bounds():
    """A relay on the velocity: a mass slides to rest after v m / level seconds, whatever h."""
    for h in (1e-2, 1e-3):
        mass = Lagrangian("mass", M=2.0, q0=0.0, v0=1.0)
        brake = Interaction("brake", "mass", LagrangianLinearRelation([[1.0]]), Relay(level=4.0))
        run = steps(NonsmoothSystem([mass], [brake]), until=1.0, h=h, scheme=MoreauJean())
        stopped = next(k for k, step in enumerate(run, 1) if abs(step.state.v[0]) < 1e-9)
        assert stopped * h == pytest.approx(0.5, abs=1.5 * h)
        assert run[0].r[0] == pytest.approx(-4.0 * h)
        assert run[-1].state.q[0] == pytest.approx(0.25, abs=h)


def spring_floor(relation, law=None):
    mass = Lagrangian("mass", M=1.0, q0=0.05, v0=-1.0)
    return NonsmoothSystem([mass], [Interaction("spring", "mass", relation, law or NewtonImpact())])


K = 1e3
COMPLIANT = {
    "linear": LagrangianLinearRelation([[1.0]], D=[[1.0 / K]]),
    "nonlinear": LagrangianNonlinear(h=lambda q, lam: q + lam / K, g=lambda lam: lam),
}


@pytest.mark.parametrize("name", ["linear", "nonlinear"])
@pytest.mark.parametrize("theta", [0.5, 1.0])
def test_a_compliant_contact_is_a_spring_that_only_pushes(name, theta):
    """Half a period π sqrt(m/k) after the touch the mass leaves with the velocity it came with."""
    losses = []
    for h in (1e-3, 5e-4):
        run = steps(spring_floor(COMPLIANT[name]), until=0.25, h=h, scheme=MoreauJean(theta=theta))
        assert all(step.ok for step in run)
        assert run[0].levels == (Level.POSITION,)
        assert all(step.active[0] for step in run)
        assert all(step.newton == 1 for step in run)
        losses.append(1.0 - run[-1].state.v[0])
        touching = [step for step in run if step.r[0] > 1e-12]
        assert len(touching) * h == pytest.approx(np.pi / np.sqrt(K), rel=0.03)
        for step in touching:  # y = q + lam / k vanishes while it pushes
            assert abs(step.u[0]) < 1e-9
    assert losses[1] == pytest.approx(0.5 * losses[0], rel=0.1)
    assert 0.0 < losses[0] < 0.06


def test_forces_of_their_own_make_an_unsymmetric_problem():
    """A contact whose force pulls aside by a given share: p = (lam, lam / 2)."""
    mass = Lagrangian("mass", M=[[2.0, 0.5], [0.5, 1.0]], q0=[0.0, 0.0], v0=[-1.0, 0.0])
    relation = LagrangianNonlinear(
        h=lambda q: [q[0], 0.3 * q[1] + q[0]], g=lambda lam: [lam[0] + 0.2 * lam[1], 0.5 * lam[0] + lam[1]]
    )
    system = NonsmoothSystem(
        [mass], [Interaction("wedge", "mass", relation, NewtonImpact(e=0.0, contacts=2))]
    )
    step = steps(system, until=1e-3, h=1e-3, scheme=MoreauJean())[0]
    assert isinstance(step.solves[0].problem, BoxProblem)
    assert step.ok
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    push = np.array([step.r[0] + 0.2 * step.r[1], 0.5 * step.r[0] + step.r[1]])
    np.testing.assert_allclose(M @ (step.state.v - [-1.0, 0.0]), push, atol=1e-9)
    assert (step.u >= -1e-9).all()
    assert step.u @ step.r == pytest.approx(0.0, abs=1e-9)


def test_a_moving_floor_carries_a_ball():
    """Rheonomous: the ball follows the floor while its acceleration is above -g, and leaves after that."""
    amplitude, omega = 0.02, 30.0
    floor = Rheonomous(lambda t, q: q - amplitude * np.sin(omega * t))
    mass = Lagrangian("ball", M=1.0, q0=0.0, v0=amplitude * omega, F_ext=-G)
    system = NonsmoothSystem([mass], [Interaction("floor", "ball", floor, NewtonImpact())])
    leaves = np.arcsin(G / (amplitude * omega**2)) / omega
    run = steps(system, until=0.05, h=1e-4, scheme=MoreauJean())
    free = max(k for k, step in enumerate(run, 1) if step.r[0] > 0.0)
    assert free * 1e-4 == pytest.approx(leaves, abs=3e-4)
    carried = run[free - 10]
    assert carried.state.v[0] == pytest.approx(amplitude * omega * np.cos(omega * carried.state.t), abs=1e-6)
    assert abs(carried.y[0]) < 1e-6


def test_theta_by_system():
    """Each system is carried with its own theta, as if it were alone."""

    def spring(name):
        return LagrangianLinear(name, M=1.0, K=[[50.0]], q0=1.0)

    both = steps(
        NonsmoothSystem([spring("a"), spring("b")]), until=0.5, h=1e-2, scheme=MoreauJean(theta={"a": 1.0})
    )
    a = steps(NonsmoothSystem([spring("a")]), until=0.5, h=1e-2, scheme=MoreauJean(theta=1.0))
    b = steps(NonsmoothSystem([spring("b")]), until=0.5, h=1e-2, scheme=MoreauJean())
    np.testing.assert_array_equal(both[-1].state.q, [a[-1].state.q[0], b[-1].state.q[0]])


def broken(kind):
    if kind == "force":
        return NonsmoothSystem(
            [Lagrangian("m", M=1.0, q0=0.0, v0=1.0, F_int=lambda q: np.where(q > 0.5, np.nan, q))]
        )
    if kind == "mass":
        return NonsmoothSystem([Lagrangian("m", M=lambda q: [[0.5 - q[0]]], q0=0.0, v0=1.0)])
    if kind == "gap":
        wall = Scleronomous(lambda q: np.where(q > 0.5, np.nan, q), [[1.0]])
        return NonsmoothSystem(
            [Lagrangian("m", M=1.0, q0=0.1, v0=1.0)], [Interaction("wall", "m", wall, NewtonImpact())]
        )
    return NonsmoothSystem([LagrangianLinear("m", M=1.0, K=[[-4e4]], q0=0.0, v0=1.0)])


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("force", "system 'm': at t = 0.5.* s, F_int is not finite"),
        ("mass", "system 'm': at t = 0.4.* s, M is singular|system 'm': at t = 0.5.* s, M is singular"),
        ("gap", "interaction 'wall': at t = 0.4.* s, y is not finite"),
        ("matrix", "system 'm': at t = 0 s, the iteration matrix .* is singular"),
    ],
)
def test_what_cannot_go_on_is_an_error_that_names_it(kind, words):
    with pytest.raises(ModelError, match=words):
        steps(broken(kind), until=1.0, h=1e-2, scheme=MoreauJean())


def test_a_loop_that_does_not_converge_is_a_reason_not_an_exception():
    pendulum = NonsmoothSystem([Lagrangian("p", M=1.0, q0=1.0, F_int=lambda q: 500.0 * np.sin(3.0 * q))])
    step = steps(pendulum, until=0.2, h=0.2, scheme=MoreauJean(newton_max=2))[0]
    assert not step.ok
    assert "Newton stopped after 2 iterations" in step.reason
    assert np.isfinite(step.state.q).all()
    assert steps(pendulum, until=1e-3, h=1e-3, scheme=MoreauJean())[0].ok


def test_options_and_models_that_do_not_fit_are_refused_by_name():
    with pytest.raises(ValueError, match="theta"):
        MoreauJean(theta=1.5)
    with pytest.raises(ValueError, match="theta"):
        MoreauJean(theta={"ball": -0.1})
    with pytest.raises(ModelError, match="unknown system 'bal'"):
        steps(ball(), until=1e-3, h=1e-3, scheme=MoreauJean(theta={"bal": 0.5}))
    with pytest.raises(ModelError, match=r"'spring' is compliant.*theta above 0"):
        steps(spring_floor(COMPLIANT["linear"]), until=1e-3, h=1e-3, scheme=MoreauJean(theta=0.0))
    with pytest.raises(ModelError, match=r"'spring' is compliant.*global"):
        steps(spring_floor(COMPLIANT["linear"]), until=1e-3, h=1e-3, scheme=MoreauJean(form="global"))
