"""Contacts that bear take part in every step, whatever rounding and the solver leave of their gaps."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.compilation import JIT
from stickslip.kernels import activation
from stickslip.schemes.step import first_state
from stickslip.solvers import registry

G = 9.81
ROUGH = ss.NewtonImpact(e=0.0, mu=0.3)
EXACT = [
    name
    for name in registry.names(("coulomb3d",))
    if (one := registry.entry(name)).exact and one.installed and not one.licensed
]


def sliding(m=1.0, g=G, v=(1.0, 0.2), height=0.0, law=ROUGH):
    """A block of three coordinates, the height first, on a rough plane."""
    block = ss.Lagrangian("block", M=m * np.eye(3), q0=[height, 0, 0], v0=[0, *v], F_ext=[-m * g, 0, 0])
    plane = ss.Scleronomous(lambda q: q)
    floor = ss.Interaction("floor", "block", plane, law)
    return ss.NonsmoothSystem([block], [floor])


def pushed_row(count, force=1.0):
    """Blocks in a row that a force on the last one presses against a wall; no force acts on the others."""
    blocks = [
        ss.Lagrangian(f"block {i}", M=1.0, q0=0.1 * (i + 1), F_ext=-force if i == count - 1 else 0.0)
        for i in range(count)
    ]
    wall = ss.Interaction("wall", "block 0", ss.Scleronomous(lambda q: q - 0.1), ss.NewtonImpact(e=0.0))
    between = [
        ss.Interaction(
            f"contact {i}", (f"block {i}", f"block {i + 1}"),
            ss.Scleronomous(lambda q: q[1:] - q[:1] - 0.1), ss.NewtonImpact(e=0.0),
        )
        for i in range(count - 1)
    ]  # fmt: skip
    return ss.NonsmoothSystem(blocks, [wall, *between])


@pytest.mark.parametrize("name", EXACT)
def test_a_sliding_block_keeps_its_height_with_every_solver(name):
    """It would sink by g h² in a step without its contact; gaps stay what a solver leaves in few steps."""
    h, tolerance = 0.01, max(1e-8, registry.entry(name).reach)
    run = ss.simulate(sliding(), until=50 * h, h=h, solver=name, tolerance=tolerance, on_failure="accept")
    if not run.ok.all():
        pytest.skip(f"{name} does not solve this problem to {tolerance:g}")
    assert run.active[1:].all()
    assert np.abs(run.y[:, 0]).max() <= 100 * tolerance * h
    bears = run.r[1:, 0]
    np.testing.assert_allclose(bears, G * h, rtol=1e-4)


@pytest.mark.parametrize("law", [ss.NewtonImpact(e=0.0, mu=0.3), ss.laws.PoissonImpact(e=0.5, mu=0.3)])
@pytest.mark.parametrize(
    "scheme",
    [
        ss.schemes.MoreauJean(theta=1.0, form="global"),
        ss.schemes.MoreauJean(theta=0.0, variant="semi-explicit"),
        ss.schemes.MoreauJean(variant="complete"), ss.schemes.MoreauJean(projection="combined"),
        "schatzman-paoli", "variational", "event-driven",
    ],
    ids=str,
)  # fmt: skip
def test_no_scheme_loses_a_step(scheme, law):
    """The interior point leaves normal velocities slightly positive, in every step."""
    if law.impact == "poisson" and scheme in ("schatzman-paoli", "variational"):
        pytest.skip("has Newton's restitution alone")
    h, tolerance = 0.01, 1e-4
    run = ss.simulate(sliding(law=law), until=20 * h, h=h, scheme=scheme, solver="ipm", tolerance=tolerance)
    assert run.active[1:].all()
    assert np.abs(run.y[:, 0]).max() <= 2 * tolerance * h


@pytest.mark.parametrize("solver", ["auto", "ipm"])
@pytest.mark.parametrize("tolerance", [1e-4, 1e-8])
def test_the_threshold_is_in_the_units_of_the_step(solver, tolerance):
    """Steps from 1e-5 s to 0.1 s, masses from 1e-6 kg to 1e6 kg, metres and millimetres."""
    for h, m, unit in ((1e-5, 1.0, 1.0), (0.1, 1.0, 1.0), (0.01, 1e-6, 1e3), (1e-3, 1e6, 1.0)):
        system = sliding(m=m, g=G * unit, v=(unit, 0.2 * unit))
        run = ss.simulate(system, until=40 * h, h=h, solver=solver, tolerance=tolerance)
        assert run.active[1:].all(), (h, m, unit)
        fastest = max(unit, G * unit * h)
        assert np.abs(run.y[:, 0]).max() <= 100 * tolerance * h * fastest, (h, m, unit)


@pytest.mark.skipif(not JIT, reason="too slow without compilation")
def test_no_step_is_lost_in_a_long_march():
    """1e5 steps in compiled code; the plane is 1 m away from the origin, so that gaps are rounded."""
    block = ss.Lagrangian("block", M=np.eye(3), q0=[1.0, 0, 0], v0=[0, 1.0, 0.2], F_ext=[-G, 0.4 * G, 0])
    plane = ss.Scleronomous(lambda q: q - np.array([1.0, 0.0, 0.0]))
    floor = ss.Interaction("floor", "block", plane, ss.NewtonImpact(e=0.0, mu=0.3))
    run = ss.simulate(ss.NonsmoothSystem([block], [floor]), until=100.0, h=1e-3, record=100)
    assert run.steps == 100_000
    assert run.active[1:].all()
    assert np.abs(run.y[:, 0]).max() <= 1e-12
    np.testing.assert_allclose(run.r[1:, 0], 100 * G * 1e-3, rtol=1e-9)


@pytest.mark.parametrize("solver", ["auto", "ipm"])
def test_blocks_that_only_contacts_press_together_bear(solver):
    h = 0.01
    run = ss.simulate(pushed_row(4), until=100 * h, h=h, solver=solver)
    assert run.active[1:].all()
    np.testing.assert_allclose(run.r[1:], h, rtol=1e-6)
    assert np.abs(run.y).max() <= 1e-11


def test_compiled_and_ordinary_steps_agree_on_who_takes_part():
    system, h = pushed_row(4), 0.01
    scheme = ss.schemes.MoreauJean()
    state, solver = first_state(system), registry.make("auto", tolerance=1e-10)
    memory = scheme.begin(system, state, h)
    together = scheme.march(system, state, memory, h, 30, 1e-10)
    if together is None:
        pytest.skip("there is no march without compilation")
    for k in range(30):
        step = scheme.step(system, state, memory, h, solver)
        assert np.array_equal(step.active, together.active[k])
        np.testing.assert_allclose(step.forecast, together.forecast[k], atol=1e-11)
        np.testing.assert_allclose(step.r, together.r[k], atol=1e-10)
        state, memory = step.state, step.memory


def test_a_contact_that_opens_is_not_held():
    """A threshold is no glue: slower than any noise, and with gaps inside it, impulses stay 0."""
    h = 0.01
    for speed, height in ((1e-12, 0.0), (1e-6, 1e-12), (1e-3, 0.0)):
        ball = ss.Lagrangian("ball", M=1.0, q0=height, v0=speed)
        floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
        run = ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=20 * h, h=h)
        assert not run.r.any()
        np.testing.assert_allclose(run.q[:, 0], height + speed * run.t, rtol=1e-12)


def test_a_ball_just_above_the_ground_falls_to_it():
    """A gap inside the threshold is closed and no more; one outside it is fallen through as without one."""
    h = 0.01
    reach = activation.threshold(h, G * h)
    for height in (0.5 * reach, 0.99 * reach):
        ball = ss.Lagrangian("ball", M=1.0, q0=height, F_ext=-G)
        floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.0))
        run = ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=30 * h, h=h)
        assert np.abs(run.q).max() == height
        assert abs(run.q[-1, 0]) < 1e-9 * height
    above = ss.Lagrangian("ball", M=1.0, q0=1e-6, F_ext=-G)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.0))
    run = ss.simulate(ss.NonsmoothSystem([above], [floor]), until=4e-3, h=1e-4)
    falls = run.t <= np.sqrt(2 * 1e-6 / G) - 1e-4
    np.testing.assert_allclose(run.q[falls, 0], 1e-6 - 0.5 * G * run.t[falls] ** 2, rtol=1e-9)
    assert run.v[-1, 0] == pytest.approx(0.0, abs=1e-12)
    assert -1e-4 * np.sqrt(2 * G * 1e-6) - G * 1e-8 <= run.q[-1, 0] <= 0.0  # sinks by at most a step


def test_impacts_come_when_their_forecast_says_so():
    """A forecast gap below the threshold does not bring an impact forward, and takes nothing from it."""
    h, u, e = 0.01, -1.0, 0.8
    height = 0.5 * h + 0.5 * activation.threshold(h, 1.0)
    ball = ss.Lagrangian("ball", M=1.0, q0=height, v0=u)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=e))
    run = ss.simulate(ss.NonsmoothSystem([ball], [floor]), until=5 * h, h=h)
    assert 0.0 < run.forecast[1, 0] <= activation.threshold(h, 1.0)
    assert run.active[:4, 0].tolist() == [False, False, True, True]
    assert run.v[1, 0] == u
    assert run.v[2:, 0] == pytest.approx(-e * u, rel=1e-12)


def test_activation_by_distance_has_the_threshold_too():
    """With delta = 0 a gap of rounding size would switch it off."""
    system = sliding(height=1e-14)
    run = ss.simulate(system, until=0.2, h=0.01, scheme=ss.schemes.MoreauJean(activation="distance"))
    assert run.active[1:].all()
    assert np.abs(run.y[:, 0]).max() <= 1e-12


def row_of_spheres(count, e=0.0):
    """Without gravity, pushed against a plane by a force on the last sphere."""
    b = ss.WorldBuilder(gravity=(0, 0, 0))
    b.material("ball", e=e)
    b.body("wall", ss.Plane(), fixed=True)
    for i in range(count):
        b.body(f"ball {i}", ss.Sphere(0.05), mass=1.0, material="ball", position=(0, 0, 0.05 + 0.1 * i))
    b.force(ss.forces.BodyForce("push", f"ball {count - 1}", force=(0, 0, -1.0)))
    return b.build()


@pytest.mark.parametrize("solver", ["auto", "ipm"])
def test_bodies_that_only_contacts_press_together_bear(solver):
    h = 0.01
    run = ss.simulate(row_of_spheres(3), until=60 * h, h=h, solver=solver)
    assert np.abs(run.q - run.q[0]).max() <= 1e-10  # a step without a contact moves a ball by h² F / m
    assert np.abs(run.v).max() <= 1e-8


@pytest.mark.parametrize("solver", ["auto", "ipm"])
def test_a_bar_rests_on_the_stop_of_its_hinge(solver):
    """Free motion does not turn it: only its hinge and the stop do."""
    b = ss.WorldBuilder()
    b.body("bar", ss.Cuboid((1.0, 0.1, 0.1)), position=(0.5, 0, 0))
    b.joint("hinge", "hinge", "bar", point=(0, 0, 0), axis=(0, 1, 0), limits=(-1.0, 0.0))
    h = 0.01
    run = ss.simulate(b.build(), until=60 * h, h=h, solver=solver)
    assert run.opening.max() <= 1e-9  # a step without the stop turns it by 1.5 g h² per metre
    assert np.abs(run.v).max() <= 1e-6


@pytest.mark.parametrize("solver", ["auto", "ipm", "nsgs"])
def test_a_sliding_box_of_a_world_keeps_its_height(solver):
    b = ss.WorldBuilder()
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid((1, 1, 1)), position=(0, 0, 0.5), velocity=(1, 0.2, 0))
    h = 0.01
    run = ss.simulate(b.build(), until=60 * h, h=h, solver=solver)
    assert np.abs(run.body("box").position[:, 2] - 0.5).max() <= 1e-8
