"""Copies of problems: other order, tangents and units, and the answer of the original comes back."""

from dataclasses import replace

import numpy as np
import pytest
from closed_forms import KNOWN

from stickslip import ContactProblem, GlobalProblem, ProblemError, coulomb, judge, solve
from stickslip.problem import rolling
from stickslip.problem.convert import reduce_to_contacts, rescale
from stickslip.problem.copies import mean_impulse, permuted, perturbed, rotated
from stickslip.problem.operator import BlockDelassus, BodyDelassus
from stickslip.scenes import make

COPIES = {
    "permuted": lambda problem: permuted(problem, 5),
    "rotated": lambda problem: rotated(problem, 5),
    "rescaled": lambda problem: rescale(problem, 3e-3 * 1e2, 1e2, 1e2),
}


def jointed():
    """Four bodies, two tied by one bilateral row, five contacts."""
    rng = np.random.default_rng(2)
    nv, nc = 12, 5
    G = np.zeros((nv, 1))
    G[0], G[3] = 1.0, -1.0
    return GlobalProblem(
        np.diag(rng.uniform(0.5, 2.0, nv)), rng.normal(size=nv), rng.normal(size=(nv, 3 * nc)),
        0.1 * rng.normal(size=3 * nc), coulomb(rng.uniform(0.1, 0.9, nc)), G, [0.0],
    )  # fmt: skip


def random_contacts(K, seed):
    rng = np.random.default_rng(seed)
    J = rng.normal(size=(K.size, K.size + 3))
    return ContactProblem(J @ J.T, rng.normal(size=K.size), K)


def in_blocks(problem):
    return ContactProblem(problem.W.blocks(problem.K), problem.u_free, problem.K)


def packing():
    return make("packing-problem", spheres=12, velocity=0.3)


PROBLEMS = {
    "2D": lambda: random_contacts(coulomb([0.0, 0.3, 0.8, 2.0], 2), 1),
    "3D": lambda: random_contacts(coulomb([0.0, 0.3, 0.8, 2.0]), 2),
    "rolling": lambda: random_contacts(rolling([0.3, 0.7, 0.2], [0.1, 0.02, 0.3]), 3),
    "2D and 3D": lambda: random_contacts(coulomb([0.3, 0.8], 2) + coulomb([0.1, 0.5]), 4),
    "blocks": lambda: in_blocks(reduce_to_contacts(packing()).problem),
    "bodies": lambda: reduce_to_contacts(packing()).problem,
    "global": lambda: replace(jointed(), G=None, g_bias=np.zeros(0)),
    "global with a joint": jointed,
    "global over bodies": packing,
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_an_answer_of_a_copy_is_one_of_the_original(name, copy):
    problem = PROBLEMS[name]()
    change = COPIES[copy](problem)
    solution = solve(change.problem, "nsgs", tolerance=1e-12).or_raise()
    answer = change.recover(solution.r)
    assert judge(problem, answer.r, answer.v, answer.lam).solved(1e-11)
    np.testing.assert_allclose(change.guess(answer.r), solution.r, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_any_impulses_have_the_same_scaled_error_in_a_copy(name, copy):
    """natural_scaled knows neither order nor tangents nor units; r need not solve anything."""
    problem = PROBLEMS[name]()
    change = COPIES[copy](problem)
    r = problem.K.project(np.random.default_rng(9).normal(size=problem.size))
    here, there = judge(problem, r), judge(change.problem, change.guess(r))
    assert there.natural_scaled == pytest.approx(here.natural_scaled, rel=1e-9)
    np.testing.assert_allclose(change.recover(change.guess(r)).r, r, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("case", ["slide", "sliding and rolling", "spinning top", "mixed blocks"])
def test_copies_of_known_problems_have_the_known_answer(case, copy):
    known = KNOWN[case]
    change = COPIES[copy](known.problem)
    r = change.recover(solve(change.problem, "nsgs", tolerance=1e-13).or_raise().r).r
    np.testing.assert_allclose(r, known.r, atol=1e-9)


def test_a_permuted_problem_has_the_same_numbers_elsewhere():
    problem = PROBLEMS["2D and 3D"]()
    change = permuted(problem, 3)
    mine = sorted(map(repr, problem.K)), sorted(problem.W.dense().reshape(-1)), sorted(problem.u_free)
    new = change.problem
    theirs = sorted(map(repr, new.K)), sorted(new.W.dense().reshape(-1)), sorted(new.u_free)
    assert mine == theirs
    assert [b.size for b in new.K] != [b.size for b in problem.K]


def test_rotating_turns_tangents_only():
    problem = PROBLEMS["3D"]()
    change = rotated(problem, 3)
    u, v = problem.u_free.reshape(-1, 3), change.problem.u_free.reshape(-1, 3)
    np.testing.assert_array_equal(u[:, 0], v[:, 0])
    np.testing.assert_allclose(np.linalg.norm(u[:, 1:], axis=1), np.linalg.norm(v[:, 1:], axis=1))
    assert (np.abs(u[:, 1:] - v[:, 1:]) > 1e-3).any()


@pytest.mark.parametrize("copy", COPIES)
def test_the_form_of_W_stays(copy):
    for name, form in (("blocks", BlockDelassus), ("bodies", BodyDelassus)):
        assert isinstance(COPIES[copy](PROBLEMS[name]()).problem.W, form)
    assert COPIES[copy](PROBLEMS["global over bodies"]()).problem.is_matrix_free


@pytest.mark.parametrize("name", ["2D", "3D", "rolling", "bodies", "global", "global over bodies"])
def test_noise_is_an_impulse_that_has_already_acted(name):
    """u(r) of the perturbed problem is u(r + noise) of the original."""
    problem, size = PROBLEMS[name](), 0.1
    other = perturbed(problem, size, seed=4)
    noise = size * np.random.default_rng(4).normal(size=problem.size)
    r = np.random.default_rng(5).normal(size=problem.size)

    def local(x):
        return reduce_to_contacts(x).problem if isinstance(x, GlobalProblem) else x

    expected = local(problem).velocity(r + noise)
    np.testing.assert_allclose(local(other).velocity(r), expected, atol=1e-12 * np.abs(expected).max())


def test_the_seed_decides():
    problem = PROBLEMS["3D"]()
    for make_copy in (permuted, rotated):
        a, b, c = (make_copy(problem, seed).problem.u_free for seed in (1, 1, 2))
        assert (a == b).all()
        assert (a != c).any()
    a, b, c = (perturbed(problem, 0.1, seed).u_free for seed in (1, 1, 2))
    assert (a == b).all()
    assert (a != c).any()
    np.testing.assert_array_equal(perturbed(problem, 0.0, 1).u_free, problem.u_free)
    with pytest.raises(ProblemError, match="noise is nan"):
        perturbed(problem, np.nan, 1)


def test_copies_of_nothing():
    empty = ContactProblem(np.zeros((0, 0)), [], coulomb([]))
    for copy in COPIES.values():
        assert copy(empty).problem.contacts == 0
    assert perturbed(empty, 1.0, 0).size == 0
    assert mean_impulse(empty.K, np.zeros(0)) == 0.0


def test_mean_impulse_is_that_of_the_normals():
    assert mean_impulse(coulomb([0.5, 0.5]), np.array([1.0, 9.0, 9.0, 3.0, 9.0, 9.0])) == 2.0
