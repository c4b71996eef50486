"""Each adapter on programs with a known optimum: x, y and the signs of every kind of row."""

import numpy as np
import pytest

from stickslip import ProblemError, Status
from stickslip.problem.program import ConeProgram, judge_program
from stickslip.solvers import registry
from stickslip.solvers.adapters import conic

ADAPTERS = [
    pytest.param(name, marks=pytest.mark.skipif(not registry.entry(name).installed, reason=f"no {name} here"))
    for name in ("clarabel", "scs", "qoco", "ecos", "piqp", "proxqp")
]
REACH = {"ecos": 1e-2}
"""What an objective as a cone leaves of the multipliers; others are held to 1e-5."""
MOST = 100_000


def adapter(name):
    return getattr(conic, name)


def with_known_optimum(cones, zero=2, rank=6, seed=3):
    """P x + c = A'y and s ⟂ y by construction: rows that hold and rows that do not, of every kind."""
    rng, n, plain = np.random.default_rng(seed), 6, 3
    A = rng.normal(size=(zero + plain + sum(cones), n))
    s, y = np.zeros(A.shape[0]), np.zeros(A.shape[0])
    y[:zero] = rng.normal(size=zero)
    s[zero], y[zero + 1], y[zero + 2] = 1.0, 2.0, 0.5
    first = zero + plain
    for k, size in enumerate(cones):  # on the border both, inside one, inside the other
        d = rng.normal(size=size - 1)
        d /= np.linalg.norm(d)
        s[first : first + size] = ((1.0, *d), (2.0, *d), np.zeros(size))[k % 3]
        y[first : first + size] = ((0.5, *-0.5 * d), np.zeros(size), (2.0, *d))[k % 3]
        first += size
    L, x = rng.normal(size=(n, rank)), rng.normal(size=n)
    return ConeProgram(L @ L.T, A.T @ y - L @ (L.T @ x), A, s - A @ x, zero, plain, cones), x, y


@pytest.mark.parametrize("rank", [6, 4])
@pytest.mark.parametrize("zero", [2, 0])
@pytest.mark.parametrize("name", ADAPTERS)
def test_the_optimum_and_its_multipliers(name, zero, rank):
    program, x, _ = with_known_optimum(() if name in ("piqp", "proxqp") else (3, 3, 4), zero, rank)
    found = adapter(name)(program, 1e-7, MOST)
    assert found.status is Status.SOLVED, found.message
    assert found.message
    assert 0 < found.iterations < MOST
    assert judge_program(program, found.x, found.y).error <= REACH.get(name, 1e-5)
    if rank == 6:
        np.testing.assert_allclose(found.x, x, atol=1e-2)
    assert program.objective(found.x) == pytest.approx(program.objective(x), abs=1e-4)
    again = adapter(name)(program, 1e-7, MOST)
    assert again.x.tobytes() == found.x.tobytes()


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_unbounded_program_has_no_answer(name):
    program = ConeProgram(np.zeros((2, 2)), [-1.0, 0.0], np.eye(2), [0.0, 0.0], nonnegative=2)
    found = adapter(name)(program, 1e-8, 2_000)
    assert found.status is not Status.SOLVED or np.abs(found.x).max() > 1e8


@pytest.mark.parametrize("name", ADAPTERS)
def test_it_prints_nothing_and_stops_at_its_limit(name, capfd):
    program, _, _ = with_known_optimum(() if name in ("piqp", "proxqp") else (3,))
    found = adapter(name)(program, 1e-12, 1)
    assert found.status is Status.MAX_ITERATIONS
    assert found.x.shape == (program.size,)
    assert found.y.shape == (program.rows,)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["piqp", "proxqp"])
def test_linear_rows_only(name):
    if not registry.entry(name).installed:
        pytest.skip(registry.entry(name).availability)
    with pytest.raises(
        ProblemError, match=f"{name} takes linear rows only, and the program has 1 second-order"
    ):
        adapter(name)(with_known_optimum((3,))[0], 1e-8, 100)


@pytest.mark.parametrize("name", ADAPTERS)
def test_a_program_without_rows(name):
    program = ConeProgram(np.diag([1.0, 4.0]), [-1.0, 2.0], np.zeros((0, 2)), [])
    found = adapter(name)(program, 1e-8, 1_000)
    np.testing.assert_allclose(found.x, [1.0, -0.5], atol=1e-4)
    assert found.y.shape == (0,)
