"""docs/model.md: what is written there is what runs, names are fields, sources are in the bibliography."""

import re
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from stickslip.rotations import matrices

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "model.md").read_text()
BODY, BIBLIOGRAPHY = PAGE.split("## Bibliography")


def test_every_source_is_in_the_bibliography():
    cited = set(re.findall(r"([A-Z][\w'éöü-]+)(?:,[^()|;.]*?| & [^()|;.]*?)? ((?:19|20)\d\d)\b", BODY))
    cited -= {("Notes", "2017"), ("Developer's", "2017")}
    assert len(cited) > 30
    missing = [
        (name, year)
        for name, year in sorted(cited)
        if not any(name in line and year in line for line in BIBLIOGRAPHY.splitlines())
    ]
    assert not missing


def test_names_of_the_table_are_fields():
    table = BODY.split("## Names")[1].split("What means something else")[0]
    names = {
        name for row in table.splitlines() if row.startswith("| ")
        for name in re.findall(r"`(\w+)`", row.split("|")[2])
    }  # fmt: skip
    known = {
        spec.name for kind in (ss.ContactProblem, ss.GlobalProblem, ss.Solution) for spec in fields(kind)
    }
    known |= {"u_hat", "mu", "mu_roll", "mu_spin", "dimension", "e", "h", "theta", "gap", "y"}
    assert {"M", "H", "G", "W", "u_free", "u_bias", "g_bias", "r", "u", "lam", "K"} <= names <= known


def certified_run(system, scheme, h, steps):
    """A run of so many steps, each of them certified."""
    run = ss.simulate(system, until=steps * h, h=h, scheme=scheme)
    assert run.ok.all()
    return run


def pendulum(e=0.5):
    """An angle that falls on a wall at 0.1, under a nonlinear force."""
    body = ss.Lagrangian("arm", M=2.0, q0=0.2, v0=-1.0, F_int=lambda q: 9.0 * np.sin(q))
    wall = ss.Interaction("wall", "arm", ss.Scleronomous(lambda q: q - 0.1, 1.0), ss.NewtonImpact(e=e))
    return ss.NonsmoothSystem([body], [wall])


def test_moreau_jean():
    theta, h = 0.6, 0.05
    run = certified_run(pendulum(), ss.schemes.MoreauJean(theta=theta), h, 8)
    k = int(np.argmax(run.r[:, 0] > 0.0))
    q, v, r = run.q[:, 0], run.v[:, 0], run.r[:, 0]
    F = -9.0 * np.sin(q)
    assert r[k] > 0.0
    for i in range(1, len(q)):
        assert q[i] == pytest.approx(q[i - 1] + h * (theta * v[i] + (1 - theta) * v[i - 1]), abs=1e-12)
        mean = theta * F[i] + (1 - theta) * F[i - 1]
        assert 2.0 * (v[i] - v[i - 1]) == pytest.approx(h * mean + r[i], abs=1e-9)
    assert v[k] == pytest.approx(-0.5 * v[k - 1], abs=1e-9)
    assert q[k - 1] - 0.1 + 0.5 * h * v[k - 1] <= 0.0 < q[k - 2] - 0.1 + 0.5 * h * v[k - 2]


def test_schatzman_paoli():
    h, e = 0.01, 0.5
    run = certified_run(pendulum(e), ss.schemes.SchatzmanPaoli(theta=0.0), h, 30)
    q, r = run.q[:, 0], run.r[:, 0]
    k = int(np.argmax(r > 0.0))
    assert k > 2
    left = 2.0 * (q[2:] - 2.0 * q[1:-1] + q[:-2])
    np.testing.assert_allclose(left, h**2 * -9.0 * np.sin(q[1:-1]) + h * r[2:], atol=1e-10)
    assert (q[k] + e * q[k - 2]) / (1 + e) == pytest.approx(0.1, abs=1e-9)


@pytest.mark.parametrize(("theta", "gamma"), [(1.0, 1.0), (0.5, 0.5), (0.7, 1.0)])
def test_euler_moreau(theta, gamma):
    h = 0.1
    flow = ss.FirstOrderLinear("tank", A=[[0.0, 1.0], [-4.0, -0.2]], x0=[1.0, 0.5], b=[0.1, 0.0])
    relation = ss.systems.FirstOrderLinearRelation(C=[[1.0, 0.0]], B=[[1.0], [0.3]], D=[[0.5]])
    system = ss.NonsmoothSystem(
        [flow], [ss.Interaction("valve", "tank", relation, ss.laws.Complementarity(1))]
    )
    run = certified_run(system, ss.schemes.EulerMoreau(theta=theta, gamma=gamma), h, 20)
    x, lam = run.q, run.r
    f = x @ np.array([[0.0, 1.0], [-4.0, -0.2]]).T + [0.1, 0.0]
    r = lam @ np.array([[1.0, 0.3]])
    assert (lam > 1e-3).any()
    # the input before the first step is the scheme's own guess
    left = (x[2:] - x[1:-1]) / h
    right = theta * f[2:] + (1 - theta) * f[1:-1] + gamma * r[2:] + (1 - gamma) * r[1:-1]
    np.testing.assert_allclose(left, right, atol=1e-9)
    y = x[:, 0] + 0.5 * lam[:, 0]
    assert (y[1:] >= -1e-9).all()
    np.testing.assert_allclose(y[1:] * lam[1:, 0], 0.0, atol=1e-9)


def turned(p):
    """R of a unit quaternion, scalar first."""
    return np.asarray(matrices(p))


def cay(w):
    """Cayley's map of a vector: the rotation by 2 arctan(|w|/2) about it."""
    S = np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]]) / 2
    return np.linalg.solve(np.eye(3) - S, np.eye(3) + S)


def test_free_motion_of_a_body():
    """Two halves of a step: the midpoint rule in J Ω, and R cay(h ω)."""
    builder = ss.WorldBuilder(gravity=(0.0, 0.0, 0.0))
    builder.body("top", ss.Cuboid((0.2, 0.5, 0.9)), mass=3.0, spin=(1.0, 2.0, 3.0), velocity=(1.0, 0.0, 0.0))
    h = 0.04
    run = ss.simulate(builder.build(), until=h, h=h)
    J = 3.0 / 12.0 * np.array([0.5**2 + 0.9**2, 0.2**2 + 0.9**2, 0.2**2 + 0.5**2])
    P, R = J * run.v[0, 3:6], turned(run.q[0, 3:7])
    for _ in range(2):
        new = P.copy()
        for _ in range(50):
            mean = (P + new) / 2
            new = P + h / 2 * np.cross(mean, mean / J)
        R, P = R @ cay(h / 2 * (P + new) / 2 / J), new
    np.testing.assert_allclose(J * run.v[1, 3:6], P, atol=1e-12)
    np.testing.assert_allclose(turned(run.q[1, 3:7]), R, atol=1e-12)
    np.testing.assert_allclose(run.q[1, :3] - run.q[0, :3], [h, 0.0, 0.0], atol=1e-14)


def test_a_step_of_a_world():
    """A ball that strikes a plane and slides: M v⁺ = M v⁻ + h F + H r, restitution, and the cone."""
    builder = ss.WorldBuilder()
    builder.material("any", mu=0.3, e=0.4)
    builder.body("floor", ss.Plane(), fixed=True, material="any")
    builder.body(
        "ball", ss.Sphere(0.1), mass=2.0, position=(0, 0, 0.101), velocity=(4.0, 0.0, -1.0), material="any"
    )
    h, world = 0.01, builder.build()
    run = ss.simulate(world, until=h, h=h)
    contacts = run.at(1).contacts
    first, second = (world.names[i] for i in contacts.body[0])
    assert (first, second) == ("floor", "ball")
    v0, v1, r = run.v[0][-6:], run.v[1][-6:], contacts.r[0, :3]
    M = np.diag([2.0] * 3 + [0.4 * 2.0 * 0.01] * 3)
    frame, arm = contacts.frame[0], contacts.point[0] - (run.q[0][-7:-4] + 0.5 * h * v0[:3])
    rows = -np.hstack([frame, np.cross(arm, frame)])  # of the second body, not yet turned
    np.testing.assert_allclose(M @ (v1 - v0), h * np.array([0, 0, -19.62, 0, 0, 0]) + rows.T @ r, atol=1e-12)
    np.testing.assert_allclose(frame[0], [0.0, 0.0, -1.0], atol=1e-15)  # from the second body to the first
    np.testing.assert_allclose(rows @ v1, contacts.u[0, :3], atol=1e-12)
    assert contacts.u[0, 0] == pytest.approx(0.4, abs=1e-7)
    assert np.hypot(*r[1:]) == pytest.approx(0.3 * r[0], rel=1e-6)
