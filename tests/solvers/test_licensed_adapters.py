"""Ipopt, Gurobi, MOSEK and GAMS on cone programs whose answers are known; GAMS on the equations of motion.

What is not installed, or has no licence, is skipped and says so.
"""

import importlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stickslip.extras import MissingPackage
from stickslip.problem.contact import GlobalProblem
from stickslip.problem.program import ConeProgram, judge_program
from stickslip.problem.sets import coulomb, free, interval, nonnegative, rolling
from stickslip.problem.solution import Status
from stickslip.solvers import registry
from stickslip.solvers.adapters import (
    curvature,
    gams_motion,
    gams_programs,
    gurobi,
    ipopt_casadi,
    mosek_task,
    multipliers,
)
from stickslip.solvers.programs import ProgramAnswer

G = 9.81
RUNS: dict[str, Callable[..., ProgramAnswer]] = {
    "ipopt qcp": partial(ipopt_casadi.run, form="qcp"),
    "ipopt nlp": partial(ipopt_casadi.run, form="nlp"),
    "gurobi": gurobi.run,
    "mosek": mosek_task.run,
    "gams CONOPT qcp": partial(gams_programs.run, solver="CONOPT", form="qcp"),
    "gams CONOPT nlp": partial(gams_programs.run, solver="CONOPT", form="nlp"),
    "gams CPLEX qcp": partial(gams_programs.run, solver="CPLEX", form="qcp"),
    "gams IPOPT qcp": partial(gams_programs.run, solver="IPOPT", form="qcp"),
    "gams MINOS nlp": partial(gams_programs.run, solver="MINOS", form="nlp"),
    "gams KNITRO nlp": partial(gams_programs.run, solver="KNITRO", form="nlp"),
}
MODULES = {"ipopt": ipopt_casadi, "gurobi": gurobi, "mosek": mosek_task, "gams": gams_programs}

each = pytest.mark.parametrize("name", [name for name in RUNS if registry.entry(name.split()[0]).installed])


@pytest.mark.parametrize("name", MODULES)
def test_a_package_that_is_not_here_is_said_once(name):
    entry = registry.entry(name)
    if not entry.installed:
        pytest.skip(f"{name} is {entry.availability}; its adapter is not run by these tests")
    assert entry.package


def solve(name: str, program: ConeProgram, tolerance: float = 1e-9) -> ProgramAnswer:
    try:
        return RUNS[name](program, tolerance, 500)
    except MissingPackage as missing:
        pytest.skip(str(missing))


def refusal(run: Callable[[], ProgramAnswer]) -> str:
    """What is said where a licence does not suffice; "" where it does."""
    try:
        run()
    except MissingPackage as missing:
        return str(missing)
    return ""


def projection(point: list[float]) -> ConeProgram:
    """The point of the second-order cone nearest to `point`."""
    return ConeProgram(np.eye(3), -np.array(point), np.eye(3), np.zeros(3), second_order=[3])


def mixed(seed: int = 1) -> tuple[ConeProgram, np.ndarray, np.ndarray]:
    """Rows of every kind around an optimum that is chosen: cones inside, on the boundary and at the tip."""
    rng = np.random.default_rng(seed)
    n = 12
    s = np.array([0.0, 0.0, 0.7, 0.0, 3.0, 1.0, -1.0, 5.0, 3.0, 4.0, 0.0, 0.0, 0.0, 2.0])
    y = np.array([0.3, -0.8, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0, -0.6, -0.8, 1.0, 0.3, 0.4, 0.0])
    A = rng.standard_normal((s.size, n))
    F = rng.standard_normal((n, n))
    x = rng.standard_normal(n)
    P = F @ F.T
    program = ConeProgram(P, A.T @ y - P @ x, A, s - A @ x, zero=2, nonnegative=2, second_order=[3, 3, 3, 1])
    return program, x, y


@each
@pytest.mark.parametrize(
    ("point", "nearest"),
    [
        ([2.0, 1.0, 0.0], [2.0, 1.0, 0.0]),
        ([1.0, 3.0, 4.0], [3.0, 1.8, 2.4]),
        ([-2.0, 0.6, 0.8], [0.0, 0.0, 0.0]),
    ],
    ids=["inside", "outside", "polar"],
)
def test_nearest_point_of_a_cone(name: str, point: list[float], nearest: list[float]) -> None:
    answer = solve(name, projection(point))
    # at the tip the objective is flat in the QCP form: half of the digits
    np.testing.assert_allclose(answer.x, nearest, atol=1e-4)
    np.testing.assert_allclose(answer.y, np.array(nearest) - point, atol=1e-4)


@each
@pytest.mark.parametrize("mu", [0.3, 1.0])
def test_dual_of_a_block_on_an_incline(name: str, mu: float) -> None:
    """One contact, W = I/m: the relaxation lifts a sliding block by mu |u_T|, and sticking is exact."""
    m, angle = 2.0, np.deg2rad(25.0)
    force = m * G * np.array([-np.cos(angle), np.sin(angle), 0.0])
    program = ConeProgram(np.eye(3) / m, force / m, np.diag([mu, 1.0, 1.0]), np.zeros(3), second_order=[3])
    if np.tan(angle) <= mu:
        r_N, r_T = m * G * np.cos(angle), -m * G * np.sin(angle)
    else:  # the point of the cone nearest to minus the force, in the metric of W
        r_N = m * G * (np.cos(angle) + mu * np.sin(angle)) / (1.0 + mu**2)
        r_T = -mu * r_N
    answer = solve(name, program)
    assert answer.status is Status.SOLVED, answer.message
    np.testing.assert_allclose(answer.x, [r_N, r_T, 0.0], rtol=1e-5, atol=1e-5)


@each
def test_rows_of_every_kind(name: str) -> None:
    program, x, y = mixed()
    assert judge_program(program, x, y).error < 1e-12
    answer = solve(name, program)
    assert judge_program(program, answer.x, answer.y).error <= 1e-5, answer.message
    np.testing.assert_allclose(answer.x, x, atol=1e-4)


@each
@pytest.mark.parametrize(
    "program",
    [
        ConeProgram(np.eye(1), [0.0], [[1.0], [-1.0]], [-1.0, 0.0], nonnegative=2),
        ConeProgram(np.eye(2), [0.0, 0.0], [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]], [0.0, 0.0, -1.0],
                    second_order=[2, 1]),
        ConeProgram(np.zeros((1, 1)), [-1.0], [[1.0]], [0.0], nonnegative=1),
        ConeProgram(np.zeros((2, 2)), [1.0, -2.0], np.eye(2), [0.0, 0.0], second_order=[2]),
    ],
    ids=["rows against each other", "cone against row", "unbounded", "unbounded in a cone"],
)  # fmt: skip
def test_what_has_no_solution_is_not_called_solved(name: str, program: ConeProgram) -> None:
    answer = solve(name, program)
    assert answer.status in (Status.INFEASIBLE, Status.STALLED, Status.MAX_ITERATIONS)
    assert answer.message


@each
def test_nothing_is_printed_and_twice_is_the_same(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    program, _, _ = mixed()
    first, second = solve(name, program), solve(name, program)
    assert capfd.readouterr() == ("", "")
    assert np.array_equal(first.x, second.x)
    assert np.array_equal(first.y, second.y)


@pytest.mark.parametrize("name", MODULES)
def test_missing_package_is_one_sentence(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda package: None)
    with pytest.raises(MissingPackage, match=rf"pip install \"stickslip\[{name}\]"):
        MODULES[name].run(projection([1.0, 0.0, 0.0]), 1e-6, 10)


@pytest.mark.parametrize("run", [ipopt_casadi.run, gams_programs.run])
def test_unknown_form(run: Any) -> None:
    with pytest.raises(ValueError, match="qcp"):
        run(projection([1.0, 0.0, 0.0]), 1e-6, 10, form="sdp")


def test_ipopt_with_a_hundred_cones_arrives_in_both_forms() -> None:
    """Where the norm is smoothed at once instead of in steps, the NLP form runs out of iterations."""
    rng = np.random.default_rng(1)
    nc = 100
    J = rng.standard_normal((3 * nc, 3 * nc + 6)) * (rng.random((3 * nc, 3 * nc + 6)) < 0.05)
    A = np.kron(np.eye(nc), np.diag([0.5, 1.0, 1.0]))
    program = ConeProgram(
        J @ J.T / 10, rng.standard_normal(3 * nc), A, np.zeros(3 * nc), second_order=[3] * nc
    )
    for form in ("qcp", "nlp"):
        answer = solve(f"ipopt {form}", program, 1e-8)
        assert answer.status is Status.SOLVED
        assert answer.iterations < 200
        assert judge_program(program, answer.x, answer.y).error < 1e-7


def test_mended_multipliers() -> None:
    program, x, y = mixed()
    np.testing.assert_allclose(multipliers.mended(program, x, y), y, atol=1e-12)
    at_tip = y.copy()
    at_tip[10:13] += [0.2, -0.3, 0.1]
    for wrong in (at_tip, np.full_like(y, np.nan), np.zeros_like(y)):
        better = multipliers.mended(program, x, wrong)
        assert judge_program(program, x, better).error < 1e-6


def test_gurobi_says_what_its_licence_does_not_allow() -> None:
    nc = 200
    program = ConeProgram(
        np.eye(3 * nc), np.ones(3 * nc), np.eye(3 * nc), np.zeros(3 * nc), second_order=[3] * nc
    )
    if not registry.entry("gurobi").installed:
        pytest.skip(registry.entry("gurobi").availability)
    said = refusal(lambda: gurobi.run(program, 1e-8, 100))
    assert said == "" or "1200 unknowns" in said
    assert "\n" not in said


def test_mosek_task_holds_the_program() -> None:
    """Read back from the task, objective and rows are those of the program; no licence is needed for it."""
    if not registry.entry("mosek").installed:
        pytest.skip(registry.entry("mosek").availability)
    mosek: Any = importlib.import_module("mosek")
    program, x, _ = mixed()
    F = curvature.root(program.P)
    np.testing.assert_allclose((F.T @ F).toarray(), program.P.toarray(), atol=1e-12)
    with mosek.Env() as env, env.Task() as task:
        constraints = mosek_task.build(mosek, task, program)
        rows, columns, entries = map(np.array, task.getafeftrip())
        whole = np.zeros((task.getnumafe(), task.getnumvar()))
        whole[rows, columns] = entries
        constant = np.array([task.getafeg(row) for row in range(task.getnumafe())])
        sizes = [task.getaccn(i) for i in range(task.getnumacc())]
        objective = np.array(task.getc())
    assert sizes == [2, 2, 3, 3, 3, 1, 2 + F.shape[0]]
    assert constraints == 6
    t = 0.5 * x @ (program.P @ x)
    value = whole @ np.append(x, t) + constant
    np.testing.assert_allclose(value[: program.rows], program.A @ x + program.b, atol=1e-12)
    curved = value[program.rows :]
    assert curved[:2] == pytest.approx([t, 1.0])
    assert 2.0 * curved[0] * curved[1] == pytest.approx(curved[2:] @ curved[2:])
    assert objective @ np.append(x, t) == pytest.approx(program.objective(x))


def test_root_of_singular_curvature() -> None:
    J = np.random.default_rng(0).standard_normal((2, 5))
    P = np.zeros((9, 9))
    P[2:7, 2:7] = J.T @ J
    F = curvature.root(ConeProgram(P, np.zeros(9), np.zeros((0, 9)), np.zeros(0)).P)
    assert F.shape[0] == 2
    np.testing.assert_allclose((F.T @ F).toarray(), P, atol=1e-12)


def box(angle: float, mu: float, h: float = 1e-3) -> GlobalProblem:
    """1 kg on four corners on a plane, one step from rest."""
    H = []
    for corner in [[a, b, -0.25] for a in (-0.5, 0.5) for b in (-0.5, 0.5)]:
        for axis in np.eye(3)[[2, 0, 1]]:
            H.append(np.concatenate([axis, np.cross(corner, axis)]))
    slope = np.deg2rad(angle)
    f = h * G * np.array([np.sin(slope), 0.0, -np.cos(slope), 0.0, 0.0, 0.0])
    return GlobalProblem(
        np.diag([1.0, 1.0, 1.0, 0.1, 0.1, 0.2]), f, np.array(H).T, np.zeros(12), coulomb([mu] * 4)
    )


def motion(problem: GlobalProblem, **options: str) -> gams_motion.MotionAnswer:
    try:
        return gams_motion.run_motion(problem, 1e-10, 500, **options)  # type: ignore[arg-type]
    except MissingPackage as missing:
        pytest.skip(str(missing))


@pytest.mark.parametrize("solver", ["PATH", "NLPEC", "KNITRO"])
@pytest.mark.parametrize(("angle", "mu", "normal", "tangential"), [
    (0.0, 1.0, 9.81, 0.0),
    (25.0, 1.0, 8.890879391, 4.145885148),
    (25.0, 0.3, 8.890879391, 0.3 * 8.890879391),
])  # fmt: skip
def test_equations_of_motion_of_a_box(
    solver: str, angle: float, mu: float, normal: float, tangential: float
) -> None:
    answer = motion(box(angle, mu), solver=solver)
    assert answer.status is Status.SOLVED, answer.message
    force = answer.r.reshape(-1, 3).sum(axis=0) / 1e-3
    np.testing.assert_allclose(np.abs(force), [normal, tangential, 0.0], atol=1e-8)


def test_relaxed_equations_of_motion_lift_a_sliding_box() -> None:
    mu, slope = 0.3, np.deg2rad(25.0)
    answer = motion(box(25.0, mu), law="relaxed")
    lifted = G * (np.cos(slope) + mu * np.sin(slope)) / (1.0 + mu**2)
    assert answer.r.reshape(-1, 3)[:, 0].sum() / 1e-3 == pytest.approx(lifted, abs=1e-7)


def test_equations_of_motion_with_every_kind_of_block() -> None:
    K = coulomb([0.3]) + free(1) + nonnegative(2) + interval([-0.1], [0.2]) + rolling([0.5], [0.1])
    n = K.size
    rng = np.random.default_rng(0)
    problem = GlobalProblem(
        np.eye(n + 2), rng.standard_normal(n + 2), rng.standard_normal((n + 2, n)), np.zeros(n), K,
        G=np.eye(n + 2)[:, :1], g_bias=[0.1],
    )  # fmt: skip
    answer = motion(problem)
    u_hat = K.shifted(problem.contact_velocity(answer.v))
    np.testing.assert_allclose(answer.r, K.project(answer.r - u_hat), atol=1e-9)
    np.testing.assert_allclose(answer.v, problem.f + problem.pushed(answer.r, answer.lam), atol=1e-9)
    np.testing.assert_allclose(problem.joint_velocity(answer.v), 0.0, atol=1e-9)


def test_equations_of_motion_where_a_contact_opens() -> None:
    answer = motion(GlobalProblem(np.eye(3), [1.0, 0.5, 0.0], np.eye(3), np.zeros(3), coulomb([0.5])))
    np.testing.assert_allclose(answer.r, 0.0, atol=1e-10)
    np.testing.assert_allclose(answer.v, [1.0, 0.5, 0.0], atol=1e-10)


def test_gams_says_what_cannot_be_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not registry.entry("gams").installed:
        pytest.skip(registry.entry("gams").availability)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    program = projection([1.0, 0.0, 0.0])
    for solver, form, word in (
        ("LINDO", "qcp", "not installed"),
        ("CPLEX", "nlp", "not capable"),
        ("GUROBI", "nlp", "global search"),
        ("MOSEK", "qcp", "quadratic objective"),
    ):
        with pytest.raises(MissingPackage) as said:
            gams_programs.run(program, 1e-6, 100, solver=solver, form=form)
        assert word in str(said.value)
        assert "\n" not in str(said.value)
    nc = 400
    large = ConeProgram(
        np.eye(3 * nc), np.ones(3 * nc), np.eye(3 * nc), np.zeros(3 * nc), second_order=[3] * nc
    )
    licence = refusal(lambda: gams_programs.run(large, 1e-6, 100))
    assert licence == "" or "licence" in licence
    assert not any(tmp_path.iterdir())
