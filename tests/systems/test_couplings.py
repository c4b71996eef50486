"""Couplings: smooth forces between systems of either order, and what names systems within joined ones."""

import math

import numpy as np
import pytest

import stickslip as ss
from stickslip.laws import Complementarity, Equality, Mixed, Relay
from stickslip.systems import Coupling, FirstOrderLinearRelation, Scleronomous

SCHEMES = ("moreau-jean", "event-driven", "compliant", "schatzman-paoli", "variational")


def mass(name, q0, v0=0.0, M=1.0):
    return ss.LagrangianLinear(name, M=M, q0=[q0], v0=[v0])


def spring(k=4.0, **given):
    return Coupling("spring", ("a", "b"), lambda q: k * (q[1] - q[0]) * np.array([1.0, -1.0]), **given)


def coil(L=1e-3, R=0.5, V=12.0):
    return ss.FirstOrderLinear("coil", M=L, A=-R, b=V, x0=[0.0])


@pytest.mark.parametrize("scheme", SCHEMES)
def test_two_masses_on_a_spring(scheme):
    """x_b - x_a oscillates at √(2 k / m), and the centre stays."""
    system = ss.NonsmoothSystem(
        [mass("a", 0.0), mass("c", 5.0), mass("b", 1.0)],
        couplings=[spring(potential=lambda q: 2.0 * (q[1] - q[0]) ** 2)],
    )
    assert [one.name for one in system.systems] == ["a + b", "c"]
    run = ss.simulate(system, until=1.0, h=5e-3, scheme=scheme)
    a, b = (run.system(name).q[:, 0] for name in "ab")
    off = 2e-2 if scheme == "schatzman-paoli" else 1e-4
    assert b - a == pytest.approx(np.cos(math.sqrt(8.0) * run.t), abs=off)
    assert a + b == pytest.approx(np.ones(len(run)), abs=1e-9)
    assert np.array_equal(run.system("c").q[-1], [5.0])
    assert run.potential[0] == pytest.approx(2.0)


@pytest.mark.parametrize("h", [1e-3, 0.5])
def test_a_coupling_is_implicit(h):
    """Trapezoidal, so that energy is kept where h ω is 50 and more."""
    stiff = Coupling(
        "spring", ("a", "b"), lambda q: 1e6 * (q[1] - q[0]) * np.array([1.0, -1.0]),
        potential=lambda q: 5e5 * (q[1] - q[0]) ** 2,
    )  # fmt: skip
    run = ss.simulate(
        ss.NonsmoothSystem([mass("a", 0.0), mass("b", 0.01)], couplings=[stiff]), until=40 * h, h=h
    )
    assert run.kinetic + run.potential == pytest.approx(np.full(len(run), 50.0), rel=1e-6)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_motor_reaches_its_speed(scheme):
    """A first-order circuit and a rotor: ω = V k / (R c + k²), i = c ω / k."""
    k, c = 0.1, 1e-3
    rotor = ss.LagrangianLinear("rotor", M=2e-4, C=c, q0=[0.0])
    motor = Coupling("motor", ("coil", "rotor"), lambda v: [-k * v[1], k * v[0]])
    system = ss.NonsmoothSystem([coil(), rotor], couplings=[motor])
    run = ss.simulate(system, until=1.0, h=2e-3, scheme=scheme)
    speed = 12.0 * k / (0.5 * c + k * k)
    assert run.system("rotor").v[-1, 0] == pytest.approx(speed, rel=1e-6)
    assert run.system("coil").x[-1, 0] == pytest.approx(c * speed / k, rel=1e-5)


def test_a_diode_and_a_bridge_are_laws_on_the_current():
    """A relay that holds the current at a reference drives the rotor with a constant torque."""
    k, J, wanted = 0.1, 2e-3, 3.0
    rotor = ss.LagrangianLinear("rotor", M=J, q0=[0.0])
    motor = Coupling("motor", ("coil", "rotor"), lambda v: [-k * v[1], k * v[0]])
    bridge = FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]], e=[-wanted])
    system = ss.NonsmoothSystem(
        [coil(V=0.0), rotor], [ss.Interaction("bridge", "coil", bridge, Relay(24.0))], couplings=[motor]
    )
    run = ss.simulate(system, until=0.5, h=1e-3)
    current = run.system("coil").x[:, 0]
    assert current[20:] == pytest.approx(np.full(len(run) - 20, wanted), abs=1e-9)
    held = run.t >= 0.1
    speed = run.system("rotor").v[held, 0]
    assert np.diff(speed) == pytest.approx(np.full(speed.size - 1, 1e-3 * k * wanted / J), rel=1e-9)

    diode = FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]])
    spun = ss.LagrangianLinear("rotor", M=J, q0=[0.0], v0=[200.0])
    system = ss.NonsmoothSystem(
        [coil(), spun], [ss.Interaction("diode", "coil", diode, Complementarity())], couplings=[motor]
    )
    run = ss.simulate(system, until=0.1, h=1e-3, scheme="event-driven")
    assert np.abs(run.system("coil").x).max() < 1e-12, "its back EMF is above the voltage: no current"
    assert run.system("rotor").v[-1, 0] == pytest.approx(200.0)


@pytest.mark.parametrize("scheme", ["moreau-jean", "event-driven"])
def test_interactions_name_systems_within_joined_ones(scheme):
    """A mass on a spring between two walls, of which one is struck; the other mass is held."""
    wall = ss.Interaction("wall", "b", Scleronomous(lambda q: 1.2 - q), ss.NewtonImpact(e=1.0))
    hold = ss.Interaction("hold", "a", Scleronomous(lambda q: q), Equality())
    system = ss.NonsmoothSystem(
        [mass("a", 0.0), mass("b", 1.0, 1.0)], [wall, hold], couplings=[spring(k=0.0)]
    )
    assert system.check_jacobians(0.0) < 1e-8
    run = ss.simulate(system, until=1.0, h=1e-2, scheme=scheme)
    assert run.system("b").q.max() < 1.2 + 1e-2
    assert run.system("b").v[-1, 0] == pytest.approx(-1.0, rel=1e-6)
    assert run.interaction("wall").r.sum() == pytest.approx(2.0, rel=1e-6)
    assert abs(run.system("a").q[-1, 0]) < 1e-12


def test_a_run_of_joined_systems_is_saved_and_goes_on(tmp_path):
    system = ss.NonsmoothSystem([mass("a", 0.0), mass("b", 1.0)], couplings=[spring()])
    whole = ss.simulate(system, until=0.2, h=1e-2)
    ss.simulate(system, until=0.1, h=1e-2).save(tmp_path / "run.h5")
    read = ss.read_trajectory(tmp_path / "run.h5")
    assert [part.name for part in read.model.systems] == ["a", "b"]
    assert np.array_equal(ss.simulate(system, until=0.2, start=read.checkpoint()).q[-1], whole.q[-1])


@pytest.mark.parametrize(("make", "words"), [
    (lambda: Coupling("s", (), 0.0), "coupling 's' must name systems"),
    (lambda: Coupling("s", ("a", "a"), 0.0), "each once"),
    (lambda: Coupling("s", "a", None), "force is missing"),
    (lambda: ss.NonsmoothSystem([mass("a", 0.0)], couplings=[3]), "a int is not a Coupling"),
    (lambda: ss.NonsmoothSystem([mass("a", 0.0)], couplings=[spring()]), "names the unknown system 'b'"),
    (lambda: ss.NonsmoothSystem([mass("a", 0.0)], couplings=[Coupling("s", "a", [1.0, 2.0])]),
     r"coupling 's': force has shape \(2,\), expected \(1,\)"),
    (lambda: ss.NonsmoothSystem([mass("a", 0.0)], couplings=[Coupling("s", "a", lambda q: [np.nan])]),
     "coupling 's': at t = 0 s, force is not finite"),
    (lambda: ss.NonsmoothSystem(
        [coil(), mass("a", 0.0)],
        [ss.Interaction("d", "coil", FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]], D=[[1.0]]), Equality())],
        couplings=[Coupling("s", ("coil", "a"), lambda v: v)]), "whose D is 0"),
    (lambda: ss.NonsmoothSystem(
        [coil(), mass("a", 0.0)],
        [ss.Interaction("d", "coil", FirstOrderLinearRelation(C=[[1.0]], B=[[1.0]]), Mixed(1, 0))],
        couplings=[Coupling("s", ("coil", "a"), lambda v: v)]), "its law is Complementarity, Equality"),
    (lambda: ss.NonsmoothSystem(
        [ss.FirstOrder("x", f=lambda x: x, M=lambda x: [[1.0 + x[0] ** 2]], x0=[0.0]), mass("a", 0.0)],
        couplings=[Coupling("s", ("x", "a"), lambda v: v)]), "system 'x': M is a function"),
])  # fmt: skip
def test_what_cannot_be_is_refused(make, words):
    with pytest.raises(ss.ModelError, match=words):
        make()


def test_a_wrong_jacobian_is_found():
    system = ss.NonsmoothSystem(
        [mass("a", 0.0), mass("b", 1.0)], couplings=[spring(dforce_dq=[[1.0, 0.0], [0.0, 1.0]])]
    )
    with pytest.raises(ss.ModelError, match="from finite differences"):
        system.check_jacobians(0.0)
