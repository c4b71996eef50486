"""docs/formulations.md: its code runs, and the numbers of its table are what comes out."""

import re
from pathlib import Path

import numpy as np
import pytest
from conic import shift_loop, solve_program

import stickslip as ss
from stickslip.problem.convert import friction_shift

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "formulations.md").read_text()


@pytest.fixture(scope="module")
def names():
    found: dict = {}
    for code in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL):
        exec(compile(code, "formulations.md", "exec"), found)
    return found


def shown(start):
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {start}"))
    return [float(x) for x in row.split("|")[2:-1]]


def row(problem, r):
    """N, friction, acceleration down the slope and lift of the box."""
    u, down = problem.velocity(r), np.array(problem.u_free[1:])
    return [r[0], np.hypot(*r[1:]), u[1:] @ down / np.linalg.norm(down), u[0]]


def test_the_box_by_coulomb_and_by_the_relaxation(names):
    problem = names["box"]()
    np.testing.assert_allclose(row(problem, names["exact"].r), shown("Coulomb's law"), atol=1e-6)
    np.testing.assert_allclose(row(problem, names["relaxed"].r), shown("dual or primal"), atol=1e-6)
    loop = shift_loop(ss.problem.dual_program(problem), problem.K, lambda a: problem.velocity(a.r), 20)
    np.testing.assert_allclose(row(problem, loop[0].r), shown("dual or primal"), atol=1e-6)
    np.testing.assert_allclose(row(problem, loop[-1].r), shown("Coulomb's law"), atol=1e-6)


def test_the_wrong_sign_opens_twice_as_fast(names):
    """u_N - s in K* with s = mu |u_T|: the loop settles at u_N = 2 mu |u_T|."""
    problem = names["box"]()
    conversion = ss.problem.dual_program(problem)
    s = np.zeros(1)
    for _ in range(20):
        answer = conversion.recover(*solve_program(conversion.shifted(-s)))
        s = friction_shift(problem.K, problem.velocity(answer.r))
    np.testing.assert_allclose(row(problem, answer.r), shown("loop with"), atol=1e-6)
    assert problem.velocity(answer.r)[0] == pytest.approx(2.0 * s[0])


@pytest.mark.parametrize(
    ("start", "facets", "turn"),
    [
        ("pyramid LCP, 4 facets, slope along", 4, 0.0),
        ("pyramid LCP, 4 facets, slope across", 4, np.pi / 4),
        ("pyramid LCP, 8 facets, slope across", 8, np.pi / 8),
        ("pyramid LCP, 8 facets, slope 5°", 8, np.radians(5.0)),
    ],
)
def test_the_box_on_pyramids(names, start, facets, turn):
    r = names["on_pyramid"](facets, turn)
    np.testing.assert_allclose(row(names["box"](turn), r), shown(start), atol=1e-6)
