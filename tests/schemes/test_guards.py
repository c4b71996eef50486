"""Guards, jump maps and edges in the event-driven scheme, against closed forms."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.systems import Guard

G, E = 9.81, 0.8


def point(q0=1.0, v0=0.0, **more):
    """A mass point on a vertical line."""
    return ss.Lagrangian("ball", M=np.eye(1), q0=[q0], v0=[v0], F_ext=[-G], **more)


def bouncing(e=E, **more):
    """A ball whose floor is a guard: v⁺ = -e v⁻."""
    floor = Guard("floor", "ball", lambda q: q[0], {"v": lambda v: -e * v})
    return ss.NonsmoothSystem([point()], guards=[floor], **more)


def clock(rate=1.0, **more):
    """x' = rate, from 0."""
    return ss.FirstOrder("clock", f=[rate], x0=[0.0], **more)


def times(run, name):
    """When a guard fired."""
    return np.array([event.t for event in run.events if (event.kind, event.interaction) == ("guard", name)])


def test_bouncing_ball():
    run = ss.simulate(bouncing(), until=2.5, h=0.1)
    found = times(run, "floor")
    flights = np.cumsum([0.0, *(2.0 * E**k for k in range(1, len(found)))])
    assert run.scheme == "event-driven"
    assert len(found) == 4
    np.testing.assert_allclose(found, np.sqrt(2.0 / G) * (1.0 + flights), atol=1e-13)
    # The same ball on a floor that is a contact.
    law = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=E))
    other = ss.simulate(ss.NonsmoothSystem([point()], [law]), until=2.5, h=0.1, scheme="event-driven")
    np.testing.assert_allclose(run.q, other.q, atol=1e-10)
    np.testing.assert_allclose(run.v, other.v, atol=1e-9)


def test_thermostat():
    """Heating switched off above 22 and on below 18: both branches are exponentials."""
    a, cold, hot = 0.5, 10.0, 40.0
    room = ss.FirstOrder("room", f=lambda x, z: a * (cold + (hot - cold) * z - x), x0=[20.0], z=[1.0])
    guards = [
        Guard("warm", "room", lambda x: x[0] - 22.0, {"z": [0.0]}, direction="rising"),
        Guard("cool", "room", lambda x: x[0] - 18.0, {"z": [1.0]}, direction="falling"),
    ]
    run = ss.simulate(ss.NonsmoothSystem([room], guards=guards), until=20.0, h=0.25)
    period = np.log((22.0 - cold) / (18.0 - cold)) / a + np.log((hot - 18.0) / (hot - 22.0)) / a
    np.testing.assert_allclose(times(run, "warm")[0], np.log(20.0 / 18.0) / a, rtol=1e-12)
    assert len(times(run, "warm")) == 17
    np.testing.assert_allclose(np.diff(times(run, "warm")), period, rtol=1e-11)
    np.testing.assert_allclose(np.diff(times(run, "cool")), period, rtol=1e-11)
    assert run.q.min() > 18.0 - 1e-9
    assert run.q.max() < 22.0 + 1e-9
    assert set(run.z[:, 0]) == {0.0, 1.0}


@pytest.mark.parametrize("given", ["times", "function"])
@pytest.mark.parametrize("h", [0.1, 0.7, 3.0])
def test_square_wave_on_an_rc_circuit(given, h):
    half, tau = 0.3, 2.0

    def wave(t):
        return 1.0 - math.floor(t / half) % 2

    edges = half * np.arange(1, 11) if given == "times" else lambda t: half * (math.floor(t / half) + 1)
    circuit = ss.FirstOrder("rc", f=lambda t, x: (wave(t) - x) / tau, x0=[0.0])
    model = ss.NonsmoothSystem([circuit], edges=edges)
    exact = [0.0]
    for k in range(10):
        exact.append((1.0 - k % 2) + (exact[-1] - (1.0 - k % 2)) * np.exp(-half / tau))
    run = ss.simulate(model, until=3.0, h=h, scheme="event-driven")
    np.testing.assert_allclose(run.q[-1, 0], exact[-1], rtol=1e-12)
    if h == 0.1:
        np.testing.assert_allclose(run.q[::3, 0], exact, rtol=1e-12)
        # Without edges the integrator meets jumps on its way, and is told by its error alone.
        blind = ss.simulate(ss.NonsmoothSystem([circuit]), until=3.0, h=3.0, scheme="event-driven")
        assert abs(blind.q[-1, 0] - exact[-1]) > 1e3 * abs(run.q[-1, 0] - exact[-1])


def test_edges_of_a_force_on_a_mass_that_rests():
    """A force of 2 m g lifts a resting mass between 1 and 2: it leaves at the edge and falls back after."""
    body = ss.Lagrangian(
        "ball", M=np.eye(1), q0=[0.0], v0=[0.0], F_ext=lambda t: [G if 1.0 <= t < 2.0 else -G]
    )
    law = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.0))
    run = ss.simulate(
        ss.NonsmoothSystem([body], [law], edges=[1.0, 2.0]), until=5.0, h=0.3, scheme="event-driven"
    )
    told = {event.kind: event.t for event in run.events}
    assert told["take-off"] == 1.0
    np.testing.assert_allclose(told["impact"], 3.0 + np.sqrt(2.0), rtol=1e-12)


def test_two_guards_at_the_same_time_fire_in_their_order():
    def model(names):
        all_ = {
            "add": Guard("add", "clock", lambda x: 1.0 - x[0], {"z": lambda z: z + 1.0}),
            "double": Guard("double", "clock", lambda x: 1.0 - x[0], {"z": lambda z: 2.0 * z}),
        }
        return ss.NonsmoothSystem([clock(z=[3.0])], guards=[all_[name] for name in names])

    for names, z in ((("add", "double"), 8.0), (("double", "add"), 7.0)):
        run = ss.simulate(model(names), until=2.0, h=0.4)
        assert [event.interaction for event in run.events] == list(names)
        assert run.events[0].t == run.events[1].t
        np.testing.assert_allclose(run.events[0].t, 1.0, rtol=1e-14)
        assert run.z[-1, 0] == z


def test_guards_of_different_systems_at_the_same_time():
    balls = [ss.Lagrangian(name, M=np.eye(1), q0=[1.0], v0=[0.0], F_ext=[-G]) for name in ("a", "b")]
    guards = [Guard(f"under {n}", n, lambda q: q[0], {"v": lambda v: -v}) for n in ("a", "b")]
    run = ss.simulate(ss.NonsmoothSystem(balls, guards=guards), until=3.0, h=0.1)
    np.testing.assert_allclose(times(run, "under a"), times(run, "under b"), atol=1e-13)
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-9)


@pytest.mark.parametrize(
    ("direction", "share"),
    [("falling", [0.5, 2.5, 4.5]), ("rising", [1.5, 3.5]), ("both", np.arange(0.5, 5))],
)
def test_directions_of_a_guard_that_only_watches(direction, share):
    """cos(pi t) passes zero at 1/2, 3/2, ...: falling, rising, falling, ..."""
    spring = ss.systems.LagrangianLinear("mass", M=np.eye(1), K=[[np.pi**2]], q0=[1.0], v0=[0.0])
    guard = Guard("zero", "mass", lambda q: q[0], direction=direction)
    run = ss.simulate(ss.NonsmoothSystem([spring], guards=[guard]), until=5.0, h=0.5)
    np.testing.assert_allclose(times(run, "zero"), share, atol=1e-10)


def test_a_guard_that_begins_at_zero_fires_when_it_comes_back():
    thrown = ss.Lagrangian("ball", M=np.eye(1), q0=[0.0], v0=[G], F_ext=[-G])
    floor = Guard("floor", "ball", lambda q: q[0], {"v": lambda v: -v}, direction="both")
    run = ss.simulate(ss.NonsmoothSystem([thrown], guards=[floor]), until=7.0, h=0.3)
    np.testing.assert_allclose(times(run, "floor"), [2.0, 4.0, 6.0], rtol=1e-12)


def test_sawtooth_and_what_a_jump_reads():
    """x grows to 1 and is set back by 1 + t / 10, of the time and the state before the jump."""
    guard = Guard("full", "clock", lambda x: 1.0 - x[0], {"x": lambda t, x: x - 1.0 - t / 10.0})
    run = ss.simulate(ss.NonsmoothSystem([clock()], guards=[guard]), until=10.0, h=0.7)
    expected, t = [], 1.0
    while t < 10.0:
        expected.append(t)
        t += 1.0 + t / 10.0
    np.testing.assert_allclose(times(run, "full"), expected, rtol=1e-12)


def test_systems_of_both_orders():
    """A ball counted by a filter: x falls with rate x, and is raised by 1 at every bounce."""
    lamp = ss.FirstOrder("lamp", f=lambda x: -x, x0=[0.0])
    ball = point(q0=G / 2)
    floor = Guard(
        "floor", ["ball", "lamp"], lambda q: q[0],
        {"v": lambda v: -v, "q": lambda q: [q[0], q[1] + 1.0]},
    )  # fmt: skip
    run = ss.simulate(ss.NonsmoothSystem([ball, lamp], guards=[floor]), until=6.5, h=0.25)
    np.testing.assert_allclose(times(run, "floor"), [1.0, 3.0, 5.0], rtol=1e-12)
    exact = sum(np.where(run.t >= at, np.exp(-(run.t - at)), 0.0) for at in (1.0, 3.0, 5.0))
    off = np.abs(run.system("lamp").x[:, 0] - exact)
    assert off[np.abs(run.t % 2.0 - 1.0) > 1e-6].max() < 1e-9


def test_a_jump_that_opens_and_closes_contacts():
    """A mass rests; a clock of its own kicks it up at t = 1, and puts it back on the floor at t = 1.5."""
    body, law = point(q0=0.0), ss.Interaction(
        "floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.0)
    )  # fmt: skip
    guards = [
        Guard("kick", "ball", lambda t: 1.0 - t, {"v": [5.0]}),
        Guard("stop", "ball", lambda t: 1.5 - t, {"q": [0.0], "v": [0.0]}),
    ]
    run = ss.simulate(ss.NonsmoothSystem([body], [law], guards=guards), until=2.0, h=0.1)
    since = np.clip(run.t - 1.0, 0.0, None)
    exact = np.where(run.t < 1.5, 5.0 * since - 0.5 * G * since**2, 0.0)
    away = np.abs(run.t - 1.5) > 1e-9
    np.testing.assert_allclose(run.q[away, 0], exact[away], atol=1e-9)
    assert run.missed == 0
    deep = Guard("kick", "ball", lambda t: 1.0 - t, {"q": [-0.1]})
    with pytest.raises(ss.ModelError, match="'floor': at t = 1 s, the jump of a guard leads to y"):
        ss.simulate(ss.NonsmoothSystem([body], [law], guards=[deep]), until=2.0, h=0.1)


def test_jumps_that_accumulate_end_the_run_with_a_statement():
    with pytest.raises(ss.SimulationFailure, match="guard 'floor' fires ever faster") as caught:
        ss.simulate(bouncing(e=0.5), until=5.0, h=0.1)
    end = np.sqrt(2.0 / G) * (1.0 + 2.0)
    assert f"t = {end:.6g}" in str(caught.value)
    assert "(Zeno)" in str(caught.value)
    assert end - 0.11 < caught.value.trajectory.t[-1] < end


def test_a_jump_that_fires_its_guard_again_is_given_up():
    again = Guard("again", "clock", lambda x: 1.0 - x[0], {"x": lambda x: x - 1e-12})
    with pytest.raises(ss.SimulationFailure, match="guard 'again' fires"):
        ss.simulate(ss.NonsmoothSystem([clock()], guards=[again]), until=2.0, h=0.4)


@pytest.mark.parametrize("k", [3, 11])
def test_a_run_goes_on_between_jumps_bit_for_bit(k, tmp_path):
    run = ss.simulate(bouncing(), until=2.0, h=0.1)
    run.save(tmp_path / "run.h5")
    back = ss.read_trajectory(tmp_path / "run.h5")
    assert back.events == run.events
    rest = ss.simulate(bouncing(), until=2.0, start=back.checkpoint(k))
    np.testing.assert_array_equal(rest.q, run.q[k:])
    np.testing.assert_array_equal(rest.v, run.v[k:])
    with pytest.raises(ss.ModelError, match="the start has 1 guards; here there are 0"):
        ss.simulate(ss.NonsmoothSystem([point()]), until=2.0, start=back.checkpoint(k))


def test_schemes_of_parts():
    """Guards under the event-driven scheme beside a system under another."""
    spring = ss.systems.LagrangianLinear("mass", M=np.eye(1), K=[[1.0]], q0=[1.0], v0=[0.0])
    floor = Guard("floor", "ball", lambda q: q[0], {"v": lambda v: -E * v})
    model = ss.NonsmoothSystem([spring, point()], guards=[floor])
    schemes = {"mass": "moreau-jean", "ball": "event-driven"}
    run = ss.simulate(model, until=2.0, h=0.1, scheme=schemes)
    alone = ss.simulate(bouncing(), until=2.0, h=0.1)
    np.testing.assert_allclose(run.system("ball").q, alone.q, atol=1e-12)
    both = Guard("both", ["ball", "mass"], lambda q: q[0] + q[1] + 9.0)
    with pytest.raises(ss.ModelError, match="guard 'both' watches 'ball', 'mass', which have different"):
        ss.simulate(ss.NonsmoothSystem([spring, point()], guards=[both]), until=2.0, h=0.1, scheme=schemes)


def test_guards_after_accumulated_impacts():
    """A ball comes to rest on a contact; a guard of its speed is looked at where time-stepping has been."""
    law = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    rest = Guard("rest", "ball", lambda t, v: t - 1.0 if t < 1.0 else 1e-9 - abs(v[0]), direction="rising")
    model = ss.NonsmoothSystem([point(q0=0.5)], [law], guards=[rest])
    run = ss.simulate(model, until=2.0, h=0.1)
    end = np.sqrt(1.0 / G) * 3.0
    assert run.missed == 0
    assert abs(times(run, "rest")[-1] - max(end, 1.0)) < 1e-4


def test_time_stepping_refuses_guards():
    with pytest.raises(ss.ModelError, match="guard 'floor' needs the scheme event-driven"):
        ss.simulate(bouncing(), until=1.0, h=0.1, scheme="moreau-jean")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Guard("g", "ball", lambda q: q[0], direction="down"), "direction is 'down'"),
        (lambda: Guard("g", "ball", 1.0), "its function is 1.0; give a function whose zero is the event"),
        (lambda: Guard("g", "ball", lambda q: q[0], lambda v: -v), "jump is"),
        (lambda: Guard("g", (), lambda q: q[0]), "give one or more"),
        (lambda: Guard("g", "bal", lambda q: q[0]), "names the unknown system 'bal'; known: ball"),
        (lambda: Guard("g", "ball", lambda x: x[0]), r"takes \(x\); it may take \(t, q, v, z\)"),
        (lambda: Guard("g", "ball", lambda q: q[0], {"w": [0.0]}), "jump of 'w'"),
        (lambda: Guard("g", "ball", lambda q: q[0], {"v": [0.0, 0.0]}), r"the jump of v has shape \(2,\)"),
        (lambda: Guard("g", "ball", lambda q: np.nan), "at t = 0 s, its function is nan"),
        (lambda: Guard("", "ball", lambda q: q[0]), "a guard is named ''"),
    ],
)
def test_mistaken_guards_are_refused(make, said):
    with pytest.raises(ss.ModelError, match=said):
        ss.NonsmoothSystem([point()], guards=[make()])


def test_mistaken_edges_are_refused():
    with pytest.raises(ss.ModelError, match="give finite times that increase"):
        ss.NonsmoothSystem([point()], edges=[1.0, 0.5])
    with pytest.raises(ss.ModelError, match="edges is 'soon'; give times, or a function of t"):
        ss.NonsmoothSystem([point()], edges="soon")
    late = ss.NonsmoothSystem([point()], edges=lambda t: 0.25)
    with pytest.raises(ss.ModelError, match=r"edges: at t = 0\.25 s, the next is 0\.25 s; give a later time"):
        ss.simulate(late, until=1.0, h=0.1, scheme="event-driven")
    with pytest.raises(ss.ModelError, match="guards: give a list"):
        ss.NonsmoothSystem([point()], guards=Guard("g", "ball", lambda q: q[0]))
