"""The judge on single contacts: growing impulses are refused, true answers are not, whatever the masses."""

import numpy as np
import pytest

import stickslip as ss

RATIOS = [1.0, 1e2, 1e4, 1e6, 1e8]
SOLVERS = ["auto", "nsgs", "prox", "ipm", "newton-ac", "admm"]


def press(share: float, mass: float = 1.0, mu: float = 0.3) -> ss.ContactProblem:
    """A body between two plates that close at `share` of the speed with which the body flies along them.

    u_1 = v_x + share, u_2 = -v_x + share with signs such that both contacts close: no impulse opens both.
    """
    W = np.zeros((6, 6))
    for i, sign in enumerate((1.0, -1.0)):
        for j, other in enumerate((1.0, -1.0)):
            W[3 * i, 3 * j] = sign * other / mass
            W[3 * i + 1, 3 * j + 1] = W[3 * i + 2, 3 * j + 2] = 1.0 / mass
    u_free = np.array([-share / 2, 1.0, 0.0, -share / 2, 1.0, 0.0])
    return ss.ContactProblem(W, u_free, ss.coulomb([mu, mu]))


def column(ratio: float, light: int = 1) -> tuple[ss.ContactProblem, np.ndarray]:
    """Balls of mass 1 under one of mass `ratio`, all falling at 1 m/s onto the floor: all are stopped.

    Normal impulses are the momenta above each contact.
    """
    masses = np.array([1.0] * light + [ratio])
    n = masses.size
    H = np.zeros((3 * n, 3 * n))  # normal of contact i: up, on ball i from ball i - 1
    for i in range(n):
        for k in range(3):
            H[3 * i + k, 3 * i + k] = 1.0
            if i:
                H[3 * (i - 1) + k, 3 * i + k] = -1.0
    inverse = np.repeat(1.0 / masses, 3)
    W = H.T @ (inverse[:, None] * H)
    v = np.zeros((n, 3))
    v[:, 0] = -1.0
    r = np.zeros((n, 3))
    r[:, 0] = np.cumsum(masses[::-1])[::-1]
    return ss.ContactProblem(W, H.T @ v.ravel(), ss.coulomb(np.full(n, 0.5))), r.ravel()


@pytest.mark.parametrize("share", [0.2, 0.09, 1e-3, 1e-5])
@pytest.mark.parametrize("size", [1e2, 1e6, 5e8, 1e12, 1e17])
def test_no_impulse_between_closing_plates_is_called_an_answer(share, size):
    """r_N = size on both plates cancels, and r_T stops the flight."""
    problem = press(share)
    r = np.array([size, -0.5, 0.0, size, -0.5, 0.0])
    assert not ss.judge(problem, r).solved(1e-8)


@pytest.mark.parametrize("share", [0.2, 0.05, 1e-3])
@pytest.mark.parametrize("mass", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("solver", SOLVERS)
def test_no_solver_claims_to_stop_closing_plates(solver, share, mass):
    found = ss.solve(press(share, mass), solver, tolerance=1e-8)
    assert not found.ok
    if solver == "auto":
        assert found.status is ss.Status.INFEASIBLE


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("light", [1, 3])
def test_true_answers_are_accepted_at_every_mass_ratio(ratio, light):
    problem, r = column(ratio, light)
    assert ss.judge(problem, r).solved(1e-12)
    rng = np.random.default_rng(0)
    noise = r * (1.0 + 1e-16 * rng.standard_normal(r.size))
    assert ss.judge(problem, noise).solved(1e-8)


@pytest.mark.parametrize("ratio", RATIOS)
def test_a_light_body_left_behind_is_refused_at_every_mass_ratio(ratio):
    """The impulse under the light ball is wrong by half of its own momentum, which no norm notices."""
    problem, r = column(ratio)
    wrong = r.copy()
    wrong[0] -= 0.5
    said = ss.judge(problem, wrong)
    assert said.approach == pytest.approx(0.5, rel=1e-6)
    assert not said.solved(1e-8)


def test_a_small_impulse_is_judged_on_its_own_scale():
    """Two bodies that do not touch each other: 1e8 kg that rests, and 1 kg that slides the wrong way."""
    W = np.diag([1e-8] * 3 + [1.0] * 3)
    u_free = np.array([-0.01, 0.0, 0.0, -0.01, 1.0, 0.0])
    problem = ss.ContactProblem(W, u_free, ss.coulomb([0.5, 0.5]))
    right = np.array([1e6, 0.0, 0.0, 0.01, -0.005, 0.0])
    assert ss.judge(problem, right).solved(1e-12)
    wrong = right.copy()
    wrong[4] = 0.0  # friction forgotten
    said = ss.judge(problem, wrong)
    assert said.natural_scaled < 1e-8
    assert said.local > 1e-3
    assert not said.solved(1e-8)


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("solver", ["auto", "prox"])
def test_columns_are_solved_at_every_mass_ratio(solver, ratio):
    problem, r = column(ratio)
    found = ss.solve(problem, solver, tolerance=1e-8)
    assert found.ok, found.reason
    u = problem.velocity(found.r).reshape(-1, 3)
    assert np.abs(u).max() <= 1e-5
    assert found.contact_impulses[:, 0] == pytest.approx(r.reshape(-1, 3)[:, 0], rel=1e-5)


def test_a_guess_that_buries_the_load_is_dropped():
    """Self-stress of 1e14 N s in a press without load: the answer is none, not that guess."""
    problem = press(-1e-3)  # plates that open
    found = ss.solve(problem, guess=np.tile([1e14, 0.0, 0.0], 2))
    assert found.ok
    assert np.abs(found.r).max() <= 1.0


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("size", [1.0, 1e6, 1e15])
def test_a_row_of_an_lcp_that_nothing_answers_is_refused_in_any_unit(unit, size):
    """w_1 = -unit - z_2 stays negative however large z_1 = size, which costs nothing, grows."""
    problem = ss.problem.lcp([[0.0, -1.0], [0.0, 1.0]], [-unit, unit])
    assert not ss.judge(problem, [size * unit, 0.0]).solved(1e-8)
    found = ss.solve(problem, tolerance=1e-3)
    assert not found.ok


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_answers_of_lcps_are_accepted_in_any_unit(unit):
    problem = ss.problem.lcp([[2.0, 1.0], [1.0, 2.0]], [-5.0 * unit, -6.0 * unit])
    found = ss.solve(problem, tolerance=1e-10)
    assert found.ok
    assert found.r == pytest.approx([4.0 / 3.0 * unit, 7.0 / 3.0 * unit])


@pytest.mark.parametrize("size", [1e3, 1e6, 1e10])
def test_contacts_that_slide_inside_their_cones_are_refused_however_hard_they_are_pressed(size):
    """A body pressed between plates at rest slides at V, and friction that could stop it is left out."""
    problem = press(0.0)
    r = np.array([size, 0.0, 0.0, size, 0.0, 0.0])
    said = ss.judge(problem, r)
    assert said.error <= 2.0 / size
    assert said.local > 0.1
    assert not said.solved(1e-8)
    assert ss.judge(problem, r + np.array([0.0, -0.5, 0.0, 0.0, -0.5, 0.0])).solved(1e-8)
