"""The variational scheme on equations: order, energy, gaps, restitution, friction, joints, refusals."""

import math
from itertools import pairwise

import numpy as np
import pytest

import stickslip as ss
from stickslip.scenes.linkages import slider_crank
from stickslip.schemes.variational_written import ENERGY, Variational
from stickslip.schemes.variational_written_motion import Central, Curved, Turning, node_of

G = 9.81
FLOOR = ss.Scleronomous(lambda q: q, dy_dq=[[1.0]])
PLANE = ss.Scleronomous(lambda q: q[2:], dy_dq=[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def run(system, until, h, solver="auto", tolerance=1e-11, **options):
    scheme = Variational(**options)
    return ss.simulate(system, until=until, h=h, scheme=scheme, solver=solver, tolerance=tolerance)


def ball(e=0.5, q0=1.0, v0=0.0, F=-G, law=None):
    body = ss.Lagrangian("ball", M=1.0, q0=q0, v0=v0, F_ext=F)
    return ss.NonsmoothSystem([body], [ss.Interaction("floor", "ball", FLOOR, law or ss.NewtonImpact(e=e))])


def block(v0, mu=0.3, pull=(0.0, 0.0)):
    """A block of 2 kg on a plane, with weight and a pull along it."""
    body = ss.Lagrangian("block", M=2.0, q0=np.zeros(3), v0=[*v0, 0.0], F_ext=[*pull, -2.0 * G])
    return ss.NonsmoothSystem([body], [ss.Interaction("plane", "block", PLANE, ss.NewtonImpact(mu=mu))])


def double_mass(q):
    c = math.cos(q[0] - q[1])
    return np.array([[2.0, c], [c, 1.0]])


def double_inertia(q, v):
    s = math.sin(q[0] - q[1])
    return np.array([s * v[1] ** 2, -s * v[0] ** 2])


def double_pendulum(N=double_inertia, M=double_mass):
    """Two unit masses on unit rods, angles from the vertical."""
    body = ss.Lagrangian(
        "rods", M=M, N=N, q0=[1.2, 0.5], v0=[0.0, 1.0],
        F_int=lambda q: G * np.array([2.0 * math.sin(q[0]), math.sin(q[1])]),
        potential=lambda q: -G * (2.0 * math.cos(q[0]) + math.cos(q[1])),
    )  # fmt: skip
    return ss.NonsmoothSystem([body])


def observed_order(make, until, steps, **options):
    ends = [run(make(), until, h, **options).q[-1] for h in steps]
    first, second = (float(np.abs(a - b).max()) for a, b in pairwise(ends))
    return math.log2(first / second)


def oscillator(C=0.0, h=None):
    return ss.NonsmoothSystem([ss.LagrangianLinear("mass", M=1.0, K=4.0, C=C, q0=1.0, v0=0.5)])


def rod(q0=(1.0, 0.0)):
    """A unit mass that a joint keeps one metre from the origin."""
    body = ss.Lagrangian("mass", M=1.0, q0=q0, F_ext=[0.0, -G])
    circle = ss.Scleronomous(lambda q: [0.5 * (q @ q - 1.0)], dy_dq=lambda q: [[q[0], q[1]]])
    return ss.NonsmoothSystem([body], [ss.Interaction("rod", "mass", circle, ss.laws.Equality())])


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (oscillator, {}),
        (lambda: oscillator(C=0.4), {}),
        (double_pendulum, {"form": "variational"}),
        (double_pendulum, {"form": "central"}),
        (rod, {}),
    ],
    ids=["springs", "damped", "double-pendulum", "central", "joint"],
)
def test_positions_are_of_second_order(make, options):
    assert observed_order(make, 0.6, (0.02, 0.01, 0.005), **options) == pytest.approx(2.0, abs=0.05)


def test_constant_mass_is_stormer_verlet():
    """q_{k+1} = 2 q_k - q_{k-1} + h² a(q_k), with q_1 = q_0 + h v_0 + h²/2 a(q_0)."""
    h, q = 0.05, [1.0, 1.0 + 0.05 * 0.5 - 0.5 * 0.05**2 * 4.0]
    for _ in range(30):
        q.append(2.0 * q[-1] - q[-2] - 4.0 * h * h * q[-1])
    np.testing.assert_allclose(run(oscillator(), 30 * h, h).q[:, 0], q[:31], atol=1e-13)


def test_energy_is_bounded_over_long_runs():
    """It swings by O(h²) and does not drift: springs over 100 periods, a double pendulum over 10 s."""
    springs = run(oscillator(), 300.0, 0.1).measures[ENERGY][1:]
    assert np.ptp(springs) <= 0.03 * springs[0]
    assert springs[-500:].mean() == pytest.approx(springs[:500].mean(), rel=1e-4)
    body = double_pendulum()
    swings = [np.ptp(run(body, 10.0, h).measures[ENERGY][1:]) for h in (0.02, 0.01)]
    assert swings[0] / swings[1] == pytest.approx(4.0, rel=0.3)
    assert swings[1] < 2e-3 * 3.0 * G


def test_momentum_that_a_symmetry_keeps_is_kept():
    """M(q) of polar coordinates: the angle is not in it, so its discrete momentum is constant."""
    body = ss.Lagrangian(
        "planet", M=lambda q: np.diag([1.0, q[0] ** 2]), q0=[1.0, 0.0], v0=[0.0, 1.2],
        N=lambda q, v: [-q[0] * v[1] ** 2, 2.0 * q[0] * v[0] * v[1]],
        F_int=lambda q: [1.0 / q[0] ** 2, 0.0], potential=lambda q: -1.0 / q[0],
    )  # fmt: skip
    found = run(ss.NonsmoothSystem([body]), 20.0, 0.05)
    q, v = found.q, found.v
    momentum = 0.5 * (q[1:, 0] ** 2 + q[:-1, 0] ** 2) * v[1:, 1]
    np.testing.assert_allclose(momentum, 1.2, rtol=1e-11)
    assert np.ptp(found.measures[ENERGY][1:]) < 2e-3


def test_which_form_a_mass_matrix_is_taken_in():
    def form(system):
        return node_of(system.mechanical[0][0], "auto")

    assert form(double_pendulum()) is Curved
    assert form(double_pendulum(N=None)) is Central
    assert form(double_pendulum(N=lambda q, v: 1.001 * double_inertia(q, v))) is Central
    assert form(double_pendulum(M=lambda t, q: double_mass(q))) is Central
    assert form(oscillator()) is Central
    assert form(slider_crank().system) is Curved
    with pytest.raises(ss.ModelError, match=r"system 'rods': N is not .*; take form='central'"):
        run(double_pendulum(N=lambda q, v: 2.0 * double_inertia(q, v)), 0.1, 0.01, form="variational")
    with pytest.raises(ss.ModelError, match=r"there is no N"):
        run(double_pendulum(N=None), 0.1, 0.01, form="variational")


def test_inertia_forces_are_not_counted_twice():
    """Both forms, and Moreau-Jean, tend to one motion."""
    ends = [run(double_pendulum(), 0.5, 5e-3, form=form).q[-1] for form in ("variational", "central")]
    other = ss.simulate(double_pendulum(), until=0.5, h=1e-3).q[-1]
    np.testing.assert_allclose(ends[0], ends[1], atol=5e-4)
    np.testing.assert_allclose(ends[0], other, atol=2e-3)


@pytest.mark.parametrize("e", [0.0, 0.5, 1.0])
def test_a_ball_leaves_with_e_times_the_speed_it_came_with(e):
    found = run(ball(e, q0=0.0503, v0=-2.0, F=0.0), 0.2, 0.01)
    assert found.v[-1, 0] == pytest.approx(2.0 * e, abs=1e-11)
    assert found.r.sum() == pytest.approx(2.0 * (1.0 + e), rel=1e-11)
    assert found.penetration.max() <= 1e-12


def test_the_bouncing_ball_touches_when_it_should():
    h, e, first = 1e-3, 0.5, math.sqrt(2.0 / G)
    found = run(ball(e), 1.3, h)
    times = found.t[1:][(found.r[1:, 0] > 1e-9) & (found.r[:-1, 0] <= 1e-9)]
    exact = [first, first * (1.0 + 2.0 * e)]
    np.testing.assert_allclose(times[:2], exact, atol=2.0 * h)
    peaks = found.q[found.t > first].max()
    assert peaks == pytest.approx(e * e, rel=0.01)
    assert found.penetration.max() <= 1e-12
    assert found.ok.all()


def test_rest_is_exact_and_carries_the_weight():
    found = run(ball(0.9, q0=0.0), 0.1, 0.01)
    assert np.abs(found.q).max() == 0.0
    assert found.r[1, 0] == pytest.approx(0.5 * G * 0.01, rel=1e-12)
    assert found.r[-1, 0] == pytest.approx(G * 0.01, rel=1e-12)


def test_a_block_slides_to_a_stop_and_agrees_with_moreau_jean():
    """From 1 m/s it slides v²/(2 mu g) in its own direction, and stays."""
    v0 = np.array([math.cos(0.4), math.sin(0.4)])
    far = 1.0 / (2.0 * 0.3 * G)
    ends = []
    for h in (1e-2, 5e-3):
        found = run(block(v0), 0.5, h)
        assert found.ok.all()
        assert found.penetration.max() <= 1e-12
        assert set(found.interaction("plane").states[-1]) == {"sticking"}
        ends.append(found.q[-1])
        np.testing.assert_allclose(found.q[-1, :2], far * v0, atol=h * 1e-2)
    other = ss.simulate(block(v0), until=0.5, h=1e-3).q[-1]
    np.testing.assert_allclose(ends[1], other, atol=1e-3)


def test_friction_holds_up_to_its_bound():
    for share, moves in ((0.999, False), (1.001, True)):
        found = run(block((0.0, 0.0), pull=(share * 0.3 * 2.0 * G, 0.0)), 0.2, 0.01)
        assert bool(found.v[-1, 0] > 1e-6) is moves


def test_contact_models_differ_as_they_should():
    """At 30° to the axes of the pyramid a block turns; without friction it does not slow down."""
    v0 = np.array([math.cos(math.pi / 6.0), 0.5])
    ends = {name: run(block(v0), 0.2, 5e-3, contact=name) for name in ("cone", "pyramid", "impact")}
    angle = {name: math.atan2(found.q[-1, 1], found.q[-1, 0]) for name, found in ends.items()}
    assert angle["cone"] == pytest.approx(math.pi / 6.0, abs=1e-9)
    assert angle["pyramid"] != pytest.approx(math.pi / 6.0, abs=0.02)
    np.testing.assert_allclose(ends["impact"].q[-1, :2], 0.2 * v0, atol=1e-12)
    assert [ends[name].verdict for name in ends] == ["certified", "relaxed", "relaxed"]
    for found in ends.values():
        assert found.missed == 0
        assert found.penetration.max() <= 1e-12


@pytest.mark.parametrize("solver", ["nsgs", "newton-ac", "admm"])
def test_any_solver_makes_the_step(solver):
    a, b = (run(block((0.6, 0.8)), 0.05, 5e-3, solver=name, tolerance=1e-9) for name in ("auto", solver))
    np.testing.assert_allclose(a.q[-1], b.q[-1], atol=1e-8)


def test_joints_hold_at_every_step_and_are_certified():
    found = run(rod(), 1.5, 0.01, tolerance=1e-10)
    assert np.abs(found.y).max() <= 1e-12
    assert found.ok.all()
    assert found.natural.max() <= 1e-10
    assert np.ptp(found.measures[ENERGY][1:]) < 2e-3 * G


def test_dry_joint_friction_stops_a_mass():
    """A Box law is a force: 1 m/s under 0.5 N stops after 2 s and 1 m, to second order from the start on."""
    body = ss.Lagrangian("mass", M=1.0, q0=0.0, v0=1.0)
    dry = ss.Interaction("guide", "mass", FLOOR, ss.laws.Box(-0.5, 0.5))
    found = run(ss.NonsmoothSystem([body], [dry]), 2.5, 0.05)
    assert found.q[-1, 0] == pytest.approx(1.0, abs=2e-3)
    assert abs(found.v[-1, 0]) < 1e-12
    before = found.t < 1.9
    np.testing.assert_allclose(found.q[before, 0], (found.t - 0.25 * found.t**2)[before], atol=1e-12)


def test_a_moving_floor_carries_a_ball():
    body = ss.Lagrangian("ball", M=1.0, q0=0.0, v0=0.3, F_ext=-G)
    floor = ss.systems.Rheonomous(lambda t, q: q - 0.3 * t, dy_dq=[[1.0]], dy_dt=[-0.3])
    found = run(
        ss.NonsmoothSystem([body], [ss.Interaction("floor", "ball", floor, ss.NewtonImpact())]), 0.5, 0.01
    )
    np.testing.assert_allclose(found.q[:, 0], 0.3 * found.t, atol=1e-12)


def test_the_rattling_slider_never_leaves_its_guide():
    found = run(slider_crank().system, 0.015, 1e-4, tolerance=1e-10)
    other = ss.simulate(slider_crank().system, until=0.015, h=2e-5)
    assert found.r.any()
    assert found.penetration.max() <= 1e-8
    np.testing.assert_allclose(found.q[-1, :2], other.q[-1, :2], atol=5e-3)


def top(**more):
    return ss.NewtonEuler("top", mass=2.0, inertia=[1.0, 2.0, 2.5], v0=[0.1, 0.0, 0.0, 0.3, 4.0, 0.5], **more)


def test_a_free_body_keeps_momentum_and_energy():
    """The intermediate axis flips it over and over; the discrete momentum R_k P₋(Ω) is kept to rounding."""
    found = run(ss.NonsmoothSystem([top()]), 20.0, 0.02)
    kinetic = found.measures[ENERGY][1:]
    assert np.ptp(kinetic) < 2e-3 * kinetic[0]
    J, h, momenta = np.diag([1.0, 2.0, 2.5]), 0.02, []
    for q, v in zip(found.q[1:], found.v[1:], strict=True):
        omega = v[3:]
        spin = J @ omega
        P = spin - 0.5 * h * np.cross(omega, spin) + 0.25 * h * h * (omega @ spin) * omega
        w, x = q[3], q[4:]
        momenta.append(P + 2.0 * np.cross(x, np.cross(x, P) + w * P))
    np.testing.assert_allclose(momenta, np.broadcast_to(momenta[0], (len(momenta), 3)), atol=1e-9)
    assert node_of(top(), "auto") is Turning


def test_a_ball_of_newton_and_euler_bounces():
    body = ss.NewtonEuler("ball", mass=1.0, inertia=[0.1, 0.1, 0.1], q0=[0.0, 0.0, 1.2], force=[0.0, 0.0, -G])
    floor = ss.systems.SpherePlane(radius=0.2)
    law = ss.NewtonImpact(e=0.5, mu=0.3)
    found = run(ss.NonsmoothSystem([body], [ss.Interaction("floor", "ball", floor, law)]), 1.0, 5e-3)
    assert found.penetration.max() <= 1e-12
    assert found.q[found.t > 0.5, 2].max() - 0.2 == pytest.approx(0.25, rel=0.03)


def test_velocities_are_those_between_the_nodes():
    found = run(oscillator(), 1.0, 0.01)
    np.testing.assert_allclose(np.diff(found.q[:, 0]), 0.01 * found.v[1:, 0], atol=1e-15)


def test_a_shorter_last_step_keeps_the_order():
    """h changes in the last step, whose force counts for half of either."""
    exact = math.cos(2.03) + 0.25 * math.sin(2.03)
    errors = [abs(run(oscillator(), 1.015, h).q[-1, 0] - exact) for h in (0.04, 0.02)]
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.25)


def refusals():
    springy = ss.systems.CompliantRelation(lambda q, lam: q + 1e-3 * lam)
    own = ss.systems.LagrangianNonlinear(lambda q: q, lambda lam: 2.0 * lam)
    point = ss.Lagrangian("ball", M=1.0, q0=0.0)

    def tied(relation, law, body=point):
        return ss.NonsmoothSystem([body], [ss.Interaction("tie", "ball", relation, law)])

    yield tied(springy, ss.laws.Complementarity()), "'tie' is compliant"
    yield tied(own, ss.NewtonImpact()), "'tie' has forces g of its own"
    yield tied(FLOOR, ss.laws.PoissonImpact(e=0.5)), "'tie': Poisson's impact"
    yield ss.NonsmoothSystem([ss.FirstOrderLinear("tank", A=-1.0, x0=1.0)]), "'tank' is of first order"
    yield rod(q0=(1.1, 0.0)), "'rod': at t = 0 s, y is 0.105, but its law requires 0"
    yield ball(q0=-0.1), "'floor': at t = 0 s, the gap is -0.1"
    stiff = ss.LagrangianLinear("ball", M=1.0, K=90000.0, q0=1.0)
    yield ss.NonsmoothSystem([stiff]), r"'ball' oscillates at up to 300 rad/s .* needs h < 0\.00667 s"


@pytest.mark.parametrize(("system", "said"), list(refusals()), ids=lambda x: x if isinstance(x, str) else "")
def test_what_it_cannot_carry_is_named(system, said):
    with pytest.raises(ss.ModelError, match=said):
        ss.simulate(system, until=0.1, h=0.01, scheme="variational")


def test_what_is_not_finite_is_named():
    body = ss.Lagrangian("ball", M=1.0, q0=1.0, F_ext=lambda t: [math.nan if t > 0.05 else -1.0])
    with pytest.raises(ss.ModelError, match=r"system 'ball': at t = 0\.06 s, F_ext is not finite"):
        ss.simulate(ss.NonsmoothSystem([body]), until=0.1, h=0.01, scheme="variational")
    with pytest.raises(ValueError, match="contact must be one of cone, pyramid, impact"):
        Variational(contact="square")


def test_a_law_with_a_bias_of_its_own_bounces_by_it():
    """Restitution with a threshold: (2 - 1) times 0.8 comes back."""

    class Threshold(ss.NewtonImpact):
        def bias(self, u_before):
            return -0.8 * np.maximum(-u_before - 1.0, 0.0)

    found = run(ball(q0=0.05, v0=-2.0, F=0.0, law=Threshold(e=0.0)), 0.2, 0.01)
    assert found.v[-1, 0] == pytest.approx(0.8, abs=1e-11)
