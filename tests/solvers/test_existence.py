"""The sufficient condition for existence: shown by a witness, refuted by a self-stress."""

import numpy as np
import pytest
from closed_forms import KNOWN
from hard_problems import closing_walls, wedge

from stickslip import BoxProblem, ContactProblem, GlobalProblem, ProblemError, coulomb
from stickslip.problem import lcp, nonnegative
from stickslip.problem.convert import reduce_to_contacts, rescale
from stickslip.problem.existence import INSIDE, is_self_stress, witness_margin
from stickslip.solvers import prove_existence as existence


@pytest.mark.parametrize(
    "case", [case for case, known in KNOWN.items() if not isinstance(known.problem, BoxProblem)]
)
def test_problems_that_are_not_redundant_have_a_witness(case):
    problem = KNOWN[case].problem
    found = existence(problem)
    assert found.holds
    assert "a solution exists" in str(found)
    if problem.contacts:
        assert witness_margin(problem, found.witness) == found.margin >= INSIDE
        velocity = problem.contact_velocity if isinstance(problem, GlobalProblem) else problem.velocity
        u = velocity(found.witness)
        normal = problem.K.offset[:-1][np.diff(problem.K.group_offset) > 0]
        assert (u[normal] > 0.0).all()
        assert np.linalg.norm(problem.K.project_dual(u) - u) <= 1e-9 * np.abs(u).max()


@pytest.mark.parametrize("mu", [0.05, 0.2, 0.41, 0.43, 0.8])
@pytest.mark.parametrize("closing", [-1.0, 1.0])
def test_a_wedge_jams_at_the_tangent_of_its_angle(mu, closing):
    """Out along the middle, sin alpha > mu cos alpha: exactly below mu = tan 0.4 = 0.4228."""
    problem = wedge(mu, closing).problem
    holds = mu < np.tan(0.4) or closing < 0.0
    for form in (problem, reduce_to_contacts(problem).problem):
        found = existence(form)
        assert found.holds == holds
        if not holds:
            assert found.contacts == (0, 1)
            assert is_self_stress(form, found.self_stress, np.zeros(0))


def test_a_self_stress_is_in_the_cone_and_in_balance():
    problem = closing_walls().problem
    found = existence(problem)
    assert not found.holds
    assert "self-stress" in str(found)
    r = found.self_stress
    assert np.linalg.norm(problem.pushed(r, np.zeros(0))) <= 1e-7 * np.linalg.norm(r)
    assert problem.K.contains(r, 1e-7 * np.linalg.norm(r))
    assert r @ problem.u_bias < 0.0
    assert not is_self_stress(problem, -r, np.zeros(0))


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_do_not_matter(unit):
    local = reduce_to_contacts(wedge(0.2, 1.0).problem).problem
    assert existence(rescale(local, unit, 1.0).problem).holds
    assert existence(rescale(local, 1.0, unit).problem).holds
    jammed = reduce_to_contacts(wedge(0.8, 1.0).problem).problem
    assert not existence(rescale(jammed, unit, 1.0).problem).holds


def test_where_the_theorem_is_silent_nothing_is_claimed():
    rod = ContactProblem([[-1.0]], [-1.0], nonnegative(1))
    assert not existence(rod).holds
    assert "positive semidefinite" in str(existence(rod))
    W = np.eye(3)
    W[0, 1] = 1e-4
    found = existence(ContactProblem(W, [-1.0, 0.0, 0.0], coulomb([0.5])))
    assert found.holds
    assert "unsymmetric by 1e-04" in str(found)
    with pytest.raises(ProblemError, match="not BoxProblem"):
        existence(lcp(np.eye(2), [1.0, 1.0]))


def test_joints_hold_what_they_hold():
    """A joint along the normal: no motion opens the contact. Across it: one does."""
    for joint, holds in (([1.0, 0.0], False), ([0.0, 1.0], True)):
        problem = GlobalProblem(
            np.eye(2),
            [0.0, -1.0],
            np.eye(2),
            [-1.0, 0.0],
            coulomb([0.5], 2),
            np.array(joint)[:, None],
            np.zeros(1),
        )
        assert existence(problem).holds == holds
    both = GlobalProblem(
        np.eye(2),
        [0.0, -1.0],
        np.eye(2),
        [-1.0, 0.0],
        coulomb([0.5], 2),
        np.array([[0.0, 0.0], [1.0, 1.0]]),
        [0.0, 1.0],
    )
    assert "contradict" in str(existence(both))


def test_joints_without_contacts_and_joints_given_twice():
    M, none = np.eye(2), coulomb([], 2)
    for bias, holds in (([0.5, 0.5], True), ([0.5, -0.5], False)):
        twice = np.array([[1.0, 1.0], [0.0, 0.0]])
        bare = GlobalProblem(M, np.zeros(2), np.zeros((2, 0)), np.zeros(0), none, twice, bias)
        assert existence(bare).holds == holds
        touching = GlobalProblem(M, np.zeros(2), np.eye(2)[::-1], np.zeros(2), coulomb([0.5], 2), twice, bias)
        assert existence(touching).holds == holds
