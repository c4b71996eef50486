"""Derivatives of steps of systems written as equations, against differences of whole steps."""

import numpy as np
import pytest
from system_families import FAMILIES, SCHEMES, VARIATIONAL, derivative, differences, dry, matrix, soft, swing

import stickslip as ss
from stickslip.gradients import extrapolation

H = 1e-3


def compared(found, scheme, skip=()):
    """Every input that a step can be made with again."""
    laws = ("force", "mu", "mu_roll", "mu_spin", "e", "lower", "upper")
    family = found._equations.family.numbers
    names = [name for name in found.by if (name in family or name not in laws) and name not in skip]
    for name in names:
        expected = differences(found, scheme, name)
        scale = max(np.abs(expected).max(initial=0.0), 1e-3)
        np.testing.assert_allclose(matrix(found, name), expected, rtol=0, atol=1e-6 * scale, err_msg=name)
    return names


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_first_steps(name, scheme):
    found = derivative(FAMILIES[name], SCHEMES[scheme], H)
    assert found.exists
    assert found.unique
    done = compared(found, SCHEMES[scheme], skip=("approach", "h_before"))
    assert {"q", "v", "h"} < set(done)
    assert found.step.r.any()


@pytest.mark.parametrize("name", ["swing", "rod", "pair"])
@pytest.mark.parametrize("scheme", VARIATIONAL)
def test_later_steps_remember_speeds_and_lengths(name, scheme):
    """The second step of the swing bounces by the speed that the first remembers."""
    found = derivative(FAMILIES[name], VARIATIONAL[scheme], H, steps=1)
    assert found.exists
    came = found._equations.made.memory["approach"]
    assert bool(came.any()) == (name != "rod")
    compared(found, VARIATIONAL[scheme], skip=() if came.any() else ("approach",))


@pytest.mark.parametrize("scheme", ["nearly implicit", "complete", "cone"])
def test_numbers_of_laws_are_those_that_a_family_gives_them(scheme):
    """By mu, e and the level of dry friction, once as numbers of the law and once of a family."""
    h = 1e-3
    for steps in (0, 1):
        plain = derivative(ss.systems.Family(swing, m=1.0), SCHEMES[scheme], h, steps)
        named = derivative(ss.systems.Family(swing, mu=0.3, e=0.4), SCHEMES[scheme], h, steps)
        for of in ("q", "v", "r"):
            for by in ("mu", "e"):
                np.testing.assert_allclose(plain.jacobian(of, by), named.jacobian(of, by), atol=1e-9)
    plain = derivative(ss.systems.Family(dry, m=2.0), SCHEMES[scheme], h)
    named = derivative(ss.systems.Family(dry, level=3.0), SCHEMES[scheme], h)
    both = plain.jacobian("v", "upper") - plain.jacobian("v", "lower")
    np.testing.assert_allclose(both, named.jacobian("v", "level"), atol=1e-12)
    assert np.abs(both).max() > 1e-4


@pytest.mark.parametrize("scheme", ["nearly implicit", "cone"])
def test_a_force_beside_others_is_one_of_the_system(scheme):
    found = derivative(ss.systems.Family(swing, push=[0.0, 0.0]), SCHEMES[scheme], H)
    for of in ("q", "v", "r"):
        np.testing.assert_allclose(found.jacobian(of, "force"), found.jacobian(of, "push"), atol=1e-10)


def test_compliant_contacts():
    scheme = SCHEMES["nearly implicit"]
    found = derivative(ss.systems.Family(soft, stiffness=1000.0), scheme, 1e-2)
    assert found.step.r[0] > 0.1
    compared(found, scheme)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("scheme", ["nearly implicit", "cone"])
@pytest.mark.parametrize("kappa", [0.0, 1e-4])
def test_backwards_is_the_transpose_of_forwards(name, scheme, kappa):
    found = derivative(FAMILIES[name], SCHEMES[scheme], H, 1, kappa)
    rng = np.random.default_rng(0)
    weights = {of: rng.normal(size=shape) for of, shape in found.of.items()}
    back = found.vjp(**weights)
    for by, shape in found.by.items():
        change = rng.normal(size=shape)
        ahead = found.jvp(**{by: change})
        there = sum(float(np.sum(ahead[of] * weights[of])) for of in found.of)
        np.testing.assert_allclose(there, np.sum(back[by] * change), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("name", ["swing", "dry", "ball", "pair"])
@pytest.mark.parametrize("scheme", ["nearly implicit", "cone"])
def test_smoothed_ones_end_in_the_exact_ones(name, scheme):
    family, how = FAMILIES[name], SCHEMES[scheme]
    exact = derivative(family, how, H).jacobian("v", "v")
    off = []
    for kappa in (1e-4, 1e-6, 1e-8):
        found = derivative(family, how, H, kappa=kappa)
        assert found.exists
        assert found.kappa == kappa
        off.append(np.abs(found.jacobian("v", "v") - exact).max())
    assert off[2] <= off[1] <= off[0]
    assert off[2] < 1e-4


@pytest.mark.parametrize("scheme", ["nearly implicit", "cone"])
def test_a_smoothed_derivative_is_that_of_the_smoothed_step(scheme):
    """The smoothed step itself, found anew with inputs moved a little."""
    kappa, found = 1e-3, derivative(FAMILIES["swing"], SCHEMES[scheme], H, kappa=1e-3)
    system, rng = FAMILIES["swing"].system, np.random.default_rng(1)
    change, ends = rng.normal(size=2), []
    for sign in (1.0, -1.0):
        state = ss.State(0.0, system.q0, system.v0 + 1e-5 * sign * change)
        how = {"h": H, "scheme": SCHEMES[scheme], "kappa": kappa, "tolerance": 1e-13}
        ends.append(ss.differentiate(FAMILIES["swing"], state, **how)._tangent.v)
    np.testing.assert_allclose(found.jvp(v=change)["v"], (ends[0] - ends[1]) / 2e-5, rtol=1e-6, atol=1e-8)


def test_a_stuck_mass_does_not_answer_a_push_but_a_smoothed_one_does():
    stuck = ss.systems.Family(lambda level: dry(level, speed=0.0), level=3.0)
    found = derivative(stuck, SCHEMES["nearly implicit"], H)
    assert found.exists
    np.testing.assert_allclose(found.jacobian("v", "force"), 0.0, atol=1e-12)
    smooth = derivative(stuck, SCHEMES["nearly implicit"], H, kappa=1e-4)
    assert 1e-6 < smooth.jacobian("v", "force")[0, 0] < H / 2.0


def test_kinks_are_said():
    drop = ss.Lagrangian("drop", M=1.0, q0=0.5e-3, v0=-1.0)
    floor = ss.Interaction("floor", "drop", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    found = ss.differentiate(ss.NonsmoothSystem([drop], [floor]), h=1e-3)
    assert not found.exists
    assert "interaction 'floor' is about to take part in the step" in found.notes[0]
    assert np.isfinite(found.jacobian("v", "v")).all()
    lies = ss.Lagrangian("lies", M=1.0, q0=0.0, F_ext=-9.81)
    floor = ss.Interaction("floor", "lies", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=0.5))
    rests = ss.NonsmoothSystem([lies], [floor])
    found = ss.differentiate(rests, ss.State(0.0, np.array([-1e-5]), np.zeros(1)), h=1e-3)
    assert not found.exists
    assert "has restitution and bears without being approached" in found.notes[0]
    limit = ss.NonsmoothSystem(
        [ss.Lagrangian("block", M=np.eye(2), q0=[0.0, 0.0], F_ext=[0.3 * 9.81, -9.81])],
        [ss.Interaction("floor", "block", ss.Scleronomous(lambda q: [q[1], q[0]]),
                        ss.NewtonImpact(mu=0.3, dimension=2))],
    )  # fmt: skip
    found = ss.differentiate(limit, h=1e-2, scheme="variational")
    assert not found.exists
    assert found.notes


def test_what_rests_with_restitution_is_at_a_kink():
    """Before the next step it may be approached or not: only one that is bounces."""
    lies = ss.Lagrangian("lies", M=1.0, q0=0.0, F_ext=-9.81)
    for e in (0.0, 0.5):
        floor = ss.Interaction("floor", "lies", ss.Scleronomous(lambda q: q), ss.NewtonImpact(e=e))
        found = ss.differentiate(ss.NonsmoothSystem([lies], [floor]), h=1e-2, scheme="variational")
        assert found.exists == (e == 0.0)
        assert not found.jacobian("approach", "v").any()


def test_impulses_that_are_not_unique_change_by_least_norm():
    """Two contacts under one coordinate share the load."""
    body = ss.Lagrangian("table", M=2.0, q0=0.0, F_ext=-20.0)
    legs = ss.Scleronomous(lambda q: [q[0], q[0]], dy_dq=[[1.0], [1.0]])
    law = ss.NewtonImpact(contacts=2)
    table = ss.NonsmoothSystem([body], [ss.Interaction("legs", "table", legs, law)])
    found = ss.differentiate(table, h=1e-2)
    assert not found.unique
    np.testing.assert_allclose(found.jacobian("r", "force"), [[-5e-3], [-5e-3]], atol=1e-12)
    np.testing.assert_allclose(found.jacobian("v", "force"), 0.0, atol=1e-12)
    assert found.mismatch(force=[1.0]) < 1e-9


def test_discrete_parameters_are_carried():
    """z counts what was passed; the force is z, and z changes with q."""

    def make(gain):
        body = ss.Lagrangian(
            "sampled", M=1.0, q0=0.2, v0=1.0, F_ext=lambda z: [-z[0]], z=[0.5],
            z_update=lambda q, z: [0.9 * z[0] + gain * q[0]],
        )  # fmt: skip
        return ss.NonsmoothSystem([body])

    h = 1e-2
    found = ss.differentiate(ss.systems.Family(make, gain=2.0), h=h, scheme="variational")
    np.testing.assert_allclose(found.jacobian("z", "q"), [[2.0]], rtol=1e-9)
    np.testing.assert_allclose(found.jacobian("z", "z"), [[0.9]], rtol=1e-9)
    np.testing.assert_allclose(found.jacobian("v", "q"), [[-h]], rtol=1e-9)  # half a kick: h / 2 times 2
    np.testing.assert_allclose(found.jacobian("v", "gain"), [[-0.5 * h * 0.2]], rtol=1e-9)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"scheme": "event-driven"}, "steps of event-driven have no derivative"),
        ({"scheme": "schatzman-paoli"}, "those of moreau-jean and variational have"),
        ({"scheme": ss.schemes.MoreauJean(projection="direct")}, 'projection="none"'),
        ({"scheme": ss.schemes.Variational(contact="pyramid")}, "contact='cone'"),
        ({"h": -1.0}, "h is -1.0"),
        ({"kappa": -1.0}, "kappa is -1.0"),
        ({"state": ss.State(0.0, np.zeros(3), np.zeros(2))}, r"q has shape \(3,\), expected \(2,\)"),
        ({"state": 3}, "state is int"),
        ({"u_before": [1.0]}, "u_before applies to solutions"),
        ({"memory": 3}, "memory is int"),
        ({"memory": {}}, "memory has no 'r'"),
        ({"memory": {"r": np.zeros(1), "y": np.zeros(2)}}, r"r has shape \(1,\), expected \(2,\)"),
    ],
)
def test_what_has_none_gets_a_sentence(given, words):
    with pytest.raises(ss.ModelError, match=words):
        ss.differentiate(swing(), given.pop("state", None), **{"h": 1e-3, **given})


def test_poisson_has_none():
    body = ss.Lagrangian("ball", M=1.0, q0=-1e-4, v0=-1.0)
    floor = ss.Interaction("floor", "ball", ss.Scleronomous(lambda q: q), ss.laws.PoissonImpact(e=0.5))
    with pytest.raises(ss.ModelError, match="interaction 'floor': Poisson's impact"):
        ss.differentiate(ss.NonsmoothSystem([body], [floor]), h=1e-3)


def test_families_refuse_what_makes_none():
    with pytest.raises(ss.ModelError, match="make returns int; it must return a NonsmoothSystem"):
        ss.systems.Family(lambda a: 3, a=1.0)
    with pytest.raises(ss.ModelError, match="at least one number"):
        ss.systems.Family(swing)
    with pytest.raises(ss.ModelError, match="a is 'x'"):
        ss.systems.Family(swing, a="x")
    with pytest.raises(ss.ModelError, match="which is also a name of the step"):
        ss.differentiate(ss.systems.Family(lambda h: swing(m=h), h=1.0), h=1e-3)

    def grows(n):
        return ss.NonsmoothSystem([ss.Lagrangian("a", M=np.eye(1 + (n > 1.0)), q0=np.zeros(1 + (n > 1.0)))])

    with pytest.raises(ss.ModelError, match="names or sizes depend"):
        ss.differentiate(ss.systems.Family(grows, n=1.0), h=1e-3).jacobian("v", "n")


def test_differences_are_extrapolated():
    def f(x):
        return np.array([np.sin(3.0 * x[0]) * x[1], np.exp(x[0]), 0.0])

    x = np.array([0.4, -2.0])
    expected = [[3.0 * np.cos(1.2) * -2.0, np.sin(1.2)], [np.exp(0.4), 0.0], [0.0, 0.0]]
    found = extrapolation.jacobian(f, x, np.maximum(np.abs(x), 1.0))
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)
    noise = np.random.default_rng(0)
    rough = extrapolation.jacobian(lambda x: f(x) + 1e-11 * noise.normal(size=3), x, np.ones(2))
    np.testing.assert_allclose(rough, expected, atol=1e-7)
    with np.errstate(invalid="ignore"):
        edge = extrapolation.slope(lambda x: np.sqrt(np.array([x])), 1e-4, 1.0)
    np.testing.assert_allclose(edge, 50.0, rtol=1e-6)
    assert extrapolation.jacobian(f, x, np.array([0.0, 1.0]))[:, 0].tolist() == [0.0, 0.0, 0.0]
