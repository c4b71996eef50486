"""Of all certified impulses the least: closed forms, solvers, units, orders, a cone program, large graphs."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.problem import impulse_balance
from stickslip.problem.jacobian import contact_blocks
from stickslip.problem.sets import blocks_of, coulomb, free, interval, nonnegative, rolling, spans, torsional
from stickslip.solvers.impulses import impulse_set, least_impulses, unique_impulses
from tests import impulse_reference

SOLVERS = ("nsgs", "newton-ac", "prox", "ipm")
G, H = 9.81, 0.01


def box(force=(0.0, 0.0, 0.0), at=(0.0, 0.0), half=(0.1, 0.1, 0.1), mu=0.5, m=1.0, corners=None, order=None):
    """A box on its lower corners with a force [N] besides its weight at `at` [m], over a step H."""
    a, b, c = half
    spin = m / 3.0 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    places = np.array([(-a, -b), (-a, b), (a, -b), (a, b)] if corners is None else corners)
    places = places if order is None else places[order]
    rows = [[*n, *np.cross((x, y, -c), n)] for x, y in places for n in ((0, 0, 1), (1, 0, 0), (0, 1, 0))]
    weight = np.array([0.0, 0.0, -m * G])
    f = H * np.concatenate([weight + force, np.cross((*at, 0.0), weight)])
    K = coulomb(np.full(len(places), mu))
    return ss.GlobalProblem(np.diag([m, m, m, *spin]), f, np.array(rows).T, np.zeros(K.size), K)


def least(problem, solver="nsgs", tolerance=1e-9):
    found = ss.solve(problem, solver=solver, tolerance=tolerance).or_raise()
    answer = least_impulses(found)
    assert answer.selection == "least"
    assert answer.ok
    assert answer.residuals.solved(tolerance)
    if found.v is not None:
        size = np.linalg.norm(problem.M.solve(problem.f))
        assert np.linalg.norm(answer.v - found.v) <= 1e3 * tolerance * size
    return answer


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_box_at_rest_has_a_quarter_of_its_weight_at_every_corner_and_no_friction(solver):
    answer = least(box(), solver)
    assert answer.contact_impulses == pytest.approx(np.tile([G * H / 4, 0.0, 0.0], (4, 1)), abs=1e-9)
    assert not unique_impulses(answer).any()
    assert impulse_set(answer).strict.all()


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("push", [2.0, 4.8])
def test_a_pushed_box_leans_and_spreads_its_friction(push, solver):
    answer = least(box((push, 0.0, 0.0)), solver)
    lean = push * H / 4  # of the arm 0.1 over two corners 0.1 away on either side
    normal = G * H / 4 + lean * np.array([-1, -1, 1, 1])
    assert answer.contact_impulses[:, 0] == pytest.approx(normal, abs=1e-9)
    assert answer.contact_impulses[:, 1:].sum(axis=0) == pytest.approx([-push * H, 0.0], abs=1e-9)
    if push == 2.0:  # no cone is met: all alike
        assert answer.contact_impulses[:, 1] == pytest.approx(np.full(4, -push * H / 4), abs=1e-9)
    assert answer.contact_impulses[:, 2] == pytest.approx(np.zeros(4), abs=1e-9)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_box_that_slides(solver):
    answer = least(box((6.0, 0.0, 0.0)), solver)
    normal = G * H / 4 * (1 + 0.5 * np.array([-1, -1, 1, 1]))
    expected = normal[:, None] * [1.0, -0.5, 0.0]
    assert answer.contact_impulses == pytest.approx(expected, abs=1e-8)
    assert not unique_impulses(answer).any()


def test_an_eccentric_load_is_an_affine_function_of_the_place():
    x, y = 0.03, -0.02
    answer = least(box(at=(x, y), half=(0.1, 0.2, 0.1)))
    corners = np.array([(-0.1, -0.2), (-0.1, 0.2), (0.1, -0.2), (0.1, 0.2)])
    expected = G * H / 4 * (1 + corners[:, 0] * x / 0.1**2 + corners[:, 1] * y / 0.2**2)
    assert answer.contact_impulses[:, 0] == pytest.approx(expected, abs=1e-9)


def test_three_legs_have_one_way_to_stand_and_four_have_many():
    three = [(-0.1, -0.1), (-0.1, 0.1), (0.1, 0.0)]
    assert unique_impulses(least(box(corners=three, mu=0.0))).all()
    assert not unique_impulses(least(box(mu=0.0))).any()
    # with friction the feet of three legs may pull against each other
    assert not unique_impulses(least(box(corners=three))).any()


def beam(load, supports=(-1.0, 0.0, 1.0)):
    """A beam of 1 kg on frictionless supports, with its weight 1 N s at `load` [m]."""
    rows = np.array([[1.0, x] for x in supports])
    return ss.GlobalProblem(
        np.eye(2), [-1.0, -load], rows.T, np.zeros(len(supports)), nonnegative(len(supports))
    )


def test_a_beam_on_three_supports():
    assert least(beam(0.2)).r == pytest.approx(1 / 3 + 0.1 * np.array([-1, 0, 1]), abs=1e-12)
    # where that would pull at the first support it has none
    assert least(beam(0.9)).r == pytest.approx([0.0, 0.1, 0.9], abs=1e-8)


def test_supports_that_nothing_presses_are_on_a_border_and_unique():
    found = impulse_set(least(beam(1.0, (-1.0, 1.0))))
    assert found.unique.tolist() == [True, True]
    assert found.strict.tolist() == [False, True]
    three = impulse_set(least(beam(1.0)))
    assert three.unique.all()
    assert three.strict.tolist() == [False, False, True]


def test_an_open_contact_is_strict_and_unique():
    rising = ss.GlobalProblem(np.eye(1), [1.0], [[1.0]], [0.0], nonnegative(1))
    found = impulse_set(ss.solve(rising).or_raise())
    assert found.strict.all()
    assert found.unique.all()
    assert found.least.tolist() == [0.0]


def jam(mu, weight):
    """A ball between two walls, normals ±x, pulled down with `weight` [N s], in 2D without rotation."""
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 1.0]])
    return ss.GlobalProblem(np.eye(2), [0.0, -weight], rows.T, np.zeros(4), coulomb([mu, mu], dimension=2))


def test_a_jam_without_load_has_no_impulses_and_with_load_the_least_that_hold():
    free_of_load = ss.solve(jam(0.5, 0.0), solver="nsgs").or_raise().with_(r=np.array([1.0, 0.2, 1.0, -0.2]))
    assert least_impulses(free_of_load).r == pytest.approx(np.zeros(4), abs=1e-12)
    assert not unique_impulses(free_of_load).any()
    held = ss.solve(jam(0.5, 1.0), guess=[3.0, 0.5, 3.0, 0.5], solver="nsgs").or_raise()
    answer = least_impulses(held)
    assert answer.r == pytest.approx([1.0, 0.5, 1.0, 0.5], abs=1e-9)  # at the limit of both cones
    found = impulse_set(held)
    assert found.strict.all()  # others of the set are inside
    assert (found.inside[[0, 2]] * 0.5 > found.inside[[1, 3]] + 1e-3).all()


@pytest.mark.parametrize("solver", ["prox", "ipm"])
def test_at_the_limit_of_sliding_every_corner_is_at_its_limit_in_all_impulses(solver):
    found = impulse_set(ss.solve(box((0.5 * G, 0.0, 0.0)), solver=solver, tolerance=1e-9).or_raise())
    assert not found.strict.any()


def test_bilateral_rows_share_with_contacts():
    """A block on a contact and hung on a rod: half the weight each, as a free block or as a joint."""
    rows = np.array([[1.0], [1.0]])
    one = ss.GlobalProblem(np.eye(1), [-1.0], rows.T, np.zeros(2), nonnegative(1) + free(1))
    assert least(one).r == pytest.approx([0.5, 0.5], abs=1e-9)
    two = ss.GlobalProblem(np.eye(1), [-1.0], [[1.0]], [0.0], nonnegative(1), [[1.0]], [0.0])
    answer = least(two, "ipm")
    assert answer.r == pytest.approx([0.5], abs=1e-8)
    assert answer.lam == pytest.approx([0.5], abs=1e-8)
    assert not unique_impulses(answer).any()
    limited = ss.GlobalProblem(
        np.eye(1), [-1.0], rows.T, np.zeros(2), nonnegative(1) + interval([-0.2], [0.2])
    )
    assert least(limited).r == pytest.approx([0.8, 0.2], abs=1e-9)


def test_neither_order_nor_tangents_nor_units_matter():
    answer = least(box((3.0, 2.0, 0.0), at=(0.03, 0.01)))
    order = np.array([2, 0, 3, 1])
    moved = least(box((3.0, 2.0, 0.0), at=(0.03, 0.01), order=order))
    assert moved.contact_impulses == pytest.approx(answer.contact_impulses[order], abs=1e-9)
    # other tangents at every contact
    problem, rng = box((3.0, 2.0, 0.0), at=(0.03, 0.01)), np.random.default_rng(1)
    turn = np.eye(12)
    for i, angle in enumerate(rng.uniform(0.0, 6.0, 4)):
        part = slice(3 * i + 1, 3 * i + 3)
        turn[part, part] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    turned = ss.GlobalProblem(problem.M, problem.f, problem.H_sparse() @ turn, problem.u_bias, problem.K)
    assert turn @ least(turned).r == pytest.approx(answer.r, abs=1e-9)


def test_metres_and_millimetres_of_rolling_contacts():
    def ball(length):
        """Two rolling contacts under one sphere of 0.1 m, `length` units to the metre."""
        rows = []
        for x in (-0.02, 0.02):
            arm = np.array([x, 0.0, -0.1]) * length
            for n in ((0, 0, 1), (1, 0, 0), (0, 1, 0)):
                rows.append([*n, *np.cross(arm, n)])
            rows += [[0, 0, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0]]
        M = np.diag([1.0] * 3 + [0.004 * length**2] * 3)
        f = np.array([0.1, 0.0, -1.0, 0.0, 0.002 * length, 0.0]) * np.array([length] * 3 + [length] * 3)
        K = rolling([0.5, 0.5], [0.02 * length] * 2)
        return ss.GlobalProblem(M, f, np.array(rows, float).T, np.zeros(10), K)

    metres, millimetres = (least(ball(length), "nsgs", 1e-10).r for length in (1.0, 1e3))
    unit = np.tile([1e3, 1e3, 1e3, 1e6, 1e6], 2)
    assert millimetres / unit == pytest.approx(metres, abs=1e-8)


def random_problem(seed):
    """Blocks of every kind over few velocities, so that impulses are not unique."""
    rng = np.random.default_rng(seed)
    makes = (
        lambda: coulomb([rng.uniform(0.1, 1.0)]), lambda: coulomb([rng.uniform(0.1, 1.0)], 2),
        lambda: rolling([0.4], [0.05]), lambda: torsional([0.5], [0.03]), lambda: interval([-0.1], [0.2]),
        lambda: nonnegative(1), lambda: free(2),
    )  # fmt: skip
    K = coulomb([0.5])
    for _ in range(int(rng.integers(2, 7))):
        K = K + makes[int(rng.integers(0, 7))]()
    m = int(rng.integers(3, 8))
    rows, up = rng.normal(size=(m, K.size)), rng.normal(size=m)
    first = K.offset[:-1]
    rows[:, first] = 0.3 * rows[:, first] + up[:, None]
    f = -up * rng.uniform(0.1, 1.0) + 0.1 * rng.normal(size=m)
    M = np.diag(rng.uniform(0.5, 2.0, m))
    if seed % 2:
        return ss.GlobalProblem(M, f, rows, np.zeros(K.size), K)
    W = rows.T @ np.linalg.solve(M, rows)
    return ss.ContactProblem(0.5 * (W + W.T), rows.T @ np.linalg.solve(M, f), K)


@pytest.mark.parametrize("seed", range(16))
def test_random_problems_against_a_cone_program(seed):
    problem = random_problem(seed)
    answer = least(problem, "auto")
    found, cut = impulse_set(answer), 1e-7 * np.linalg.norm(answer.r)
    reference = impulse_reference.least(problem, answer.r, answer.u, cut)
    if reference is not None:
        assert answer.r == pytest.approx(reference, abs=2e-5 * np.linalg.norm(reference))
    # what is called unique is the same at both ends of the set, what is not differs
    width = impulse_reference.spread(problem, answer.r, answer.u, cut)
    if width is not None:
        moved = np.maximum.reduceat(width, problem.K.offset[:-1]) / np.linalg.norm(answer.r)
        assert (moved[found.unique] < 1e-4).all()
        assert (moved[~found.unique] > 1e-7).all()


def packed(seed, count=12):
    """Bodies in a ring on a fixed floor, four contacts each, and two on the next body; as contact blocks."""
    rng = np.random.default_rng(seed)
    pairs, rows = [], []
    for i in range(count):
        for _ in range(4):
            pairs.append((i, -1))
            rows.append(np.stack([_arms(rng.uniform(-0.1, 0.1, 2), -0.1), np.zeros((3, 6))], axis=1))
        if i + 1 < count:
            for height in (-0.05, 0.05):
                pairs.append((i + 1, i))
                side = _side(height)
                rows.append(np.stack([side, -side], axis=1))
    K = coulomb(np.full(len(pairs), 0.6))
    M = np.tile(np.diag([1.0, 1.0, 1.0, 0.004, 0.004, 0.004]), (count, 1, 1))
    f = np.tile([0.0, 0.0, -0.1, 0.0, 0.0, 0.0], (count, 1)).astype(float)
    f[:, :2] = rng.uniform(-0.02, 0.02, (count, 2))
    blocks = contact_blocks(np.array(pairs), np.concatenate(rows), K)
    return ss.GlobalProblem(M, f.reshape(-1), blocks, np.zeros(K.size), K)


def _arms(place, height):
    return np.array([[*n, *np.cross((*place, height), n)] for n in ((0, 0, 1), (1, 0, 0), (0, 1, 0))], float)


def _side(height):
    return np.array(
        [[*n, *np.cross((-0.1, 0.0, height), n)] for n in ((1, 0, 0), (0, 1, 0), (0, 0, 1))], float
    )


@pytest.mark.parametrize("form", ["blocks", "matrix", "local"])
def test_sparse_factors_give_what_the_dense_kernel_gives(form, monkeypatch):
    problem = packed(3)
    if form == "matrix":
        problem = ss.GlobalProblem(problem.M.sparse, problem.f, problem.H_sparse(), problem.u_bias, problem.K)
    if form == "local":
        W = problem.H_sparse().T @ problem.M.solve(problem.H_sparse())
        problem = ss.ContactProblem(W, problem.contact_velocity(problem.M.solve(problem.f)), problem.K)
    answer = ss.solve(problem, tolerance=1e-9).or_raise()
    results = []
    for most in (1000, 1):
        monkeypatch.setattr(impulse_balance, "DENSE", most)
        monkeypatch.setattr(impulse_balance, "ROOTED", most)
        found = impulse_set(answer)
        results.append((least_impulses(answer), found.unique, found.strict))
    (dense, *flags), (sparse, *same) = results
    assert dense.selection == sparse.selection == "least"
    assert sparse.r == pytest.approx(dense.r, abs=1e-7 * np.linalg.norm(dense.r))
    for one, other in zip(flags, same, strict=True):
        assert one.tolist() == other.tolist()


def test_what_has_no_impulses_or_no_certificate_comes_back_as_it_is():
    nothing = ss.solve(ss.ContactProblem(np.zeros((0, 0)), [], coulomb([])))
    assert least_impulses(nothing) is nothing
    short = ss.solve(box((3.0, 1.0, 0.0)), solver="nsgs", max_iterations=1, tolerance=1e-12)
    assert not short.ok
    assert least_impulses(short) is short
    with pytest.raises(ss.ProblemError, match="MAX_ITERATIONS; a set of impulses needs a certified answer"):
        impulse_set(short)
    once = least(box())
    assert least_impulses(once) is once


def test_box_problems_have_least_solutions_too():
    A = np.ones((2, 2))
    answer = least_impulses(ss.solve(ss.BoxProblem(A, [-1.0, -1.0], 0.0, np.inf)).or_raise())
    assert answer.selection == "least"
    assert answer.r == pytest.approx([0.5, 0.5], abs=1e-9)


def test_blocks_of_a_set_in_another_order():
    K = coulomb([0.1, 0.2]) + free(2) + rolling([0.3], [0.01])
    part = blocks_of(K, np.array([3, 0, 2]))
    assert [block.kind for block in part] == ["rolling", "coulomb3d", "free"]
    assert part.coefficient.tolist() == [0.3, 0.01, 0.1]
    assert spans(K.offset, np.array([2, 0])).tolist() == [6, 7, 0, 1, 2]
