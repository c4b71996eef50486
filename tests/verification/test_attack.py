"""The attack of `benchmarks/attack` in small, and its formulas against deliberate faults.

`python -m benchmarks.attack --solves 100000 --runs 10000` is the whole of it.
"""

import ast
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import stickslip as ss
from benchmarks.attack import (
    cases,
    derivatives,
    laws,
    motions,
    problems,
    proofs,
    runs,
    solves,
    systems,
    worlds,
)
from benchmarks.attack.blocks import blocks, lawful
from benchmarks.attack.cases import Block, Case
from stickslip.schemes import registry

FOLDER = Path(cases.__file__).parent
INDEPENDENT = ("cases", "laws", "proofs", "blocks", "problems", "motions", "systems", "worlds")
"""Modules of formulas and generators, which see nothing of stickslip."""


def test_formulas_import_nothing_of_stickslip():
    for name in INDEPENDENT:
        for node in ast.walk(ast.parse((FOLDER / f"{name}.py").read_text())):
            found = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            found += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not [one for one in found if one.split(".")[0] == "stickslip"], name
            inside = [one.split(".")[-1] for one in found if one.startswith("benchmarks.attack.")]
            assert set(inside) <= set(INDEPENDENT), name


def listed(tally):
    """Every false claim in one line."""
    return [
        f"{f.get('solver') or f.get('scheme')} {f['index']} {f['family']} {f['claim']}: {f['why'][0]}"
        for f in tally.false
    ]


# -- the attack in small -------------------------------------------------------------------------------


def test_no_solver_makes_a_false_claim():
    tally = solves.attack(range(400), 0, solves.solver_names(), None)
    assert listed(tally) == []
    claims = {claim for _, claim in tally.claims}
    assert {"SOLVED", "INFEASIBLE", "RELAXED", "EXISTS"} <= claims
    assert {name for name, _ in tally.claims} >= set(solves.solver_names())


def test_no_scheme_makes_a_false_claim():
    tally = runs.attack(range(60), 0, None)
    tally.add(runs.attack(range(124, 125), 0, None))  # the first under springs
    assert listed(tally) == []
    others = {"compliant"}  # it is relaxed
    assert {name for name, _ in tally.claims} >= set(registry.names()) - others


def test_no_derivative_makes_a_false_claim():
    tally = derivatives.attack(range(12), 0, None)
    assert listed(tally) == []
    assert any(claim == "exists True" for _, claim in tally.claims)


@pytest.mark.parametrize("index", [454, 465, 543, 550])
def test_states_next_to_a_kink_have_no_derivative(index):
    """Boxes flat on corners that bear next to nothing, and a point at the edge of sliding."""
    tally = derivatives.attack(range(index, index + 1), 0, None)
    assert [claim for _, claim in tally.claims] == ["exists False"]


# -- the law -------------------------------------------------------------------------------------------


def answered(seed: int, kinds: tuple[str, ...]) -> Case:
    """A local problem with all its blocks pressed or open as chosen, and its answer."""
    rng = np.random.default_rng(seed)
    K = tuple(replace(b, mu=tuple(0.3 + 0.1 * k for k, _ in enumerate(b.mu))) for b in blocks(rng, 5, kinds))
    n = sum(b.size for b in K)
    J = rng.normal(size=(n, n + 2))
    r, u = lawful(rng, K)
    return problems.with_answer(J @ J.T, r, u, K, "test")


@pytest.mark.parametrize(
    "kinds", [("coulomb2d",), ("coulomb3d",), ("rolling",), ("torsional",), ("interval", "free")]
)
@pytest.mark.parametrize("seed", range(4))
def test_the_law_takes_an_answer_and_refutes_every_change_of_an_impulse(kinds, seed):
    case = answered(seed, kinds)
    assert not laws.refute(case, case.answer, None, None)
    for k in range(case.size):
        changed = case.answer.copy()
        changed[k] += 1e-4 * max(1.0, np.abs(changed).max())
        assert laws.refute(case, changed, None, None), k


def one_contact(u, r, mu=0.5):
    """A contact with W = I that has these velocities and impulses."""
    return problems.with_answer(
        np.eye(len(r)), np.array(r), np.array(u), (Block("friction", 3, (2,), (mu,)),), "test"
    )


@pytest.mark.parametrize(
    ("u", "r", "word"),
    [
        ([0.0, 1.0, 0.0], [1.0, 0.5, 0.0], "dissipation"),  # friction with the slip
        ([0.0, 1.0, 0.0], [1.0, 0.0, -0.5], "dissipation"),  # across it
        ([0.0, 1.0, 0.0], [1.0, -0.4, 0.0], "dissipation"),  # too little
        ([0.0, 0.0, 0.0], [1.0, -0.6, 0.0], "cone"),
        ([0.5, 1.0, 0.0], [1.0, -0.5, 0.0], "normal power"),  # u_N = mu |u_T|: the convex relaxation
        ([-0.1, 0.0, 0.0], [1.0, 0.0, 0.0], "closing"),
        ([0.2, 0.0, 0.0], [-0.1, 0.0, 0.0], "cone"),  # it pulls
    ],
)
def test_each_line_of_the_law_is_looked_at(u, r, word):
    case = one_contact(u, r)
    assert any(word in why for why in laws.refute(case, case.answer, None, None))


def test_the_convex_relaxation_is_told_from_the_law():
    case = one_contact([0.5, 1.0, 0.0], [1.0, -0.5, 0.0])
    assert not laws.refute(case, case.answer, None, None, shifted=False)
    exact = one_contact([0.0, 1.0, 0.0], [1.0, -0.5, 0.0])
    assert not laws.refute(exact, exact.answer, None, None)
    assert laws.refute(exact, exact.answer, None, None, shifted=False)


def test_a_small_contact_counts_beside_a_large_one():
    """Two contacts that know nothing of each other, impulses 1 and 1e-6: the small one is given none."""
    K = (Block("nonnegative", 1, (), (), 0.0, np.inf),) * 2
    case = problems.local(np.diag([1.0, 1e6]), np.array([-1.0, -1.0]), K, "test")
    assert not laws.refute(case, np.array([1.0, 1e-6]), None, None)
    wrong = laws.refute(replace(case, tolerance=1e-4), np.array([1.0, 0.0]), None, None)
    assert any("own scale" in why or "no impulse" in why for why in wrong)


def test_bodies_need_their_balance_and_their_joints():
    rng = np.random.default_rng(0)
    case = next(
        c
        for c in (problems.bodies(rng) for _ in range(50))
        if c.arrays["g_bias"].size and c.truth == "solvable"
    )
    a = case.arrays
    pushed = a["H"] @ case.answer
    saddle = np.block([[a["M"], -a["G"]], [a["G"].T, np.zeros((a["g_bias"].size,) * 2)]])
    v, lam = np.split(
        np.linalg.lstsq(saddle, np.concatenate([a["f"] + pushed, -a["g_bias"]]))[0], [a["f"].size]
    )
    assert not laws.refute(case, case.answer, v, lam)
    assert any("equilibrium" in why for why in laws.refute(case, case.answer, 1.001 * v, lam))
    assert any("joints" in why for why in laws.refute(case, case.answer, v + a["G"][:, 0], lam))


# -- proofs --------------------------------------------------------------------------------------------


def walls():
    """Two walls close on a point, W = [[1, -1], [-1, 1]]."""
    K = (Block("nonnegative", 1, (), (), 0.0, np.inf),) * 2
    return problems.local(np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([-1.0, -0.5]), K, "test")


def test_a_true_proof_stands_and_false_ones_fall():
    none = np.zeros(0)
    assert not proofs.refute_infeasible(walls(), np.ones(2), none, 0)
    assert proofs.refute_infeasible(walls(), np.array([1.0, 0.9]), none, 0)  # W y is not 0
    assert proofs.refute_infeasible(walls(), np.array([-1.0, -1.0]), none, 0)
    apart = replace(walls(), arrays={**walls().arrays, "u_free": np.array([1.0, -0.5])})
    assert proofs.refute_infeasible(apart, np.ones(2), none, 0)
    case = answered(0, ("coulomb3d",))
    assert proofs.refute_infeasible(case, np.eye(case.size)[0], none, 0)
    assert proofs.refute_infeasible(replace(walls(), truth="solvable"), np.ones(2), none, 0)
    assert proofs.refute_solved(replace(walls(), truth="none", closing=0.75))


def test_a_proof_by_bases_is_tried_again():
    K = (Block("nonnegative", 1, (), (), 0.0, np.inf),) * 2
    arrays = {"A": np.eye(2), "b": np.array([-1.0, 1.0]), "lower": np.zeros(2), "upper": np.full(2, np.inf)}
    assert proofs.refute_infeasible(Case(cases.BOX, arrays, K, "test"), np.zeros(0), np.zeros(0), 4)
    shut = {**arrays, "A": -np.eye(2)}
    assert not proofs.refute_infeasible(Case(cases.BOX, shut, K, "test"), np.zeros(0), np.zeros(0), 4)


def test_a_witness_must_open_every_contact():
    case = one_contact([0.0, 0.0, 0.0], [1.0, 0.0, 0.0])
    assert not proofs.refute_existence(case, np.array([3.0, 0.0, 0.0]))
    assert proofs.refute_existence(case, np.array([0.5, 0.0, 0.0]))
    assert proofs.refute_existence(case, np.array([1.5, 2.0, 0.0]))


# -- runs ----------------------------------------------------------------------------------------------


def sliding() -> tuple[worlds.Plan, ss.Trajectory]:
    """A ball that turns and slides on the plane."""
    ball = worlds.Body(
        "ball",
        (0.1,),
        2.0,
        (0.01, 0.01, 0.01),
        (0.0, 0.0, 0.1),
        (1.0, 0.0, 0.0, 0.0),
        (1.0, 0.0, 0.0),
        (0.0, 3.0, 0.0),
    )
    plan = worlds.Plan(
        "test",
        (ball,),
        "plane",
        9.81,
        0.3,
        0.0,
        0.0,
        (),
        5e-3,
        6,
        "moreau-jean-semi-explicit",
        forces="solver",
    )
    return plan, runs.run_of(plan)


def told(run: ss.Trajectory, **changes: np.ndarray) -> motions.Record:
    n, c = len(run), run.contacts
    record = motions.Record(
        run.t, run.q.reshape(n, -1, 7).copy(), run.v.reshape(n, -1, 6).copy(), run.ok, run.correction,
        c.offset, c.body, c.point, c.frame, c.r.copy(), c.u, c.gap,
    )  # fmt: skip
    return replace(record, **changes)


def test_motions_take_a_run_and_refute_deliberate_faults():
    plan, run = sliding()
    record = told(run)
    assert len(run.contacts)
    assert not motions.refute(plan, record)
    faults = {
        "linear momentum": ("v", (3, 1, 0), 1e-6),
        "positions": ("q", (3, 1, 0), 1e-6),
        "angular momentum": ("v", (3, 1, 4), 1e-4),
        "sinks": ("q", (slice(None), 1, 2), -0.2),
        "quaternion": ("q", (2, 1, 3), 1e-3),
    }
    for word, (name, place, change) in faults.items():
        array = getattr(record, name).copy()
        array[place] += change
        assert any(word in why for why in motions.refute(plan, replace(record, **{name: array}))), word
    for word, factor in (("friction beyond the cone", (1.0, 1.2, 1.2)), ("pull", (-1.0, 1.0, 1.0))):
        r = record.r.copy()
        r[:, :3] *= factor
        assert any(word in why for why in motions.refute(plan, replace(record, r=r))), word
    assert any("friction" in why for why in motions.refute(replace(plan, mu=0.2), record))
    assert any("dissipation" in why for why in motions.refute(replace(plan, mu=0.4), record))
    hot = record.v.copy()
    hot[4:, 1, 0] += 1.0
    assert any("energy" in why for why in motions.refute(plan, replace(record, v=hot)))


@pytest.mark.parametrize(
    "scheme", ["moreau-jean", "schatzman-paoli", "variational", "event-driven", "euler-moreau"]
)
def test_systems_take_a_run_and_refute_deliberate_faults(scheme):
    rng = np.random.default_rng(3)
    plan = next(p for p in (systems.plan(rng) for _ in range(500)) if p.scheme == scheme)
    run = runs.run_of(plan)
    record = systems.Record(run.t, run.q.copy(), run.v.copy(), run.r.copy(), run.u, run.y, run.active, run.ok)
    assert not systems.refute(plan, record)
    for name, change in (("q", -1e-2), ("r", 1e-2)):
        array = getattr(record, name).copy()
        array[3] += change * max(1.0, np.abs(array).max())
        assert systems.refute(plan, replace(record, **{name: array})), name


def test_another_law_is_never_ok():
    plan, run = sliding()
    pyramid = replace(plan, options={"contact": "pyramid"}, scheme="variational-bodies")
    assert runs.wrong(pyramid, run) == ["ok, but the scheme states another law"]


@pytest.mark.parametrize(("seed", "index"), [(2, 533), (2, 594)])
def test_impulses_that_are_told_balance_momentum(seed, index):
    # A slide that ends within microseconds, followed from event to event; a stack whose forces are many.
    plan, _ = runs.plan_of(seed, index)
    run = runs.run_of(plan)
    assert run.ok.all()
    assert runs.wrong(plan, run) == []


def test_what_an_interrupt_leaves_is_compared_bit_for_bit():
    plan, run = sliding()
    until = ss.simulate(runs.world_of(plan), until=3 * plan.h, h=plan.h)
    assert runs._stopped(run, until, [2 * plan.h]) == ("interrupted", [])
    assert runs._stopped(run, until, [5 * plan.h])[1]
    assert runs._stopped(run, None, [plan.h])[1]
    assert runs._stopped(run, None, [float(run.t[-1])])[1]
    assert runs._stopped(run, None, []) == ("interrupted", [])
    doubted = until.with_columns(verdicts=np.maximum(until.verdicts, 1))
    assert runs._stopped(run, doubted, [2 * plan.h])[1]
    other = ss.simulate(runs.world_of(replace(plan, mu=0.31)), until=3 * plan.h, h=plan.h)
    assert runs._stopped(run, other, [])[1]


@pytest.mark.parametrize("world", [True, False])
def test_a_wrong_derivative_is_refuted(world):
    if world:
        plan, _ = sliding()
        plan = replace(plan, options={"correction": False})
        model, start = runs.world_of(plan), runs.world_of(plan).start
    else:
        rng = np.random.default_rng(1)
        plan = next(p for p in (systems.masses(rng) for _ in range(99)) if p.scheme == "moreau-jean")
        model, start = runs.system_of(plan), None
    scheme = registry.make(plan.scheme, **plan.options)
    found = ss.differentiate(model, start, h=plan.h, scheme=scheme, tolerance=derivatives.TOLERANCE)

    class Doubled:
        def jvp(self, **given):
            return {name: 2.0 * x for name, x in found.jvp(**given).items()}

    assert not derivatives.refute(plan, start, found, np.random.default_rng(2))
    assert derivatives.refute(plan, start, Doubled(), np.random.default_rng(2))


# -- files ---------------------------------------------------------------------------------------------


def test_a_case_and_a_plan_come_back_from_their_files(tmp_path, capsys):
    case = problems.problem(np.random.default_rng([0, 5]))
    cases.save(tmp_path / "one.npz", case, {"solver": "nsgs"})
    again, about = cases.load(tmp_path / "one.npz")
    assert about == {"solver": "nsgs"}
    assert (again.blocks, again.truth) == (case.blocks, case.truth)
    for name, x in case.arrays.items():
        np.testing.assert_array_equal(x, again.arrays[name])
    for index in range(4):
        plan, _ = runs.plan_of(0, index)
        text = json.dumps(runs.plain(plan))
        assert json.dumps(runs.plain(runs.planned(json.loads(text)))) == text
    assert solves.replay(tmp_path / "one.npz") == []
    assert "no false claim" in capsys.readouterr().out
