"""Several systems and interactions: assembled block by block, uncoupled ones apart."""

import numpy as np
from first_order_runs import FULL, IMPLICIT, steps

from stickslip.laws import Complementarity, Equality
from stickslip.schemes.euler_moreau import EulerMoreau
from stickslip.schemes.step import first_state
from stickslip.solvers import registry
from stickslip.systems.first_order import FirstOrder, FirstOrderLinear
from stickslip.systems.first_order_relations import FirstOrderLinearRelation, FirstOrderRelation
from stickslip.systems.system import Interaction, NonsmoothSystem

LEMKE = registry.make("lemke", tolerance=1e-12)


def test_the_example_of_three_systems_and_two_interactions() -> None:
    """Siconos Developer's Notes 2017, (1.19) to (1.22): y_mu of x1, x3 (3 components), y_theta of x2, x3."""
    rng, h = np.random.default_rng(3), 0.05
    sizes = {"1": 2, "2": 3, "3": 2}
    A = {k: rng.normal(size=(n, n)) for k, n in sizes.items()}
    x0 = {k: rng.normal(size=n) for k, n in sizes.items()}
    systems = [FirstOrderLinear(k, A=A[k], x0=x0[k]) for k in sizes]

    def random_relation(names: tuple[str, ...], m: int):
        C = {k: rng.normal(size=(m, sizes[k])) for k in names}
        B = {k: C[k].T + 0.1 * rng.normal(size=(sizes[k], m)) for k in names}
        D = np.eye(m) + 0.1 * rng.normal(size=(m, m))
        return C, B, D

    # the interaction names its systems in an order of its own
    C1, B1, D1 = random_relation(("3", "1"), 3)
    C2, B2, D2 = random_relation(("2", "3"), 1)
    relation = lambda C, B, D: FirstOrderLinearRelation(  # noqa: E731
        C=np.hstack(list(C.values())), B=np.vstack(list(B.values())), D=D
    )
    system = NonsmoothSystem(
        systems,
        [
            Interaction("mu", ("3", "1"), relation(C1, B1, D1), Complementarity(3)),
            Interaction("theta", ("2", "3"), relation(C2, B2, D2), Complementarity(1)),
        ],
    )
    scheme, state = EulerMoreau(**IMPLICIT), first_state(system)
    step = scheme.step(system, state, scheme.begin(system, state, h), h, LEMKE)
    W = {k: np.linalg.inv(np.eye(n) - h * A[k]) for k, n in sizes.items()}
    expected = np.block(
        [
            [
                D1 + h * C1["1"] @ W["1"] @ B1["1"] + h * C1["3"] @ W["3"] @ B1["3"],
                h * C1["3"] @ W["3"] @ B2["3"],
            ],
            [
                h * C2["3"] @ W["3"] @ B1["3"],
                D2 + h * C2["2"] @ W["2"] @ B2["2"] + h * C2["3"] @ W["3"] @ B2["3"],
            ],
        ]
    )
    problem = step.solves[0].problem
    np.testing.assert_allclose(problem.A, expected, rtol=1e-12, atol=1e-14)
    free = {k: W[k] @ x0[k] for k in sizes}
    y1 = C1["1"] @ free["1"] + C1["3"] @ free["3"]
    y2 = C2["2"] @ free["2"] + C2["3"] @ free["3"]
    np.testing.assert_allclose(problem.b, np.concatenate([y1, y2]), rtol=1e-12, atol=1e-14)
    lam1, lam2 = step.r[:3], step.r[3:]
    R = {"1": B1["1"] @ lam1, "2": B2["2"] @ lam2, "3": B1["3"] @ lam1 + B2["3"] @ lam2}
    ends = np.concatenate([free[k] + h * W[k] @ R[k] for k in sizes])
    np.testing.assert_allclose(step.state.q, ends, rtol=1e-12, atol=1e-14)


def circuit(name: str, v0: float) -> tuple[FirstOrderLinear, Interaction]:
    flow = FirstOrderLinear(name, A=[[0.0, -1.0], [1.0, 0.0]], x0=[v0, 0.0])
    relation = FirstOrderLinearRelation(C=[[1.0, 0.0]], D=[[2.0]], B=[[1.0], [0.0]])
    return flow, Interaction(f"diode {name}", name, relation, Complementarity())


def test_uncoupled_systems_are_problems_of_their_own() -> None:
    pairs = [circuit(name, v0) for name, v0 in (("a", 1.0), ("b", 0.3), ("c", -2.0))]
    idle = FirstOrder("idle", f=lambda x: -x, x0=1.0)
    together = steps(NonsmoothSystem([*(f for f, _ in pairs), idle], [i for _, i in pairs]), 5.0, 0.1, **FULL)
    assert all(len(s.solves) == 3 for s in together)
    assert all(s.solves[0].problem.size == 1 for s in together)
    for k, (flow, tie) in enumerate(pairs):
        alone = steps(NonsmoothSystem([flow], [tie]), 5.0, 0.1, **FULL)
        np.testing.assert_array_equal(
            [s.state.q[2 * k : 2 * k + 2] for s in together], [s.state.q for s in alone]
        )
        np.testing.assert_array_equal([s.r[k] for s in together], [s.r[0] for s in alone])


def test_one_system_or_two_tied_by_an_equality() -> None:
    """Two capacitors joined by a wire (y = v1 - v2 = 0) are one: (C1 + C2) v̇ = -v / R."""
    one = FirstOrderLinear("first", A=[[-1.0]], M=2.0, x0=[1.0])
    two = FirstOrderLinear("second", A=[[0.0]], M=3.0, x0=[1.0])
    relation = FirstOrderLinearRelation(C=[[1.0, -1.0]], B=[[1.0], [-1.0]])
    system = NonsmoothSystem([one, two], [Interaction("wire", ("first", "second"), relation, Equality())])
    merged = NonsmoothSystem([FirstOrderLinear("both", A=[[-1.0]], M=5.0, x0=[1.0])])
    both, alone = steps(system, 2.0, 0.1, **IMPLICIT), steps(merged, 2.0, 0.1, **IMPLICIT)
    for k in (0, 1):
        np.testing.assert_allclose([s.state.q[k] for s in both], [s.state.q[0] for s in alone], rtol=1e-12)


def test_inputs_that_depend_on_states_of_several_systems() -> None:
    """r = g(x, lam) with K = ∂g/∂x across two systems gives what one system with both states gives."""

    def g(x: np.ndarray, lam: np.ndarray) -> np.ndarray:
        return np.array([x[1] * lam[0] - 0.5 * x[1] ** 2, lam[0] * np.cos(x[0])])

    def h(x: np.ndarray, lam: np.ndarray) -> np.ndarray:
        return np.array([x[0] + x[1] - 0.8 + lam[0]])

    relation, law = FirstOrderRelation(h=h, g=g), Complementarity()
    apart = NonsmoothSystem(
        [FirstOrder("p", f=lambda x: -(x**3), x0=0.3), FirstOrder("q", f=lambda x: -x, x0=0.2)],
        [Interaction("tie", ("p", "q"), relation, law)],
    )
    whole = NonsmoothSystem(
        [FirstOrder("pq", f=lambda x: [-(x[0] ** 3), -x[1]], x0=[0.3, 0.2])],
        [Interaction("tie", "pq", relation, law)],
    )
    ours, other = steps(apart, 1.0, 0.1, **FULL), steps(whole, 1.0, 0.1, **FULL)
    np.testing.assert_allclose([s.state.q for s in ours], [s.state.q for s in other], rtol=1e-10)
    assert max(s.newton for s in ours) <= 4


def test_every_step_reports_levels_and_blocks() -> None:
    flow, tie = circuit("a", 1.0)
    step = steps(NonsmoothSystem([flow], [tie]), 0.1, 0.1)[0]
    assert step.active.all()
    assert (step.forecast == -np.inf).all()
    assert [level.value for level in step.levels] == ["position"]
    assert set(step.memory) == {"lam", "r", "started"}
