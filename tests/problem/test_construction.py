"""Everything is checked once, at construction; the error names the field, the contact, the value."""

import numpy as np
import pytest
import scipy.sparse as sp

from stickslip import BoxProblem, ContactProblem, GlobalProblem, ProblemError, coulomb
from stickslip.problem import (
    Level,
    contact_blocks,
    free,
    friction,
    interval,
    lcp,
    mlcp,
    nonnegative,
    rolling,
    torsional,
)

EYE6, K2 = np.eye(6), coulomb([0.3, 0.4])


def bad(text, make):
    with pytest.raises(ProblemError, match=text):
        make()


@pytest.mark.parametrize(
    ("text", "make"),
    [
        (r"mu of contact 1 is -0.1; it must be finite and not negative", lambda: coulomb([0.3, -0.1])),
        (r"mu of contact 0 is nan", lambda: coulomb([np.nan])),
        (r"mu_roll of contact 2 is -5.0", lambda: rolling([0.1] * 3, [0.1, 0.2, -5.0])),
        (r"mu_roll has 2 entries, expected 3", lambda: rolling([0.1] * 3, [0.1, 0.2])),
        (r"mu_spin of contact 0 is inf", lambda: torsional([0.1], [np.inf])),
        (r"coefficient of group 1 of contact 0 is -1.0", lambda: friction((2, 3), [[0.1, -1.0]])),
        (r"size of group 1 is 0; it must be an integer, 1 or more", lambda: friction((2, 0), [[0.1, 1.0]])),
        (r"dimension is 4; Coulomb contacts have 2 or 3", lambda: coulomb([0.1], 4)),
        (r"interval 1 is \[2.0, 1.0\]", lambda: interval([0.0, 2.0], [1.0, 1.0])),
        (r"size of free block 0 is 0", lambda: free(0)),
        (r"number of nonnegative blocks is -1", lambda: nonnegative(-1)),
        (r"mu is not an array of real numbers", lambda: coulomb(["a"])),
        (r"mu is not an array of real numbers: it is of type complex128", lambda: coulomb([0.3 + 1j])),
        (
            r"mu is not an array of real numbers: it is a masked",
            lambda: coulomb(np.ma.array([0.3], mask=[1])),
        ),
        (r"number of nonnegative blocks is 2.5", lambda: nonnegative(2.5)),
        (r"size of free block 0 is 'a'", lambda: free("a")),
        (r"size of group 0 is inf", lambda: friction((np.inf,), [[1.0]])),
        (r"lower and upper have 2 and 3 entries", lambda: interval([0, 1], [1, 2, 3])),
    ],
)
def test_sets(text, make):
    bad(text, make)


@pytest.mark.parametrize(
    ("text", "make"),
    [
        (
            r"W has shape \(5, 6\), expected \(6, 6\) for ProductSet\(2 coulomb3d",
            lambda: ContactProblem(np.ones((5, 6)), np.zeros(6), K2),
        ),
        (
            r"W is not finite: entry \(4, 1\), between contacts 1 and 0, is nan",
            lambda: ContactProblem(_with(EYE6, (4, 1), np.nan), np.zeros(6), K2),
        ),
        (
            r"W is not finite: entry \(0, 5\), between contacts 0 and 1, is inf",
            lambda: ContactProblem(sp.csr_array(_with(EYE6, (0, 5), np.inf)), np.zeros(6), K2),
        ),
        (
            r"u_free has shape \(5,\), expected 6 numbers \(2 contacts\)",
            lambda: ContactProblem(EYE6, np.zeros(5), K2),
        ),
        (
            r"u_free is not finite: contact 1, component 2, is nan",
            lambda: ContactProblem(EYE6, _with(np.zeros(6), 5, np.nan), K2),
        ),
        (
            r"K is list, expected a product set such as coulomb\(mu\)",
            lambda: ContactProblem(EYE6, np.zeros(6), [0.3, 0.4]),
        ),
    ],
)
def test_contact_problem(text, make):
    bad(text, make)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        (r"M is not positive definite: diagonal entry 2 is -1.0", {"M": np.diag([1.0, 1, -1, 1])}),
        (
            r"M is not positive definite: its block of velocities 1 to 2 has smallest eigenvalue -1",
            {"M": np.array([[1.0, 0, 0, 0], [0, 1, 2, 0], [0, 2, 1, 0], [0, 0, 0, 1]])},
        ),
        (
            r"M is not symmetric: entries \(0, 1\) and \(1, 0\) are 0.5 and 0.0",
            {"M": np.eye(4) + np.diag([0.5, 0.0, 0.0], k=1)},
        ),
        (r"M has shape \(4, 3\), expected \(nv, nv\)", {"M": np.ones((4, 3))}),
        (r"M is not finite: entry \(1, 1\) is nan", {"M": np.diag([1.0, np.nan, 1, 1])}),
        (r"f has shape \(3,\), expected 4 numbers", {"f": np.zeros(3)}),
        (r"f is not finite: velocity 1 is inf", {"f": [0.0, np.inf, 0, 0]}),
        (r"H has shape \(4, 5\), expected \(4, 6\)", {"H": np.ones((4, 5))}),
        (r"H is not finite: entry \(0, 0\) is nan", {"H": np.full((4, 6), np.nan)}),
        (r"u_bias has shape \(7,\), expected 6", {"u_bias": np.zeros(7)}),
        (r"u_bias is not finite: contact 0, component 1, is nan", {"u_bias": [0, np.nan, 0, 0, 0, 0]}),
        (r"g_bias has 1 entries, but there is no G", {"g_bias": [1.0]}),
        (r"G has shape \(3, 1\), expected \(4, any\)", {"G": np.ones((3, 1)), "g_bias": [0.0]}),
        (r"g_bias has shape \(2,\), expected 1 numbers", {"G": np.ones((4, 1)), "g_bias": [0.0, 0.0]}),
    ],
)
def test_global_problem(text, change):
    good = {"M": np.eye(4), "f": np.zeros(4), "H": np.ones((4, 6)), "u_bias": np.zeros(6), "K": K2}
    GlobalProblem(**good)
    bad(text, lambda: GlobalProblem(**{**good, **change}))


def test_a_large_coupled_mass_matrix_is_checked_too():
    n = 400
    M = sp.diags_array(
        [np.full(n - 1, -1.0), np.full(n, 2.5), np.full(n - 1, -1.0)], offsets=[-1, 0, 1]
    ).tolil()
    H = sp.csr_array((n, 3))
    GlobalProblem(M.tocsr(), np.zeros(n), H, np.zeros(3), coulomb([0.1]))
    M[200, 200] = 0.1
    bad(
        "M is not positive definite: pivot of velocity",
        lambda: GlobalProblem(M.tocsr(), np.zeros(n), H, np.zeros(3), coulomb([0.1])),
    )


def test_a_mass_matrix_whose_factor_would_fill_up_is_still_checked():
    n = 6000
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, n, (2, 3 * n))
    noise = sp.coo_array((rng.uniform(-0.1, 0.1, 3 * n), (i, j)), shape=(n, n))
    M = sp.csr_array(noise + noise.T + 4.0 * sp.eye_array(n))
    H, f = sp.csr_array((n, 3)), np.zeros(n)
    GlobalProblem(M, f, H, np.zeros(3), coulomb([0.1]))
    spike = sp.coo_array(([-9.0, -9.0], ([7, 9], [9, 7])), shape=(n, n))
    bad(
        "M is not positive definite: its smallest eigenvalue",
        lambda: GlobalProblem(sp.csr_array(M + spike), f, H, np.zeros(3), coulomb([0.1])),
    )


def test_body_blocks_must_be_symmetric():
    M = np.tile(np.eye(6), (3, 1, 1))
    M[2, 0, 1] = 1e-6
    K = coulomb([0.1])
    H = contact_blocks([[0, 1]], np.zeros((3, 2, 6)), K)
    bad("M of body 2 is not symmetric", lambda: GlobalProblem(M, np.zeros(18), H, np.zeros(3), K))


def test_huge_numbers_do_not_hide_an_indefinite_mass():
    M = np.full((2, 2), 1.7e308)
    bad(
        "M is not positive definite",
        lambda: GlobalProblem(M, np.zeros(2), np.zeros((2, 3)), np.zeros(3), coulomb([0.1])),
    )


def test_contact_blocks():
    K = coulomb([0.5])
    rows = np.zeros((3, 2, 6))
    contact_blocks([[0, -1]], rows, K)
    bad(r"bodies has shape \(2, 2\), expected \(1, 2\)", lambda: contact_blocks([[0, 1], [0, 1]], rows, K))
    bad(r"bodies has type float64", lambda: contact_blocks([[0.0, 1.0]], rows, K))
    bad(r"rows has shape \(2, 2, 6\), expected \(3, 2, k\)", lambda: contact_blocks([[0, 1]], rows[:2], K))
    bad(r"contact 0 joins body 1 to itself", lambda: contact_blocks([[1, 1]], rows, K))
    bad(
        r"rows is not finite: contact 0, component 2, body 1, entry 4",
        lambda: contact_blocks([[0, 1]], _with(rows, (2, 1, 4), np.nan), K),
    )
    M = np.tile(np.eye(6), (2, 1, 1))
    bad(
        "H: contact 0 names a body beyond the 2 bodies of M",
        lambda: GlobalProblem(M, np.zeros(12), contact_blocks([[2, 0]], rows, K), np.zeros(3), K),
    )
    other = contact_blocks([[0, 1]], np.zeros((4, 2, 6)), torsional([0.1], [0.1]))
    mixed = nonnegative(1) + coulomb([0.5])
    bad(
        "the contact blocks of H have other sizes",
        lambda: GlobalProblem(M, np.zeros(12), other, np.zeros(4), mixed),
    )
    fixed = contact_blocks([[0, -1]], np.full((3, 2, 6), 1.0), K)
    assert (fixed.rows[:, 1] == 0.0).all()


def test_box_problem():
    bad(r"A has shape \(2, 2\), expected \(3, 3\), as b has 3 entries", lambda: lcp(np.eye(2), np.zeros(3)))
    bad(r"A is not finite: entry \(1, 0\) is nan", lambda: lcp(_with(np.eye(2), (1, 0), np.nan), np.zeros(2)))
    bad(r"b is not finite: component 1 is inf", lambda: lcp(np.eye(2), [0.0, np.inf]))
    bad(r"bounds of component 0 are \[1.0, -1.0\]", lambda: BoxProblem(np.eye(1), [0.0], [1.0], [-1.0]))
    bad(r"free has 1 entries, expected 2", lambda: mlcp(np.eye(2), np.zeros(2), [True]))
    assert lcp(np.eye(2), np.zeros(2)).kind == "lcp"
    assert mlcp(np.eye(2), np.zeros(2), [True, False]).kind == "mlcp"
    assert BoxProblem(np.eye(2), np.zeros(2), -1.0, 1.0).kind == "box"


def test_values_are_frozen_and_do_not_share_memory_with_the_caller():
    W, q = np.eye(3), np.zeros(3)
    problem = ContactProblem(W, q, coulomb([0.5]))
    W[0, 0] = q[0] = 7.0
    assert problem.W.dense()[0, 0] == 1.0
    assert problem.u_free[0] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        problem.u_free[0] = 1.0
    with pytest.raises(AttributeError):
        problem.u_free = q


def test_shapes_by_contact_are_taken_and_shown():
    problem = ContactProblem(EYE6, [[-1.0, 0.0, 0.0], [-2.0, 0.0, 0.0]], K2, Level.ACCELERATION)
    assert problem.K.rows(problem.velocity(np.zeros(6)))[1].tolist() == [-2.0, 0.0, 0.0]
    assert problem.level is Level.ACCELERATION
    assert (
        repr(problem) == "ContactProblem(ProductSet(2 coulomb3d; 6 components), dense W, acceleration level)"
    )
    with pytest.raises(ValueError, match="'jerk' is not a valid Level"):
        ContactProblem(EYE6, np.zeros(6), K2, "jerk")
    mixed = K2 + free(2)
    bad("blocks of different sizes cannot be seen as rows", lambda: mixed.rows(np.zeros(8)))
    assert [len(part) for part in mixed.split(np.zeros(8))] == [3, 3, 2]


def _with(array, index, value):
    changed = np.array(array, float)
    changed[index] = value
    return changed
