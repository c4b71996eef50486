"""A solver of the user's own in solves and runs: certified by the judge, and errors by its name."""

import numpy as np
import pytest

import stickslip as ss
from stickslip.bench import OwnSolver, OwnSolverError

SOURCE = """
import numpy as np
import stickslip as ss


class Mine:
    def __init__(self, tolerance=1e-8, solver="nsgs"):
        self.tolerance, self.solver = tolerance, solver

    def solve(self, problem):
        if not isinstance(problem, ss.ContactProblem):
            problem = ss.problem.reduce_to_contacts(problem).problem
        return ss.solve(problem, self.solver, tolerance=self.tolerance).r


class Whole:
    def solve(self, problem, guess=None, progress=None):
        return ss.solve(problem, guess=guess)


class Zero:
    def solve(self, problem):
        return np.zeros(problem.size)


class Refusing:
    def solve(self, problem):
        raise NotImplementedError("friction")


class Broken:
    def solve(self, problem):
        return problem.nothing


class Short:
    def solve(self, problem):
        return np.zeros(1)


class Nan:
    def solve(self, problem):
        return np.full(problem.size, np.nan)
"""


@pytest.fixture
def own(tmp_path):
    (tmp_path / "mine.py").write_text(SOURCE)
    return lambda name, options=None, tolerance=None: OwnSolver.of(
        f"{tmp_path / 'mine.py'}:{name}", options, tolerance
    )


@pytest.fixture(scope="module")
def problem():
    return ss.scenes.make("incline-problem")


def sliding():
    b = ss.WorldBuilder()
    b.material("default", mu=0.5)
    b.body("floor", ss.Plane(), fixed=True)
    b.body("box", ss.Cuboid((0.2, 0.2, 0.2)), position=(0, 0, 0.1), velocity=(1, 0, 0))
    return b.build()


@pytest.mark.parametrize("name", ["Mine", "Whole"])
def test_an_answer_is_certified_by_the_judge(own, problem, name):
    solution = own(name).solve(problem)
    assert solution.ok
    assert solution.solver == name
    np.testing.assert_allclose(solution.u, ss.solve(problem).u, atol=1e-7)
    if solution.v is not None:
        assert ss.judge(problem, solution.r, v=solution.v, lam=solution.lam).solved(1e-8)


def test_an_answer_that_is_none_is_not_solved(own, problem):
    solution = own("Zero").solve(problem)
    assert not solution.ok
    assert solution.residuals.error > 1e-3
    assert "judge" in solution.reason


def test_options_and_tolerance_reach_the_class(own, problem):
    solver = own("Mine", ["solver=prox"], 1e-5)
    assert solver.label == "Mine:solver=prox"
    solution = solver.solve(problem)
    assert solution.tolerance == 1e-5
    assert solution.ok
    with pytest.raises(ValueError, match=r"Mine has no option 'solvr'.*did you mean 'solver'\?"):
        own("Mine", ["solvr=prox"])
    with pytest.raises(OwnSolverError, match="comma"):
        own("Mine", ["solver=a,b"])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Refusing", "Refusing does not take this problem: friction"),
        ("Broken", "Broken failed with AttributeError"),
        ("Short", r"Short gave an r of shape \(1,\)"),
        ("Nan", "Nan: its r holds NaN or inf"),
    ],
)
def test_what_goes_wrong_is_one_sentence(own, problem, name, words):
    with pytest.raises(OwnSolverError, match=words):
        own(name).solve(problem)


def test_a_run_takes_it_in_every_step(own):
    run = ss.simulate(sliding(), until=0.25, h=5e-3, solver=own("Mine"))
    assert run.ok.all()
    assert run.solver == "Mine"
    usual = ss.simulate(sliding(), until=0.25, h=5e-3)
    np.testing.assert_allclose(run.q, usual.q, atol=1e-7)


def test_names_are_those_given_before_the_place(tmp_path, problem):
    (tmp_path / "mine.py").write_text(SOURCE)
    assert OwnSolver.of(f"best={tmp_path / 'mine.py'}:Mine").solve(problem).solver == "best"
    with pytest.raises(ValueError, match="does not exist"):
        OwnSolver.of(f"{tmp_path / 'nothing.py'}:Mine")
    with pytest.raises(ValueError, match="the name nsgs is that of a built-in solver"):
        OwnSolver.of(f"nsgs={tmp_path / 'mine.py'}:Mine")
