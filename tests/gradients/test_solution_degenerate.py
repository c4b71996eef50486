"""Where there is no derivative, or no unique one: said so, and a finite map all the same."""

import numpy as np
import pytest
from solution_differences import solved

import stickslip as ss
from stickslip import ContactProblem, GlobalProblem, coulomb
from stickslip.gradients import solution_factor, solution_linear
from stickslip.gradients.solution import solution_derivative
from stickslip.problem import interval, nonnegative, rolling, torsional
from stickslip.scenes.rigid import wall

CORNERS = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])


def box(f, mu=0.5):
    """A box on its four corners: more contacts than it needs."""
    arms = np.column_stack([0.5 * CORNERS, np.full(4, -0.3)])
    columns = [np.concatenate([d, np.cross(a, d)]) for a in arms for d in np.eye(3)[[2, 0, 1]]]
    K = coulomb(np.full(4, mu))
    return GlobalProblem(np.diag([2.0, 2.0, 2.0, 0.5, 0.5, 0.6]), f, np.transpose(columns), np.zeros(12), K)


def by_differences(f, step=1e-5):
    ends = [(solved(box(f + d)).v, solved(box(f - d)).v) for d in step * np.eye(6)]
    return np.transpose([(a - b) / (2 * step) for a, b in ends])


MOTIONS = {"rests": [0, 0, -1, 0, 0, 0], "is held": [0.3, 0, -1, 0, 0, 0], "slides": [2, 0, -1, 0, 0, 0]}


@pytest.mark.parametrize("motion", MOTIONS)
def test_velocities_have_their_derivative_where_impulses_are_not_unique(motion):
    f = np.array(MOTIONS[motion], float)
    derivative = solution_derivative(solved(box(f)))
    assert derivative.exists
    assert not derivative.unique
    assert "not unique" in derivative.notes[0]
    assert not any("nor are" in note for note in derivative.notes)
    np.testing.assert_allclose(derivative.jacobian("v", "f"), by_differences(f), atol=1e-8)
    weight = derivative.jvp(f=[0, 0, -1, 0, 0, 0])["r"][::3]
    np.testing.assert_allclose(weight.sum(), 1.0)
    if motion != "slides":  # the least change puts a quarter on every corner
        np.testing.assert_allclose(weight, 0.25, atol=1e-10)
    rng = np.random.default_rng(0)
    change, weights = rng.normal(size=6), rng.normal(size=12)
    np.testing.assert_allclose(
        weights @ derivative.jvp(f=change)["r"], derivative.vjp(r=weights)["f"] @ change, atol=1e-12
    )


def test_a_box_that_slides_aslant_turns_as_its_impulses_are_spread():
    """Friction against turning is mu Σ r_N (t·x)² / |u|: the same for all impulses along a side only."""
    derivative = solution_derivative(solved(box(np.array([2, 0.1, -1.0, 0, 0, 0]))))
    assert not derivative.exists
    assert "how a slip turns depends on the impulses" in derivative.notes[1]


def test_changes_that_contacts_cannot_follow_are_told():
    derivative = solution_derivative(solved(box(np.array([0, 0, -1.0, 0, 0, 0]))))
    assert derivative.mismatch(f=np.ones(6)) < 1e-12
    tilted = np.zeros((4, 3))
    tilted[:, 0] = CORNERS @ [1.0, 2.0]  # a plane stays a plane
    assert derivative.mismatch(u_bias=tilted.reshape(-1)) < 1e-12
    one = np.zeros(12)
    one[0] = 1.0  # one corner of four cannot move alone
    assert derivative.mismatch(u_bias=one) > 0.1
    assert np.isfinite(derivative.jvp(u_bias=one)["v"]).all()
    with pytest.raises(ValueError, match="no derivative by 'u_free'"):
        derivative.mismatch(u_free=one)


def test_a_solution_without_impulse_at_some_corners_is_no_kink():
    """Two corners of four can carry the box, but all of them hold it."""
    f = np.array([0, 0, -1.0, 0, 0, 0])
    solution = solved(box(f))
    r = np.zeros(12)
    r[[0, 9]] = 0.5
    derivative = solution_derivative(solution.with_(r=r, u=np.zeros(12)))
    assert derivative.exists
    assert not derivative.unique
    assert (derivative.r[::3] > 0.1).all()
    np.testing.assert_allclose(derivative.jacobian("v", "f"), np.zeros((6, 6)), atol=1e-10)


def test_velocities_that_are_not_unique_either_are_told():
    """Sliding and spinning, every corner rubs in its own direction: v depends on which carry how much."""
    derivative = solution_derivative(solved(box(np.array([2.0, 0.1, -1.0, 0.01, 0.0, 0.3]))))
    assert not derivative.unique
    assert "nor are velocities" in derivative.notes[1]


@pytest.mark.parametrize("motion", MOTIONS)
def test_large_singular_systems(monkeypatch, motion):
    solution = solved(box(np.array(MOTIONS[motion], float)))
    dense = solution_derivative(solution)
    for module in (solution_factor, solution_linear):
        monkeypatch.setattr(module, "DENSE", 0)
    sparse = solution_derivative(solution)
    assert sparse.notes == dense.notes
    assert not sparse.unique
    for of in ("v", "r"):
        np.testing.assert_allclose(sparse.jacobian(of, "f"), dense.jacobian(of, "f"), atol=1e-8)
    weights = np.arange(12.0)
    np.testing.assert_allclose(sparse.vjp(r=weights)["f"], dense.vjp(r=weights)["f"], atol=1e-7)


def test_a_large_wall_is_carried_and_stays_where_it_is():
    """Far more contacts than it needs: every change of the loads is carried, no block moves."""
    problem = wall(rows=4, columns=5)
    derivative = solution_derivative(ss.solve(problem, tolerance=1e-10).or_raise())
    load = np.random.default_rng(0).normal(size=problem.f.size)
    change = derivative.jvp(f=load)
    assert derivative.exists
    np.testing.assert_allclose(change["v"], 0.0, atol=1e-10)
    np.testing.assert_allclose(problem.H_sparse() @ change["r"], -load, atol=1e-9)


def test_two_normals_that_do_one_job():
    W = np.ones((2, 2))
    derivative = solution_derivative(solved(ContactProblem(W, [-1.0, -1.0], nonnegative(2))))
    assert not derivative.unique
    np.testing.assert_allclose(derivative.jvp(u_free=[-1.0, -1.0])["r"], [0.5, 0.5])
    np.testing.assert_allclose(derivative.jvp(u_free=[-1.0, -1.0])["u"], 0.0, atol=1e-12)


KINKS = {
    "grazing": (coulomb([0.5]), [0.0, 0.3, 0.1], "contact 0 touches without impulse (taken: it is open)"),
    "about to slip": (
        coulomb([0.5]),
        [-1.0, 0.5, 0.0],
        "contact 0 holds with all its friction, about to slip",
    ),
    "about to roll": (rolling([0.5], [0.2]), [-1.0, 0.1, 0.0, 0.2, 0.0], "in group 1"),
    "about to spin": (torsional([0.5], [0.2]), [-1.0, 0.1, 0.0, -0.2], "in group 1"),
    "touching": (nonnegative(1), [0.0], "contact 0 is at a bound with no velocity (taken: it stays there)"),
    "relay": (interval([-1.0], [1.0]), [1.0], "taken: it moves inside"),
}


@pytest.mark.parametrize("kink", KINKS)
def test_kinks_are_told_and_give_one_side(kink):
    K, u_free, sentence = KINKS[kink]
    derivative = solution_derivative(solved(ContactProblem(np.eye(K.size), u_free, K)))
    assert not derivative.exists
    assert any(sentence in note for note in derivative.notes)
    assert sentence in repr(derivative)
    for name in derivative.by:
        assert np.isfinite(derivative.jacobian("r", name)).all()
        assert np.isfinite(derivative.vjp(u=np.ones(K.size))[name]).all()
    taken = derivative.jacobian("u", "u_free")
    released = ("grazing", "touching")
    np.testing.assert_allclose(
        taken, np.eye(K.size) if kink in released else np.zeros_like(taken), atol=1e-12
    )


def test_nothing_at_all_is_a_kink_and_finite():
    derivative = solution_derivative(solved(ContactProblem(np.eye(3), np.zeros(3), coulomb([0.5]))))
    assert not derivative.exists
    assert np.isfinite(derivative.jacobian("r", "W")).all()


def test_without_friction_at_rest_the_coefficient_is_noted():
    derivative = solution_derivative(solved(ContactProblem(np.eye(3), [-1.0, 0.0, 0.0], coulomb([0.0]))))
    assert derivative.exists
    assert "coefficient 0" in derivative.notes[0]
    np.testing.assert_allclose(derivative.jacobian("u", "u_free"), np.diag([0.0, 1.0, 1.0]))


def test_near_a_kink_a_coarser_tolerance_tells_it():
    problem = ContactProblem(np.eye(3), [-1.0, 0.5 + 1e-9, 0.0], coulomb([0.5]))
    solution = solved(problem)
    assert solution_derivative(solution).exists
    assert not solution_derivative(solution, tolerance=1e-8).exists
