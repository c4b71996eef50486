"""Cone programs of contact problems: solved by Clarabel itself, carried back, judged on the original."""

import numpy as np
import pytest
import scipy.sparse as sp
from closed_forms import KNOWN
from conic import shift_loop, solve_program
from random_problems import MIXED, bodies_in_a_row, random_problem
from recorded import FOLDER, needs_recorded

from stickslip import ContactProblem, GlobalProblem, ProblemError, coulomb, judge, read, scenes
from stickslip.problem import (
    contact_blocks,
    dual_program,
    free,
    friction,
    interval,
    judge_program,
    nonnegative,
    primal_program,
    torsional,
)
from stickslip.problem.convert import friction_shift, reduce_to_contacts, rescale, unit_free

EVERY = (
    MIXED
    + interval([-1.0, -np.inf, 0.05, 0.03, -np.inf], [0.7, 0.02, np.inf, 0.03, np.inf])
    + torsional([0.3, 0.0, 0.3], [0.2, 0.1, 0.0])
    + coulomb([0.0, 0.3], 2)
    + coulomb([0.0])
    + friction((2, 1, 2), [[0.2, 0.1, 0.05]])
    + friction((3,), [[0.2]])
)
"""Every kind of block, one-sided, pinned and unbounded intervals and mu = 0 among them."""


def as_global(problem):
    """A contact problem with W = L L' as bodies of unit mass: H = L', and f moves them at u_free."""
    L = np.linalg.cholesky(problem.W.dense())
    f = np.linalg.solve(L, problem.u_free)
    return GlobalProblem(np.eye(problem.size), f, L.T, np.zeros(problem.size), problem.K)


def in_velocities(problem, facets=0, rounds=30):
    conversion = primal_program(problem, facets)
    return shift_loop(conversion, problem.K, lambda a: problem.contact_velocity(a.v), rounds, facets)


def in_impulses(problem, facets=0, rounds=30):
    conversion = dual_program(problem, facets)
    return shift_loop(conversion, problem.K, lambda a: problem.velocity(a.r), rounds, facets)


def jointed(seed):
    """Bodies in a row with every kind of block, matrix-free, and two joints between them."""
    rng = np.random.default_rng(seed)
    bare = bodies_in_a_row(EVERY, seed, 12)
    G = contact_blocks([[0, 1], [3, 4]], rng.normal(size=(5, 2, 6)), free(3, 2))
    return GlobalProblem(bare.M, bare.f, bare.H, bare.u_bias, bare.K, G, 0.1 * rng.normal(size=5))


CLOSED = [name for name, known in KNOWN.items() if hasattr(known.problem, "K") and known.problem.contacts]


@pytest.mark.parametrize("name", CLOSED)
def test_closed_forms_in_impulses_and_in_velocities(name):
    known = KNOWN[name]
    local = isinstance(known.problem, ContactProblem)
    contact = known.problem if local else reduce_to_contacts(known.problem).problem
    whole = as_global(known.problem) if local else known.problem
    for problem, answers in ((contact, in_impulses(contact)), (whole, in_velocities(whole))):
        relaxed, exact = answers[0], answers[-1]
        assert judge(problem, relaxed.r, relaxed.v, relaxed.lam, relaxed=True).error < 1e-6
        assert judge(problem, exact.r, exact.v, exact.lam).error < 1e-6
        if known.r is not None:
            np.testing.assert_allclose(exact.r[: known.r.size], known.r, atol=1e-6)
        else:
            total = problem.K.rows(exact.r).sum(axis=0)
            np.testing.assert_allclose(total, known.total, atol=1e-6)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("matrix_free", [True, False])
def test_every_kind_of_block_with_joints(seed, matrix_free):
    whole = jointed(seed)
    if not matrix_free:
        whole = GlobalProblem(
            whole.M.sparse, whole.f, whole.H_sparse(), whole.u_bias, whole.K, whole.G_sparse(), whole.g_bias
        )
    conversion = reduce_to_contacts(whole)
    relaxed, exact = (in_velocities(whole)[k] for k in (0, -1))
    assert judge(whole, relaxed.r, relaxed.v, relaxed.lam, relaxed=True).error < 1e-6
    assert judge(whole, exact.r, exact.v, exact.lam).error < 1e-6
    assert judge(whole, relaxed.r, relaxed.v, relaxed.lam).error > 1e-3
    other = conversion.recover(in_impulses(conversion.problem)[0].r)
    assert judge(whole, *other, relaxed=True).error < 1e-6
    np.testing.assert_allclose(other.v, relaxed.v, atol=1e-5)


def test_dense_and_block_operators_give_one_program():
    body = reduce_to_contacts(bodies_in_a_row(EVERY, 3, 12)).problem
    dense = ContactProblem(body.W.dense(), body.u_free, body.K)
    block = ContactProblem(sp.csr_array(body.W.dense()), body.u_free, body.K)
    programs = [dual_program(p).problem for p in (body, dense, block)]
    for other in programs[1:]:
        np.testing.assert_allclose(other.P.toarray(), programs[0].P.toarray(), atol=1e-15)
        assert (other.A != programs[0].A).nnz == 0


@pytest.mark.parametrize("facets", [0, 5, 8])
def test_the_two_are_dual_to_each_other(facets):
    """Their optimal values add up to the constant that elimination of v takes out: -½ f' M^-1 f."""
    whole = bodies_in_a_row(MIXED, 5, 8)
    contact = reduce_to_contacts(whole).problem
    primal, dual = primal_program(whole, facets).problem, dual_program(contact, facets).problem
    (v, _), (r, _) = solve_program(primal), solve_program(dual)
    constant = -0.5 * whole.f @ whole.M.solve(whole.f)
    assert primal.objective(v) + dual.objective(r) == pytest.approx(constant, rel=1e-9)


def test_the_sliding_box_carries_more_under_the_relaxation():
    """mu = 0.3 at 25°: N = 8.890879391 by Coulomb, 9.2978 where sliding opens the contact."""
    whole = scenes.make("incline-problem", angle=25.0, mu=0.3)
    force = rescale(whole, 1e-3, 1e-3)  # impulses over h = 1e-3 s
    contact = reduce_to_contacts(force.problem).problem
    g, angle, mu = 9.81, np.radians(25.0), 0.3
    N = g * np.cos(angle)
    relaxed = (N + mu * g * np.sin(angle)) / (1.0 + mu**2)
    assert relaxed == pytest.approx(9.2978, abs=5e-5)
    for answers in (in_impulses(contact, rounds=16), in_velocities(force.problem, rounds=16)):
        normal = [a.r[::3].sum() for a in answers]
        assert normal[0] == pytest.approx(relaxed, abs=1e-9)
        assert normal[-1] == pytest.approx(8.890879391, abs=1e-9)
        back = force.recover(answers[-1].r)
        assert judge(whole, back.r).error < 1e-9
        assert judge(whole, force.recover(answers[0].r).r, relaxed=True).error < 1e-9


def test_the_outer_loop_contracts_by_mu_squared_over_one_plus_mu_squared():
    mu = 0.3
    contact = rescale(
        reduce_to_contacts(scenes.make("incline-problem", angle=25.0, mu=mu)).problem, 1e-3, 1e-3
    ).problem
    normal = np.array([a.r[::3].sum() for a in in_impulses(contact, rounds=6)])
    rates = np.diff(normal)[1:] / np.diff(normal)[:-1]
    np.testing.assert_allclose(rates, mu**2 / (1.0 + mu**2), atol=1e-6)


def test_shifted_programs_share_their_matrices():
    whole = jointed(0)
    contact = reduce_to_contacts(whole).problem
    for conversion, K in ((primal_program(whole), whole.K), (dual_program(contact), contact.K)):
        s = friction_shift(K, np.random.default_rng(0).normal(size=K.size))
        program = conversion.shifted(s)
        assert program.P is conversion.problem.P
        assert program.A is conversion.problem.A
        x = np.random.default_rng(1).normal(size=program.size)
        moved = program.c - conversion.problem.c, program.b - conversion.problem.b
        assert any(part.any() for part in moved)
        assert not all(part.any() for part in moved)
        assert np.isfinite(program.objective(x))


def test_the_shift_is_that_of_the_law():
    u = np.random.default_rng(2).normal(size=EVERY.size)
    s = friction_shift(EVERY, u)
    np.testing.assert_allclose(u[EVERY.offset[:-1]] + s, EVERY.shifted(u)[EVERY.offset[:-1]], atol=1e-15)


def test_a_pyramid_is_a_quadratic_program_inside_the_cone():
    problem = random_problem(6, 3)
    exact = dual_program(problem).problem
    values = []
    for facets in (4, 8, 16):
        program = dual_program(problem, facets).problem
        assert program.second_order.size == 0
        r, _ = solve_program(program)
        assert problem.K.contains(r, 1e-9)
        values.append(exact.objective(r))
    best = exact.objective(solve_program(exact)[0])
    assert values[0] >= values[1] >= values[2] >= best - 1e-9


def test_two_dimensional_friction_needs_no_cones():
    problem = KNOWN["slide 2D"].problem
    assert dual_program(problem).problem.second_order.size == 0
    assert primal_program(as_global(problem)).problem.second_order.size == 0


def test_multipliers_of_the_dual_are_velocities():
    problem = random_problem(5, 1)
    program = dual_program(problem).problem
    x, y = solve_program(program)
    assert judge_program(program, x, y).error < 1e-9
    np.testing.assert_allclose(program.A.T @ y, problem.velocity(x), atol=1e-9)


def test_a_slightly_unsymmetric_operator_gives_its_symmetric_part():
    problem = random_problem(3, 0)
    W = problem.W.dense().copy()
    W[0, 4] += 1e-3 * W.max()
    P = dual_program(ContactProblem(W, problem.u_free, problem.K)).problem.P.toarray()
    np.testing.assert_array_equal(P, 0.5 * W + 0.5 * W.T)


@pytest.mark.parametrize("rolling", [False, True])
def test_a_loop_that_knows_the_last_answer_ends_at_the_operator_as_given(rolling):
    problem = KNOWN["sliding and rolling"].problem if rolling else random_problem(4, 0)
    rng = np.random.default_rng(0)
    W = problem.W.dense() + 1e-3 * rng.normal(size=(problem.size, problem.size))
    problem = ContactProblem(W, problem.u_free, problem.K)
    conversion = dual_program(problem)
    s, last = np.zeros(len(problem.K)), None
    for _ in range(30):
        blind = conversion.recover(*solve_program(conversion.shifted(s)))
        last = conversion.recover(*solve_program(conversion.shifted(s, last)))
        s = friction_shift(problem.K, problem.velocity(last.r))
    assert judge(problem, last.r).error < 1e-6
    assert judge(problem, blind.r).error > 1e-5


@needs_recorded
@pytest.mark.parametrize("name", ["friction/Rover1040.dat", "rolling/rockfall_14_25792.dat"])
def test_recorded_problems_unsymmetric_as_they_are(name):
    units = unit_free(read(FOLDER / name))
    size = np.abs(units.problem.u_free).max()
    problem = rescale(units.problem, size, size).problem
    answer = in_impulses(problem, rounds=60)[-1]
    assert judge(problem, answer.r).error < 1e-6


@needs_recorded
@pytest.mark.parametrize("name", ["friction/GFC3D_TwoRods1.dat", "rolling/Chute-ndof-768-nc-4-3.hdf5"])
def test_recorded_global_problems_in_velocities(name):
    problem = read(FOLDER / name)
    relaxed = in_velocities(problem, rounds=1)[0]
    residuals = judge(problem, *relaxed, relaxed=True)
    assert residuals.natural < 1e-5
    assert residuals.natural_scaled < 1e-5  # equilibrium is that of the symmetric part of M


def test_what_is_no_cone_program_is_refused():
    problem = random_problem(3, 0)
    W = problem.W.dense().copy()
    W[0, 4] += W.max()
    with pytest.raises(ProblemError, match="a cone program needs a symmetric W"):
        dual_program(ContactProblem(W, problem.u_free, problem.K))
    with pytest.raises(ProblemError, match="needs a positive semidefinite W"):
        dual_program(ContactProblem(-problem.W.dense(), problem.u_free, problem.K))
    with pytest.raises(ProblemError, match="reduce_to_contacts"):
        dual_program(as_global(problem))
    with pytest.raises(ProblemError, match="takes a GlobalProblem"):
        primal_program(problem)
    for facets in (1, 2, -4, 4.5):
        with pytest.raises(ProblemError, match="facets"):
            dual_program(problem, facets)
    three = ContactProblem(np.eye(5), np.zeros(5), nonnegative(1) + friction((3,), [[0.1]]))
    with pytest.raises(ProblemError, match="contact 1 has a group of 3 components"):
        dual_program(three, 8)


def test_a_shift_that_makes_no_sense_is_refused():
    conversion = dual_program(ContactProblem(np.eye(4), np.ones(4), nonnegative(1) + coulomb([0.3])))
    for s, said in (([0.1, 0.0], "block 0 is 0.1, but it is nonnegative"), ([0.0, np.nan], "not finite")):
        with pytest.raises(ProblemError, match=said):
            conversion.shifted(np.array(s))
    with pytest.raises(ProblemError, match="one per block"):
        conversion.shifted(np.zeros(3))


def test_nothing_to_do():
    empty = dual_program(ContactProblem(np.zeros((0, 0)), [], coulomb([])))
    assert (empty.problem.size, empty.problem.rows) == (0, 0)
    falling = primal_program(GlobalProblem(np.eye(2), [1.0, 2.0], np.zeros((2, 0)), [], coulomb([])))
    answer = falling.recover(np.array([1.0, 2.0]), np.zeros(0))
    assert answer.r.size == 0
    assert answer.lam is None
    np.testing.assert_array_equal(answer.v, [1.0, 2.0])
